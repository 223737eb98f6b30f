//! The HTML report in headless Chromium: what stands in the document once a browser has read it.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::{Audited, hostile};

/// A page as the browser holds it, and what it had to say on its console.
struct Page {
    dom: String,
    console: Vec<String>,
}

/// Opens a file; none where there is no browser, which is a failure in CI.
fn open(file: &Path) -> Option<Page> {
    let profile = tempfile::tempdir().unwrap();
    let spawned = Command::new("chromium")
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
        ])
        .args([
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
        ])
        .args([
            "--enable-logging=stderr",
            "--virtual-time-budget=2000",
            "--dump-dom",
        ])
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .arg(format!("file://{}", file.display()))
        .output();
    let output = match spawned {
        Ok(output) => output,
        Err(error) => {
            assert!(std::env::var_os("CI").is_none(), "chromium: {error}");
            return None;
        }
    };
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{errors}");
    Some(Page {
        dom: String::from_utf8(output.stdout).unwrap(),
        console: errors
            .lines()
            .filter(|line| line.contains("CONSOLE"))
            .map(str::to_owned)
            .collect(),
    })
}

impl Page {
    /// The class and bytes of every segment of the strips, in the order of the document.
    fn segments(&self) -> Vec<(String, u64)> {
        let strips = self.dom.split("class=\"seg ").skip(1);
        let segments = strips.filter_map(|segment| {
            let (class, rest) = segment.split_once('"')?;
            let bytes = rest.split('>').next()?.split_once("data-bytes=\"")?.1;
            Some((class.to_owned(), bytes.split('"').next()?.parse().ok()?))
        });
        segments.collect()
    }
}

/// What the JSON report has as strips.
fn strips(report: &str) -> Vec<(String, u64)> {
    let report: Value = serde_json::from_str(report).unwrap();
    let all = |value: &Value, name: &str| value[name].as_array().unwrap().clone();
    let conversations = all(&report, "conversations");
    let turns = conversations.iter().flat_map(|one| all(one, "turns"));
    let segments = turns.flat_map(|turn| all(&turn, "strip"));
    segments
        .map(|run| {
            (
                run["share"].as_str().unwrap().to_owned(),
                run["bytes"].as_u64().unwrap(),
            )
        })
        .collect()
}

#[test]
fn a_browser_shows_every_strip() {
    let audited = Audited::fixture("captures/claude-code");
    audited.audit(&["--report", "out.html", "--report", "out.json"]);
    let Some(page) = open(&audited.folder.path().join("out.html")) else {
        return;
    };
    assert_eq!(page.console, Vec::<String>::new());
    let segments = page.segments();
    assert_eq!(segments, strips(&audited.text("out.json")));
    for share in ["stable", "new", "broken"] {
        assert!(
            segments.iter().any(|(class, bytes)| class == share && *bytes > 0),
            "{share}"
        );
    }
}

#[test]
fn a_prompt_with_a_script_stays_text_in_a_browser() {
    let audited = hostile();
    audited.audit(&["--report", "out.html", "--show-content"]);
    let Some(page) = open(&audited.folder.path().join("out.html")) else {
        return;
    };
    assert_eq!(page.console, Vec::<String>::new());
    assert!(
        !page.dom.contains("<script") && !page.dom.contains("<img"),
        "{}",
        page.dom
    );
    assert!(page.dom.contains("&lt;script&gt;alert"), "it is shown");
}

/// The console is listened to: the page's own policy forbids a script, and the browser says so.
#[test]
fn a_script_would_be_noticed() {
    let audited = hostile();
    audited.audit(&["--report", "out.html"]);
    let file = audited.folder.path().join("out.html");
    let text = audited
        .text("out.html")
        .replace("</main>", "<script>document.title = 'x'</script></main>");
    std::fs::write(&file, text).unwrap();
    let Some(page) = open(&file) else { return };
    assert_eq!(page.console.len(), 1, "{:?}", page.console);
    assert!(!page.dom.contains("<title>x"), "and it did not run");
}
