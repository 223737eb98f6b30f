//! Anthropic Messages as Bedrock's InvokeModel streams it: each event in base64, in a frame of its own.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde_json::{Value, json};

use super::{Reply, messages};
use crate::sim::frame;

pub(super) fn stream(reply: &Reply) -> Vec<Bytes> {
    let mut events = messages::events(reply);
    events.retain(|event| event["type"] != "ping");
    if let Some(last) = events.last_mut() {
        last["amazon-bedrock-invocationMetrics"] = metrics(reply);
    }
    events.iter().enumerate().map(chunk).collect()
}

fn chunk((index, event): (usize, &Value)) -> Bytes {
    let payload = json!({"bytes": STANDARD.encode(event.to_string()), "p": padding(index)});
    frame::event("chunk", &payload)
}

/// Hides the length of what is said; of another length in each frame.
pub(super) fn padding(index: usize) -> &'static str {
    const LETTERS: &str = "abcdefghijklmnopqrstuvwxyz";
    &LETTERS[..1 + index % LETTERS.len()]
}

fn metrics(reply: &Reply) -> Value {
    let usage = &reply.usage;
    json!({
        "inputTokenCount": usage.uncached(),
        "outputTokenCount": usage.output,
        "invocationLatency": usage.output,
        "firstByteLatency": usage.uncached(),
        "cacheReadInputTokenCount": usage.cached,
        "cacheWriteInputTokenCount": usage.written + usage.written_1h,
    })
}
