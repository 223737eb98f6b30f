//! Invariant 9: what a provider does not say is missing, and what nothing filled is not exported.

use std::collections::BTreeSet;

use inkfast::ledger::Ledger;
use inkfast::sim::{Answer, Config};
use serde_json::{Value, json};

use crate::rewrite::{Agent, Bench};
use crate::support::metrics;

/// The names of the exported metrics.
fn names(text: &str) -> BTreeSet<&str> {
    let samples = text
        .lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty());
    samples
        .filter_map(|line| line.split(['{', ' ']).next())
        .map(|name| {
            name.trim_end_matches("_bucket")
                .trim_end_matches("_sum")
                .trim_end_matches("_count")
        })
        .collect()
}

/// The value of the one sample whose labels hold all of `labels`; none where there is no such sample.
fn sample(text: &str, name: &str, labels: &[&str]) -> Option<f64> {
    let mut samples = text.lines().filter(|line| {
        let named = line
            .strip_prefix(name)
            .is_some_and(|rest| rest.starts_with(['{', ' ']));
        named && labels.iter().all(|label| line.contains(label))
    });
    samples.next()?.rsplit(' ').next()?.parse().ok()
}

async fn ask(bench: &Bench, body: Value) -> Option<inkfast::wire::usage::Usage> {
    bench.ask("/v1/chat/completions", &[], body.to_string()).await;
    bench.summary().usage
}

#[tokio::test]
async fn usage_that_is_missing_is_counted_as_missing() {
    let (bench, mut agent) = (Bench::new().await, Agent::chat());
    agent.user("one");
    let mut body = agent.body();
    body["stream"] = true.into();
    assert_eq!(ask(&bench, body.clone()).await, None);
    let text = metrics(&bench.proxy).await;
    let missing = |text: &str| sample(text, "inkfast_usage_missing_total", &["openai_chat", "openai"]);
    let tokens = |text: &str, cache: &str| {
        sample(
            text,
            "inkfast_input_tokens_total",
            &[&format!("cache=\"{cache}\"")],
        )
    };
    assert_eq!(
        (missing(&text), tokens(&text, "read"), tokens(&text, "none")),
        (Some(1.0), None, None)
    );
    // With the usage that the client may ask for.
    body["stream_options"] = json!({"include_usage": true});
    let usage = ask(&bench, body.clone()).await.unwrap();
    let text = metrics(&bench.proxy).await;
    let total = usage.input_total.unwrap() as f64;
    let counted = ["read", "write", "none", "unknown"]
        .iter()
        .filter_map(|cache| tokens(&text, cache));
    assert_eq!((missing(&text), counted.sum::<f64>()), (Some(1.0), total));
    // An error has none to miss.
    bench.provider.push(Answer::error(429, "slow down"));
    assert_eq!(ask(&bench, body).await, None);
    assert_eq!(missing(&metrics(&bench.proxy).await), Some(1.0));
}

#[tokio::test]
async fn a_total_without_its_parts_is_not_taken_for_uncached() {
    let (bench, mut agent) = (Bench::new().await, Agent::chat());
    agent.user("one");
    let answer = json!({
        "object": "chat.completion",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "x"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 70, "completion_tokens": 1, "total_tokens": 71},
    });
    bench
        .provider
        .push(Answer::raw(answer.to_string()).with_header("content-type", "application/json"));
    ask(&bench, agent.body()).await;
    let text = metrics(&bench.proxy).await;
    let tokens = |cache: &str| {
        sample(
            &text,
            "inkfast_input_tokens_total",
            &[&format!("cache=\"{cache}\"")],
        )
    };
    assert_eq!(
        (tokens("unknown"), tokens("read"), tokens("none")),
        (Some(70.0), None, None)
    );
}

#[tokio::test]
async fn nothing_is_exported_before_something_filled_it() {
    let bench = Bench::with("", Config::default(), Ledger::memory()).await;
    let measured = ["build_info", "ledger_bytes", "ledger_items", "ledger_lineages"];
    let measured: BTreeSet<String> = measured.iter().map(|name| format!("inkfast_{name}")).collect();
    let text = metrics(&bench.proxy).await;
    let strange: Vec<_> = names(&text)
        .into_iter()
        .filter(|name| !measured.contains(*name))
        .collect();
    assert_eq!(strange, [""; 0]);
    let mut agent = Agent::chat();
    agent.turn(&bench, "one").await;
    let text = metrics(&bench.proxy).await;
    let names = names(&text);
    for filled in [
        "requests_total",
        "input_tokens_total",
        "prefix_bytes_total",
        "request_duration_seconds",
    ] {
        assert!(
            names.contains(&format!("inkfast_{filled}")[..]),
            "{filled}: {names:?}"
        );
    }
    for never in [
        "breaks_total",
        "client_breaks_total",
        "nodes_total",
        "node_bytes_total",
        "superseded_bytes",
        "deferred_total",
        "saved_bytes_total",
        "usage_missing_total",
        "provider_misses_total",
        "diagnostics_total",
        "rebaselines_total",
        "guard_failures_total",
        "passthrough_total",
        "state_write_duration_seconds",
    ] {
        assert!(!names.contains(&format!("inkfast_{never}")[..]), "{never}");
    }
}
