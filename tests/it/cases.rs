//! The cases of `fixtures/cases`: distilled from public reports, each with the item that changed first and the remedy.

use std::path::Path;

use bytes::Bytes;
use inkfast::prefix::Class;
use inkfast::prefix::item::Hints;
use inkfast::wire::format::Format;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::fixtures::{answer, compact};
use crate::harness::{Core, Turn};

#[derive(Deserialize)]
struct Case {
    id: String,
    format: String,
    requests: Option<Vec<Box<RawValue>>>,
    requests_raw: Option<Vec<String>>,
    expect: Expect,
}

#[derive(Deserialize)]
struct Expect {
    first_changed_item: String,
    class: Option<String>,
    remedy: String,
}

#[test]
fn the_first_changed_item_is_named_and_the_remedy_holds() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/cases");
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
        let case: Case = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
        if let Ok(format) = case.format.parse::<Format>() {
            count += 1;
            check(&case, format, &mut wrong);
        }
    }
    assert!(count >= 20, "only {count} cases of the two formats");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn check(case: &Case, format: Format, wrong: &mut Vec<String>) {
    let host = match format {
        Format::OpenaiChat => "api.openai.com",
        Format::AnthropicMessages => "gateway.example",
    };
    let mut core = Core::new(format, host);
    let bodies = bodies(case);
    let mut turns = Vec::new();
    for (index, body) in bodies.iter().enumerate() {
        let answer = answer(body, &bodies[index + 1..]);
        let turn = core.exchange(body, Hints::default(), &answer);
        assert_eq!(turn.guard, Ok(()), "{} r{}", case.id, index + 1);
        let node = turn.plan.outcome.as_str();
        println!(
            "{} r{}: recv={} sent={} node={node}",
            case.id,
            index + 1,
            turn.plan.received,
            turn.plan.sent
        );
        turns.push(turn);
    }
    let mut fail = |what: String| wrong.push(format!("{}: {what}", case.id));
    first_change(case, &turns, &mut fail);
    remedy(case, &turns, &bodies, &mut fail);
}

fn bodies(case: &Case) -> Vec<Bytes> {
    match (&case.requests, &case.requests_raw) {
        (Some(requests), _) => requests.iter().map(|request| compact(request.get())).collect(),
        (None, Some(raw)) => raw.iter().map(|raw| Bytes::from(raw.clone())).collect(),
        (None, None) => panic!("{} has no requests", case.id),
    }
}

fn first_change(case: &Case, turns: &[Turn], fail: &mut impl FnMut(String)) {
    let found = turns.iter().enumerate().find_map(|(index, turn)| {
        turn.plan
            .received
            .item
            .as_ref()
            .map(|item| (format!("r{}:{item}", index + 1), turn))
    });
    match (case.expect.first_changed_item.as_str(), found) {
        ("none", None) => {}
        ("none", Some((item, _))) => fail(format!("changed at {item}, expected nothing")),
        (want, None) => fail(format!("nothing changed, expected {want}")),
        (want, Some((item, turn))) => {
            let rest = item.strip_prefix(want);
            if !rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', ':'])) {
                fail(format!("changed at {item}, expected {want}"));
            }
            let class = turn.plan.received.class.as_str();
            if case.expect.class.as_deref().is_some_and(|want| want != class) {
                fail(format!("class {class}, expected {:?}", case.expect.class));
            }
        }
    }
}

fn remedy(case: &Case, turns: &[Turn], bodies: &[Bytes], fail: &mut impl FnMut(String)) {
    let item = case
        .expect
        .first_changed_item
        .split_once(':')
        .map_or("none", |(_, item)| item);
    let head = item.starts_with("system") || item == "messages[0]" && case.format == "openai_chat";
    match case.expect.remedy.as_str() {
        "append" if head => {
            for (turn, index) in turns.iter().zip(1..) {
                if !matches!(turn.plan.sent.class, Class::Extend | Class::NewLineage) {
                    fail(format!("r{index} is not append-only: {}", turn.plan.sent));
                }
            }
            if turns.iter().all(|turn| turn.lowered.nodes.is_empty()) {
                fail("no node".into());
            }
        }
        "report_only" | "none" => {
            for ((turn, body), index) in turns.iter().zip(bodies).zip(1..) {
                if turn.out != body {
                    fail(format!("r{index} was changed"));
                }
            }
        }
        _ => {}
    }
}
