//! The fixtures of `fixtures/verdicts`: two or three requests each, and the verdict on the last.

use bytes::Bytes;
use inkfast::prefix::item::Hints;
use inkfast::wire::format::Format;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::core;
use crate::fixtures::{answer, compact, files};
use crate::translate::model_in_path;

#[derive(Deserialize)]
struct Fixture {
    format: Format,
    #[serde(default)]
    models: Vec<String>,
    expect: Expect,
    requests: Option<Vec<Box<RawValue>>>,
    requests_raw: Option<Vec<String>>,
}

#[derive(Deserialize)]
struct Expect {
    class: String,
    cause: String,
    item: Option<String>,
    remedy: String,
}

/// A fixture's verdict beside the one that is right.
pub struct Found {
    pub expected: [String; 2],
    pub class: &'static str,
    pub cause: &'static str,
    pub wrong: Option<String>,
}

/// All of them.
pub fn all() -> Vec<Found> {
    files("verdicts")
        .iter()
        .map(|file| {
            let fixture: Fixture = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
            found(file.file_stem().unwrap().to_str().unwrap(), &fixture)
        })
        .collect()
}

fn found(name: &str, fixture: &Fixture) -> Found {
    let bodies: Vec<Bytes> = match (&fixture.requests, &fixture.requests_raw) {
        (Some(requests), _) => requests.iter().map(|request| compact(request.get())).collect(),
        (None, Some(raw)) => raw.iter().map(|raw| Bytes::from(raw.clone())).collect(),
        _ => panic!("{name} has no requests"),
    };
    let mut core = core(fixture.format);
    let turns = bodies.iter().enumerate().map(|(index, body)| {
        let path = model_in_path(fixture.format).then(|| "gemini-3.5-flash".to_owned());
        core.model = fixture.models.get(index).cloned().or(path);
        core.exchange(body, Hints::default(), &answer(body, &bodies[index + 1..]))
    });
    let turn = turns.last().unwrap();
    let (verdict, expect) = (turn.received, &fixture.expect);
    let right = verdict.class.as_str() == expect.class
        && verdict.cause.as_str() == expect.cause
        && verdict.item == expect.item
        && verdict.cause.remedy().as_str() == expect.remedy;
    Found {
        expected: [expect.class.clone(), expect.cause.clone()],
        class: verdict.class.as_str(),
        cause: verdict.cause.as_str(),
        wrong: (!right).then(|| {
            format!(
                "{name}: {verdict} {}, expected {}/{} {:?} {}",
                verdict.cause.remedy().as_str(),
                expect.class,
                expect.cause,
                expect.item,
                expect.remedy
            )
        }),
    }
}

#[test]
fn every_fixture_gets_its_verdict() {
    let all = all();
    let wrong: Vec<_> = all.iter().filter_map(|found| found.wrong.as_deref()).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(all.len() >= 25, "only {} fixtures", all.len());
}
