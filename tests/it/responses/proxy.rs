//! Responses through the proxy: what is read of answers, which calls leave a trace, what passes.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::Receiver;
use std::time::Duration;

use hyper::header::CONTENT_TYPE;
use inkfast::ledger::Ledger;
use inkfast::proxy::line::Summary;
use inkfast::proxy::server::Running;
use serde_json::{Value, json};

use super::talk::{assistant, output, prompt, text, user};
use crate::encoding::encode;
use crate::rewrite::{ask, proxy};
use crate::support::{Answer, Upstream, whole};

/// A proxy in front of an upstream that numbers its responses.
struct Line {
    upstream: Upstream,
    proxy: Running,
    tap: Receiver<Summary>,
}

impl Line {
    async fn new(ledger: Ledger) -> Self {
        let count = Arc::new(AtomicUsize::new(0));
        let upstream = Upstream::start(move |seen| {
            let number = count.fetch_add(1, Ordering::SeqCst) + 1;
            async move { answer(seen.head.uri.path(), &seen.body, number) }
        })
        .await;
        let (proxy, tap) = proxy(&upstream.url(), "", ledger).await;
        Self { upstream, proxy, tap }
    }

    /// Sends a body; what was said of it, and the body that left.
    async fn post(&self, path: &str, body: &Value) -> (Summary, Value) {
        let (status, answer) = ask(self.proxy.proxy_addr, path, &[], body.to_string()).await;
        assert_eq!(status, 200, "{answer}");
        let summary = self.tap.recv_timeout(Duration::from_secs(5)).unwrap();
        let seen = self.upstream.seen().pop().unwrap();
        (summary, serde_json::from_slice(&seen.body).unwrap())
    }
}

fn answer(path: &str, request: &[u8], number: usize) -> Answer {
    if path.ends_with("/input_tokens") {
        return whole(r#"{"object":"response.input_tokens","input_tokens":9}"#);
    }
    let object = if path.ends_with("/compact") {
        "response.compaction"
    } else {
        "response"
    };
    let usage =
        json!({"input_tokens": 100, "input_tokens_details": {"cached_tokens": 64}, "output_tokens": 9});
    let response = json!({"id": format!("resp_{number}"), "object": object, "status": "completed",
        "output": [assistant(&format!("a{number}"))], "usage": usage});
    if memchr::memmem::find(request, b"\"stream\":true").is_none() {
        return whole(response.to_string());
    }
    let done = json!({"type": "response.output_item.done", "output_index": 0, "item": response["output"][0]});
    let last = json!({"type": "response.completed", "response": response});
    let events =
        [done, last].map(|event| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap()));
    let mut answer = whole(events.concat());
    answer
        .headers_mut()
        .insert(CONTENT_TYPE, "text/event-stream".parse().unwrap());
    answer
}

fn body(mode: &str, held: Option<&str>, input: &[Value]) -> Value {
    let mut body = json!({"model": "gpt-5.5", "instructions": prompt(mode), "input": input});
    if let Some(held) = held {
        body["previous_response_id"] = json!(held);
    }
    body
}

fn told(body: &Value) -> Vec<&str> {
    let items = body["input"].as_array().unwrap().iter();
    items
        .filter(|item| item["role"] == "developer")
        .map(text)
        .collect()
}

#[tokio::test]
async fn a_response_id_is_read_from_a_body_and_from_a_stream() {
    let folder = tempfile::tempdir().unwrap();
    for (stream, ledger) in [
        (false, Ledger::memory()),
        (true, Ledger::open(&folder.path().join("l.db")).unwrap()),
    ] {
        let line = Line::new(ledger).await;
        let send = async |mode, held, input: &[Value]| {
            let mut body = body(mode, held, input);
            body["stream"] = json!(stream);
            line.post("/v1/responses", &body).await
        };
        let (first, _) = send("plan", None, &[user("q1")]).await;
        assert_eq!(first.usage.unwrap().cache_read, Some(64));
        let (edited, left) = send("act", Some("resp_1"), &[user("q2")]).await;
        let said = edited.prefix.unwrap();
        assert_eq!(
            (said.sent.as_str(), said.lineage, said.nodes),
            ("extend/none", first.prefix.unwrap().lineage, 1)
        );
        assert_eq!(
            (left["instructions"].as_str(), told(&left).len()),
            (Some(prompt("plan").as_str()), 1)
        );
        let (kept, left) = send("act", Some("resp_2"), &[output("c1")]).await;
        assert_eq!(
            (kept.prefix.unwrap().sent.as_str(), told(&left).len()),
            ("extend/none", 0)
        );
        assert_eq!(left["instructions"], prompt("plan"));
    }
}

#[tokio::test]
async fn a_compaction_reads_the_same_prefix_and_leaves_no_trace() {
    let line = Line::new(Ledger::memory()).await;
    let mut items = vec![user("q1")];
    line.post("/v1/responses", &body("plan", None, &items)).await;
    items.extend([assistant("a1"), user("q2")]);
    let (_, sent) = line.post("/v1/responses", &body("act", None, &items)).await;
    items.push(assistant("a2"));
    for path in ["/v1/responses/compact", "/v1/responses/input_tokens"] {
        let (said, left) = line.post(path, &body("act", None, &items)).await;
        assert_eq!(said.prefix.unwrap().sent, "extend/none");
        assert_eq!(left["instructions"], sent["instructions"]);
        let sent = sent["input"].as_array().unwrap();
        assert_eq!(&left["input"].as_array().unwrap()[..sent.len()], sent, "{path}");
    }
    items.push(user("q3"));
    let (next, _) = line.post("/v1/responses", &body("act", None, &items)).await;
    let next = next.prefix.unwrap();
    assert_eq!(
        (next.sent.as_str(), next.shared, next.nodes),
        ("extend/none", 3, 1)
    );
}

#[tokio::test]
async fn a_conversation_of_the_providers_passes_and_its_usage_is_read() {
    let line = Line::new(Ledger::memory()).await;
    let mut body = body("plan", None, &[user("q1")]);
    body["conversation"] = json!("conv_1");
    for mode in ["plan", "act"] {
        body["instructions"] = json!(prompt(mode));
        let (said, left) = line.post("/v1/responses", &body).await;
        assert_eq!((said.passthrough, &left), (Some("server_state"), &body));
        assert_eq!(said.usage.unwrap().input_total, Some(100));
    }
}

#[tokio::test]
async fn a_body_in_zstd_leaves_as_it_came_or_plain() {
    let line = Line::new(Ledger::memory()).await;
    let send = async |mode: &str, input: &[Value]| {
        let encoded = encode("zstd", body(mode, None, input).to_string().as_bytes()).await;
        let lines = ["Content-Encoding: zstd"];
        let (status, answer) = ask(line.proxy.proxy_addr, "/v1/responses", &lines, &encoded).await;
        assert_eq!(status, 200, "{answer}");
        (encoded, line.upstream.seen().pop().unwrap())
    };
    let (encoded, seen) = send("plan", &[user("q1")]).await;
    assert_eq!(seen.head.headers["content-encoding"], "zstd");
    assert_eq!(seen.body, encoded);
    let (_, seen) = send("act", &[user("q1"), assistant("a1"), user("q2")]).await;
    assert!(!seen.head.headers.contains_key("content-encoding"));
    let left: Value = serde_json::from_slice(&seen.body).unwrap();
    assert_eq!(told(&left).len(), 1);
    assert_eq!(seen.head.headers["content-length"], seen.body.len().to_string());
}
