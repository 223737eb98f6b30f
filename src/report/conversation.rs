//! One conversation of an audit, with the requests of it that are shown.

use std::sync::Arc;

use super::sum::Sum;
use crate::audit::{Observation, Segment, Share, Source};
use crate::prefix::Verdict;
use crate::wire::{format::Format, usage::Usage};

/// Runs of a strip that are kept; the rest becomes one run of each share.
const RUNS: usize = 48;

/// One conversation.
#[derive(Clone, Debug)]
pub struct Conversation {
    /// The number of its first request.
    pub id: u64,
    /// Where that stands.
    pub source: Source,
    /// The host or the upstream's name.
    pub upstream: Arc<str>,
    /// The wire format.
    pub format: Format,
    /// The model of its last request that names one.
    pub model: Option<Arc<str>>,
    /// Its requests.
    pub requests: u64,
    /// Those without a good answer.
    pub failed: u64,
    /// Breaks of what left.
    pub breaks: u64,
    /// Breaks of what the client sent.
    pub client_breaks: u64,
    /// Bytes that the breaks of what left lost.
    pub lost: u64,
    /// The same in tokens.
    pub tokens: Sum<u64>,
    /// What that cost, in units of the price of a million input tokens.
    pub cost: Sum<f64>,
    /// Input tokens by the cache's part in them.
    pub cached: Cached,
    /// The most runs of the proxy's own items that one of its prompts held.
    pub nodes: u64,
    /// When its first request was sent, in milliseconds since the epoch.
    pub first_ms: Option<u64>,
    /// When its last request was sent.
    pub last_ms: Option<u64>,
    /// The requests that are shown.
    pub turns: Vec<Turn>,
    /// How many are not.
    pub turns_left_out: u64,
}

/// One request of a conversation.
#[derive(Clone, Debug)]
pub struct Turn {
    /// Its number in the audit.
    pub number: u64,
    /// Where it stands.
    pub source: Source,
    /// What it continues.
    pub continues: Option<u64>,
    /// When it was sent, in milliseconds since the epoch.
    pub at_ms: Option<u64>,
    /// What the client did.
    pub received: Verdict,
    /// What left.
    pub sent: Verdict,
    /// The prompt as it left.
    pub strip: Vec<Segment>,
    /// The share of the prompt that came from the cache.
    pub hit_ratio: Option<f64>,
    /// It had no good answer.
    pub failed: bool,
    /// A gate names what left.
    pub gated: bool,
}

/// Input tokens by the cache's part in them, over the answers that tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cached {
    /// Read from the cache.
    pub read: u64,
    /// Written to it.
    pub write: u64,
    /// Neither.
    pub none: u64,
    /// Answers that told.
    pub counted: u64,
    /// Answers that did not.
    pub uncounted: u64,
}

impl Conversation {
    /// Without any request yet; `first` tells what it is.
    pub(super) fn of(first: &Observation) -> Self {
        Self {
            id: first.conversation,
            source: first.source.clone(),
            upstream: first.upstream.clone(),
            format: first.format,
            model: None,
            requests: 0,
            failed: 0,
            breaks: 0,
            client_breaks: 0,
            lost: 0,
            tokens: Sum::default(),
            cost: Sum::default(),
            cached: Cached::default(),
            nodes: 0,
            first_ms: None,
            last_ms: None,
            turns: Vec::new(),
            turns_left_out: 0,
        }
    }

    /// Counts a request, without its details.
    pub(super) fn count(&mut self, seen: &Observation) {
        self.requests += 1;
        self.failed += u64::from(seen.failed);
        self.model = seen.model.clone().or(self.model.take());
        self.client_breaks += u64::from(seen.received.verdict.is_break());
        if seen.sent.verdict.is_break() {
            self.breaks += 1;
            self.lost = self.lost.saturating_add(seen.sent.loss.bytes);
            self.tokens.add(seen.sent.loss.tokens);
            self.cost.add(seen.sent.loss.cost);
        }
        self.cached.add(seen.usage.as_ref());
        let nodes = seen.strip.iter().filter(|run| run.share == Share::Node).count();
        self.nodes = self.nodes.max(nodes as u64);
        self.first_ms = earlier(self.first_ms, seen.at_ms);
        self.last_ms = self.last_ms.max(seen.at_ms);
    }

    /// Most bytes lost first, then most breaks, then the earliest.
    pub(super) fn rank(&self) -> (u64, u64, u64, u64) {
        let most = |count: u64| u64::MAX - count;
        (
            most(self.lost),
            most(self.breaks),
            most(self.client_breaks),
            self.id,
        )
    }
}

fn earlier(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    one.into_iter().chain(other).min()
}

impl Turn {
    pub(super) fn of(seen: &Observation) -> Self {
        Self {
            number: seen.number,
            source: seen.source.clone(),
            continues: seen.continues,
            at_ms: seen.at_ms,
            received: seen.received.verdict.clone(),
            sent: seen.sent.verdict.clone(),
            strip: bounded(&seen.strip),
            hit_ratio: seen.usage.as_ref().and_then(Usage::hit_ratio),
            failed: seen.failed,
            gated: false,
        }
    }

    /// Bytes of the whole prompt.
    pub fn bytes(&self) -> u64 {
        self.strip.iter().map(|run| run.bytes).sum()
    }
}

/// The strip with at most [`RUNS`] runs and one more of each share.
fn bounded(strip: &[Segment]) -> Vec<Segment> {
    let (front, rest) = strip.split_at(strip.len().min(RUNS));
    let mut runs = front.to_vec();
    for share in [Share::Stable, Share::New, Share::Broken, Share::Node] {
        let same = || rest.iter().filter(|run| run.share == share);
        if let Some(first) = same().next() {
            runs.push(Segment {
                share,
                bytes: same().map(|run| run.bytes).sum(),
                item: format!("{} and {} more runs", first.item, same().count() - 1),
            });
        }
    }
    runs
}

impl Cached {
    pub(super) fn add(&mut self, usage: Option<&Usage>) {
        let told = usage.and_then(|usage| Some((usage.cache_read?, usage.none()?, usage.cache_write)));
        match told {
            Some((read, none, write)) => {
                self.read = self.read.saturating_add(read);
                self.none = self.none.saturating_add(none);
                self.write = self.write.saturating_add(write.unwrap_or(0));
                self.counted += 1;
            }
            None => self.uncounted += 1,
        }
    }

    /// Read over all; none where nothing was counted.
    pub fn hit_ratio(&self) -> Option<f64> {
        let all = self.read.saturating_add(self.write).saturating_add(self.none);
        (all > 0).then(|| self.read as f64 / all as f64)
    }
}
