//! Nodes in their slots.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use crate::prefix::edit::Edit;
use crate::prefix::item::{Content, Message, Request};
use crate::prefix::past::{Node, Slot};

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
pub fn insert(request: &Request, nodes: &[Arc<Node>], edits: &mut Vec<Edit>) -> Vec<Edit> {
    let mut made = Vec::new();
    let mut inside: BTreeMap<u32, Inside<'_>> = BTreeMap::new();
    for node in nodes {
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
        into_message(
            request,
            &request.layout.messages[index as usize],
            &inside,
            &mut made,
        );
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

fn into_message(request: &Request, message: &Message, inside: &Inside<'_>, made: &mut Vec<Edit>) {
    if let Some(held) = as_held(request, message, inside) {
        made.push(held);
        return;
    }
    match &message.content {
        Content::Text(token) if !inside.before.is_empty() || !inside.behind.is_empty() => {
            string_to_blocks(token, inside, made);
        }
        Content::Text(token) => {
            let text = |nodes: &[&Node]| {
                nodes
                    .iter()
                    .flat_map(|node| node.bytes.to_vec())
                    .collect::<Vec<u8>>()
            };
            push(made, token.start + 1, text(&inside.lead));
            push(made, token.end - 1, text(&inside.trail));
        }
        Content::Blocks(_, blocks) => into_blocks(request, blocks, inside, made),
        Content::Other => {}
    }
}

/// The item as it went out before, where the client now writes the same item otherwise.
fn as_held(request: &Request, message: &Message, inside: &Inside<'_>) -> Option<Edit> {
    let node = inside.trail.last().or(inside.lead.last())?;
    let held = node.holder.as_ref()?;
    let item = request.history.get(message.items.start)?;
    let same_meaning = item.mark.canonical == held.client.canonical;
    let rewritten = same_meaning && item.mark.wire != held.client.wire;
    let several = inside.trail.len() + inside.lead.len() > 1;
    (rewritten || same_meaning && several).then(|| Edit {
        range: item.range.clone(),
        insert: held.sent.clone(),
    })
}

/// A string content becomes the text block that it stands for, among the nodes' blocks.
fn string_to_blocks(token: &Range<usize>, inside: &Inside<'_>, made: &mut Vec<Edit>) {
    let mut front = b"[".to_vec();
    for (_, node) in &inside.before {
        front.extend_from_slice(&node.bytes);
        front.push(b',');
    }
    front.extend_from_slice(br#"{"type":"text","text":"#);
    let mut back = b"}".to_vec();
    for (_, node) in &inside.behind {
        back.push(b',');
        back.extend_from_slice(&node.bytes);
    }
    back.push(b']');
    push(made, token.start, front);
    push(made, token.end, back);
}

fn into_blocks(request: &Request, blocks: &[Range<usize>], inside: &Inside<'_>, made: &mut Vec<Edit>) {
    for (index, node) in &inside.before {
        made.push(at(request.history[*index].range.start, &[&node.bytes, b","]));
    }
    for (index, node) in &inside.behind {
        made.push(at(request.history[*index].range.end, &[b",", &node.bytes]));
    }
    let part = |node: &Node| [br#"{"type":"text","text":""#, &node.bytes[..], b"\"}"].concat();
    if let (Some(first), Some(last)) = (blocks.first(), blocks.last()) {
        inside
            .lead
            .iter()
            .for_each(|node| made.push(at(first.start, &[&part(node), b","])));
        inside
            .trail
            .iter()
            .for_each(|node| made.push(at(last.end, &[b",", &part(node)])));
    }
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
