//! Requests that are signed anew, checked by a verifier of our own.

use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};

use hyper::Request;
use inkfast::config::{Config, Partial};
use ring::{digest, hmac};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::*;

const SECRET: &str = "s3cr3t/+key";
const KEYS: &[(&str, &str)] = &[
    ("AWS_ACCESS_KEY_ID", "AKIDOURS"),
    ("AWS_SECRET_ACCESS_KEY", SECRET),
    ("AWS_SESSION_TOKEN", "ourtoken"),
];
/// What a client that signs for the proxy's own host sends.
const CLIENT: &[&str] = &[
    "Authorization: AWS4-HMAC-SHA256 Credential=AKIDTHEIRS/20260101/x/bedrock/aws4_request, SignedHeaders=host, Signature=00",
    "X-Amz-Date: 20260101T000000Z",
    "X-Amz-Security-Token: theirtoken",
    "X-Amz-Content-Sha256: 00",
    "Content-Type: application/json",
];

/// The binary with an upstream `bedrock`, in an environment with only these AWS variables.
struct Process {
    child: Child,
    proxy: SocketAddr,
    admin: SocketAddr,
    _home: TempDir,
}

impl Process {
    fn start(upstream: &Upstream, keys: &str, variables: &[(&str, &str)]) -> Self {
        let home = tempfile::tempdir().unwrap();
        let config = home.path().join("config.toml");
        let text = format!(
            "listen = \"127.0.0.1:0\"\nadmin = \"127.0.0.1:0\"\nstate = \"memory:\"\nlog_format = \"json\"\n\
             log_level = \"debug\"\n{keys}\n[upstreams.bedrock]\nurl = \"{}\"\nacts_as = \"api.anthropic.com\"\n\
             sign = \"sigv4\"\nregion = \"eu-central-1\"\n",
            upstream.url()
        );
        std::fs::write(&config, text).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_inkfast"));
        for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("AWS_")) {
            command.env_remove(name);
        }
        let mut child = command
            .envs(variables.iter().copied())
            .env("HOME", home.path())
            .args(["serve", "--config", config.to_str().unwrap()])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap())
            .read_line(&mut line)
            .unwrap();
        let mut addresses = line
            .trim_end()
            .split(['=', ' '])
            .skip(2)
            .step_by(2)
            .map(|word| word.parse().unwrap());
        let (proxy, admin) = (addresses.next().unwrap(), addresses.next().unwrap());
        Self {
            child,
            proxy,
            admin,
            _home: home,
        }
    }

    async fn post(&self, path: &str, lines: &[&str], body: &str) {
        let answer = request(self.proxy, &format!("POST {path}"), lines, body).await;
        assert_eq!(status_of(&answer), 200, "{answer}");
    }

    async fn counts(&self, reason: &str) -> bool {
        let metrics = request(self.admin, "GET /metrics", &[], "").await;
        metrics.contains(&format!("passthrough_total{{reason=\"{reason}\"}} 1\n"))
    }

    fn log(mut self) -> String {
        self.child.kill().unwrap();
        let mut log = String::new();
        self.child
            .stderr
            .take()
            .unwrap()
            .read_to_string(&mut log)
            .unwrap();
        self.child.wait().unwrap();
        log
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Two requests of a conversation whose system prompt is edited between them.
fn conversation() -> [String; 2] {
    let head = |mode: &str| format!("You are a careful assistant.\n\nMode: {mode}\n\nAnswer in one line.");
    let user = |text: &str| json!({"role": "user", "content": [{"type": "text", "text": text}]});
    let said = json!({"role": "assistant", "content": [{"type": "text", "text": "Good."}]});
    let body = |mode: &str, messages: Vec<Value>| {
        json!({"model": "claude-opus-4-8", "max_tokens": 9, "system": head(mode), "messages": messages})
            .to_string()
    };
    [
        body("plan", vec![user("one")]),
        body("act", vec![user("one"), said, user("two")]),
    ]
}

async fn answering() -> Upstream {
    let answer = r#"{"type":"message","role":"assistant","content":[{"type":"text","text":"Good."}],"stop_reason":"end_turn"}"#;
    Upstream::start(move |_| async move { whole(answer) }).await
}

/// The body leaves with the first system prompt, and with the second as an addition.
fn is_edited(body: &[u8]) -> bool {
    let body: Value = serde_json::from_slice(body).unwrap();
    body["system"].to_string().contains("Mode: plan") && body["messages"].to_string().contains("Mode: act")
}

/// Whether the signature is right for this request, by the rules for every service but S3.
fn verifies(seen: &Seen, secret: &str, scope_end: &str) -> bool {
    let header = |name: &str| {
        let values = seen.head.headers.get_all(name);
        let values: Vec<_> = values.iter().map(|value| value.to_str().unwrap()).collect();
        values.join(",").split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let authorization = header("authorization");
    let field = |name: &str| {
        let (_, rest) = authorization.split_once(&format!("{name}=")).unwrap();
        rest.split(',').next().unwrap().to_owned()
    };
    let (names, date) = (field("SignedHeaders"), header("x-amz-date"));
    let scope = format!("{}/{scope_end}/aws4_request", &date[..8]);
    assert!(field("Credential").ends_with(&scope), "{authorization}");
    for (name, _) in &seen.head.headers {
        let must = name == "host" || name.as_str().starts_with("x-amz-");
        assert!(
            !must || names.split(';').any(|signed| signed == name),
            "{name} is not signed"
        );
    }
    let path: String = seen
        .head
        .uri
        .path()
        .bytes()
        .map(|byte| match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                char::from(byte).to_string()
            }
            _ => format!("%{byte:02X}"),
        })
        .collect();
    let mut query: Vec<_> = seen.head.uri.query().unwrap_or_default().split('&').collect();
    query.sort_unstable();
    let headers: String = names
        .split(';')
        .map(|name| format!("{name}:{}\n", header(name)))
        .collect();
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let sha = |bytes: &[u8]| hex(digest::digest(&digest::SHA256, bytes).as_ref());
    let canonical = format!(
        "{}\n{path}\n{}\n{headers}\n{names}\n{}",
        seen.head.method,
        query.join("&"),
        sha(&seen.body)
    );
    let text = format!("AWS4-HMAC-SHA256\n{date}\n{scope}\n{}", sha(canonical.as_bytes()));
    let sign = |key: &[u8], text: &str| {
        hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), text.as_bytes())
            .as_ref()
            .to_vec()
    };
    let key = scope
        .split('/')
        .fold(format!("AWS4{secret}").into_bytes(), |key, part| sign(&key, part));
    hex(&sign(&key, &text)) == field("Signature")
}

fn is_ours(seen: &Seen) -> bool {
    let one = |name: &str| {
        let values: Vec<_> = seen.head.headers.get_all(name).iter().collect();
        assert!(values.len() <= 1, "{name}: {values:?}");
        values.first().map_or("", |value| value.to_str().unwrap())
    };
    one("authorization").contains("Credential=AKIDOURS/")
        && one("x-amz-security-token") == "ourtoken"
        && one("x-amz-content-sha256") != "00"
        && verifies(seen, SECRET, "eu-central-1/bedrock")
}

/// The same request as it came, down to the signature.
fn is_theirs(seen: &Seen, body: &str) -> bool {
    let sent = CLIENT.iter().all(|line| {
        let (name, value) = line.split_once(": ").unwrap();
        seen.head.headers.get(name).is_some_and(|found| found == value)
    });
    sent && seen.body == body
}

#[test]
fn the_verifier_agrees_with_the_tools_of_aws() {
    // Signed by botocore 1.43.
    let mut seen = Seen {
        head: Request::post("/model/arn%3Aaws%3Abedrock%2Fus.a~b%2Fx/converse?b=2&a=x%20y")
            .header("host", "127.0.0.1:8080")
            .header("content-type", "application/json")
            .header("x-amz-meta", " a  b ")
            .header("x-amz-date", "20261130T195927Z")
            .header("x-amz-security-token", "token")
            .header(
                "authorization",
                "AWS4-HMAC-SHA256 Credential=AKIDTEST/20261130/eu-central-1/bedrock/aws4_request, \
                 SignedHeaders=content-type;host;x-amz-date;x-amz-meta;x-amz-security-token, \
                 Signature=1328713032c7dbedcaee6eda34ec2f9aefa371e29b1c36bbee9825c37bca01eb",
            )
            .body(())
            .unwrap()
            .into_parts()
            .0,
        body: r#"{"a":1}"#.into(),
    };
    assert!(verifies(&seen, "secretkey", "eu-central-1/bedrock"));
    assert!(!verifies(&seen, "other", "eu-central-1/bedrock"));
    seen.body = r#"{"a":2}"#.into();
    assert!(!verifies(&seen, "secretkey", "eu-central-1/bedrock"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edited_request_is_signed_anew_for_the_upstream() {
    let upstream = answering().await;
    let process = Process::start(&upstream, "", KEYS);
    let [first, second] = conversation();
    process.post("/bedrock/v1/messages", CLIENT, &first).await;
    process.post("/bedrock/v1/messages", CLIENT, &second).await;
    let seen = upstream.seen();
    assert!(is_ours(&seen[0]) && seen[0].body == first);
    assert!(
        is_ours(&seen[1]) && is_edited(&seen[1].body),
        "{:?}",
        seen[1].body
    );
    assert_eq!(seen[1].head.headers["host"], upstream.address.to_string());
    let log = process.log();
    for secret in [SECRET, "AKIDOURS", "ourtoken", "theirtoken", "AKIDTHEIRS"] {
        assert!(!log.contains(secret), "{secret} in {log}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_encoded_path_arrives_byte_for_byte() {
    let upstream = answering().await;
    let process = Process::start(&upstream, "", KEYS);
    let path = "/model/arn%3Aaws%3abedrock%2Fus.claude-v1%3A0~x/converse?b=2&a=x%20y";
    process.post(&format!("/bedrock{path}"), CLIENT, "{}").await;
    let seen = upstream.only();
    assert_eq!(seen.head.uri.to_string(), path);
    assert!(is_ours(&seen));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_without_a_signature_gets_one_but_a_web_page_does_not() {
    let upstream = answering().await;
    let process = Process::start(&upstream, "", KEYS);
    process.post("/bedrock/x", &[], "{}").await;
    process
        .post("/bedrock/x", &["Origin: https://page.example"], "{}")
        .await;
    process.post("/bedrock/x", &["x-api-key: k"], "{}").await;
    let seen = upstream.seen();
    assert!(is_ours(&seen[0]));
    for other in &seen[1..] {
        assert!(!other.head.headers.contains_key("authorization"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bearer_stays_and_its_request_is_edited() {
    let upstream = answering().await;
    let process = Process::start(&upstream, "", KEYS);
    for body in conversation() {
        process
            .post("/bedrock/v1/messages", &["Authorization: Bearer theirs"], &body)
            .await;
    }
    let last = upstream.seen().remove(1);
    assert_eq!(last.head.headers["authorization"], "Bearer theirs");
    assert!(!last.head.headers.contains_key("x-amz-date") && is_edited(&last.body));
}

#[tokio::test(flavor = "multi_thread")]
async fn without_credentials_it_goes_as_it_came() {
    let upstream = answering().await;
    let process = Process::start(&upstream, "", &[("AWS_PROFILE", "nobody-knows")]);
    let [first, second] = conversation();
    process.post("/bedrock/v1/messages", CLIENT, &first).await;
    assert!(process.counts("no_credentials").await);
    process.post("/bedrock/v1/messages", CLIENT, &second).await;
    let seen = upstream.seen();
    assert!(is_theirs(&seen[0], &first) && is_theirs(&seen[1], &second));
    let log = process.log();
    assert!(
        log.contains("no_credentials") && log.contains("neither the environment"),
        "{log}"
    );
    assert!(
        !log.contains("theirtoken") && !log.contains("AKIDTHEIRS"),
        "{log}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_streams_through_keeps_its_signature() {
    let upstream = answering().await;
    let process = Process::start(&upstream, "max_body = \"64B\"", KEYS);
    let [first, _] = conversation();
    process.post("/bedrock/v1/messages", CLIENT, &first).await;
    assert!(is_theirs(&upstream.only(), &first));
    assert!(process.counts("oversize").await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_digest_beside_the_signature_still_pins_the_body() {
    let upstream = answering().await;
    let process = Process::start(&upstream, "", KEYS);
    let [first, second] = conversation();
    process.post("/bedrock/v1/messages", CLIENT, &first).await;
    let lines = [CLIENT, &["Content-Digest: sha-256=:x:"]].concat();
    process.post("/bedrock/v1/messages", &lines, &second).await;
    let last = upstream.seen().remove(1);
    assert!(is_ours(&last) && last.body == second);
    assert!(process.counts("signed").await);
}

#[tokio::test(flavor = "multi_thread")]
async fn credentials_may_come_from_a_process() {
    let upstream = answering().await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("config");
    let written = json!({"Version": 1, "AccessKeyId": "AKIDOURS", "SecretAccessKey": SECRET,
        "SessionToken": "ourtoken", "Expiration": "2100-01-01T00:00:00Z"});
    std::fs::write(
        &file,
        format!("[profile p]\ncredential_process = echo '{written}'\n"),
    )
    .unwrap();
    let variables = [("AWS_PROFILE", "p"), ("AWS_CONFIG_FILE", file.to_str().unwrap())];
    let process = Process::start(&upstream, "", &variables);
    process.post("/bedrock/x", CLIENT, "{}").await;
    assert!(is_ours(&upstream.only()));
}

#[tokio::test]
async fn by_default_a_signed_request_is_observed_and_not_touched() {
    let upstream = answering().await;
    let proxy = proxy_to(&upstream).await;
    let bodies = conversation();
    for body in &bodies {
        request(proxy.proxy_addr, "POST /anthropic/v1/messages", CLIENT, body).await;
    }
    let seen = upstream.seen();
    assert!(is_theirs(&seen[0], &bodies[0]) && is_theirs(&seen[1], &bodies[1]));
    assert!(
        metrics(&proxy)
            .await
            .contains(r#"passthrough_total{reason="signed"} 2"#)
    );
}

#[test]
fn wrong_configurations_are_named() {
    let read = |keys: &str, more: &str| {
        let text = format!("{keys}\n[upstreams.b]\nurl = \"https://b.example\"\n{more}");
        text.parse::<Partial>()
            .and_then(Config::new)
            .map_err(|error| error.to_string())
    };
    for (keys, more, needle) in [
        ("", "sign = \"sigv4\"", "`region`"),
        ("", "sign = \"sigv5\"", "sigv4"),
        ("", "region = \"x\"", "`sign = \"sigv4\"`"),
        (
            "listen = \"0.0.0.0:1\"",
            "sign = \"sigv4\"\nregion = \"x\"",
            "loopback",
        ),
    ] {
        let error = read(keys, more).unwrap_err();
        assert!(error.contains("upstreams.b") && error.contains(needle), "{error}");
    }
    let config = read("", "sign = \"sigv4\"\nregion = \"x\"\nservice = \"y\"").unwrap();
    let sign = config.upstreams.get("b").unwrap().sign.clone().unwrap();
    assert_eq!((sign.region.as_str(), sign.service.as_str()), ("x", "y"));
}
