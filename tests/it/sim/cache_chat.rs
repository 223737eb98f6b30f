//! OpenAI's cache rules, just under and just over.

use std::time::Duration;

use inkfast::sim::{Clock, Config, Provider};
use serde_json::{Value, json};

use super::*;

/// One user message of this many tokens in all.
fn of(tokens: usize) -> Value {
    chat_body("gpt-4o", json!([{"role": "user", "content": words(tokens - 2)}]))
}

#[test]
fn minimum_is_1024() {
    let provider = start();
    assert_eq!(chat_usage(&provider, &of(1023)), (1023, 0));
    assert_eq!(chat_usage(&provider, &of(1023)), (1023, 0));
    // The text of 1,024 starts with that of 1,023, but no step was reached before.
    assert_eq!(chat_usage(&provider, &of(1024)), (1024, 0));
    assert_eq!(chat_usage(&provider, &of(1024)), (1024, 1024));
}

#[test]
fn counts_are_rounded_down_to_128() {
    let provider = start();
    chat_usage(&provider, &of(1151));
    assert_eq!(chat_usage(&provider, &of(1151)), (1151, 1024));
    chat_usage(&provider, &of(1152));
    assert_eq!(chat_usage(&provider, &of(1152)), (1152, 1152));
}

#[test]
fn the_common_prefix_is_found_wherever_it_ends() {
    let provider = start();
    let body = |tail: &str| {
        // 1,100 tokens of head, then role, text and the tail.
        chat_body(
            "gpt-4o",
            json!([
                {"role": "system", "content": words(1098)},
                {"role": "user", "content": format!("{}{tail}", words(100))},
            ]),
        )
    };
    chat_usage(&provider, &body("aaaa"));
    // 1,202 tokens in common: 1,152 is the last step.
    assert_eq!(chat_usage(&provider, &body("bbbb")), (1203, 1152));
    let recorded = provider.recorded();
    assert_eq!(recorded[1].reach.possible, 1202);
    assert_eq!(recorded[1].reach.previous, Some(0));
    assert_eq!(recorded[1].reach.previous_total, 1203);
    assert!((recorded[1].cached_of_previous().unwrap() - 1152.0 / 1203.0).abs() < 1e-9);
}

#[test]
fn what_the_prefix_consists_of() {
    let provider = start();
    let base = of(1200);
    chat_usage(&provider, &base);
    let cached = |key: &str, value: Value| {
        let mut body = base.clone();
        body[key] = value;
        chat_usage(&provider, &body).1
    };
    assert_eq!(cached("temperature", json!(0.5)), 1152);
    assert_eq!(cached("tool_choice", json!("none")), 1152);
    assert_eq!(cached("verbosity", json!("low")), 0);
    assert_eq!(
        cached("tools", json!([{"type": "function", "function": {"name": "t"}}])),
        0
    );
    assert_eq!(cached("model", json!("gpt-4.1")), 0);
    assert_eq!(cached("prompt_cache_key", json!("other")), 0);
}

#[test]
fn keys_are_apart() {
    let provider = start();
    chat_usage(&provider, &of(1200));
    let body = of(1200).to_string();
    let headers = "Authorization: Bearer other\r\n";
    let reply = send(&provider, "/v1/chat/completions", headers, body.as_bytes()).json();
    assert_eq!(reply["usage"]["prompt_tokens_details"]["cached_tokens"], 0);
    assert_eq!(provider.recorded()[1].reach.previous, None);
}

#[test]
fn entries_live_for_five_minutes_or_a_day() {
    let clock = Clock::manual();
    let provider = Provider::start(Config {
        clock: clock.clone(),
        ..Config::default()
    })
    .unwrap();
    let mut kept = of(1200);
    kept["prompt_cache_retention"] = json!("24h");
    for (body, seconds) in [(of(1200), 300), (kept, 24 * 3600)] {
        clock.advance(Duration::from_secs(48 * 3600));
        assert_eq!(chat_usage(&provider, &body).1, 0);
        clock.advance(Duration::from_millis(seconds * 1000 - 1));
        assert_eq!(chat_usage(&provider, &body).1, 1152);
        clock.advance(Duration::from_secs(seconds));
        assert_eq!(chat_usage(&provider, &body).1, 0);
    }
}

/// (prompt, cached, written)
fn exact_usage(provider: &Provider, body: &Value) -> (u64, u64, u64) {
    let reply = chat(provider, body).json();
    let details = &reply["usage"]["prompt_tokens_details"];
    let number = |v: &Value| v.as_u64().unwrap();
    let cached = number(&details["cached_tokens"]);
    let total = number(&reply["usage"]["prompt_tokens"]);
    (total, cached, number(&details["cache_write_tokens"]))
}

#[test]
fn newer_models_count_exactly_at_message_ends() {
    let provider = start();
    let body = |model: &str, rest: &[Value]| {
        let mut messages = vec![json!({"role": "user", "content": words(1028)})];
        messages.extend_from_slice(rest);
        chat_body(model, json!(messages))
    };
    let rest = [
        json!({"role": "assistant", "content": "abcd"}),
        json!({"role": "user", "content": "abcd"}),
    ];
    for model in ["gpt-5.6", "gpt-6.2-mini", "openai/gpt-6"] {
        assert_eq!(exact_usage(&provider, &body(model, &[])), (1030, 0, 1030));
        assert_eq!(exact_usage(&provider, &body(model, &rest)), (1036, 1030, 6));
    }
    chat_usage(&provider, &body("gpt-5.5", &[]));
    assert_eq!(chat_usage(&provider, &body("gpt-5.5", &rest)), (1036, 1024));
}

#[test]
fn a_later_developer_message_is_no_boundary() {
    let provider = start();
    let mut messages = vec![
        json!({"role": "user", "content": words(1028)}),
        json!({"role": "developer", "content": "abcd"}),
    ];
    let body = |messages: &[Value]| chat_body("gpt-5.6", json!(messages));
    assert_eq!(exact_usage(&provider, &body(&messages)), (1033, 0, 1030));
    messages.push(json!({"role": "user", "content": "abcd"}));
    assert_eq!(exact_usage(&provider, &body(&messages)), (1036, 1030, 6));
}

#[test]
fn newer_models_look_at_20_earlier_ends() {
    let ends = |count: usize| {
        let mut messages = vec![json!({"role": "user", "content": words(1028)})];
        messages.extend((0..count).map(|_| json!({"role": "user", "content": "abcd"})));
        chat_body("gpt-5.6", json!(messages))
    };
    let provider = start();
    exact_usage(&provider, &ends(0));
    assert_eq!(exact_usage(&provider, &ends(20)), (1090, 1030, 60));
    let provider = start();
    exact_usage(&provider, &ends(0));
    assert_eq!(exact_usage(&provider, &ends(21)), (1093, 0, 1093));
}

#[test]
fn the_end_of_the_leading_block_stays_in_reach() {
    let provider = start();
    let head = json!({"role": "developer", "content": words(1098)});
    let answer = json!({"role": "assistant", "content": "abcd"});
    let alone = chat_body("gpt-5.6", json!([head, answer]));
    assert_eq!(exact_usage(&provider, &alone), (1103, 0, 1100));
    let mut messages = vec![head];
    messages.extend((0..25).map(|_| json!({"role": "user", "content": "abcd"})));
    let long = chat_body("gpt-5.6", json!(messages));
    assert_eq!(exact_usage(&provider, &long), (1175, 1100, 75));
}

#[test]
fn a_group_of_tool_results_has_one_end() {
    let provider = start();
    let opening = json!({"role": "user", "content": words(1028)});
    exact_usage(&provider, &chat_body("gpt-5.6", json!([opening])));
    let ids: Vec<String> = (0..21).map(|i| format!("id{i:02}")).collect();
    let call =
        |id: &String| json!({"id": id, "type": "function", "function": {"name": "f", "arguments": "{}"}});
    let calls: Vec<Value> = ids.iter().map(call).collect();
    let mut messages = vec![opening, json!({"role": "assistant", "tool_calls": calls})];
    messages.extend(
        ids.iter()
            .map(|id| json!({"role": "tool", "tool_call_id": id, "content": "ok"})),
    );
    // 21 results would be too many ends to look past, were each one an end.
    assert_eq!(
        exact_usage(&provider, &chat_body("gpt-5.6", json!(messages))).1,
        1030
    );
}

#[test]
fn explicit_breakpoints_of_newer_models() {
    let provider = start();
    let part = |marked: bool| {
        let mut part = block(&words(1028));
        if marked {
            part["prompt_cache_breakpoint"] = json!({"mode": "explicit"});
        }
        let content = json!([part, block("tail")]);
        let mut body = chat_body("gpt-5.6", json!([{"role": "user", "content": content}]));
        body["prompt_cache_options"] = json!({"mode": "explicit"});
        body
    };
    assert_eq!(exact_usage(&provider, &part(false)), (1032, 0, 0));
    assert_eq!(exact_usage(&provider, &part(true)), (1032, 0, 1030));
    assert_eq!(exact_usage(&provider, &part(true)), (1032, 1030, 0));
    let mut older = part(true);
    older["model"] = json!("gpt-5.5");
    let reply = chat(&provider, &older);
    assert_eq!(reply.status, 400);
    assert!(
        reply
            .message()
            .contains("'prompt_cache_options' is not supported")
    );
}
