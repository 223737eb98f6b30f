//! The real mitmproxy in front of the provider: what it records of the SDKs' traffic, to flows and to HAR, is judged alike.
//!
//! `tests/run` installs it. With INKFAST_BLESS=1 the recordings become fixtures, for tests that run without it.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use inkfast::sim::{Answer, Provider};

use super::walk::{exchanges, fixture, judge, read};
use crate::clients::process::{Program, installed};

/// The verdicts on each SDK's conversation.
const VERDICTS: [&str; 5] = [
    "new_lineage/none",
    "extend/none",
    "rewrite/system_changed@system[0]",
    "reorder/tools_reordered@tools[0]",
    "extend/none",
];

#[test]
fn mitmproxy_records_the_sdks() {
    let Some(recorded) = record("recorded.py", 10, false) else {
        return;
    };
    let (flows, har) = (&recorded.flows, &recorded.har);
    for path in [flows, har] {
        holds_both_conversations(path);
    }
    let bodies = |path: &Path| {
        exchanges(read(path))
            .into_iter()
            .map(|one| one.body)
            .collect::<Vec<_>>()
    };
    assert_eq!(bodies(flows), bodies(har), "the same bytes");
    if std::env::var_os("INKFAST_BLESS").is_some() {
        std::fs::copy(flows, fixture("flows/mitmproxy.flows")).unwrap();
        std::fs::copy(har, fixture("har/mitmproxy.har")).unwrap();
    }
}

#[test]
fn what_mitmproxy_recorded_once_is_still_read() {
    for name in ["flows/mitmproxy.flows", "har/mitmproxy.har"] {
        holds_both_conversations(&fixture(name));
    }
}

#[test]
fn mitmproxy_records_a_websocket() {
    let Some(recorded) = record("openai_websocket.py", 15, true) else {
        return;
    };
    let [flows, har] = [&recorded.flows, &recorded.har].map(|path| {
        let all: Vec<_> = exchanges(read(path)).into_iter().collect();
        let verdicts: Vec<_> = judge(&all)
            .into_iter()
            .map(|judged| (judged.verdict, judged.usage))
            .collect();
        (all.into_iter().map(|one| one.body).collect::<Vec<_>>(), verdicts)
    });
    assert_eq!(flows, har);
    let (bodies, verdicts) = flows;
    assert_eq!(bodies.len(), 15, "each prompt was a frame");
    assert!(
        verdicts.iter().all(|(_, usage)| usage.is_some()),
        "each with its answer: {verdicts:?}"
    );
    let news = verdicts
        .iter()
        .filter(|(verdict, _)| verdict.starts_with("new_lineage"))
        .count();
    assert_eq!(news, 1, "{verdicts:?}");
}

fn holds_both_conversations(path: &Path) {
    let all = exchanges(read(path));
    let judged = judge(&all);
    for paths in ["/v1/chat/completions", "/v1/messages"] {
        let of_path = |index: &usize| all[*index].path.as_deref() == Some(paths);
        let of_path: Vec<_> = (0..all.len()).filter(of_path).collect();
        let verdicts: Vec<_> = of_path.iter().map(|index| &*judged[*index].verdict).collect();
        assert_eq!(verdicts, VERDICTS, "{paths} in {}", path.display());
        let counts = of_path
            .iter()
            .filter_map(|index| judged[*index].usage?.input_total);
        assert_eq!(
            counts.filter(|total| *total > 0).count(),
            5,
            "{paths} in {}",
            path.display()
        );
    }
}

/// What mitmproxy wrote; it goes with the folder.
struct Recorded {
    flows: PathBuf,
    har: PathBuf,
    _folder: tempfile::TempDir,
}

/// Runs a script through mitmproxy.
fn record(script: &str, answers: usize, calls: bool) -> Option<Recorded> {
    let (clients, recorder) = (
        installed("INKFAST_TEST_VENV")?,
        installed("INKFAST_TEST_MITMPROXY")?,
    );
    let provider = Provider::start(inkfast::sim::Config::default()).unwrap();
    let said = if calls {
        crate::clients::script::answers(true)
    } else {
        texts(answers)
    };
    assert_eq!(said.len(), answers);
    said.into_iter().for_each(|answer| provider.push(answer));
    let temporary = tempfile::tempdir().unwrap();
    let folder = temporary.path();
    let (flows, har) = (folder.join("out.flows"), folder.join("out.har"));
    let mitmproxy = Mitmproxy::start(&recorder, folder, &provider.url(), [&flows, &har]);
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients");
    Program::new(&clients.join("bin/python"), folder)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .arg(scripts.join(script))
        .arg(&mitmproxy.url)
        .output();
    mitmproxy.stop();
    Some(Recorded {
        flows,
        har,
        _folder: temporary,
    })
}

fn texts(count: usize) -> Vec<Answer> {
    (0..count)
        .map(|number| Answer::text(format!("Step {number} is done: 1 < 2 && \"ok\" 漢字.")))
        .collect()
}

struct Mitmproxy {
    child: Child,
    url: String,
}

impl Mitmproxy {
    /// On a free port, all its files in `folder`.
    fn start(venv: &Path, folder: &Path, upstream: &str, [flows, har]: [&Path; 2]) -> Self {
        let log = folder.join("mitmproxy.log");
        let child = Command::new(venv.join("bin/mitmdump"))
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", folder)
            .env("PYTHONUNBUFFERED", "1")
            .args([
                "--mode",
                &format!("reverse:{upstream}"),
                "--listen-host",
                "127.0.0.1",
                "--listen-port",
                "0",
            ])
            .args([
                "--set",
                &format!("confdir={}", folder.display()),
                "--set",
                &format!("hardump={}", har.display()),
            ])
            .arg("-w")
            .arg(flows)
            .stdin(Stdio::null())
            .stdout(File::create(&log).unwrap())
            .stderr(File::create(folder.join("mitmproxy.err")).unwrap())
            .spawn()
            .unwrap();
        let url = listening(&log);
        Self { child, url }
    }

    /// The HAR is written at its end.
    fn stop(mut self) {
        let id = self.child.id().to_string();
        assert!(
            Command::new("kill")
                .args(["-TERM", &id])
                .status()
                .unwrap()
                .success()
        );
        assert!(self.child.wait().unwrap().success());
    }
}

impl Drop for Mitmproxy {
    fn drop(&mut self) {
        // It has ended, unless the test fails.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The address in its log, once it is there.
fn listening(log: &Path) -> String {
    let deadline = Instant::now() + Duration::from_secs(60);
    while Instant::now() < deadline {
        for line in BufReader::new(File::open(log).unwrap()).lines() {
            if let Some((_, rest)) = line.unwrap().split_once("listening at ") {
                let address = rest.trim().trim_end_matches('.').trim_start_matches("http://");
                return format!("http://{address}");
            }
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!(
        "mitmproxy does not listen: {}",
        std::fs::read_to_string(log).unwrap()
    );
}
