//! What stands in a recording, what never does, and what happens where it cannot be written.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use base64::{Engine, engine::general_purpose::STANDARD};
use inkfast::ledger::Ledger;
use inkfast::sim;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::encoding::encode;
use crate::rewrite::{Agent, Bench, prompt};
use crate::support::*;
use crate::websocket::Client;

struct Recorded {
    bench: Bench,
    file: PathBuf,
    _folder: TempDir,
}

impl Recorded {
    async fn new(keys: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("r.jsonl");
        let keys = format!("record = \"{}\"\n{keys}", file.display());
        Self {
            bench: Bench::with(&keys, sim::Config::default(), Ledger::memory()).await,
            file,
            _folder: folder,
        }
    }

    /// Ends the proxy; what it has recorded.
    async fn lines(self) -> Vec<Value> {
        self.bench.proxy.shutdown().await;
        lines(&self.file)
    }
}

fn lines(file: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(file).unwrap();
    assert!(text.is_empty() || text.ends_with('\n'));
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// The bytes that a line holds under a name.
fn bytes(line: &Value, name: &str) -> Vec<u8> {
    match line.get(name) {
        Some(text) => text.as_str().unwrap().into(),
        None => STANDARD
            .decode(line[format!("{name}_base64")].as_str().unwrap())
            .unwrap(),
    }
}

#[tokio::test]
async fn an_exchange_is_a_line_with_both_bodies_as_they_were() {
    let recorded = Recorded::new("").await;
    let mut agent = Agent::messages();
    agent.lines = vec!["anthropic-version: 2023-06-01".into(), "X-Session-Id: s".into()];
    agent.user("one");
    let body = agent.body().to_string();
    let lines_of_head: Vec<&str> = agent.lines.iter().map(String::as_str).collect();
    let before = now_ms();
    let (_, answer) = recorded
        .bench
        .ask("/v1/messages?beta=true", &lines_of_head, &body)
        .await;
    let mode = std::fs::metadata(&recorded.file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let all = recorded.lines().await;
    let [line] = all.as_slice() else { panic!("{all:?}") };
    assert_eq!(line["inkfast_recording"], 1);
    assert_eq!(line["upstream"], "anthropic");
    assert_eq!(line["host"], "api.anthropic.com");
    assert_eq!(line["format"], "anthropic_messages");
    assert_eq!(
        (&line["method"], &line["path"]),
        (&json!("POST"), &json!("/v1/messages?beta=true"))
    );
    assert_eq!(
        line["headers"],
        json!({"anthropic-version": "2023-06-01", "x-session-id": "s"})
    );
    assert_eq!(line["body"], body);
    assert_eq!(line["status"], 200);
    assert_eq!(line["answer"], answer);
    let (at, ended) = (
        line["at_ms"].as_u64().unwrap(),
        line["ended_ms"].as_u64().unwrap(),
    );
    assert!(before <= at && at <= ended && ended <= now_ms());
    for absent in ["sent", "by_proxy", "transport", "model", "answer_truncated"] {
        assert!(line.get(absent).is_none(), "{absent}: {line}");
    }
}

#[tokio::test]
async fn what_left_is_recorded_where_it_differs_only() {
    let recorded = Recorded::new("").await;
    let mut agent = Agent::chat();
    agent.turn(&recorded.bench, "one").await;
    agent.system = prompt("act");
    agent.turn(&recorded.bench, "two").await;
    let sent = recorded.bench.sent();
    let all = recorded.lines().await;
    assert!(all[0].get("sent").is_none());
    assert_eq!(all[1]["sent"].as_str().unwrap().as_bytes(), sent[1]);
    assert_ne!(all[1]["body"], all[1]["sent"]);
    assert!(all.iter().all(|line| line.get("by_proxy").is_none()));
}

#[tokio::test]
async fn observed_requests_leave_as_they_came() {
    let recorded = Recorded::new("mode = \"observe\"").await;
    let mut agent = Agent::chat();
    agent.turn(&recorded.bench, "one").await;
    agent.system = prompt("act");
    agent.turn(&recorded.bench, "two").await;
    assert!(
        recorded
            .lines()
            .await
            .iter()
            .all(|line| line.get("sent").is_none())
    );
}

#[tokio::test]
async fn a_break_of_the_proxys_own_says_so() {
    // Every form of an update is refused, so that the client's own body goes out in the end.
    let recorded = Recorded::new("").await;
    let mut agent = Agent::chat();
    agent.turn(&recorded.bench, "one").await;
    agent.system = prompt("act");
    agent.user("two");
    let refusals = ["Unexpected role 'system' after role 'user'"; 2];
    for refusal in refusals {
        recorded.bench.provider.push(sim::Answer::error(400, refusal));
    }
    recorded.bench.provider.push(sim::Answer::text("done"));
    let body = agent.body().to_string();
    let (status, _) = recorded.bench.ask("/v1/chat/completions", &[], &body).await;
    assert_eq!(status, 200);
    let all = recorded.lines().await;
    assert_eq!(all.len(), 2, "one line an exchange, whatever was tried for it");
    assert_eq!(all[1]["by_proxy"], "refused");
    assert_eq!(all[1]["body"], body);
    assert!(
        all[1].get("sent").is_none(),
        "the attempt that was answered is what left"
    );
}

#[tokio::test]
async fn no_credential_is_ever_written() {
    let recorded = Recorded::new("").await;
    let secrets = [
        "Authorization: Bearer dummy-secret",
        "x-api-key: dummy-secret",
        "x-goog-api-key: dummy-secret",
        "api-key: dummy-secret",
        "Cookie: session=dummy-secret",
        "Proxy-Authorization: Basic dummy-secret",
        "X-Amz-Security-Token: dummy-secret",
        "X-My-Gateway: dummy-secret",
    ];
    let body = json!({"contents": [{"role": "user", "parts": [{"text": "hello"}]}]}).to_string();
    let path =
        "/v1beta/models/gemini-3.5-flash:generateContent?key=dummy-secret&x_token=dummy-secret&alt=json";
    let (status, _) = recorded.bench.ask(path, &secrets, &body).await;
    assert_eq!(status, 200);
    let file = recorded.file.clone();
    let all = {
        recorded.bench.proxy.shutdown().await;
        std::fs::read_to_string(file).unwrap()
    };
    assert!(!all.contains("dummy-secret"), "{all}");
    assert!(all.contains("?key=masked&x_token=masked&alt=json"), "{all}");
    assert!(all.contains("hello"));
}

#[tokio::test]
async fn encoded_bodies_stay_encoded() {
    let answer =
        br#"{"id":"a","choices":[{"message":{"role":"assistant","content":"ok"},"finish_reason":"stop"}]}"#;
    for kind in ["gzip", "zstd"] {
        let packed = encode(kind, answer).await;
        let of_upstream = packed.clone();
        let upstream = Upstream::start(move |_| {
            let packed = of_upstream.clone();
            async move {
                let mut response = whole(packed);
                let headers = response.headers_mut();
                headers.insert("content-encoding", kind.parse().unwrap());
                headers.insert("content-type", "application/json".parse().unwrap());
                response
            }
        })
        .await;
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("r");
        let proxy = start(partial_with(
            &upstream.url(),
            &format!("record = \"{}\"", file.display()),
        ))
        .await;
        let body = encode(
            kind,
            r#"{"model":"m","messages":[{"role":"user","content":"hi"}]}"#.as_bytes(),
        )
        .await;
        let named = format!("Content-Encoding: {kind}");
        request(proxy.proxy_addr, "POST /v1/chat/completions", &[&named], &body).await;
        proxy.shutdown().await;
        let all = lines(&file);
        assert_eq!(bytes(&all[0], "body"), body, "{kind}");
        assert_eq!(bytes(&all[0], "answer"), packed, "{kind}");
        assert_eq!(all[0]["headers"]["content-encoding"], kind);
        assert_eq!(
            all[0]["answer_headers"],
            json!({"content-encoding": kind, "content-type": "application/json"})
        );
    }
}

#[tokio::test]
async fn a_stream_is_recorded_as_it_came() {
    let recorded = Recorded::new("").await;
    let mut agent = Agent::chat();
    agent.user("one");
    let mut body = agent.body();
    body["stream"] = json!(true);
    let answer = request(
        recorded.bench.proxy.proxy_addr,
        "POST /v1/chat/completions",
        &[],
        body.to_string(),
    )
    .await;
    let all = recorded.lines().await;
    let events = all[0]["answer"].as_str().unwrap();
    assert!(events.ends_with("data: [DONE]\n\n"), "{events}");
    // What went to the client is the same in chunks.
    for event in events.split_terminator("\n\n") {
        assert!(answer.contains(event), "{event}");
    }
}

#[tokio::test]
async fn frames_of_a_websocket_are_exchanges_of_their_own() {
    let recorded = Recorded::new("").await;
    let mut client = Client::open(recorded.bench.proxy.proxy_addr).await.unwrap();
    let frame = json!({"type": "response.create", "model": "gpt-5.5", "instructions": prompt("plan"), "input": "hello"});
    let response = client.ask(&frame).await;
    recorded.bench.provider.push(sim::Answer::error(429, "slow down"));
    client.send(&frame).await;
    client.answer().await;
    drop(client);
    let all = recorded.lines().await;
    assert_eq!(all.len(), 2, "{all:?}");
    assert_eq!(all[0]["transport"], "websocket");
    assert_eq!(
        (&all[0]["path"], &all[0]["format"]),
        (&json!("/v1/responses"), &json!("openai_responses"))
    );
    assert_eq!(all[0]["body"], frame.to_string());
    assert_eq!((&all[0]["status"], &all[1]["status"]), (&json!(200), &json!(429)));
    let events = all[0]["answer"].as_str().unwrap();
    assert!(
        events
            .lines()
            .all(|line| line.is_empty() || line.starts_with("data: {"))
    );
    assert!(events.contains(response["id"].as_str().unwrap()));
    assert!(all[1]["answer"].as_str().unwrap().contains("slow down"));
    assert_eq!(all[0]["answer_headers"]["content-type"], "text/event-stream");
    assert!(!format!("{all:?}").contains("Bearer"));
}

#[tokio::test]
async fn failures_have_the_status_that_came_or_none() {
    let recorded = Recorded::new("").await;
    let mut agent = Agent::chat();
    agent.user("one");
    recorded.bench.provider.push(sim::Answer::error(503, "busy"));
    let (status, _) = recorded
        .bench
        .ask(agent.path, &[], agent.body().to_string())
        .await;
    assert_eq!(status, 503);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("r");
    let nobody = start(partial_with(
        "http://127.0.0.1:9",
        &format!("record = \"{}\"", file.display()),
    ))
    .await;
    request(
        nobody.proxy_addr,
        "POST /v1/chat/completions",
        &[],
        agent.body().to_string(),
    )
    .await;
    nobody.shutdown().await;
    let all = recorded.lines().await;
    assert_eq!(all[0]["status"], 503);
    assert!(all[0]["answer"].as_str().unwrap().contains("busy"));
    let unanswered = lines(&file);
    assert_eq!(unanswered.len(), 1);
    for absent in ["status", "answer", "answer_truncated"] {
        assert!(unanswered[0].get(absent).is_none(), "{unanswered:?}");
    }
}

#[tokio::test]
async fn what_is_no_prompt_is_not_recorded() {
    let recorded = Recorded::new("").await;
    for (path, body) in [
        ("/v1/embeddings", r#"{"input":"x"}"#),
        ("/v1/chat/completions", "not json"),
    ] {
        recorded.bench.ask(path, &[], body).await;
    }
    assert_eq!(recorded.lines().await, Vec::<Value>::new());
}

#[tokio::test]
async fn a_long_answer_is_left_out() {
    let answer = vec![b'x'; (8 << 20) + 1];
    let upstream = Upstream::start(move |_| {
        let answer = answer.clone();
        async move { whole(answer) }
    })
    .await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("r");
    let proxy = start(partial_with(
        &upstream.url(),
        &format!("record = \"{}\"", file.display()),
    ))
    .await;
    let body = Agent::chat().body().to_string();
    let answer = request(proxy.proxy_addr, "POST /v1/chat/completions", &[], body).await;
    assert_eq!(body_of(&answer).len(), (8 << 20) + 1);
    proxy.shutdown().await;
    let all = lines(&file);
    assert_eq!(
        (all[0].get("answer"), &all[0]["answer_truncated"]),
        (None, &json!(true))
    );
}

#[tokio::test]
async fn a_full_disk_costs_records_and_nothing_else() {
    let upstream = Upstream::plain().await;
    let proxy = start(partial_with(&upstream.url(), "record = \"/dev/full\"")).await;
    let body = Agent::chat().body().to_string();
    for _ in 0..3 {
        let answer = request(proxy.proxy_addr, "POST /v1/chat/completions", &[], &body).await;
        assert_eq!(status_of(&answer), 200);
    }
    let deadline = Instant::now() + Duration::from_secs(5);
    let counted = r#"inkfast_records_dropped_total{reason="disk"} 3"#;
    while !metrics(&proxy).await.contains(counted) {
        assert!(Instant::now() < deadline, "{}", metrics(&proxy).await);
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn a_slow_disk_holds_nothing_up_and_a_full_queue_drops() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    // A pipe that nobody reads takes 64 KiB, then every write waits for ever.
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    let upstream = Upstream::plain().await;
    let proxy = start(partial_with(
        &upstream.url(),
        &format!("record = \"{}\"", pipe.display()),
    ))
    .await;
    let filler = "y".repeat(20 << 20);
    let body = json!({"model": "m", "messages": [{"role": "user", "content": filler}]}).to_string();
    for _ in 0..14 {
        let answer = request(proxy.proxy_addr, "POST /v1/chat/completions", &[], &body).await;
        assert_eq!(status_of(&answer), 200);
    }
    // Twelve times twenty fit in 256 MiB, and those that do are one or two more or less.
    let counted = metrics(&proxy).await;
    let dropped = counted
        .lines()
        .find_map(|line| line.strip_prefix(r#"inkfast_records_dropped_total{reason="queue"} "#));
    let dropped: u64 = dropped.expect("some are dropped").parse().unwrap();
    assert!((1..=3).contains(&dropped), "{dropped}");
}

#[tokio::test]
async fn a_recording_is_added_to_and_a_torn_line_ended() {
    let upstream = Upstream::plain().await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("r");
    std::fs::write(&file, "{\"torn\":").unwrap();
    let proxy = start(partial_with(
        &upstream.url(),
        &format!("record = \"{}\"", file.display()),
    ))
    .await;
    let body = Agent::chat().body().to_string();
    request(proxy.proxy_addr, "POST /v1/chat/completions", &[], &body).await;
    proxy.shutdown().await;
    let text = std::fs::read_to_string(&file).unwrap();
    let all: Vec<_> = text.lines().collect();
    assert_eq!(all.len(), 2);
    assert_eq!(all[0], "{\"torn\":");
    assert_eq!(serde_json::from_str::<Value>(all[1]).unwrap()["body"], body);
}

#[tokio::test]
async fn a_file_that_cannot_be_opened_is_said_at_the_start() {
    let config = partial_with("http://127.0.0.1:9", "record = \"/nowhere/r\"");
    let config = inkfast::config::Config::new(config).unwrap();
    let refused = inkfast::proxy::server::Server::start(config).await;
    let error = refused.err().expect("an error").to_string();
    assert!(error.starts_with("record: /nowhere/r: "), "{error}");
}

#[tokio::test]
async fn without_a_recording_there_is_no_count() {
    let upstream = Upstream::plain().await;
    let proxy = proxy_to(&upstream).await;
    assert!(!metrics(&proxy).await.contains("records_dropped"));
}

fn now_ms() -> u64 {
    inkfast::proxy::now_ms()
}
