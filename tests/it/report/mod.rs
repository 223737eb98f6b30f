//! Reports of the built binary: valid by published schemas, safe with hostile text, right in a real browser.

mod browser;
mod forms;
mod gates;
mod model;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value, json};

/// Text that would be markup, an escape or the end of a section somewhere.
pub const HOSTILE: &str =
    "<script>alert('x')</script> ]]> \u{1b}[31m | `a` & \"b\" <img src=x onerror=alert(1)>";

/// A folder with a recording in it.
pub struct Audited {
    pub folder: tempfile::TempDir,
    recording: PathBuf,
}

impl Audited {
    /// Of a recording in the fixtures.
    pub fn fixture(name: &str) -> Self {
        let recording = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(name);
        Self {
            folder: tempfile::tempdir().unwrap(),
            recording,
        }
    }

    /// Of these bodies, sent one after another.
    pub fn bodies(bodies: &[Value]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let recording = folder.path().join("bodies.jsonl");
        let lines: String = bodies.iter().map(|body| format!("{body}\n")).collect();
        std::fs::write(&recording, lines).unwrap();
        Self { folder, recording }
    }

    pub fn audit(&self, flags: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_inkfast"))
            .current_dir(self.folder.path())
            .arg("audit")
            .arg(&self.recording)
            .args(flags)
            .output()
            .unwrap()
    }

    pub fn text(&self, file: &str) -> String {
        std::fs::read_to_string(self.folder.path().join(file))
            .unwrap_or_else(|error| panic!("{file}: {error}"))
    }
}

/// A conversation with names and texts that are hostile, and one edit of its head.
pub fn hostile() -> Audited {
    let request = |head: &str, history: Value| {
        let mut messages = vec![
            json!({"role": "system", "content": format!("Follow the rules of this house. {head} So it is.")}),
        ];
        messages.extend(history.as_array().unwrap().iter().cloned());
        let tool =
            json!({"type": "function", "function": {"name": HOSTILE, "parameters": {"type": "object"}}});
        json!({"model": HOSTILE, "messages": messages, "tools": [tool]})
    };
    let first = json!({"role": "user", "content": "hello"});
    let then = [
        first.clone(),
        json!({"role": "assistant", "content": "hi"}),
        json!({"role": "user", "content": "go on"}),
    ];
    Audited::bodies(&[
        request("It is calm.", json!([first])),
        request(HOSTILE, json!(then)),
    ])
}
