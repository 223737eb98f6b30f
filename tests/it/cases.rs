//! The cases of `fixtures/cases`: distilled from public reports, each with the item that changed first and the remedy.

pub mod translated;

use std::str::FromStr;

use bytes::Bytes;
use inkfast::prefix::Cause;
use inkfast::prefix::item::Hints;
use inkfast::wire::format::Format;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::fixtures::{answer, compact, files};
use crate::harness::Core;
use crate::replay::{Outcome, Replayed, replay, route};

#[derive(Deserialize)]
pub struct Case {
    id: String,
    format: String,
    requests: Option<Vec<Box<RawValue>>>,
    requests_raw: Option<Vec<String>>,
    expect: Expect,
}

#[derive(Debug, Deserialize)]
pub struct Expect {
    #[serde(rename = "first_changed_item")]
    pub item: String,
    pub class: Option<String>,
    pub cause: String,
    pub remedy: String,
}

/// Every case: its name, its format, its bodies, and what must come out.
pub fn sequences() -> Vec<(String, Format, Vec<Bytes>, Expect)> {
    let read = |file| -> Case { serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap() };
    let cases = files("cases").into_iter().map(read);
    cases
        .map(|case| {
            let bodies = bodies(&case);
            (case.id, case.format.parse().unwrap(), bodies, case.expect)
        })
        .collect()
}

#[test]
fn the_first_changed_item_is_named_and_the_remedy_holds() {
    let (mut count, mut wrong) = (0, Vec::new());
    for file in files("cases") {
        let case: Case = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
        let format: Format = case.format.parse().unwrap();
        count += 1;
        check(&case, format, &mut wrong);
    }
    assert!(count >= 25, "only {count} cases");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A case's verdict beside the one that is right: of its first request that changed something, or of its last.
pub struct Found {
    pub cause: [String; 2],
    pub class: Option<[String; 2]>,
}

/// All of them, in the core alone.
pub fn all() -> Vec<Found> {
    files("cases")
        .iter()
        .map(|file| {
            let case: Case = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
            let format: Format = case.format.parse().unwrap();
            let bodies = bodies(&case);
            let mut core = Core::new(format, host_of(format));
            core.model = (format == Format::Gemini).then(|| "gemini-3.5-flash".to_owned());
            let turns = (1..).zip(&bodies).map(|(next, body)| {
                core.exchange(body, Hints::default(), &answer(body, &bodies[next..]))
                    .received
            });
            let turns: Vec<_> = turns.collect();
            // Of helpers under one key, the first request of each is a root.
            let roots = case.expect.class.as_deref() == Some("new_lineage");
            let verdict = turns.iter().find(|verdict| verdict.item.is_some());
            let verdict = verdict.unwrap_or(if roots { &turns[1] } else { &turns[turns.len() - 1] });
            Found {
                cause: [case.expect.cause.clone(), verdict.cause.as_str().to_owned()],
                class: case
                    .expect
                    .class
                    .map(|class| [class, verdict.class.as_str().to_owned()]),
            }
        })
        .collect()
}

fn check(case: &Case, format: Format, wrong: &mut Vec<String>) {
    let (upstream, path) = route(&case.format);
    let host = host_of(format);
    let bodies = bodies(case);
    let requests: Vec<Replayed> = (1..)
        .zip(&bodies)
        .map(|(next, body)| Replayed {
            path: path.to_owned(),
            headers: Vec::new(),
            body: body.clone(),
            answer: answer(body, &bodies[next..]),
        })
        .collect();
    let turns = replay(upstream, host, &requests);
    for (index, turn) in (1..).zip(&turns) {
        println!(
            "{} r{index}: recv={} sent={} node={}",
            case.id, turn.received, turn.sent, turn.node
        );
    }
    let mut fail = |what: String| wrong.push(format!("{}: {what}", case.id));
    first_change(&case.expect, &turns, &mut fail);
    remedy(&case.expect.remedy, in_head(case), &turns, &mut fail);
}

fn host_of(format: Format) -> &'static str {
    match format {
        Format::OpenaiChat => "api.openai.com",
        Format::Gemini => "generativelanguage.googleapis.com",
        _ => "gateway.example",
    }
}

fn bodies(case: &Case) -> Vec<Bytes> {
    match (&case.requests, &case.requests_raw) {
        (Some(requests), _) => requests.iter().map(|request| compact(request.get())).collect(),
        (None, Some(raw)) => raw.iter().map(|raw| Bytes::from(raw.clone())).collect(),
        (None, None) => panic!("{} has no requests", case.id),
    }
}

fn first_change(expect: &Expect, turns: &[Outcome], fail: &mut impl FnMut(String)) {
    let found = turns.iter().zip(1..).find_map(|(turn, index)| {
        let (verdict, item) = turn.received.split_once('@')?;
        let (class, cause) = verdict.split_once('/').unwrap_or((verdict, ""));
        Some((format!("r{index}:{item}"), class, cause))
    });
    match (expect.item.as_str(), found) {
        ("none", None) => {}
        ("none", Some((item, ..))) => fail(format!("changed at {item}, expected nothing")),
        (want, None) => fail(format!("nothing changed, expected {want}")),
        (want, Some((item, class, cause))) => {
            let rest = item.strip_prefix(want);
            if !rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', ':'])) {
                fail(format!("changed at {item}, expected {want}"));
            }
            if expect.class.as_deref().is_some_and(|want| want != class) {
                fail(format!("class {class}, expected {:?}", expect.class));
            }
            if cause != expect.cause {
                fail(format!("cause {cause}, expected {}", expect.cause));
            }
            let by_cause = Cause::from_str(cause).unwrap().remedy().as_str();
            if by_cause != expect.remedy {
                fail(format!("{cause} is for {by_cause}, expected {}", expect.remedy));
            }
        }
    }
}

/// Whether the first changed item is of the head.
fn in_head(case: &Case) -> bool {
    let item = case.expect.item.split_once(':').map_or("none", |(_, item)| item);
    let first_message = item == "messages[0]" && ["openai_chat", "ollama"].contains(&case.format.as_str());
    item.starts_with("system") || first_message
}

fn remedy(remedy: &str, head: bool, turns: &[Outcome], fail: &mut impl FnMut(String)) {
    match remedy {
        "append" if head => {
            let appends =
                |turn: &&Outcome| turn.sent.starts_with("extend") || turn.sent.starts_with("new_lineage");
            if let Some(turn) = turns.iter().find(|turn| !appends(turn)) {
                fail(format!("not append-only: {}", turn.sent));
            }
            if turns.iter().all(|turn| turn.nodes == 0) {
                fail("no node".into());
            }
        }
        "report_only" | "none" if turns.iter().any(|turn| !turn.same) => fail("a body was changed".into()),
        _ => {}
    }
}
