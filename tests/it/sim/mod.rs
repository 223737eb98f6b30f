//! The simulated provider against hand-written bodies. Every count follows from the table in `src/sim/render.rs`; the
//! ones used most: a first message of one text of n tokens is n + 2, each further block of one token is 2.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod answers;
mod bedrock;
mod cache;
mod cache_chat;
mod dialects;
mod gemini;
mod ollama;
mod refusals;
mod responses;
mod signing;
mod thinking;
mod vertex;
mod views;

use std::io::{Read, Write};
use std::net::TcpStream;

use inkfast::sim::{Config, Provider, text_of_tokens};
use serde_json::{Value, json};

pub const CLAUDE: &str = "claude-opus-4-8";

/// A response as it came.
pub struct Reply {
    pub status: u16,
    pub head: String,
    pub body: Vec<u8>,
}

impl Reply {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    pub fn text(&self) -> String {
        String::from_utf8(self.body.clone()).unwrap()
    }

    pub fn message(&self) -> String {
        self.json()["error"]["message"].as_str().unwrap().to_owned()
    }
}

pub fn start() -> Provider {
    Provider::start(Config::default()).unwrap()
}

pub fn send(provider: &Provider, path: &str, headers: &str, body: &[u8]) -> Reply {
    let mut socket = TcpStream::connect(provider.addr()).unwrap();
    let length = body.len();
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: sim\r\n{headers}Content-Length: {length}\r\nConnection: close\r\n\r\n"
    );
    socket.write_all(head.as_bytes()).unwrap();
    socket.write_all(body).unwrap();
    let mut raw = Vec::new();
    // A scripted cut resets the connection; what came before it still counts.
    let _ = socket.read_to_end(&mut raw);
    let end = raw.windows(4).position(|w| w == b"\r\n\r\n").unwrap();
    let head = String::from_utf8(raw[..end].to_vec()).unwrap();
    let body = raw.split_off(end + 4);
    Reply {
        status: head.split(' ').nth(1).unwrap().parse().unwrap(),
        body: if head.contains("chunked") {
            unchunk(&body)
        } else {
            body
        },
        head,
    }
}

fn unchunk(mut raw: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    while let Some(end) = raw.windows(2).position(|w| w == b"\r\n") {
        let size = usize::from_str_radix(std::str::from_utf8(&raw[..end]).unwrap(), 16).unwrap();
        let data = &raw[end + 2..];
        body.extend_from_slice(&data[..size.min(data.len())]);
        raw = data.get(size + 2..).unwrap_or_default();
    }
    body
}

pub fn chat(provider: &Provider, body: &Value) -> Reply {
    let headers = "Authorization: Bearer k\r\n";
    send(
        provider,
        "/v1/chat/completions",
        headers,
        body.to_string().as_bytes(),
    )
}

pub fn messages(provider: &Provider, body: &Value) -> Reply {
    messages_as(provider, "k", body)
}

pub fn messages_as(provider: &Provider, key: &str, body: &Value) -> Reply {
    let headers = format!("x-api-key: {key}\r\nanthropic-version: 2023-06-01\r\n");
    send(provider, "/v1/messages", &headers, body.to_string().as_bytes())
}

/// (prompt_tokens, cached_tokens)
pub fn chat_usage(provider: &Provider, body: &Value) -> (u64, u64) {
    let reply = chat(provider, body);
    assert_eq!(reply.status, 200, "{}", reply.text());
    let usage = &reply.json()["usage"];
    let cached = &usage["prompt_tokens_details"]["cached_tokens"];
    (number(&usage["prompt_tokens"]), number(cached))
}

/// (input_tokens, cache_read_input_tokens, ephemeral_5m_input_tokens, ephemeral_1h_input_tokens)
pub fn usage(provider: &Provider, body: &Value) -> (u64, u64, u64, u64) {
    let reply = messages(provider, body);
    assert_eq!(reply.status, 200, "{}", reply.text());
    usage_of(&reply.json()["usage"])
}

pub fn usage_of(usage: &Value) -> (u64, u64, u64, u64) {
    let written = &usage["cache_creation"];
    let short = number(&written["ephemeral_5m_input_tokens"]);
    let long = number(&written["ephemeral_1h_input_tokens"]);
    assert_eq!(number(&usage["cache_creation_input_tokens"]), short + long);
    let input = number(&usage["input_tokens"]);
    (input, number(&usage["cache_read_input_tokens"]), short, long)
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap()
}

/// A text of n tokens.
pub fn words(tokens: usize) -> String {
    text_of_tokens(tokens, 7)
}

pub fn block(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

pub fn marked(text: &str) -> Value {
    json!({"type": "text", "text": text, "cache_control": {"type": "ephemeral"}})
}

pub fn marked_for(text: &str, ttl: &str) -> Value {
    json!({"type": "text", "text": text, "cache_control": {"type": "ephemeral", "ttl": ttl}})
}

/// An Anthropic body of one user message.
pub fn user(content: Value) -> Value {
    conversation(json!([{"role": "user", "content": content}]))
}

/// An Anthropic body.
pub fn conversation(messages: Value) -> Value {
    json!({"model": CLAUDE, "max_tokens": 64, "messages": messages})
}

/// An OpenAI body.
pub fn chat_body(model: &str, messages: Value) -> Value {
    json!({"model": model, "messages": messages})
}
