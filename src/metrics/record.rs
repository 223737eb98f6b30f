//! What can happen, and what each thing counts.

use std::time::Duration;

use super::{DroppedRecords, Metrics, NO_LABELS};

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

/// Why an exchange is not in a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropReason {
    /// It found no room among those that wait.
    Queue,
    /// The file did not take it.
    Disk,
}

impl DropReason {
    const ALL: [Self; 2] = [Self::Queue, Self::Disk];

    fn as_str(self) -> &'static str {
        match self {
            Self::Queue => "queue",
            Self::Disk => "disk",
        }
    }
}

impl DroppedRecords {
    /// An exchange is not in the recording.
    pub fn record(&self, why: DropReason) {
        self.0.with_label_values(&[why.as_str()]).inc();
    }

    /// How many are not.
    pub fn total(&self) -> u64 {
        let counts = DropReason::ALL.map(|why| self.0.with_label_values(&[why.as_str()]).get());
        counts.iter().sum()
    }
}

impl Metrics {
    /// A request ended.
    pub fn record_request(&self, done: &RequestDone<'_>) {
        let labels = [done.upstream, done.format];
        self.exchanges
            .requests
            .with_label_values(&[done.upstream, done.format, done.outcome])
            .inc();
        self.exchanges
            .request_duration
            .with_label_values(&labels)
            .observe(done.duration.as_secs_f64());
        if let Some(first_byte) = done.first_byte {
            self.exchanges
                .time_to_first_byte
                .with_label_values(&labels)
                .observe(first_byte.as_secs_f64());
        }
    }

    /// A request was sent on as the client's bytes without being understood.
    pub fn record_passthrough(&self, reason: &'static str) {
        self.exchanges.passthrough.with_label_values(&[reason]).inc();
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
            self.provider
                .input_tokens
                .with_label_values(&[upstream, model, cache])
                .inc_by(count);
        }
    }

    /// A good answer told no usage.
    pub fn record_usage_missing(&self, upstream: &str, format: &'static str) {
        self.provider
            .usage_missing
            .with_label_values(&[upstream, format])
            .inc();
    }

    /// One request was decoded, parsed, decided on and edited.
    pub fn record_rewrite(&self, format: &'static str, duration: Duration) {
        self.exchanges
            .rewrite_duration
            .with_label_values(&[format])
            .observe(duration.as_secs_f64());
    }

    /// One write to the state was waited for.
    pub fn record_state_write(&self, duration: Duration) {
        self.ledger
            .state_write_duration
            .with_label_values(NO_LABELS)
            .observe(duration.as_secs_f64());
    }

    /// So many items of one result (stable, new, broken, pinned, node) were sent.
    pub fn record_prefix(&self, format: &'static str, result: &'static str, items: u64, bytes: u64) {
        self.prefixes
            .prefix_items
            .with_label_values(&[format, result])
            .inc_by(items);
        self.prefixes
            .prefix_bytes
            .with_label_values(&[format, result])
            .inc_by(bytes);
    }

    /// The sent prefix broke.
    pub fn record_break(&self, event: &Break) {
        self.prefixes
            .breaks
            .with_label_values(&[event.format, event.cause, event.by])
            .inc();
        self.prefixes
            .broken_bytes
            .with_label_values(&[event.format, event.cause])
            .inc_by(event.bytes);
    }

    /// The client's own prefix broke, and `saved` bytes of it were kept all the same.
    pub fn record_client_break(&self, format: &'static str, cause: &'static str, saved: u64) {
        self.prefixes
            .client_breaks
            .with_label_values(&[format, cause])
            .inc();
        self.prefixes
            .saved_bytes
            .with_label_values(NO_LABELS)
            .inc_by(saved);
    }

    /// A new node was sent.
    pub fn record_node(&self, node: &NodeAdded) {
        self.nodes
            .nodes
            .with_label_values(&[node.format, node.mode, node.text, node.carrier])
            .inc();
        self.nodes
            .node_bytes
            .with_label_values(NO_LABELS)
            .inc_by(node.bytes);
    }

    /// Live paths carry so many bytes that a later node replaced.
    pub fn record_superseded(&self, bytes: i64) {
        self.nodes
            .superseded_bytes
            .with_label_values(NO_LABELS)
            .set(bytes);
    }

    /// An edit of the system prompt had to wait.
    pub fn record_deferred(&self) {
        self.nodes.deferred.with_label_values(NO_LABELS).inc();
    }

    /// Our prefix was intact and the provider's cache missed it.
    pub fn record_provider_miss(&self, cause: &'static str) {
        self.provider.provider_misses.with_label_values(&[cause]).inc();
    }

    /// A provider sent its own diagnosis, and our verdict agrees: `yes`, `no` or `unknown`.
    pub fn record_diagnosis(&self, source: &'static str, cause: &'static str, agrees: &'static str) {
        self.provider
            .diagnostics
            .with_label_values(&[source, cause, agrees])
            .inc();
    }

    /// A prompt was folded back into the head.
    pub fn record_rebaseline(&self, reason: &'static str) {
        self.prefixes.rebaselines.with_label_values(&[reason]).inc();
    }

    /// The last check stopped a plan.
    pub fn record_guard_failure(&self) {
        self.prefixes.guard_failures.with_label_values(NO_LABELS).inc();
    }

    /// The state holds so much.
    pub fn record_ledger(&self, lineages: i64, items: i64, bytes: i64) {
        self.ledger
            .ledger_lineages
            .with_label_values(NO_LABELS)
            .set(lineages);
        self.ledger.ledger_items.with_label_values(NO_LABELS).set(items);
        self.ledger.ledger_bytes.with_label_values(NO_LABELS).set(bytes);
    }
}
