//! Bodies that cannot be read, from either side: the client gets the upstream's own answer, and it is counted.

use async_compression::tokio::write::GzipEncoder;
use inkfast::sim::{Answer, Config};
use tokio::io::AsyncWriteExt;

use super::*;

async fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzipEncoder::new(Vec::new());
    encoder.write_all(bytes).await.unwrap();
    encoder.shutdown().await.unwrap();
    encoder.into_inner()
}

/// A body with a history, so that it would be read if it could.
fn body(content: &str) -> Vec<u8> {
    format!(r#"{{"model":"gpt-5.5","messages":[{{"role":"user","content":{content}}}]}}"#).into_bytes()
}

#[tokio::test]
async fn what_cannot_be_read_arrives_as_it_was_sent() {
    let upstream = Upstream::plain().await;
    let proxy = proxy_to(&upstream).await;
    let text = body("\"x\"");
    let bomb = gzip(&[b' '; 8 << 20]).await;
    let cut = gzip(&text).await;
    let mut bad_utf8 = body("\"x\"");
    bad_utf8[45] = 0xff;
    let deep = body(&format!("{}{}", "[".repeat(100_000), "]".repeat(100_000)));
    let cases: Vec<(&str, &str, Vec<u8>)> = vec![
        ("invalid_json", "", b"{\"messages\":[".to_vec()),
        ("invalid_json", "", [&text[..], b" x"].concat()),
        ("invalid_json", "", bad_utf8),
        ("invalid_json", "", [b"\xEF\xBB\xBF", &text[..]].concat()),
        ("unknown_shape", "", b"{\"messages\":{}}".to_vec()),
        (
            "duplicate_key",
            "",
            br#"{"messages":[{"role":"user","content":"a"}],"messages":[]}"#.to_vec(),
        ),
        (
            "escaped_key",
            "",
            br#"{"m\u0065ssages":[{"role":"user","content":"a"}]}"#.to_vec(),
        ),
        ("bad_encoding", "gzip", cut[..cut.len() - 12].to_vec()),
        ("bad_encoding", "gzip", text.clone()),
        ("bomb", "gzip", bomb),
        ("unknown_encoding", "aws-chunked", text.clone()),
    ];
    let mut counts = std::collections::BTreeMap::new();
    for (reason, encoding, bytes) in &cases {
        let line = format!("content-encoding: {encoding}");
        let lines: &[&str] = if encoding.is_empty() { &[] } else { &[&line] };
        let (status, _) = ask(proxy.proxy_addr, "/v1/chat/completions", lines, bytes).await;
        assert_eq!(status, 200);
        assert_eq!(upstream.seen().pop().unwrap().body, *bytes, "{reason}");
        *counts.entry(reason).or_insert(0) += 1;
        let text = metrics(&proxy).await;
        let needle = format!("passthrough_total{{reason=\"{reason}\"}} {}", counts[reason]);
        assert!(text.contains(&needle), "{needle} is not in {text}");
    }
    // These are JSON, if odd: they pass as they are, read or not.
    for odd in [body("\"\\ud83d\""), body("1e400"), deep] {
        let (status, _) = ask(proxy.proxy_addr, "/v1/chat/completions", &[], &odd).await;
        assert_eq!((status, upstream.seen().pop().unwrap().body), (200, odd.into()));
    }
}

#[tokio::test]
async fn odd_values_in_a_history_do_not_stop_its_nodes() {
    for odd in [
        r#""lone \ud83d surrogate""#.to_owned(),
        "[{\"type\":\"text\",\"text\":\"a\",\"score\":1e400}]".to_owned(),
        format!(
            "[{{\"type\":\"text\",\"text\":\"a\",\"x\":{}{}}}]",
            "[".repeat(200),
            "]".repeat(200)
        ),
    ] {
        let upstream = Upstream::start(|_| async {
            whole(r#"{"choices":[{"index":0,"message":{"content":"fine"},"finish_reason":"stop"}]}"#)
        })
        .await;
        let (proxy, tap) = super::proxy(&upstream.url(), "", Ledger::memory()).await;
        let turn = |mode: &str, rest: &str| {
            let system = serde_json::to_string(&prompt(mode)).unwrap();
            format!(
                r#"{{"messages":[{{"role":"system","content":{system}}},{{"role":"user","content":{odd}}}{rest}]}}"#
            )
        };
        ask(proxy.proxy_addr, "/v1/chat/completions", &[], turn("plan", "")).await;
        let rest = r#",{"role":"assistant","content":"fine"},{"role":"user","content":"on"}"#;
        ask(proxy.proxy_addr, "/v1/chat/completions", &[], turn("act", rest)).await;
        let told: Vec<_> = tap.try_iter().map(|one| one.prefix.unwrap()).collect();
        assert_eq!(
            (told[1].nodes, told[1].sent.as_str()),
            (1, "extend/none"),
            "{odd:.40}: {told:?}"
        );
        let seen = upstream.seen();
        assert!(seen[1].body.starts_with(open_end(&seen[0].body)));
    }
}

#[tokio::test]
async fn an_encoded_body_stays_encoded_until_it_is_edited() {
    let (bench, mut agent) = (Bench::new().await, Agent::chat());
    agent.user("one");
    bench.provider.push(Answer::text("an answer"));
    let encoded = gzip(agent.body().to_string().as_bytes()).await;
    let lines = ["content-encoding: gzip"];
    assert_eq!(bench.ask(agent.path, &lines, &encoded).await.0, 200);
    let first = bench.provider.recorded().pop().unwrap();
    assert_eq!(
        (first.header("content-encoding"), &first.body[..]),
        (Some("gzip"), &encoded[..])
    );
    agent
        .messages
        .push(json!({"role": "assistant", "content": "an answer"}));
    agent.user("two");
    agent.system = prompt("act");
    let encoded = gzip(agent.body().to_string().as_bytes()).await;
    assert_eq!(bench.ask(agent.path, &lines, &encoded).await.0, 200);
    let second = bench.provider.recorded().pop().unwrap();
    assert_eq!(second.header("content-encoding"), None);
    assert_eq!(
        second.header("content-length"),
        Some(second.body.len().to_string().as_str())
    );
    assert!(second.body.starts_with(b"{\"messages\"") && holds(&second.body, "Mode: act"));
}

#[tokio::test]
async fn large_bodies_are_rewritten_too() {
    let (bench, mut agent) = (Bench::new().await, Agent::chat());
    agent.turn(&bench, &"many words ".repeat(60_000)).await;
    agent.system = prompt("act");
    let second = agent.turn(&bench, "two").await;
    assert_eq!((second.nodes, second.sent.as_str()), (1, "extend/none"));
    let sent = bench.sent();
    assert!(sent[1].len() > 600_000 && sent[1].starts_with(open_end(&sent[0])));
}

#[tokio::test]
async fn a_stream_that_is_cut_leaves_no_answer_and_breaks_as_it_broke() {
    let bench = Bench::new().await;
    let mut agent = Agent::messages();
    agent.user("one");
    let mut body = agent.body();
    body["stream"] = true.into();
    let whole = {
        bench.provider.push(Answer::text("é".repeat(40)));
        bench.ask(agent.path, &[], body.to_string()).await.1
    };
    bench.summary();
    let inside = whole.find('é').unwrap() + 1;
    // The answer is chunked on its way, so the place is found in what the provider itself sent.
    for cut in [inside / 2, 300, 400, 401, 402, 403] {
        bench.provider.push(Answer::text("é".repeat(40)).cut_after(cut));
        let (status, answer) = bench.ask(agent.path, &[], body.to_string()).await;
        assert_eq!(status, 200);
        assert!(!answer.ends_with("0\r\n\r\n"), "no made-up end");
        assert_eq!(bench.summary().outcome, "upstream_broke");
    }
}

#[tokio::test]
async fn garbage_from_the_upstream_is_the_clients_answer() {
    for (content_type, garbage) in [
        ("application/json", &b"<html>\xff"[..]),
        ("text/event-stream", b"data: {\xff\n\ndata: [DONE]\n\nmore"),
        ("application/json", b""),
    ] {
        let bench = Bench::with("", Config::default(), Ledger::memory()).await;
        let mut agent = Agent::chat();
        agent.user("one");
        let answer = Answer::raw(garbage).with_header("content-type", content_type);
        bench.provider.push(answer);
        let (status, got) = bench.ask(agent.path, &[], agent.body().to_string()).await;
        assert_eq!(status, 200);
        assert!(got.contains(String::from_utf8_lossy(garbage).split('\u{fffd}').next().unwrap()));
        let summary = bench.summary();
        assert_eq!((summary.outcome, summary.usage), ("ok", None));
        let text = metrics(&bench.proxy).await;
        assert!(text.contains("inkfast_usage_missing_total{format=\"openai_chat\",upstream=\"openai\"} 1"));
    }
}

#[tokio::test]
async fn a_body_in_chunks_leaves_with_its_length_when_it_is_edited() {
    let (bench, mut agent) = (Bench::new().await, Agent::chat());
    agent.turn(&bench, "one").await;
    agent.system = prompt("act");
    agent.user("two");
    let body = agent.body().to_string();
    let head = format!(
        "POST {} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n",
        agent.path
    );
    let chunked = format!("{head}{:x}\r\n{body}\r\n0\r\n\r\n", body.len());
    assert_eq!(status_of(&raw(bench.proxy.proxy_addr, chunked).await), 200);
    let sent = bench.provider.recorded().pop().unwrap();
    assert!(sent.body.len() > body.len());
    assert_eq!(
        sent.header("content-length"),
        Some(sent.body.len().to_string().as_str())
    );
    assert_eq!(sent.header("transfer-encoding"), None);
}
