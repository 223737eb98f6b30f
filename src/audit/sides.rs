//! Both sides of the first changed item: its ids, and where in the two bodies it differs.

use std::ops::Range;

use uuid::Uuid;

use super::observation::Side;
use crate::prefix::{
    Part, Path, Request, Verdict,
    digest::{Canonical, item_id},
};

/// An item of one side: its id's two parts, and its bytes in the body, where that is at hand.
struct Found {
    kind: &'static str,
    canonical: Canonical,
    range: Option<Range<usize>>,
}

/// Both sides of the item that `verdict` names. `earlier` is the body of `parent`, if it is still kept: without it
/// nothing is known of where the two differ.
pub fn sides(
    verdict: &Verdict,
    (parent, earlier): (Option<&Path>, Option<&Request>),
    later: &Request,
    namespace: &Uuid,
) -> (Option<Side>, Option<Side>) {
    let Some(change) = verdict.change else {
        return (None, None);
    };
    let old = change.old.and_then(|at| match earlier {
        Some(request) => of_request(request, change.part, at),
        None => parent.and_then(|path| of_path(path, change.part, at)),
    });
    let new = change.new.and_then(|at| of_request(later, change.part, at));
    let text = |request: Option<&Request>, found: &Option<Found>| {
        let range = found.as_ref().and_then(|found| found.range.clone())?;
        request.and_then(|request| request.body.get(range)).map(<[u8]>::to_vec)
    };
    let texts = text(earlier, &old).zip(text(Some(later), &new));
    let equal = texts.map_or(0, |(old, new)| old.iter().zip(&new).take_while(|(a, b)| a == b).count());
    let side = |found: Found| {
        let range = found.range.unwrap_or_default();
        Side {
            id: item_id(namespace, found.kind, found.canonical),
            offset: (range.start + equal) as u64,
            bytes: range.len().saturating_sub(equal) as u64,
            window: None,
        }
    };
    (old.map(side), new.map(side))
}

fn of_request(request: &Request, part: Part, at: usize) -> Option<Found> {
    match part {
        Part::Param => None,
        Part::Tool => request.tools.get(at).map(|tool| Found {
            kind: "tool",
            canonical: tool.mark.canonical,
            range: Some(tool.range.clone()),
        }),
        Part::Head => request.head.blocks.get(at).map(|block| Found {
            kind: "head",
            canonical: block.frozen.canonical,
            range: Some(block.range.clone()),
        }),
        Part::History => request.history.get(at).map(|item| Found {
            kind: item.mark.kind_name(),
            canonical: item.mark.canonical,
            range: Some(item.range.clone()),
        }),
    }
}

fn of_path(path: &Path, part: Part, at: usize) -> Option<Found> {
    let found = |kind, canonical| Found {
        kind,
        canonical,
        range: None,
    };
    match part {
        Part::Param => None,
        Part::Tool => path.tools.get(at).map(|tool| found("tool", tool.canonical)),
        Part::Head => path.head.blocks.get(at).map(|block| found("head", block.canonical)),
        Part::History => path.items.get(at).map(|mark| found(mark.kind_name(), mark.canonical)),
    }
}
