//! The store in memory: the same rows in ordered maps, and one serialised form of all of them.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::error::{LedgerError, Result};
use super::store::{KeyRow, Lineage, Step, Store};
use crate::prefix::digest::Digest;
use crate::prefix::past::{Seq, State};

/// Rows in ordered maps.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Memory {
    last: Seq,
    steps: BTreeMap<Seq, Step>,
    records: BTreeMap<Seq, Vec<u8>>,
    keys: BTreeSet<KeyRow>,
    /// Request key and number of the steps that did not fail, committed ones apart: they come first.
    requests: BTreeSet<((Digest, bool), Seq)>,
    /// Lineage and number of the candidates.
    leaves: BTreeSet<(Seq, Seq)>,
    /// Parent and number of the steps that have one.
    children: BTreeSet<(Seq, Seq)>,
    blobs: BTreeMap<Digest, Vec<u8>>,
    uses: BTreeSet<(Digest, Seq)>,
    lineages: BTreeMap<Seq, Lineage>,
    meta: BTreeMap<String, Vec<u8>>,
    bytes: u64,
    #[serde(skip)]
    rows: Cell<u64>,
}

/// Version of the serialised form.
const VERSION: u8 = 2;

impl Memory {
    /// The serialised form.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        postcard::to_extend(self, vec![VERSION])
            .map_err(|_| LedgerError::corrupt("state that cannot be written"))
    }

    /// Reads the serialised form.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        match bytes.split_first() {
            Some((&VERSION, rest)) => postcard::from_bytes(rest)
                .map_err(|_| LedgerError::corrupt("a saved state that cannot be read")),
            Some((&version, _)) => Err(LedgerError::Version(version.into())),
            None => Err(LedgerError::Foreign),
        }
    }

    fn read(&self, rows: usize) {
        self.rows.set(self.rows.get() + rows as u64);
    }

    /// The newest steps that `set` lists for `of`.
    fn newest_of(&self, set: &BTreeSet<(Seq, Seq)>, of: Seq, limit: usize) -> Vec<Seq> {
        let range = set.range((of, 0)..=(of, Seq::MAX));
        let found: Vec<Seq> = range.rev().take(limit).map(|(_, seq)| *seq).collect();
        self.read(found.len());
        found
    }

    fn grow(&mut self, bytes: usize) {
        self.bytes += bytes as u64;
    }

    fn shrink_by(&mut self, bytes: usize) {
        self.bytes = self.bytes.saturating_sub(bytes as u64);
    }

    /// Takes a step out of the sets that are kept beside the steps.
    fn unlist(&mut self, step: &Step) {
        for committed in [false, true] {
            self.requests.remove(&((step.request, committed), step.seq));
        }
        self.leaves.remove(&(step.lineage, step.seq));
        if let Some(parent) = step.parent {
            self.children.remove(&(parent, step.seq));
        }
    }
}

impl Store for Memory {
    fn begin(&mut self, _durable: bool) -> Result<()> {
        Ok(())
    }

    fn commit(&mut self) -> Result<()> {
        Ok(())
    }

    /// Nothing to take back: a write in memory fails before its first change or not at all.
    fn rollback(&mut self) {}

    fn next(&mut self) -> Result<Seq> {
        self.last += 1;
        Ok(self.last)
    }

    fn step(&self, seq: Seq) -> Result<Option<Step>> {
        self.read(1);
        Ok(self.steps.get(&seq).cloned())
    }

    fn put_step(&mut self, step: &Step) -> Result<()> {
        self.unlist(step);
        if step.state != State::Failed {
            let committed = step.state == State::Committed;
            self.requests.insert(((step.request, committed), step.seq));
        }
        if let Some(parent) = step.parent {
            self.children.insert((parent, step.seq));
        }
        if step.is_candidate() {
            self.leaves.insert((step.lineage, step.seq));
        }
        if self.steps.insert(step.seq, step.clone()).is_none() {
            self.grow(size_of::<Step>());
        }
        Ok(())
    }

    fn record(&self, seq: Seq) -> Result<Option<Vec<u8>>> {
        self.read(1);
        Ok(self.records.get(&seq).cloned())
    }

    fn put_record(&mut self, seq: Seq, record: &[u8]) -> Result<()> {
        self.grow(record.len());
        self.records.insert(seq, record.to_vec());
        Ok(())
    }

    fn requested(&self, request: Digest) -> Result<Option<Seq>> {
        self.read(1);
        Ok(last(&self.requests, ((request, false), 0), ((request, true), Seq::MAX)).map(|(_, seq)| seq))
    }

    fn leaves(&self, lineage: Seq, limit: usize) -> Result<Vec<Seq>> {
        Ok(self.newest_of(&self.leaves, lineage, limit))
    }

    fn children(&self, parent: Seq, limit: usize) -> Result<Vec<Seq>> {
        Ok(self.newest_of(&self.children, parent, limit))
    }

    fn newest(&self, key: Digest, facet: u64, below: Seq) -> Result<Option<(Seq, Seq)>> {
        self.read(1);
        let row = |lineage| KeyRow {
            key,
            facet,
            lineage,
            seq: 0,
        };
        Ok(self
            .keys
            .range(row(0)..row(below))
            .next_back()
            .map(|found| (found.lineage, found.seq)))
    }

    fn put_key(&mut self, row: &KeyRow) -> Result<()> {
        if self.keys.insert(*row) {
            self.grow(size_of::<KeyRow>());
        }
        Ok(())
    }

    fn remove_key(&mut self, row: &KeyRow) -> Result<()> {
        if self.keys.remove(row) {
            self.shrink_by(size_of::<KeyRow>());
        }
        Ok(())
    }

    fn blob(&self, digest: Digest) -> Result<Option<Vec<u8>>> {
        self.read(1);
        Ok(self.blobs.get(&digest).cloned())
    }

    fn put_blob(&mut self, digest: Digest, lineage: Seq, bytes: &[u8]) -> Result<()> {
        self.uses.insert((digest, lineage));
        if !self.blobs.contains_key(&digest) {
            self.grow(bytes.len());
            self.blobs.insert(digest, bytes.to_vec());
        }
        Ok(())
    }

    fn release_blob(&mut self, digest: Digest, lineage: Seq) -> Result<()> {
        self.uses.remove(&(digest, lineage));
        if last(&self.uses, (digest, 0), (digest, Seq::MAX)).is_none()
            && let Some(blob) = self.blobs.remove(&digest)
        {
            self.shrink_by(blob.len());
        }
        Ok(())
    }

    fn lineage(&self, lineage: Seq) -> Result<Option<Lineage>> {
        self.read(1);
        Ok(self.lineages.get(&lineage).cloned())
    }

    fn put_lineage(&mut self, lineage: &Lineage) -> Result<()> {
        self.lineages.insert(lineage.lineage, lineage.clone());
        Ok(())
    }

    fn oldest(&self, nodes: bool) -> Result<Option<Lineage>> {
        let all = self.lineages.values().filter(|lineage| lineage.nodes == nodes);
        Ok(all
            .min_by_key(|lineage| (lineage.used_ms, lineage.lineage))
            .cloned())
    }

    fn steps(&self, lineage: Seq) -> Result<Vec<Seq>> {
        Ok(self
            .steps
            .values()
            .filter(|step| step.lineage == lineage)
            .map(|step| step.seq)
            .collect())
    }

    fn remove_lineage(&mut self, lineage: Seq) -> Result<()> {
        for seq in self.steps(lineage)? {
            if let Some(step) = self.steps.remove(&seq) {
                self.unlist(&step);
                self.shrink_by(size_of::<Step>());
            }
            let record = self.records.remove(&seq).unwrap_or_default();
            self.shrink_by(record.len());
        }
        self.lineages.remove(&lineage);
        Ok(())
    }

    fn meta(&self, name: &str) -> Result<Option<Vec<u8>>> {
        Ok(self.meta.get(name).cloned())
    }

    fn put_meta(&mut self, name: &str, value: &[u8]) -> Result<()> {
        self.meta.insert(name.to_owned(), value.to_vec());
        Ok(())
    }

    fn count(&self) -> Result<(u64, u64)> {
        Ok((
            self.lineages.len() as u64,
            self.lineages.values().map(|lineage| lineage.items).sum(),
        ))
    }

    fn bytes(&self) -> Result<u64> {
        Ok(self.bytes)
    }

    fn shrink(&mut self) -> Result<()> {
        Ok(())
    }

    fn rows_read(&self) -> u64 {
        self.rows.get()
    }
}

fn last<A: Ord + Copy>(set: &BTreeSet<(A, Seq)>, from: (A, Seq), to: (A, Seq)) -> Option<(A, Seq)> {
    set.range(from..=to).next_back().copied()
}
