//! The dashboards in `grafana/`: they only ask for metrics that exist, and a real Prometheus answers every query.

mod prometheus;

use prometheus::Prometheus;
use serde_json::Value;
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

#[test]
fn queries_use_declared_metrics() {
    let declared = declared_metrics(&read("src/metrics.rs"));
    let unknown: Vec<String> = queries()
        .iter()
        .flat_map(|query| undeclared(&query.expression, &declared))
        .collect();
    assert!(unknown.is_empty(), "not declared in src/metrics.rs: {unknown:?}");
}

#[test]
fn undeclared_metrics_are_caught() {
    let declared = declared_metrics(r#"const A: &str = "inkfast_a_seconds"; opts!("b_total", "help text")"#);
    assert_eq!(
        undeclared("rate(inkfast_a_seconds_bucket[5m]) / inkfast_b_total", &declared),
        Vec::<String>::new()
    );
    assert_eq!(
        undeclared("inkfast_c_total + inkfast_a_seconds", &declared),
        ["inkfast_c_total"]
    );
    assert_eq!(undeclared("vector(1)", &declared), ["no metric in vector(1)"]);
}

/// A real Prometheus scrapes the binary each second during a paced demo; every query brings at least one number.
#[test]
fn prometheus_answers_every_query() {
    let demo = PacedDemo::start();
    let Some(prometheus) = Prometheus::start(&read("config/prometheus.yml"), &demo.admin) else {
        return;
    };
    assert_all_answered(&prometheus, &queries(), Duration::from_secs(90));
}

/// Waits until each query has a number, for at most `patience`.
fn assert_all_answered(prometheus: &Prometheus, queries: &[Query], patience: Duration) {
    assert!(!queries.is_empty());
    let deadline = Instant::now() + patience;
    loop {
        let silent: Vec<&Query> = queries
            .iter()
            .filter(|query| !prometheus.has_number(&filled(&query.expression)))
            .collect();
        if silent.is_empty() {
            return;
        }
        assert!(Instant::now() < deadline, "no number from {silent:#?}");
        thread::sleep(Duration::from_millis(500));
    }
}

#[derive(Debug)]
struct Query {
    /// The panel or variable that asks; shown when the query fails.
    #[expect(dead_code, reason = "read by Debug")]
    asked_by: String,
    expression: String,
}

/// All panel and variable queries of all dashboards.
fn queries() -> Vec<Query> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(Path::new(ROOT).join("grafana/dashboards")).unwrap() {
        let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        let dashboard: Value = serde_json::from_str(&text).unwrap();
        for panel in dashboard["panels"].as_array().unwrap() {
            for target in panel["targets"].as_array().unwrap() {
                let expression = target["expr"].as_str().unwrap().to_owned();
                found.push(Query {
                    asked_by: panel["title"].to_string(),
                    expression,
                });
            }
        }
        for variable in dashboard["templating"]["list"].as_array().unwrap() {
            if let Some(query) = variable["query"]["query"].as_str() {
                let expression = label_values(query);
                found.push(Query {
                    asked_by: variable["name"].to_string(),
                    expression,
                });
            }
        }
    }
    found
}

/// `label_values(METRIC, LABEL)` is Grafana's own; this is what it asks for.
fn label_values(query: &str) -> String {
    let inner = query
        .strip_prefix("label_values(")
        .and_then(|rest| rest.strip_suffix(')'))
        .unwrap();
    let (metric, label) = inner.rsplit_once(", ").unwrap();
    format!("count by ({label}) ({metric})")
}

/// The query as Grafana sends it with "All" chosen and a scrape each second.
fn filled(expression: &str) -> String {
    let filled = expression
        .replace("$__rate_interval", "10s")
        .replace("$__range", "1m")
        .replace("$upstream", ".*")
        .replace("$model", ".*");
    assert!(!filled.contains('$'), "unknown variable in {expression}");
    filled
}

/// The string literals of the metrics module that can be metric names, with the prefix.
fn declared_metrics(source: &str) -> BTreeSet<String> {
    source
        .split('"')
        .skip(1)
        .step_by(2)
        .filter(|text| {
            !text.is_empty()
                && text
                    .bytes()
                    .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
        })
        .map(|name| format!("inkfast_{}", name.trim_start_matches("inkfast_")))
        .collect()
}

/// Metrics of a query that are not declared; a query without any is a mistake, too.
fn undeclared(expression: &str, declared: &BTreeSet<String>) -> Vec<String> {
    let metrics = metrics_of(expression);
    if metrics.is_empty() {
        return vec![format!("no metric in {expression}")];
    }
    let known = |name: &str| declared.contains(name) || declared.contains(series_of(name));
    metrics.into_iter().filter(|name| !known(name)).collect()
}

fn metrics_of(expression: &str) -> BTreeSet<String> {
    expression
        .split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .filter(|word| word.starts_with("inkfast_"))
        .map(str::to_owned)
        .collect()
}

/// The histogram that a series belongs to.
fn series_of(name: &str) -> &str {
    ["_bucket", "_sum", "_count"]
        .iter()
        .find_map(|suffix| name.strip_suffix(suffix))
        .unwrap_or(name)
}

fn read(path: &str) -> String {
    std::fs::read_to_string(Path::new(ROOT).join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// `inkfast demo --pace 1` as a process; ended when dropped.
struct PacedDemo {
    child: Child,
    admin: String,
}

impl PacedDemo {
    fn start() -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_inkfast"))
            .args(["demo", "--pace", "1"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut first = String::new();
        output.read_line(&mut first).unwrap();
        let admin = first
            .trim()
            .strip_prefix("admin=")
            .unwrap_or_else(|| panic!("{first:?}"))
            .to_owned();
        // The rest is read so that the demo never waits for us.
        thread::spawn(move || output.lines().map_while(Result::ok).for_each(drop));
        Self { child, admin }
    }
}

impl Drop for PacedDemo {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
