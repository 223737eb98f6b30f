//! Anthropic's cache rules, just under and just over.

use std::time::Duration;

use inkfast::sim::{Answer, Clock, Config, Provider};
use serde_json::{Value, json};

use super::*;

#[test]
fn minimum_is_1024_on_this_model() {
    let provider = start();
    let under = user(json!([marked(&words(1021))]));
    assert_eq!(usage(&provider, &under), (1023, 0, 0, 0));
    assert_eq!(usage(&provider, &under), (1023, 0, 0, 0));
    let over = user(json!([marked(&words(1022))]));
    assert_eq!(usage(&provider, &over), (0, 0, 1024, 0));
    assert_eq!(usage(&provider, &over), (0, 1024, 0, 0));
}

#[test]
fn minimum_differs_by_model_and_can_be_lowered() {
    let written = |provider: &Provider, model: &str, tokens: usize| {
        let mut body = user(json!([marked(&words(tokens - 2))]));
        body["model"] = json!(model);
        usage(provider, &body).2
    };
    let provider = start();
    for (model, minimum) in [
        ("claude-opus-5-5-20260901", 512),
        ("claude-opus-4-20250514", 1024),
        ("claude-opus-4-7", 2048),
        ("claude-haiku-4-5", 4096),
        ("some-other-model", 1024),
    ] {
        assert_eq!(written(&provider, model, minimum - 1), 0, "{model}");
        assert_eq!(written(&provider, model, minimum), minimum as u64, "{model}");
    }
    let low = Provider::start(Config {
        minimum: Some(8),
        ..Config::default()
    })
    .unwrap();
    assert_eq!(written(&low, CLAUDE, 7), 0);
    assert_eq!(written(&low, CLAUDE, 8), 8);
}

/// A head of 1,024 tokens and a user text of 12.
fn head_and_user(system: Value, text: Value) -> Value {
    let mut body = user(json!([text]));
    body["system"] = json!([system]);
    body
}

#[test]
fn writes_happen_at_markers_only() {
    let provider = start();
    let (head, text) = (words(1022), words(10));
    let body = head_and_user(marked(&head), block(&text));
    assert_eq!(usage(&provider, &body), (12, 0, 1024, 0));
    assert_eq!(usage(&provider, &body), (12, 1024, 0, 0));
    let both = head_and_user(marked(&head), marked(&text));
    assert_eq!(usage(&provider, &both), (0, 1024, 12, 0));
    assert_eq!(usage(&provider, &both), (0, 1036, 0, 0));
    let none = head_and_user(block(&head), block(&text));
    assert_eq!(usage(&provider, &none), (1036, 0, 0, 0));
}

#[test]
fn automatic_marker_follows_the_last_block() {
    let provider = start();
    let mut first = user(json!(words(1022)));
    first["cache_control"] = json!({"type": "ephemeral"});
    assert_eq!(usage(&provider, &first), (0, 0, 1024, 0));
    let mut next = conversation(json!([
        {"role": "user", "content": words(1022)},
        {"role": "assistant", "content": "abcd"},
        {"role": "user", "content": "abcdefgh"},
    ]));
    next["cache_control"] = json!({"type": "ephemeral", "ttl": "1h"});
    // An assistant's role, text and one token, a user's role, text and two: 7.
    assert_eq!(usage(&provider, &next), (0, 1024, 0, 7));
}

/// The marked block of 1,024 tokens, unmarked now, and `more` blocks of 2 tokens behind it, the last one marked.
fn blocks_behind(more: usize) -> Value {
    let mut blocks = vec![block(&words(1022))];
    blocks.extend((1..more).map(|_| block("more")));
    blocks.push(marked("last"));
    user(json!(blocks))
}

#[test]
fn look_back_is_20_positions_with_the_marked_one() {
    let first = user(json!([marked(&words(1022))]));
    let provider = start();
    usage(&provider, &first);
    // The marker's position and 19 before it: block 1 of 20 is the 20th.
    assert_eq!(usage(&provider, &blocks_behind(19)), (0, 1024, 38, 0));
    let provider = start();
    usage(&provider, &first);
    assert_eq!(usage(&provider, &blocks_behind(20)), (0, 0, 1064, 0));
}

#[test]
fn a_second_marker_looks_back_for_itself() {
    let provider = start();
    usage(&provider, &user(json!([marked(&words(1022))])));
    let mut body = blocks_behind(20);
    body["messages"][0]["content"][1] = marked("more");
    assert_eq!(usage(&provider, &body), (0, 1024, 40, 0));
}

fn timed() -> (Provider, Clock) {
    let clock = Clock::manual();
    let config = Config {
        clock: clock.clone(),
        ..Config::default()
    };
    (Provider::start(config).unwrap(), clock)
}

#[test]
fn entries_live_for_five_minutes_or_an_hour() {
    for (ttl, seconds) in [("5m", 300), ("1h", 3600)] {
        let body = user(json!([marked_for(&words(1022), ttl)]));
        let (provider, clock) = timed();
        usage(&provider, &body);
        clock.advance(Duration::from_millis(seconds * 1000 - 1));
        assert_eq!(usage(&provider, &body).1, 1024, "{ttl}");
        clock.advance(Duration::from_secs(seconds));
        assert_eq!(usage(&provider, &body).1, 0, "{ttl}");
    }
}

#[test]
fn use_refreshes_an_entry() {
    let body = user(json!([marked(&words(1022))]));
    let (provider, clock) = timed();
    usage(&provider, &body);
    for _ in 0..3 {
        clock.advance(Duration::from_secs(299));
        assert_eq!(usage(&provider, &body).1, 1024);
    }
}

#[test]
fn use_by_look_back_refreshes_an_entry() {
    let (provider, clock) = timed();
    let first = user(json!([marked(&words(1022))]));
    usage(&provider, &first);
    clock.advance(Duration::from_secs(200));
    assert_eq!(usage(&provider, &blocks_behind(1)).1, 1024);
    clock.advance(Duration::from_secs(200));
    assert_eq!(usage(&provider, &first).1, 1024);
}

#[test]
fn use_of_the_tail_refreshes_a_marked_head() {
    let (provider, clock) = timed();
    let body = head_and_user(marked(&words(1022)), marked("tail"));
    usage(&provider, &body);
    clock.advance(Duration::from_secs(200));
    usage(&provider, &body);
    clock.advance(Duration::from_secs(200));
    let other = head_and_user(marked(&words(1022)), block("else"));
    assert_eq!(usage(&provider, &other), (3, 1024, 0, 0));
}

#[test]
fn lifetimes_are_counted_apart() {
    let provider = start();
    let mut body = user(json!([marked(&words(98))]));
    body["system"] = json!([marked_for(&words(1022), "1h")]);
    assert_eq!(usage(&provider, &body), (0, 0, 100, 1024));
}

#[test]
fn keys_and_models_are_apart() {
    let provider = start();
    let body = user(json!([marked(&words(1022))]));
    usage(&provider, &body);
    let other = messages_as(&provider, "other", &body).json();
    assert_eq!(usage_of(&other["usage"]), (0, 0, 1024, 0));
    let mut model = body.clone();
    model["model"] = json!("claude-opus-5");
    assert_eq!(usage(&provider, &model), (0, 0, 1024, 0));
    assert_eq!(usage(&provider, &body), (0, 1024, 0, 0));
}

#[test]
fn an_entry_is_readable_once_its_answer_begins() {
    let provider = start();
    let body = user(json!([marked(&words(1022))]));
    provider.push(Answer::text("slow").after(Duration::from_millis(400)));
    std::thread::scope(|scope| {
        scope.spawn(|| usage(&provider, &body));
        while provider.recorded().is_empty() {
            std::thread::yield_now();
        }
        assert_eq!(usage(&provider, &body), (0, 0, 1024, 0));
    });
    assert_eq!(usage(&provider, &body), (0, 1024, 0, 0));
}

#[test]
fn an_error_writes_nothing() {
    let provider = start();
    let body = user(json!([marked(&words(1022))]));
    provider.push(Answer::error(529, "Overloaded"));
    let reply = messages(&provider, &body);
    assert_eq!((reply.status, reply.message()), (529, "Overloaded".to_owned()));
    assert_eq!(reply.json()["error"]["type"], "overloaded_error");
    assert_eq!(usage(&provider, &body), (0, 0, 1024, 0));
}

#[test]
fn tool_choice_and_thinking_reach_the_messages_only() {
    for (key, value) in [
        ("tool_choice", json!({"type": "auto"})),
        ("thinking", json!({"type": "adaptive"})),
    ] {
        let provider = start();
        let mut body = head_and_user(marked(&words(1022)), marked("tail"));
        usage(&provider, &body);
        body[key] = value;
        // One token for the settings, then role, text and one token.
        assert_eq!(usage(&provider, &body), (0, 1024, 4, 0), "{key}");
    }
}

#[test]
fn a_marker_inside_a_result_marks_its_end() {
    let provider = start();
    let body = conversation(json!([
        {"role": "user", "content": words(1012)},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t1t1", "name": "f", "input": {}}]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "t1t1", "content": [marked("okay")]},
            block("tail"),
        ]},
    ]));
    // 1,014; role, 3 and 3 for the call; role, 2, id, text and one token for the result; 2 behind it.
    assert_eq!(usage(&provider, &body), (2, 0, 1027, 0));
}

#[test]
fn equal_meanings_render_alike_and_markers_not_at_all() {
    let provider = start();
    let text = words(1022);
    usage(&provider, &user(json!([marked(&text)])));
    let mut twin = conversation(json!([
        {"role": "user", "content": text},
        {"role": "user", "content": [marked("more")]},
    ]));
    // Two user messages are one turn: no second role.
    assert_eq!(usage(&provider, &twin), (0, 1024, 2, 0));
    twin["messages"][0]["content"] = json!([marked(&words(1022))]);
    assert_eq!(usage(&provider, &twin), (0, 1026, 0, 0));
}

#[test]
fn key_order_in_a_schema_is_rendered() {
    let provider = start();
    let body = |schema: &str, tail: &str| {
        let text = words(1022);
        format!(
            r#"{{"model":"{CLAUDE}","max_tokens":9,"system":"{text}","messages":[{{"role":"user","content":"hi"}}],
            "cache_control":{{"type":"ephemeral"}},"tools":[{{"name":"t","description":"d",{schema}{tail}}}]}}"#
        )
    };
    let read = |body: String| {
        let reply = send(&provider, "/v1/messages", "x-api-key: k\r\n", body.as_bytes());
        usage_of(&reply.json()["usage"]).1
    };
    let schema = r#""input_schema": {"a": 1, "b": 2}"#;
    assert_eq!(read(body(schema, "")), 0);
    assert!(read(body(schema, r#","cache_control":null"#)) > 1024);
    assert_eq!(read(body(r#""input_schema": {"b": 2, "a": 1}"#, "")), 0);
}

#[test]
fn old_thinking_is_forgotten_on_older_models_only() {
    let total = |model: &str, last: Value| {
        let mut body = conversation(json!([
            {"role": "user", "content": "aaaa"},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "deep", "signature": "x"},
                {"type": "tool_use", "id": "t1", "name": "f", "input": {}},
            ]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "ok"}, last]},
        ]));
        body["model"] = json!(model);
        let usage = usage(&start(), &body);
        usage.0
    };
    let image = json!({"type": "image", "source": {"type": "url", "url": "x"}});
    let text = block("next");
    assert_eq!(
        total("claude-sonnet-4", text.clone()) + 2,
        total("claude-sonnet-4-6", text)
    );
    assert_eq!(
        total("claude-sonnet-4", image.clone()) + 2,
        total("claude-sonnet-4-6", image)
    );
}
