//! Nodes that the route's model cannot take: rendered once more, by a row of its own, at the same anchor.
//!
//! A conversation may change its model, or an upstream may refuse a carrier that it took before. What was said then
//! still has to be said, at the place where it was said.

use std::sync::Arc;

use super::item::{Request, Role};
use super::past::{Node, Path, Slot};
use super::place::Spot;
use super::plan::NewNode;
use super::policy::{Carrier, Placement, Policy, Row};
use crate::prompt::{Group, derive};

/// For each of `nodes` that no row of the policy can carry: its place in the list, and the node in its stead.
pub fn rerender(
    request: &Request,
    path: &Path,
    nodes: &[Arc<Node>],
    policy: &Policy,
) -> Vec<(usize, NewNode)> {
    let Some(mut effective) = path.baseline.texts() else {
        return Vec::new();
    };
    let head_role = path
        .baseline
        .blocks
        .first()
        .map(|block| block.role.clone())
        .filter(|role| !role.is_empty());
    let mut anew = Vec::new();
    for (index, node) in nodes.iter().enumerate() {
        let wanted = derive(&effective, &node.entries);
        let held = (node.position as usize) < request.held;
        let spot = if held || is_carried(node, policy) {
            None
        } else {
            same_anchor(request, node, policy)
        };
        anew.extend(spot.map(|spot| {
            let group = Group {
                kind: node.kind,
                entries: node.entries.clone(),
            };
            let (effective, wanted) = (effective.clone(), wanted.clone());
            (
                index,
                NewNode {
                    spot,
                    group,
                    effective,
                    wanted,
                    deltas: 0,
                    head_role: head_role.clone(),
                },
            )
        }));
        effective = wanted;
    }
    anew
}

/// User text is taken by every route; a message of the operator's only where a row says so.
fn is_carried(node: &Node, policy: &Policy) -> bool {
    let by = |row: &Row| row.carrier == node.carrier && row.placement == node.placement;
    matches!(node.carrier, Carrier::UserReminder | Carrier::TextPart) || policy.rows.iter().any(by)
}

fn same_anchor(request: &Request, node: &Node, policy: &Policy) -> Option<Spot> {
    let position = node.position as usize;
    let is_user = |index: Option<usize>| {
        index
            .and_then(|index| request.history.get(index))
            .is_some_and(|item| item.mark.role == Role::User)
    };
    let (before, after) = (is_user(position.checked_sub(1)), is_user(Some(position)));
    policy.rows.iter().enumerate().find_map(|(ordinal, row)| {
        let slot = match (row.placement, before, after) {
            (Placement::BlockInUserTurn, true, _) => Slot::BlockAfter,
            (Placement::BlockInUserTurn, false, true) => Slot::BlockBefore,
            (Placement::InsideUserMessage, _, true) => Slot::Lead,
            (Placement::InsideUserMessage, true, false) => Slot::Trail,
            _ => return None,
        };
        Some(Spot {
            position,
            slot,
            row: *row,
            ordinal,
        })
    })
}
