//! A request as the provider understands it: tools, head and turns, the same type for all formats.
//!
//! Also the three ways in which chat templates treat a system message that is not in front ([`LaterSystem`]), and the
//! operator's text that is in force at the end ([`Operator`]).

use std::time::Duration;

use super::json::Json;
use super::responses::Responses;
use super::{Format, LaterSystem};

/// One decoded request.
#[derive(Clone, Debug)]
pub(super) struct Prompt {
    pub(super) format: Format,
    pub(super) model: String,
    pub(super) stream: bool,
    /// `stream_options.include_usage`.
    pub(super) stream_usage: bool,
    /// Thinking was asked for.
    pub(super) thinking: bool,
    pub(super) tools: Vec<Tool>,
    /// Anthropic's `system` as one message, or the leading run of system and developer messages.
    pub(super) head: Vec<Message>,
    pub(super) turns: Vec<Message>,
    /// Parameters in front of everything (OpenAI), and those in front of the messages (Anthropic).
    pub(super) settings: Vec<String>,
    pub(super) cache: CacheOptions,
    /// What only the Responses API has.
    pub(super) responses: Responses,
}

/// What a request says about caching apart from its markers.
#[derive(Clone, Debug, Default)]
pub(super) struct CacheOptions {
    /// Anthropic's top-level `cache_control`.
    pub(super) automatic: Option<Duration>,
    /// OpenAI's `prompt_cache_key`: requests of another key go to another machine.
    pub(super) routing: Option<String>,
    /// OpenAI's `prompt_cache_retention` or `prompt_cache_options.ttl`.
    pub(super) ttl: Option<Duration>,
    /// OpenAI's `prompt_cache_options.mode` "explicit".
    pub(super) explicit_only: bool,
    /// Gemini's `cachedContent`: the name of what stands in front.
    pub(super) content: Option<String>,
    /// Its tokens; they are read from the cache.
    pub(super) held: usize,
}

#[derive(Clone, Debug)]
pub(super) struct Tool {
    pub(super) name: String,
    pub(super) description: String,
    pub(super) schema: Json,
    /// Other keys, sorted by name.
    pub(super) extra: Vec<(String, Json)>,
    pub(super) marker: Option<Duration>,
}

#[derive(Clone, Debug)]
pub(super) struct Message {
    /// Its place in the body, like `messages.3`; the same for head blocks, `system`.
    pub(super) path: String,
    pub(super) role: Role,
    pub(super) blocks: Vec<Block>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Role {
    System,
    Developer,
    User,
    Assistant,
    Tool,
    Function,
    /// An item of the Responses API that is nobody's message.
    Item,
    Unknown(String),
}

#[derive(Clone, Debug)]
pub(super) struct Block {
    pub(super) path: String,
    pub(super) kind: Kind,
    /// An explicit breakpoint at the end of this block, with its lifetime.
    pub(super) marker: Option<Duration>,
    /// Markers on blocks inside this one; they count and mark this one's end.
    pub(super) inner_markers: usize,
    /// Gemini's `thoughtSignature`.
    pub(super) signature: Option<String>,
}

#[derive(Clone, Debug)]
pub(super) enum Kind {
    Text(String),
    ToolUse {
        id: String,
        name: String,
        /// Compact JSON (Anthropic) or the string as it came (OpenAI).
        input: String,
    },
    ToolResult {
        id: String,
        failed: bool,
        content: Vec<Kind>,
    },
    Thinking {
        text: String,
        signature: String,
    },
    Redacted(String),
    Image(String),
    Other {
        kind: String,
        json: String,
    },
}

impl Role {
    pub(super) fn is_operator(&self) -> bool {
        matches!(self, Self::System | Self::Developer)
    }
}

impl Block {
    pub(super) fn is_thinking(&self) -> bool {
        matches!(self.kind, Kind::Thinking { .. } | Kind::Redacted(_))
    }

    /// Thinking and empty text cannot carry a marker.
    pub(super) fn is_cacheable(&self) -> bool {
        match &self.kind {
            Kind::Text(text) => !text.is_empty(),
            Kind::Thinking { .. } | Kind::Redacted(_) => false,
            _ => true,
        }
    }
}

impl Message {
    /// A reasoning item, or a turn of thinking only.
    pub(super) fn is_thinking(&self) -> bool {
        !self.blocks.is_empty() && self.blocks.iter().all(Block::is_thinking)
    }

    pub(super) fn text(&self) -> String {
        let texts: Vec<&str> = self.blocks.iter().filter_map(|b| b.kind.text()).collect();
        texts.join("\n")
    }
}

impl Kind {
    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }
}

impl Prompt {
    /// Moves or drops later operator messages as this template does. `Strict` and `Alternate` change nothing here; they
    /// refuse before.
    pub(super) fn settle(&mut self, mode: LaterSystem) {
        if !matches!(mode, LaterSystem::Hoist | LaterSystem::Drop) {
            return;
        }
        let (later, turns) = std::mem::take(&mut self.turns)
            .into_iter()
            .partition(|m| m.role.is_operator());
        self.turns = turns;
        if mode == LaterSystem::Hoist {
            self.head.extend(later);
        }
    }

    /// Leaves out reasoning items and remembers their ids.
    pub(super) fn drop_reasoning(&mut self, paths: &[String]) {
        let gone = |message: &Message| paths.contains(&message.path);
        let items = self.responses.items.iter().enumerate();
        let named = items.filter(|(i, _)| paths.contains(&format!("input[{i}]")));
        let ids = named.map(|(_, item)| item.str("id").unwrap_or_default().to_owned());
        self.responses.removed = ids.collect();
        self.turns.retain(|message| !gone(message));
    }

    /// Without anything to answer, Ollama loads the model and no more.
    pub(super) fn only_loads(&self) -> bool {
        self.format == Format::Ollama && self.head.is_empty() && self.turns.is_empty()
    }

    /// Leaves out the head blocks that only say which client this is.
    pub(super) fn strip_attribution(&mut self) {
        let says_client = |block: &Block| {
            let text = block.kind.text().unwrap_or_default();
            text.starts_with("x-anthropic-billing-header:")
        };
        for message in &mut self.head {
            message.blocks.retain(|block| !says_client(block));
        }
        self.head.retain(|message| !message.blocks.is_empty());
    }

    /// The operator's text as the model would see it.
    pub(super) fn operator(&self) -> Operator {
        let speaks = |m: &&Message| m.role != Role::Item;
        let head = self.head.iter().filter(speaks).map(Message::text).collect();
        let turns = self.turns.iter().chain(&self.responses.behind);
        let later = turns.flat_map(operator_texts).collect();
        Operator { head, later }
    }
}

/// The operator's text in force at the end of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Operator {
    /// Text of the head: one entry for Anthropic's `system` (blocks joined by a newline), one per leading message else.
    pub head: Vec<String>,
    /// Later system and developer messages, and what stands in `<system-reminder>` or `<system-update>` in user text, in order.
    pub later: Vec<String>,
}

impl Operator {
    /// What a model reads that takes the latest system text for the whole prompt.
    pub fn latest(&self) -> &str {
        let last = self.later.last().or(self.head.last());
        last.map_or("", String::as_str)
    }

    /// Head and later texts in order, a blank line between them.
    pub fn all(&self) -> String {
        let texts: Vec<&str> = self.head.iter().chain(&self.later).map(String::as_str).collect();
        texts.join("\n\n")
    }
}

fn operator_texts(message: &Message) -> Vec<String> {
    if message.role.is_operator() {
        return vec![message.text()];
    }
    if message.role != Role::User {
        return Vec::new();
    }
    let texts = message.blocks.iter().filter_map(|b| b.kind.text());
    texts.flat_map(reminders).collect()
}

fn reminders(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some((start, name)) = first_sentinel(rest) {
        let inner = &rest[start + name.len() + 2..];
        let Some(end) = inner.find(&format!("</{name}>")) else {
            break;
        };
        found.push(inner[..end].trim_matches('\n').to_owned());
        rest = &inner[end..];
    }
    found
}

fn first_sentinel(text: &str) -> Option<(usize, &'static str)> {
    ["system-reminder", "system-update"]
        .into_iter()
        .filter_map(|name| Some((text.find(&format!("<{name}>"))?, name)))
        .min()
}
