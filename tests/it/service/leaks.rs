//! Invariant 10: what clients and upstreams say is in no log, no metric and no error of ours, and no credential is in
//! the state. The built binary at its most talkative, with a mark in each place.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::Duration;

use inkfast::sim::{Answer, Provider};
use serde_json::{Value, json};

use crate::binary::{Inkfast, post};

const PROMPT: &str = "MarkInPrompt7f3a";
const QUESTION: &str = "MarkInQuestion7f3b";
const TOOL: &str = "MarkInTool7f3c";
const MODEL: &str = "MarkInModel7f3d";
const ANSWER: &str = "MarkInAnswer7f3e";
const ERROR: &str = "MarkInError7f3f";
const KEY: &str = "MarkInKey7f40";
const COOKIE: &str = "MarkInCookie7f41";
const SESSION: &str = "MarkInSession7f42";
const QUERY: &str = "MarkInQuery7f43";
const MARKS: [&str; 10] = [
    PROMPT, QUESTION, TOOL, MODEL, ANSWER, ERROR, KEY, COOKIE, SESSION, QUERY,
];
/// What the state must not hold even so: it keeps prompts, since it has to send them again.
const CREDENTIALS: [&str; 5] = [KEY, COOKIE, SESSION, QUERY, ERROR];

#[test]
fn nothing_that_is_said_is_told_on() {
    let (folder, provider) = (
        tempfile::tempdir().unwrap(),
        Provider::start(Default::default()).unwrap(),
    );
    let file = folder.path().join("state/ledger.sqlite");
    let config = format!(
        "state = \"sqlite:{}\"\nlog_level = \"debug\"\n\
         [upstreams.openai]\nurl = \"{url}\"\nacts_as = \"api.openai.com\"\n\
         [upstreams.anthropic]\nurl = \"{url}\"\nacts_as = \"api.anthropic.com\"\n\
         [upstreams.gemini]\nurl = \"{url}\"\nacts_as = \"generativelanguage.googleapis.com\"\n\
         [upstreams.gone]\nurl = \"http://127.0.0.1:1\"\n",
        file.display(),
        url = provider.url()
    );
    let inkfast = Inkfast::serve_with(folder.path(), &config, &[("RUST_LOG", "trace")]);
    let own = say_everything(&inkfast, &provider);
    let (log, metrics) = (inkfast.log(), inkfast.metrics());
    for (what, text) in [("the log", &log), ("metrics", &metrics), ("errors of ours", &own)] {
        assert_eq!(marks_in(text.as_bytes(), &MARKS), [""; 0], "in {what}");
    }
    let state = all_files(file.parent().unwrap());
    assert_eq!(marks_in(&state, &CREDENTIALS), [""; 0], "in the state");

    // It was looked for where it could have been.
    for said in [
        "\"event\":\"refused\"",
        "\"received\"",
        "bad_encoding",
        "server_error",
    ] {
        assert!(log.contains(said), "{said} is not in {log}");
    }
    assert!(
        metrics.contains("inkfast_nodes_total{") && metrics.contains("model=\"other\""),
        "{metrics}"
    );
    assert!(own.matches("\"error\"").count() >= 3, "{own}");
    assert_eq!(marks_in(&state, &[PROMPT]), [PROMPT]);
    let recorded = provider.recorded();
    let sent = recorded
        .iter()
        .map(|one| format!("{:?} {} {:?}", one.headers, one.target, one.body));
    let sent = sent.collect::<Vec<_>>().join("\n");
    assert_eq!(
        marks_in(sent.as_bytes(), &[PROMPT, KEY, COOKIE, SESSION, QUERY]).len(),
        5,
        "{sent}"
    );
    let doctored = format!("{log}{KEY}");
    assert_eq!(marks_in(doctored.as_bytes(), &MARKS), [KEY]);
}

/// Every way that a request can go; the answers that were Inkfast's own.
fn say_everything(inkfast: &Inkfast, provider: &Provider) -> String {
    let mut count = 0;
    let mut say = |path: &str, extra: &[(&str, &str)], body: &[u8]| {
        let key = format!("Bearer {KEY}");
        let cookie = format!("a={COOKIE}");
        let mut headers = vec![
            ("authorization", &key[..]),
            ("x-api-key", KEY),
            ("cookie", &cookie),
        ];
        headers.push(("x-claude-code-session-id", SESSION));
        headers.extend_from_slice(extra);
        let (status, answer) = post(&format!("{}{path}", inkfast.proxy), &headers, body);
        count += 1;
        wait_for_line(inkfast, count);
        (status, String::from_utf8_lossy(&answer).into_owned())
    };
    let mut own = Vec::new();
    let gemini = format!("/v1beta/models/{MODEL}:generateContent");
    for path in ["/v1/chat/completions", "/v1/messages", &gemini] {
        let query = format!("{path}?key={QUERY}");
        let mut history = Vec::new();
        for mode in ["plan", "act", "act"] {
            history.push(json!({"role": "user", "content": format!("{QUESTION} {mode}")}));
            provider.push(Answer::text(format!("{ANSWER} {mode}")));
            let (status, answer) = say(&query, &[], &body(path, mode, &history));
            assert_eq!(status, 200, "{answer}");
            history.push(json!({"role": "assistant", "content": format!("{ANSWER} {mode}")}));
        }
        // Refusals, by their form, of the key, of load, and one that nobody knows.
        history.push(json!({"role": "user", "content": QUESTION}));
        for (status, text) in [
            (400, "unsupported role"),
            (400, "role 'system' is not supported"),
            (401, "key"),
            (500, "?"),
        ] {
            provider.push(Answer::error(status, format!("{text} {ERROR} {KEY}")));
            say(&query, &[], &body(path, "review", &history));
        }
        provider.push(Answer::raw(format!("data: {ANSWER}\n\n{{")));
        say(&query, &[], &body(path, "plan", &history));
        // Bodies that cannot be read.
        say(
            &query,
            &[],
            format!("{{\"model\":\"{MODEL}\",\"messages\":[\"{PROMPT}\"").as_bytes(),
        );
        say(&query, &[("content-encoding", "gzip")], PROMPT.as_bytes());
        // An upstream that is not there.
        let gone = say(&format!("/gone{query}"), &[], &body(path, "plan", &history));
        assert_eq!(gone.0, 502, "{}", gone.1);
        own.push(gone.1);
    }
    own.push(absolute(&inkfast.proxy));
    own.join("\n")
}

/// Each request has one line in the log, read or not.
fn wait_for_line(inkfast: &Inkfast, count: usize) {
    for _ in 0..1000 {
        if inkfast.log().matches("\"event\":\"request\"").count() >= count {
            return;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("a request without a line: {}", inkfast.log());
}

fn body(path: &str, mode: &str, history: &[Value]) -> Vec<u8> {
    let system = format!(
        "You are a careful assistant of {PROMPT}. Read before you write. Ask when in doubt. Mode: {mode}. Keep answers \
         short, name the files that you touch, and run the tests before you say done."
    );
    let parameters = json!({"type": "object", "description": TOOL, "properties": {}});
    let mut messages = history.to_vec();
    let body = if path.ends_with("generateContent") {
        let content = |message: &Value| {
            let role = if message["role"] == "user" {
                "user"
            } else {
                "model"
            };
            json!({"role": role, "parts": [{"text": message["content"]}]})
        };
        let contents: Vec<Value> = messages.iter().map(content).collect();
        let tools = json!([{"functionDeclarations": [{"name": TOOL, "parameters": parameters}]}]);
        json!({"systemInstruction": {"parts": [{"text": system}]}, "contents": contents, "tools": tools})
    } else if path.ends_with("completions") {
        messages.insert(0, json!({"role": "system", "content": system}));
        let tool = json!({"type": "function", "function": {"name": TOOL, "parameters": parameters}});
        json!({"model": MODEL, "messages": messages, "tools": [tool]})
    } else {
        let tool = json!({"name": TOOL, "input_schema": parameters});
        json!({"model": MODEL, "max_tokens": 9, "system": system, "messages": messages, "tools": [tool]})
    };
    body.to_string().into_bytes()
}

/// A request for another host, which is refused.
fn absolute(proxy: &str) -> String {
    let mut stream = TcpStream::connect(proxy.strip_prefix("http://").unwrap()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    write!(
        stream,
        "GET http://{KEY}.invalid/v1/messages?key={QUERY} HTTP/1.1\r\nHost: {KEY}.invalid\r\n\r\n"
    )
    .unwrap();
    let mut answer = vec![0; 4096];
    let read = stream.read(&mut answer).unwrap();
    String::from_utf8_lossy(&answer[..read]).into_owned()
}

fn marks_in<'m>(text: &[u8], marks: &[&'m str]) -> Vec<&'m str> {
    let stands = |mark: &&&str| memchr::memmem::find(text, mark.as_bytes()).is_some();
    marks.iter().filter(stands).copied().collect()
}

fn all_files(folder: &Path) -> Vec<u8> {
    let files = std::fs::read_dir(folder)
        .unwrap()
        .map(|file| file.unwrap().path());
    files.flat_map(|file| std::fs::read(file).unwrap()).collect()
}
