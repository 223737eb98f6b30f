//! The sequences of `fixtures/sequences`: one trap of path choice, placement or verdicts each, with the verdict line
//! that every request must have.

use std::collections::HashMap;
use std::path::Path;

use fancy_regex::Regex;
use inkfast::prefix::digest::Digest;
use inkfast::prefix::item::Hints;
use inkfast::wire::format::Format;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::fixtures::{answer, compact};
use crate::harness::{Core, Turn};

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
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/sequences");
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    let (mut count, mut wrong) = (0, Vec::new());
    for file in files
        .iter()
        .filter(|file| file.extension().is_some_and(|ext| ext == "json"))
    {
        let sequence: Sequence = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
        if let Ok(format) = sequence.format.parse() {
            count += 1;
            run(&sequence, format, &mut wrong);
        }
    }
    assert!(count >= 25, "only {count} sequences of the two formats");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn run(sequence: &Sequence, format: Format, wrong: &mut Vec<String>) {
    let host = match (format, sequence.carrier.as_deref()) {
        (Format::AnthropicMessages, _) => "api.anthropic.com",
        (Format::OpenaiChat, Some("system")) => "api.openai.com",
        (Format::OpenaiChat, _) => "localhost",
    };
    let mut core = Core::new(format, host);
    let mut names = Names::default();
    for (index, request) in sequence.requests.iter().enumerate() {
        let body = compact(request.get());
        let later = index + 1..sequence.requests.len();
        let same = later.filter(|next| sequence.conversations[*next] == sequence.conversations[index]);
        let next: Vec<_> = same.map(|next| compact(sequence.requests[next].get())).collect();
        let mut answer = answer(&body, &next);
        answer.status = sequence.status.get(index).copied().unwrap_or(200);
        let session = sequence
            .headers
            .get(index)
            .and_then(|headers| headers.get("x-session-id"));
        let session = session.map(|session| Digest::of("inkfast hint v1", session.as_bytes()));
        let turn = core.exchange(
            &body,
            Hints {
                session,
                ..Hints::default()
            },
            &answer,
        );
        let line = names.line(index, &turn);
        println!("{} r{index}: {line}", sequence.id);
        assert_eq!(turn.guard, Ok(()), "{} r{index}", sequence.id);
        if let Some(pattern) = &sequence.want[index] {
            if !Regex::new(pattern).unwrap().is_match(&line).unwrap() {
                wrong.push(format!("{} r{index}: {line}\n    wanted {pattern}", sequence.id));
            }
        }
    }
}

/// Numbers for lineages and requests, in order of appearance.
#[derive(Default)]
struct Names {
    lineages: Vec<u64>,
    requests: HashMap<u64, usize>,
}

impl Names {
    fn line(&mut self, index: usize, turn: &Turn) -> String {
        self.requests.insert(turn.seq, index + 1);
        let parent = turn.plan.parent.as_ref();
        let lineage = parent.map_or(turn.seq, |parent| parent.lineage);
        let known = self.lineages.iter().position(|known| *known == lineage);
        let number = known.unwrap_or_else(|| {
            self.lineages.push(lineage);
            self.lineages.len() - 1
        });
        let continued = parent.map_or(0, |parent| self.requests[&parent.seq]);
        let node = match &turn.plan.new_node {
            Some(new) => format!("{}@{}", turn.plan.outcome.as_str(), new.spot.position),
            None => turn.plan.outcome.as_str().to_owned(),
        };
        let (received, sent) = (&turn.plan.received, &turn.plan.sent);
        let share = |kept: u64, before: u64| {
            if before == 0 {
                1.0
            } else {
                kept as f64 / before as f64
            }
        };
        format!(
            "L{} <- {continued}@{} recv={received} sent={sent} node={node} kept={:.2}>{:.2}",
            number + 1,
            turn.plan.shared,
            share(received.kept, received.before),
            share(sent.kept, sent.before),
        )
    }
}
