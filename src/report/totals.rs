//! Counts over a whole audit.

use std::collections::BTreeMap;

use super::sum::Sum;
use crate::audit::{Segment, Share};
use crate::prefix::{Cause, Class, Verdict};
use crate::report::conversation::Cached;
use crate::route::loss::Loss;

/// What was read and what became of it.
#[derive(Clone, Debug, Default)]
pub struct Totals {
    /// Requests that were judged.
    pub requests: u64,
    /// Those that continue an earlier one.
    pub continued: u64,
    /// Those without a good answer.
    pub failed: u64,
    /// Those that left otherwise than the client sent them, as far as the verdicts tell.
    pub edited: u64,
    /// Conversations.
    pub conversations: u64,
    /// What was not read, by reason.
    pub skipped: BTreeMap<&'static str, u64>,
    /// The prefix as it left.
    pub sent: Prefix,
    /// The prefix as clients sent it.
    pub received: Prefix,
    /// Bytes that left, by what became of them.
    pub shares: Shares,
    /// Input tokens by the cache's part in them.
    pub cached: Cached,
}

/// What became of the prefixes on one leg.
#[derive(Clone, Debug, Default)]
pub struct Prefix {
    /// Bytes that stood, over all requests whose class is not `new_lineage`, `branch` or `truncate`.
    pub kept: u64,
    /// Bytes of what these continue.
    pub before: u64,
    /// Breaks.
    pub breaks: u64,
    /// Bytes that breaks lost.
    pub lost: u64,
    /// Verdicts by class.
    pub classes: BTreeMap<&'static str, u64>,
}

/// One cause on one leg.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    /// The cause; none only before the first was added.
    pub cause: Option<Cause>,
    /// Verdicts that name it.
    pub count: u64,
    /// Breaks among them.
    pub breaks: u64,
    /// Bytes lost.
    pub bytes: u64,
    /// Tokens lost.
    pub tokens: Sum<u64>,
    /// What that cost, in units of the price of a million input tokens.
    pub cost: Sum<f64>,
}

/// Bytes by what became of them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Shares {
    /// Stands as it was sent before.
    pub stable: u64,
    /// Was not sent before.
    pub new: u64,
    /// Must be read again.
    pub broken: u64,
    /// Added by the proxy.
    pub node: u64,
}

/// How often the vendor's finding and our verdict say the same.
#[derive(Clone, Copy, Debug, Default)]
pub struct Agreement {
    /// They do.
    pub yes: u64,
    /// They do not.
    pub no: u64,
    /// They cannot be compared.
    pub unknown: u64,
}

/// What is counted in the totals, and has no details.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// Conversations.
    pub conversations: u64,
    /// Findings.
    pub findings: u64,
    /// Requests of the kept conversations.
    pub turns: u64,
    /// Findings whose kind was one too many.
    pub kinds: u64,
}

impl Prefix {
    /// Counts a verdict and its loss.
    pub(super) fn add(&mut self, verdict: &Verdict, loss: &Loss) {
        *self.classes.entry(verdict.class.as_str()).or_default() += 1;
        if !matches!(verdict.class, Class::NewLineage | Class::Branch | Class::Truncate) {
            self.kept = self.kept.saturating_add(verdict.kept);
            self.before = self.before.saturating_add(verdict.before);
        }
        if verdict.is_break() {
            self.breaks += 1;
            self.lost = self.lost.saturating_add(loss.bytes);
        }
    }

    /// Kept over before; none where nothing was sent before.
    pub fn ratio(&self) -> Option<f64> {
        (self.before > 0).then(|| self.kept as f64 / self.before as f64)
    }
}

impl Tally {
    pub(super) fn add(&mut self, verdict: &Verdict, loss: &Loss) {
        self.cause = Some(verdict.cause);
        self.count += 1;
        self.breaks += u64::from(verdict.is_break());
        // Where nothing broke, a loss that nobody measured is no unknown loss.
        if verdict.is_break() || *loss != Loss::default() {
            self.bytes = self.bytes.saturating_add(loss.bytes);
            self.tokens.add(loss.tokens);
            self.cost.add(loss.cost);
        }
    }
}

impl Shares {
    pub(super) fn add(&mut self, segment: &Segment) {
        let sum = match segment.share {
            Share::Stable => &mut self.stable,
            Share::New => &mut self.new,
            Share::Broken => &mut self.broken,
            Share::Node => &mut self.node,
        };
        *sum = sum.saturating_add(segment.bytes);
    }
}
