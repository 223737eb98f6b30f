//! What must hold of each request of a conversation, said of bodies and answers alone.

use serde_json::{Value, json};

use super::agent::{Kind, Move};
use super::upstream::Stored;

/// One request and what became of it.
#[derive(Clone)]
pub struct Exchange {
    pub kind: Kind,
    pub moved: Move,
    /// Values that the client's head names.
    pub mode: usize,
    pub note: Option<usize>,
    /// The body as the client sent it, and as it left last.
    pub own: Vec<u8>,
    pub out: Vec<u8>,
    /// What was on record when the first byte of `out` was at the upstream.
    pub stored: Stored,
    /// The upstream's answer as the client got it, and as it was sent.
    pub status: u16,
    pub upstream_status: u16,
    /// How an upstream answers the client's own body.
    pub own_status: u16,
    /// The upstream was told to fail.
    pub scripted: bool,
    /// The edit is counted as one that waits.
    pub deferred: bool,
    /// It is on record as it was sent.
    pub recorded: bool,
    /// It is the first one after a restart.
    pub restarted: bool,
}

/// A body taken apart.
#[derive(Debug, PartialEq)]
pub struct Parts {
    /// The head's texts.
    pub head: Vec<String>,
    /// Position among the client's messages, and text.
    pub nodes: Vec<(usize, String)>,
    /// The client's messages in a normal form.
    pub items: Vec<Value>,
}

/// What is wrong with the last exchange of a conversation.
pub fn violations(conversation: &[Exchange]) -> Vec<String> {
    let (now, before) = conversation.split_last().unwrap();
    let mut found = Vec::new();
    let mut must = |holds: bool, what: &str| {
        if !holds {
            found.push(what.to_owned());
        }
    };
    must(
        now.status == now.upstream_status,
        "7: the answer is not the upstream's",
    );
    must(
        now.status < 400 || now.scripted || now.own_status >= 400,
        "7: an error that the client's own body does not get",
    );
    let (out, own) = (parts(now.kind, &now.out), parts(now.kind, &now.own));
    must(out.items == own.items, "4: the client's items");
    for (_, node) in &out.nodes {
        must(now.stored.holds(node), "8: a node left before it was on record");
    }
    must(
        now.deferred || out.tells(now.mode, now.note),
        "7: the head's edit is lost",
    );
    if now.out != now.own {
        must(
            before
                .iter()
                .any(|one| parts(one.kind, &one.own).head == out.head),
            "7: a head that was never the client's",
        );
    }
    if let Some(last) = continued(before, now) {
        let last_out = parts(last.kind, &last.out);
        let same_head = parts(last.kind, &last.own).head == own.head && last_out.tells(now.mode, now.note);
        // Without thinking a new edit may go as the client wrote it.
        let must_extend = (same_head || now.kind == Kind::Thinking) && !now.restarted;
        let extends = out.extends(&last_out);
        must(!must_extend || extends, "7: what was sent before does not stand");
        must(
            extends || now.out == now.own || !now.restarted,
            "7: neither what was sent before nor the client's own",
        );
    }
    found
}

/// The exchange that this one goes on from: the last that was answered, after a restart the last on record.
fn continued<'a>(before: &'a [Exchange], now: &Exchange) -> Option<&'a Exchange> {
    let last = before.iter().rev().find(|one| one.status < 300)?;
    if now.moved != Move::On {
        return None;
    }
    if !now.restarted || last.recorded {
        return Some(last);
    }
    let line = before.iter().rev().take_while(|one| one.moved == Move::On);
    line.into_iter().find(|one| one.recorded && one.status < 300)
}

impl Parts {
    /// Whether the last word on each named value is this one.
    fn tells(&self, mode: usize, note: Option<usize>) -> bool {
        let nodes = self.nodes.iter().map(|(_, text)| text);
        let text = self
            .head
            .iter()
            .chain(nodes)
            .cloned()
            .collect::<Vec<_>>()
            .join("\n");
        let last = |name: &str| {
            let (_, rest) = text.rsplit_once(name)?;
            rest.split('.').next()?.parse::<usize>().ok()
        };
        last("Mode: m") == Some(mode) && note.is_none_or(|note| last("Note: n") == Some(note))
    }

    /// Whether `before` stands in front.
    fn extends(&self, before: &Self) -> bool {
        self.head == before.head
            && self.items.starts_with(&before.items)
            && self.nodes.starts_with(&before.nodes)
            && self.nodes[before.nodes.len()..]
                .iter()
                .all(|(position, _)| *position >= before.items.len())
    }
}

impl Stored {
    fn holds(&self, node: &str) -> bool {
        let text = serde_json::to_string(node).unwrap();
        let text = text.trim_matches('"').as_bytes();
        self.blobs
            .iter()
            .any(|blob| memchr::memmem::find(blob, text).is_some())
    }
}

/// Takes a body apart. The client itself sends system messages only in front, and no reminders.
pub fn parts(kind: Kind, body: &[u8]) -> Parts {
    let body: Value = serde_json::from_slice(body).unwrap();
    let messages = body["messages"].as_array().unwrap();
    let leading = messages
        .iter()
        .take_while(|message| message["role"] == "system")
        .count();
    let head = if kind.is_chat() {
        messages[..leading]
            .iter()
            .map(|message| text(&message["content"]))
            .collect()
    } else {
        body["system"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|block| text(&block["text"]))
            .collect()
    };
    let mut parts = Parts {
        head,
        nodes: Vec::new(),
        items: Vec::new(),
    };
    messages[leading..].iter().for_each(|message| parts.take(message));
    parts
}

impl Parts {
    fn take(&mut self, message: &Value) {
        if message["role"] == "system" {
            return self.nodes.push((self.items.len(), text(&message["content"])));
        }
        if message["role"] != "user" {
            return self.items.push(message.clone());
        }
        let (at, mut blocks) = (self.items.len(), Vec::new());
        for block in blocks_of(&message["content"]) {
            let Some(said) = block["text"].as_str() else {
                blocks.push(block);
                continue;
            };
            let (rest, told) = without_reminders(said);
            // Behind anything of the message's own it is at its end.
            let place = |lead: bool| if lead && blocks.is_empty() { at } else { at + 1 };
            self.nodes
                .extend(told.into_iter().map(|(lead, node)| (place(lead), node)));
            if !rest.is_empty() {
                blocks.push(json!({"type": "text", "text": rest}));
            }
        }
        self.items.push(json!({"role": "user", "content": blocks}));
    }
}

fn blocks_of(content: &Value) -> Vec<Value> {
    match content {
        Value::String(text) => vec![json!({"type": "text", "text": text})],
        content => content.as_array().unwrap().clone(),
    }
}

/// The text without its reminders; those, and whether they stand in front of it.
fn without_reminders(text: &str) -> (String, Vec<(bool, String)>) {
    const OPEN: &str = "<system-reminder>";
    const CLOSE: &str = "</system-reminder>";
    let (mut rest, mut nodes) = (text.to_owned(), Vec::new());
    while let (Some(start), Some(end)) = (rest.find(OPEN), rest.find(CLOSE)) {
        nodes.push((start == 0, rest[start + OPEN.len()..end].trim().to_owned()));
        rest.replace_range(start..end + CLOSE.len(), "");
        rest = rest.trim().to_owned();
    }
    // A lone node is no text in front of anything.
    if rest.is_empty() && nodes.len() == 1 {
        nodes[0].0 = true;
    }
    (rest, nodes)
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}
