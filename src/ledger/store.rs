//! What a store must be able to do: rows and blobs by key, nothing of what they mean.
//!
//! Every read is a point look-up or a bounded walk along an index, so that the cost of a look-up in the ledger
//! does not grow with what is stored.

use serde::{Deserialize, Serialize};

use super::error::Result;
use crate::prefix::digest::Digest;
use crate::prefix::item::AnswerMark;
use crate::prefix::past::{Seq, State};

/// Larger than every number that a store gives out, and still positive as a signed integer.
pub const TOP: Seq = i64::MAX as Seq;

/// The part of a step that changes, beside its immutable record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// Its number.
    pub seq: Seq,
    /// The lineage that it belongs to.
    pub lineage: Seq,
    /// The step that it continues.
    pub parent: Option<Seq>,
    /// How far the upstream got with it.
    pub state: State,
    /// It carries on its parent's answer.
    pub carries: bool,
    /// A committed step carries its answer on.
    pub carried: bool,
    /// The answer that was seen.
    pub answer: Option<AnswerMark>,
    /// When its response ended, or it was sent.
    pub at_ms: u64,
    /// Key of the whole request.
    pub request: Digest,
    /// Key of the response that it got, where a request may name one.
    pub response: Option<Digest>,
}

impl Step {
    /// Whether a request may continue it: it did not fail, and no committed step carries its answer on.
    pub fn is_candidate(&self) -> bool {
        self.state != State::Failed && !self.carried
    }
}

/// One conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Lineage {
    /// The number of its first step.
    pub lineage: Seq,
    /// When it was used last.
    pub used_ms: u64,
    /// It holds nodes, which cannot be had again.
    pub nodes: bool,
    /// How many items were stored for it.
    pub items: u64,
}

/// Says that a lineage knows a key, and by which step; `facet` narrows the key to a head or a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct KeyRow {
    /// The key.
    pub key: Digest,
    /// What it is narrowed to.
    pub facet: u64,
    /// The lineage that knows it.
    pub lineage: Seq,
    /// The step by which it does.
    pub seq: Seq,
}

/// How much is stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Conversations.
    pub lineages: u64,
    /// Items, counted once for each time that they were new to a path.
    pub items: u64,
    /// Bytes in use.
    pub bytes: u64,
}

/// Rows and blobs by key. A write outside `begin` and `commit` is a programmer's error.
pub trait Store {
    /// Starts a transaction, or a nested one. `durable`: its commit reaches the disk before it returns.
    fn begin(&mut self, durable: bool) -> Result<()>;
    /// Ends the innermost transaction.
    fn commit(&mut self) -> Result<()>;
    /// Takes the innermost transaction back.
    fn rollback(&mut self);

    /// A number larger than all that were ever given.
    fn next(&mut self) -> Result<Seq>;

    /// A step's columns.
    fn step(&self, seq: Seq) -> Result<Option<Step>>;
    /// Inserts or replaces a step's columns.
    fn put_step(&mut self, step: &Step) -> Result<()>;
    /// A step's record.
    fn record(&self, seq: Seq) -> Result<Option<Vec<u8>>>;
    /// Inserts a step's record.
    fn put_record(&mut self, seq: Seq, record: &[u8]) -> Result<()>;

    /// The newest committed step that sent this request, else the newest tentative one.
    fn requested(&self, request: Digest) -> Result<Option<Seq>>;
    /// The candidates of a lineage, newest first.
    fn leaves(&self, lineage: Seq, limit: usize) -> Result<Vec<Seq>>;
    /// The newest steps that continue this one.
    fn children(&self, parent: Seq, limit: usize) -> Result<Vec<Seq>>;

    /// Of the lineages below `below` that know `key` narrowed to `facet` the newest, and its newest step that does.
    fn newest(&self, key: Digest, facet: u64, below: Seq) -> Result<Option<(Seq, Seq)>>;
    /// Inserts a key; one that is there stays.
    fn put_key(&mut self, row: &KeyRow) -> Result<()>;
    /// Removes a key.
    fn remove_key(&mut self, row: &KeyRow) -> Result<()>;

    /// A blob by its digest.
    fn blob(&self, digest: Digest) -> Result<Option<Vec<u8>>>;
    /// Inserts a blob, if absent, and that `lineage` uses it.
    fn put_blob(&mut self, digest: Digest, lineage: Seq, bytes: &[u8]) -> Result<()>;
    /// Takes a lineage's use of a blob back, and the blob with the last use.
    fn release_blob(&mut self, digest: Digest, lineage: Seq) -> Result<()>;

    /// A lineage.
    fn lineage(&self, lineage: Seq) -> Result<Option<Lineage>>;
    /// Inserts or replaces a lineage.
    fn put_lineage(&mut self, lineage: &Lineage) -> Result<()>;
    /// The lineage unused for longest, among those with nodes or those without.
    fn oldest(&self, nodes: bool) -> Result<Option<Lineage>>;
    /// Every step of a lineage.
    fn steps(&self, lineage: Seq) -> Result<Vec<Seq>>;
    /// Removes a lineage with its steps and records; keys and blobs are taken away one by one before.
    fn remove_lineage(&mut self, lineage: Seq) -> Result<()>;

    /// A small named value.
    fn meta(&self, name: &str) -> Result<Option<Vec<u8>>>;
    /// Sets a small named value.
    fn put_meta(&mut self, name: &str, value: &[u8]) -> Result<()>;

    /// Lineages and the sum of their items.
    fn count(&self) -> Result<(u64, u64)>;
    /// Bytes in use.
    fn bytes(&self) -> Result<u64>;
    /// Gives space that is free to the system, where that is a step of its own.
    fn shrink(&mut self) -> Result<()>;
    /// How many rows were read since the store was opened.
    fn rows_read(&self) -> u64;
}
