//! Gates and baselines, by exit codes.

use super::Audited;

const BREAKS: &str = "captures/claude-code";

#[test]
fn a_gate_fails_by_what_it_measures() {
    let audited = Audited::fixture(BREAKS);
    for (flags, code) in [
        (&["--fail-under", "0.5"][..], 0),
        (&["--fail-under", "0.99"], 1),
        (&["--fail-on", "history_edited"], 0),
        (&["--fail-on", "history_edited,system_changed"], 1),
        (&["--fail-on", "system_changed", "--fail-under", "0.1"], 1),
    ] {
        let output = audited.audit(flags);
        assert_eq!(output.status.code(), Some(code), "{flags:?}");
    }
}

#[test]
fn what_is_unknown_has_not_passed() {
    let one = serde_json::json!({"model": "m", "messages": [{"role": "user", "content": "hello"}]});
    let output = Audited::bodies(&[one]).audit(&["--fail-under", "0.1"]);
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("no request continues another"), "{text}");
}

#[test]
fn a_baseline_forgives_what_was_there() {
    let audited = Audited::fixture(BREAKS);
    assert_eq!(audited.audit(&["--report", "old.json"]).status.code(), Some(0));
    let same = audited.audit(&["--baseline", "old.json", "--fail-on", "system_changed"]);
    assert_eq!(
        same.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&same.stdout)
    );
    let text = audited.text("old.json");
    let before: serde_json::Value = serde_json::from_str(&text).unwrap();
    let mut fewer = before.clone();
    fewer["kinds"]
        .as_array_mut()
        .unwrap()
        .retain(|kind| kind["cause"] != "tool_changed");
    assert_ne!(fewer, before);
    std::fs::write(audited.folder.path().join("old.json"), fewer.to_string()).unwrap();
    let more = audited.audit(&["--baseline", "old.json"]);
    assert_eq!(more.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&more.stdout).contains("tool_changed@tools"));
}

#[test]
fn bad_usage_is_told() {
    let audited = Audited::fixture(BREAKS);
    for (flags, said) in [
        (&["--fail-on", "nonsense"][..], "system_changed"),
        (&["--fail-under", "1.5"], "from 0 to 1"),
        (&["--report", "out.pdf"], ".sarif"),
        (&["--baseline", "missing.json"], "missing.json"),
        (&["--format", "pdf"], "junit"),
    ] {
        let output = audited.audit(flags);
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{flags:?}");
        assert!(errors.contains(said), "{flags:?}: {errors}");
    }
}

/// A badge is one line for a dashboard, and says unknown where nothing is known.
#[test]
fn a_badge_has_a_colour() {
    let badge = |audited: &Audited| -> serde_json::Value {
        serde_json::from_slice(&audited.audit(&["--format", "badge"]).stdout).unwrap()
    };
    let known = badge(&Audited::fixture(BREAKS));
    assert_eq!(known["schemaVersion"], 1);
    assert!(known["message"].as_str().unwrap().contains('%'), "{known}");
    let one = serde_json::json!({"model": "m", "messages": [{"role": "user", "content": "hello"}]});
    let unknown = badge(&Audited::bodies(&[one]));
    assert!(!unknown["message"].as_str().unwrap().contains('%'), "{unknown}");
}
