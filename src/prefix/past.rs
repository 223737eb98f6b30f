//! What the ledger answers: plain, bounded values. A path is one request as it was sent, with all before it.

use std::sync::Arc;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::digest::Digest;
use super::item::{AnswerMark, FrozenHead, Hints, Mark, Param, ToolMark};
use super::policy::{Carrier, Mode, Placement};
use crate::prompt::{Entry, GroupKind, Rendering, Sketch, derive};

/// The most candidate paths that one look-up returns.
pub const MAX_PATHS: usize = 16;

/// Everything that is known of the past of a request.
#[derive(Clone, Debug, Default)]
pub struct Past {
    /// A request with the same key that did not fail: it goes out as it went out.
    pub exact: Option<Arc<Path>>,
    /// Candidate paths: deepest first; among equals those with this head, this hint, then the newest.
    pub paths: Vec<Arc<Path>>,
}

/// A request's number in the ledger: larger is later. Zero is none.
pub type Seq = u64;

/// One request as it was sent: the end of a path through the sent tree.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Path {
    /// Its number in the ledger.
    pub seq: Seq,
    /// The conversation that it belongs to: the number of the lineage's first request.
    pub lineage: Seq,
    /// The request that it continues, if any.
    pub parent: Option<Seq>,
    /// How far the upstream got with it.
    pub state: State,
    /// The mode of the conversation, fixed by its first request.
    pub mode: Mode,
    /// The model that it was sent to.
    pub model: Option<String>,
    /// Its parameters.
    pub params: Vec<Param>,
    /// Its tools.
    pub tools: Arc<[ToolMark]>,
    /// The head as the client sent it.
    pub head: Arc<FrozenHead>,
    /// The head as it went out, frozen at the path's root.
    pub baseline: Arc<FrozenHead>,
    /// The nodes on the path in order.
    pub nodes: Vec<Arc<Node>>,
    /// The client's history items.
    pub items: Arc<[Mark]>,
    /// Words of the last user item, hashed: tells whether it was rewritten or replaced.
    pub last_words: Sketch,
    /// The answer that was seen.
    pub answer: Option<AnswerMark>,
    /// History items that the client brought along, in the lineage's first request or on leaving it: never evidence.
    pub first_items: u32,
    /// Who the client said that it was.
    pub hints: Hints,
    /// Digest of the whole request (head, tools, history, rendered parameters), for retries.
    pub request: Digest,
    /// When its response ended (or it was sent), in milliseconds since the epoch; read by re-baselining only.
    pub at_ms: u64,
    /// Longest cache marker it carried, in seconds.
    pub marker_ttl: Option<u32>,
    /// Bytes of superseded text that requests of this path have carried so far, summed over requests.
    pub superseded_carried: u64,
}

/// How far a request got.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum State {
    /// On disk, its fate unknown: in flight, or the process died.
    Tentative,
    /// The upstream answered 2xx.
    Committed,
    /// No 2xx: no predecessor.
    Failed,
}

/// An item that Inkfast added: stored before it is sent, re-sent verbatim ever after.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Node {
    /// How many of the client's history items stand in front of it.
    pub position: u32,
    /// How it hangs there.
    pub slot: Slot,
    /// What carries it.
    pub carrier: Carrier,
    /// The rule by which it was placed; it must stay legal by it.
    pub placement: Placement,
    /// The rendered bytes, as they are spliced in.
    pub bytes: Bytes,
    /// Digest of `bytes`.
    pub digest: Digest,
    /// For a node inside a string: the whole item as sent, with the digests of the client's item that holds it.
    pub holder: Option<Holder>,
    /// What it does to the prompt.
    pub kind: GroupKind,
    /// The entries: the effective prompt is derived from baseline and entries, never from the rendered text.
    pub entries: Vec<Entry>,
    /// How its text was rendered.
    pub rendering: Rendering,
    /// Digest of the effective prompt with this node.
    pub effective: Digest,
}

/// An item that holds a node inside its text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Holder {
    /// The client's item.
    pub client: Mark,
    /// The item as sent.
    pub sent: Bytes,
}

/// How a node hangs at its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Slot {
    /// A message of its own between two messages.
    Message,
    /// A block in front of the item behind it, in the same message.
    BlockBefore,
    /// A block behind the item in front of it, in the same message.
    BlockAfter,
    /// Inside the item behind it, in front of the item's own text.
    Lead,
    /// Inside the item in front of it, behind the item's own text.
    Trail,
}

/// What is recorded when a request leaves.
#[derive(Clone, Debug)]
pub struct Sent {
    /// The request as a path; `seq` is given by the ledger, and `lineage` zero means a new one.
    pub path: Path,
    /// How many leading items it shares with its parent.
    pub shared: u32,
    /// It carries on the answer to its parent, which so ends to be a candidate.
    pub carries: bool,
    /// A new node or baseline is in it: it must be on disk before a byte leaves.
    pub durable: bool,
    /// Keys under which it can be found again.
    pub index: Vec<Digest>,
}

impl Path {
    /// Whether the items of `self` may be continued: an upstream accepted them.
    pub fn is_committed(&self) -> bool {
        self.state == State::Committed
    }

    /// The bytes that one request on this path carries and would not after a fold: baseline and nodes, less the prompt
    /// that they amount to.
    pub fn superseded_bytes(&self) -> u64 {
        if self.nodes.is_empty() {
            return 0;
        }
        let entries: Vec<Entry> = self
            .nodes
            .iter()
            .flat_map(|node| node.entries.iter().cloned())
            .collect();
        let Some(baseline) = self.baseline.texts() else {
            return 0;
        };
        let bytes = |texts: &[String]| texts.iter().map(|text| text.len() as u64).sum::<u64>();
        let nodes: u64 = self.nodes.iter().map(|node| node.bytes.len() as u64).sum();
        (bytes(&baseline) + nodes).saturating_sub(bytes(&derive(&baseline, &entries)))
    }
}
