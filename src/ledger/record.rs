//! The immutable form of a step: what is written once and read for as long as the conversation lives.
//!
//! A record begins with its version. What repeats from step to step (heads, nodes, tool tables) lies in blobs that
//! are named by their content; the item table holds what differs from the parent's, and is whole now and then so
//! that no look-up has to follow a long way.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::error::{LedgerError, Result};
use crate::prefix::digest::Digest;
use crate::prefix::item::{Hints, Mark, Param};
use crate::prefix::keys::Scope;
use crate::prefix::past::{Path, Seq};
use crate::prefix::policy::Mode;
use crate::prompt::Sketch;

/// One table in this many is whole.
pub const WHOLE_EVERY: u8 = 16;

/// Version of the records that are written.
const VERSION: u8 = 1;

/// A step as it is stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Where it was looked up and can be found again.
    pub scope: Digest,
    /// The conversation's mode.
    pub mode: Mode,
    /// The model.
    pub model: Option<String>,
    /// The parameters.
    pub params: Vec<Param>,
    /// Blob of the tools.
    pub tools: Digest,
    /// Blob of the client's head.
    pub head: Digest,
    /// Digest of the client's head, by which keys are narrowed.
    pub head_digest: Digest,
    /// Blob of the frozen head.
    pub baseline: Digest,
    /// Blobs of the nodes.
    pub nodes: Vec<Digest>,
    /// The items.
    pub table: Table,
    /// Sketch of the last user item.
    pub last_words: Sketch,
    /// Items of the lineage's first request.
    pub first_items: u32,
    /// Who the client said that it was.
    pub hints: Hints,
    /// Longest cache marker.
    pub marker_ttl: Option<u32>,
    /// Superseded bytes carried so far.
    pub superseded_carried: u64,
    /// Keys that this step added to its lineage.
    pub keys: Vec<Digest>,
}

/// An item table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Table {
    /// All items.
    Whole(Vec<Mark>),
    /// The first items of another step's table, then its own.
    Delta {
        /// The step whose table it begins with.
        base: Seq,
        /// How many of its items.
        kept: u32,
        /// Tables between this one and a whole one, this one included.
        depth: u8,
        /// The items behind them.
        own: Vec<Mark>,
    },
}

/// Blobs of a path: digest and bytes.
pub struct Blobs {
    /// Of the tools.
    pub tools: Blob,
    /// Of the client's head.
    pub head: Blob,
    /// Of the frozen head.
    pub baseline: Blob,
    /// Of the nodes.
    pub nodes: Vec<Blob>,
}

/// Bytes named by their content.
pub type Blob = (Digest, Vec<u8>);

impl Blobs {
    /// The blobs of a path.
    pub fn of(path: &Path) -> Result<Self> {
        Ok(Self {
            tools: blob(&path.tools)?,
            head: blob(&path.head)?,
            baseline: blob(&path.baseline)?,
            nodes: path.nodes.iter().map(blob).collect::<Result<_>>()?,
        })
    }

    /// All of them.
    pub fn all(&self) -> impl Iterator<Item = &Blob> {
        [&self.tools, &self.head, &self.baseline]
            .into_iter()
            .chain(&self.nodes)
    }
}

impl Record {
    /// The record of a path.
    pub fn new(scope: Scope, path: &Path, blobs: &Blobs, table: Table, keys: Vec<Digest>) -> Self {
        Self {
            scope: scope.0,
            mode: path.mode,
            model: path.model.clone(),
            params: path.params.clone(),
            tools: blobs.tools.0,
            head: blobs.head.0,
            head_digest: path.head.digest,
            baseline: blobs.baseline.0,
            nodes: blobs.nodes.iter().map(|(digest, _)| *digest).collect(),
            table,
            last_words: path.last_words.clone(),
            first_items: path.first_items,
            hints: path.hints.clone(),
            marker_ttl: path.marker_ttl,
            superseded_carried: path.superseded_carried,
            keys,
        }
    }

    /// The blobs that it names.
    pub fn blobs(&self) -> impl Iterator<Item = Digest> {
        [self.tools, self.head, self.baseline]
            .into_iter()
            .chain(self.nodes.iter().copied())
    }

    /// Its bytes.
    pub fn encode(&self) -> Result<Vec<u8>> {
        postcard::to_extend(self, vec![VERSION])
            .map_err(|_| LedgerError::corrupt("a record that cannot be written"))
    }

    /// Reads its bytes.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        match bytes.split_first() {
            Some((&VERSION, rest)) => decode(rest),
            Some((&version, _)) => Err(LedgerError::Version(version.into())),
            None => Err(LedgerError::corrupt("an empty record")),
        }
    }
}

impl Table {
    /// The table of `items`: a delta to the base's, unless that is too deep or has little in common with it.
    pub fn new(items: &[Mark], base: Option<(Seq, &[Mark], u8)>) -> Self {
        let Some((base, theirs, depth)) = base else {
            return Self::Whole(items.to_vec());
        };
        let kept = common(items, theirs);
        if depth + 1 >= WHOLE_EVERY || kept * 2 < items.len() {
            return Self::Whole(items.to_vec());
        }
        Self::Delta {
            base,
            kept: kept as u32,
            depth: depth + 1,
            own: items[kept..].to_vec(),
        }
    }

    /// Tables between this one and a whole one.
    pub fn depth(&self) -> u8 {
        match self {
            Self::Whole(_) => 0,
            Self::Delta { depth, .. } => *depth,
        }
    }
}

/// How many leading items two tables share.
pub fn common(a: &[Mark], b: &[Mark]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

/// Reads a value that was written as a blob or behind a version.
pub fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T> {
    match postcard::take_from_bytes(bytes) {
        Ok((value, [])) => Ok(value),
        _ => Err(LedgerError::corrupt("a record that cannot be read")),
    }
}

fn blob<T: Serialize + ?Sized>(value: &T) -> Result<Blob> {
    let bytes =
        postcard::to_allocvec(value).map_err(|_| LedgerError::corrupt("a blob that cannot be written"))?;
    Ok((Digest::of("inkfast blob v1", &bytes), bytes))
}
