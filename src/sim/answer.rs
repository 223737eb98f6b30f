//! An [`Answer`] as bytes: JSON, or a stream in each format's own framing.

use bytes::Bytes;
use serde_json::{Value, json};

use super::dialect::Dialect;
use super::endpoint::hosted::{Call, Face};
use super::prompt::{Kind, Prompt};
use super::record::Usage;
use super::script::Answer;
use super::thinking::signed_text;
use super::tokens::count;
use super::{Format, frame};

mod chat;
mod converse;
mod dialects;
mod gemini;
mod invoke;
mod messages;
mod ollama;
pub(super) mod responses;

/// What the encoders need besides the answer.
#[derive(Debug)]
pub(super) struct Reply<'a> {
    pub(super) call: &'a Call,
    pub(super) dialect: Dialect,
    pub(super) prompt: &'a Prompt,
    pub(super) answer: &'a Answer,
    /// Signature of the answer's thinking, or of its first call.
    pub(super) signature: String,
    pub(super) usage: Usage,
    /// Unique in this provider.
    pub(super) number: u64,
}

/// The body in pieces, one per event of a stream, and its content type.
pub(super) fn encode(reply: &Reply) -> (Vec<Bytes>, &'static str) {
    let stream = reply.prompt.stream;
    let mut pieces = match (reply.prompt.format, stream) {
        (Format::OpenAiResponses, _) => responses::encode(reply),
        (Format::OpenAiChat, false) => whole(&chat::whole(reply)),
        (Format::OpenAiChat, true) => chat::stream(reply),
        (Format::AnthropicMessages, false) => whole(&messages::whole(reply)),
        (Format::AnthropicMessages, true) if reply.call.face == Face::Invoke => invoke::stream(reply),
        (Format::AnthropicMessages, true) => messages::stream(reply),
        (Format::Gemini, false) => whole(&gemini::whole(reply)),
        (Format::Gemini, true) => gemini::stream(reply),
        (Format::BedrockConverse, false) => whole(&converse::whole(reply)),
        (Format::BedrockConverse, true) => converse::stream(reply),
        (Format::Ollama, false) => whole(&ollama::whole(reply)),
        (Format::Ollama, true) => ollama::stream(reply),
    };
    if let Some((kind, message)) = reply.answer.fault.as_ref().filter(|_| stream) {
        pieces.truncate(pieces.len() / 2);
        let fault = fault(reply, kind, message, pieces.len());
        pieces.push(fault);
    }
    let content_type = match stream {
        true => streamed_type(reply),
        false => "application/json",
    };
    (pieces, content_type)
}

fn streamed_type(reply: &Reply) -> &'static str {
    match reply.prompt.format {
        _ if reply.call.is_bedrock() => "application/vnd.amazon.eventstream",
        Format::Gemini if reply.call.is_array() => "application/json; charset=UTF-8",
        Format::Ollama => "application/x-ndjson",
        _ => "text/event-stream; charset=utf-8",
    }
}

/// An error in the middle of a stream, behind this many pieces.
fn fault(reply: &Reply, kind: &str, message: &str, number: usize) -> Bytes {
    let error = json!({"error": {"type": kind, "message": message}});
    match reply.prompt.format {
        _ if reply.call.is_bedrock() => frame::exception(kind, &json!({"message": message})),
        Format::AnthropicMessages => {
            let event = json!({"type": "error", "error": error["error"]});
            self::event(Some("error"), &event)
        }
        Format::OpenAiResponses => responses::fault(reply, kind, message, number),
        Format::Gemini => gemini::fault(reply, kind, message),
        Format::Ollama => Bytes::from(format!("{}\n", json!({"error": message}))),
        _ => event(None, &error),
    }
}

/// The text that the answer's signature is made over.
pub(super) fn signed(format: Format, answer: &Answer) -> String {
    match (format, answer.tool_calls.first()) {
        (Format::Gemini, Some((id, name, arguments))) => signed_text(&Kind::ToolUse {
            id: id.clone(),
            name: name.clone(),
            input: arguments.to_string(),
        }),
        (Format::Gemini, None) => String::new(),
        _ => answer.thinking.clone().unwrap_or_default(),
    }
}

/// Tokens of what the assistant says.
pub(super) fn output_tokens(format: Format, dialect: Dialect, answer: &Answer) -> usize {
    // OpenAI's own Chat Completions answers carry no thinking.
    let shown = format != Format::OpenAiChat || dialect.manners().reasoning.is_some();
    let thinking = answer.thinking.iter().filter(|_| shown);
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

pub(super) use ollama::loaded;

/// What the endpoints that only count answer.
pub(super) fn token_count(call: &Call, tokens: usize) -> Value {
    match call.format {
        Format::OpenAiResponses => json!({"object": "response.input_tokens", "input_tokens": tokens}),
        Format::Gemini => json!({"totalTokens": tokens}),
        Format::BedrockConverse => json!({"inputTokens": tokens}),
        _ => json!({"input_tokens": tokens}),
    }
}
