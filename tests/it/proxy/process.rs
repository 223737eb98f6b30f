//! The binary: its first line, its logs, its signals.

use std::{
    io::{BufRead, BufReader, Read},
    process::{Child, Command, Stdio},
};

use crate::support::*;

struct Process {
    child: Child,
    first_line: String,
    proxy: std::net::SocketAddr,
}

impl Process {
    fn start(upstream: &Upstream) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_inkfast"))
            .args([
                "serve",
                "--listen",
                "127.0.0.1:0",
                "--admin",
                "127.0.0.1:0",
                "--state",
                "memory:",
            ])
            .args([
                "--log-format",
                "json",
                "--log-level",
                "debug",
                "--upstream",
                &format!("openai={}", upstream.url()),
            ])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut first_line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap())
            .read_line(&mut first_line)
            .unwrap();
        let proxy = first_line.split(['=', ' ']).nth(2).unwrap().parse().unwrap();
        Self {
            child,
            first_line,
            proxy,
        }
    }

    /// Asks it to stop; its exit code and its log.
    fn stop(mut self) -> (Option<i32>, String) {
        let id = self.child.id().to_string();
        assert!(
            Command::new("kill")
                .args(["-TERM", &id])
                .status()
                .unwrap()
                .success()
        );
        let mut log = String::new();
        self.child
            .stderr
            .take()
            .unwrap()
            .read_to_string(&mut log)
            .unwrap();
        (self.child.wait().unwrap().code(), log)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_line_tells_both_addresses_and_sigterm_ends_well() {
    let process = Process::start(&Upstream::plain().await);
    let words: Vec<_> = process.first_line.trim_end().split(' ').collect();
    assert_eq!(words.len(), 3, "{words:?}");
    assert_eq!(words[0], "listening");
    assert!(
        words[1].starts_with("proxy=127.0.0.1:") && words[2].starts_with("admin=127.0.0.1:"),
        "{words:?}"
    );
    assert!(
        !words[1].ends_with(":0") && !words[2].ends_with(":0"),
        "{words:?}"
    );
    assert_eq!(process.stop().0, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn one_line_a_request_and_no_secret_in_it() {
    let upstream = Upstream::plain().await;
    let process = Process::start(&upstream);
    let lines = [
        "Authorization: Bearer sk-secret",
        "x-api-key: secret",
        "Cookie: secret",
        "session_id: secret",
    ];
    request(
        process.proxy,
        "POST /v1/chat/completions?key=secret",
        &lines,
        "{\"content\":\"secret\"}",
    )
    .await;
    request(process.proxy, "GET /secret/secret", &[], "").await;
    request(process.proxy, "GET http://secret.example/", &[], "").await;
    raw(process.proxy, "secret nonsense\r\n\r\n").await;
    let (code, log) = process.stop();
    assert_eq!(code, Some(0));
    assert!(!log.contains("secret"), "{log}");
    let events = log
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let requests: Vec<_> = events.filter(|event| event["event"] == "request").collect();
    assert_eq!(requests.len(), 3, "{log}");
    let first = &requests[0];
    assert_eq!(
        (&first["number"], &first["status"], &first["received_bytes"]),
        (&1.into(), &200.into(), &20.into())
    );
    for (field, value) in [
        ("upstream", "openai"),
        ("format", "openai_chat"),
        ("call", "messages"),
        ("outcome", "ok"),
    ] {
        assert_eq!(first[field], value, "{first}");
    }
    assert!(
        first["session"].is_string() && first["duration_ms"].is_number(),
        "{first}"
    );
    assert_eq!(
        (&requests[2]["outcome"], &requests[2]["status"]),
        (&"foreign_host".into(), &421.into())
    );
}
