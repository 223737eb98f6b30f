//! Agents of official SDKs under `inkfast run`, against the simulated provider: what an audit in CI sees of them.

use std::path::Path;
use std::process::{Output, Stdio};

use inkfast::sim::{Config, Provider};
use serde_json::Value;

use super::command::inkfast;
use crate::clients::process::installed;

struct Run {
    folder: tempfile::TempDir,
    output: Output,
}

/// Five turns of the SDK with its prompt edited at the third; none where the SDKs are missing.
fn run(sdk: &str, flags: &[&str]) -> Option<Run> {
    let python = installed("INKFAST_TEST_VENV")?.join("bin/python");
    let provider = Provider::start(Config::default()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let upstream = |name: &str, host: &str| {
        format!(
            "[upstreams.{name}]\nurl = \"{}\"\nacts_as = \"{host}\"\n",
            provider.url()
        )
    };
    let config = upstream("openai", "api.openai.com") + &upstream("anthropic", "api.anthropic.com");
    std::fs::write(folder.path().join("inkfast.toml"), config).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients/edits_prompt.py");
    let command = [python.to_str().unwrap(), script.to_str().unwrap(), sdk];
    let flags = [
        &["--config", "inkfast.toml", "--record", "recording.jsonl"],
        flags,
    ]
    .concat();
    let output = inkfast(
        folder.path(),
        &flags,
        &[("PYTHONDONTWRITEBYTECODE", "1")],
        &command,
    )
    .stdin(Stdio::null())
    .output()
    .unwrap();
    let run = Run { folder, output };
    assert_eq!(run.recorded().len(), 5, "{}", run.errors());
    assert_eq!(
        provider.recorded().iter().filter(|one| one.status == 200).count(),
        5
    );
    Some(run)
}

impl Run {
    fn errors(&self) -> String {
        String::from_utf8_lossy(&self.output.stderr).into_owned()
    }

    fn file(&self, name: &str) -> String {
        std::fs::read_to_string(self.folder.path().join(name))
            .unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    fn recorded(&self) -> Vec<Value> {
        let text = self.file("recording.jsonl");
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }
}

#[test]
fn an_agents_edit_is_recorded_as_it_came_and_as_it_left() {
    for sdk in ["openai", "anthropic"] {
        let Some(run) = run(sdk, &[]) else { return };
        assert_eq!(run.output.status.code(), Some(0), "{}", run.errors());
        let edited: Vec<_> = run
            .recorded()
            .iter()
            .map(|line| line.get("sent").is_some())
            .collect();
        assert_eq!(edited, [false, false, true, true, true], "{sdk}");
        assert!(!run.file("recording.jsonl").contains("dummy"), "no key");
    }
}

#[test]
fn an_observed_agent_is_left_alone() {
    for sdk in ["openai", "anthropic"] {
        let Some(run) = run(sdk, &["--mode", "observe"]) else {
            return;
        };
        assert!(
            run.recorded().iter().all(|line| line.get("sent").is_none()),
            "{sdk}"
        );
    }
}

/// What the CI of an agent runs: the edit is found where nothing is rewritten, and does not leave where something is.
#[test]
fn gates_judge_what_left() {
    for sdk in ["openai", "anthropic"] {
        let gates = [
            "--fail-on",
            "system_changed",
            "--report",
            "out.xml",
            "--report",
            "out.html",
        ];
        let Some(observed) = run(sdk, &[&["--mode", "observe"], &gates[..]].concat()) else {
            return;
        };
        assert_eq!(
            observed.output.status.code(),
            Some(1),
            "{sdk}: {}",
            observed.errors()
        );
        assert!(
            observed.file("out.html").contains("rewrite/system_changed"),
            "{sdk}"
        );
        let failure = "<failure message=\"rewrite/system_changed@";
        assert!(observed.file("out.xml").contains(failure), "{sdk}");
        assert!(observed.errors().contains("FAIL"), "{}", observed.errors());

        let rewritten = run(sdk, &gates).unwrap();
        assert_eq!(
            rewritten.output.status.code(),
            Some(0),
            "{sdk}: {}",
            rewritten.errors()
        );
        assert!(
            !rewritten.file("out.xml").contains("<failure"),
            "{}",
            rewritten.file("out.xml")
        );
    }
}

/// The code of the command wins over a gate's.
#[test]
fn a_command_that_fails_says_so_itself() {
    let folder = tempfile::tempdir().unwrap();
    let output = inkfast(
        folder.path(),
        &["--fail-under", "0.5"],
        &[],
        &["sh", "-c", "exit 7"],
    )
    .output()
    .unwrap();
    assert_eq!(output.status.code(), Some(7));
    let output = inkfast(folder.path(), &["--fail-under", "0.5"], &[], &["true"])
        .output()
        .unwrap();
    assert_eq!(
        output.status.code(),
        Some(1),
        "a figure that is unknown has not passed"
    );
    let output = inkfast(folder.path(), &["--fail-on", "nonsense"], &[], &["true"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(
        String::from_utf8_lossy(&output.stderr).contains("system_changed"),
        "the names are listed"
    );
}
