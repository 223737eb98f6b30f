//! The Responses API of the simulated provider. A message of one text of n tokens is n + 2 tokens, like elsewhere; a call
//! of one token per part is 7, an output 5.

use super::*;

mod answers;
mod cache;
mod reasoning;
mod refusals;
mod socket;
mod state;
mod steer;

/// Before the exact cache, between the two changes, and the model that puts `instructions` last.
pub const OLD: &str = "gpt-5";
pub const MIDDLE: &str = "gpt-6.1";
pub const NEW: &str = "gpt-6.2-astra";

pub fn post(provider: &Provider, path: &str, body: &Value) -> Reply {
    let headers = "Authorization: Bearer k\r\n";
    send(provider, path, headers, body.to_string().as_bytes())
}

pub fn responses(provider: &Provider, body: &Value) -> Reply {
    post(provider, "/v1/responses", body)
}

/// The response, which must be one.
pub fn response(provider: &Provider, body: &Value) -> Value {
    let reply = responses(provider, body);
    assert_eq!(reply.status, 200, "{}", reply.text());
    reply.json()
}

/// (input_tokens, cached_tokens, cache_write_tokens)
pub fn usage_of_response(response: &Value) -> (u64, u64, u64) {
    let usage = &response["usage"];
    let details = &usage["input_tokens_details"];
    let number = |v: &Value| v.as_u64().unwrap();
    (
        number(&usage["input_tokens"]),
        number(&details["cached_tokens"]),
        number(&details["cache_write_tokens"]),
    )
}

pub fn counted(provider: &Provider, body: &Value) -> (u64, u64, u64) {
    usage_of_response(&response(provider, body))
}

pub fn request(model: &str, input: Value) -> Value {
    json!({"model": model, "input": input})
}

/// The same request with one field changed.
pub fn with(body: &Value, key: &str, value: Value) -> Value {
    let mut body = body.clone();
    body[key] = value;
    body
}

pub fn says(role: &str, text: &str) -> Value {
    json!({"role": role, "content": text})
}

pub fn call(id: &str) -> Value {
    json!({"type": "function_call", "call_id": id, "name": "t", "arguments": "{}"})
}

pub fn output(id: &str) -> Value {
    json!({"type": "function_call_output", "call_id": id, "output": "ok"})
}

/// One value of each kind, in one list.
pub fn list<const N: usize>(items: [Value; N]) -> Value {
    Value::from(items.to_vec())
}
