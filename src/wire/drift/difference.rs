//! Where the bytes of a changed item differ.

use std::ops::Range;

use crate::prefix::digest::Canonical;
use crate::prefix::item::Request;
use crate::prefix::verdict::{Change, Part};

/// Bytes of text shown around a difference, at most.
pub const WINDOW: usize = 240;

/// So many of them stand in front of it.
const IN_FRONT: usize = 60;

/// Both sides of the first changed item.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// In the earlier body; none where the item is new.
    pub before: Option<Side>,
    /// In the later body; none where it is gone.
    pub after: Option<Side>,
}

/// One side of a changed item. It holds text of the prompt: the caller decides whether that is shown.
#[derive(Clone, Debug, PartialEq)]
pub struct Side {
    /// The kind of item that its id names, and the digest of its normal form.
    pub kind: &'static str,
    /// With the kind, what its id is made of.
    pub canonical: Canonical,
    /// The item's bytes in the (decoded) body.
    pub range: Range<usize>,
    /// Byte offset in the body of the first byte that differs; the item's own start where the other side has none.
    pub offset: usize,
    /// How many bytes from there on differ: up to the bytes that both sides end with.
    pub bytes: usize,
    /// The text around that place.
    pub window: Window,
}

/// A bounded piece of a body.
#[derive(Clone, Debug, PartialEq)]
pub struct Window {
    /// At most [`WINDOW`] bytes, cut between characters.
    pub text: String,
    /// Where in it the difference starts, in bytes.
    pub at: usize,
}

/// Compares the bytes of both sides of `change`; none where neither side is in a body.
pub fn difference(before: &Request, after: &Request, change: Change) -> Option<Difference> {
    let old = change.old.and_then(|index| located(before, change.part, index));
    let new = change.new.and_then(|index| located(after, change.part, index));
    let bytes = |request: &'_ Request, item: &Option<Located>| -> Option<Vec<u8>> {
        item.as_ref()
            .map(|item| request.body[item.range.clone()].to_vec())
    };
    let (a, b) = (bytes(before, &old), bytes(after, &new));
    let (front, back) = match (&a, &b) {
        (Some(a), Some(b)) => common(a, b),
        (None, None) => return None,
        _ => (0, 0),
    };
    let side = |request: &Request, item: Located| {
        let offset = boundary(&request.body, item.range.start + front);
        Side {
            kind: item.kind,
            canonical: item.canonical,
            offset,
            bytes: (item.range.end - back).saturating_sub(offset),
            window: window(&request.body, &item.range, offset),
            range: item.range,
        }
    };
    Some(Difference {
        before: old.map(|item| side(before, item)),
        after: new.map(|item| side(after, item)),
    })
}

/// An item with its place in the body.
struct Located {
    range: Range<usize>,
    kind: &'static str,
    canonical: Canonical,
}

fn located(request: &Request, part: Part, index: usize) -> Option<Located> {
    let found = match part {
        Part::Param => None,
        Part::Tool => request.tools.get(index).map(|tool| Located {
            range: tool.range.clone(),
            kind: "tool",
            canonical: tool.mark.canonical,
        }),
        Part::Head => request.head.blocks.get(index).map(|block| Located {
            range: block.range.clone(),
            kind: "system",
            canonical: block.frozen.canonical,
        }),
        Part::History => request.history.get(index).map(|item| Located {
            range: item.range.clone(),
            kind: item.mark.kind_name(),
            canonical: item.mark.canonical,
        }),
    };
    found.filter(|item| item.range.start < item.range.end && item.range.end <= request.body.len())
}

/// Bytes that both start with, and bytes that both end with behind these.
fn common(a: &[u8], b: &[u8]) -> (usize, usize) {
    let front = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let (a, b) = (&a[front..], &b[front..]);
    let back = a
        .iter()
        .rev()
        .zip(b.iter().rev())
        .take_while(|(a, b)| a == b)
        .count();
    (front, back)
}

/// The start of the character that `at` lies in.
fn boundary(body: &[u8], at: usize) -> usize {
    let continues = |at: usize| body.get(at).is_some_and(|byte| byte & 0xC0 == 0x80);
    (0..=at).rev().find(|at| !continues(*at)).unwrap_or(0)
}

fn window(body: &[u8], item: &Range<usize>, offset: usize) -> Window {
    let start = boundary(body, offset.saturating_sub(IN_FRONT).max(item.start));
    let end = boundary(body, (start + WINDOW).min(item.end));
    Window {
        text: String::from_utf8_lossy(&body[start..end.max(start)]).into_owned(),
        at: offset.min(end) - start,
    }
}
