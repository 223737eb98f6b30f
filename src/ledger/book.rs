//! The ledger's logic over any store: what a look-up answers, and what a write changes.

use std::sync::Arc;

use super::error::{LedgerError, Result};
use super::find;
use super::keys::{ANY, Listing};
use super::learned::{self, Learned, Routes};
use super::load::{Caches, Loaded, Loader};
use super::rank;
use super::store::{KeyRow, Lineage, Stats, Step, Store, TOP};
use crate::prefix::digest::Digest;
use crate::prefix::item::AnswerMark;
use crate::prefix::keys::{Keys, Scope, answer_key};
use crate::prefix::past::{Past, Path, Seq, State};

/// Bytes of resolved paths that are kept at hand.
const CACHE_BYTES: usize = 48 << 20;

/// A ledger in one thread: every method is plain, and a write is whole or not at all.
pub struct Book<S> {
    pub(super) store: S,
    pub(super) caches: Caches,
}

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// A 2xx status line.
    Committed,
    /// The upstream says that it took nothing of it (400, 404, 413, 422): it is not found again by what only it sent.
    RolledBack,
    /// Any other end without a 2xx.
    Failed,
}

impl<S: Store> Book<S> {
    pub(super) fn over(store: S) -> Self {
        Self::with_cache(store, CACHE_BYTES)
    }

    /// Over a store, with so many bytes of resolved paths at hand.
    pub(super) fn with_cache(store: S, bytes: usize) -> Self {
        Self {
            store,
            caches: Caches::new(bytes),
        }
    }

    /// Everything that is known of the past of a request: at most [`MAX_PATHS`](crate::prefix::past::MAX_PATHS)
    /// candidates, which did not fail and which no committed request carries on, best first; beside them a request
    /// that was the same in everything, even if it is carried. Of a request that goes on behind a response, what got
    /// that response is all its past.
    pub fn past(&mut self, scope: Scope, keys: &Keys) -> Result<Past> {
        let exact = match self.store.requested(keys.request)? {
            Some(seq) => self.load_in(scope, seq)?,
            None => None,
        };
        if let Some(response) = keys.response {
            let known = self.store.newest(response, ANY, TOP)?;
            let path = known.map_or(Ok(None), |(_, seq)| self.load_in(scope, seq))?;
            let paths = path.into_iter().collect();
            return Ok(Past { exact, paths });
        }
        let mut paths = Vec::new();
        for seq in find::candidates(&self.store, keys)? {
            paths.extend(self.load_in(scope, seq)?);
        }
        Ok(Past {
            exact,
            paths: rank::rank(paths, keys),
        })
    }

    /// Says how a request ended. The first word counts; later ones change nothing.
    pub fn settle(&mut self, seq: Seq, outcome: Outcome, at_ms: u64) -> Result<()> {
        self.write(false, |book| {
            let mut step = book.known(seq)?;
            if step.state != State::Tentative {
                return Ok(());
            }
            step.state = match outcome {
                Outcome::Committed => State::Committed,
                Outcome::RolledBack | Outcome::Failed => State::Failed,
            };
            step.at_ms = at_ms;
            book.store.put_step(&step)?;
            book.touch(step.lineage, at_ms, |_| {})?;
            match outcome {
                Outcome::Committed => book.carry(&step),
                Outcome::RolledBack if book.store.children(seq, 1)?.is_empty() => book.remove_keys(&step),
                Outcome::RolledBack | Outcome::Failed => Ok(()),
            }
        })
    }

    /// Says what was answered, from when on a request can also be found by the answer.
    pub fn answer(&mut self, seq: Seq, answer: AnswerMark, at_ms: u64) -> Result<()> {
        self.write(false, |book| {
            let mut step = book.known(seq)?;
            let loaded = book.load(seq)?.ok_or(LedgerError::Unknown(seq))?;
            let listing = Listing::of(&loaded.path);
            if let Some(old) = step.answer {
                book.delist(&listing, answer_key(loaded.scope, old))?;
            }
            book.list(&listing, answer_key(loaded.scope, answer))?;
            (step.answer, step.at_ms) = (Some(answer), at_ms);
            book.store.put_step(&step)?;
            book.touch(step.lineage, at_ms, |_| {})
        })
    }

    /// Says by which key a request may name the response, from when on it is found by it.
    pub fn respond(&mut self, seq: Seq, response: Digest) -> Result<()> {
        self.write(false, |book| {
            let mut step = book.known(seq)?;
            if let Some(old) = step.response.replace(response) {
                book.store.remove_key(&response_row(&step, old))?;
            }
            book.store.put_key(&response_row(&step, response))?;
            book.store.put_step(&step)
        })
    }

    /// Remembers that a row does not work on a route; an earlier note on the same row is replaced.
    pub fn learn(&mut self, route: &str, learned: Learned) -> Result<()> {
        self.change_routes(|routes| routes.learn(route, learned))
    }

    /// Forgets what was learned of a route.
    pub fn unlearn(&mut self, route: &str) -> Result<()> {
        self.change_routes(|routes| routes.forget(route))
    }

    /// What was learned of a route, expired notes included.
    pub fn learned(&self, route: &str) -> Result<Vec<Learned>> {
        Ok(self.routes()?.of(route))
    }

    /// What was learned of all routes, by the route's name, expired notes included.
    pub fn all_learned(&self) -> Result<Vec<(String, Vec<Learned>)>> {
        Ok(self.routes()?.all())
    }

    /// The store's own key: 32 random bytes, made at the first call and kept ever after.
    pub fn secret(&mut self) -> Result<[u8; 32]> {
        self.write(true, |book| {
            if let Some(kept) = book.store.meta("secret")? {
                return kept
                    .try_into()
                    .map_err(|_| LedgerError::corrupt("the store's key"));
            }
            let mut secret = [0; 32];
            let random = rustls::crypto::ring::default_provider().secure_random;
            random
                .fill(&mut secret)
                .map_err(|_| LedgerError::Io("no random bytes".to_owned()))?;
            book.store.put_meta("secret", &secret)?;
            Ok(secret)
        })
    }

    /// How much is stored.
    pub fn stats(&self) -> Result<Stats> {
        let (lineages, items) = self.store.count()?;
        Ok(Stats {
            lineages,
            items,
            bytes: self.store.bytes()?,
        })
    }

    /// How many rows were read since the ledger was opened: the cost of look-ups, without a clock.
    pub fn rows_read(&self) -> u64 {
        self.store.rows_read()
    }

    /// Runs `work` in a transaction: all that it writes, or nothing.
    pub(super) fn write<T>(&mut self, durable: bool, work: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.store.begin(durable)?;
        let done = work(self).and_then(|value| self.store.commit().map(|()| value));
        if done.is_err() {
            self.take_back();
        }
        done
    }

    /// Takes back what a transaction wrote, and forgets what was resolved in it.
    pub(super) fn take_back(&mut self) {
        self.store.rollback();
        self.caches.clear();
    }

    /// A committed step that carries on its parent's answer ends the parent's candidacy.
    fn carry(&mut self, step: &Step) -> Result<()> {
        if let Some(parent) = step.parent.filter(|_| step.carries)
            && let Some(mut parent) = self.store.step(parent)?
        {
            parent.carried = true;
            self.store.put_step(&parent)?;
        }
        Ok(())
    }

    /// Lets a step be found by a key.
    pub(super) fn list(&mut self, listing: &Listing, key: Digest) -> Result<()> {
        listing.rows(key).try_for_each(|row| self.store.put_key(&row))
    }

    fn delist(&mut self, listing: &Listing, key: Digest) -> Result<()> {
        listing.rows(key).try_for_each(|row| self.store.remove_key(&row))
    }

    /// Lets a step be found by nothing any more.
    pub(super) fn remove_keys(&mut self, step: &Step) -> Result<()> {
        let record = self.loader().record(step.seq)?;
        let listing = Listing::new(step.lineage, step.seq, record.head_digest, record.hints.session);
        let answer = step.answer.map(|answer| answer_key(Scope(record.scope), answer));
        if let Some(response) = step.response {
            self.store.remove_key(&response_row(step, response))?;
        }
        record
            .keys
            .into_iter()
            .chain(answer)
            .try_for_each(|key| self.delist(&listing, key))
    }

    /// Notes that a lineage was used, and what else `change` says.
    pub(super) fn touch(
        &mut self,
        lineage: Seq,
        at_ms: u64,
        change: impl FnOnce(&mut Lineage),
    ) -> Result<()> {
        let known = self.store.lineage(lineage)?;
        let mut row = known.unwrap_or(Lineage {
            lineage,
            used_ms: 0,
            nodes: false,
            items: 0,
        });
        row.used_ms = row.used_ms.max(at_ms);
        change(&mut row);
        self.store.put_lineage(&row)
    }

    fn routes(&self) -> Result<Routes> {
        self.store
            .meta(learned::META)?
            .map_or(Ok(Routes::default()), |bytes| Routes::decode(&bytes))
    }

    fn change_routes(&mut self, change: impl FnOnce(&mut Routes)) -> Result<()> {
        self.write(false, |book| {
            let mut routes = book.routes()?;
            change(&mut routes);
            book.store.put_meta(learned::META, &routes.encode()?)
        })
    }

    pub(super) fn known(&self, seq: Seq) -> Result<Step> {
        self.store.step(seq)?.ok_or(LedgerError::Unknown(seq))
    }

    /// A path, if it is in this scope: that is in every key, and asked again here, since a stranger's text must never
    /// be answered.
    fn load_in(&mut self, scope: Scope, seq: Seq) -> Result<Option<Arc<Path>>> {
        let loaded = self.load(seq)?.filter(|loaded| loaded.scope == scope);
        Ok(loaded.map(|loaded| loaded.path))
    }

    pub(super) fn load(&mut self, seq: Seq) -> Result<Option<Loaded>> {
        self.loader().path(seq)
    }

    pub(super) fn loader(&mut self) -> Loader<'_, S> {
        Loader {
            store: &self.store,
            caches: &mut self.caches,
        }
    }
}

/// The one row that lists a step under its response: it is one conversation's, and nothing narrows it.
fn response_row(step: &Step, response: Digest) -> KeyRow {
    KeyRow {
        key: response,
        facet: ANY,
        lineage: step.lineage,
        seq: step.seq,
    }
}
