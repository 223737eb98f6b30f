//! An [`Answer`] as bytes: JSON or server-sent events, in each format's real shape.

use bytes::Bytes;
use serde_json::{Value, json};

use super::Format;
use super::prompt::Prompt;
use super::record::Usage;
use super::script::Answer;
use super::tokens::count;

mod chat;
mod messages;
pub(super) mod responses;

/// What the encoders need besides the answer.
#[derive(Debug)]
pub(super) struct Reply<'a> {
    pub(super) prompt: &'a Prompt,
    pub(super) answer: &'a Answer,
    /// Signature of the answer's thinking.
    pub(super) signature: String,
    pub(super) usage: Usage,
    /// Unique in this provider.
    pub(super) number: u64,
}

/// The body in pieces, one per event of a stream, and its content type.
pub(super) fn encode(reply: &Reply) -> (Vec<Bytes>, &'static str) {
    let stream = reply.prompt.stream;
    let pieces = match (reply.prompt.format, stream) {
        (Format::OpenAiResponses, _) => responses::encode(reply),
        (Format::OpenAiChat, false) => whole(&chat::whole(reply)),
        (Format::OpenAiChat, true) => chat::stream(reply),
        (Format::AnthropicMessages, false) => whole(&messages::whole(reply)),
        (Format::AnthropicMessages, true) => messages::stream(reply),
    };
    let content_type = match stream {
        true => "text/event-stream; charset=utf-8",
        false => "application/json",
    };
    (pieces, content_type)
}

/// Tokens of what the assistant says.
pub(super) fn output_tokens(format: Format, answer: &Answer) -> usize {
    // Chat Completions answers carry no thinking.
    let thinking = answer.thinking.iter().filter(|_| format != Format::OpenAiChat);
    let texts = answer.text.iter().chain(thinking);
    let calls = answer
        .tool_calls
        .iter()
        .map(|(_, name, arguments)| count(name) + count(&arguments.to_string()));
    texts.map(|text| count(text)).chain(calls).sum()
}

fn whole(body: &Value) -> Vec<Bytes> {
    vec![Bytes::from(body.to_string())]
}

/// A text in pieces as a model would stream it: at most 12 bytes of whole characters.
fn pieces(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let whole = |at: &usize| rest.is_char_boundary(*at);
        let at = (1..=rest.len().min(12)).rev().find(whole);
        let (piece, tail) = rest.split_at(at.unwrap_or(rest.len()));
        found.push(piece);
        rest = tail;
    }
    found
}

fn event(name: Option<&str>, data: &Value) -> Bytes {
    let line = name.map(|n| format!("event: {n}\n")).unwrap_or_default();
    Bytes::from(format!("{line}data: {data}\n\n"))
}

/// `count_tokens`, and `input_tokens` of Responses.
pub(super) fn token_count(format: Format, tokens: usize) -> Value {
    match format {
        Format::OpenAiResponses => json!({"object": "response.input_tokens", "input_tokens": tokens}),
        _ => json!({"input_tokens": tokens}),
    }
}
