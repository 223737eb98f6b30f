//! Gemini answers: one object, server-sent events, or the array that a stream without `alt=sse` is.

use bytes::Bytes;
use serde_json::{Value, json};

use super::{Reply, event, pieces};
use crate::sim::rules;
use crate::sim::tokens::count;

pub(super) fn whole(reply: &Reply) -> Value {
    let answer = reply.answer;
    let mut parts: Vec<Value> = thoughts(reply).map(thought).into_iter().collect();
    let text = answer.text.iter().filter(|text| !text.is_empty());
    parts.extend(text.map(|text| json!({"text": text})));
    parts.extend(calls(reply));
    if let (true, true, Some(last)) = (signs(reply), answer.tool_calls.is_empty(), parts.last_mut()) {
        last["thoughtSignature"] = json!(reply.signature);
    }
    response(reply, &parts, reply.usage.output, true)
}

pub(super) fn stream(reply: &Reply) -> Vec<Bytes> {
    let answer = reply.answer;
    let mut parts: Vec<Value> = pieces(thoughts(reply).unwrap_or_default())
        .into_iter()
        .map(thought)
        .collect();
    let text = pieces(answer.text.as_deref().unwrap_or_default()).into_iter();
    parts.extend(text.map(|piece| json!({"text": piece})));
    parts.extend(calls(reply));
    if answer.tool_calls.is_empty() && signs(reply) {
        parts.push(json!({"text": "", "thoughtSignature": reply.signature}));
    }
    if parts.is_empty() {
        parts.push(json!({"text": ""}));
    }
    let count = parts.len();
    let chunks = parts.into_iter().enumerate().map(|(i, part)| {
        // Each chunk tells the tokens so far; the last one tells all.
        let output = reply.usage.output * (i + 1) / count;
        let chunk = response(reply, &[part], output, i + 1 == count);
        framed(reply, i, &chunk)
    });
    let close = reply.call.is_array().then(|| Bytes::from_static(b"\n]"));
    chunks.chain(close).collect()
}

/// An error in the middle of a stream.
pub(super) fn fault(reply: &Reply, kind: &str, message: &str) -> Bytes {
    let error = json!({"error": {"code": 503, "message": message, "status": kind}});
    let close = if reply.call.is_array() { "\n]" } else { "" };
    // Never the first: half of the stream is in front of it.
    let mut bytes = framed(reply, 1, &error).to_vec();
    bytes.extend(close.as_bytes());
    bytes.into()
}

fn framed(reply: &Reply, index: usize, chunk: &Value) -> Bytes {
    match (reply.call.is_array(), index) {
        (false, _) => event(None, chunk),
        (true, 0) => Bytes::from(format!("[{chunk}")),
        (true, _) => Bytes::from(format!(",\r\n{chunk}")),
    }
}

fn response(reply: &Reply, parts: &[Value], output: usize, last: bool) -> Value {
    let mut candidate = json!({"content": {"parts": parts, "role": "model"}, "index": 0});
    if last {
        candidate["finishReason"] = json!("STOP");
    }
    json!({
        "candidates": [candidate],
        "usageMetadata": usage(reply, output),
        "modelVersion": reply.prompt.model,
        "responseId": format!("sim{:08x}", reply.number),
    })
}

/// A zero is left out, as in all of Google's messages.
fn usage(reply: &Reply, output: usize) -> Value {
    let usage = &reply.usage;
    let thoughts = thoughts(reply).map_or(0, count).min(output);
    let mut body = json!({"promptTokenCount": usage.total, "totalTokenCount": usage.total + output});
    let others = [
        ("candidatesTokenCount", output - thoughts),
        ("cachedContentTokenCount", usage.cached),
        ("thoughtsTokenCount", thoughts),
    ];
    for (key, tokens) in others.into_iter().filter(|(_, tokens)| *tokens > 0) {
        body[key] = json!(tokens);
    }
    body
}

fn thoughts<'a>(reply: &'a Reply) -> Option<&'a str> {
    reply.answer.thinking.as_deref()
}

fn thought(text: &str) -> Value {
    json!({"text": text, "thought": true})
}

/// The first call of a group carries the signature.
fn calls(reply: &Reply) -> Vec<Value> {
    let calls = reply.answer.tool_calls.iter().enumerate();
    calls
        .map(|(i, (id, name, arguments))| {
            let mut part = json!({"functionCall": {"id": id, "name": name, "args": arguments}});
            if i == 0 && signs(reply) {
                part["thoughtSignature"] = json!(reply.signature);
            }
            part
        })
        .collect()
}

fn signs(reply: &Reply) -> bool {
    rules::gemini(&reply.prompt.model).signs
}
