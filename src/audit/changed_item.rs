//! Both sides of the first changed item: its ids, and where in the two bodies it differs.

use uuid::Uuid;

use super::observation::Side;
use crate::prefix::{
    Part, Path, Request, Verdict,
    digest::{Canonical, item_id},
};
use crate::wire::drift;

/// How sides are shown.
#[derive(Clone, Copy)]
pub struct Shown {
    /// What ids are made in.
    pub namespace: Uuid,
    /// Text of the prompt may be shown.
    pub content: bool,
}

/// Both sides of the item that `verdict` names, as the bodies tell it; where the earlier one is gone, the ids alone.
pub fn sides(
    verdict: &Verdict,
    difference: Option<drift::Difference>,
    parent: Option<&Path>,
    later: &Request,
    shown: Shown,
) -> (Option<Side>, Option<Side>) {
    if let Some(difference) = difference {
        let side = |side: drift::Side| Side {
            id: item_id(&shown.namespace, side.kind, side.canonical),
            offset: side.offset as u64,
            bytes: side.bytes as u64,
            window: shown.content.then_some((side.window.text, side.window.at)),
        };
        return (difference.before.map(side), difference.after.map(side));
    }
    let Some(change) = verdict.change else {
        return (None, None);
    };
    let known = |(kind, canonical, at, bytes): Found| Side {
        id: item_id(&shown.namespace, kind, canonical),
        offset: at,
        bytes,
        window: None,
    };
    let old = change
        .old
        .zip(parent)
        .and_then(|(at, path)| of_path(path, change.part, at));
    let new = change.new.and_then(|at| of_request(later, change.part, at));
    (old.map(known), new.map(known))
}

/// The two parts of an item's id, where it begins in the body, and how long it is there.
type Found = (&'static str, Canonical, u64, u64);

fn of_request(request: &Request, part: Part, at: usize) -> Option<Found> {
    let (kind, canonical, range) = match part {
        Part::Param => return None,
        Part::Tool => {
            let tool = request.tools.get(at)?;
            ("tool", tool.mark.canonical, &tool.range)
        }
        Part::Head => {
            let block = request.head.blocks.get(at)?;
            ("system", block.frozen.canonical, &block.range)
        }
        Part::History => {
            let item = request.history.get(at)?;
            (item.mark.kind_name(), item.mark.canonical, &item.range)
        }
    };
    Some((kind, canonical, range.start as u64, range.len() as u64))
}

/// Nothing is kept of an earlier body but digests and lengths: the place in it is not known, and is said to be its start.
fn of_path(path: &Path, part: Part, at: usize) -> Option<Found> {
    let (kind, canonical, len) = match part {
        Part::Param => return None,
        Part::Tool => path
            .tools
            .get(at)
            .map(|tool| ("tool", tool.canonical, tool.len))?,
        Part::Head => path
            .head
            .blocks
            .get(at)
            .map(|block| ("system", block.canonical, block.len))?,
        Part::History => path
            .items
            .get(at)
            .map(|mark| (mark.kind_name(), mark.canonical, mark.len))?,
    };
    Some((kind, canonical, 0, len.into()))
}
