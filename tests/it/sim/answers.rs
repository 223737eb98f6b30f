//! Scripted and default answers in each API's shape, whole, streamed, cut and broken.

use std::io::Write;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use inkfast::sim::{Answer, Delivery, Provider, count, text_of_tokens};
use serde_json::{Value, json};

use super::*;

#[test]
fn tokens_can_be_counted_by_hand() {
    assert_eq!(count(""), 0);
    assert_eq!(count("abcd"), 1);
    assert_eq!(count("abcde"), 2);
    assert_eq!(count("aéé"), 2, "three bytes fit, five do not");
    assert_eq!(count("😀😀"), 2);
    for tokens in [0, 1, 1023] {
        assert_eq!(count(&text_of_tokens(tokens, 1)), tokens);
    }
    assert_ne!(text_of_tokens(9, 1), text_of_tokens(9, 2));
}

/// The `data:` objects of a stream.
fn events(reply: &Reply) -> Vec<Value> {
    let text = reply.text();
    let data = text.lines().filter_map(|line| line.strip_prefix("data: "));
    data.filter(|data| *data != "[DONE]")
        .map(|data| serde_json::from_str(data).unwrap())
        .collect()
}

fn joined(events: &[Value], pointer: &str) -> String {
    events
        .iter()
        .filter_map(|e| e.pointer(pointer)?.as_str())
        .collect()
}

fn scripted(provider: &Provider) {
    let arguments = json!({"path": "src/ü.rs", "n": [1, 2]});
    let answer = Answer::call("id1", "read", arguments).with_thinking("let me see first");
    provider.push(Answer {
        text: Some("I will read two files.".to_owned()),
        ..answer
    });
}

#[test]
fn anthropic_stream() {
    let provider = start();
    let mut body = user(json!("hi"));
    scripted(&provider);
    let whole = messages(&provider, &body).json();
    scripted(&provider);
    body["stream"] = json!(true);
    let reply = messages(&provider, &body);
    assert!(reply.head.contains("text/event-stream"));
    let events = events(&reply);
    assert_eq!(events[0]["type"], "message_start");
    assert_eq!(events[0]["message"]["usage"]["input_tokens"], 3);
    assert_eq!(events.last().unwrap()["type"], "message_stop");
    let content = &whole["content"];
    assert_eq!(
        joined(&events, "/delta/thinking"),
        content[0]["thinking"].as_str().unwrap()
    );
    assert_eq!(
        joined(&events, "/delta/signature"),
        content[0]["signature"].as_str().unwrap()
    );
    assert_eq!(
        joined(&events, "/delta/text"),
        content[1]["text"].as_str().unwrap()
    );
    let input: Value = serde_json::from_str(&joined(&events, "/delta/partial_json")).unwrap();
    assert_eq!(input, content[2]["input"]);
    assert_eq!(joined(&events, "/delta/stop_reason"), "tool_use");
    let end = &events[events.len() - 2]["usage"];
    assert_eq!(end, &whole["usage"]);
}

#[test]
fn chat_stream() {
    let provider = start();
    let mut body = chat_body("gpt-4o", json!([{"role": "user", "content": "hi"}]));
    body["stream"] = json!(true);
    scripted(&provider);
    let reply = chat(&provider, &body);
    assert!(reply.text().ends_with("data: [DONE]\n\n"));
    let chunks = events(&reply);
    assert!(
        chunks
            .iter()
            .all(|c| c.get("usage").is_none() && c["choices"][0]["index"] == 0)
    );
    assert_eq!(
        joined(&chunks, "/choices/0/delta/content"),
        "I will read two files."
    );
    assert_eq!(joined(&chunks, "/choices/0/delta/tool_calls/0/id"), "id1");
    let arguments = joined(&chunks, "/choices/0/delta/tool_calls/0/function/arguments");
    assert_eq!(
        serde_json::from_str::<Value>(&arguments).unwrap()["path"],
        "src/ü.rs"
    );
    assert_eq!(joined(&chunks, "/choices/0/finish_reason"), "tool_calls");

    body["stream_options"] = json!({"include_usage": true});
    let chunks = events(&chat(&provider, &body));
    let (last, others) = chunks.split_last().unwrap();
    assert_eq!(
        (&last["choices"], &last["usage"]["prompt_tokens"]),
        (&json!([]), &json!(3))
    );
    assert!(others.iter().all(|c| c["usage"].is_null()));
}

#[test]
fn default_answers_drive_a_tool_loop() {
    let provider = start();
    let parameters = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
    let tool = |name: &str| json!({"type": "function", "function": {"name": name, "parameters": parameters}});
    let mut body = chat_body("gpt-4o", json!([{"role": "user", "content": "work [tools:3]"}]));
    body["tools"] = json!([tool("read"), tool("write")]);
    let mut called = Vec::new();
    loop {
        let message = chat(&provider, &body).json()["choices"][0]["message"].clone();
        let again = chat(&provider, &body).json()["choices"][0]["message"].clone();
        assert_eq!(message, again, "a retry gets the same answer");
        let Some(call) = message.pointer("/tool_calls/0").cloned() else {
            assert!(
                message["content"]
                    .as_str()
                    .unwrap()
                    .starts_with("Done after 3 tool rounds")
            );
            break;
        };
        called.push(call["function"]["name"].as_str().unwrap().to_owned());
        assert_eq!(call["function"]["arguments"], "{\"n\":1}");
        let messages = body["messages"].as_array_mut().unwrap();
        messages.push(message);
        messages.push(json!({"role": "tool", "tool_call_id": call["id"], "content": "ok"}));
    }
    assert_eq!(called, ["read", "write", "read"]);
    let messages = body["messages"].as_array_mut().unwrap();
    messages.push(json!({"role": "user", "content": "thanks"}));
    let last = chat(&provider, &body).json()["choices"][0]["message"].clone();
    assert_eq!(last.get("tool_calls"), None);
}

#[test]
fn a_reminder_does_not_end_a_tool_loop() {
    let provider = start();
    let calls = |first: &str, second: &str| {
        let mut body = conversation(json!([
            {"role": "user", "content": first},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "read", "input": {}}]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "t1", "content": "ok"},
                block(second),
            ]},
        ]));
        body["tools"] = json!([{"name": "read", "input_schema": {"type": "object"}}]);
        messages(&provider, &body).json()["stop_reason"] == "tool_use"
    };
    let reminder = "<system-reminder>be long</system-reminder>";
    assert!(calls("go [tools:2]", reminder));
    assert!(calls(&format!("{reminder} go [tools:2]"), reminder));
    assert!(!calls("go [tools:2]", "stop"));
    assert!(!calls("go [tools:1]", reminder));
}

#[test]
fn counting_tokens_answers_and_uses_up_nothing() {
    let provider = start();
    provider.push(Answer::text("kept"));
    let body = user(json!([marked(&words(1022))]));
    let headers = "x-api-key: k\r\n";
    let reply = send(
        &provider,
        "/v1/messages/count_tokens",
        headers,
        body.to_string().as_bytes(),
    );
    assert_eq!(reply.json(), json!({"input_tokens": 1024}));
    let answer = messages(&provider, &body).json();
    assert_eq!(answer["content"][0]["text"], "kept");
    assert_eq!(answer["usage"]["cache_read_input_tokens"], 0);
}

#[test]
fn unknown_paths_are_404_in_the_format_of_the_caller() {
    let provider = start();
    let reply = send(&provider, "/v1/embeddings", "", b"{}");
    assert_eq!(
        (reply.status, &reply.json()["error"]["code"]),
        (404, &json!("unknown_url"))
    );
    let reply = send(&provider, "/v1/other", "anthropic-version: 2023-06-01\r\n", b"{}");
    assert_eq!(
        (reply.status, &reply.json()["error"]["type"]),
        (404, &json!("not_found_error"))
    );
}

#[test]
fn scripted_errors_headers_and_garbage() {
    let provider = start();
    let body = user(json!("hi"));
    provider.push(Answer::error(429, "slow down").with_header("retry-after", "7"));
    let reply = messages(&provider, &body);
    assert_eq!((reply.status, reply.message()), (429, "slow down".to_owned()));
    assert!(reply.head.contains("retry-after: 7"));
    provider.push(Answer::raw(&b"\xff\x00 not json"[..]));
    let reply = messages(&provider, &body);
    assert_eq!((reply.status, reply.body), (200, b"\xff\x00 not json".to_vec()));
    assert_eq!(provider.recorded()[1].usage, None);
}

#[test]
fn a_stream_is_cut_at_the_byte() {
    let provider = start();
    let mut body = user(json!("hi"));
    body["stream"] = json!(true);
    provider.push(Answer::text("a long answer"));
    let whole = messages(&provider, &body).body;
    for cut in [0, 7, whole.len() - 1] {
        provider.push(Answer::text("a long answer").cut_after(cut));
        let reply = messages(&provider, &body);
        assert_eq!(reply.body.len(), cut);
        assert_eq!(provider.recorded().last().unwrap().delivery, Delivery::Cut);
    }
    assert_eq!(provider.recorded()[0].delivery, Delivery::Sent);
}

#[test]
fn a_client_that_leaves_is_noticed() {
    let provider = start();
    let body = user(json!("hi")).to_string();
    provider.push(Answer::text("never read").after(Duration::from_secs(60)));
    let mut socket = TcpStream::connect(provider.addr()).unwrap();
    let length = body.len();
    let request =
        format!("POST /v1/messages HTTP/1.1\r\nHost: sim\r\nContent-Length: {length}\r\n\r\n{body}");
    socket.write_all(request.as_bytes()).unwrap();
    while provider.recorded().is_empty() {
        std::thread::yield_now();
    }
    drop(socket);
    let patience = Instant::now() + Duration::from_secs(10);
    while provider.recorded()[0].delivery != Delivery::Abandoned {
        assert!(
            Instant::now() < patience,
            "still {:?}",
            provider.recorded()[0].delivery
        );
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn pauses_are_kept() {
    let provider = start();
    let mut body = user(json!("hi"));
    body["stream"] = json!(true);
    provider.push(
        Answer::text("ok")
            .paced(Duration::from_millis(20))
            .after(Duration::from_millis(50)),
    );
    let started = Instant::now();
    // start, block start, delta, stop, ping, message_delta, message_stop: six pauses between seven events.
    let reply = messages(&provider, &body);
    assert_eq!(events(&reply).len(), 7);
    assert!(started.elapsed() >= Duration::from_millis(50 + 6 * 20));
}
