//! The auditor: exchanges in, observations out.
//!
//! What the client sent and what left are two walks with a verdict each. Until the first body that was changed on its
//! way they are one; from there on the second one goes its own way, from a copy of what was seen until then.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use uuid::Uuid;

use super::{
    answers,
    exchange::{Exchange, Skipped},
    observation::{Judged, Observation},
    prompt::{Asked, Parsed, decoded},
    sides::sides,
    strip::strip,
    walk::{Ended, Step, Walk},
    warm,
};
use crate::{
    bodies::Bodies,
    config::Upstreams,
    encoding,
    ledger::Outcome,
    prefix::{
        Cause, Request, Verdict,
        digest::{Digest, namespace},
        keys::response_id,
    },
    prompt::changed_span,
    route::{self, diagnosis, loss::Loss},
    wire::{answer::Reading, usage::Usage},
};

/// What an audit depends on beside the exchanges.
pub struct Options {
    /// The facts about providers.
    pub routes: route::Table,
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
    upstreams: Upstreams,
    namespace: Uuid,
    bodies: Bodies,
    received: Walk,
    sent: Option<Walk>,
}

impl Options {
    /// What `inkfast audit` does when nothing is asked for.
    ///
    /// # Errors
    /// The built-in table cannot be read, which a test excludes.
    pub fn standard() -> Result<Self, toml::de::Error> {
        Ok(Self {
            routes: route::Table::built_in()?,
            show_content: false,
            portable_ids: false,
            kept_bodies: 96 << 20,
            kept_records: 48 << 20,
        })
    }
}

impl Auditor {
    /// An auditor that has seen nothing.
    pub fn new(options: Options) -> Self {
        let upstreams = Upstreams::well_known();
        let key = if options.portable_ids { [0; 32] } else { random_key() };
        Self {
            upstreams,
            namespace: namespace(&key),
            bodies: Bodies::new(options.kept_bodies),
            received: Walk::new(options.kept_records),
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

    fn observed(&mut self, exchange: &Exchange) -> Result<Observation, &'static str> {
        let encoding = encoding::of_headers(&exchange.headers);
        let body = decoded(&exchange.body, &encoding)?;
        let asked = Asked::of(exchange, &body, &self.upstreams)?;
        let answer = exchange.answer.as_ref();
        let reading = answer.map(|answer| answers::read(asked.format, answer));
        let reading = reading.unwrap_or_default();
        let ended = ended(exchange, &asked, &reading);
        let changed = exchange.sent.as_ref().filter(|sent| **sent != exchange.body);
        if changed.is_some() && self.sent.is_none() {
            self.sent = Some(self.received.clone());
        }

        let (parsed, place) = self.parse(exchange, &asked, &body, Side::Received)?;
        let received = self.step(Side::Received, &parsed, place, ended)?;
        let earlier = self.earlier(&received);
        let left = match changed {
            Some(changed) => self.parse(exchange, &asked, &decoded(changed, &encoding)?, Side::Sent).ok(),
            None => None,
        };
        let (out, out_place) = left.as_ref().map_or((&parsed, place), |(out, place)| (out, *place));
        let sent = match self.sent {
            Some(_) => Some(self.step(Side::Sent, out, out_place, ended)?),
            None => None,
        };
        let sent_earlier = sent.as_ref().and_then(|sent| self.earlier(sent));
        parsed.keep(&self.bodies);
        out.keep(&self.bodies);

        let usage = self.usage(exchange, &asked, &reading);
        let (step, walk) = match (&sent, &mut self.sent) {
            (Some(sent), Some(walk)) => (sent, walk),
            _ => (&received, &mut self.received),
        };
        let miss = usage
            .filter(|_| ended.outcome == Outcome::Committed)
            .and_then(|usage| warm::miss(walk, step, &parsed.route, &usage, exchange.at_ms));
        let judged_received = self.judged(&received, earlier.as_deref(), None);
        let judged_sent = match &sent {
            Some(sent) => self.judged(sent, sent_earlier.as_deref(), by_proxy(exchange)),
            None => judged_received.clone(),
        };
        let parent = received.plan.parent.as_deref();
        let out = sent.as_ref().unwrap_or(&received);
        let changed = left.is_some().then_some(&*received.request);
        Ok(Observation {
            source: exchange.source.clone(),
            number: received.seq,
            at_ms: exchange.at_ms,
            upstream: Arc::clone(&asked.named),
            format: asked.format,
            model: received.request.model.as_deref().map(Into::into),
            conversation: parent.map_or(received.seq, |parent| parent.lineage),
            continues: parent.map(|parent| parent.seq),
            items: received.request.history.len(),
            strip: strip(&out.request, &judged_sent.verdict, out.plan.parent.as_deref(), changed),
            head_spans: head_spans(&received),
            usage,
            miss,
            diagnoses: diagnosis::all(&reading.diagnostics, Some(&judged_sent.verdict)),
            failed: ended.outcome != Outcome::Committed,
            received: judged_received,
            sent: judged_sent,
        })
    }

    fn parse(
        &mut self,
        exchange: &Exchange,
        asked: &Asked,
        body: &Bytes,
        side: Side,
    ) -> Result<(Parsed, Digest), &'static str> {
        let walk = match (side, &mut self.sent) {
            (Side::Sent, Some(sent)) => sent,
            _ => &mut self.received,
        };
        let bodies = &self.bodies;
        asked.parse(exchange, body, &self.options.routes, |place| walk.last(place, bodies))
    }

    fn step(&mut self, side: Side, parsed: &Parsed, place: Digest, ended: Ended) -> Result<Step, &'static str> {
        let walk = match (side, &mut self.sent) {
            (Side::Sent, Some(sent)) => sent,
            _ => &mut self.received,
        };
        walk.step(parsed, place, ended).map_err(|error| error.label())
    }

    /// The body of what a request continues, if it is still kept.
    fn earlier(&self, step: &Step) -> Option<Arc<Request>> {
        let parent = step.plan.parent.as_deref()?;
        self.bodies.last(&parent.request)
    }

    fn judged(&self, step: &Step, earlier: Option<&Request>, by_proxy: Option<Cause>) -> Judged {
        let mut verdict = step.plan.received.clone();
        if let Some(cause) = by_proxy.filter(|_| verdict.is_break()) {
            verdict.cause = cause;
        }
        let parent = step.plan.parent.as_deref();
        let (before, after) = sides(&verdict, (parent, earlier), &step.request, &self.namespace);
        Judged {
            loss: loss(&verdict),
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

/// Which of the two walks.
#[derive(Clone, Copy)]
enum Side {
    Received,
    Sent,
}

fn ended(exchange: &Exchange, asked: &Asked, reading: &Reading) -> Ended {
    let id = reading.id.as_deref().filter(|_| asked.format.wire().goes_on_by_id());
    Ended {
        outcome: answers::outcome(exchange.answer.as_ref()),
        answer: answers::mark(reading),
        response: id.map(response_id),
    }
}

/// The cause that the proxy gave, where it is one of its own.
fn by_proxy(exchange: &Exchange) -> Option<Cause> {
    let own = [Cause::NoSlot, Cause::Refused, Cause::Guard, Cause::Rebaseline, Cause::UnknownHistory];
    let named = exchange.by_proxy.as_deref()?;
    own.into_iter().find(|cause| cause.as_str() == named)
}

fn loss(verdict: &Verdict) -> Loss {
    let bytes = if verdict.is_break() {
        verdict.before.saturating_sub(verdict.kept)
    } else {
        0
    };
    Loss {
        bytes,
        ..Loss::default()
    }
}

/// The bytes of each head block's texts that differ from the block at the same place before.
fn head_spans(step: &Step) -> Vec<(usize, Range<usize>)> {
    let Some(parent) = step.plan.parent.as_deref() else {
        return Vec::new();
    };
    let head = &step.request.head;
    if parent.head.digest == head.digest {
        return Vec::new();
    }
    let pairs = head.blocks.iter().map(|block| &block.frozen).zip(&parent.head.blocks);
    let differ = pairs.enumerate().filter(|(_, (new, old))| new.canonical != old.canonical);
    let spans = differ.filter_map(|(index, (new, old))| {
        let [old, new] = [old, new].map(|block| block.texts.as_ref().map(|texts| texts.concat()));
        let span = changed_span(&old?, &new?)?;
        Some((index, span.new))
    });
    spans.collect()
}

/// A key that nobody knows, so that nobody can guess a short text by its id.
fn random_key() -> [u8; 32] {
    // Two random ids of the system's generator have more than enough of what is needed.
    let mut key = [0; 32];
    let filled = rustls::crypto::ring::default_provider().secure_random.fill(&mut key);
    debug_assert!(filled.is_ok());
    key
}
