//! Ollama answers: one object, or a line for each piece and a last one that says what it took.

use bytes::Bytes;
use serde_json::{Value, json};

use super::{Reply, pieces};
use crate::sim::endpoint::hosted::Face;

/// The answer to a request without a prompt.
pub(in crate::sim) fn loaded(model: &str) -> Value {
    json!({
        "model": model,
        "created_at": CREATED,
        "message": {"role": "assistant", "content": ""},
        "done": true,
        "done_reason": "load",
    })
}

pub(super) fn whole(reply: &Reply) -> Value {
    let answer = reply.answer;
    let mut message = message("content", answer.text.as_deref().unwrap_or_default());
    if let Some(thinking) = &answer.thinking {
        message["thinking"] = json!(thinking);
    }
    if !answer.tool_calls.is_empty() {
        message["tool_calls"] = calls(reply);
    }
    let mut body = line(reply, &message);
    finish(reply, &mut body);
    body
}

pub(super) fn stream(reply: &Reply) -> Vec<Bytes> {
    let answer = reply.answer;
    let thinking = pieces(answer.thinking.as_deref().unwrap_or_default()).into_iter();
    let text = pieces(answer.text.as_deref().unwrap_or_default()).into_iter();
    let mut messages: Vec<Value> = thinking
        .map(|piece| message("thinking", piece))
        .chain(text.map(|piece| message("content", piece)))
        .collect();
    if !answer.tool_calls.is_empty() {
        let mut last = message("content", "");
        last["tool_calls"] = calls(reply);
        messages.push(last);
    }
    let mut lines: Vec<Value> = messages.iter().map(|message| line(reply, message)).collect();
    let mut last = line(reply, &message("content", ""));
    finish(reply, &mut last);
    lines.push(last);
    lines
        .iter()
        .map(|line| Bytes::from(format!("{line}\n")))
        .collect()
}

fn message(key: &str, text: &str) -> Value {
    let mut message = json!({"role": "assistant", "content": ""});
    message[key] = json!(text);
    message
}

/// Arguments are objects, and a call has no id.
fn calls(reply: &Reply) -> Value {
    let calls = reply.answer.tool_calls.iter();
    calls
        .map(|(_, name, arguments)| json!({"function": {"name": name, "arguments": arguments}}))
        .collect()
}

fn line(reply: &Reply, message: &Value) -> Value {
    let mut line = json!({
        "model": reply.prompt.model,
        "created_at": CREATED,
        "done": false,
    });
    if reply.call.face != Face::Generate {
        line["message"] = message.clone();
        return line;
    }
    line["response"] = message["content"].clone();
    if let Some(thinking) = message.get("thinking") {
        line["thinking"] = thinking.clone();
    }
    line
}

/// The counts; what was cached is in `prompt_eval_count` and shows in the time only.
fn finish(reply: &Reply, line: &mut Value) {
    let usage = &reply.usage;
    let nanoseconds = |tokens: usize| tokens as u64 * NANOSECONDS;
    let read = nanoseconds(usage.total - usage.cached);
    let written = nanoseconds(usage.output);
    line["done"] = json!(true);
    line["done_reason"] = json!("stop");
    line["total_duration"] = json!(LOADED + read + written);
    line["load_duration"] = json!(LOADED);
    line["prompt_eval_count"] = json!(usage.total);
    line["prompt_eval_duration"] = json!(read);
    line["eval_count"] = json!(usage.output);
    line["eval_duration"] = json!(written);
}

/// Fixed, so that equal requests get equal bytes.
const CREATED: &str = "2026-11-30T00:00:00Z";
/// A token takes a millisecond.
const NANOSECONDS: u64 = 1_000_000;
/// To find that the model is loaded.
const LOADED: u64 = 5_000_000;
