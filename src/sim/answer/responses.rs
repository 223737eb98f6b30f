//! OpenAI Responses answers: a response, its events, or a compacted window.

use bytes::Bytes;
use serde_json::{Value, json};

use super::{Reply, event};
use crate::sim::json::Json;
use crate::sim::{rules, thinking};

mod events;

/// Unix seconds; fixed, so that equal requests get equal bytes.
const CREATED: u64 = 1_796_000_000;

/// The body in pieces; in WebSocket mode a piece is a frame.
pub(super) fn encode(reply: &Reply) -> Vec<Bytes> {
    if reply.prompt.stream {
        return events::of(reply)
            .into_iter()
            .map(|data| sent(reply, data))
            .collect();
    }
    super::whole(&match reply.prompt.responses.window {
        true => window(reply),
        false => whole(reply, "completed"),
    })
}

/// An error in the middle of a stream.
pub(super) fn fault(reply: &Reply, code: &str, message: &str, number: usize) -> Bytes {
    let data = json!({
        "type": "error",
        "code": code,
        "message": message,
        "param": null,
        "sequence_number": number,
    });
    sent(reply, data)
}

/// An event as it goes out.
fn sent(reply: &Reply, mut data: Value) -> Bytes {
    let Some(lane) = &reply.prompt.responses.lane else {
        return event(data["type"].as_str(), &data);
    };
    if let Some(stream) = &lane.stream {
        data["stream_id"] = json!(stream);
    }
    Bytes::from(data.to_string())
}

/// The id of the response to the request of this number.
pub(in crate::sim) fn id(number: u64) -> String {
    format!("resp_sim{number:08x}")
}

/// The items that the model puts behind the input.
pub(in crate::sim) fn output(reply: &Reply) -> Vec<Value> {
    let answer = reply.answer;
    if reply.prompt.responses.compacts() {
        return vec![compaction(reply)];
    }
    let thinking = answer.thinking.iter().map(|text| reasoning(reply, text));
    let text = answer.text.iter().filter(|text| !text.is_empty());
    let text = text.map(|text| message(reply, text));
    let calls = answer.tool_calls.iter().enumerate();
    let calls = calls.map(|(i, (id, name, arguments))| call(reply, i, id, name, arguments));
    thinking.chain(text).chain(calls).collect()
}

/// The user's messages as items, and the compaction behind them.
fn window(reply: &Reply) -> Value {
    let users = reply.prompt.responses.users().enumerate();
    let users = users.map(|(i, item)| user(reply, i, item));
    json!({
        "id": id(reply.number),
        "object": "response.compaction",
        "created_at": CREATED,
        "output": users.chain([compaction(reply)]).collect::<Value>(),
        "usage": usage(reply),
    })
}

fn user(reply: &Reply, index: usize, item: &Json) -> Value {
    let content = match item.get("content") {
        Some(Json::Text(text)) => json!([{"type": "input_text", "text": text}]),
        other => other.map(value).unwrap_or_default(),
    };
    json!({
        "id": format!("msg_sim{:08x}u{index}", reply.number),
        "type": "message",
        "role": "user",
        "status": "completed",
        "content": content,
    })
}

/// The response as a whole, as it stands in the body and in the first and last events.
fn whole(reply: &Reply, status: &str) -> Value {
    let prompt = reply.prompt;
    let done = status == "completed";
    let mut body = json!({
        "id": id(reply.number),
        "object": "response",
        "created_at": CREATED,
        "status": status,
        "error": null,
        "incomplete_details": null,
        "model": prompt.model,
        "output": if done { output(reply) } else { Vec::new() },
        "usage": if done { usage(reply) } else { Value::Null },
    });
    for (key, default) in echoed() {
        let sent = prompt.responses.body.0.some(key);
        body[key] = sent.map_or(default, value);
    }
    if let Some(conversation) = prompt.responses.body.conversation() {
        body["conversation"] = json!({"id": conversation});
    }
    if rules::responses(&prompt.model).binds_reasoning {
        body["input_transformations"] = transformations(reply);
    }
    if let Some(diagnostics) = &prompt.responses.diagnostics {
        body["prompt_cache_diagnostics"] = diagnostics.clone();
    }
    body
}

/// Fields of the request that come back, with what they are when left out.
fn echoed() -> [(&'static str, Value); 15] {
    [
        ("instructions", Value::Null),
        ("max_output_tokens", Value::Null),
        ("metadata", json!({})),
        ("parallel_tool_calls", json!(true)),
        ("previous_response_id", Value::Null),
        ("prompt_cache_key", Value::Null),
        ("reasoning", json!({"effort": null, "summary": null})),
        ("safety_identifier", Value::Null),
        ("service_tier", json!("default")),
        ("store", json!(true)),
        ("temperature", json!(1.0)),
        ("text", json!({"format": {"type": "text"}})),
        ("tool_choice", json!("auto")),
        ("tools", json!([])),
        ("top_p", json!(1.0)),
    ]
}

fn transformations(reply: &Reply) -> Value {
    let removed = reply.prompt.responses.removed.iter();
    let removed = removed
        .map(|id| json!({"id": id, "action": "removed", "reason": "prefix_mismatch", "type": "reasoning"}));
    removed.collect()
}

fn reasoning(reply: &Reply, text: &str) -> Value {
    json!({
        "id": format!("rs_sim{:08x}", reply.number),
        "type": "reasoning",
        "summary": [{"type": "summary_text", "text": text}],
        "encrypted_content": thinking::encrypt(&reply.signature, text),
    })
}

fn message(reply: &Reply, text: &str) -> Value {
    json!({
        "id": format!("msg_sim{:08x}", reply.number),
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": text, "annotations": [], "logprobs": []}],
    })
}

fn call(reply: &Reply, index: usize, id: &str, name: &str, arguments: &Value) -> Value {
    let number = reply.number;
    let custom = ("type".to_owned(), Json::Text("custom".to_owned()));
    let mut tools = reply.prompt.tools.iter();
    match tools.any(|tool| tool.name == name && tool.extra.contains(&custom)) {
        true => json!({
            "id": format!("ctc_sim{number:08x}{index:02x}"),
            "type": "custom_tool_call",
            "status": "completed",
            "call_id": id,
            "name": name,
            "input": arguments.as_str().map_or_else(|| arguments.to_string(), str::to_owned),
        }),
        false => json!({
            "id": format!("fc_sim{number:08x}{index:02x}"),
            "type": "function_call",
            "status": "completed",
            "call_id": id,
            "name": name,
            "arguments": arguments.to_string(),
        }),
    }
}

fn compaction(reply: &Reply) -> Value {
    let summary = reply.answer.text.as_deref().unwrap_or_default();
    json!({
        "id": format!("cmp_sim{:08x}", reply.number),
        "type": "compaction",
        "encrypted_content": thinking::encrypt("compacted", summary),
    })
}

fn usage(reply: &Reply) -> Value {
    let usage = &reply.usage;
    let reasoning = reply.answer.thinking.as_deref().map_or(0, super::count);
    json!({
        "input_tokens": usage.total,
        "input_tokens_details": {"cached_tokens": usage.cached, "cache_write_tokens": usage.written},
        "output_tokens": usage.output,
        "output_tokens_details": {"reasoning_tokens": reasoning},
        "total_tokens": usage.total + usage.output,
    })
}

fn value(json: &Json) -> Value {
    serde_json::from_str(&json.compact()).unwrap_or_default()
}
