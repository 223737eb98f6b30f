//! One walk over the requests of a recording: each is decided on with what the ledger knows, and put on record.
//!
//! It is the walk of the proxy, in observe mode, with its waits and its network left out.

use std::sync::Arc;

use hashlink::LruCache;

use super::prompt::Parsed;
use crate::{
    bodies::Bodies,
    ledger::{MemoryLedger, Outcome, Result},
    prefix::{
        Plan, Request, decide,
        digest::Digest,
        held,
        item::AnswerMark,
        keys,
        past::Seq,
        record::sent,
    },
    route::warmth::Known,
};

/// Requests whose counts may still be compared with those of one that continues them.
const ANSWERED: usize = 64 << 10;
/// Conversations whose last body may be asked for.
const PLACES: usize = 16 << 10;
/// The ledger is looked over once in so many requests, and so many conversations go at once.
const PRUNE_EVERY: u64 = 256;
const PRUNED_AT_ONCE: usize = 64;

/// What was seen so far.
#[derive(Clone)]
pub struct Walk {
    ledger: MemoryLedger,
    budget: u64,
    answered: LruCache<Seq, Known>,
    last: LruCache<Digest, Digest>,
}

/// How a request ended.
#[derive(Clone, Copy)]
pub struct Ended {
    /// Whether it was taken.
    pub outcome: Outcome,
    /// What was answered.
    pub answer: Option<AnswerMark>,
    /// The digest of the response's id, where a request may name it.
    pub response: Option<Digest>,
}

/// One request, decided on.
pub struct Step {
    /// Its number, from 1, counted over the requests that could be read.
    pub seq: Seq,
    /// What it says, with what the provider holds in front.
    pub request: Arc<Request>,
    /// The decision, with the verdict.
    pub plan: Plan,
}

impl Walk {
    /// Nothing was seen yet, and no more than about `budget` bytes are ever kept of it.
    pub fn new(budget: u64) -> Self {
        Self {
            ledger: MemoryLedger::new(),
            budget,
            answered: LruCache::new(ANSWERED),
            last: LruCache::new(PLACES),
        }
    }

    /// The body that one at this place probably goes on from.
    pub fn last(&mut self, place: &Digest, bodies: &Bodies) -> Option<Arc<Request>> {
        let request = self.last.get(place)?;
        bodies.last(request)
    }

    /// Decides on a request that stands at `place`, and puts it on record with how it ended.
    ///
    /// # Errors
    /// The ledger contradicts itself, which is a bug.
    pub fn step(&mut self, parsed: &Parsed, place: Digest, ended: Ended) -> Result<Step> {
        let (request, known_by, scope) = (&parsed.request, &parsed.keys, parsed.scope);
        let mut past = self.ledger.past(scope, known_by)?;
        held::unfold(request, &mut past);
        let whole = held::behind(request, known_by, scope, &past);
        let whole = whole.map(|(request, keys)| (Arc::new(request), keys));
        let (request, keys) = match &whole {
            Some((request, keys)) => (request, keys),
            None => (request, known_by),
        };
        let plan = decide(request, keys.request, &past, &parsed.route.policy, 0);
        let head = plan
            .baseline
            .clone()
            .unwrap_or_else(|| Arc::new(request.head.freeze()));
        let seq = self.record(parsed, sent(request, (scope, keys), &plan, (head, Vec::new()), 0), ended)?;
        self.last.insert(place, keys.request);
        Ok(Step {
            seq,
            request: Arc::clone(request),
            plan,
        })
    }

    /// The counts of the request that was on record as `seq`.
    pub fn known(&mut self, seq: Seq) -> Option<Known> {
        self.answered.get(&seq).copied()
    }

    /// Remembers what the counts of a request tell.
    pub fn remember(&mut self, seq: Seq, known: Known) {
        self.answered.insert(seq, known);
    }

    fn record(&mut self, parsed: &Parsed, sent: crate::prefix::past::Sent, ended: Ended) -> Result<Seq> {
        let seq = self.ledger.append(parsed.scope, sent)?;
        // Time in this ledger is the order of the requests: what is pruned must not hang on recorded clocks.
        if let Some(answer) = ended.answer {
            self.ledger.answer(seq, answer, seq)?;
        }
        if let Some(response) = ended.response {
            let key = keys::response_key(parsed.scope, response);
            self.ledger.respond(seq, key)?;
        }
        self.ledger.settle(seq, ended.outcome, seq)?;
        if seq % PRUNE_EVERY == 0 {
            self.ledger.prune(seq, u64::MAX, self.budget, PRUNED_AT_ONCE)?;
        }
        Ok(seq)
    }
}
