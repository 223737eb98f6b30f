//! Anthropic Messages answers.

use bytes::Bytes;
use serde_json::{Value, json};

use super::{Reply, event, pieces};

pub(super) fn whole(reply: &Reply) -> Value {
    let mut message = envelope(reply);
    message["content"] = blocks(reply);
    message["stop_reason"] = json!(stop_reason(reply));
    message["usage"] = usage(reply, reply.usage.output);
    message
}

pub(super) fn stream(reply: &Reply) -> Vec<Bytes> {
    events(reply)
        .iter()
        .map(|data| event(data["type"].as_str(), data))
        .collect()
}

/// The data of a stream's events.
pub(super) fn events(reply: &Reply) -> Vec<Value> {
    let mut message = envelope(reply);
    message["usage"] = usage(reply, 1);
    let mut out = vec![json!({"type": "message_start", "message": message})];
    let blocks = blocks(reply);
    for (index, block) in blocks.as_array().into_iter().flatten().enumerate() {
        streamed_block(index, block, &mut out);
        if index == 0 {
            out.push(json!({"type": "ping"}));
        }
    }
    out.push(json!({
        "type": "message_delta",
        "delta": {"stop_reason": stop_reason(reply), "stop_sequence": null},
        "usage": usage(reply, reply.usage.output),
    }));
    out.push(json!({"type": "message_stop"}));
    out
}

fn streamed_block(index: usize, block: &Value, out: &mut Vec<Value>) {
    let (opening, deltas) = parts(block);
    out.push(json!({
        "type": "content_block_start",
        "index": index,
        "content_block": opening,
    }));
    for delta in deltas {
        out.push(json!({
            "type": "content_block_delta",
            "index": index,
            "delta": delta,
        }));
    }
    out.push(json!({"type": "content_block_stop", "index": index}));
}

/// A block as it opens, empty, and the deltas that fill it.
fn parts(block: &Value) -> (Value, Vec<Value>) {
    let text = |key: &str| block[key].as_str().unwrap_or_default().to_owned();
    let mut opening = block.clone();
    let deltas = match text("type").as_str() {
        "thinking" => {
            opening["thinking"] = json!("");
            opening["signature"] = json!("");
            let thinking = text("thinking");
            let spoken = pieces(&thinking).into_iter();
            let signed = json!({"type": "signature_delta", "signature": block["signature"]});
            spoken
                .map(|piece| json!({"type": "thinking_delta", "thinking": piece}))
                .chain([signed])
                .collect()
        }
        "tool_use" => {
            opening["input"] = json!({});
            let input = block["input"].to_string();
            let written = [""].into_iter().chain(pieces(&input));
            written
                .map(|piece| json!({"type": "input_json_delta", "partial_json": piece}))
                .collect()
        }
        _ => {
            opening["text"] = json!("");
            let text = text("text");
            let spoken = pieces(&text).into_iter();
            spoken
                .map(|piece| json!({"type": "text_delta", "text": piece}))
                .collect()
        }
    };
    (opening, deltas)
}

fn envelope(reply: &Reply) -> Value {
    json!({
        "id": format!("msg_sim{:08x}", reply.number),
        "type": "message",
        "role": "assistant",
        "model": reply.prompt.model,
        "content": [],
        "stop_reason": null,
        "stop_sequence": null,
    })
}

fn blocks(reply: &Reply) -> Value {
    let answer = reply.answer;
    let thinking = answer
        .thinking
        .iter()
        .map(|thinking| json!({"type": "thinking", "thinking": thinking, "signature": reply.signature}));
    let text = answer
        .text
        .iter()
        .filter(|text| !text.is_empty())
        .map(|text| json!({"type": "text", "text": text}));
    let calls = answer
        .tool_calls
        .iter()
        .map(|(id, name, input)| json!({"type": "tool_use", "id": id, "name": name, "input": input}));
    thinking.chain(text).chain(calls).collect()
}

pub(super) fn stop_reason(reply: &Reply) -> &'static str {
    match reply.answer.tool_calls.is_empty() {
        true => "end_turn",
        false => "tool_use",
    }
}

fn usage(reply: &Reply, output: usize) -> Value {
    let usage = &reply.usage;
    json!({
        "input_tokens": usage.uncached(),
        "cache_creation_input_tokens": usage.written + usage.written_1h,
        "cache_read_input_tokens": usage.cached,
        "cache_creation": {
            "ephemeral_5m_input_tokens": usage.written,
            "ephemeral_1h_input_tokens": usage.written_1h,
        },
        "output_tokens": output,
        "service_tier": "standard",
    })
}
