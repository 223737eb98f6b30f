//! How a report is filled, and how its memory stays bounded.
//!
//! Lists may grow to twice their limit and are then cut back to the worst, so that each entry is moved a few times at most.

use super::{
    Report,
    conversation::{Conversation, Turn},
    finding::{Finding, is_finding},
    kind::Kind,
    totals::Agreement,
};
use crate::audit::{Observation, Skipped};
use crate::route::diagnosis::Agrees;

impl Report {
    /// Adds a request.
    pub fn add(&mut self, seen: &Observation) {
        self.count(seen);
        self.tally(seen);
        self.converse(seen);
        if let Some(finding) = Finding::of(seen) {
            self.findings.push(finding);
            if self.findings.len() >= self.options.findings.saturating_mul(2).max(1) {
                self.cut_findings();
            }
        }
    }

    /// Counts what was not read.
    pub fn skip(&mut self, skipped: &Skipped) {
        *self.totals.skipped.entry(skipped.reason).or_default() += 1;
    }

    fn count(&mut self, seen: &Observation) {
        let totals = &mut self.totals;
        totals.requests += 1;
        totals.continued += u64::from(seen.continues.is_some());
        totals.failed += u64::from(seen.failed);
        totals.edited += u64::from(seen.received.verdict != seen.sent.verdict);
        totals.sent.add(&seen.sent.verdict, &seen.sent.loss);
        totals.received.add(&seen.received.verdict, &seen.received.loss);
        seen.strip.iter().for_each(|run| totals.shares.add(run));
        totals.cached.add(seen.usage.as_ref());
        if let Some(miss) = seen.miss {
            *self.misses.entry(miss.as_str()).or_default() += 1;
        }
        for one in &seen.diagnoses {
            let agreement = self.diagnostics.entry((one.source, one.cause)).or_default();
            agreement.add(one.agrees);
        }
    }

    fn tally(&mut self, seen: &Observation) {
        for (tallies, judged) in [(&mut self.sent, &seen.sent), (&mut self.received, &seen.received)] {
            if is_finding(&judged.verdict) {
                let tally = tallies.entry(judged.verdict.cause.as_str()).or_default();
                tally.add(&judged.verdict, &judged.loss);
            }
        }
        if is_finding(&seen.sent.verdict) {
            let kind = Kind::of(&seen.sent.verdict, seen.format);
            let room = self.kinds.len() < self.options.kinds;
            if room || self.kinds.contains_key(&kind) {
                let found = self.kinds.entry(kind).or_default();
                found.count += 1;
                found.breaks += u64::from(seen.sent.verdict.is_break());
            } else {
                self.left_out.kinds += 1;
            }
        }
    }

    fn converse(&mut self, seen: &Observation) {
        let id = seen.conversation;
        let first = seen.number == id;
        let known = self.conversations.contains_key(&id);
        // A conversation that was cut does not come back with half of its figures.
        if known || first || self.left_out.conversations == 0 {
            self.totals.conversations += u64::from(!known);
            let one = self
                .conversations
                .entry(id)
                .or_insert_with(|| Conversation::of(seen));
            one.count(seen);
            one.turns.push(Turn::of(seen));
            self.turns += 1;
        }
        if self.conversations.len() >= self.options.conversations.saturating_mul(2).max(1) {
            self.cut_conversations();
        }
        if self.turns >= self.options.turns.saturating_mul(2).max(1) {
            self.cut_turns();
        }
    }

    fn cut_findings(&mut self) {
        let limit = self.options.findings;
        if self.findings.len() > limit {
            self.findings.sort_by_key(Finding::rank);
            self.left_out.findings += (self.findings.len() - limit) as u64;
            self.findings.truncate(limit);
        }
    }

    fn cut_conversations(&mut self) {
        let limit = self.options.conversations;
        let mut ranks: Vec<_> = self.conversations.values().map(Conversation::rank).collect();
        ranks.sort_unstable();
        for rank in ranks.into_iter().skip(limit) {
            if let Some(gone) = self.conversations.remove(&rank.3) {
                self.turns -= gone.turns.len();
                self.left_out.turns -= gone.turns_left_out;
                self.left_out.conversations += 1;
            }
        }
    }

    /// The requests of the least bad conversations go first; of the last one that has to give, its oldest.
    fn cut_turns(&mut self) {
        let mut over = self.turns.saturating_sub(self.options.turns);
        let mut ranks: Vec<_> = self.conversations.values().map(Conversation::rank).collect();
        ranks.sort_unstable();
        for rank in ranks.into_iter().rev() {
            let Some(one) = self.conversations.get_mut(&rank.3).filter(|_| over > 0) else {
                return;
            };
            let gone = one.turns.len().min(over);
            one.turns.drain(..gone);
            one.turns_left_out += gone as u64;
            self.left_out.turns += gone as u64;
            self.turns -= gone;
            over -= gone;
        }
    }
}

impl Agreement {
    fn add(&mut self, agrees: Agrees) {
        match agrees {
            Agrees::Yes => self.yes += 1,
            Agrees::No => self.no += 1,
            Agrees::Unknown => self.unknown += 1,
        }
    }
}
