//! Misses of an intact prefix, named by what the requests and the provider tell.

use inkfast::sim::Answer;

use super::*;

const MARKER: &str = r#"{"type":"ephemeral"}"#;

fn text(text: &str, marked: bool) -> Value {
    match marked {
        true => {
            json!({"type": "text", "text": text, "cache_control": serde_json::from_str::<Value>(MARKER).unwrap()})
        }
        false => json!({"type": "text", "text": text}),
    }
}

fn body(model: &str, messages: &[Value]) -> Value {
    json!({"model": model, "max_tokens": 100, "system": prompt("plan"), "messages": messages})
}

/// Sends a body; the content of the answer, and why the cache missed.
async fn turn(bench: &Bench, body: &Value) -> (Value, Option<&'static str>) {
    let (status, answer) = bench.ask("/v1/messages", &[], body.to_string()).await;
    assert_eq!(status, 200, "{answer}");
    let answer: Value = serde_json::from_str(&answer).unwrap();
    let summary = bench.summary();
    let sent = &summary.prefix.as_ref().unwrap().sent;
    assert!(
        sent.starts_with("extend/none") || sent.starts_with("new_lineage"),
        "{sent}"
    );
    (answer["content"].clone(), summary.miss)
}

fn long(tokens: usize) -> String {
    sim::text_of_tokens(tokens, 5)
}

#[tokio::test]
async fn an_entry_beyond_the_look_back() {
    for (blocks, miss) in [(15, None), (24, Some("lookback_exceeded"))] {
        let bench = Bench::new().await;
        let mut messages = vec![json!({"role": "user", "content": [text(&long(1500), true)]})];
        let (answer, _) = turn(&bench, &body("claude-opus-4-8", &messages)).await;
        messages[0] = json!({"role": "user", "content": [text(&long(1500), false)]});
        messages.push(json!({"role": "assistant", "content": answer}));
        let more: Vec<Value> = (0..blocks)
            .map(|at| text(&format!("Part {at}."), at + 1 == blocks))
            .collect();
        messages.push(json!({"role": "user", "content": more}));
        assert_eq!(
            turn(&bench, &body("claude-opus-4-8", &messages)).await.1,
            miss,
            "{blocks}"
        );
    }
}

#[tokio::test]
async fn thinking_that_the_model_leaves_out_when_the_user_speaks() {
    for (model, miss) in [
        ("claude-sonnet-4-5", Some("thinking_not_kept")),
        ("claude-opus-5", None),
    ] {
        let bench = Bench::new().await;
        let ask = |messages: &[Value]| {
            let mut body = body(model, messages);
            body["tools"] =
                json!([{"name": "read", "description": "Reads.", "input_schema": {"type": "object"}}]);
            body["thinking"] = json!({"type": "enabled", "budget_tokens": 50});
            body
        };
        let mut messages = vec![json!({"role": "user", "content": [text(&long(1100), true)]})];
        let call = Answer::call("toolu_1", "read", json!({})).with_thinking("I should read it first.");
        bench.provider.push(call);
        let (answer, _) = turn(&bench, &ask(&messages)).await;
        messages.push(json!({"role": "assistant", "content": answer}));
        let result = json!({"type": "tool_result", "tool_use_id": "toolu_1", "content": long(4000),
            "cache_control": {"type": "ephemeral"}});
        messages.push(json!({"role": "user", "content": [result]}));
        let (answer, served) = turn(&bench, &ask(&messages)).await;
        assert_eq!(served, None, "{model}");
        messages.push(json!({"role": "assistant", "content": answer}));
        messages.push(json!({"role": "user", "content": [text("And now?", true)]}));
        assert_eq!(turn(&bench, &ask(&messages)).await.1, miss, "{model}");
    }
}

#[tokio::test]
async fn a_part_that_the_provider_cleared_itself() {
    let answer = |read: u64, write: u64, edits: Value| {
        Answer {
        body: Some(
            json!({
                "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-opus-5",
                "content": [{"type": "text", "text": "Yes."}], "stop_reason": "end_turn", "stop_sequence": null,
                "usage": {"input_tokens": 9, "cache_read_input_tokens": read, "cache_creation_input_tokens": write,
                    "output_tokens": 2},
                "context_management": {"applied_edits": edits},
            })
            .to_string()
            .into(),
        ),
        ..Answer::default()
    }
    };
    let cleared =
        json!([{"type": "clear_tool_uses_20250919", "cleared_tool_uses": 2, "cleared_input_tokens": 3000}]);
    for (edits, miss) in [
        (cleared, "server_context_edit"),
        (json!([]), "routing_or_eviction"),
    ] {
        let bench = Bench::new().await;
        bench.provider.push(answer(0, 5000, json!([])));
        bench.provider.push(answer(0, 2000, edits));
        let mut messages = vec![json!({"role": "user", "content": [text("one", true)]})];
        let (said, _) = turn(&bench, &body("claude-opus-5", &messages)).await;
        messages.push(json!({"role": "assistant", "content": said}));
        messages.push(json!({"role": "user", "content": [text("two", true)]}));
        assert_eq!(
            turn(&bench, &body("claude-opus-5", &messages)).await.1,
            Some(miss)
        );
        let counted = format!("inkfast_provider_misses_total{{cause=\"{miss}\"}} 1");
        assert!(metrics(&bench.proxy).await.contains(&counted), "{counted}");
    }
}

#[tokio::test]
async fn a_marker_of_the_whole_request_is_a_breakpoint() {
    let bench = Bench::new().await;
    let mut messages = vec![json!({"role": "user", "content": long(1500)})];
    let ask = |messages: &[Value]| {
        let mut body = body("claude-opus-4-8", messages);
        body["cache_control"] = json!({"type": "ephemeral"});
        body
    };
    let (said, _) = turn(&bench, &ask(&messages)).await;
    messages.push(json!({"role": "assistant", "content": said}));
    messages.push(json!({"role": "user", "content": "two"}));
    assert_eq!(turn(&bench, &ask(&messages)).await.1, None, "it was read");
    let last = bench.provider.recorded().pop().unwrap();
    assert!(last.usage.unwrap().cached > 1500);
}
