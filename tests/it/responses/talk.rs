//! A client of the Responses API over the core: it sends all its items, or only those behind the last response.

use bytes::Bytes;
use inkfast::prefix::item::Hints;
use inkfast::wire::format::Format;
use serde_json::{Value, json};

use crate::harness::{Answer, Core, Turn};

/// A prompt with one changing line.
pub fn prompt(mode: &str) -> String {
    format!("You are a coding agent for the repository parser. Follow its rules, run the tests. Mode: {mode}")
}

/// What is sent and what came of it.
pub struct Talk {
    pub core: Core,
    pub model: &'static str,
    pub instructions: Option<String>,
    /// Leading developer message.
    pub developer: Option<String>,
    pub items: Vec<Value>,
    pub more: Value,
    /// The last response, where the provider holds the conversation.
    pub held: Option<String>,
    responses: usize,
}

impl Talk {
    pub fn new(model: &'static str) -> Self {
        Self {
            core: Core::new(Format::OpenaiResponses, "api.openai.com"),
            model,
            instructions: None,
            developer: None,
            items: Vec::new(),
            more: json!({}),
            held: None,
            responses: 0,
        }
    }

    pub fn on_disk(mut self) -> Self {
        self.core = self.core.on_disk();
        self
    }

    pub fn body(&self) -> Bytes {
        let mut body = json!({"model": self.model, "input": self.input()});
        for (name, value) in [
            ("instructions", &self.instructions),
            ("previous_response_id", &self.held),
        ] {
            if let Some(value) = value {
                body[name] = json!(value);
            }
        }
        for (name, value) in self.more.as_object().unwrap() {
            body[name] = value.clone();
        }
        Bytes::from(body.to_string())
    }

    fn input(&self) -> Vec<Value> {
        let lead = self.developer.iter().filter(|_| self.held.is_none());
        let lead = lead.map(|text| json!({"type": "message", "role": "developer", "content": text}));
        lead.chain(self.items.iter().cloned()).collect()
    }

    /// Sends what there is; the answer's items are kept by the client.
    pub fn send(&mut self, answer: &[Value]) -> Turn {
        let said = said(answer);
        let turn = self.core.exchange(&self.body(), Hints::default(), &said);
        assert_eq!(turn.guard, Ok(()));
        self.items.extend(answer.iter().cloned());
        turn
    }

    /// Sends what there is behind the last response; the provider keeps it, and the answer.
    pub fn send_held(&mut self, answer: &[Value]) -> Turn {
        let turn = self.send(answer);
        self.responses += 1;
        let id = format!("resp_{}", self.responses);
        self.core.respond(turn.seq, &id);
        self.held = Some(id);
        self.items.clear();
        turn
    }

    pub fn user(&mut self, text: &str) -> &mut Self {
        self.items.push(user(text));
        self
    }

    pub fn item(&mut self, item: Value) -> &mut Self {
        self.items.push(item);
        self
    }
}

fn said(answer: &[Value]) -> Answer {
    let texts = answer.iter().filter(|item| item["type"] == "message");
    let calls = answer.iter().filter_map(|item| item["call_id"].as_str());
    Answer {
        status: 200,
        text: texts
            .map(|item| item["content"][0]["text"].as_str().unwrap())
            .collect(),
        calls: calls.map(str::to_owned).collect(),
    }
}

pub fn user(text: &str) -> Value {
    json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]})
}

pub fn assistant(text: &str) -> Value {
    json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text, "annotations": []}]})
}

pub fn reasoning(id: &str) -> Value {
    json!({"type": "reasoning", "id": id, "summary": [], "encrypted_content": "gAAAA"})
}

pub fn call(id: &str) -> Value {
    json!({"type": "function_call", "call_id": id, "name": "read", "arguments": "{\"path\":\"a\"}"})
}

pub fn output(id: &str) -> Value {
    json!({"type": "function_call_output", "call_id": id, "output": "text"})
}

/// The body that left.
pub fn out(turn: &Turn) -> Value {
    serde_json::from_slice(&turn.out).unwrap()
}

/// The items that left, each told by its role, type or id.
pub fn shape(turn: &Turn) -> Vec<String> {
    let body = out(turn);
    let name = |item: &Value| {
        let names = ["role", "type"].into_iter().find_map(|name| item[name].as_str());
        names.unwrap_or_default().to_owned()
    };
    body["input"].as_array().unwrap().iter().map(name).collect()
}

pub fn text(item: &Value) -> &str {
    item["content"]
        .as_str()
        .or_else(|| item["content"][0]["text"].as_str())
        .unwrap()
}
