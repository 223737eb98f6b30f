//! Bedrock Converse answers.

use bytes::Bytes;
use serde_json::{Value, json};

use super::invoke::padding;
use super::messages::stop_reason;
use super::{Reply, pieces};
use crate::sim::frame;

pub(super) fn whole(reply: &Reply) -> Value {
    let answer = reply.answer;
    let thinking = answer.thinking.iter().map(|text| {
        let spoken = json!({"text": text, "signature": reply.signature});
        json!({"reasoningContent": {"reasoningText": spoken}})
    });
    let text = answer.text.iter().filter(|text| !text.is_empty());
    let text = text.map(|text| json!({"text": text}));
    let calls = answer.tool_calls.iter().map(|(id, name, input)| {
        let call = json!({"toolUseId": id, "name": name, "input": input});
        json!({"toolUse": call})
    });
    let content: Vec<Value> = thinking.chain(text).chain(calls).collect();
    json!({
        "output": {"message": {"role": "assistant", "content": content}},
        "stopReason": stop_reason(reply),
        "usage": usage(reply),
        "metrics": {"latencyMs": latency(reply)},
    })
}

pub(super) fn stream(reply: &Reply) -> Vec<Bytes> {
    let mut events = vec![("messageStart", json!({"role": "assistant"}))];
    let answer = reply.answer;
    let mut index = 0;
    if let Some(thinking) = &answer.thinking {
        let spoken = pieces(thinking).into_iter().map(|piece| json!({"text": piece}));
        let signed = json!({"signature": reply.signature});
        let deltas = spoken.chain([signed]);
        block(
            &mut events,
            &mut index,
            deltas.map(|d| json!({"reasoningContent": d})),
        );
    }
    if let Some(text) = answer.text.as_deref().filter(|text| !text.is_empty()) {
        let deltas = pieces(text).into_iter();
        block(
            &mut events,
            &mut index,
            deltas.map(|piece| json!({"text": piece})),
        );
    }
    for (id, name, input) in &answer.tool_calls {
        let start = json!({"toolUse": {"toolUseId": id, "name": name}});
        events.push((
            "contentBlockStart",
            json!({"start": start, "contentBlockIndex": index}),
        ));
        let input = input.to_string();
        let deltas = pieces(&input).into_iter();
        block(
            &mut events,
            &mut index,
            deltas.map(|piece| json!({"toolUse": {"input": piece}})),
        );
    }
    events.push(("messageStop", json!({"stopReason": stop_reason(reply)})));
    let metrics = json!({"latencyMs": latency(reply)});
    events.push(("metadata", json!({"usage": usage(reply), "metrics": metrics})));
    events.into_iter().enumerate().map(framed).collect()
}

/// A block's deltas and its end. Only calls have a start of their own.
fn block(events: &mut Vec<(&'static str, Value)>, index: &mut usize, deltas: impl Iterator<Item = Value>) {
    let at = *index;
    events.extend(deltas.map(|delta| {
        let payload = json!({"delta": delta, "contentBlockIndex": at});
        ("contentBlockDelta", payload)
    }));
    events.push(("contentBlockStop", json!({"contentBlockIndex": at})));
    *index += 1;
}

fn framed((index, (name, mut payload)): (usize, (&'static str, Value))) -> Bytes {
    payload["p"] = json!(padding(index));
    frame::event(name, &payload)
}

fn usage(reply: &Reply) -> Value {
    let usage = &reply.usage;
    let mut body = json!({
        "inputTokens": usage.uncached(),
        "outputTokens": usage.output,
        "totalTokens": usage.total + usage.output,
        "cacheReadInputTokens": usage.cached,
        "cacheWriteInputTokens": usage.written + usage.written_1h,
    });
    let written = [("5m", usage.written), ("1h", usage.written_1h)].into_iter();
    let details: Vec<Value> = written
        .filter(|(_, tokens)| *tokens > 0)
        .map(|(ttl, tokens)| json!({"ttl": ttl, "inputTokens": tokens}))
        .collect();
    if !details.is_empty() {
        body["cacheDetails"] = json!(details);
    }
    body
}

/// A token takes a millisecond, a cached one none.
fn latency(reply: &Reply) -> usize {
    reply.usage.total - reply.usage.cached + reply.usage.output
}
