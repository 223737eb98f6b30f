//! Where nodes stand: which stored ones are on the path of a request, and where a new one may go.

use std::sync::Arc;

use super::digest::Digest;
use super::item::{Content, Item, Kind, Request, Role, prompt_digest};
use super::past::{Node, Past, Path, Slot};
use super::policy::{Carrier, Mutant, Placement, Policy, Row, ToolLoop};
use crate::prompt::{Entry, derive};

/// A legal place for a new node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spot {
    /// How many client items stand in front of it.
    pub position: usize,
    /// How it hangs there.
    pub slot: Slot,
    /// The row that found it.
    pub row: Row,
    /// The row's number in the policy.
    pub ordinal: usize,
}

/// What came of looking for a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// Here.
    Spot(Spot),
    /// At the next user turn.
    Wait,
    /// Nowhere in this request.
    Nowhere,
}

/// The stored nodes that are on the path of `request`, in order.
pub fn on_path(
    request: &Request,
    path: &Path,
    shared: usize,
    answer_at: Option<usize>,
    past: &Past,
) -> Vec<Arc<Node>> {
    let limit = standing(path, shared, answer_at);
    let mut nodes: Vec<Arc<Node>> = Vec::new();
    let sure = |node: &Node| {
        let position = node.position as usize;
        position < limit || position == limit && carried_on(request, path, node, limit, past)
    };
    for node in &path.nodes {
        if sure(node) && is_legal(request, node) {
            nodes.push(node.clone());
        }
    }
    // Nodes right behind the last matched item: also where with them the head in force is the one that is asked for.
    let behind = path.nodes.iter().filter(|node| {
        node.position as usize == limit && !sure(node) && !answered_without(request, path, node, limit, past)
    });
    let mut with = nodes.clone();
    with.extend(behind.filter(|node| is_legal(request, node)).cloned());
    if with.len() > nodes.len() && effective_digest(path, &with) == request.head.prompt {
        return with;
    }
    nodes
}

/// The prompt in force on a path with these nodes.
pub fn effective(path: &Path, nodes: &[Arc<Node>]) -> Option<Vec<String>> {
    let entries: Vec<Entry> = nodes
        .iter()
        .flat_map(|node| node.entries.iter().cloned())
        .collect();
    Some(derive(&path.baseline.texts()?, &entries))
}

/// Its digest, comparable with a head's.
pub fn effective_digest(path: &Path, nodes: &[Arc<Node>]) -> Digest {
    let whole = nodes.iter().zip(&path.nodes).all(|(a, b)| Arc::ptr_eq(a, b));
    match nodes.last() {
        None => path.baseline.prompt,
        Some(last) if whole => last.effective,
        Some(_) => effective(path, nodes).map_or(path.baseline.digest, |texts| prompt_digest(&texts)),
    }
}

/// The digest of a prompt in force.
pub fn digest_of(effective: &[String]) -> Digest {
    prompt_digest(effective)
}

/// How many leading items of `request` are those of `path`.
pub fn matching(request: &Request, path: &Path) -> usize {
    let items = request.history.iter().map(|item| item.mark.canonical);
    items
        .zip(path.items.iter())
        .take_while(|(item, mark)| *item == mark.canonical)
        .count()
}

/// How many of the path's items stand for placement: the matched ones, and where the conversation plainly went on
/// (the path's own answer stands in the request at its place), also those behind an item rewritten in place.
pub fn standing(path: &Path, shared: usize, answer_at: Option<usize>) -> usize {
    if answer_at == Some(path.items.len()) {
        return path.items.len();
    }
    shared
}

/// Finds the place for a new node by the first row that has one.
pub fn place(request: &Request, sent: usize, policy: &Policy, volatile: bool) -> Found {
    let mut wait = false;
    for (ordinal, row) in policy.rows.iter().enumerate() {
        match by_row(request, sent, *row, policy.mutant, volatile) {
            Ok((position, slot)) => {
                return Found::Spot(Spot {
                    position,
                    slot,
                    row: *row,
                    ordinal,
                });
            }
            Err(Miss::Wait) => wait = true,
            Err(Miss::None) => {}
        }
    }
    if wait { Found::Wait } else { Found::Nowhere }
}

enum Miss {
    Wait,
    None,
}

/// The trailing turn of a request: what came behind the model's last words.
struct Turn {
    /// Its first item.
    start: usize,
    /// Behind its last item; an unsent prefill may follow.
    end: usize,
    /// Behind its last tool result, if it has one.
    results: Option<usize>,
    /// Every call in front of it has its result.
    complete: bool,
}

fn by_row(
    request: &Request,
    sent: usize,
    row: Row,
    mutant: Option<Mutant>,
    volatile: bool,
) -> Result<(usize, Slot), Miss> {
    // Nothing can stand beside a history that is one string.
    if request.layout.bare && row.placement != Placement::InsideUserMessage {
        return Err(Miss::None);
    }
    let in_body = |turn: &Turn| turn.end >= request.held;
    let turn = trailing_turn(request, sent).filter(in_body).ok_or(Miss::None)?;
    if mutant == Some(Mutant::SplitPair) && turn.results.is_some() {
        return Ok((turn.start, Slot::Message));
    }
    if !turn.complete {
        return Err(if volatile { Miss::Wait } else { Miss::None });
    }
    let in_loop = turn
        .results
        .is_some_and(|results| !asks_behind(request, results..turn.end));
    if in_loop {
        if volatile || row.tool_loop == ToolLoop::Wait {
            return Err(Miss::Wait);
        }
        if row.tool_loop == ToolLoop::Pass {
            return Err(Miss::None);
        }
    }
    match row.placement {
        Placement::BeforeUserRun => Ok((before_run(&turn, sent), Slot::Message)),
        Placement::AfterUserTurn => after_turn(request, &turn).map(|position| (position, Slot::Message)),
        Placement::BlockInUserTurn => block_in_turn(request, &turn, sent, row.carrier),
        Placement::InsideUserMessage if in_loop => Ok((turn.end, Slot::Message)),
        Placement::InsideUserMessage => inside_message(request, &turn, sent),
    }
}

fn trailing_turn(request: &Request, sent: usize) -> Option<Turn> {
    let role = |index: usize| request.history[index].mark.role;
    let mut end = request.history.len();
    let triggered = ends_with_trigger(request);
    end -= usize::from(triggered);
    while !triggered && end > 0 && role(end - 1) == Role::Assistant {
        end -= 1;
    }
    if end < request.history.len() && end < sent {
        return None;
    }
    let mut start = end;
    while start > 0 && role(start - 1) != Role::Assistant {
        start -= 1;
    }
    if start == end && !triggered {
        return None;
    }
    let turn = &request.history[start..end];
    let results = turn
        .iter()
        .rposition(|item| item.mark.kind == Kind::ToolResult)
        .map(|at| start + at + 1);
    let calls: usize = last_calls(&request.history[..start]);
    let given = turn
        .iter()
        .filter(|item| item.mark.kind == Kind::ToolResult)
        .count();
    Some(Turn {
        start,
        end,
        results,
        complete: given >= calls,
    })
}

/// Whether what asks for a summary is the last item: it must stay so, and may stand behind anything.
fn ends_with_trigger(request: &Request) -> bool {
    let last = request.history.last();
    last.is_some_and(|item| item.mark.kind == Kind::Trigger)
}

/// How many calls the last assistant turn in front made.
fn last_calls(items: &[Item]) -> usize {
    let assistants = items
        .iter()
        .rev()
        .take_while(|item| item.mark.role == Role::Assistant);
    assistants.map(|item| usize::from(item.calls)).sum()
}

/// Whether the user speaks in a message of their own behind the tool results.
fn asks_behind(request: &Request, behind: std::ops::Range<usize>) -> bool {
    request.history[behind]
        .iter()
        .any(|item| item.mark.role == Role::User && item.mark.opens)
}

fn before_run(turn: &Turn, sent: usize) -> usize {
    let first = turn.results.unwrap_or(turn.start).max(sent);
    first.min(turn.end)
}

fn after_turn(request: &Request, turn: &Turn) -> Result<usize, Miss> {
    let speaks = |item: &Item| item.mark.role == Role::User;
    if request.history[turn.start..turn.end].iter().any(speaks) {
        Ok(turn.end)
    } else {
        Err(Miss::None)
    }
}

fn block_in_turn(
    request: &Request,
    turn: &Turn,
    sent: usize,
    carrier: Carrier,
) -> Result<(usize, Slot), Miss> {
    let items = &request.history[turn.start..turn.end];
    let user_end = turn.start
        + items
            .iter()
            .rposition(|item| item.mark.role == Role::User)
            .ok_or(Miss::None)?
        + 1;
    let user_start = turn.start
        + items
            .iter()
            .position(|item| item.mark.role == Role::User)
            .ok_or(Miss::None)?;
    if user_end < sent {
        // Something that is no user's stands behind, and was sent.
        return Err(Miss::None);
    }
    let floor = turn.results.unwrap_or(user_start).max(sent);
    // Where results are a content of their own, a text part beside them would be none of the user's.
    let apart = carrier == Carrier::TextPart
        && request.history[floor..user_end.max(floor)]
            .first()
            .is_some_and(|item| item.mark.opens && item.mark.role == Role::User);
    if floor == user_start || apart {
        return if takes_block(request, floor) {
            Ok((floor, Slot::BlockBefore))
        } else {
            Err(Miss::None)
        };
    }
    let speaks = request.history[floor - 1].mark.role == Role::User;
    if !speaks || !takes_block(request, floor - 1) {
        return Err(Miss::None);
    }
    Ok((floor, Slot::BlockAfter))
}

/// Whether a block can be put beside the item in its message: it is a block itself, or a text that can become one.
fn takes_block(request: &Request, index: usize) -> bool {
    let item = &request.history[index];
    let message = request.layout.messages.get(item.message as usize);
    message
        .filter(|_| !request.layout.bare)
        .is_some_and(|message| match message.content {
            Content::Text(_) => true,
            Content::Blocks(..) => item.block.is_some(),
            Content::Other => false,
        })
}

fn inside_message(request: &Request, turn: &Turn, sent: usize) -> Result<(usize, Slot), Miss> {
    let is_user = |item: &Item| item.mark.role == Role::User;
    let items = &request.history[turn.start..turn.end];
    let index = turn.start + items.iter().rposition(is_user).ok_or(Miss::None)?;
    match request.layout.messages[request.history[index].message as usize].content {
        Content::Other => Err(Miss::None),
        Content::Blocks(_, ref blocks) if blocks.is_empty() => Err(Miss::None),
        _ if index >= sent => Ok((index, Slot::Lead)),
        _ if index + 1 == sent => Ok((index + 1, Slot::Trail)),
        _ => Err(Miss::None),
    }
}

/// A node that stands right behind the last matched item is on the path where the model spoke next, unless it is
/// known to have spoken without the node.
fn carried_on(request: &Request, path: &Path, node: &Node, limit: usize, past: &Past) -> bool {
    let next = request.history.get(limit);
    next.is_some_and(|item| item.mark.role == Role::Assistant)
        && !answered_without(request, path, node, limit, past)
}

/// The item behind `limit` is an answer that another request got, and not this path, and without the node. A short one
/// is known by the question alone: many get the same.
fn answered_without(request: &Request, path: &Path, node: &Node, limit: usize, past: &Past) -> bool {
    let Some(answer) = request.history.get(limit).and_then(|item| item.answer) else {
        return false;
    };
    if path.answer == Some(answer) && path.items.len() == limit {
        return false;
    }
    past.paths.iter().any(|other| {
        let has = |stored: &Arc<Node>| stored.digest == node.digest && stored.position == node.position;
        other.items.len() == limit
            && other.answer == Some(answer)
            && (answer.strong || matching(request, other) == limit)
            && !other.nodes.iter().any(has)
    })
}

/// Whether a stored node may stand in this request where it stood before.
fn is_legal(request: &Request, node: &Node) -> bool {
    let position = node.position as usize;
    let before = position
        .checked_sub(1)
        .and_then(|index| request.history.get(index));
    let after = request.history.get(position);
    if position > request.history.len() {
        return false;
    }
    // What the provider holds stands.
    if position < request.held {
        return true;
    }
    let splits_pair = after.is_some_and(|item| item.mark.kind == Kind::ToolResult)
        && before.is_some_and(|item| item.mark.kind.is_call() || item.mark.kind == Kind::ToolResult);
    let is_user = |item: Option<&Item>| item.is_some_and(|item| item.mark.role == Role::User);
    let boundary = after.is_none_or(|item| item.mark.opens);
    let legal = match node.slot {
        Slot::Message if node.placement == Placement::AfterUserTurn => {
            boundary && before.is_some() && after.is_none_or(|item| item.mark.role != Role::User)
        }
        Slot::Message => boundary,
        Slot::BlockBefore => is_user(after) && boundary && takes_block(request, position),
        Slot::BlockAfter => is_user(before) && takes_block(request, position - 1),
        Slot::Lead => is_user(after) && has_text(request, position),
        Slot::Trail => is_user(before) && has_text(request, position.saturating_sub(1)),
    };
    legal && !splits_pair
}

fn has_text(request: &Request, index: usize) -> bool {
    let message = request
        .history
        .get(index)
        .and_then(|item| request.layout.messages.get(item.message as usize));
    message.is_some_and(|message| match &message.content {
        Content::Text(_) => true,
        Content::Blocks(_, blocks) => !blocks.is_empty(),
        Content::Other => false,
    })
}
