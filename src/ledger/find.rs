//! Which steps could be what a request continues. Finds; `rank` chooses.
//!
//! The work is bounded whatever is stored: a greeting may be known to ten thousand lineages, and of those the ones
//! with the same head and session are taken first, then the newest.

use super::error::Result;
use super::keys::{ANY, facets};
use super::store::{Step, Store, TOP};
use crate::prefix::digest::Digest;
use crate::prefix::keys::Keys;
use crate::prefix::past::{MAX_PATHS, Seq, State};

/// The most lineages that one key adds.
const PER_KEY: usize = 16;
/// What the chains may lead to.
const BY_CHAIN: Limit = Limit {
    lineages: 16,
    steps: 4,
};
/// What the chains and the answers may lead to.
const BY_ANSWER: Limit = Limit {
    lineages: 24,
    steps: 8,
};
/// What all keys may lead to.
const BY_ASSISTANT: Limit = Limit {
    lineages: 32,
    steps: 12,
};
/// How many answers, and how many assistant items, are followed.
const NAMED: usize = 4;
/// From the deepest known item on, so many assistant turns are looked at.
const TURNS: usize = 2;
/// About how many candidates are loaded by lineage, over all lineages; and how many of each at least.
const LEAVES: usize = 48;
const FEWEST: usize = 2;
/// How far a step that is carried is followed to a candidate.
const DESCENT: usize = 64;

/// The steps that `keys` lead to, in no order.
pub fn candidates(store: &impl Store, keys: &Keys) -> Result<Vec<Seq>> {
    let mut hits = Hits {
        facets: facets(keys.head, keys.hints.session),
        lineages: Vec::new(),
        limit: BY_CHAIN,
    };
    hits.chains(store, keys)?;
    hits.named(store, &keys.answers, BY_ANSWER)?;
    hits.named(store, &keys.assistants, BY_ASSISTANT)?;
    let mut found = Vec::new();
    let mut left = hits.lineages.len();
    for (lineage, steps) in hits.lineages {
        left -= 1;
        let limit = LEAVES
            .saturating_sub(found.len() + left * FEWEST)
            .clamp(FEWEST, MAX_PATHS);
        let leaves = store.leaves(lineage, limit)?;
        let cut = leaves.len() == limit;
        found.extend(leaves);
        for seq in steps {
            found.extend(candidate_from(store, seq, if cut { DESCENT } else { 0 })?);
        }
    }
    found.sort_unstable();
    found.dedup();
    Ok(found)
}

/// Lineages that know something of the request, each with the steps by which it does.
struct Hits {
    facets: Vec<u64>,
    lineages: Vec<(Seq, Vec<Seq>)>,
    limit: Limit,
}

/// The most lineages, and the most steps of each, that keys may lead to.
#[derive(Clone, Copy)]
struct Limit {
    lineages: usize,
    steps: usize,
}

impl Hits {
    /// Follows the chains from the deepest one that is known to those about two turns less deep.
    fn chains(&mut self, store: &impl Store, keys: &Keys) -> Result<()> {
        let turn = keys.items.len() / keys.assistants.len().max(1) + 1;
        let mut known = keys.chains.iter();
        for key in known.by_ref() {
            if self.follow(store, *key)? {
                break;
            }
        }
        for key in known.take(TURNS * turn) {
            self.follow(store, *key)?;
        }
        Ok(())
    }

    /// Follows the first few of `keys` that are known.
    fn named(&mut self, store: &impl Store, keys: &[Digest], limit: Limit) -> Result<()> {
        self.limit = limit;
        let mut left = NAMED;
        for key in keys {
            left -= usize::from(self.follow(store, *key)?);
            if left == 0 {
                break;
            }
        }
        Ok(())
    }

    /// Adds the lineages that know `key`; whether any does.
    fn follow(&mut self, store: &impl Store, key: Digest) -> Result<bool> {
        let mut found = newest(store, key, ANY, PER_KEY)?;
        if found.len() == PER_KEY {
            // There may be more than these: those that suit better come first.
            let all = std::mem::take(&mut found);
            for facet in self.facets.iter().filter(|facet| **facet != ANY) {
                found.extend(newest(store, key, *facet, PER_KEY)?);
            }
            found.extend(all);
        }
        for (lineage, seq) in &found {
            self.add(*lineage, *seq);
        }
        Ok(!found.is_empty())
    }

    fn add(&mut self, lineage: Seq, seq: Seq) {
        match self.lineages.iter().position(|(known, _)| *known == lineage) {
            Some(known) => {
                let steps = &mut self.lineages[known].1;
                if steps.len() < self.limit.steps && !steps.contains(&seq) {
                    steps.push(seq);
                }
            }
            None if self.lineages.len() < self.limit.lineages => self.lineages.push((lineage, vec![seq])),
            None => {}
        }
    }
}

/// The newest lineages that know `key`, each with the newest step by which it does.
fn newest(store: &impl Store, key: Digest, facet: u64, limit: usize) -> Result<Vec<(Seq, Seq)>> {
    let mut found = Vec::new();
    let mut below = TOP;
    while found.len() < limit
        && let Some((lineage, seq)) = store.newest(key, facet, below)?
    {
        below = lineage;
        found.push((lineage, seq));
    }
    Ok(found)
}

/// The step itself if it is a candidate, else what became of it, at most `hops` steps on.
fn candidate_from(store: &impl Store, seq: Seq, hops: usize) -> Result<Option<Seq>> {
    let mut step = store.step(seq)?;
    for _ in 0..hops {
        match step {
            Some(known) if !known.is_candidate() => step = newest_child(store, known.seq)?,
            _ => break,
        }
    }
    Ok(step.filter(Step::is_candidate).map(|step| step.seq))
}

/// Of the last few steps that continue this one, the newest that did not fail.
fn newest_child(store: &impl Store, seq: Seq) -> Result<Option<Step>> {
    for child in store.children(seq, NAMED)? {
        if let Some(step) = store.step(child)?.filter(|step| step.state != State::Failed) {
            return Ok(Some(step));
        }
    }
    Ok(None)
}
