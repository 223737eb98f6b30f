//! Every metric: its name, help, labels and buckets, and one `record_*` method for each thing that can
//! happen.
//!
//! The rules of this file: all names are declared here and nowhere else; [`Metrics`] owns its registry, there
//! is no global one; label values are `&'static str` from enums, names from the configuration, or a model
//! through the allow-list, never a client's text; a ratio is exported as its two counters. A series appears
//! with the first thing that it counts: what nothing can fill is absent, not zero.

mod record;

pub use prometheus::Error as MetricsError;
use prometheus::{
    GaugeVec, HistogramOpts, HistogramVec, IntCounterVec, IntGaugeVec, Opts, Registry, TextEncoder,
    core::Collector,
};
pub use record::{Break, DropReason, InputTokens, NodeAdded, RequestDone};

/// The label value of models that the allow-list does not name.
pub const OTHER_MODEL: &str = "other";

/// Bucket borders in seconds.
const OF_REQUESTS: &[f64] = &[
    0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0,
];
const OF_REWRITES: &[f64] = &[
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0,
];
const OF_WRITES: &[f64] = &[
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0,
];

const EXCHANGE: &[&str] = &["upstream", "format"];

/// The metrics of one process.
pub struct Metrics {
    registry: Registry,
    models: Vec<String>,
    exchanges: Exchanges,
    prefixes: Prefixes,
    nodes: Nodes,
    provider: Provider,
    ledger: Ledger,
}

impl Metrics {
    /// Fresh metrics; `models` are the names shown as they are, a final `*` standing for any rest.
    ///
    /// # Errors
    /// A declaration below is wrong: a bad name or the same name twice.
    pub fn new(models: Vec<String>) -> Result<Self, MetricsError> {
        let r = &Declare(Registry::new());
        let metrics = Self {
            exchanges: Exchanges::declare(r)?,
            prefixes: Prefixes::declare(r)?,
            nodes: Nodes::declare(r)?,
            provider: Provider::declare(r)?,
            ledger: Ledger::declare(r)?,
            registry: r.0.clone(),
            models,
        };
        let build = GaugeVec::new(opts("build_info", "The running version; always 1."), &["version"])?;
        build.with_label_values(&[env!("CARGO_PKG_VERSION")]).set(1.0);
        r.keep(build)?;
        Ok(metrics)
    }

    /// The counter of a recording; call it once, where there is one.
    ///
    /// # Errors
    /// It was called twice.
    pub fn recording(&self) -> Result<DroppedRecords, MetricsError> {
        let declare = Declare(self.registry.clone());
        let dropped = declare.counter(
            "records_dropped_total",
            "Exchanges that the recording lacks.",
            &["reason"],
        )?;
        Ok(DroppedRecords(dropped))
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
}

/// Exchanges that a recording lacks.
#[derive(Clone)]
pub struct DroppedRecords(IntCounterVec);

/// Requests and their answers.
struct Exchanges {
    requests: IntCounterVec,
    passthrough: IntCounterVec,
    request_duration: HistogramVec,
    time_to_first_byte: HistogramVec,
    rewrite_duration: HistogramVec,
}

impl Exchanges {
    fn declare(r: &Declare) -> Result<Self, MetricsError> {
        Ok(Self {
            requests: r.counter(
                "requests_total",
                "Requests by their end.",
                &["upstream", "format", "outcome"],
            )?,
            passthrough: r.counter("passthrough_total", "Bodies sent on unread.", &["reason"])?,
            request_duration: r.seconds("request_duration_seconds", "Head to end.", OF_REQUESTS, EXCHANGE)?,
            time_to_first_byte: r.seconds(
                "time_to_first_byte_seconds",
                "Head to answer.",
                OF_REQUESTS,
                EXCHANGE,
            )?,
            rewrite_duration: r.seconds(
                "rewrite_duration_seconds",
                "Parse to edit.",
                OF_REWRITES,
                &["format"],
            )?,
        })
    }
}

/// What became of prefixes.
struct Prefixes {
    prefix_items: IntCounterVec,
    prefix_bytes: IntCounterVec,
    breaks: IntCounterVec,
    client_breaks: IntCounterVec,
    broken_bytes: IntCounterVec,
    saved_bytes: IntCounterVec,
    rebaselines: IntCounterVec,
    guard_failures: IntCounterVec,
}

impl Prefixes {
    fn declare(r: &Declare) -> Result<Self, MetricsError> {
        Ok(Self {
            prefix_items: r.counter("prefix_items_total", "Items sent.", &["format", "result"])?,
            prefix_bytes: r.counter(
                "prefix_bytes_total",
                "Bytes of items sent.",
                &["format", "result"],
            )?,
            breaks: r.counter(
                "breaks_total",
                "Breaks of the sent prefix.",
                &["format", "cause", "by"],
            )?,
            client_breaks: r.counter(
                "client_breaks_total",
                "Breaks as clients sent it.",
                &["format", "cause"],
            )?,
            broken_bytes: r.counter(
                "broken_bytes_total",
                "Sent bytes lost to breaks.",
                &["format", "cause"],
            )?,
            saved_bytes: r.counter(
                "saved_bytes_total",
                "Bytes kept that clients would have broken.",
                &[],
            )?,
            rebaselines: r.counter(
                "rebaselines_total",
                "Prompts folded back into the head.",
                &["reason"],
            )?,
            guard_failures: r.counter("guard_failures_total", "Plans that the last check stopped.", &[])?,
        })
    }
}

/// Edits sent as messages.
struct Nodes {
    nodes: IntCounterVec,
    node_bytes: IntCounterVec,
    superseded_bytes: IntGaugeVec,
    deferred: IntCounterVec,
}

impl Nodes {
    fn declare(r: &Declare) -> Result<Self, MetricsError> {
        Ok(Self {
            nodes: r.counter(
                "nodes_total",
                "Edits sent as messages.",
                &["format", "mode", "text", "carrier"],
            )?,
            node_bytes: r.counter("node_bytes_total", "Bytes of new nodes.", &[])?,
            superseded_bytes: r.gauge(
                "superseded_bytes",
                "Bytes on live paths that a later node replaced.",
            )?,
            deferred: r.counter("deferred_total", "Edits that had to wait.", &[])?,
        })
    }
}

/// What providers tell of their caches.
struct Provider {
    input_tokens: IntCounterVec,
    usage_missing: IntCounterVec,
    provider_misses: IntCounterVec,
    diagnostics: IntCounterVec,
}

impl Provider {
    fn declare(r: &Declare) -> Result<Self, MetricsError> {
        Ok(Self {
            input_tokens: r.counter(
                "input_tokens_total",
                "Input by cache use.",
                &["upstream", "model", "cache"],
            )?,
            usage_missing: r.counter(
                "usage_missing_total",
                "Answers without usage.",
                &["upstream", "format"],
            )?,
            provider_misses: r.counter("provider_misses_total", "Intact prefixes not cached.", &["cause"])?,
            diagnostics: r.counter(
                "diagnostics_total",
                "Providers' own.",
                &["source", "cause", "agrees"],
            )?,
        })
    }
}

/// The state.
struct Ledger {
    state_write_duration: HistogramVec,
    ledger_lineages: IntGaugeVec,
    ledger_items: IntGaugeVec,
    ledger_bytes: IntGaugeVec,
}

impl Ledger {
    fn declare(r: &Declare) -> Result<Self, MetricsError> {
        Ok(Self {
            state_write_duration: r.seconds(
                "state_write_duration_seconds",
                "Durable writes.",
                OF_WRITES,
                &[],
            )?,
            ledger_lineages: r.gauge("ledger_lineages", "Conversations remembered.")?,
            ledger_items: r.gauge("ledger_items", "Items remembered.")?,
            ledger_bytes: r.gauge("ledger_bytes", "Bytes that the state takes.")?,
        })
    }
}

/// A vector without labels has no series until it is first used, unlike a plain counter, which starts as a
/// zero.
const NO_LABELS: &[&str] = &[];

/// Declares metrics in one registry.
struct Declare(Registry);

impl Declare {
    fn counter(&self, name: &str, help: &str, labels: &[&str]) -> Result<IntCounterVec, MetricsError> {
        self.keep(IntCounterVec::new(opts(name, help), labels)?)
    }

    fn gauge(&self, name: &str, help: &str) -> Result<IntGaugeVec, MetricsError> {
        self.keep(IntGaugeVec::new(opts(name, help), NO_LABELS)?)
    }

    fn seconds(
        &self,
        name: &str,
        help: &str,
        buckets: &[f64],
        labels: &[&str],
    ) -> Result<HistogramVec, MetricsError> {
        let opts = HistogramOpts {
            common_opts: opts(name, help),
            buckets: buckets.to_vec(),
        };
        self.keep(HistogramVec::new(opts, labels)?)
    }

    fn keep<C: Collector + Clone + 'static>(&self, metric: C) -> Result<C, MetricsError> {
        self.0.register(Box::new(metric.clone()))?;
        Ok(metric)
    }
}

fn opts(name: &str, help: &str) -> Opts {
    Opts::new(name, help).namespace("inkfast")
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
