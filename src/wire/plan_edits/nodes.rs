//! Nodes in their slots.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use crate::prefix::edit::{Edit, Edits, apply};
use crate::prefix::item::{Content, Message, Request};
use crate::prefix::past::{Node, Slot};
use crate::wire::envelope::{self, Envelope};
use crate::wire::scan::Cursor;
use crate::wire::{BARE, Shapes};

/// What goes into one message: in front of its content and behind it, as text or as blocks.
#[derive(Default)]
struct Inside<'n> {
    lead: Vec<&'n Node>,
    trail: Vec<&'n Node>,
    /// Blocks, each at the item that it stands before or behind.
    before: Vec<(usize, &'n Node)>,
    behind: Vec<(usize, &'n Node)>,
}

/// Splices every node in; gives the edits that it made.
pub fn insert(request: &Request, nodes: &[Arc<Node>], shapes: &Shapes, edits: &mut Vec<Edit>) -> Vec<Edit> {
    let mut made = Vec::new();
    let mut inside: BTreeMap<u32, Inside<'_>> = BTreeMap::new();
    let splicer = Splicer { request, shapes };
    let in_body = |node: &&Arc<Node>| node.position as usize >= request.held;
    for node in nodes.iter().filter(in_body) {
        let position = node.position as usize;
        let message = |index: usize| request.history.get(index).map(|item| item.message);
        let behind = position.checked_sub(1);
        match node.slot {
            Slot::Message => made.push(between(request, position, &node.bytes)),
            Slot::Lead => with(&mut inside, message(position), |inside| inside.lead.push(node)),
            Slot::Trail => with(&mut inside, behind.and_then(message), |inside| {
                inside.trail.push(node)
            }),
            Slot::BlockBefore => {
                with(&mut inside, message(position), |inside| {
                    inside.before.push((position, node))
                });
            }
            Slot::BlockAfter => {
                with(&mut inside, behind.and_then(message), |inside| {
                    inside.behind.push((position - 1, node))
                });
            }
        }
    }
    for (index, inside) in inside {
        splicer.fill_message(&request.layout.messages[index as usize], &inside, &mut made);
    }
    edits.extend(made.iter().cloned());
    made
}

/// The history item that holds a node inside its text.
pub fn holder(node: &Node) -> Option<usize> {
    match node.slot {
        Slot::Lead => Some(node.position as usize),
        Slot::Trail => (node.position as usize).checked_sub(1),
        _ => None,
    }
}

/// The node stands in another item than the one that it was made for: the conversation branched right in front.
pub fn is_moved(request: &Request, node: &Node) -> bool {
    let item = holder(node).and_then(|index| request.history.get(index));
    let made_for = node.holder.as_ref().map(|held| held.client.canonical);
    made_for.is_some_and(|made_for| item.is_some_and(|item| item.mark.canonical != made_for))
}

fn with<'n>(inside: &mut BTreeMap<u32, Inside<'n>>, message: Option<u32>, add: impl FnOnce(&mut Inside<'n>)) {
    if let Some(message) = message {
        add(inside.entry(message).or_default());
    }
}

/// A message of its own between two messages.
fn between(request: &Request, position: usize, bytes: &Bytes) -> Edit {
    let layout = &request.layout;
    if let Some(item) = request.history.get(position) {
        let start = layout.messages[item.message as usize].range.start;
        return at(start, &[bytes, b","]);
    }
    match layout.messages.last() {
        Some(last) => at(last.range.end, &[b",", bytes]),
        None => at(layout.messages_array.start + 1, &[bytes]),
    }
}

/// Puts nodes into messages of one request.
struct Splicer<'a> {
    request: &'a Request,
    shapes: &'a Shapes,
}

impl Splicer<'_> {
    fn fill_message(&self, message: &Message, inside: &Inside<'_>, made: &mut Vec<Edit>) {
        let spliced = self.spliced(message, inside);
        match self.as_held(message, inside, &spliced) {
            Some(held) => made.push(held),
            None => made.extend(spliced),
        }
    }

    fn spliced(&self, message: &Message, inside: &Inside<'_>) -> Vec<Edit> {
        let mut made = Vec::new();
        match &message.content {
            Content::Text(token) if !inside.before.is_empty() || !inside.behind.is_empty() => {
                self.string_to_blocks(token, inside, &mut made);
            }
            Content::Text(token) => {
                push(&mut made, token.start + 1, text(&inside.lead));
                push(&mut made, token.end - 1, text(&inside.trail));
            }
            Content::Blocks(_, blocks) => self.fill_blocks(blocks, inside, &mut made),
            Content::Other => {}
        }
        made
    }

    /// The item as it went out before, where the client now writes the same item otherwise: an item that holds a node
    /// inside its text goes out in one form only, markers aside. A node that is new goes into that form. No message can
    /// stand in the place of a bare string, which means the same.
    fn as_held(&self, message: &Message, inside: &Inside<'_>, spliced: &[Edit]) -> Option<Edit> {
        if self.request.layout.bare {
            return None;
        }
        let stored = inside.trail.iter().rev().chain(inside.lead.iter().rev());
        let held = stored.copied().find_map(|node| node.holder.as_ref())?;
        let item = self.request.history.get(message.items.start)?;
        let newer: Vec<&Node> = inside
            .trail
            .iter()
            .filter(|node| node.holder.is_none())
            .copied()
            .collect();
        let sent = self.with_trail(&held.sent, &newer)?;
        let same_meaning = item.mark.canonical == held.client.canonical;
        let now = || unmarked(&item_with(self.request, item.range.clone(), spliced));
        (same_meaning && now() != sent).then(|| Edit {
            range: item.range.clone(),
            insert: sent,
        })
    }

    /// A message with nodes behind its own text.
    fn with_trail(&self, message: &Bytes, nodes: &[&Node]) -> Option<Bytes> {
        if nodes.is_empty() {
            return Some(message.clone());
        }
        let mut made = Vec::new();
        match &Envelope::read(&mut Cursor::new(message, 0)).ok()?.content {
            envelope::Content::Text(token) => push(&mut made, token.end - 1, text(nodes)),
            envelope::Content::Blocks(_, blocks) => {
                let end = blocks.last()?.range.end;
                nodes
                    .iter()
                    .for_each(|node| made.push(at(end, &[b",", &self.part(node)])));
            }
            envelope::Content::Other => return None,
        }
        Some(apply(message, &Edits::new(made).ok()?).concat())
    }

    /// A node that stands inside a string as a part of its own.
    fn part(&self, node: &Node) -> Vec<u8> {
        self.shapes.block(&[b"\"", &node.bytes[..], b"\""].concat())
    }

    /// A string content becomes the text block that it stands for, among the nodes' blocks.
    fn string_to_blocks(&self, token: &Range<usize>, inside: &Inside<'_>, made: &mut Vec<Edit>) {
        let mut front = b"[".to_vec();
        for (_, node) in &inside.before {
            front.extend_from_slice(&node.bytes);
            front.push(b',');
        }
        let [open, close] = self.shapes.block;
        front.extend_from_slice(open.as_bytes());
        let mut back = close.as_bytes().to_vec();
        for (_, node) in &inside.behind {
            back.push(b',');
            back.extend_from_slice(&node.bytes);
        }
        back.push(b']');
        push(made, token.start, front);
        push(made, token.end, back);
    }

    fn fill_blocks(&self, blocks: &[Range<usize>], inside: &Inside<'_>, made: &mut Vec<Edit>) {
        let history = &self.request.history;
        for (index, node) in &inside.before {
            made.push(at(history[*index].range.start, &[&node.bytes, b","]));
        }
        for (index, node) in &inside.behind {
            made.push(at(history[*index].range.end, &[b",", &node.bytes]));
        }
        if let (Some(first), Some(last)) = (blocks.first(), blocks.last()) {
            inside
                .lead
                .iter()
                .for_each(|node| made.push(at(first.start, &[&self.part(node), b","])));
            inside
                .trail
                .iter()
                .for_each(|node| made.push(at(last.end, &[b",", &self.part(node)])));
        }
    }
}

/// An item of the body with the edits inside it; a history that is one bare string as the message that it stands for.
pub fn item_with(request: &Request, range: Range<usize>, edits: &[Edit]) -> Bytes {
    // What is put at its edges stands beside it; what takes its place is it.
    let beside = |edit: &Edit| {
        edit.range.is_empty() && (edit.range.start == range.start || edit.range.start == range.end)
    };
    let inside = edits
        .iter()
        .filter(|edit| edit.range.start >= range.start && edit.range.end <= range.end && !beside(edit));
    let moved = inside.map(|edit| Edit {
        range: edit.range.start - range.start..edit.range.end - range.start,
        insert: edit.insert.clone(),
    });
    let item = request.body.slice(range.clone());
    let item = Edits::new(moved.collect()).map_or(item.clone(), |edits| apply(&item, &edits).concat());
    if request.layout.bare {
        let [open, close] = BARE.map(str::as_bytes);
        return Bytes::from([open, &item, close].concat());
    }
    item
}

/// A message without the markers of the request that it came in.
pub fn unmarked(message: &Bytes) -> Bytes {
    match Envelope::read(&mut Cursor::new(message, 0)) {
        Ok(walk) => Bytes::from(envelope::pieces(message, walk.range, &walk.cuts).concat()),
        Err(_) => message.clone(),
    }
}

/// Nodes as they stand inside a string.
fn text(nodes: &[&Node]) -> Vec<u8> {
    nodes.iter().flat_map(|node| node.bytes.to_vec()).collect()
}

fn push(made: &mut Vec<Edit>, offset: usize, insert: Vec<u8>) {
    if !insert.is_empty() {
        made.push(at(offset, &[&insert]));
    }
}

fn at(offset: usize, pieces: &[&[u8]]) -> Edit {
    Edit {
        range: offset..offset,
        insert: Bytes::from(pieces.concat()),
    }
}
