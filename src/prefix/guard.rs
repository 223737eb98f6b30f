//! The last check before the socket: what is about to leave extends what left before.
//!
//! A second look from the other side: the decision planned with digests of the ledger, the guard hashes the bytes that
//! are in the rope. It parses nothing.

use super::digest::Digest;
use super::edit::{Edits, Rope};
use super::item::{FrozenHead, Request};
use super::past::{Node, Path};
use std::sync::Arc;

/// What the guard found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Violation {
    /// A frozen head block does not hash to its digest.
    Head,
    /// A node does not hash to its digest, or is not in the rope.
    Node,
    /// An edit removes bytes of the client's history.
    Lost,
    /// The path's nodes in front of the client's first change are not all there.
    Prefix,
    /// The rope is not what the edits make.
    Length,
}

impl Violation {
    /// As logged.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Head => "head",
            Self::Node => "node",
            Self::Lost => "lost",
            Self::Prefix => "prefix",
            Self::Length => "length",
        }
    }
}

/// Everything that is about to leave.
pub struct Departure<'a> {
    /// The request as parsed.
    pub request: &'a Request,
    /// The path that it continues, and how many client items it shares with it.
    pub parent: Option<(&'a Path, usize)>,
    /// The path's head goes out again (it was not folded or replaced).
    pub frozen: bool,
    /// The head that goes out.
    pub head: &'a FrozenHead,
    /// The nodes that go out.
    pub nodes: &'a [Arc<Node>],
    /// The edits.
    pub edits: &'a Edits,
    /// The body that goes out.
    pub rope: &'a Rope,
}

/// Checks one departure.
pub fn check(departure: &Departure<'_>) -> Result<(), Violation> {
    head(departure)?;
    nodes(departure)?;
    length(departure)?;
    lost(departure)?;
    prefix(departure)
}

fn head(departure: &Departure<'_>) -> Result<(), Violation> {
    let sound = departure
        .head
        .blocks
        .iter()
        .all(|block| Digest::of("inkfast head bytes v1", &block.bytes) == block.bytes_digest);
    if sound { Ok(()) } else { Err(Violation::Head) }
}

fn nodes(departure: &Departure<'_>) -> Result<(), Violation> {
    let stands = |node: &Arc<Node>| {
        let inserts = departure.edits.iter().map(|edit| &edit.insert);
        let present = inserts.filter(|insert| insert.len() >= node.bytes.len());
        Digest::of("inkfast node v1", &node.bytes) == node.digest
            && present
                .into_iter()
                .any(|insert| memchr::memmem::find(insert, &node.bytes).is_some())
    };
    let held = |node: &&Arc<Node>| (node.position as usize) < departure.request.held;
    if departure.nodes.iter().all(|node| held(&node) || stands(node)) {
        Ok(())
    } else {
        Err(Violation::Node)
    }
}

fn length(departure: &Departure<'_>) -> Result<(), Violation> {
    let removed: usize = departure.edits.iter().map(|edit| edit.range.len()).sum();
    let added: usize = departure.edits.iter().map(|edit| edit.insert.len()).sum();
    let pieces: usize = departure.rope.pieces.iter().map(bytes::Bytes::len).sum();
    let expected = departure.request.body.len() - removed + added;
    if expected == departure.rope.len && pieces == expected {
        Ok(())
    } else {
        Err(Violation::Length)
    }
}

/// Only the head, and an item that is replaced by its own earlier form, may lose bytes.
fn lost(departure: &Departure<'_>) -> Result<(), Violation> {
    let held = |range: &std::ops::Range<usize>, insert: &[u8]| {
        let item = departure.request.history.iter().find(|item| item.range == *range);
        item.is_some_and(|item| {
            departure
                .nodes
                .iter()
                .filter_map(|node| node.holder.as_ref())
                .any(|holder| holder.client.canonical == item.mark.canonical && holder.sent == insert)
        })
    };
    let keeps = |edit: &super::edit::Edit| {
        edit.range.is_empty()
            || departure
                .request
                .history
                .iter()
                .all(|item| edit.range.end <= item.range.start || edit.range.start >= item.range.end)
            || held(&edit.range, &edit.insert)
    };
    if departure.edits.iter().all(keeps) {
        Ok(())
    } else {
        Err(Violation::Lost)
    }
}

/// In front of the client's own first change, the path's nodes stand as they stood.
fn prefix(departure: &Departure<'_>) -> Result<(), Violation> {
    let Some((path, shared)) = departure.parent.filter(|_| departure.frozen) else {
        return Ok(());
    };
    let same_head = path.baseline.digest == departure.head.digest;
    let before = |nodes: &[Arc<Node>]| -> Vec<(u32, Digest)> {
        let front = nodes.iter().filter(|node| (node.position as usize) < shared);
        front.map(|node| (node.position, node.digest)).collect()
    };
    if same_head && before(&path.nodes) == before(departure.nodes) {
        Ok(())
    } else {
        Err(Violation::Prefix)
    }
}
