//! The explicit cache markers of a request, in the provider's order: too many, in a wrong order, or gone.
//!
//! A marker is no part of an item, so none of this is a change of the prefix: it is said of one that stands.

use std::ops::Range;

use super::body::lifetime;
use super::canonical::MARKERS;
use super::envelope::{Content, Envelope};
use super::scan::Cursor;
use crate::prefix::compare::place;
use crate::prefix::item::Request;
use crate::prefix::verdict::{Cause, Class, Part, Verdict};

/// What a route does with markers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    /// Only what ends at a marker is cached.
    pub at_markers: bool,
    /// The most that a request may have.
    pub limit: Option<usize>,
}

/// One marker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Marker {
    /// What it marks.
    pub part: Part,
    /// The ordinal of that in its part.
    pub item: usize,
    /// The lifetime that it asks for, in seconds.
    pub ttl: u32,
}

/// Says of a verdict on an intact prefix what is wrong with the markers of `after`. Without `before`, what was marked there
/// is not known.
pub fn check(before: Option<&Request>, after: &Request, rules: Rules, verdict: &mut Verdict) {
    let stands = matches!(verdict.class, Class::Extend | Class::NewLineage) && verdict.cause == Cause::None;
    if !stands || !rules.at_markers {
        return;
    }
    let markers = all(after);
    let lost = || {
        before
            .filter(|_| verdict.class == Class::Extend)
            .and_then(|before| lost(&all(before), &markers))
    };
    let found = too_many(&markers, rules.limit)
        .map(|marker| (Cause::MarkerLimit, marker))
        .or_else(|| out_of_order(&markers).map(|marker| (Cause::MarkerTtlOrder, marker)))
        .or_else(|| {
            lost()
                .filter(|_| !after.layout.automatic_marker)
                .map(|marker| (Cause::MarkerLost, marker))
        });
    if let Some((cause, marker)) = found {
        verdict.cause = cause;
        verdict.item = Some(place::of(after, marker.part, marker.item));
    }
}

/// Whether a marker stands at or behind the history item `item`.
pub fn reaches(request: &Request, item: usize) -> bool {
    let mut messages = request.layout.messages.iter().rev();
    messages
        .find(|message| message.marker_ttl.is_some())
        .is_some_and(|message| message.items.end > item)
}

/// All markers in the provider's order.
pub fn all(request: &Request) -> Vec<Marker> {
    let mut found = Vec::new();
    if request.marker_ttl.is_some() {
        tools(request, &mut found);
        head(request, &mut found);
        history(request, &mut found);
    }
    found
}

fn too_many(markers: &[Marker], limit: Option<usize>) -> Option<Marker> {
    markers.get(limit?).copied()
}

/// The first that asks for more than one in front of it.
fn out_of_order(markers: &[Marker]) -> Option<Marker> {
    let pairs = markers.windows(2);
    pairs
        .map(|pair| (pair[0], pair[1]))
        .find(|(a, b)| a.ttl < b.ttl)
        .map(|(_, b)| b)
}

/// The last one of before, if none stands there or behind it any more. It marks an item that stands.
fn lost(before: &[Marker], after: &[Marker]) -> Option<Marker> {
    let place = |marker: &Marker| (marker.part as u8, marker.item);
    let last = before.last().filter(|last| last.part == Part::History)?;
    let reached = after.last().is_some_and(|marker| place(marker) >= place(last));
    (!reached).then_some(*last)
}

fn tools(request: &Request, found: &mut Vec<Marker>) {
    let Some(array) = request
        .layout
        .tools_array
        .clone()
        .filter(|_| request.layout.tools_ttl.is_some())
    else {
        return;
    };
    // An element that marks what is in front of it is no tool.
    for element in elements(&request.body, array) {
        let tool = request.tools.iter().position(|tool| tool.range == element);
        let before = request
            .tools
            .partition_point(|tool| tool.range.end <= element.start);
        let item = tool.unwrap_or(before.saturating_sub(1));
        if may_mark(&request.body[element.clone()]) {
            note(request, element, (Part::Tool, item), found);
        }
    }
}

fn head(request: &Request, found: &mut Vec<Marker>) {
    found.extend(request.head.markers.iter().map(|(block, range)| Marker {
        part: Part::Head,
        item: *block as usize,
        ttl: lifetime(&request.body[range.clone()]),
    }));
}

fn history(request: &Request, found: &mut Vec<Marker>) {
    let marked = request.layout.messages.iter();
    for message in marked.filter(|message| message.marker_ttl.is_some() && !message.items.is_empty()) {
        let mut cursor = Cursor::new(&request.body[..message.range.end], message.range.start);
        let Ok(envelope) = Envelope::read(&mut cursor) else {
            continue;
        };
        let Content::Blocks(_, blocks) = &envelope.content else {
            note(
                request,
                message.range.clone(),
                (Part::History, message.items.start),
                found,
            );
            continue;
        };
        for block in blocks {
            let items = &request.history[message.items.clone()];
            let own = items
                .iter()
                .position(|item| item.range.start <= block.range.start && block.range.end <= item.range.end);
            let item = message.items.start + own.unwrap_or(0);
            note(request, block.range.clone(), (Part::History, item), found);
        }
        if envelope.marker.is_some() {
            let range = envelope.marker.clone().unwrap_or_default();
            let ttl = lifetime(&request.body[range]);
            let item = message.items.end - 1;
            found.push(Marker {
                part: Part::History,
                item,
                ttl,
            });
        }
    }
}

/// Notes the markers of an element: its own, those of blocks in it, or itself.
fn note(request: &Request, element: Range<usize>, (part, item): (Part, usize), found: &mut Vec<Marker>) {
    let mut cursor = Cursor::new(&request.body[..element.end], element.start);
    let Ok(envelope) = Envelope::read(&mut cursor) else {
        return;
    };
    let ranges: Vec<Range<usize>> = match envelope.is_marker(&cursor) {
        true => vec![element],
        false => envelope.markers().collect(),
    };
    found.extend(ranges.into_iter().map(|range| Marker {
        part,
        item,
        ttl: lifetime(&request.body[range]),
    }));
}

fn may_mark(element: &[u8]) -> bool {
    let has = |name: &[u8]| memchr::memmem::find(element, name).is_some();
    MARKERS.iter().any(|name| has(name)) || has(super::canonical::MARKER_BLOCK)
}

/// The elements of an array.
fn elements(src: &[u8], array: Range<usize>) -> Vec<Range<usize>> {
    let mut cursor = Cursor::new(&src[..array.end], array.start);
    let (mut first, mut elements) = (true, Vec::new());
    if cursor.pass(b'[').is_err() {
        return elements;
    }
    while cursor.element(&mut first) == Ok(true) {
        let Ok(element) = cursor.value() else { break };
        elements.push(element);
    }
    elements
}
