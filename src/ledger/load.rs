//! From rows to paths: resolves item tables and blobs, and keeps what was resolved.
//!
//! Only what never changes is cached. A step's state, answer and time are read each time, so that a second process
//! on the same file is seen.

use std::sync::Arc;

use super::cache::Cache;
use super::error::{LedgerError, Result};
use super::record::{self, Blob, Blobs, Record, Table, WHOLE_EVERY};
use super::store::{Step, Store};
use crate::prefix::digest::Digest;
use crate::prefix::item::{FrozenHead, Mark, ToolMark};
use crate::prefix::keys::Scope;
use crate::prefix::past::{Node, Path, Seq};

/// Reads paths out of a store.
pub struct Loader<'a, S> {
    /// Where the rows are.
    pub store: &'a S,
    /// What was resolved before.
    pub caches: &'a mut Caches,
}

/// What was resolved, bounded by bytes.
pub struct Caches {
    paths: Cache<Seq, Loaded>,
    heads: Cache<Digest, Arc<FrozenHead>>,
    tools: Cache<Digest, Arc<[ToolMark]>>,
    nodes: Cache<Digest, Arc<Node>>,
}

/// A path with what the ledger knows of it beside.
#[derive(Clone)]
pub struct Loaded {
    /// The path.
    pub path: Arc<Path>,
    /// Where it may be looked up.
    pub scope: Scope,
    /// Tables between its own and a whole one.
    pub depth: u8,
}

impl Caches {
    /// Caches that hold about `budget` bytes: half of it paths, half of it what paths share.
    pub fn new(budget: usize) -> Self {
        Self {
            paths: Cache::new(budget / 2),
            heads: Cache::new(budget / 4),
            tools: Cache::new(budget / 8),
            nodes: Cache::new(budget / 8),
        }
    }

    /// Keeps a path that was just written, so that the next request of its conversation resolves nothing.
    pub fn keep(&mut self, loaded: Loaded) {
        let weight = weight(&loaded.path);
        self.paths.put(loaded.path.seq, loaded, weight);
    }

    /// Lets a path that was just written share its parts with others. Parts that are not known are read from the bytes
    /// that are stored: those that came with the request may hold its whole body in memory.
    pub fn share(&mut self, path: &mut Path, blobs: &Blobs) -> Result<()> {
        path.tools = share(&mut self.tools, &blobs.tools)?;
        path.head = share(&mut self.heads, &blobs.head)?;
        path.baseline = share(&mut self.heads, &blobs.baseline)?;
        path.nodes = blobs
            .nodes
            .iter()
            .map(|node| share(&mut self.nodes, node))
            .collect::<Result<_>>()?;
        Ok(())
    }

    /// Forgets a step that is gone.
    pub fn forget(&mut self, seq: Seq) {
        self.paths.remove(&seq);
    }

    /// Forgets everything: a transaction was taken back, and numbers may be given anew.
    pub fn clear(&mut self) {
        self.paths.clear();
        self.heads.clear();
        self.tools.clear();
        self.nodes.clear();
    }
}

impl<S: Store> Loader<'_, S> {
    /// A step as a path; none if there is no such step.
    pub fn path(&mut self, seq: Seq) -> Result<Option<Loaded>> {
        let Some(step) = self.store.step(seq)? else {
            return Ok(None);
        };
        let mut loaded = match self.caches.paths.get(&seq) {
            Some(loaded) => loaded,
            None => self.resolve(&step)?,
        };
        let path = &loaded.path;
        if (path.state, path.answer, path.at_ms) != (step.state, step.answer, step.at_ms) {
            let path = Arc::make_mut(&mut loaded.path);
            (path.state, path.answer, path.at_ms) = (step.state, step.answer, step.at_ms);
            self.caches.keep(loaded.clone());
        }
        Ok(Some(loaded))
    }

    /// A step's record.
    pub fn record(&self, seq: Seq) -> Result<Record> {
        let bytes = self
            .store
            .record(seq)?
            .ok_or_else(|| LedgerError::corrupt("a step without its record"))?;
        Record::decode(&bytes)
    }

    fn resolve(&mut self, step: &Step) -> Result<Loaded> {
        let record = self.record(step.seq)?;
        let path = Path {
            seq: step.seq,
            lineage: step.lineage,
            parent: step.parent,
            state: step.state,
            mode: record.mode,
            tools: self.tools(record.tools)?,
            head: self.head(record.head)?,
            baseline: self.head(record.baseline)?,
            nodes: record
                .nodes
                .iter()
                .map(|digest| self.node(*digest))
                .collect::<Result<_>>()?,
            items: self.items(&record.table)?,
            model: record.model,
            params: record.params,
            last_words: record.last_words,
            answer: step.answer,
            first_items: record.first_items,
            hints: record.hints,
            request: step.request,
            at_ms: step.at_ms,
            marker_ttl: record.marker_ttl,
            superseded_carried: record.superseded_carried,
        };
        let loaded = Loaded {
            path: Arc::new(path),
            scope: Scope(record.scope),
            depth: record.table.depth(),
        };
        self.caches.keep(loaded.clone());
        Ok(loaded)
    }

    /// The items of a table, whose bases lead to a whole one or to one that is known.
    fn items(&mut self, table: &Table) -> Result<Arc<[Mark]>> {
        let mut own = Vec::new();
        let mut table = table.clone();
        let mut items = loop {
            match table {
                Table::Whole(items) => break items,
                Table::Delta {
                    base,
                    kept,
                    own: items,
                    ..
                } => {
                    own.push((kept as usize, items));
                    if let Some(known) = self.caches.paths.get(&base) {
                        break known.path.items.to_vec();
                    }
                    if own.len() >= WHOLE_EVERY.into() {
                        return Err(LedgerError::corrupt("an item table without an end"));
                    }
                    table = self.record(base)?.table;
                }
            }
        };
        for (kept, mut more) in own.into_iter().rev() {
            if kept > items.len() {
                return Err(LedgerError::corrupt("an item table longer than its base"));
            }
            items.truncate(kept);
            items.append(&mut more);
        }
        Ok(items.into())
    }

    fn head(&mut self, digest: Digest) -> Result<Arc<FrozenHead>> {
        blob(self.store, &mut self.caches.heads, digest)
    }

    fn tools(&mut self, digest: Digest) -> Result<Arc<[ToolMark]>> {
        blob(self.store, &mut self.caches.tools, digest)
    }

    fn node(&mut self, digest: Digest) -> Result<Arc<Node>> {
        blob(self.store, &mut self.caches.nodes, digest)
    }
}

/// A blob's value: the same one for all paths that name it, as long as it is cached.
fn blob<S, T>(store: &S, cache: &mut Cache<Digest, Arc<T>>, digest: Digest) -> Result<Arc<T>>
where
    S: Store,
    T: ?Sized,
    Arc<T>: serde::de::DeserializeOwned,
{
    if let Some(value) = cache.get(&digest) {
        return Ok(value);
    }
    let bytes = store
        .blob(digest)?
        .ok_or_else(|| LedgerError::corrupt("a blob is missing"))?;
    share(cache, &(digest, bytes))
}

fn share<T>(cache: &mut Cache<Digest, Arc<T>>, (digest, bytes): &Blob) -> Result<Arc<T>>
where
    T: ?Sized,
    Arc<T>: serde::de::DeserializeOwned,
{
    if let Some(value) = cache.get(digest) {
        return Ok(value);
    }
    let value: Arc<T> = record::decode(bytes)?;
    cache.put(*digest, value.clone(), bytes.len());
    Ok(value)
}

/// About what a cached path takes, without what it shares with others.
fn weight(path: &Path) -> usize {
    size_of::<Path>() + size_of_val(&*path.items) + path.params.len() * 64 + path.nodes.len() * 8 + 2048
}
