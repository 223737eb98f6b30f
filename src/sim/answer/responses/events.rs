//! The events of a response, in order: each item opens empty, fills and closes.

use serde_json::{Value, json};

use super::{output, whole};
use crate::sim::answer::{Reply, pieces};

/// All events, numbered from 0.
pub(super) fn of(reply: &Reply) -> Vec<Value> {
    let started = |kind: &str| json!({"type": kind, "response": whole(reply, "in_progress")});
    let mut events = vec![started("response.created"), started("response.in_progress")];
    for (index, item) in output(reply).iter().enumerate() {
        let place = Place {
            index,
            id: item["id"].clone(),
        };
        events.push(json!({
            "type": "response.output_item.added",
            "output_index": index,
            "item": opened(item),
        }));
        place.fill(item, &mut events);
        events.push(json!({"type": "response.output_item.done", "output_index": index, "item": item}));
    }
    events.push(json!({"type": "response.completed", "response": whole(reply, "completed")}));
    for (number, event) in events.iter_mut().enumerate() {
        event["sequence_number"] = json!(number);
    }
    events
}

/// An item before anything of it is written.
fn opened(item: &Value) -> Value {
    let mut item = item.clone();
    let empty = [
        ("summary", json!([])),
        ("content", json!([])),
        ("encrypted_content", json!("")),
        ("arguments", json!("")),
        ("input", json!("")),
        ("status", json!("in_progress")),
    ];
    for (key, value) in empty {
        if item.get(key).is_some() {
            item[key] = value;
        }
    }
    item
}

/// Where in the output an item's events belong.
struct Place {
    index: usize,
    id: Value,
}

impl Place {
    fn fill(&self, item: &Value, out: &mut Vec<Value>) {
        let text = |key: &str| item[key].as_str().unwrap_or_default();
        match text("type") {
            "reasoning" => self.parts(&REASONING, &item["summary"], out),
            "message" => self.parts(&MESSAGE, &item["content"], out),
            "function_call" => {
                let done = json!({"arguments": text("arguments"), "name": text("name")});
                self.written("response.function_call_arguments", text("arguments"), done, out);
            }
            "custom_tool_call" => {
                let done = json!({"input": text("input")});
                self.written("response.custom_tool_call_input", text("input"), done, out);
            }
            "compaction" => out.push(self.event("response.compaction.compacting", json!({}))),
            _ => {}
        }
    }

    fn parts(&self, names: &Names, parts: &Value, out: &mut Vec<Value>) {
        for (i, part) in parts.as_array().into_iter().flatten().enumerate() {
            let text = part["text"].as_str().unwrap_or_default();
            let mut empty = part.clone();
            empty["text"] = json!("");
            let at = |key: &str, value: Value| {
                let mut fields = json!({names.index: i, key: value});
                if names.logprobs && matches!(key, "delta" | "text") {
                    fields["logprobs"] = json!([]);
                }
                fields
            };
            out.push(self.event(&format!("{}.added", names.part), at("part", empty)));
            for piece in pieces(text) {
                out.push(self.event(&format!("{}.delta", names.text), at("delta", json!(piece))));
            }
            out.push(self.event(&format!("{}.done", names.text), at("text", json!(text))));
            out.push(self.event(&format!("{}.done", names.part), at("part", part.clone())));
        }
    }

    fn written(&self, name: &str, text: &str, done: Value, out: &mut Vec<Value>) {
        for piece in pieces(text) {
            out.push(self.event(&format!("{name}.delta"), json!({"delta": piece})));
        }
        out.push(self.event(&format!("{name}.done"), done));
    }

    fn event(&self, kind: &str, mut fields: Value) -> Value {
        fields["type"] = json!(kind);
        fields["item_id"] = self.id.clone();
        fields["output_index"] = json!(self.index);
        fields
    }
}

/// What the events of a text are called.
struct Names {
    part: &'static str,
    text: &'static str,
    index: &'static str,
    logprobs: bool,
}

const MESSAGE: Names = Names {
    part: "response.content_part",
    text: "response.output_text",
    index: "content_index",
    logprobs: true,
};

const REASONING: Names = Names {
    part: "response.reasoning_summary_part",
    text: "response.reasoning_summary_text",
    index: "summary_index",
    logprobs: false,
};
