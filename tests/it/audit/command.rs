//! The command: what it reads, how it ends.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output};

use flate2::{Compression, write::GzEncoder};

fn audit(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_inkfast"))
        .current_dir(folder)
        .arg("audit")
        .args(arguments)
        .output()
        .unwrap()
}

fn fixture(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(name);
    path.display().to_string()
}

#[test]
fn what_cannot_be_read_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, content: &[u8]| std::fs::write(folder.path().join(name), content).unwrap();
    file("noise.bin", &[0, 159, 146, 150, 7, 7]);
    file("text.txt", b"no recording at all");
    file("empty.jsonl", b"");
    file("newer.jsonl", b"{\"inkfast_recording\":99,\"body\":\"{}\"}\n");
    std::fs::create_dir(folder.path().join("hollow")).unwrap();
    for (path, said) in [
        ("missing.jsonl", "missing.jsonl"),
        ("noise.bin", "not a recording"),
        ("text.txt", "not a recording"),
        ("empty.jsonl", "no request"),
        ("newer.jsonl", "no request"),
        ("hollow", "no recording in this folder"),
    ] {
        let output = audit(folder.path(), &[path]);
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{path}: {errors}");
        assert!(errors.contains(said), "{path}: {errors}");
    }
    let newer = audit(folder.path(), &["newer.jsonl"]);
    assert!(String::from_utf8_lossy(&newer.stdout).contains("newer_version 1"));
}

/// A line that is broken costs that line, and the report says so.
#[test]
fn a_broken_line_costs_that_line() {
    let folder = tempfile::tempdir().unwrap();
    let good = std::fs::read_to_string(fixture("recordings/own/conversation.jsonl")).unwrap();
    let mut lines: Vec<&str> = good.lines().collect();
    let whole = lines.len();
    lines.insert(2, "{\"inkfast_recording\":1,\"body\":");
    std::fs::write(folder.path().join("broken.jsonl"), lines.join("\n")).unwrap();
    let output = audit(folder.path(), &["broken.jsonl", "--format", "json"]);
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["totals"]["requests"], whole);
    assert_eq!(
        report["totals"]["skipped"],
        serde_json::json!([{"reason": "malformed", "count": 1}])
    );
}

#[test]
fn several_paths_and_a_compressed_one_are_one_audit() {
    let folder = tempfile::tempdir().unwrap();
    let own = fixture("recordings/own/conversation.jsonl");
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(&std::fs::read(&own).unwrap()).unwrap();
    std::fs::write(folder.path().join("packed.gz"), packed.finish().unwrap()).unwrap();
    let requests = |paths: &[&str]| -> u64 {
        let output = audit(folder.path(), &[paths, &["--format", "json"]].concat());
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        report["totals"]["requests"].as_u64().unwrap()
    };
    let one = requests(&[&own]);
    assert!(one > 0);
    assert_eq!(requests(&["packed.gz"]), one);
    assert_eq!(
        requests(&["packed.gz", &fixture("captures/cline")]),
        one + requests(&[&fixture("captures/cline")])
    );
}

/// Ids can be compared between reports where that was asked for, and nowhere else.
#[test]
fn ids_are_portable_on_request() {
    let folder = tempfile::tempdir().unwrap();
    let path = fixture("captures/claude-code");
    let id = |flags: &[&str]| {
        let output = audit(
            folder.path(),
            &[&[path.as_str(), "--format", "json"], flags].concat(),
        );
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        report["findings"][0]["new"]["id"].as_str().unwrap().to_owned()
    };
    assert_eq!(id(&["--portable-ids"]), id(&["--portable-ids"]));
    assert_ne!(id(&[]), id(&[]));
}

/// A user's own prices give costs; without them there are none in money.
#[test]
fn prices_are_the_users_own() {
    let folder = tempfile::tempdir().unwrap();
    let prices = "[[base]]\nmodels = [\"*\"]\ninput_per_mtok = 4.0\n";
    std::fs::write(folder.path().join("prices.toml"), prices).unwrap();
    let path = fixture("recordings/own/conversation.jsonl");
    let output = audit(
        folder.path(),
        &[&path, "--format", "json", "--prices", "prices.toml"],
    );
    assert_eq!(
        output.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let bad = audit(folder.path(), &[&path, "--prices", "missing.toml"]);
    assert_eq!(bad.status.code(), Some(2));
}
