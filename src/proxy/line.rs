//! The one structured log line of a request. It holds names, sizes and times, and nothing that a client
//! wrote.

use std::time::{Duration, Instant};

use hyper::StatusCode;

use crate::{
    metrics::{Metrics, RequestDone},
    proxy::target::{Call, Format, Target},
};

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
    /// A digest of the client's session header that holds within this process.
    pub session: Option<u64>,
    /// The upstream's status, or that of our own error.
    pub status: Option<StatusCode>,
    /// Bytes of the client's body.
    pub received_bytes: Option<u64>,
    /// Bytes of the body that left.
    pub sent_bytes: Option<u64>,
    /// Bytes of the answer's body.
    pub answer_bytes: Option<u64>,
    /// From the start to the answer's head.
    pub head_after: Option<Duration>,
    /// From the start to the answer's first body byte.
    pub first_byte_after: Option<Duration>,
}

impl RequestLine {
    /// A request whose head just came.
    pub fn new(number: u64, session: Option<u64>) -> Self {
        Self {
            number,
            started: Instant::now(),
            upstream: None,
            format: Format::Other,
            call: Call::Other,
            model: None,
            session,
            status: None,
            received_bytes: None,
            sent_bytes: None,
            answer_bytes: None,
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

    /// The request ended: writes the line and counts it.
    pub fn close(self, outcome: &'static str, metrics: &Metrics) {
        let duration = self.started.elapsed();
        self.emit(outcome, duration);
        metrics.record_request(&RequestDone {
            upstream: self.upstream.as_deref().unwrap_or("none"),
            format: self.format.as_str(),
            outcome,
            duration,
            first_byte: self.first_byte_after,
        });
    }

    fn emit(&self, outcome: &'static str, duration: Duration) {
        tracing::info!(
            event = "request",
            number = self.number,
            upstream = self.upstream,
            format = self.format.as_str(),
            call = self.call.as_str(),
            model = self.model,
            session = self.session.map(|session| format!("{session:016x}")),
            status = self.status.map(|status| status.as_u16()),
            outcome,
            received_bytes = self.received_bytes,
            sent_bytes = self.sent_bytes,
            answer_bytes = self.answer_bytes,
            head_ms = self.head_after.map(millis),
            first_byte_ms = self.first_byte_after.map(millis),
            duration_ms = millis(duration),
        );
    }
}

/// Milliseconds with three decimals.
fn millis(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 1e6).round() / 1e3
}
