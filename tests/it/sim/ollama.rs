//! Ollama's own endpoints.

use inkfast::sim::{Answer, Config, LaterSystem, Provider};
use serde_json::{Value, json};

use super::*;

fn post(provider: &Provider, path: &str, body: &Value) -> Reply {
    send(provider, path, "", body.to_string().as_bytes())
}

fn body(messages: Value) -> Value {
    json!({"model": "qwen3", "messages": messages, "stream": false})
}

fn says(role: &str, text: &str) -> Value {
    json!({"role": role, "content": text})
}

fn lines(reply: &Reply) -> Vec<Value> {
    let text = reply.text();
    assert!(text.ends_with('\n'));
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn a_chat_streams_unless_told_otherwise() {
    let provider = start();
    let mut body = body(json!([says("system", "abcd"), says("user", "abcd")]));
    let answer = || Answer::text("I will read two files.").with_thinking("let me see first");
    let answer = || answer().and_call("dropped", "read", json!({"path": "src/ü.rs"}));
    provider.push(answer());
    let whole = post(&provider, "/api/chat", &body);
    assert!(whole.head.contains("application/json"));
    let whole = whole.json();
    body.as_object_mut().unwrap().remove("stream");
    provider.push(answer());
    let reply = post(&provider, "/api/chat", &body);
    assert!(reply.head.contains("application/x-ndjson"), "{}", reply.head);
    let lines = lines(&reply);
    let joined = |key: &str| -> String {
        let texts = lines.iter().filter_map(|line| line["message"][key].as_str());
        texts.collect()
    };
    assert_eq!(joined("content"), whole["message"]["content"].as_str().unwrap());
    assert_eq!(joined("thinking"), whole["message"]["thinking"].as_str().unwrap());
    let call = json!([{"function": {"name": "read", "arguments": {"path": "src/ü.rs"}}}]);
    assert_eq!(whole["message"]["tool_calls"], call);
    assert!(lines.iter().any(|line| line["message"]["tool_calls"] == call));
    let (last, others) = lines.split_last().unwrap();
    assert!(
        others
            .iter()
            .all(|line| line["done"] == false && line.get("eval_count").is_none())
    );
    assert_eq!(
        (&last["done"], &last["done_reason"]),
        (&json!(true), &json!("stop"))
    );
    assert_eq!(
        (&last["prompt_eval_count"], &last["eval_count"]),
        (&json!(6), &whole["eval_count"])
    );
}

#[test]
fn the_prompt_is_counted_whole_and_the_cache_shows_in_the_time() {
    let provider = start();
    let first = body(json!([says("user", &words(98))]));
    let second = body(json!([
        says("user", &words(98)),
        says("assistant", "abcd"),
        says("user", "abcd")
    ]));
    let counts = |body: &Value| {
        let answer = post(&provider, "/api/chat", body).json();
        assert!(!answer.to_string().contains("cache"), "it has no such count");
        let number = |key: &str| answer[key].as_u64().unwrap();
        (
            number("prompt_eval_count"),
            number("prompt_eval_duration") / 1_000_000,
        )
    };
    assert_eq!(counts(&first), (100, 100));
    assert_eq!(counts(&second), (106, 6));
    let usage = provider.recorded()[1].usage.unwrap();
    assert_eq!((usage.total, usage.cached, usage.written), (106, 100, 0));
}

#[test]
fn later_system_messages_by_template() {
    let turns = |tail: &[Value]| {
        let mut messages = vec![says("system", &words(48)), says("user", &words(48))];
        messages.extend_from_slice(tail);
        body(json!(messages))
    };
    for (mode, cached) in [
        (LaterSystem::InPlace, 100),
        (LaterSystem::Hoist, 50),
        (LaterSystem::Drop, 100),
    ] {
        let provider = Provider::start(Config {
            later_system: mode,
            ..Config::default()
        })
        .unwrap();
        post(&provider, "/api/chat", &turns(&[]));
        let tail = [
            says("assistant", "abcd"),
            says("system", "note"),
            says("user", "abcd"),
        ];
        post(&provider, "/api/chat", &turns(&tail));
        assert_eq!(provider.recorded()[1].usage.unwrap().cached, cached, "{mode:?}");
    }
    let strict = Provider::start(Config {
        later_system: LaterSystem::Strict { status: 500 },
        ..Config::default()
    })
    .unwrap();
    let reply = post(&strict, "/api/chat", &turns(&[says("system", "note")]));
    assert_eq!(reply.status, 500);
    assert!(
        reply.json()["error"]
            .as_str()
            .unwrap()
            .contains("System message must be at the beginning")
    );
}

#[test]
fn unknown_roles_and_missing_models_are_refused() {
    let provider = start();
    let reply = post(&provider, "/api/chat", &body(json!([says("operator", "x")])));
    assert_eq!(reply.status, 400);
    assert!(reply.json()["error"].as_str().unwrap().contains("invalid role"));
    let reply = post(&provider, "/api/chat", &json!({"messages": []}));
    assert_eq!(
        (reply.status, reply.json()),
        (400, json!({"error": "model is required"}))
    );
}

#[test]
fn a_request_without_a_prompt_only_loads() {
    let provider = start();
    let answer = post(&provider, "/api/chat", &body(json!([]))).json();
    assert_eq!(
        (&answer["done"], &answer["done_reason"]),
        (&json!(true), &json!("load"))
    );
    assert_eq!(provider.recorded()[0].usage, None);
}

#[test]
fn a_tool_loop_without_ids() {
    let provider = start();
    let tool = json!({"type": "function", "function": {"name": "read", "parameters": {"type": "object"}}});
    let mut messages = vec![says("user", "work [tools:2]")];
    for _ in 0..2 {
        let mut body = body(json!(messages));
        body["tools"] = json!([tool]);
        let message = post(&provider, "/api/chat", &body).json()["message"].clone();
        assert_eq!(message["tool_calls"][0]["function"]["arguments"], json!({}));
        messages.push(message);
        messages.push(json!({"role": "tool", "tool_name": "read", "content": "ok"}));
    }
    let text = post(&provider, "/api/chat", &body(json!(messages))).json()["message"]["content"].clone();
    assert!(
        text.as_str().unwrap().starts_with("Done after 2 tool rounds"),
        "{text}"
    );
    let cached: Vec<usize> = provider
        .recorded()
        .iter()
        .map(|r| r.usage.unwrap().cached)
        .collect();
    assert!(cached[1] > 0);
}

#[test]
fn a_prompt_without_messages() {
    let provider = start();
    let mut body = json!({"model": "qwen3", "system": "abcd", "prompt": "abcd", "stream": false});
    provider.push(Answer::text("sure"));
    let answer = post(&provider, "/api/generate", &body).json();
    assert_eq!(
        (&answer["response"], &answer["prompt_eval_count"]),
        (&json!("sure"), &json!(6))
    );
    assert!(answer.get("message").is_none());
    assert_eq!(provider.recorded()[0].operator.as_ref().unwrap().head, ["abcd"]);
    body["stream"] = json!(true);
    provider.push(Answer::text("sure enough, and so on"));
    let lines = lines(&post(&provider, "/api/generate", &body));
    let text: String = lines
        .iter()
        .filter_map(|line| line["response"].as_str())
        .collect();
    assert_eq!(text, "sure enough, and so on");
}

#[test]
fn what_a_client_asks_first() {
    let provider = start();
    assert!(post(&provider, "/api/show", &json!({"model": "x"})).json()["template"].is_string());
    let target = provider.addr();
    let get = |path: &str| {
        use std::io::{Read, Write};
        let mut socket = std::net::TcpStream::connect(target).unwrap();
        write!(
            socket,
            "GET {path} HTTP/1.1\r\nHost: sim\r\nConnection: close\r\n\r\n"
        )
        .unwrap();
        let mut text = String::new();
        socket.read_to_string(&mut text).unwrap();
        text
    };
    assert!(get("/api/version").contains("\"version\""));
    assert!(get("/api/tags").contains("\"models\""));
}
