//! How a request becomes a step: its number, its keys, its blobs, its record.

use std::sync::Arc;

use super::book::Book;
use super::error::Result;
use super::keys::{ANY, Listing};
use super::load::Loaded;
use super::record::{Blobs, Record, Table, common};
use super::store::{Step, Store};
use crate::prefix::digest::Digest;
use crate::prefix::keys::Scope;
use crate::prefix::past::{Path, Sent, Seq, State};

impl<S: Store> Book<S> {
    /// Records a request before it leaves, as tentative, and gives its number.
    ///
    /// `sent.index` should name the keys of the items that are new to the path: keys that the parent or another
    /// carried step of the lineage added are left out. The item table is stored against the parent's.
    pub fn append(&mut self, scope: Scope, sent: Sent) -> Result<Seq> {
        self.write(sent.durable, |book| book.append_within(scope, sent))
    }

    fn append_within(&mut self, scope: Scope, sent: Sent) -> Result<Seq> {
        let mut path = sent.path;
        let parent = self.parent(&path)?;
        let theirs = parent
            .as_ref()
            .map(|parent| (parent.path.seq, &*parent.path.items, parent.depth));
        let known = theirs.map_or(0, |(_, items, _)| common(&path.items, items));
        let table = Table::new(&path.items, theirs);
        let depth = table.depth();

        let seq = self.store.next()?;
        (path.seq, path.state, path.answer) = (seq, State::Tentative, None);
        if path.lineage == 0 {
            path.lineage = seq;
        }
        let keys = self.list_new(&path, sent.index)?;
        let blobs = Blobs::of(&path)?;
        for (digest, bytes) in blobs.all() {
            self.store.put_blob(*digest, path.lineage, bytes)?;
        }
        let record = Record::new(scope, &path, &blobs, table, keys).encode()?;
        self.store.put_record(seq, &record)?;
        self.store.put_step(&step(&path, sent.carries))?;
        self.touch(path.lineage, path.at_ms, |lineage| {
            lineage.items += (path.items.len() - known) as u64;
            lineage.nodes |= !path.nodes.is_empty();
        })?;
        self.caches.share(&mut path, &blobs)?;
        self.caches.keep(Loaded {
            path: Arc::new(path),
            scope,
            depth,
        });
        Ok(seq)
    }

    /// The parent, if it is still there. A table is never stored against one of another lineage: each is removed whole.
    fn parent(&mut self, path: &Path) -> Result<Option<Loaded>> {
        let Some(parent) = path.parent else {
            return Ok(None);
        };
        Ok(self
            .load(parent)?
            .filter(|parent| parent.path.lineage == path.lineage))
    }

    /// Adds the keys that the path's lineage does not have for good, and returns them.
    fn list_new(&mut self, path: &Path, index: Vec<Digest>) -> Result<Vec<Digest>> {
        let listing = Listing::of(path);
        let mut added = Vec::new();
        for key in index {
            if !self.is_listed(path, key)? {
                self.list(&listing, key)?;
                added.push(key);
            }
        }
        Ok(added)
    }

    /// Whether the parent, or a step that is carried and so stays, gave this key to the lineage.
    fn is_listed(&self, path: &Path, key: Digest) -> Result<bool> {
        match self.store.newest(key, ANY, path.lineage + 1)? {
            Some((lineage, seq)) if lineage == path.lineage => {
                Ok(path.parent == Some(seq) || self.store.step(seq)?.is_some_and(|step| step.carried))
            }
            _ => Ok(false),
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
        response: None,
    }
}
