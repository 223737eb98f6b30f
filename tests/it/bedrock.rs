//! Amazon Bedrock: Converse, and InvokeModel with Anthropic's bodies.

mod alternation;
mod answers;
mod edits;
mod parse;
mod wire;

use bytes::Bytes;
use inkfast::wire::format::Format;
use serde_json::{Value, json};

use crate::harness::{Answer, Core};

pub const HOST: &str = "bedrock-runtime.us-east-1.amazonaws.com";
/// One that takes a system message in the history, and binds its thinking.
pub const NATIVE: &str = "us.anthropic.claude-opus-5-5-20260901-v1:0";
/// One that takes none.
pub const PLAIN: &str = "amazon.nova-pro-v1:0";

pub fn core(model: &str) -> Core {
    let mut core = Core::new(Format::BedrockConverse, HOST);
    core.model = Some(model.to_owned());
    core
}

pub fn marker() -> Value {
    json!({"cachePoint": {"type": "default"}})
}

pub fn text(text: &str) -> Value {
    json!({"text": text})
}

pub fn user(content: Value) -> Value {
    json!({"role": "user", "content": content})
}

pub fn assistant(content: Value) -> Value {
    json!({"role": "assistant", "content": content})
}

/// A body whose head has these blocks.
pub fn body(system: Value, messages: &[Value]) -> Bytes {
    Bytes::from(
        json!({"system": system, "messages": messages, "inferenceConfig": {"maxTokens": 9}}).to_string(),
    )
}

/// A prompt that is alike for two modes.
pub fn prompt(mode: &str) -> String {
    format!(
        "You are a careful assistant for software work.\n\nRead before you write. Ask when in doubt.\n\n\
         Mode: {mode}\n\nKeep answers short, name the files that you touch, and run the tests before you say done."
    )
}

pub fn said(text: &str, calls: &[&str]) -> Answer {
    Answer {
        status: 200,
        text: text.to_owned(),
        calls: calls.iter().map(|id| (*id).to_owned()).collect(),
    }
}

/// How often `needle` stands in a body.
pub fn count(body: &[u8], needle: &str) -> usize {
    String::from_utf8_lossy(body).matches(needle).count()
}

/// An answer that no other conversation has by chance.
pub fn long() -> String {
    "Every part of the plan was read and none is left open. ".repeat(5)
}
