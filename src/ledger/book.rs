//! The ledger's logic over any store: what a look-up answers, and what a write changes.

use std::sync::Arc;

use super::error::{LedgerError, Result};
use super::find;
use super::learned::{Learned, Routes};
use super::load::{Caches, Loaded, Loader};
use super::rank;
use super::record::{Blobs, Record, Table, common};
use super::store::{KeyRow, Lineage, Stats, Step, Store};
use crate::prefix::digest::Digest;
use crate::prefix::item::AnswerMark;
use crate::prefix::keys::{Keys, Scope, answer_key};
use crate::prefix::past::{Past, Path, Sent, Seq, State};

/// Bytes of resolved paths that are kept at hand.
const CACHE_BYTES: usize = 48 << 20;

/// A ledger in one thread: every method is plain, and a write is whole or not at all.
pub struct Book<S> {
    pub(super) store: S,
    caches: Caches,
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
        Self {
            store,
            caches: Caches::new(CACHE_BYTES),
        }
    }

    /// Everything that is known of the past of a request: at most [`MAX_PATHS`](crate::prefix::past::MAX_PATHS)
    /// paths that did not fail and that no committed request carries on, best first; beside them the newest request
    /// that was the same in everything, even if it is carried.
    pub fn past(&mut self, scope: Scope, keys: &Keys) -> Result<Past> {
        let exact = self.store.requested(keys.request)?;
        let found = find::candidates(&self.store, keys)?;
        let exact = exact.map(|seq| self.within(scope, seq)).transpose()?.flatten();
        let mut paths = Vec::new();
        for seq in found {
            paths.extend(self.within(scope, seq)?);
        }
        Ok(Past {
            exact,
            paths: rank::rank(paths, keys),
        })
    }

    /// A path of this scope. The scope is in every key; it is asked again, since a stranger's text must never be
    /// answered.
    fn within(&mut self, scope: Scope, seq: Seq) -> Result<Option<Arc<Path>>> {
        let loaded = self.load(seq)?;
        Ok(loaded
            .filter(|loaded| loaded.scope == scope)
            .map(|loaded| loaded.path))
    }

    /// Records a request before it leaves, as tentative, and gives its number.
    ///
    /// `sent.index` should name the keys of the items that are new to the path: keys that the parent or another
    /// carried step of the lineage added are left out. The item table is stored against the parent's.
    pub fn append(&mut self, scope: Scope, sent: Sent) -> Result<Seq> {
        self.write(sent.durable, |book| book.append_within(scope, sent))
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
                Outcome::RolledBack if book.store.child(seq)?.is_none() => book.remove_keys(&step),
                Outcome::RolledBack | Outcome::Failed => Ok(()),
            }
        })
    }

    /// Says what was answered, from when on a request can also be found by the answer.
    pub fn answer(&mut self, seq: Seq, answer: AnswerMark, at_ms: u64) -> Result<()> {
        self.write(false, |book| {
            let mut step = book.known(seq)?;
            let loaded = book.load(seq)?.ok_or(LedgerError::Unknown(seq))?;
            let facets = facets(&loaded.path);
            for row in step
                .answer
                .iter()
                .flat_map(|old| answer_rows(loaded.scope, *old, &step, &facets))
            {
                book.store.remove_key(&row)?;
            }
            for row in answer_rows(loaded.scope, answer, &step, &facets) {
                book.store.put_key(&row)?;
            }
            (step.answer, step.at_ms) = (Some(answer), at_ms);
            book.store.put_step(&step)?;
            book.touch(step.lineage, at_ms, |_| {})
        })
    }

    /// Remembers that a route refused a row; an earlier note on the same row is replaced.
    pub fn learn(&mut self, route: &str, learned: Learned) -> Result<()> {
        self.change_routes(|routes| routes.learn(route, learned))
    }

    /// Forgets what a route refused.
    pub fn unlearn(&mut self, route: &str) -> Result<()> {
        self.change_routes(|routes| routes.forget(route))
    }

    /// What a route refused, expired notes included.
    pub fn learned(&self, route: &str) -> Result<Vec<Learned>> {
        Ok(self.routes()?.of(route))
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

    /// Removes at most `limit` lineages, and says how many: those unused for `retention_ms`, then, while more than
    /// `max_bytes` are in use, those unused for longest; those with nodes last.
    pub fn prune(&mut self, now_ms: u64, retention_ms: u64, max_bytes: u64, limit: usize) -> Result<usize> {
        let removed = self.write(false, |book| {
            let mut removed = 0;
            while removed < limit
                && let Some(lineage) = book.removable(now_ms.saturating_sub(retention_ms), max_bytes)?
            {
                book.remove(lineage)?;
                removed += 1;
            }
            Ok(removed)
        })?;
        if removed > 0 {
            self.store.shrink()?;
        }
        Ok(removed)
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

    fn append_within(&mut self, scope: Scope, sent: Sent) -> Result<Seq> {
        let Sent {
            mut path,
            carries,
            index,
            ..
        } = sent;
        let parent = match path.parent {
            Some(parent) => self
                .load(parent)?
                .filter(|parent| parent.path.lineage == path.lineage),
            None => None,
        };
        let seq = self.store.next()?;
        (path.seq, path.state, path.answer) = (seq, State::Tentative, None);
        if path.lineage == 0 {
            path.lineage = seq;
        }
        let fresh = path.items.len()
            - parent
                .as_ref()
                .map_or(0, |parent| common(&path.items, &parent.path.items));
        let base = parent
            .as_ref()
            .map(|parent| (parent.path.seq, &*parent.path.items, parent.depth));
        let table = Table::new(&path.items, base);
        let depth = table.depth();
        let keys = self.put_keys(&path, index)?;
        let blobs = Blobs::of(&path)?;
        let record = Record::new(scope, &path, &blobs, table, keys).encode()?;
        for (digest, bytes) in blobs.all() {
            self.store.put_blob(*digest, path.lineage, bytes)?;
        }
        self.store.put_record(seq, &record)?;
        self.store.put_step(&step(&path, carries))?;
        self.touch(path.lineage, path.at_ms, |lineage| {
            lineage.items += fresh as u64;
            lineage.nodes |= !path.nodes.is_empty();
        })?;
        self.caches.keep(Loaded {
            path: Arc::new(path),
            scope,
            depth,
        });
        Ok(seq)
    }

    /// Adds the keys that the path's lineage does not have for good, and returns them.
    fn put_keys(&mut self, path: &Path, index: Vec<Digest>) -> Result<Vec<Digest>> {
        let facets = facets(path);
        let mut added = Vec::new();
        for key in index {
            if self.has_key(path, key)? {
                continue;
            }
            for row in rows(key, path.lineage, path.seq, &facets) {
                self.store.put_key(&row)?;
            }
            added.push(key);
        }
        Ok(added)
    }

    /// Whether the parent, or a step that is carried and so stays, gave this key to the lineage.
    fn has_key(&self, path: &Path, key: Digest) -> Result<bool> {
        match self.store.newest(key, find::ANY, path.lineage + 1)? {
            Some((lineage, seq)) if lineage == path.lineage => {
                Ok(path.parent == Some(seq) || self.store.step(seq)?.is_some_and(|step| step.carried))
            }
            _ => Ok(false),
        }
    }

    /// A committed step that carries on its parent's answer ends the parent's candidacy.
    fn carry(&mut self, step: &Step) -> Result<()> {
        match step
            .parent
            .filter(|_| step.carries)
            .map(|parent| self.store.step(parent))
            .transpose()?
            .flatten()
        {
            Some(parent) if !parent.carried => self.store.put_step(&Step {
                carried: true,
                ..parent
            }),
            _ => Ok(()),
        }
    }

    fn remove_keys(&mut self, step: &Step) -> Result<()> {
        let record = self.loader().record(step.seq)?;
        let facets = find::facets(record.head_digest, record.hints.session);
        for key in record.keys {
            for row in rows(key, step.lineage, step.seq, &facets) {
                self.store.remove_key(&row)?;
            }
        }
        for row in step
            .answer
            .iter()
            .flat_map(|answer| answer_rows(Scope(record.scope), *answer, step, &facets))
        {
            self.store.remove_key(&row)?;
        }
        Ok(())
    }

    /// The next lineage to remove, if any must go.
    fn removable(&self, used_before: u64, max_bytes: u64) -> Result<Option<Seq>> {
        let plain = self.store.oldest(false)?;
        let noded = self.store.oldest(true)?;
        let expired = [&plain, &noded]
            .into_iter()
            .flatten()
            .find(|lineage| lineage.used_ms < used_before);
        if let Some(lineage) = expired {
            return Ok(Some(lineage.lineage));
        }
        let over = self.store.bytes()? > max_bytes;
        Ok(plain.or(noded).filter(|_| over).map(|lineage| lineage.lineage))
    }

    fn remove(&mut self, lineage: Seq) -> Result<()> {
        for seq in self.store.steps(lineage)? {
            let step = self.known(seq)?;
            self.remove_keys(&step)?;
            for digest in self.loader().record(seq)?.blobs() {
                self.store.release_blob(digest, lineage)?;
            }
            self.caches.forget(seq);
        }
        self.store.remove_lineage(lineage)
    }

    /// Notes that a lineage was used, and what else `change` says.
    fn touch(&mut self, lineage: Seq, at_ms: u64, change: impl FnOnce(&mut Lineage)) -> Result<()> {
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
            .meta("learned")?
            .map_or(Ok(Routes::default()), |bytes| Routes::decode(&bytes))
    }

    fn change_routes(&mut self, change: impl FnOnce(&mut Routes)) -> Result<()> {
        self.write(false, |book| {
            let mut routes = book.routes()?;
            change(&mut routes);
            book.store.put_meta("learned", &routes.encode()?)
        })
    }

    fn known(&self, seq: Seq) -> Result<Step> {
        self.store.step(seq)?.ok_or(LedgerError::Unknown(seq))
    }

    fn load(&mut self, seq: Seq) -> Result<Option<Loaded>> {
        self.loader().path(seq)
    }

    fn loader(&mut self) -> Loader<'_, S> {
        Loader {
            store: &self.store,
            caches: &mut self.caches,
        }
    }
}

fn step(path: &Path, carries: bool) -> Step {
    Step {
        seq: path.seq,
        lineage: path.lineage,
        parent: path.parent,
        state: path.state,
        carries,
        carried: false,
        answer: path.answer,
        at_ms: path.at_ms,
        request: path.request,
    }
}

fn facets(path: &Path) -> Vec<u64> {
    find::facets(path.head.digest, path.hints.session)
}

fn answer_rows(
    scope: Scope,
    answer: AnswerMark,
    step: &Step,
    facets: &[u64],
) -> impl Iterator<Item = KeyRow> {
    rows(answer_key(scope, answer), step.lineage, step.seq, facets)
}

fn rows(key: Digest, lineage: Seq, seq: Seq, facets: &[u64]) -> impl Iterator<Item = KeyRow> {
    facets.iter().map(move |facet| KeyRow {
        key,
        facet: *facet,
        lineage,
        seq,
    })
}
