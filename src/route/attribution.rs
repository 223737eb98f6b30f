//! From one request to the next: what the cache should have, why it did not serve it, what a break lost.
//!
//! Pure, with a bounded memory of the requests and routes that were used last. The proxy and the audit walk requests
//! through it alike. What is forgotten is unknown, never guessed.

use hashlink::LruCache;

use super::Route;
use super::evidence::{Evidence, Found};
use super::loss::{self, Broken, Entries, Entry, Loss};
use super::warmth::{Continuation, Known};
use crate::prefix::item::{Kind, Role};
use crate::prefix::{Cause, Class, Request, Verdict, past::Seq};
use crate::wire::{places::Place, usage::Usage};

/// Requests that may still be continued.
const REQUESTS: usize = 8192;
/// Routes in use.
const ROUTES: usize = 512;
/// Entries that are kept of one request: older ones are in front of its later ones.
const ENTRIES: usize = 32;

/// What was answered so far.
pub struct Attribution {
    answered: LruCache<Seq, Kept>,
    routes: LruCache<String, Evidence>,
}

/// One request that was answered, as it was sent.
#[derive(Clone, Copy, Debug)]
pub struct Turn<'a> {
    /// The route, and its name.
    pub route: (&'a Route, &'a str),
    /// Its number; none where it cannot be continued.
    pub seq: Option<Seq>,
    /// The request that it is compared with, where an upstream took that.
    pub parent: Option<Parent>,
    /// What it did to it.
    pub sent: &'a Verdict,
    /// The request.
    pub request: &'a Request,
    /// Its items as they went out, with what was added.
    pub places: &'a [Place],
    /// Bytes of the tools and the head among them.
    pub front: u64,
    /// When it was sent, in milliseconds since the epoch.
    pub at_ms: Option<u64>,
    /// When its answer began.
    pub begun_ms: Option<u64>,
    /// The counts of its answer.
    pub usage: Usage,
    /// The provider says that it cleared a part of the history itself.
    pub server_edited: bool,
    /// A new update of the operator's role that was added: its bytes, and the row by which it was placed.
    pub update: Option<(u64, &'a str)>,
}

/// The request that another one is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parent {
    /// Its number.
    pub seq: Seq,
    /// When its response ended, or it was sent, in milliseconds since the epoch; for where nothing else is kept of it.
    pub at_ms: Option<u64>,
    /// Longest lifetime of its cache markers, in seconds.
    pub marker_ttl: Option<u32>,
}

/// What was found about one request.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Seen {
    /// Why the cache missed an intact prefix, and whether a row is to be given up.
    pub found: Found,
    /// What a break lost; nothing where there was none.
    pub loss: Loss,
}

/// What is kept of a request.
#[derive(Clone, Debug)]
struct Kept {
    known: Known,
    /// It has a time: without one there is no idle time either.
    timed: bool,
    /// Entries in front of its end, in order.
    entries: Vec<Entry>,
    /// What its answer says was read and written.
    told: Option<u64>,
    /// The client's history items.
    items: usize,
}

impl Default for Attribution {
    fn default() -> Self {
        Self {
            answered: LruCache::new(REQUESTS),
            routes: LruCache::new(ROUTES),
        }
    }
}

impl Attribution {
    /// Weighs a request and the counts of its answer, and remembers it for those that continue it. Ask once a request, in
    /// the order in which they were answered; one without counts is not to be asked about.
    pub fn see(&mut self, turn: &Turn<'_>) -> Seen {
        let before = turn
            .parent
            .and_then(|parent| self.answered.get(&parent.seq).cloned());
        let loss = loss_of(turn, before.as_ref());
        if let Some(seq) = turn.seq {
            self.answered.insert(seq, kept(turn, before.as_ref()));
        }
        let Some(parent) = turn.parent.filter(|_| turn.sent.is_intact()) else {
            return Seen {
                loss,
                ..Seen::default()
            };
        };
        let seen = continuation(turn, parent, before.as_ref());
        let evidence = self.routes.entry(turn.route.1.to_owned());
        let evidence = evidence.or_insert_with(Evidence::default);
        let row = turn.update.map(|(_, row)| row);
        let found = evidence.weigh(row, &seen, &turn.route.0.cache);
        Seen { found, loss }
    }
}

fn kept(turn: &Turn<'_>, before: Option<&Kept>) -> Kept {
    let (cache, facts) = (&turn.route.0.cache, &turn.route.0.loss);
    let intact = turn.sent.class == Class::Extend;
    let extended = before.filter(|_| intact).map(|before| &before.known);
    let known = Known {
        begun_ms: turn.begun_ms,
        ..Known::of(
            &turn.usage,
            (total(turn.places), turn.at_ms.unwrap_or(0)),
            cache,
            extended,
        )
    };
    let stands = |entry: &Entry| intact || entry.bytes <= turn.sent.kept;
    let older = before
        .into_iter()
        .flat_map(|before| before.entries.iter().copied().filter(stands));
    let mut entries: Vec<Entry> = older.chain(loss::written(turn.places, facts)).collect();
    entries.sort_unstable();
    entries.dedup_by_key(|entry| entry.at);
    entries.drain(..entries.len().saturating_sub(ENTRIES));
    let told = turn.usage.cache_read.zip(turn.usage.cache_write);
    Kept {
        known,
        timed: turn.at_ms.is_some(),
        entries,
        told: told.map(|(read, write)| read.saturating_add(write)),
        items: turn.request.history.len(),
    }
}

fn loss_of(turn: &Turn<'_>, before: Option<&Kept>) -> Loss {
    let (sent, route) = (turn.sent, turn.route.0);
    let marker = matches!(
        sent.cause,
        Cause::MarkerLost | Cause::MarkerLimit | Cause::MarkerTtlOrder
    );
    if !(sent.is_break() || marker) {
        return Loss::default();
    }
    let ttl = turn.parent.and_then(|parent| parent.marker_ttl);
    let lifetime = route
        .cache
        .ttl
        .map(|seconds| u64::from(seconds.max(ttl.unwrap_or(0))) * 1000);
    if idle_ms(turn, before)
        .zip(lifetime)
        .is_some_and(|(idle, lifetime)| idle > lifetime)
    {
        return Loss::default();
    }
    let bytes = total(turn.places);
    let own = per_token(bytes, turn.usage.input_total);
    let earlier = before.and_then(|before| per_token(before.known.bytes, before.known.input_total));
    // What is known of the earlier one where it is forgotten: the bytes, and its markers where they still stand.
    let entries = match before {
        Some(before) => before.entries.clone(),
        None => loss::written(turn.places, &route.loss),
    };
    let broken = Broken {
        before: sent.before,
        entries: &entries,
        after: turn.places,
        kept: sent.kept,
        per_token: own.or(earlier),
        told: before.and_then(|before| before.told),
    };
    let writes = route.loss.entries == Entries::Markers;
    let price = route.price.with_ttl(ttl.filter(|_| writes));
    loss::loss(&broken, &route.loss, Some(&price))
}

fn continuation(turn: &Turn<'_>, parent: Parent, before: Option<&Kept>) -> Continuation {
    let facts = &turn.route.0.loss;
    let last = turn.request.history.last();
    let out_of_reach = || {
        let entry = before.and_then(|before| before.entries.last());
        entry.is_some_and(|entry| !loss::looked(turn.places, facts).contains(&entry.at))
    };
    let begun = before.and_then(|before| before.known.begun_ms);
    Continuation {
        usage: turn.usage,
        before: before.map(|before| before.known),
        idle_ms: idle_ms(turn, before).or(idle_since(turn, parent)).unwrap_or(0),
        bytes: total(turn.places),
        front: turn.front,
        marked: turn.request.marker_ttl.is_some() && parent.marker_ttl.is_some(),
        marker_ttl: parent.marker_ttl,
        node: turn.update.map_or(0, |(bytes, _)| bytes),
        speaks: last.is_some_and(|item| item.mark.role == Role::User && item.mark.kind == Kind::Content),
        leaves_thinking: before.is_some_and(|before| leaves_thinking(turn.request, before.items)),
        in_flight: begun.zip(turn.at_ms).is_some_and(|(begun, sent)| sent < begun),
        out_of_reach: facts.look_back.is_some() && out_of_reach(),
        server_edited: turn.server_edited,
    }
}

/// Whether the turn in which the first `earlier` items end holds thinking, and the user spoke behind them.
fn leaves_thinking(request: &Request, earlier: usize) -> bool {
    let speaks =
        |item: &crate::prefix::item::Item| item.mark.role == Role::User && item.mark.kind == Kind::Content;
    let (old, new) = request.history.split_at(earlier.min(request.history.len()));
    let turn = old.iter().rposition(speaks).map_or(0, |at| at + 1);
    new.iter().any(speaks) && old[turn..].iter().any(|item| item.mark.kind == Kind::Thinking)
}

fn idle_ms(turn: &Turn<'_>, before: Option<&Kept>) -> Option<u64> {
    let before = before.filter(|before| before.timed)?;
    Some(turn.at_ms?.saturating_sub(before.known.sent_ms))
}

fn idle_since(turn: &Turn<'_>, parent: Parent) -> Option<u64> {
    Some(turn.at_ms?.saturating_sub(parent.at_ms?))
}

fn per_token(bytes: u64, tokens: Option<u64>) -> Option<f64> {
    let tokens = tokens.filter(|tokens| *tokens > 0)?;
    Some(bytes as f64 / tokens as f64).filter(|ratio| *ratio > 0.0)
}

fn total(places: &[Place]) -> u64 {
    places.iter().map(|place| place.bytes).sum()
}
