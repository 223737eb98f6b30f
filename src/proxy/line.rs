//! The one structured log line of a request. It holds names, sizes and times, and nothing that a client
//! wrote.

use std::{
    sync::mpsc::Sender,
    time::{Duration, Instant},
};

use hyper::StatusCode;

use crate::{
    metrics::{Metrics, RequestDone},
    proxy::target::{Format, Target},
    wire::{Call, usage::Usage},
};

/// What became of the prompt of a request.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Prefix {
    /// The conversation: the number of its first request in the ledger.
    pub lineage: Option<u64>,
    /// The request that this one continues.
    pub continued: Option<u64>,
    /// The client's history items.
    pub items: usize,
    /// Those among them that stand in the continued request.
    pub shared: usize,
    /// The id of the last of them: equal items have one id, in this ledger.
    pub tip: Option<String>,
    /// The head differs in white space only, which is no change.
    pub whitespace: bool,
    /// New user items whose text holds tags like those around our own updates; they go out as they are.
    pub lookalikes: usize,
    /// The verdict on what the client sent.
    pub received: String,
    /// The verdict on what left.
    pub sent: String,
    /// Of the received verdict: bytes kept, bytes before.
    pub received_kept: (u64, u64),
    /// Of the sent verdict: bytes kept, bytes before.
    pub sent_kept: (u64, u64),
    /// What was done about a changed head, and where: `append@2`, `rebaseline(tools)`, `-`.
    pub node: String,
    /// Nodes that went out.
    pub nodes: usize,
    /// Bytes that stand as they were sent before.
    pub stable_bytes: u64,
    /// Bytes behind them.
    pub new_bytes: u64,
    /// Bytes that were sent before and do not stand.
    pub broken_bytes: u64,
}

/// A request that ended, as tests and the demo read it.
#[derive(Clone, Debug)]
pub struct Summary {
    /// Counted from 1 in each process.
    pub number: u64,
    /// The wire format's name.
    pub format: &'static str,
    /// What was asked for.
    pub call: &'static str,
    /// The status that the client saw.
    pub status: Option<u16>,
    /// How it ended.
    pub outcome: &'static str,
    /// Why the body left unread, or was not rewritten.
    pub passthrough: Option<&'static str>,
    /// What became of the prompt; none where it was not read.
    pub prefix: Option<Prefix>,
    /// What the provider counted.
    pub usage: Option<Usage>,
    /// Why the provider's cache missed an intact prefix.
    pub miss: Option<&'static str>,
}

/// What is known about a request; `None` where it never came to that.
pub struct RequestLine {
    /// Counted from 1 in each process.
    pub number: u64,
    /// When its head was there.
    pub started: Instant,
    /// The upstream's name.
    pub upstream: Option<String>,
    /// The API shape.
    pub format: Format,
    /// What was asked for.
    pub call: Call,
    /// The model's name, as the allow-list shows it.
    pub model: Option<String>,
    /// A short digest of the client's session.
    pub session: Option<String>,
    /// The upstream's status, or that of our own error.
    pub status: Option<StatusCode>,
    /// Bytes of the client's body.
    pub received_bytes: Option<u64>,
    /// Bytes of the body that left.
    pub sent_bytes: Option<u64>,
    /// Bytes of the answer's body.
    pub answer_bytes: Option<u64>,
    /// Why the body left unread.
    pub passthrough: Option<&'static str>,
    /// What became of the prompt.
    pub prefix: Option<Prefix>,
    /// What the provider counted.
    pub usage: Option<Usage>,
    /// What it says about cached tokens tells nothing.
    pub ignores_cached: bool,
    /// Why the provider's cache missed an intact prefix.
    pub miss: Option<&'static str>,
    /// The provider says that it cleared a part of the history itself.
    pub server_edited: bool,
    /// What the vendor itself found, as `source/cause/agrees`, joined by commas.
    pub diagnosis: Option<String>,
    /// From the body's arrival until the one that leaves was ready.
    pub rewrite: Option<Duration>,
    /// From the start to the answer's head.
    pub head_after: Option<Duration>,
    /// From the start to the answer's first body byte.
    pub first_byte_after: Option<Duration>,
}

impl RequestLine {
    /// A request whose head just came.
    pub fn new(number: u64) -> Self {
        Self {
            number,
            started: Instant::now(),
            upstream: None,
            format: Format::Other,
            call: Call::Other,
            model: None,
            session: None,
            status: None,
            received_bytes: None,
            sent_bytes: None,
            answer_bytes: None,
            passthrough: None,
            prefix: None,
            usage: None,
            ignores_cached: false,
            miss: None,
            server_edited: false,
            diagnosis: None,
            rewrite: None,
            head_after: None,
            first_byte_after: None,
        }
    }

    /// The request's target is known.
    pub fn set_target(&mut self, target: &Target<'_>) {
        self.upstream = Some(target.upstream.name.clone());
        self.format = target.format;
        self.call = target.call;
    }

    /// The request ended: writes the line, counts it, and tells it to who listens.
    pub fn close(self, outcome: &'static str, metrics: &Metrics, tap: Option<&Sender<Summary>>) {
        let duration = self.started.elapsed();
        self.emit(outcome, duration);
        metrics.record_request(&RequestDone {
            upstream: self.upstream.as_deref().unwrap_or("none"),
            format: self.format.as_str(),
            outcome,
            duration,
            first_byte: self.first_byte_after,
        });
        if let Some(tap) = tap {
            // Who stopped listening misses nothing.
            let _ = tap.send(self.summary(outcome));
        }
    }

    fn emit(&self, outcome: &'static str, duration: Duration) {
        let prefix = self.prefix.as_ref();
        let usage = self.usage.unwrap_or_default();
        tracing::info!(
            event = "request",
            number = self.number,
            upstream = self.upstream,
            format = self.format.as_str(),
            call = self.call.as_str(),
            model = self.model,
            session = self.session,
            status = self.status.map(|status| status.as_u16()),
            outcome,
            passthrough = self.passthrough,
            lineage = prefix.and_then(|prefix| prefix.lineage),
            continued = prefix.and_then(|prefix| prefix.continued),
            items = prefix.map(|prefix| prefix.items),
            shared = prefix.map(|prefix| prefix.shared),
            tip = prefix.and_then(|prefix| prefix.tip.as_deref()),
            whitespace = prefix.map(|prefix| prefix.whitespace).filter(|only| *only),
            lookalikes = prefix.map(|prefix| prefix.lookalikes).filter(|count| *count > 0),
            received = prefix.map(|prefix| prefix.received.as_str()),
            sent = prefix.map(|prefix| prefix.sent.as_str()),
            node = prefix.map(|prefix| prefix.node.as_str()),
            nodes = prefix.map(|prefix| prefix.nodes),
            stable_bytes = prefix.map(|prefix| prefix.stable_bytes),
            new_bytes = prefix.map(|prefix| prefix.new_bytes),
            broken_bytes = prefix.map(|prefix| prefix.broken_bytes),
            received_kept = prefix.and_then(|prefix| ratio(prefix.received_kept)),
            sent_kept = prefix.and_then(|prefix| ratio(prefix.sent_kept)),
            input_tokens = usage.input_total,
            cache_read = usage.cache_read,
            cache_write = usage.cache_write,
            output_tokens = usage.output,
            miss = self.miss,
            diagnosis = self.diagnosis.as_deref(),
            received_bytes = self.received_bytes,
            sent_bytes = self.sent_bytes,
            answer_bytes = self.answer_bytes,
            rewrite_ms = self.rewrite.map(millis),
            head_ms = self.head_after.map(millis),
            first_byte_ms = self.first_byte_after.map(millis),
            duration_ms = millis(duration),
        );
    }

    fn summary(self, outcome: &'static str) -> Summary {
        Summary {
            number: self.number,
            format: self.format.as_str(),
            call: self.call.as_str(),
            status: self.status.map(|status| status.as_u16()),
            outcome,
            passthrough: self.passthrough,
            prefix: self.prefix,
            usage: self.usage,
            miss: self.miss,
        }
    }
}

/// Bytes kept over bytes before, with four decimals; none where nothing was before.
fn ratio((kept, before): (u64, u64)) -> Option<f64> {
    (before > 0).then(|| (kept as f64 / before as f64 * 1e4).round() / 1e4)
}

/// Milliseconds with three decimals.
fn millis(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 1e6).round() / 1e3
}
