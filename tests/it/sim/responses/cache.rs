//! What a Responses prompt consists of, and what is cached of it.

use async_compression::tokio::write::ZstdEncoder;
use tokio::io::AsyncWriteExt;

use super::*;

#[test]
fn tokens_of_items() {
    let provider = start();
    let total = |input: Value| counted(&provider, &request(MIDDLE, input)).0;
    assert_eq!(total(json!("abcdefgh")), 4);
    let part = json!([{"type": "input_text", "text": "abcdefgh"}]);
    let full = json!({"type": "message", "role": "user", "content": part});
    assert_eq!(total(list([full])), 4, "easy and full forms are one prompt");
    // A call is 1 + 3 + id, name and input, its output 1 + 2 + id and 1 + text.
    assert_eq!(total(list([call("1"), output("1")])), 7 + 6);
    let parts = json!([{"type": "input_text", "text": "ok"}]);
    let listed = json!({"type": "function_call_output", "call_id": "1", "output": parts});
    assert_eq!(total(list([call("1"), listed])), 7 + 6);
    // An item of another type is 1 + 1 + type + JSON; its id and status count for nothing.
    let item = json!({"type": "abcd", "x": 1});
    let tokens = total(list([item.clone()]));
    assert_eq!(tokens, 2 + 1 + 6, "{item}");
    let named = json!({"type": "abcd", "x": 1, "id": "i", "status": "completed"});
    assert_eq!(total(list([named])), tokens);
}

#[test]
fn appending_keeps_what_is_cached() {
    let provider = start();
    let head = says("developer", &words(1098));
    let first = list([head.clone(), says("user", &words(98))]);
    assert_eq!(
        counted(&provider, &request(MIDDLE, first.clone())),
        (1200, 0, 1200)
    );
    let mut items = first.as_array().unwrap().clone();
    items.extend([
        says("assistant", "a"),
        says("developer", "new"),
        says("user", "b"),
    ]);
    assert_eq!(
        counted(&provider, &request(MIDDLE, items.clone().into())),
        (1209, 1200, 9)
    );
    // An appended developer item is no place of its own.
    items.push(says("developer", "more"));
    assert_eq!(
        counted(&provider, &request(MIDDLE, items.clone().into())),
        (1212, 1209, 0)
    );
    // Another item near the front leaves the end of the head.
    items[1] = says("user", "other");
    let (_, cached, _) = counted(&provider, &request(MIDDLE, items.into()));
    assert_eq!(cached, 0, "the first request wrote at its last message only");
    let recorded = provider.recorded();
    assert_eq!(recorded[1].cached_of_previous(), Some(1.0));
    assert_eq!(recorded[2].reach.previous, Some(1));
}

#[test]
fn older_models_count_in_steps() {
    let provider = start();
    let body = request(OLD, list([says("user", &words(1198))]));
    assert_eq!(counted(&provider, &body), (1200, 0, 0));
    assert_eq!(counted(&provider, &body), (1200, 1152, 0));
    assert_eq!(provider.recorded()[1].usage.unwrap().written, 0);
}

/// Reads of a request, of the same one behind other instructions, and of the first one again.
fn changed_instructions(model: &str) -> [(u64, u64, u64); 3] {
    let provider = start();
    let body = request(model, list([says("user", &words(1998))]));
    ["abcd", "efgh", "abcd"].map(|text| counted(&provider, &with(&body, "instructions", json!(text))))
}

#[test]
fn instructions_stand_at_the_head_before_6_2() {
    assert_eq!(
        changed_instructions(MIDDLE),
        [(2003, 0, 2003), (2003, 0, 2003), (2003, 2003, 0)]
    );
    assert_eq!(changed_instructions(OLD)[1], (2003, 0, 0));
}

#[test]
fn instructions_stand_behind_the_input_from_6_2_on() {
    assert_eq!(
        changed_instructions(NEW),
        [(2003, 0, 2000), (2003, 2000, 0), (2003, 2000, 0)]
    );
}

#[test]
fn passing_instructions_are_no_part_of_what_could_be_cached() {
    let provider = start();
    let body = with(
        &request(NEW, list([says("user", &words(1998))])),
        "instructions",
        json!("be"),
    );
    for _ in 0..2 {
        response(&provider, &body);
    }
    let second = &provider.recorded()[1];
    assert_eq!((second.reach.possible, second.reach.previous_total), (2000, 2000));
    assert_eq!(second.cached_of_previous(), Some(1.0));
    let operator = second.operator.as_ref().unwrap();
    assert_eq!((operator.head.len(), operator.latest()), (0, "be"));
}

#[test]
fn parameters_in_the_prefix() {
    let provider = start();
    let body = request(MIDDLE, list([says("user", &words(1998))]));
    response(&provider, &body);
    let cached = |key: &str, value: Value| counted(&provider, &with(&body, key, value)).1;
    for (key, value) in [
        ("temperature", json!(0.5)),
        ("tool_choice", json!("none")),
        ("store", json!(false)),
        ("stream", json!(false)),
        ("metadata", json!({"a": "b"})),
        ("reasoning", json!({"summary": "auto"})),
    ] {
        assert_eq!(cached(key, value), 2000, "{key}");
    }
    for (key, value) in [
        ("parallel_tool_calls", json!(false)),
        ("reasoning", json!({"effort": "high"})),
        ("text", json!({"verbosity": "low"})),
        ("text", json!({"format": {"type": "json_object"}})),
        ("service_tier", json!("flex")),
        (
            "tools",
            json!([{"type": "function", "name": "t", "parameters": {}}]),
        ),
        ("tools", json!([{"type": "web_search"}])),
        ("prompt_cache_key", json!("elsewhere")),
        ("model", json!("gpt-6.0")),
    ] {
        assert_eq!(cached(key, value), 0, "{key}");
    }
}

#[test]
fn what_is_appended_instead_keeps_the_prefix() {
    let provider = start();
    let start = vec![says("user", &words(1998))];
    response(&provider, &request(NEW, start.clone().into()));
    for item in [
        json!({"type": "configuration_update", "reasoning": {"effort": "high"}}),
        json!({"type": "additional_tools", "role": "developer", "tools": [{"type": "web_search"}]}),
        says("developer", "changed"),
    ] {
        let mut items = start.clone();
        items.push(item.clone());
        let (total, cached, _) = counted(&provider, &request(NEW, items.into()));
        assert!(total > 2000 && cached == 2000, "{item}");
    }
}

#[test]
fn marked_parts_are_places() {
    let provider = start();
    let breakpoint = json!({"mode": "explicit"});
    let part = json!([{"type": "input_text", "text": words(1998), "prompt_cache_breakpoint": breakpoint}]);
    let input = |tail: &str| {
        let marked = json!({"role": "user", "content": part});
        list([marked, says("assistant", "a"), says("user", tail)])
    };
    let explicit = |tail: &str| {
        let body = request(MIDDLE, input(tail));
        with(&body, "prompt_cache_options", json!({"mode": "explicit"}))
    };
    assert_eq!(counted(&provider, &explicit("b")), (2006, 0, 2000));
    assert_eq!(counted(&provider, &explicit("c")), (2006, 2000, 0));
}

#[tokio::test]
async fn bodies_in_zstd() {
    let provider = start();
    let body = request(NEW, json!("abcdefgh")).to_string();
    let mut encoder = ZstdEncoder::new(Vec::new());
    encoder.write_all(body.as_bytes()).await.unwrap();
    encoder.shutdown().await.unwrap();
    let packed = encoder.into_inner();
    let headers = "Authorization: Bearer k\r\nContent-Encoding: zstd\r\n";
    let reply = send(&provider, "/backend-api/codex/responses", headers, &packed);
    assert_eq!(usage_of_response(&reply.json()).0, 4);
    assert_eq!(provider.recorded()[0].body, packed);
}
