//! A body as the checker reads it: head, tools and items with their raw bytes and normal forms.

mod converse;
mod gemini;
mod responses;

use std::collections::HashMap;

use inkfast::prefix::past::{Node, Slot};
use inkfast::wire::format::Format;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::tree::Tree;

/// A body.
#[derive(Clone, Debug)]
pub struct Body {
    pub tools: Vec<String>,
    pub head: Vec<Block>,
    pub attribution: Option<String>,
    pub items: Vec<Item>,
    /// All members but the tools, the head and the messages.
    pub rest: String,
    pub markers: usize,
    /// Who speaks in each message, where roles must alternate.
    pub turns: Vec<String>,
    /// What each marker of the history that is a block of its own stands behind.
    pub points: Vec<String>,
}

/// A block of the head: its bytes without markers, and its texts.
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    pub raw: String,
    /// It is a message that bears a marker.
    pub marked: bool,
    pub texts: Vec<String>,
}

impl Block {
    fn of(raw: String, texts: Vec<String>) -> Self {
        Self {
            raw,
            marked: false,
            texts,
        }
    }

    fn message(bytes: &str, texts: Vec<String>) -> Self {
        let raw = unmarked(bytes);
        Self {
            marked: raw != bytes,
            raw,
            texts,
        }
    }

    /// Byte for byte, markers aside: a message that bears one has its string as a block.
    pub fn is(&self, other: &Self) -> bool {
        let marked = self.marked || other.marked;
        self.raw == other.raw || marked && as_string(&self.raw) == as_string(&other.raw)
    }
}

/// The message with a content that is one block of text as the string.
fn as_string(raw: &str) -> String {
    let string = ["text", "input_text"].into_iter().find_map(|kind| {
        let (front, rest) = raw.split_once(&format!("[{{\"type\":\"{kind}\",\"text\":"))?;
        let (text, back) = rest.rsplit_once("}]")?;
        let whole = serde_json::from_str::<String>(text).is_ok();
        whole.then(|| format!("{front}{text}{back}"))
    });
    string.unwrap_or_else(|| raw.to_owned())
}

/// One item of the history.
#[derive(Clone, Debug)]
pub struct Item {
    pub raw: String,
    pub canonical: String,
    pub role: String,
    pub kind: Kind,
    pub opens: bool,
    /// What its message says: how the world names answers.
    pub texts: String,
    /// It holds a node inside its text.
    pub holds: bool,
    /// The message that it stands in.
    pub message: usize,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    Content,
    Calls(usize),
    Result,
    Thinking,
}

/// What stands in a sent history, in order.
#[derive(Clone, Debug)]
pub enum Element {
    Item(Item),
    Node(Sent),
}

/// A node in a body.
#[derive(Clone, Debug)]
pub struct Sent {
    pub bytes: String,
    pub slot: Slot,
    /// What it means, however it is written.
    pub meaning: String,
    /// In front of how many client items it stands behind.
    pub position: usize,
}

/// The members of an object, as written.
type Members<'a> = HashMap<String, &'a RawValue>;

#[derive(Deserialize)]
struct RawMessage<'a> {
    role: String,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
}

impl Body {
    pub fn parse(bytes: &[u8], format: Format, strips_attribution: bool) -> Self {
        let text = std::str::from_utf8(bytes).unwrap();
        let members: Members<'_> = serde_json::from_str(text).unwrap();
        let mut body = Self {
            tools: Vec::new(),
            head: Vec::new(),
            attribution: None,
            items: Vec::new(),
            rest: String::new(),
            markers: text.matches("\"cache_control\"").count() + text.matches("\"cachePoint\"").count(),
            turns: Vec::new(),
            points: Vec::new(),
        };
        let taken = match format {
            Format::OpenaiChat | Format::Ollama => body.chat(&members),
            Format::AnthropicMessages => body.anthropic(&members, strips_attribution),
            Format::OpenaiResponses => body.responses(&members),
            Format::Gemini => body.gemini(&members),
            Format::BedrockConverse => body.converse(&members),
        };
        let rest = members.iter().filter(|(key, _)| !taken.contains(&key.as_str()));
        let mut rest: Vec<_> = rest
            .map(|(key, value)| format!("{key}:{}", Tree::parse(value.get()).plain()))
            .collect();
        rest.sort();
        body.rest = rest.join(",");
        body
    }

    pub fn head_texts(&self) -> Vec<String> {
        self.head.iter().flat_map(|block| block.texts.clone()).collect()
    }

    fn tools(&mut self, tools: Option<&&RawValue>) {
        let tools = tools.map_or_else(Vec::new, |tools| list(tools));
        self.tools = tools.iter().map(|tool| tool.get().to_owned()).collect();
    }

    /// Gives the members that were read.
    fn chat(&mut self, members: &Members<'_>) -> &'static [&'static str] {
        self.tools(members.get("tools"));
        let mut leading = true;
        for message in list(members["messages"]) {
            let tree = Tree::parse(message.get());
            let role = tree.get("role").and_then(Tree::str).unwrap().to_owned();
            leading &= role == "system" || role == "developer";
            let texts = texts(tree.get("content"));
            if leading {
                self.head.push(Block::message(message.get(), texts));
                continue;
            }
            let calls = tree.get("tool_calls").map_or(0, |calls| calls.list().len());
            self.items.push(Item {
                raw: message.get().to_owned(),
                canonical: tree.envelope(),
                kind: match role.as_str() {
                    "tool" => Kind::Result,
                    _ if calls > 0 => Kind::Calls(calls),
                    _ => Kind::Content,
                },
                opens: true,
                texts: said(&tree),
                holds: false,
                role,
                message: self.items.len(),
            });
        }
        &["tools", "messages"]
    }

    fn anthropic(&mut self, members: &Members<'_>, strips: bool) -> &'static [&'static str] {
        self.tools(members.get("tools"));
        let system = members.get("system").map_or("null", |system| system.get());
        if system.starts_with('"') {
            let texts = vec![serde_json::from_str(system).unwrap()];
            // A string is the block that it stands for.
            let raw = format!("{{\"type\":\"text\",\"text\":{system}}}");
            self.head.push(Block::of(raw, texts));
        } else if system.starts_with('[') {
            let blocks: Vec<&RawValue> = serde_json::from_str(system).unwrap();
            for block in blocks {
                let texts = texts(Some(&Tree::Arr(vec![Tree::parse(block.get())])));
                let first = self.head.is_empty() && self.attribution.is_none();
                if strips && first && texts[0].starts_with("x-anthropic-billing-header:") {
                    self.attribution = Some(block.get().to_owned());
                } else {
                    self.head.push(Block::of(unmarked(block.get()), texts));
                }
            }
        }
        for message in list(members["messages"]) {
            let raw: RawMessage<'_> = serde_json::from_str(message.get()).unwrap();
            let content = raw.content.map_or("null", RawValue::get);
            if content.starts_with('[') {
                let blocks: Vec<&RawValue> = serde_json::from_str(content).unwrap();
                let turn = said(&Tree::parse(message.get()));
                for (index, block) in blocks.iter().enumerate() {
                    self.block(&raw.role, block.get(), index == 0, &turn);
                }
            } else {
                let text = format!("{{\"type\":\"text\",\"text\":{content}}}");
                self.block(&raw.role, &text, true, &said(&Tree::parse(message.get())));
                self.items.last_mut().unwrap().raw = message.get().to_owned();
            }
        }
        &["tools", "system", "messages"]
    }

    fn block(&mut self, role: &str, raw: &str, opens: bool, turn: &str) {
        let tree = Tree::parse(raw);
        self.items.push(Item {
            raw: raw.to_owned(),
            canonical: format!("{role} {}", tree.envelope()),
            role: role.to_owned(),
            kind: match tree.get("type").and_then(Tree::str) {
                Some("tool_use") => Kind::Calls(1),
                Some("tool_result") => Kind::Result,
                Some("thinking") => Kind::Thinking,
                _ => Kind::Content,
            },
            opens,
            texts: turn.to_owned(),
            holds: false,
            message: self.message_of(opens),
        });
    }

    /// The message of the next item: one more where it opens one.
    fn message_of(&self, opens: bool) -> usize {
        let before = self.items.last().map(|item| item.message);
        before.map_or(0, |before| before + usize::from(opens))
    }

    /// This body's history with the nodes told apart; an error names a node that does not stand in it.
    pub fn elements(&self, nodes: &[&Node]) -> Result<Vec<Element>, String> {
        let mut left: Vec<&Node> = nodes.to_vec();
        let mut out = Vec::new();
        let mut count = 0;
        for item in &self.items {
            let whole = left
                .iter()
                .position(|node| outside(node) && item.raw.as_bytes() == node.bytes);
            if let Some(at) = whole {
                out.push(Element::Node(sent(left.remove(at), count)));
                continue;
            }
            let mut item = item.clone();
            let mut behind = Vec::new();
            for node in nodes.iter().filter(|node| !outside(node)) {
                let Some(at) = left.iter().position(|other| std::ptr::eq(*other, *node)) else {
                    continue;
                };
                if let Some(bare) = without(&item.raw, node) {
                    item.raw = bare;
                    item.holds = true;
                    left.remove(at);
                    match node.slot {
                        Slot::Lead => out.push(Element::Node(sent(node, count))),
                        _ => behind.push(Element::Node(sent(node, count + 1))),
                    }
                }
            }
            if item.holds {
                item.canonical = canonical(&item.raw);
            }
            out.push(Element::Item(item));
            out.extend(behind);
            count += 1;
        }
        match left.first() {
            None => Ok(out),
            Some(node) => Err(format!(
                "node {} at {} does not stand in the body",
                text(&node.bytes),
                node.position
            )),
        }
    }
}

/// The elements of an array, as written.
fn list(array: &RawValue) -> Vec<&RawValue> {
    serde_json::from_str(array.get()).unwrap()
}

/// The normal form of a message; a bare string is the user's.
fn canonical(raw: &str) -> String {
    match Tree::parse(raw) {
        said @ Tree::Str(_) => {
            let role = Tree::Str("user".to_owned());
            Tree::Obj(vec![("role".to_owned(), role), ("content".to_owned(), said)]).envelope()
        }
        message => message.envelope(),
    }
}

/// The texts of a content.
fn texts(content: Option<&Tree>) -> Vec<String> {
    match content {
        Some(Tree::Str(text)) => vec![text.clone()],
        Some(content) => content
            .list()
            .iter()
            .filter_map(|block| block.get("text")?.str())
            .map(str::to_owned)
            .collect(),
        None => Vec::new(),
    }
}

/// What a message says, call ids included: how the world names answers.
fn said(message: &Tree) -> String {
    let named = |call: &Tree| {
        let by_path = || {
            call.get("function")
                .and_then(|function| called(function.get("arguments")?))
        };
        call.get("id")
            .and_then(Tree::str)
            .map(str::to_owned)
            .or_else(by_path)
    };
    let ids = |list: Option<&Tree>| -> Vec<String> {
        list.iter()
            .flat_map(|list| list.list())
            .filter_map(named)
            .collect()
    };
    let mut calls = ids(message.get("tool_calls"));
    calls.extend(ids(message.get("content")));
    format!("{}|{}", texts(message.get("content")).concat(), calls.join(","))
}

/// The world's name of a call that has no id: its argument holds it.
fn called(arguments: &Tree) -> Option<String> {
    let path = arguments.get("path")?.str()?;
    path.strip_suffix(".rs").map(str::to_owned)
}

fn outside(node: &Node) -> bool {
    !matches!(node.slot, Slot::Lead | Slot::Trail)
}

fn sent(node: &Node, position: usize) -> Sent {
    Sent {
        bytes: text(&node.bytes),
        slot: node.slot,
        meaning: format!("{:?}", node.entries),
        position,
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// The message without the node that stands in its text, if it does.
fn without(raw: &str, node: &Node) -> Option<String> {
    let content = if raw.starts_with('"') {
        raw
    } else {
        let message: RawMessage<'_> = serde_json::from_str(raw).ok()?;
        message.content?.get()
    };
    let fragment = text(&node.bytes);
    let lead = node.slot == Slot::Lead;
    let bare = if let Some(inner) = content
        .strip_prefix('"')
        .and_then(|inner| inner.strip_suffix('"'))
    {
        let rest = if lead {
            inner.strip_prefix(&fragment)
        } else {
            inner.strip_suffix(&fragment)
        };
        format!("\"{}\"", rest?)
    } else {
        let parts =
            ["text", "input_text"].map(|kind| format!("{{\"type\":\"{kind}\",\"text\":\"{fragment}\"}}"));
        let blocks: Vec<&RawValue> = serde_json::from_str(content).ok()?;
        let edge = if lead { blocks.first() } else { blocks.last() };
        let part = parts
            .iter()
            .find(|part| edge.is_some_and(|edge| edge.get() == part.as_str()))?;
        if lead {
            content.replacen(&format!("{part},"), "", 1)
        } else {
            content.replacen(&format!(",{part}"), "", 1)
        }
    };
    Some(raw.replacen(content, &bare, 1))
}

/// Bytes without their cache markers.
pub fn unmarked(raw: &str) -> String {
    let mut out = raw.to_owned();
    while let Some(key) = out.find("\"cache_control\"") {
        let end = key + out[key..].find('}').expect("a marker ends") + 1;
        let before = out[..key].trim_end();
        let start = if before.ends_with(',') {
            before.len() - 1
        } else {
            key
        };
        let mut end = end;
        if start == key {
            let rest = out[end..].trim_start();
            end = out.len() - rest.strip_prefix(',').map_or(rest, str::trim_start).len();
        }
        out.replace_range(start..end, "");
    }
    out
}
