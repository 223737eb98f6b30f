//! OpenAI Chat Completions answers.

use bytes::Bytes;
use serde_json::{Value, json};

use super::{Reply, event, pieces};
use crate::sim::rules;

/// Unix seconds; fixed, so that equal requests get equal bytes.
const CREATED: u64 = 1_796_000_000;

pub(super) fn whole(reply: &Reply) -> Value {
    let mut message = json!({
        "role": "assistant",
        "content": reply.answer.text,
        "refusal": null,
        "annotations": [],
    });
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
    body["usage"] = usage(reply);
    body
}

pub(super) fn stream(reply: &Reply) -> Vec<Bytes> {
    let mut out = vec![chunk(
        reply,
        json!({"role": "assistant", "content": "", "refusal": null}),
        None,
    )];
    for piece in pieces(reply.answer.text.as_deref().unwrap_or_default()) {
        out.push(chunk(reply, json!({"content": piece}), None));
    }
    for (index, (id, name, arguments)) in reply.answer.tool_calls.iter().enumerate() {
        let opening = json!({"tool_calls": [{
            "index": index,
            "id": id,
            "type": "function",
            "function": {"name": name, "arguments": ""},
        }]});
        out.push(chunk(reply, opening, None));
        for piece in pieces(&arguments.to_string()) {
            let more = json!({"tool_calls": [{"index": index, "function": {"arguments": piece}}]});
            out.push(chunk(reply, more, None));
        }
    }
    out.push(chunk(reply, json!({}), Some(finish_reason(reply))));
    if reply.prompt.stream_usage {
        let mut last = envelope(reply, "chat.completion.chunk");
        last["choices"] = json!([]);
        last["usage"] = usage(reply);
        out.push(event(None, &last));
    }
    out.push(Bytes::from_static(b"data: [DONE]\n\n"));
    out
}

fn chunk(reply: &Reply, delta: Value, finish: Option<&str>) -> Bytes {
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
    event(None, &body)
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

fn usage(reply: &Reply) -> Value {
    let usage = &reply.usage;
    let mut details = json!({"cached_tokens": usage.cached, "audio_tokens": 0});
    if rules::gpt(&reply.prompt.model).exact {
        details["cache_write_tokens"] = json!(usage.written);
    }
    json!({
        "prompt_tokens": usage.total,
        "completion_tokens": usage.output,
        "total_tokens": usage.total + usage.output,
        "prompt_tokens_details": details,
        "completion_tokens_details": {
            "reasoning_tokens": 0,
            "audio_tokens": 0,
            "accepted_prediction_tokens": 0,
            "rejected_prediction_tokens": 0,
        },
    })
}
