//! What the ledger is told about a request that leaves.

use std::sync::Arc;

use super::digest::{Chain, Digest};
use super::item::{FrozenHead, Item, Kind, Mark, Request, Role};
use super::keys::{Keys, Scope, assistant_keys, chain_key};
use super::past::{Node, Path, Sent, State};
use super::plan::{Outcome, Plan};
use super::policy::Mutant;
use crate::prompt::Sketch;

/// A request as it leaves: `head` and `nodes` as they are in the bytes.
pub fn sent(
    request: &Request,
    (scope, keys): (Scope, &Keys),
    plan: &Plan,
    (head, nodes): (Arc<FrozenHead>, Vec<Arc<Node>>),
    now_ms: u64,
) -> Sent {
    let parent = plan.parent.as_deref();
    // A stored node whose holder is another item now has a form that the ledger does not know yet.
    let moved = nodes
        .iter()
        .zip(&plan.nodes)
        .any(|(goes, stored)| !Arc::ptr_eq(goes, stored));
    let own = request.head.freeze();
    let mut path = Path {
        seq: 0,
        lineage: parent.map_or(0, |parent| parent.lineage),
        parent: parent.map(|parent| parent.seq),
        state: State::Tentative,
        mode: plan.mode,
        model: request.model.clone(),
        params: request.params.clone(),
        tools: tools(request, parent),
        head: if own.digest == head.digest {
            head.clone()
        } else {
            Arc::new(own)
        },
        baseline: head,
        nodes,
        items: items(request),
        last_words: last_words(request),
        answer: None,
        first_items: first_items(request, plan),
        hints: request.hints.clone(),
        request: keys.request,
        at_ms: now_ms,
        marker_ttl: request.marker_ttl,
        superseded_carried: 0,
    };
    let carried = parent
        .filter(|_| plan.outcome_keeps())
        .map_or(0, |parent| parent.superseded_carried);
    path.superseded_carried = carried + path.superseded_bytes();
    Sent {
        index: index(request, scope, keys, plan),
        path,
        shared: plan.shared as u32,
        carries: plan.carries && !parent.is_some_and(|parent| answered_otherwise(request, parent)),
        durable: (plan.is_durable() || moved) && plan.mutant != Some(Mutant::SendBeforeRecord),
    }
}

/// What asked for a summary is gone with the answer.
fn items(request: &Request) -> Arc<[Mark]> {
    let marks = request.history.iter().map(|item| item.mark);
    marks.filter(|mark| mark.kind != Kind::Trigger).collect()
}

fn tools(request: &Request, parent: Option<&Path>) -> Arc<[super::item::ToolMark]> {
    let own = || request.tools.iter().map(|tool| &tool.mark);
    match parent {
        Some(parent) if own().eq(parent.tools.iter()) => parent.tools.clone(),
        _ => own().cloned().collect(),
    }
}

fn last_words(request: &Request) -> Sketch {
    let words = request.history.last().and_then(|item| item.words.as_ref());
    words.map_or_else(|| Sketch::of(""), |words| (**words).clone())
}

/// How many items are no evidence. A request that goes on from what its lineage's first one held, but not with the answer
/// that this was seen to get (an equal chat that opens with more examples), brought its assistant items along, as a first
/// one does.
fn first_items(request: &Request, plan: &Plan) -> u32 {
    let Some(parent) = plan.parent.as_deref() else {
        return request.history.len() as u32;
    };
    let within_first = plan.shared as u32 <= parent.first_items;
    if !within_first || carries_answer(request, parent) {
        return parent.first_items;
    }
    let said = |item: &Item| item.mark.role == Role::Assistant;
    let brought = request.history.iter().rposition(said).map_or(0, |last| last + 1);
    parent.first_items.max(brought as u32)
}

/// The answer that the path is known to have got stands nowhere in the request.
fn answered_otherwise(request: &Request, path: &Path) -> bool {
    path.answer.is_some() && !carries_answer(request, path)
}

/// The answer that the path is known to have got stands in the request.
fn carries_answer(request: &Request, path: &Path) -> bool {
    path.answer.is_some() && request.history.iter().any(|item| item.answer == path.answer)
}

/// The keys of what is new in this request: its items' chains, the assistant items that the lineage gained, itself.
fn index(request: &Request, scope: Scope, keys: &Keys, plan: &Plan) -> Vec<Digest> {
    let new = plan.shared..request.chains.len();
    let mut index: Vec<Digest> = request.chains[new]
        .iter()
        .map(|chain: &Chain| chain_key(scope, *chain))
        .collect();
    // A request that only repeats is still found at its own tip.
    index.extend(request.chains.last().map(|chain| chain_key(scope, *chain)));
    if plan.parent.is_some() {
        let marks = request.history.iter().map(|item| &item.mark);
        let gained = assistant_keys(scope, marks).filter(|(place, _)| *place >= plan.shared);
        index.extend(gained.map(|(_, key)| key));
    }
    index.push(keys.request);
    index.dedup();
    index
}

impl Plan {
    /// The path's superseded text goes on being carried.
    fn outcome_keeps(&self) -> bool {
        !matches!(
            self.outcome,
            Outcome::Adopted | Outcome::Rebaseline(_) | Outcome::PassedThrough
        )
    }
}
