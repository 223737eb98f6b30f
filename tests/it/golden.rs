//! What leaves for what came, byte for byte: one short conversation for each wire format and kind of route.
//!
//! Each folder of `fixtures/golden/<format>/` is one conversation: `case.toml` says where it goes and what it shows,
//! `NN.request.json` came and `NN.sent.json` left. `INKFAST_BLESS=1` writes the latter anew, to be read before they are
//! kept.

use std::path::{Path, PathBuf};

use bytes::Bytes;
use inkfast::prefix::item::Hints;
use inkfast::wire::format::Format;
use serde::Deserialize;

use crate::harness::{Answer, Core};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    /// What it shows.
    shows: String,
    /// The upstream's host.
    host: String,
    /// The model, where the path names it.
    model: Option<String>,
    /// What is answered to each request: text, or call ids behind `calls:`.
    answers: Vec<String>,
}

#[test]
fn what_leaves_is_what_is_kept_here() {
    let mut wrong = Vec::new();
    let folders = folders();
    for (format, folder) in &folders {
        wrong.extend(replay(*format, folder));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    for format in Format::ALL {
        assert!(
            folders.iter().any(|(own, _)| *own == format),
            "{format} has a golden case"
        );
    }
}

fn replay(format: Format, folder: &Path) -> Vec<String> {
    let case: Case = toml::from_str(&std::fs::read_to_string(folder.join("case.toml")).unwrap()).unwrap();
    assert!(!case.shows.is_empty());
    let mut core = Core::new(format, &case.host);
    core.model = case.model;
    let mut wrong = Vec::new();
    for (number, said) in (1..).zip(&case.answers) {
        let file = |kind: &str| folder.join(format!("{number:02}.{kind}.json"));
        let body = Bytes::from(std::fs::read(file("request")).unwrap());
        let turn = core.exchange(&body, Hints::default(), &answer(said));
        assert_eq!(turn.guard, Ok(()), "{}", folder.display());
        if std::env::var("INKFAST_BLESS").is_ok() {
            std::fs::write(file("sent"), &turn.out).unwrap();
        }
        let kept = std::fs::read(file("sent")).unwrap_or_default();
        if turn.out != kept {
            let (out, kept) = (String::from_utf8_lossy(&turn.out), String::from_utf8_lossy(&kept));
            wrong.push(format!("{}\n left: {out}\n kept: {kept}", file("sent").display()));
        }
    }
    wrong
}

fn answer(said: &str) -> Answer {
    let calls = said.strip_prefix("calls:");
    Answer {
        status: 200,
        text: calls.map_or(said, |_| "").to_owned(),
        calls: calls
            .into_iter()
            .flat_map(|calls| calls.split(';'))
            .map(str::to_owned)
            .collect(),
    }
}

fn folders() -> Vec<(Format, PathBuf)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/golden");
    let inside = |folder: &Path| -> Vec<PathBuf> {
        let entries = std::fs::read_dir(folder).unwrap();
        let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        paths
    };
    let mut found = Vec::new();
    for format in inside(&root) {
        let name = format.file_name().unwrap().to_str().unwrap();
        let named: Format = name.parse().unwrap();
        found.extend(inside(&format).into_iter().map(|folder| (named, folder)));
    }
    found
}
