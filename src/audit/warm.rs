//! Whether the provider's cache served a prefix that was sent before, by the counts of the answers.

use super::walk::{Step, Walk};
use crate::{
    prefix::{Cause, Class, Path, item::{Kind, Role}},
    route::{
        Route,
        warmth::{Continuation, Known, Miss, Warmth, warmth},
    },
    wire::usage::Usage,
};

/// Remembers the counts of an answer to `step`, and says why the cache missed an intact prefix, if it did.
pub fn miss(walk: &mut Walk, step: &Step, route: &Route, usage: &Usage, at_ms: Option<u64>) -> Option<Miss> {
    let facts = &route.cache;
    let parent = extended(step);
    let before = parent.and_then(|parent| walk.known(parent.seq));
    let bytes = bytes(step);
    let known = Known::of(usage, (bytes, at_ms.unwrap_or_default()), facts, before.as_ref());
    walk.remember(step.seq, known);
    let seen = continuation(step, parent?, (before, bytes, usage), at_ms);
    match warmth(&seen, facts) {
        Warmth::Missed(miss) => Some(miss),
        Warmth::Served | Warmth::Unknown => None,
    }
}

/// The request whose whole prefix, as it was sent and taken, stands in this one.
fn extended(step: &Step) -> Option<&Path> {
    let sent = &step.plan.sent;
    let intact = sent.class == Class::Extend && sent.cause == Cause::None;
    let parent = step.plan.parent.as_deref().filter(|_| intact)?;
    parent.is_committed().then_some(parent)
}

fn continuation(
    step: &Step,
    parent: &Path,
    (before, bytes, usage): (Option<Known>, u64, &Usage),
    at_ms: Option<u64>,
) -> Continuation {
    let request = &step.request;
    let times = before.map(|before| before.sent_ms).filter(|sent| *sent > 0).zip(at_ms);
    let last = request.history.last();
    Continuation {
        usage: *usage,
        before,
        idle_ms: times.map_or(0, |(before, now)| now.saturating_sub(before)),
        bytes,
        front: front(step),
        marked: request.marker_ttl.is_some() && parent.marker_ttl.is_some(),
        marker_ttl: parent.marker_ttl,
        node: 0,
        speaks: last.is_some_and(|item| item.mark.role == Role::User && item.mark.kind == Kind::Content),
    }
}

/// Bytes of the tools and the head.
fn front(step: &Step) -> u64 {
    let head = step.request.head.blocks.iter().map(|block| block.frozen.len);
    let tools = step.request.tools.iter().map(|tool| tool.mark.len);
    head.chain(tools).map(u64::from).sum()
}

/// Bytes of all items.
fn bytes(step: &Step) -> u64 {
    let history = step.request.history.iter().map(|item| u64::from(item.mark.len));
    front(step) + history.sum::<u64>()
}
