//! The sequences of `fixtures/sequences`: one trap of path choice, placement or verdicts each, with the verdict line
//! that every request must have.

mod translated;

use bytes::Bytes;
use fancy_regex::Regex;
use inkfast::wire::format::Format;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::HashMap;

use crate::fixtures::{answer, compact, files};
use crate::harness::Answer;
use crate::replay::{Replayed, numbered, replay, route};

#[derive(Deserialize)]
struct Sequence {
    id: String,
    format: String,
    conversations: Vec<String>,
    #[serde(default)]
    headers: Vec<HashMap<String, String>>,
    #[serde(default)]
    status: Vec<u16>,
    carrier: Option<String>,
    requests: Vec<Box<RawValue>>,
    want: Vec<Option<String>>,
}

#[test]
fn every_verdict_line_matches_its_pattern() {
    let (mut count, mut wrong) = (0, Vec::new());
    for file in files("sequences") {
        let sequence: Sequence = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
        if let Ok(format) = sequence.format.parse() {
            count += 1;
            run(&sequence, format, &mut wrong);
        }
    }
    assert!(count >= 25, "only {count} sequences");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn run(sequence: &Sequence, format: Format, wrong: &mut Vec<String>) {
    let host = match (format, sequence.carrier.as_deref()) {
        (Format::AnthropicMessages, _) => "api.anthropic.com",
        (Format::OpenaiChat, Some("system")) => "api.openai.com",
        _ => "localhost",
    };
    let bodies: Vec<Bytes> = sequence
        .requests
        .iter()
        .map(|request| compact(request.get()))
        .collect();
    let (upstream, path) = route(&sequence.format);
    let requests: Vec<Replayed> = (0..bodies.len())
        .map(|index| Replayed {
            path: path.to_owned(),
            headers: sequence
                .headers
                .get(index)
                .cloned()
                .unwrap_or_default()
                .into_iter()
                .collect(),
            body: bodies[index].clone(),
            answer: answered(sequence, &bodies, index),
        })
        .collect();
    let outcomes = replay(upstream, host, &requests);
    let lineages = numbered(&outcomes);
    for (index, outcome) in outcomes.iter().enumerate() {
        let line = format!(
            "L{} <- {}@{} recv={} sent={} node={} kept={:.2}>{:.2}",
            lineages[index],
            outcome.continued.unwrap_or_default(),
            outcome.shared,
            outcome.received,
            outcome.sent,
            outcome.node,
            outcome.received_kept,
            outcome.sent_kept
        );
        println!("{} r{index}: {line}", sequence.id);
        if let Some(pattern) = &sequence.want[index]
            && !Regex::new(pattern).unwrap().is_match(&line).unwrap()
        {
            wrong.push(format!("{} r{index}: {line}\n    wanted {pattern}", sequence.id));
        }
    }
}

/// What the upstream answers: what the next request of the same conversation carries on.
fn answered(sequence: &Sequence, bodies: &[Bytes], index: usize) -> Answer {
    let conversations = &sequence.conversations;
    let later = (index + 1..bodies.len()).filter(|next| conversations[*next] == conversations[index]);
    let later: Vec<Bytes> = later.map(|next| bodies[next].clone()).collect();
    Answer {
        status: sequence.status.get(index).copied().unwrap_or(200),
        ..answer(&bodies[index], &later)
    }
}
