//! Every metric: its name, help, labels and buckets, and one `record_*` method for each thing that can happen.
//!
//! The rules of this file: all names are declared here and nowhere else; [`Metrics`] owns its registry, there is no global
//! one; label values are `&'static str` from enums, names from the configuration, or a model through the allow-list, never
//! a client's text; a ratio is exported as its two counters. A series appears with the first thing that it counts: what
//! nothing can fill is absent, not zero.

use std::time::Duration;

pub use prometheus::Error as MetricsError;
use prometheus::{
    GaugeVec, HistogramOpts, HistogramVec, IntCounterVec, IntGaugeVec, Opts, Registry, TextEncoder,
    core::Collector,
};

/// The label value of models that the allow-list does not name.
pub const OTHER_MODEL: &str = "other";

const SECONDS_OF_REQUESTS: &[f64] = &[
    0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0,
];
const SECONDS_OF_REWRITES: &[f64] = &[
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0,
];
const SECONDS_OF_WRITES: &[f64] = &[
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0,
];

/// The metrics of one process.
pub struct Metrics {
    registry: Registry,
    models: Vec<String>,
    requests: IntCounterVec,
    passthrough: IntCounterVec,
    input_tokens: IntCounterVec,
    usage_missing: IntCounterVec,
    request_duration: HistogramVec,
    time_to_first_byte: HistogramVec,
    rewrite_duration: HistogramVec,
    state_write_duration: HistogramVec,
    prefix_items: IntCounterVec,
    prefix_bytes: IntCounterVec,
    breaks: IntCounterVec,
    client_breaks: IntCounterVec,
    broken_bytes: IntCounterVec,
    nodes: IntCounterVec,
    node_bytes: IntCounterVec,
    superseded_bytes: IntGaugeVec,
    deferred: IntCounterVec,
    saved_bytes: IntCounterVec,
    provider_misses: IntCounterVec,
    diagnostics: IntCounterVec,
    rebaselines: IntCounterVec,
    guard_failures: IntCounterVec,
    ledger_lineages: IntGaugeVec,
    ledger_items: IntGaugeVec,
    ledger_bytes: IntGaugeVec,
}

/// A request that came to its end.
pub struct RequestDone<'a> {
    /// The upstream's name in the configuration; `none` if the request never got that far.
    pub upstream: &'a str,
    /// The wire format's name.
    pub format: &'static str,
    /// How it ended.
    pub outcome: &'static str,
    /// From the head's arrival to the last byte.
    pub duration: Duration,
    /// From the head's arrival to the response's first body byte, if there was one.
    pub first_byte: Option<Duration>,
}

/// A break of the sent prefix.
pub struct Break {
    /// The wire format's name.
    pub format: &'static str,
    /// Why the prefix broke.
    pub cause: &'static str,
    /// `client` or `proxy`.
    pub by: &'static str,
    /// How many bytes of what was sent before were lost.
    pub bytes: u64,
}

/// A node that was put into a request for the first time.
pub struct NodeAdded {
    /// The wire format's name.
    pub format: &'static str,
    /// `append` or `replace`.
    pub mode: &'static str,
    /// `full` or `delta`.
    pub text: &'static str,
    /// The role or block that carries it.
    pub carrier: &'static str,
    /// Its size in the body.
    pub bytes: u64,
}

/// Input tokens by what the cache did with them; each `None` is a number that the provider did not give.
#[derive(Default)]
pub struct InputTokens {
    /// Served from the cache.
    pub read: Option<u64>,
    /// Written into the cache.
    pub write: Option<u64>,
    /// Neither, in an answer that tells.
    pub none: Option<u64>,
    /// Of an answer that does not tell what the cache did.
    pub unknown: Option<u64>,
}

impl Metrics {
    /// Fresh metrics; `models` are the names shown as they are, a final `*` standing for any rest.
    ///
    /// # Errors
    /// A declaration below is wrong: a bad name or the same name twice.
    pub fn new(models: Vec<String>) -> Result<Self, MetricsError> {
        let r = &Registry::new();
        let by_format = ["format"].as_slice();
        let metrics = Self {
            requests: counter(
                r,
                "requests_total",
                "Requests by how they ended.",
                &["upstream", "format", "outcome"],
            )?,
            passthrough: counter(
                r,
                "passthrough_total",
                "Requests sent on unread, by reason.",
                &["reason"],
            )?,
            input_tokens: counter(
                r,
                "input_tokens_total",
                "Input tokens by what the provider's cache did with them.",
                &["upstream", "model", "cache"],
            )?,
            usage_missing: counter(
                r,
                "usage_missing_total",
                "Good answers without usage.",
                &["upstream", "format"],
            )?,
            request_duration: seconds(
                r,
                "request_duration_seconds",
                "From a request's head to its answer's last byte.",
                SECONDS_OF_REQUESTS,
                &["upstream", "format"],
            )?,
            time_to_first_byte: seconds(
                r,
                "time_to_first_byte_seconds",
                "From a request's head to its answer's first body byte.",
                SECONDS_OF_REQUESTS,
                &["upstream", "format"],
            )?,
            rewrite_duration: seconds(
                r,
                "rewrite_duration_seconds",
                "Decoding, parsing, deciding and editing of one request.",
                SECONDS_OF_REWRITES,
                by_format,
            )?,
            state_write_duration: seconds(
                r,
                "state_write_duration_seconds",
                "One write that a request waited for.",
                SECONDS_OF_WRITES,
                &[],
            )?,
            prefix_items: counter(
                r,
                "prefix_items_total",
                "Items sent, by their result.",
                &["format", "result"],
            )?,
            prefix_bytes: counter(
                r,
                "prefix_bytes_total",
                "Bytes of items sent, by result.",
                &["format", "result"],
            )?,
            breaks: counter(
                r,
                "breaks_total",
                "Breaks of the sent prefix.",
                &["format", "cause", "by"],
            )?,
            client_breaks: counter(
                r,
                "client_breaks_total",
                "Breaks of the prefix as clients sent it, whatever left for the upstream.",
                &["format", "cause"],
            )?,
            broken_bytes: counter(
                r,
                "broken_bytes_total",
                "Sent bytes lost to breaks.",
                &["format", "cause"],
            )?,
            nodes: counter(
                r,
                "nodes_total",
                "System prompt edits turned into messages.",
                &["format", "mode", "text", "carrier"],
            )?,
            node_bytes: counter(r, "node_bytes_total", "Bytes of new nodes.", &[])?,
            superseded_bytes: gauge(
                r,
                "superseded_bytes",
                "Bytes on live paths that a later node replaced.",
                &[],
            )?,
            deferred: counter(r, "deferred_total", "System prompt edits that had to wait.", &[])?,
            saved_bytes: counter(
                r,
                "saved_bytes_total",
                "Bytes that the client's own bodies would have broken and that were kept.",
                &[],
            )?,
            provider_misses: counter(
                r,
                "provider_misses_total",
                "Intact prefixes that the provider did not serve from its cache.",
                &["cause"],
            )?,
            diagnostics: counter(
                r,
                "diagnostics_total",
                "Cache diagnostics that providers sent, and whether ours agree.",
                &["source", "cause", "agrees"],
            )?,
            rebaselines: counter(
                r,
                "rebaselines_total",
                "Prompts folded back into the head.",
                &["reason"],
            )?,
            guard_failures: counter(r, "guard_failures_total", "Plans stopped by the last check.", &[])?,
            ledger_lineages: gauge(r, "ledger_lineages", "Conversations remembered.", &[])?,
            ledger_items: gauge(r, "ledger_items", "Items remembered.", &[])?,
            ledger_bytes: gauge(r, "ledger_bytes", "Bytes that the state takes.", &[])?,
            registry: r.clone(),
            models,
        };
        let build = GaugeVec::new(opts("build_info", "The running version; always 1."), &["version"])?;
        build.with_label_values(&[env!("CARGO_PKG_VERSION")]).set(1.0);
        registered(r, build)?;
        Ok(metrics)
    }

    /// Everything in the text format of Prometheus.
    ///
    /// # Errors
    /// A metric that cannot be written down.
    pub fn encode(&self) -> Result<String, MetricsError> {
        TextEncoder::new().encode_to_string(&self.registry.gather())
    }

    /// The label for a model: the entry of the allow-list that it matches, or [`OTHER_MODEL`].
    pub fn model_label(&self, model: &str) -> &str {
        let matches = |entry: &&String| match entry.strip_suffix('*') {
            Some(start) => model.starts_with(start),
            None => model == **entry,
        };
        self.models
            .iter()
            .find(matches)
            .map_or(OTHER_MODEL, String::as_str)
    }

    /// A request ended.
    pub fn record_request(&self, done: &RequestDone<'_>) {
        let labels = [done.upstream, done.format];
        self.requests
            .with_label_values(&[done.upstream, done.format, done.outcome])
            .inc();
        self.request_duration
            .with_label_values(&labels)
            .observe(done.duration.as_secs_f64());
        if let Some(first_byte) = done.first_byte {
            self.time_to_first_byte
                .with_label_values(&labels)
                .observe(first_byte.as_secs_f64());
        }
    }

    /// A request was sent on as the client's bytes without being understood.
    pub fn record_passthrough(&self, reason: &'static str) {
        self.passthrough.with_label_values(&[reason]).inc();
    }

    /// An answer told its usage.
    pub fn record_usage(&self, upstream: &str, model: &str, tokens: &InputTokens) {
        let model = self.model_label(model);
        let parts = [
            ("read", tokens.read),
            ("write", tokens.write),
            ("none", tokens.none),
            ("unknown", tokens.unknown),
        ];
        for (cache, count) in parts
            .into_iter()
            .filter_map(|(cache, count)| Some((cache, count?)))
        {
            self.input_tokens
                .with_label_values(&[upstream, model, cache])
                .inc_by(count);
        }
    }

    /// A good answer told no usage.
    pub fn record_usage_missing(&self, upstream: &str, format: &'static str) {
        self.usage_missing.with_label_values(&[upstream, format]).inc();
    }

    /// One request was decoded, parsed, decided on and edited.
    pub fn record_rewrite(&self, format: &'static str, duration: Duration) {
        self.rewrite_duration
            .with_label_values(&[format])
            .observe(duration.as_secs_f64());
    }

    /// One write to the state was waited for.
    pub fn record_state_write(&self, duration: Duration) {
        self.state_write_duration
            .with_label_values(NO_LABELS)
            .observe(duration.as_secs_f64());
    }

    /// So many items of one result (stable, new, broken, pinned, node) were sent.
    pub fn record_prefix(&self, format: &'static str, result: &'static str, items: u64, bytes: u64) {
        self.prefix_items
            .with_label_values(&[format, result])
            .inc_by(items);
        self.prefix_bytes
            .with_label_values(&[format, result])
            .inc_by(bytes);
    }

    /// The sent prefix broke.
    pub fn record_break(&self, event: &Break) {
        self.breaks
            .with_label_values(&[event.format, event.cause, event.by])
            .inc();
        self.broken_bytes
            .with_label_values(&[event.format, event.cause])
            .inc_by(event.bytes);
    }

    /// The client's own prefix broke, and `saved` bytes of it were kept all the same.
    pub fn record_client_break(&self, format: &'static str, cause: &'static str, saved: u64) {
        self.client_breaks.with_label_values(&[format, cause]).inc();
        self.saved_bytes.with_label_values(NO_LABELS).inc_by(saved);
    }

    /// A new node was sent.
    pub fn record_node(&self, node: &NodeAdded) {
        self.nodes
            .with_label_values(&[node.format, node.mode, node.text, node.carrier])
            .inc();
        self.node_bytes.with_label_values(NO_LABELS).inc_by(node.bytes);
    }

    /// Live paths carry so many bytes that a later node replaced.
    pub fn record_superseded(&self, bytes: i64) {
        self.superseded_bytes.with_label_values(NO_LABELS).set(bytes);
    }

    /// An edit of the system prompt had to wait.
    pub fn record_deferred(&self) {
        self.deferred.with_label_values(NO_LABELS).inc();
    }

    /// Our prefix was intact and the provider's cache missed it.
    pub fn record_provider_miss(&self, cause: &'static str) {
        self.provider_misses.with_label_values(&[cause]).inc();
    }

    /// A provider sent its own diagnosis.
    pub fn record_diagnosis(&self, source: &'static str, cause: &'static str, agrees: bool) {
        let agrees = if agrees { "true" } else { "false" };
        self.diagnostics.with_label_values(&[source, cause, agrees]).inc();
    }

    /// A prompt was folded back into the head.
    pub fn record_rebaseline(&self, reason: &'static str) {
        self.rebaselines.with_label_values(&[reason]).inc();
    }

    /// The last check stopped a plan.
    pub fn record_guard_failure(&self) {
        self.guard_failures.with_label_values(NO_LABELS).inc();
    }

    /// The state holds so much.
    pub fn record_ledger(&self, lineages: i64, items: i64, bytes: i64) {
        self.ledger_lineages.with_label_values(NO_LABELS).set(lineages);
        self.ledger_items.with_label_values(NO_LABELS).set(items);
        self.ledger_bytes.with_label_values(NO_LABELS).set(bytes);
    }
}

/// A vector without labels has no series until it is first used, unlike a plain counter, which starts as a zero.
const NO_LABELS: &[&str] = &[];

fn opts(name: &str, help: &str) -> Opts {
    Opts::new(name, help).namespace("inkfast")
}

fn counter(r: &Registry, name: &str, help: &str, labels: &[&str]) -> Result<IntCounterVec, MetricsError> {
    registered(r, IntCounterVec::new(opts(name, help), labels)?)
}

fn gauge(r: &Registry, name: &str, help: &str, labels: &[&str]) -> Result<IntGaugeVec, MetricsError> {
    registered(r, IntGaugeVec::new(opts(name, help), labels)?)
}

fn seconds(
    r: &Registry,
    name: &str,
    help: &str,
    buckets: &[f64],
    labels: &[&str],
) -> Result<HistogramVec, MetricsError> {
    let opts = HistogramOpts {
        common_opts: opts(name, help),
        buckets: buckets.to_vec(),
    };
    registered(r, HistogramVec::new(opts, labels)?)
}

fn registered<C: Collector + Clone + 'static>(r: &Registry, metric: C) -> Result<C, MetricsError> {
    r.register(Box::new(metric.clone()))?;
    Ok(metric)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_never_happened_is_absent() {
        let text = Metrics::new(vec![]).unwrap().encode().unwrap();
        let names: Vec<_> = text.lines().filter(|line| !line.starts_with('#')).collect();
        assert_eq!(
            names,
            [format!(
                "inkfast_build_info{{version=\"{}\"}} 1",
                env!("CARGO_PKG_VERSION")
            )]
        );
    }

    #[test]
    fn a_number_that_is_missing_is_no_zero() {
        let metrics = Metrics::new(vec!["gpt-5*".into()]).unwrap();
        metrics.record_usage(
            "openai",
            "gpt-5-mini",
            &InputTokens {
                read: Some(0),
                none: Some(7),
                ..Default::default()
            },
        );
        let text = metrics.encode().unwrap();
        assert!(
            text.contains(r#"inkfast_input_tokens_total{cache="read",model="gpt-5*",upstream="openai"} 0"#),
            "{text}"
        );
        assert!(
            text.contains(r#"cache="none",model="gpt-5*",upstream="openai"} 7"#),
            "{text}"
        );
        assert!(!text.contains("write"), "{text}");
    }

    #[test]
    fn a_model_that_nobody_listed_is_other() {
        let metrics = Metrics::new(vec!["gpt-5*".into(), "o3".into()]).unwrap();
        assert_eq!(metrics.model_label("gpt-5.1"), "gpt-5*");
        assert_eq!(metrics.model_label("o3"), "o3");
        assert_eq!(metrics.model_label("o3-mini"), OTHER_MODEL);
        assert_eq!(metrics.model_label("my secret"), OTHER_MODEL);
    }
}
