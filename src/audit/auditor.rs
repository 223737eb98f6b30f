//! The auditor: exchanges in, observations out.
//!
//! What the client sent and what left are two walks with a verdict each. Until the first body that was changed on its
//! way they are one; from there on the second one goes its own way, from a copy of what was seen until then.

use std::sync::Arc;

use bytes::Bytes;
use uuid::Uuid;

use super::{
    answers,
    changed_item::{Shown, sides},
    churning::{Churning, Heads},
    exchange::{Exchange, Skipped},
    observation::{Judged, Observation},
    prompt::{Asked, Parsed, decoded},
    strip::strip,
    walk::{Ended, Step, Walk},
};
use crate::{
    config::Upstreams,
    encoding,
    ledger::Outcome,
    prefix::{
        Cause, Request, Verdict,
        digest::{Digest, namespace},
        keys::response_id,
        verdict::By,
    },
    route::{
        self,
        attribution::{Attribution, Parent, Seen, Turn},
        diagnosis,
        loss::Loss,
    },
    wire::{answer::Reading, drift, markers, places::places, usage::Usage},
};

/// What an audit depends on beside the exchanges.
pub struct Options {
    /// The facts about providers, and prices.
    pub routes: route::Table,
    /// The upstreams by whose names a recording may tell where a request went.
    pub upstreams: Upstreams,
    /// Texts may be shown.
    pub show_content: bool,
    /// Ids are the same in every audit, so that reports can be compared; who has one can then guess short texts.
    pub portable_ids: bool,
    /// Bytes of bodies that are kept to explain breaks by.
    pub kept_bodies: usize,
    /// Bytes that are kept of what was sent, about.
    pub kept_records: u64,
}

/// Walks the exchanges of recordings, in the order in which they come.
pub struct Auditor {
    options: Options,
    shown: Shown,
    heads: Heads,
    attribution: Attribution,
    received: Walk,
    sent: Option<Walk>,
}

impl Options {
    /// What `inkfast audit` does when nothing is asked for, with these facts.
    pub fn new(routes: route::Table, upstreams: Upstreams) -> Self {
        Self {
            routes,
            upstreams,
            show_content: false,
            portable_ids: false,
            kept_bodies: 40 << 20,
            kept_records: 96 << 20,
        }
    }
}

impl Auditor {
    /// An auditor that has seen nothing.
    pub fn new(options: Options) -> Self {
        // A version 4 id is as random as a key must be for nobody to guess a short text by its id.
        let namespace = if options.portable_ids {
            namespace(&[0; 32])
        } else {
            Uuid::new_v4()
        };
        Self {
            shown: Shown {
                namespace,
                content: options.show_content,
            },
            heads: Heads::new(),
            attribution: Attribution::default(),
            received: Walk::new(options.kept_records, options.kept_bodies),
            sent: None,
            options,
        }
    }

    /// Judges one exchange.
    ///
    /// # Errors
    /// It is no prompt that can be read; the reason is a name of a closed set.
    pub fn see(&mut self, exchange: Exchange) -> Result<Observation, Skipped> {
        self.observed(&exchange).map_err(|reason| Skipped {
            source: exchange.source.clone(),
            reason,
        })
    }

    /// Which bytes of heads keep changing, conversation by conversation.
    pub fn churning(&self) -> Vec<Churning> {
        self.heads.spans(self.options.show_content)
    }

    fn observed(&mut self, exchange: &Exchange) -> Result<Observation, &'static str> {
        let encoding = encoding::of_headers(&exchange.headers);
        let body = decoded(&exchange.body, &encoding)?;
        let asked = Asked::of(exchange, &body, &self.options.upstreams)?;
        let answer = exchange.answer.as_ref();
        let reading = answer.map(|answer| answers::read(asked.format, answer));
        let reading = reading.unwrap_or_default();
        let ended = ended(exchange, &asked, &reading);

        let Both {
            received,
            judged_received,
            sent,
            mut judged_sent,
            out,
            edited,
        } = self.both(exchange, (&asked, &body), ended)?;
        let step = sent.as_ref().unwrap_or(&received);
        let usage = self.usage(exchange, &asked, &reading);
        let known = usage.filter(|_| ended.outcome == Outcome::Committed);
        let seen = known.map(|usage| {
            let turn = (step, &out, &judged_sent.verdict);
            attributed(&mut self.attribution, exchange, turn, (usage, &reading))
        });
        let miss = seen.as_ref().and_then(|seen| seen.found.miss);
        if let Some(seen) = seen.filter(|_| judged_sent.verdict.is_break()) {
            judged_sent.loss = seen.loss;
        }

        let parent = received.plan.parent.as_deref();
        let conversation = parent.map_or(received.seq, |parent| parent.lineage);
        self.heads.see(conversation, parent, &received.request);
        let changed = edited.then_some(&*received.request);
        Ok(Observation {
            source: exchange.source.clone(),
            number: received.seq,
            at_ms: exchange.at_ms,
            upstream: Arc::clone(&asked.named),
            format: asked.format,
            model: received.request.model.as_deref().map(Into::into),
            conversation,
            continues: parent.map(|parent| parent.seq),
            items: received.request.history.len(),
            strip: strip(
                &step.request,
                &judged_sent.verdict,
                step.plan.parent.as_deref(),
                changed,
            ),
            usage,
            miss,
            diagnoses: diagnosis::all(&reading.diagnostics, Some(&judged_sent.verdict)),
            failed: ended.outcome != Outcome::Committed,
            received: judged_received,
            sent: judged_sent,
        })
    }

    /// Both walks go on by one request.
    fn both(
        &mut self,
        exchange: &Exchange,
        (asked, body): (&Asked, &Bytes),
        ended: Ended,
    ) -> Result<Both, &'static str> {
        let left = self.left(exchange, asked);
        let last = |place: &Digest| self.received.last(place);
        let parsed = asked.parse(exchange, body, &self.options.routes, last)?;
        let stepped = self.received.step(&parsed, ended);
        let received = stepped.map_err(|error| error.label())?;
        let judged_received = self.judged(&received, &parsed, &self.received, None);
        self.received.keep(&received);

        let edited = left.is_some();
        let out = left.unwrap_or(parsed);
        let stepped = self.sent.as_mut().map(|walk| walk.step(&out, ended));
        let sent = stepped.transpose().map_err(|error| error.label())?;
        let judged_sent = match (&sent, &self.sent) {
            (Some(sent), Some(walk)) => {
                let judged = self.judged(sent, &out, walk, by_proxy(exchange));
                walk.keep(sent);
                judged
            }
            _ => judged_received.clone(),
        };
        Ok(Both {
            received,
            judged_received,
            sent,
            judged_sent,
            out,
            edited,
        })
    }

    /// The body that left, where it is another one than the client's. The first one of a recording splits the walk.
    fn left(&mut self, exchange: &Exchange, asked: &Asked) -> Option<Parsed> {
        let sent = exchange.sent.as_ref().filter(|sent| **sent != exchange.body)?;
        let budget = self.options.kept_bodies / 2;
        let walk = self.sent.get_or_insert_with(|| self.received.fork(budget));
        // What left edited left without an encoding.
        let body = decoded(sent, &encoding::of_headers(&exchange.headers)).ok()?;
        asked
            .parse(exchange, &body, &self.options.routes, |place| walk.last(place))
            .ok()
    }

    /// The verdict on a step, as precisely as the bodies tell it.
    fn judged(&self, step: &Step, parsed: &Parsed, walk: &Walk, by_proxy: Option<Cause>) -> Judged {
        let mut verdict = step.plan.received.clone();
        // Until the walks split, what was seen is in the first one.
        let earlier = step
            .plan
            .compared
            .and_then(|key| walk.body(&key).or_else(|| self.received.body(&key)));
        let difference = earlier
            .as_deref()
            .and_then(|earlier| drift::explain(earlier, &step.request, &mut verdict));
        markers::check(
            earlier.as_deref(),
            &step.request,
            parsed.route.markers,
            &mut verdict,
        );
        if let Some(cause) = by_proxy.filter(|_| verdict.is_break()) {
            verdict.cause = cause;
        }
        let parent = step.plan.parent.as_deref();
        let (before, after) = sides(&verdict, difference, parent, &step.request, self.shown);
        Judged {
            loss: Loss {
                bytes: lost(&verdict),
                ..Loss::default()
            },
            verdict,
            before,
            after,
        }
    }

    /// The counts of the answer, those in its body first.
    fn usage(&self, exchange: &Exchange, asked: &Asked, reading: &Reading) -> Option<Usage> {
        let beside = exchange.answer.as_ref().and_then(|answer| answer.usage);
        let usage = reading.usage.or(beside)?;
        Some(if asked.ignores_cached(&self.options.routes) {
            usage.without_cache()
        } else {
            usage
        })
    }
}

/// One request on both walks.
struct Both {
    received: Step,
    judged_received: Judged,
    /// None as long as the walks are one.
    sent: Option<Step>,
    judged_sent: Judged,
    /// What left.
    out: Parsed,
    /// It is another body than the client's.
    edited: bool,
}

fn ended(exchange: &Exchange, asked: &Asked, reading: &Reading) -> Ended {
    let id = reading
        .id
        .as_deref()
        .filter(|_| asked.format.wire().goes_on_by_id());
    Ended {
        outcome: answers::outcome(exchange.answer.as_ref()),
        answer: answers::mark(reading),
        response: id.map(response_id),
    }
}

/// The cause that the proxy gave, where it is one of its own.
fn by_proxy(exchange: &Exchange) -> Option<Cause> {
    let named: Cause = exchange.by_proxy.as_deref()?.parse().ok()?;
    Some(named).filter(|cause| cause.by() == By::Proxy)
}

/// Bytes of the prefix that a break lost, before the cache's rules are asked.
fn lost(verdict: &Verdict) -> u64 {
    if verdict.is_break() {
        verdict.before.saturating_sub(verdict.kept)
    } else {
        0
    }
}

/// What the counts of an answer tell of the cache.
fn attributed(
    attribution: &mut Attribution,
    exchange: &Exchange,
    (step, parsed, verdict): (&Step, &Parsed, &Verdict),
    (usage, reading): (Usage, &Reading),
) -> Seen {
    let request: &Request = &step.request;
    let parent = step.plan.parent.as_deref().filter(|parent| parent.is_committed());
    let places = places(request);
    let front = places.len().saturating_sub(request.history.len());
    attribution.see(&Turn {
        route: (&parsed.route, &parsed.route_key),
        seq: Some(step.seq),
        parent: parent.map(|parent| Parent {
            seq: parent.seq,
            at_ms: None,
            marker_ttl: parent.marker_ttl,
        }),
        sent: verdict,
        request,
        front: places[..front].iter().map(|place| place.bytes).sum(),
        places: &places,
        at_ms: exchange.at_ms,
        // A recording says when an answer ended, and not when it began.
        begun_ms: None,
        usage,
        server_edited: reading.diagnostics.context_edited,
        update: None,
    })
}
