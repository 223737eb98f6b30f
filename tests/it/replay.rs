//! Replays recorded requests through the built binary, against the simulated provider with scripted answers, and
//! reads what Inkfast says of each from its log lines.

use std::collections::HashMap;
use std::path::Path;

use bytes::Bytes;
use inkfast::sim::{Answer, Config, Provider};
use serde_json::{Value, json};

use crate::binary::{Inkfast, post};
use crate::harness;

/// One request to replay.
pub struct Replayed {
    pub path: String,
    pub headers: Vec<(String, String)>,
    pub body: Bytes,
    pub answer: harness::Answer,
}

/// What became of one request: the log line's words, and the body that left.
pub struct Outcome {
    pub lineage: u64,
    pub continued: Option<u64>,
    pub shared: u64,
    pub received: String,
    pub sent: String,
    pub node: String,
    pub nodes: u64,
    pub received_kept: f64,
    pub sent_kept: f64,
    pub same: bool,
}

/// The format's name, its upstream and its path.
pub fn route(format: &str) -> (&'static str, &'static str) {
    match format {
        "anthropic_messages" => ("anthropic", "/v1/messages"),
        "openai_responses" => ("openai", "/v1/responses"),
        "gemini" => (
            "gemini",
            "/v1beta/models/gemini-3.5-flash:streamGenerateContent?alt=sse",
        ),
        "ollama" => ("ollama", "/api/chat"),
        _ => ("openai", "/v1/chat/completions"),
    }
}

/// Replays `requests` through one process whose `upstream` acts as `host`.
pub fn replay(upstream: &str, host: &str, requests: &[Replayed]) -> Vec<Outcome> {
    let provider = Provider::start(Config {
        validate: false,
        ..Config::default()
    })
    .unwrap();
    let folder = tempfile::tempdir().unwrap();
    let config = format!(
        "state = \"memory:\"\n[upstreams.{upstream}]\nurl = \"{}\"\nacts_as = \"{host}\"\n",
        provider.url()
    );
    let inkfast = Inkfast::serve(folder.path(), &config);
    for (count, request) in (1..).zip(requests) {
        provider.push(scripted(&request.answer));
        let headers: Vec<_> = request
            .headers
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        post(
            &format!("{}{}", inkfast.proxy, request.path),
            &headers,
            &request.body,
        );
        inkfast.wait_for_requests(count);
    }
    let bodies = provider.recorded();
    let lines = inkfast.wait_for_requests(requests.len());
    assert_eq!((lines.len(), bodies.len()), (requests.len(), requests.len()));
    lines
        .iter()
        .zip(&bodies)
        .zip(requests)
        .map(|((line, sent), request)| outcome(line, sent.body == request.body))
        .collect()
}

/// The path of a capture, where it names the model.
pub fn path(file: &Path) -> Option<String> {
    let head: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    let path = head["path"].as_str()?;
    path.contains(':').then(|| path.to_owned())
}

/// Of the headers of a capture, those that say who the client is.
pub fn identity(file: &Path) -> Vec<(String, String)> {
    let headers: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    let pairs = headers["headers"].as_array().unwrap().iter();
    let pairs = pairs.map(|pair| {
        (
            pair[0].as_str().unwrap().to_owned(),
            pair[1].as_str().unwrap().to_owned(),
        )
    });
    pairs
        .filter(|(name, _)| name.to_ascii_lowercase().contains("session") || name.starts_with("anthropic"))
        .collect()
}

fn scripted(answer: &harness::Answer) -> Answer {
    if answer.status >= 400 {
        return Answer::error(answer.status, "scripted");
    }
    let text = (!answer.text.is_empty()).then(|| answer.text.clone());
    // A call that is known by what it says has that for its name here.
    let call = |id: &String| match id.split_once('{') {
        Some((name, args)) => {
            let args = serde_json::from_str(&format!("{{{args}")).unwrap();
            (String::new(), name.to_owned(), args)
        }
        None => (id.clone(), "tool".to_owned(), json!({})),
    };
    let calls = answer.calls.iter().map(call).collect();
    Answer {
        text,
        tool_calls: calls,
        ..Answer::default()
    }
}

fn outcome(line: &Value, same: bool) -> Outcome {
    // A log line's fields stand under "fields", or at the top, by the log format's choice.
    let fields = if line["fields"].is_object() {
        &line["fields"]
    } else {
        line
    };
    let text = |name: &str| fields[name].as_str().unwrap_or_default().to_owned();
    Outcome {
        lineage: fields["lineage"].as_u64().unwrap_or_default(),
        continued: fields["continued"].as_u64(),
        shared: fields["shared"].as_u64().unwrap_or_default(),
        received: text("received"),
        sent: text("sent"),
        node: text("node"),
        nodes: fields["nodes"].as_u64().unwrap_or_default(),
        received_kept: fields["received_kept"].as_f64().unwrap_or(1.0),
        sent_kept: fields["sent_kept"].as_f64().unwrap_or(1.0),
        same,
    }
}

/// Small numbers for lineages, in order of appearance.
pub fn numbered(outcomes: &[Outcome]) -> Vec<usize> {
    let mut known = HashMap::new();
    let number = |outcome: &Outcome| {
        let next = known.len() + 1;
        *known.entry(outcome.lineage).or_insert(next)
    };
    outcomes.iter().map(number).collect()
}
