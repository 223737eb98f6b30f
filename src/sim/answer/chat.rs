//! Chat Completions answers. What differs by host is in `dialects`.

use bytes::Bytes;
use serde_json::{Value, json};

use super::{Reply, dialects, event, pieces};
use crate::sim::dialect::Told;

/// Unix seconds; fixed, so that equal requests get equal bytes.
const CREATED: u64 = 1_796_000_000;

pub(super) fn whole(reply: &Reply) -> Value {
    let mut message = json!({
        "role": "assistant",
        "content": reply.answer.text,
        "refusal": null,
        "annotations": [],
    });
    if let Some((key, thinking)) = dialects::reasoning(reply) {
        message[key] = json!(thinking);
    }
    if !reply.answer.tool_calls.is_empty() {
        let calls = reply.answer.tool_calls.iter();
        message["tool_calls"] = calls
            .map(|(id, name, arguments)| {
                json!({
                    "id": id,
                    "type": "function",
                    "function": {"name": name, "arguments": arguments.to_string()},
                })
            })
            .collect();
    }
    let mut body = envelope(reply, "chat.completion");
    body["choices"] = json!([{
        "index": 0,
        "message": message,
        "logprobs": null,
        "finish_reason": finish_reason(reply),
    }]);
    body["usage"] = dialects::usage(reply);
    dialects::sign_off(reply, &mut body);
    body
}

pub(super) fn stream(reply: &Reply) -> Vec<Bytes> {
    let mut out = dialects::opening(reply, &envelope(reply, "chat.completion.chunk"));
    let role = json!({"role": "assistant", "content": "", "refusal": null});
    out.push(chunk(reply, role, None));
    if let Some((key, thinking)) = dialects::reasoning(reply) {
        out.extend(
            pieces(thinking)
                .iter()
                .map(|piece| chunk(reply, json!({key: piece}), None)),
        );
    }
    for piece in pieces(reply.answer.text.as_deref().unwrap_or_default()) {
        out.push(chunk(reply, json!({"content": piece}), None));
    }
    for (index, (id, name, arguments)) in reply.answer.tool_calls.iter().enumerate() {
        let arguments = arguments.to_string();
        let (first, rest) = match reply.dialect.calls_are_whole() {
            true => (arguments.as_str(), Vec::new()),
            false => ("", pieces(&arguments)),
        };
        let opening = json!({"tool_calls": [{
            "index": index,
            "id": id,
            "type": "function",
            "function": {"name": name, "arguments": first},
        }]});
        out.push(chunk(reply, opening, None));
        for piece in rest {
            let more = json!({"tool_calls": [{"index": index, "function": {"arguments": piece}}]});
            out.push(chunk(reply, more, None));
        }
    }
    out.extend(closing(reply));
    out.push(Bytes::from_static(b"data: [DONE]\n\n"));
    out
}

/// The chunk that finishes, and the one with the usage.
fn closing(reply: &Reply) -> Vec<Bytes> {
    let mut finish = chunk_body(reply, json!({}), Some(finish_reason(reply)));
    let told = reply.dialect.manners().told;
    let apart = told == Told::Always || told == Told::WhenAsked && reply.prompt.stream_usage;
    if told == Told::AtTheFinish {
        finish["usage"] = dialects::usage(reply);
    }
    if !apart {
        dialects::sign_off(reply, &mut finish);
        return vec![event(None, &finish)];
    }
    let mut last = envelope(reply, "chat.completion.chunk");
    last["choices"] = json!([]);
    last["usage"] = dialects::usage(reply);
    dialects::sign_off(reply, &mut last);
    vec![event(None, &finish), event(None, &last)]
}

fn chunk(reply: &Reply, delta: Value, finish: Option<&str>) -> Bytes {
    event(None, &chunk_body(reply, delta, finish))
}

fn chunk_body(reply: &Reply, delta: Value, finish: Option<&str>) -> Value {
    let mut body = envelope(reply, "chat.completion.chunk");
    body["choices"] = json!([{
        "index": 0,
        "delta": delta,
        "logprobs": null,
        "finish_reason": finish,
    }]);
    if reply.prompt.stream_usage {
        body["usage"] = Value::Null;
    }
    body
}

fn envelope(reply: &Reply, object: &str) -> Value {
    json!({
        "id": format!("chatcmpl-sim{:08x}", reply.number),
        "object": object,
        "created": CREATED,
        "model": reply.prompt.model,
        "service_tier": "default",
        "system_fingerprint": null,
    })
}

fn finish_reason(reply: &Reply) -> &'static str {
    match reply.answer.tool_calls.is_empty() {
        true => "stop",
        false => "tool_calls",
    }
}
