//! What the provider remembers of each request, for tests and the demo to read.

use std::time::{Duration, Instant};

use bytes::Bytes;

use super::prompt::Operator;

/// One request and what was answered.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// Order of arrival, from 0.
    pub number: u64,
    /// When the head had arrived.
    pub arrived: Instant,
    /// The same on the provider's own clock.
    pub at: Duration,
    /// Method. In WebSocket mode each frame is a record of its own, with target and headers of the handshake: `WS` for
    /// `response.create`, `STEER` for `response.steer`, `SUCCESSOR` for the request that the provider makes of steered
    /// input.
    pub method: String,
    /// Path and query as received.
    pub target: String,
    /// Over HTTP/1.1: order, case and duplicates as received. Over HTTP/2: lower case, duplicates side by side.
    pub headers: Vec<(String, String)>,
    /// Body as received, transfer encoding removed, content encoding not; of a frame, its payload.
    pub body: Bytes,
    /// Status answered; of a frame, the one that its error event names, or 200.
    pub status: u16,
    /// None where there is no answer to a prompt: refused, only counted, only loaded, or the body was scripted. It is the
    /// provider's own count, also where the answer tells less (Ollama, vLLM).
    pub usage: Option<Usage>,
    /// How much of it was sent before.
    pub reach: Reach,
    /// The operator's text in force at the end; none if the body was refused.
    pub operator: Option<Operator>,
    /// What became of the answer.
    pub delivery: Delivery,
}

impl Recorded {
    /// The first header of this name, in any case.
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(n, _)| n.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }
}

/// Tokens as answered, one convention for all formats.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// The whole prompt, cached or not.
    pub total: usize,
    /// Read from the cache.
    pub cached: usize,
    /// Written to the cache for five minutes (Anthropic, Converse), or at all (GPT-5.6 and later; else 0).
    pub written: usize,
    /// Written for an hour (Anthropic, Converse).
    pub written_1h: usize,
    /// The answer's own, thinking included.
    pub output: usize,
}

impl Usage {
    /// Neither read nor written: Anthropic's `input_tokens`, Converse's `inputTokens`.
    pub fn uncached(&self) -> usize {
        self.total - self.cached - self.written - self.written_1h
    }
}

/// A request against the best earlier one of the same key and model: the one with the longest common rendered prefix,
/// among equals the latest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reach {
    /// Tokens in common with it: what a cache without limits could have served.
    pub possible: usize,
    /// Its number; none if nothing is in common.
    pub previous: Option<u64>,
    /// Tokens of its whole prompt: what an append-only request could have had cached.
    pub previous_total: usize,
}

impl Recorded {
    /// Share of the previous prompt ([`Reach::previous_total`]) that was read from the cache; none without one.
    pub fn cached_of_previous(&self) -> Option<f64> {
        let cached = self.usage?.cached.min(self.reach.previous_total);
        self.reach
            .previous
            .map(|_| cached as f64 / self.reach.previous_total as f64)
    }
}

/// What became of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// Under way.
    Sending,
    /// Sent whole.
    Sent,
    /// Broken off as scripted.
    Cut,
    /// The client went away first.
    Abandoned,
}
