//! An audit says what the live proxy said: of cases and captures from their bodies alone, and of what a proxy recorded.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use bytes::Bytes;
use inkfast::audit::{Observation, Share};
use inkfast::sim::{Config, Provider};
use inkfast::wire::format::Format;
use serde_json::{Value, json};

use super::{answer_body, audit};
use crate::binary::{Inkfast, post};
use crate::cases;
use crate::fixtures::answer;

/// Cases whose rewritten item stands in front of the first answer: without that answer nothing shows that the requests are
/// of one conversation.
const UNKNOWABLE: [&str; 5] = [
    "c13-trailing-newline-drift",
    "c15-transient-reminder-not-kept",
    "c16-environment-note-trimmed-in-history",
    "c17-turn-context-rewritten-in-place",
    "c21-sliding-window-drops-oldest",
];

/// Every case: class, cause and place are those that the case asks for, with the answers recorded, and from the bodies
/// alone wherever they tell.
#[test]
fn cases_are_named() {
    let mut wrong = Vec::new();
    for (id, format, bodies, expect) in cases::sequences() {
        let known = UNKNOWABLE.contains(&id.as_str());
        for answered in [true, false] {
            let seen = audited(format, &bodies, answered);
            assert_eq!(seen.len(), bodies.len(), "{id}");
            assert!(
                seen.iter().all(|one| one.format == format),
                "{id}: told by the body"
            );
            if known && !answered {
                let breaks = seen.iter().filter(|one| one.received.verdict.is_break()).count();
                assert_eq!(breaks, 0, "{id}: what is not known is no break");
            } else if let Err(found) = matches(&seen, &expect) {
                wrong.push(format!("{id}, answers {answered}: {found}, wanted {expect:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A folder of the bodies, with their answers or without.
fn audited(format: Format, bodies: &[Bytes], answered: bool) -> Vec<Observation> {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: String, content: &[u8]| std::fs::write(folder.path().join(name), content).unwrap();
    for (number, body) in (1..).zip(bodies) {
        write(format!("{number:03}.json"), body);
        // Not the provider's own host, where some of what changes is stripped.
        write(
            format!("{number:03}.headers.json"),
            br#"{"host":"gateway.example"}"#,
        );
        let has_shape = !matches!(format, Format::Gemini | Format::Ollama | Format::BedrockConverse);
        if answered && has_shape {
            let answer = answer(body, &bodies[number..]);
            let content = answer_body(format, &answer.text, &answer.calls);
            write(format!("{number:03}.response.json"), content.as_bytes());
        }
    }
    audit(folder.path())
}

/// Whether the first change is the one that is wanted; what was found else.
fn matches(seen: &[Observation], expect: &cases::Expect) -> Result<(), String> {
    let found = (1..).zip(seen).find_map(|(number, one)| {
        let verdict = &one.received.verdict;
        Some((format!("r{number}:{}", verdict.item.as_ref()?), verdict))
    });
    let right = match &found {
        None => expect.item == "none",
        Some((item, verdict)) => {
            item.starts_with(&expect.item)
                && expect.cause == verdict.cause.as_str()
                && expect.remedy == verdict.cause.remedy().as_str()
                && expect
                    .class
                    .as_deref()
                    .is_none_or(|want| want == verdict.class.as_str())
        }
    };
    let said = || {
        found.map_or("nothing".to_owned(), |(item, verdict)| {
            format!("{item} {verdict}")
        })
    };
    if right { Ok(()) } else { Err(said()) }
}

/// What a proxy recorded while it moved edits into the history: the client's breaks, and what left without any.
#[test]
fn a_recording_tells_both_sides() {
    let provider = Provider::start(Config::default()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let recording = folder.path().join("recording.jsonl");
    let config = format!(
        "state = \"memory:\"\nrecord = {:?}\n[upstreams.openai]\nurl = \"{}\"\nacts_as = \"api.openai.com\"\n",
        recording.display().to_string(),
        provider.url()
    );
    let inkfast = Inkfast::serve(folder.path(), &config);
    let mut history = Vec::new();
    for turn in 1..=5 {
        history.push(json!({"role": "user", "content": format!("Question {turn}, what is next?")}));
        let edited = if turn > 2 {
            "Nothing is open."
        } else {
            "Open: the parser."
        };
        let head = json!({"role": "system", "content": format!("You keep a list of tasks for a small team.\n\n{edited}")});
        let mut messages = vec![head];
        messages.extend(history.iter().cloned());
        let body = json!({"model": "gpt-5.5", "messages": messages}).to_string();
        let url = format!("{}/v1/chat/completions", inkfast.proxy);
        let (_, answer) = post(&url, &[], body.as_bytes());
        let answer: Value = serde_json::from_slice(&answer).unwrap();
        history.push(json!({"role": "assistant", "content": answer["choices"][0]["message"]["content"]}));
        inkfast.wait_for_requests(turn);
    }
    let lines = inkfast.wait_for_requests(5);
    let deadline = Instant::now() + Duration::from_secs(20);
    let recorded = || {
        std::fs::read_to_string(&recording)
            .unwrap_or_default()
            .lines()
            .count()
    };
    while recorded() < 5 && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(20));
    }

    let seen = audit(&recording);
    let told = |name: &str| -> Vec<String> {
        lines
            .iter()
            .map(|line| line[name].as_str().unwrap().to_owned())
            .collect()
    };
    let received: Vec<_> = seen.iter().map(|one| one.received.verdict.to_string()).collect();
    let sent: Vec<_> = seen.iter().map(|one| one.sent.verdict.to_string()).collect();
    assert_eq!(received, told("received"));
    assert_eq!(sent, told("sent"));
    assert_eq!(received[2], "rewrite/system_changed@messages[0]");
    assert!(
        sent[1..].iter().all(|verdict| verdict == "extend/none"),
        "{sent:?}"
    );
    let nodes = |at: usize| {
        seen[at]
            .strip
            .iter()
            .filter(|run| run.share == Share::Node)
            .count()
    };
    assert_eq!([0, 1, 2, 3, 4].map(nodes), [0, 0, 1, 1, 1]);
    assert!(seen[2].received.loss.bytes > 0 && seen[2].sent.loss.bytes == 0);
}

/// Three agents in one file are told apart, and each is judged as if it were alone.
#[test]
fn interleaved_agents_are_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    let captures = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/captures");
    let agents = ["opencode", "cline", "qwen-code"];
    let alone = agents.map(|agent| verdicts(&captures.join(agent)));
    let mut bodies = agents.map(|agent| numbered(&captures.join(agent)).into_iter());
    let (mut number, mut order) = (0, Vec::new());
    loop {
        let before = number;
        for (agent, bodies) in bodies.iter_mut().enumerate() {
            if let Some(body) = bodies.next() {
                number += 1;
                order.push(agent);
                std::fs::copy(body, folder.path().join(format!("{number:03}.json"))).unwrap();
            }
        }
        if number == before {
            break;
        }
    }
    let mixed = verdicts(folder.path());
    for (agent, alone) in alone.iter().enumerate() {
        let own: Vec<_> = mixed
            .iter()
            .zip(&order)
            .filter(|(_, of)| **of == agent)
            .map(|(one, _)| one)
            .collect();
        assert_eq!(own, alone.iter().collect::<Vec<_>>(), "{}", agents[agent]);
    }
}

fn verdicts(path: &Path) -> Vec<String> {
    audit(path)
        .iter()
        .map(|one| one.received.verdict.to_string())
        .collect()
}

fn numbered(folder: &Path) -> Vec<std::path::PathBuf> {
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.retain(|file| {
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        name.ends_with(".json") && !name.contains("headers")
    });
    files.sort();
    files
}

/// The command exists and reads what the tests read.
#[test]
fn the_command_reads_a_folder() {
    let captures = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/captures/cline");
    let output = Command::new(env!("CARGO_BIN_EXE_inkfast"))
        .arg("audit")
        .arg(captures)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(String::from_utf8(output.stdout).unwrap().contains("No break."));
}
