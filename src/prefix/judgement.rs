//! Both verdicts of a request: the client's own against its last, and what leaves against what left before.

use std::sync::Arc;

use super::choose::Choice;
use super::compare::{Element, HeadMark, View, compare};
use super::digest::Digest;
use super::item::{FrozenBlock, FrozenHead, Request};
use super::past::{Node, Path};
use super::plan::{NewNode, Outcome, Plan, Reason};
use super::verdict::{Cause, Class, Part, Verdict};

/// What the client did to its own prefix. `carried_on`: the request carries the answer to the path on.
pub fn received_verdict(request: &Request, choice: &Choice, carried_on: bool) -> Verdict {
    let before = path_view(&choice.against, &choice.against.head, &[]);
    compare(
        &before,
        &request_view(request, None, &[], None),
        request.names,
        carried_on,
    )
}

/// What the proxy did, with the client, to the prefix that left before.
pub fn sent_verdict(request: &Request, choice: &Choice, plan: &Plan) -> Verdict {
    let path = &choice.path;
    let against = if Arc::ptr_eq(&choice.path, &choice.against) {
        path
    } else {
        &choice.against
    };
    let before = path_view(against, &against.baseline, &against.nodes);
    let after = request_view(
        request,
        plan.baseline.as_deref(),
        &plan.nodes,
        plan.new_node.as_ref(),
    );
    let mut verdict = compare(&before, &after, request.names, plan.carries);
    let head_changed = verdict.change.is_some_and(|change| change.part == Part::Head);
    // Nodes that this very decision took off the path look like items that the client left out.
    let folded = verdict.class == Class::Compaction && plan.received.class != Class::Compaction;
    let ours = match plan.outcome {
        Outcome::PassedThrough => Some(Cause::NoSlot),
        Outcome::Rebaseline(Reason::Tools) if folded => Some(plan.received.cause),
        Outcome::Rebaseline(Reason::Tools) => None,
        Outcome::Rebaseline(_) => Some(Cause::Rebaseline),
        _ => None,
    };
    if let Some(cause) = ours.filter(|_| head_changed || folded) {
        verdict.cause = cause;
        verdict.class = if folded { Class::Rewrite } else { verdict.class };
    }
    verdict
}

fn path_view<'a>(path: &'a Path, head: &FrozenHead, nodes: &[Arc<Node>]) -> View<'a> {
    let items = path
        .items
        .iter()
        .enumerate()
        .map(|(index, mark)| Element::item(index, mark));
    View {
        model: path.model.as_deref(),
        params: &path.params,
        routing: path.hints.routing,
        tools: path.tools.iter().collect(),
        head: head.blocks.iter().map(HeadMark::from).collect(),
        head_texts: head.texts(),
        head_messages: path.head.blocks.iter().filter(|block| block.is_message()).count(),
        head_members: members(head).count(),
        head_string: is_string(head),
        marks: path.items.iter().map(|mark| mark.opens).collect(),
        history: interleave(items, nodes, None),
    }
}

fn request_view<'a>(
    request: &'a Request,
    baseline: Option<&FrozenHead>,
    nodes: &[Arc<Node>],
    new: Option<&NewNode>,
) -> View<'a> {
    let own;
    let head = match baseline {
        Some(frozen) => frozen,
        None => {
            own = request.head.freeze();
            &own
        }
    };
    let items = request
        .history
        .iter()
        .enumerate()
        .map(|(index, item)| Element::item(index, &item.mark));
    View {
        model: request.model.as_deref(),
        params: &request.params,
        routing: request.hints.routing,
        tools: request.tools.iter().map(|tool| &tool.mark).collect(),
        head: head.blocks.iter().map(HeadMark::from).collect(),
        head_texts: head.texts(),
        head_messages: request.head.messages(),
        head_members: members(head).count(),
        head_string: is_string(head),
        marks: request.history.iter().map(|item| item.mark.opens).collect(),
        history: interleave(items, nodes, new),
    }
}

/// The blocks that stand in the head's own member.
fn members(head: &FrozenHead) -> impl Iterator<Item = &FrozenBlock> {
    head.blocks.iter().take_while(|block| !block.is_message())
}

fn is_string(head: &FrozenHead) -> bool {
    let mut members = members(head);
    members.next().is_some_and(|block| block.string.is_some()) && members.next().is_none()
}

fn interleave(
    items: impl Iterator<Item = Element>,
    nodes: &[Arc<Node>],
    new: Option<&NewNode>,
) -> Vec<Element> {
    let stored = nodes
        .iter()
        .map(|node| Element::node(node.position as usize, node.digest, node.bytes.len()));
    let fresh = new.map(|node| Element::node(node.spot.position, Digest::default(), 0));
    let mut out = Vec::with_capacity(nodes.len() + 1);
    let mut waiting = stored.chain(fresh).peekable();
    for (count, item) in items.enumerate() {
        while let Some(node) = waiting.next_if(|node| node.index <= count) {
            out.push(node);
        }
        out.push(item);
    }
    out.extend(waiting);
    out
}
