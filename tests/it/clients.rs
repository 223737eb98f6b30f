//! The official Python SDKs through the built binary, against the simulated provider: streaming tool loops with
//! edits of the system prompt.

use std::process::Command;

use inkfast::sim::{Config, Provider, Recorded};
use serde_json::Value;

use crate::binary::Inkfast;

#[test]
fn openai_sdk() {
    let Some(run) = Run::of("openai_chat.py", "openai", "api.openai.com", "/v1") else {
        return;
    };
    run.extends(&["messages"]);
    run.usage_is_what_the_sdk_saw("openai_chat");
}

#[test]
fn anthropic_sdk() {
    let Some(run) = Run::of("anthropic_messages.py", "anthropic", "api.anthropic.com", "") else {
        return;
    };
    run.extends(&["system", "messages"]);
    run.usage_is_what_the_sdk_saw("anthropic_messages");
    let counted: Vec<u64> = run.seen["counted"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(Value::as_u64)
        .collect();
    let totals: Vec<u64> = run.usage("total");
    assert_eq!(counted, totals, "count_tokens counts what is sent");
}

struct Run {
    inkfast: Inkfast,
    seen: Value,
    recorded: Vec<Recorded>,
    _folder: tempfile::TempDir,
}

impl Run {
    /// Runs one client; none where the suite's Python is missing, which in CI is a failure.
    fn of(script: &str, upstream: &str, acts_as: &str, path: &str) -> Option<Self> {
        let Some(venv) = std::env::var_os("INKFAST_TEST_VENV") else {
            assert!(
                std::env::var_os("CI").is_none(),
                "INKFAST_TEST_VENV is not set: run tests/run"
            );
            println!("skipped: INKFAST_TEST_VENV is not set (tests/run sets it)");
            return None;
        };
        let provider = Provider::start(Config::default()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let config = format!(
            "[upstreams.{upstream}]\nurl = \"{}\"\nacts_as = \"{acts_as}\"\n",
            provider.url()
        );
        let inkfast = Inkfast::serve(folder.path(), &config);
        let python = std::path::Path::new(&venv).join("bin/python");
        let script = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/clients")
            .join(script);
        let output = Command::new(python)
            .arg(script)
            .arg(format!("{}{path}", inkfast.proxy))
            .output()
            .unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{errors}");
        let seen: Value = serde_json::from_slice(&output.stdout).unwrap();
        let is_chat = |recorded: &Recorded| !recorded.target.contains("count_tokens");
        let recorded: Vec<_> = provider.recorded().into_iter().filter(is_chat).collect();
        assert!(recorded.iter().all(|recorded| recorded.status == 200));
        Some(Self {
            inkfast,
            seen,
            recorded,
            _folder: folder,
        })
    }

    /// Invariant 2 on the captured bodies: this client only appends behind its head, so all that was sent stands.
    fn extends(&self, members: &[&str]) {
        let bodies: Vec<Value> = self
            .recorded
            .iter()
            .map(|recorded| serde_json::from_slice(&recorded.body).unwrap())
            .collect();
        assert!(bodies.len() > 10);
        for (before, after) in bodies.iter().zip(&bodies[1..]) {
            for member in members {
                let (before, after) = (plain(&before[*member]), plain(&after[*member]));
                let (before, after) = (before.as_array().unwrap(), after.as_array().unwrap());
                let differs = before
                    .iter()
                    .zip(after)
                    .position(|(before, after)| before != after);
                let first = differs.unwrap_or(after.len().min(before.len()));
                let short = |items: &[Value]| {
                    items
                        .get(first)
                        .map(|item| item.to_string().chars().take(600).collect::<String>())
                };
                assert_eq!(
                    first,
                    before.len(),
                    "{member}[{first}]: {:?} became {:?}",
                    short(before),
                    short(after)
                );
            }
        }
        let nodes = self.inkfast.metric("inkfast_nodes_total", &[]);
        assert!(nodes >= 3.0, "{nodes} nodes");
    }

    fn usage(&self, field: &str) -> Vec<u64> {
        self.seen["usage"]
            .as_array()
            .unwrap()
            .iter()
            .map(|usage| usage[field].as_u64().unwrap_or(0))
            .collect()
    }

    fn usage_is_what_the_sdk_saw(&self, format: &str) {
        let sent: Vec<u64> = self
            .recorded
            .iter()
            .map(|recorded| recorded.usage.unwrap().total as u64)
            .collect();
        assert_eq!(self.usage("total"), sent);
        self.inkfast.wait_for_requests(self.recorded.len());
        let metric = |cache: &str| {
            self.inkfast
                .metric("inkfast_input_tokens_total", &[&format!("cache=\"{cache}\"")]) as u64
        };
        let (total, cached): (u64, u64) = (
            self.usage("total").iter().sum(),
            self.usage("cached").iter().sum(),
        );
        assert!(cached > total / 2, "{cached} of {total} cached");
        assert_eq!(metric("read"), cached);
        assert_eq!(metric("write"), self.usage("written").iter().sum::<u64>());
        assert_eq!(metric("read") + metric("write") + metric("none"), total);
        let format = format!("format=\"{format}\"");
        assert!(self.inkfast.metric("inkfast_requests_total", &[&format]) as usize >= self.recorded.len());
    }
}

/// A value without cache markers, a content of one bare text block as its string.
fn plain(value: &Value) -> Value {
    match value {
        Value::Array(items) => {
            let items: Vec<Value> = items.iter().map(plain).collect();
            match items.as_slice() {
                [only] if only["type"] == "text" && only.as_object().unwrap().len() == 2 => {
                    only["text"].clone()
                }
                _ => Value::Array(items),
            }
        }
        Value::Object(members) => {
            let kept = members.iter().filter(|(name, _)| *name != "cache_control");
            Value::Object(kept.map(|(name, value)| (name.clone(), plain(value))).collect())
        }
        other => other.clone(),
    }
}
