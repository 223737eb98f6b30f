//! Where a translated conversation goes, and what is answered there.

use bytes::Bytes;
use inkfast::wire::format::Format;
use serde_json::Value;

use crate::harness::Answer;

/// The host and the two models whose updates are messages, or text of the user.
pub fn route_of(format: Format, messages: bool) -> (&'static str, [&'static str; 2]) {
    match (format, messages) {
        (Format::OpenaiChat, true) => ("api.openai.com", ["m1", "m2"]),
        (Format::OpenaiResponses, true) => ("api.openai.com", ["gpt-5.5", "gpt-6"]),
        (Format::AnthropicMessages, true) => ("api.anthropic.com", ["claude-opus-5", "claude-opus-4-8"]),
        (Format::AnthropicMessages, false) => ("gateway.example", ["m1", "m2"]),
        (Format::BedrockConverse, true) => (
            "bedrock-runtime.us-east-1.amazonaws.com",
            ["anthropic.claude-opus-5-v1:0", "anthropic.claude-opus-4-8-v1:0"],
        ),
        (Format::BedrockConverse, false) => (
            "bedrock-runtime.us-east-1.amazonaws.com",
            ["amazon.nova-pro-v1:0", "amazon.nova-lite-v1:0"],
        ),
        (Format::Gemini, _) => (
            "generativelanguage.googleapis.com",
            ["gemini-3.5-flash", "gemini-3.1-pro"],
        ),
        _ => ("localhost", ["m1", "m2"]),
    }
}

/// Whether the path of a request names its model, not the body.
pub fn model_in_path(format: Format) -> bool {
    matches!(format, Format::Gemini | Format::BedrockConverse)
}

/// An answer of Chat Completions in another format: where calls have no ids, they are known by what they say.
pub fn said_in(format: Format, chats: &[Bytes], mut answer: Answer) -> Answer {
    if matches!(format, Format::Gemini | Format::Ollama) {
        answer.calls = answer.calls.iter().map(|id| named(chats, id)).collect();
    }
    answer
}

/// What a call is known by where it has no id: its name and its arguments.
fn named(bodies: &[Bytes], id: &str) -> String {
    let call = bodies.iter().find_map(|body| {
        let body: Value = serde_json::from_slice(body).unwrap();
        let messages = body["messages"].as_array().unwrap().clone();
        let calls = messages
            .iter()
            .flat_map(|message| message["tool_calls"].as_array().cloned().unwrap_or_default());
        calls.into_iter().find(|call| call["id"] == id)
    });
    let function = &call.expect("a call that is carried on")["function"];
    let arguments: Value = serde_json::from_str(function["arguments"].as_str().unwrap()).unwrap();
    format!("{}{arguments}", function["name"].as_str().unwrap())
}
