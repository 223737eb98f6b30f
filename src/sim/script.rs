//! What the provider answers: a scripted [`Answer`], or a plain default that can drive an agent.

use std::time::Duration;

use bytes::Bytes;
use serde_json::{Value, json};

use super::json::Json;
use super::prompt::{Block, Kind, Message, Prompt, Role, Tool};
use super::render::Rendered;
use super::tokens::chain;

/// One answer. Start from [`Answer::text`], [`Answer::error`] or `default()` and add to it.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    /// Status, 200 if none. From 400 on, [`body`](Self::body) or a default error in the format's shape is sent.
    pub status: Option<u16>,
    /// Text of the assistant. In a compaction of Responses, what the compaction item holds.
    pub text: Option<String>,
    /// Calls: id, name, arguments.
    pub tool_calls: Vec<(String, String, Value)>,
    /// Thinking before the text, where the format or the dialect shows it; Anthropic's, Converse's and that of Responses (a
    /// reasoning item with a summary) is signed.
    pub thinking: Option<String>,
    /// Sent instead of the encoded answer, as it is; garbage is fine.
    pub body: Option<Bytes>,
    /// Headers added to the answer; one that is there already is replaced.
    pub headers: Vec<(String, String)>,
    /// Wait before the status line. Cache entries become readable after it.
    pub delay: Duration,
    /// Wait before each piece of a stream but the first.
    pub chunk_delay: Duration,
    /// Half of a stream goes out, then this error of the format's own in the place of the rest: kind and message.
    pub fault: Option<(String, String)>,
    /// The connection breaks after this many body bytes.
    pub cut: Option<usize>,
}

impl Answer {
    /// A text.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            text: Some(text.into()),
            ..Self::default()
        }
    }

    /// A call of one tool; more can follow with [`and_call`](Self::and_call).
    pub fn call(id: &str, name: &str, arguments: Value) -> Self {
        Self::default().and_call(id, name, arguments)
    }

    /// One more call.
    pub fn and_call(mut self, id: &str, name: &str, arguments: Value) -> Self {
        self.tool_calls.push((id.to_owned(), name.to_owned(), arguments));
        self
    }

    /// Thinking in front of it.
    pub fn with_thinking(mut self, thinking: impl Into<String>) -> Self {
        self.thinking = Some(thinking.into());
        self
    }

    /// An error with this message in the format's own shape.
    pub fn error(status: u16, message: impl Into<String>) -> Self {
        Self {
            status: Some(status),
            ..Self::text(message)
        }
    }

    /// These bytes with status 200, whatever they are.
    pub fn raw(body: impl Into<Bytes>) -> Self {
        Self {
            body: Some(body.into()),
            ..Self::default()
        }
    }

    /// One more header.
    pub fn with_header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Waits before the status line.
    pub fn after(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    /// Waits before each piece of a stream but the first.
    pub fn paced(mut self, delay: Duration) -> Self {
        self.chunk_delay = delay;
        self
    }

    /// Ends a stream in the middle with an error of this kind, like `modelStreamErrorException` or `overloaded_error`.
    pub fn failing(mut self, kind: &str, message: &str) -> Self {
        self.fault = Some((kind.to_owned(), message.to_owned()));
        self
    }

    /// Breaks the connection after this many body bytes.
    pub fn cut_after(mut self, bytes: usize) -> Self {
        self.cut = Some(bytes);
        self
    }

    pub(super) fn status(&self) -> u16 {
        self.status.unwrap_or(200)
    }
}

/// The answer when none is scripted: `[tools:N]` in the user's last text asks for N rounds of tool calls, which go through
/// the declared tools in turn; else, and after them, a short text. Equal prompts get equal answers, call ids included.
pub(super) fn default_answer(prompt: &Prompt, rendered: &Rendered, seed: u64) -> Answer {
    // Of the whole prompt: two conversations with one question must not share call ids.
    let digest = rendered.ends.last().map_or(seed, |end| end.digest ^ seed);
    let (wanted, done) = rounds(&prompt.turns);
    let tools = callable(prompt);
    let mut answer = match tools.get(done % tools.len().max(1)) {
        Some(tool) if done < wanted => call(prompt, tool, digest),
        _ if wanted > 0 => Answer::text(format!("Done after {done} tool rounds ({}).", word(digest))),
        _ => Answer::text(format!("Understood ({}).", word(digest))),
    };
    if prompt.thinking {
        answer.thinking = Some(format!("I consider {}.", word(digest)));
    }
    answer
}

/// Without those that the Responses API runs itself.
fn callable(prompt: &Prompt) -> Vec<&Tool> {
    let hosted = |tool: &Tool| {
        let kind = tool.extra.iter().find(|(key, _)| key == "type");
        prompt.format == super::Format::OpenAiResponses
            && kind.is_some_and(|(_, kind)| kind.as_str() != Some("custom"))
    };
    prompt.tools.iter().filter(|tool| !hosted(tool)).collect()
}

/// Rounds asked for by the user's last own text, and assistant turns with calls since.
fn rounds(turns: &[Message]) -> (usize, usize) {
    let user = |m: &Message| (m.role == Role::User).then(|| wanted(m)).flatten();
    let mut latest = turns.iter().enumerate().rev();
    let Some((at, wanted)) = latest.find_map(|(at, m)| Some((at, user(m)?))) else {
        return (0, 0);
    };
    let is_call = |block: &Block| matches!(block.kind, Kind::ToolUse { .. });
    let calls = turns[at..].iter().filter(|m| m.blocks.iter().any(is_call));
    (wanted, calls.count())
}

/// N of `[tools:N]`; 0 for a user's text without it, none for a message without text of the user's own.
fn wanted(message: &Message) -> Option<usize> {
    let texts = message.blocks.iter().filter_map(|b| b.kind.text());
    // A text that only reminds is the operator's, and must not end a tool loop.
    let own = |text: &&str| !text.trim_start().starts_with("<system-") || text.contains("[tools:");
    texts.filter(own).map(asked).max()
}

fn asked(text: &str) -> usize {
    let number = |tail: &str| tail.split_once(']')?.0.trim().parse().ok();
    let tail = text.split_once("[tools:").map(|(_, tail)| tail);
    tail.and_then(number).unwrap_or(0)
}

fn call(prompt: &Prompt, tool: &Tool, digest: u64) -> Answer {
    let prefix = match prompt.format {
        super::Format::OpenAiChat | super::Format::OpenAiResponses => "call_",
        super::Format::AnthropicMessages => "toolu_",
        super::Format::BedrockConverse => "tooluse_",
        super::Format::Gemini | super::Format::Ollama => "",
    };
    let id = format!("{prefix}{:016x}{:08x}", digest, chain(digest, 1) as u32);
    Answer::call(&id, &tool.name, arguments(&tool.schema, digest))
}

/// A value for each required property, of its declared type.
fn arguments(schema: &Json, digest: u64) -> Value {
    let properties = schema.get("properties").unwrap_or(&Json::Null);
    let required = schema.list("required").iter().filter_map(Json::as_str);
    let filled = required.map(|name| {
        let property = properties.get(name).unwrap_or(&Json::Null);
        (name.to_owned(), example(property, digest))
    });
    Value::Object(filled.collect())
}

fn example(property: &Json, digest: u64) -> Value {
    if let Some(first) = property.list("enum").first().and_then(Json::as_str) {
        return json!(first);
    }
    match property.str("type").unwrap_or("string") {
        "integer" | "number" => json!(1),
        "boolean" => json!(true),
        "array" => json!([]),
        "object" => arguments(property, digest),
        _ => json!(word(digest)),
    }
}

fn word(digest: u64) -> String {
    format!("{:06x}", digest & 0xFF_FFFF)
}
