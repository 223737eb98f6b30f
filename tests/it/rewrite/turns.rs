//! Turn by turn: what becomes of an edited prompt.

use std::sync::Arc;

use inkfast::sim;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use super::*;
use crate::binary::{Inkfast, post};

#[tokio::test]
async fn a_head_edit_becomes_a_node_and_the_next_request_extends() {
    for mut agent in [Agent::chat(), Agent::messages()] {
        let bench = Bench::new().await;
        let first = agent.turn(&bench, "one").await;
        assert_eq!(
            (first.received.as_str(), first.node.as_str()),
            ("new_lineage/none", "-")
        );
        agent.system = prompt("act");
        let second = agent.turn(&bench, "two").await;
        assert!(
            second.received.starts_with("rewrite/system_changed@"),
            "{second:?}"
        );
        assert_eq!(second.sent, "extend/none", "{second:?}");
        assert!(second.node.contains('@') && second.nodes == 1, "{second:?}");
        assert_eq!((second.lineage, second.continued), (first.lineage, first.lineage));
        let third = agent.turn(&bench, "three").await;
        assert_eq!(
            (third.received.as_str(), third.sent.as_str()),
            ("extend/none", "extend/none")
        );
        assert_eq!((third.node.as_str(), third.nodes), ("-", 1));
        assert_eq!(third.sent_kept.0, third.sent_kept.1);
        assert_append_only(&bench, &agent);
        let operator = bench.provider.recorded().pop().unwrap().operator.unwrap();
        assert!(format!("{operator:?}").contains("Mode: act"), "{operator:?}");
    }
}

/// Each body begins with the one before, and the head in it is the first one.
fn assert_append_only(bench: &Bench, agent: &Agent) {
    let sent = bench.sent();
    for pair in sent.windows(2) {
        if agent.is_chat() {
            assert!(pair[1].starts_with(b"{\"messages\":[") && pair[1].starts_with(open_end(&pair[0])));
        } else {
            let messages = |body: &Bytes| {
                let at = body.windows(12).position(|w| w == b"\"messages\":[").unwrap();
                let end = body.windows(3).rposition(|w| w == b"}],").unwrap();
                body.slice(at..=end)
            };
            assert!(messages(&pair[1]).starts_with(&messages(&pair[0])));
        }
        assert!(holds(&pair[1], "Mode: plan"));
    }
}

#[tokio::test]
async fn a_body_that_needs_no_change_leaves_as_it_came() {
    for mut agent in [Agent::chat(), Agent::messages()] {
        let bench = Bench::new().await;
        for text in ["one", "two"] {
            agent.turn(&bench, text).await;
            agent.messages.pop();
            assert_eq!(bench.last(), agent.body().to_string());
            agent
                .messages
                .push(json!({"role": "assistant", "content": "Other words than were answered."}));
        }
    }
}

#[tokio::test]
async fn an_edit_taken_back_and_a_second_one_are_nodes_too() {
    let (bench, mut agent) = (Bench::new().await, Agent::chat());
    for (mode, nodes) in [("plan", 0), ("act", 1), ("plan", 2), ("plan", 2), ("review", 3)] {
        agent.system = prompt(mode);
        let prefix = agent.turn(&bench, mode).await;
        assert_eq!(prefix.nodes, nodes, "{prefix:?}");
        assert!(
            ["extend/none", "new_lineage/none"].contains(&prefix.sent.as_str()),
            "{prefix:?}"
        );
    }
    assert_append_only(&bench, &agent);
}

#[tokio::test]
async fn streams_are_read_and_continued() {
    for mut agent in [Agent::chat(), Agent::messages()] {
        let bench = Bench::new().await;
        agent.user("one");
        let mut body = agent.body();
        body["stream"] = true.into();
        bench.provider.push(sim::Answer::text("A streamed answer."));
        let (status, answer) = bench.ask(agent.path, &[], body.to_string()).await;
        assert_eq!(status, 200, "{answer}");
        let first = bench.summary();
        assert_eq!((first.outcome, first.usage.is_some()), ("ok", !agent.is_chat()));
        agent
            .messages
            .push(json!({"role": "assistant", "content": "A streamed answer."}));
        agent.system = prompt("act");
        let second = agent.turn(&bench, "two").await;
        assert_eq!((second.sent.as_str(), second.nodes), ("extend/none", 1));
    }
}

/// The answer is on record before the client can have its last event, though the stream itself goes on.
#[tokio::test]
async fn a_client_that_acts_on_the_last_event_finds_its_answer_on_record() {
    let fed = Fed::new();
    let first = Arc::clone(&fed);
    let upstream = Upstream::start(move |seen| {
        let streamed = holds(&seen.body, "\"stream\":true").then(|| first.answer());
        async move {
            let Some(mut answer) = streamed else {
                return whole(r#"{"choices":[{"message":{"content":"fine"},"finish_reason":"stop"}]}"#);
            };
            let events = hyper::header::HeaderValue::from_static("text/event-stream");
            answer.headers_mut().insert("content-type", events);
            answer
        }
    })
    .await;
    let (proxy, tap) = proxy(&upstream.url(), "", Ledger::memory()).await;
    let mut agent = Agent::chat();
    agent.user("one");
    let mut body = agent.body();
    body["stream"] = true.into();
    fed.send("data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Streamed.\"}}]}\n\n")
        .await;
    fed.send("data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n")
        .await;
    fed.send("data: [DONE]\n\n").await;
    let body = body.to_string();
    let mut stream = TcpStream::connect(proxy.proxy_addr).await.unwrap();
    let head = format!(
        "POST {} HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n{body}",
        agent.path,
        body.len()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut read = Vec::new();
    while !holds(&read, "data: [DONE]\n\n") {
        assert_ne!(stream.read_buf(&mut read).await.unwrap(), 0);
    }
    agent
        .messages
        .push(json!({"role": "assistant", "content": "Streamed."}));
    agent.system = prompt("act");
    agent.turn_to(proxy.proxy_addr, "two").await;
    let second = tap.recv_timeout(Duration::from_secs(5)).unwrap().prefix.unwrap();
    assert_eq!(
        (second.sent.as_str(), second.nodes),
        ("extend/none", 1),
        "{second:?}"
    );
    // A client that has its answer and leaves misses nothing.
    drop(stream);
    let first = tokio::task::spawn_blocking(move || tap.recv_timeout(Duration::from_secs(5)));
    assert_eq!(first.await.unwrap().unwrap().outcome, "ok");
}

#[tokio::test]
async fn observe_changes_no_byte() {
    let bench = Bench::with("mode = \"observe\"", sim::Config::default(), Ledger::memory()).await;
    let mut agent = Agent::chat();
    agent.turn(&bench, "one").await;
    agent.system = prompt("act");
    let second = agent.turn(&bench, "two").await;
    agent.messages.pop();
    assert_eq!(bench.last(), agent.body().to_string());
    assert!(
        second.received.starts_with("rewrite/system_changed@"),
        "{second:?}"
    );
    assert_eq!(
        (&second.received, second.received_kept),
        (&second.sent, second.sent_kept)
    );
    assert_eq!((second.node.as_str(), second.nodes), ("-", 0));
}

#[tokio::test]
async fn a_signed_body_is_never_changed() {
    let (bench, mut agent) = (Bench::new().await, Agent::chat());
    agent.turn(&bench, "one").await;
    agent.system = prompt("act");
    agent.turn(&bench, "two").await;
    agent.lines = vec!["Content-Digest: sha-256=:x:".into()];
    let signed = agent.turn(&bench, "three").await;
    agent.messages.pop();
    assert_eq!(bench.last(), agent.body().to_string());
    assert_eq!(signed.nodes, 0);
    assert!(
        metrics(&bench.proxy)
            .await
            .contains(r#"passthrough_total{reason="signed"} 1"#)
    );
}

#[tokio::test]
async fn counting_tokens_gets_the_same_rewrite_and_leaves_no_trace() {
    let (bench, mut agent) = (Bench::new().await, Agent::messages());
    agent.turn(&bench, "one").await;
    agent.system = prompt("act");
    agent.user("two");
    let count = "/v1/messages/count_tokens";
    let (status, answer) = bench.ask(count, &[], agent.body().to_string()).await;
    assert_eq!(status, 200, "{answer}");
    let counted = bench.summary();
    assert_eq!((counted.call, counted.usage), ("count_tokens", None));
    let counted = (bench.last(), counted.prefix.unwrap());
    assert_eq!(counted.1.nodes, 1);
    assert_eq!(
        metrics(&bench.proxy)
            .await
            .lines()
            .find(|line| line.contains("_nodes_total{")),
        None
    );
    bench.ask(agent.path, &[], agent.body().to_string()).await;
    let asked = bench.prefix();
    assert_eq!(
        (&bench.last(), asked.continued),
        (&counted.0, counted.1.continued)
    );
}

#[tokio::test]
async fn what_happened_is_counted() {
    let (bench, mut agent) = (Bench::new().await, Agent::messages());
    for mode in ["plan", "act", "act"] {
        agent.system = prompt(mode);
        agent.turn(&bench, mode).await;
    }
    let text = metrics(&bench.proxy).await;
    for needle in [
        r#"inkfast_nodes_total{carrier="system",format="anthropic_messages",mode="replace",text="full"} 1"#,
        r#"inkfast_client_breaks_total{cause="system_changed",format="anthropic_messages"} 1"#,
        r#"inkfast_input_tokens_total{cache="read",model="claude-*",upstream="anthropic"} "#,
        r#"inkfast_prefix_items_total{format="anthropic_messages",result="stable"} "#,
        "inkfast_ledger_lineages 1",
        "inkfast_rewrite_duration_seconds_count",
        "inkfast_superseded_bytes ",
        "inkfast_state_write_duration_seconds_count 1",
    ] {
        assert!(text.contains(needle), "{needle} is not in {text}");
    }
    for absent in [
        "inkfast_breaks_total{",
        "inkfast_guard_failures_total",
        "inkfast_passthrough_total{",
    ] {
        assert!(!text.contains(absent), "{absent} is in {text}");
    }
}

/// Where carrying the superseded text costs more than the history, the prompt is folded into the head once.
#[tokio::test]
async fn a_fold_that_pays_is_the_proxys_break_and_said_to_be() {
    let (bench, mut agent) = (Bench::new().await, Agent::chat());
    for turn in 0..20 {
        agent.system = prompt(&format!("step {turn}"));
        let prefix = agent.turn(&bench, "on").await;
        if prefix.node == "rebaseline(economics)" {
            assert_eq!(
                (prefix.sent.as_str(), prefix.nodes),
                ("rewrite/rebaseline@messages[0]", 0)
            );
            let text = metrics(&bench.proxy).await;
            assert!(text.contains(r#"breaks_total{by="proxy",cause="rebaseline",format="openai_chat"} 1"#));
            assert!(text.contains(r#"rebaselines_total{reason="economics"} 1"#));
            let next = agent.turn(&bench, "on").await;
            assert_eq!((next.sent.as_str(), next.nodes), ("extend/none", 0));
            return;
        }
        assert!(turn == 0 || prefix.sent == "extend/none", "{prefix:?}");
    }
    panic!("never folded");
}

/// What people and machines read of a request, and that no word of the prompt is in it.
#[test]
fn the_log_line_tells_both_verdicts_and_no_prompt() {
    let provider = Provider::start(sim::Config::default()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let config = format!(
        "state = \"memory:\"\n[upstreams.openai]\nurl = \"{}\"\nacts_as = \"api.openai.com\"\n",
        provider.url()
    );
    let inkfast = Inkfast::serve(folder.path(), &config);
    let mut agent = Agent::chat();
    for mode in ["plan", "act"] {
        agent.system = prompt(mode);
        agent.user("A secret question");
        let url = format!("{}{}", inkfast.proxy, agent.path);
        let lines = [("session_id", "secret-session")];
        let (_, answer) = post(&url, &lines, agent.body().to_string().as_bytes());
        let answer: Value = serde_json::from_slice(&answer).unwrap();
        agent.messages.push(answer["choices"][0]["message"].clone());
    }
    let lines = inkfast.wait_for_requests(2);
    let second = &lines[1];
    for (field, value) in [
        ("received", "rewrite/system_changed@messages[0]"),
        ("sent", "extend/none"),
        ("node", "replace@2"),
        ("model", "gpt-5*"),
    ] {
        assert_eq!(second[field], value, "{second}");
    }
    assert_eq!((&second["lineage"], &second["continued"]), (&1.into(), &1.into()));
    assert_eq!(
        (&second["items"], &second["nodes"], &second["sent_kept"]),
        (&3.into(), &1.into(), &1.0.into())
    );
    for field in [
        "stable_bytes",
        "new_bytes",
        "input_tokens",
        "cache_read",
        "rewrite_ms",
        "first_byte_ms",
    ] {
        assert!(second[field].is_number(), "{field}: {second}");
    }
    assert_eq!(second["session"].as_str().unwrap().len(), 16);
    assert!(second.get("passthrough").is_none() && lines[0].get("continued").is_none());
    let all = format!("{lines:?}");
    assert!(
        !all.contains("secret") && !all.contains("careful assistant"),
        "{all}"
    );
}
