//! What the vendor itself says of a miss, beside our own verdict.

use inkfast::sim::Answer;

use super::*;

fn explained(reason: &str) -> Answer {
    let body = json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-opus-5",
        "content": [{"type": "text", "text": "Yes."}], "stop_reason": "end_turn", "stop_sequence": null,
        "usage": {"input_tokens": 9, "output_tokens": 2},
        "diagnostics": {"cache_miss_reason": {"type": reason, "cache_missed_input_tokens": 12}},
    });
    Answer {
        body: Some(body.to_string().into()),
        ..Answer::default()
    }
}

#[tokio::test]
async fn a_vendors_reason_is_counted_beside_our_verdict() {
    let (bench, mut agent) = (Bench::new().await, Agent::messages());
    bench.provider.push(explained("system_changed"));
    agent.turn(&bench, "one").await;
    bench.provider.push(explained("messages_changed"));
    let second = agent.turn(&bench, "two").await;
    assert_eq!(second.sent, "extend/none");
    // The client rewrites its own first question.
    agent.messages[0] = json!({"role": "user", "content": "another one"});
    bench.provider.push(explained("messages_changed"));
    let third = agent.turn(&bench, "three").await;
    assert!(third.sent.starts_with("rewrite/history_edited"), "{third:?}");
    bench.provider.push(explained("tide_was_out"));
    agent.turn(&bench, "four").await;
    let text = metrics(&bench.proxy).await;
    let counted: Vec<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("inkfast_diagnostics_total"))
        .collect();
    assert_eq!(
        counted,
        [
            r#"{agrees="no",cause="messages_changed",source="diagnostics"} 1"#,
            r#"{agrees="unknown",cause="other",source="diagnostics"} 1"#,
            r#"{agrees="unknown",cause="system_changed",source="diagnostics"} 1"#,
            r#"{agrees="yes",cause="messages_changed",source="diagnostics"} 1"#,
        ]
    );
}
