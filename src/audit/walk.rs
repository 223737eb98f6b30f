//! One walk over the requests of a recording: each is decided on with what the ledger knows, and put on record.
//!
//! It is the walk of the proxy, in observe mode, with its waits and its network left out.

use std::sync::Arc;

use super::prompt::Parsed;
use crate::{
    bodies::Bodies,
    ledger::{MemoryLedger, Outcome, Result},
    prefix::{
        Plan, Request, decide,
        digest::Digest,
        item::AnswerMark,
        keys,
        past::{Sent, Seq},
        provider_held,
        record::sent,
    },
};

/// Bytes of resolved paths at hand: conversations side by side come back in turn, so more would help little.
const RESOLVED: usize = 8 << 20;
/// The ledger is looked over once in so many requests, and so many conversations go at once.
const PRUNE_EVERY: u64 = 256;
const PRUNED_AT_ONCE: usize = 64;

/// What was seen so far.
pub struct Walk {
    ledger: MemoryLedger,
    budget: u64,
    bodies: Bodies,
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
    /// Where the last body of its conversation is looked for.
    place: Digest,
    /// Its key.
    key: Digest,
    /// What it says, with what the provider holds in front.
    pub request: Arc<Request>,
    /// The decision, with the verdict.
    pub plan: Plan,
}

impl Walk {
    /// Nothing was seen yet. About `records` bytes of what was sent are kept at most, and `bodies` bytes of bodies.
    pub fn new(records: u64, bodies: usize) -> Self {
        Self {
            ledger: MemoryLedger::with_cache_of(RESOLVED),
            budget: records,
            bodies: Bodies::new(bodies),
        }
    }

    /// Another walk from here on, which has seen the same until now and keeps `bodies` bytes of bodies of its own.
    pub fn fork(&self, bodies: usize) -> Self {
        Self {
            ledger: self.ledger.clone(),
            budget: self.budget,
            bodies: Bodies::new(bodies),
        }
    }

    /// The body that one at this place probably goes on from.
    pub fn last(&self, place: &Digest) -> Option<Arc<Request>> {
        self.bodies.last(place)
    }

    /// The body of the request of this key, if it is still kept.
    pub fn body(&self, request: &Digest) -> Option<Arc<Request>> {
        self.bodies.of_request(request)
    }

    /// Decides on a request, and puts it on record with how it ended.
    ///
    /// # Errors
    /// The ledger contradicts itself, which is a bug.
    pub fn step(&mut self, parsed: &Parsed, ended: Ended) -> Result<Step> {
        let (request, known_by, scope) = (&parsed.request, &parsed.keys, parsed.scope);
        let mut past = self.ledger.past(scope, known_by)?;
        provider_held::unfold(request, &mut past);
        let whole = provider_held::behind(request, known_by, scope, &past);
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
        let seq = self.record(
            parsed,
            sent(request, (scope, keys), &plan, (head, Vec::new()), 0),
            ended,
        )?;
        Ok(Step {
            seq,
            place: parsed.place,
            key: keys.request,
            request: Arc::clone(request),
            plan,
        })
    }

    /// Keeps the body of a request, by which a later one is read and a break explained. What it continues is compared with
    /// no more, unless the conversation branches there.
    pub fn keep(&self, step: &Step) {
        self.bodies.keep(step.place, step.key, Arc::clone(&step.request));
        if let Some(parent) = step.plan.parent.as_deref().filter(|_| step.plan.carries) {
            self.bodies.passed(&parent.request);
        }
    }

    fn record(&mut self, parsed: &Parsed, sent: Sent, ended: Ended) -> Result<Seq> {
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
