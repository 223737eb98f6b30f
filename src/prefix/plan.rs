//! What goes out, and what is to be said about it: the value that `decide` makes and `wire` lowers to bytes.

use std::sync::Arc;

use super::digest::Digest;
use super::item::FrozenHead;
use super::past::{Node, Path, Slot};
use super::place::{self, Spot};
use super::policy::{Mode, Mutant};
use super::verdict::Verdict;
use crate::prompt::{self, Group, GroupKind};

/// What goes out, and what is to be said about it.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The path that is continued.
    pub parent: Option<Arc<Path>>,
    /// The key of the request that both verdicts compare with.
    pub compared: Option<Digest>,
    /// How many leading client items are shared with it.
    pub shared: usize,
    /// The request carries on the answer to the parent.
    pub carries: bool,
    /// The mode of the conversation.
    pub mode: Mode,
    /// The head that goes out; the client's own where it is none.
    pub baseline: Option<Arc<FrozenHead>>,
    /// Stored nodes, in order.
    pub nodes: Vec<Arc<Node>>,
    /// Stored nodes that this model cannot take as they are: their places in `nodes`, and what goes out instead.
    pub anew: Vec<(usize, NewNode)>,
    /// The node to be made.
    pub new_node: Option<NewNode>,
    /// What was decided about a changed head.
    pub outcome: Outcome,
    /// What the client did to its own prefix.
    pub received: Verdict,
    /// What leaves.
    pub sent: Verdict,
    /// The head differs in white space only, which is no change.
    pub whitespace: bool,
    /// A test-only fault for `wire` to commit.
    pub mutant: Option<Mutant>,
    /// When the decision was made; only that test-only fault looks at it.
    pub now_ms: u64,
}

/// A node that does not exist yet: `wire` renders it.
#[derive(Clone, Debug)]
pub struct NewNode {
    /// Where it goes and how it travels.
    pub spot: Spot,
    /// What it does to the prompt.
    pub group: Group,
    /// The prompt in force before it.
    pub effective: Vec<String>,
    /// The prompt in force with it.
    pub wanted: Vec<String>,
    /// Bytes of delta texts since the last full text on the path.
    pub deltas: usize,
    /// The role that the frozen head was written in, if it has one.
    pub head_role: Option<String>,
}

/// What was decided about the head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is as it was, or nothing was known of it.
    Kept,
    /// Its change goes out as a node.
    Node(GroupKind),
    /// Its change waits for the next user turn.
    Deferred,
    /// Its change goes out as the client wrote it, for want of a place.
    PassedThrough,
    /// The client replaced its history; the head comes with it.
    Adopted,
    /// The prompt was folded into the head.
    Rebaseline(Reason),
    /// Observe mode: nothing is ever changed.
    Observed,
}

/// Why a prompt was folded into the head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Another model reads it at another place.
    Model,
    /// The tools in front of it changed, so nothing behind them could be read from a cache.
    Tools,
    /// The cache has expired.
    Expired,
    /// Superseded text had cost more than the fold.
    Economics,
    /// A secret was removed from the head.
    Secret,
}

impl Plan {
    /// The path's head and nodes go out again as they are.
    pub fn keeps_prefix(&self) -> bool {
        self.parent.is_some() && self.baseline.is_some() && self.anew.is_empty()
    }

    /// Something goes out that must be on disk before: a node, or another head for a known conversation.
    pub fn is_durable(&self) -> bool {
        let new_head = self.parent.is_some() && self.baseline.is_none();
        self.new_node.is_some() || !self.anew.is_empty() || new_head
    }
}

impl NewNode {
    /// The node as it is stored, with its rendered bytes.
    pub fn store(
        &self,
        bytes: bytes::Bytes,
        rendering: prompt::Rendering,
        holder: Option<super::past::Holder>,
    ) -> Node {
        Node {
            position: self.spot.position as u32,
            slot: self.spot.slot,
            carrier: self.spot.row.carrier,
            placement: self.spot.row.placement,
            digest: Digest::of("inkfast node v1", &bytes),
            bytes,
            holder,
            kind: self.group.kind,
            entries: self.group.entries.clone(),
            rendering,
            effective: place::digest_of(&prompt::derive(&self.effective, &self.group.entries)),
        }
    }

    /// Whether it is spliced into an item of the client's.
    pub fn is_inside(&self) -> bool {
        matches!(self.spot.slot, Slot::Lead | Slot::Trail)
    }
}

impl Outcome {
    /// As printed in the log line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Kept | Self::Observed => "-",
            Self::Node(GroupKind::Append) => "append",
            Self::Node(GroupKind::Replace) => "replace",
            Self::Node(GroupKind::Removal) => "removal",
            Self::Deferred => "deferred",
            Self::PassedThrough => "no_slot",
            Self::Adopted => "adopted",
            Self::Rebaseline(reason) => reason.printed(),
        }
    }
}

impl Reason {
    /// As a metric label.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::Tools => "tools",
            Self::Expired => "expired",
            Self::Economics => "economics",
            Self::Secret => "secret",
        }
    }

    fn printed(self) -> &'static str {
        match self {
            Self::Model => "rebaseline(model)",
            Self::Tools => "rebaseline(tools)",
            Self::Expired => "rebaseline(expired)",
            Self::Economics => "rebaseline(economics)",
            Self::Secret => "rebaseline(secret)",
        }
    }
}
