//! The places of a prompt at which a provider may keep what stands in front: the ends of its items, front to back, with
//! what the request says of each.

use crate::prefix::Request;
use crate::prefix::item::{Item, Kind, Role};

use super::canonical::{MARKER_BLOCK, MARKERS};
use super::envelope::Envelope;
use super::scan::Cursor;

/// The end of an item.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// Bytes of the item in normal form.
    pub bytes: u64,
    /// An explicit cache marker stands on it.
    pub marker: bool,
    /// A message ends here after which an answer may begin: the user's, the last result of a group of tool calls; also the
    /// end of the head.
    pub ends: bool,
}

/// The places of a request's items in the provider's order: tools, head, history.
pub fn places(request: &Request) -> Vec<Place> {
    let marked = request.marker_ttl.is_some();
    let tools = tools(request, marked);
    let head = request
        .head
        .blocks
        .iter()
        .enumerate()
        .map(|(ordinal, block)| Place {
            bytes: u64::from(block.frozen.len),
            marker: request.head.markers.iter().any(|(at, _)| *at as usize == ordinal),
            ends: ordinal + 1 == request.head.blocks.len(),
        });
    let history = request.history.iter().enumerate().map(|(at, item)| Place {
        bytes: u64::from(item.mark.len),
        marker: marked && is_marked(&request.body, item),
        ends: ends(item, request.history.get(at + 1)),
    });
    let mut places: Vec<Place> = tools.into_iter().chain(head).chain(history).collect();
    if request.layout.automatic_marker {
        let bare = places.len() - request.history.len();
        let carries = |item: &Item| item.mark.kind != Kind::Thinking;
        let last = request.history.iter().rposition(carries).map(|at| bare + at);
        if let Some(place) = last.or(bare.checked_sub(1)).and_then(|at| places.get_mut(at)) {
            place.marker = true;
        }
    }
    places
}

fn tools(request: &Request, marked: bool) -> Vec<Place> {
    let end = request.layout.tools_array.as_ref().map_or(0, |array| array.end);
    let nexts = request
        .tools
        .iter()
        .skip(1)
        .map(|tool| tool.range.start)
        .chain([end]);
    let behind = |(tool, next): (&crate::prefix::item::Tool, usize)| {
        let gap = request.body.get(tool.range.end..next).unwrap_or_default();
        let inside = || cuts(request.body.get(tool.range.clone()).unwrap_or_default());
        Place {
            bytes: u64::from(tool.mark.len),
            marker: marked && (holds(gap, MARKER_BLOCK) || inside()),
            ends: false,
        }
    };
    request.tools.iter().zip(nexts).map(behind).collect()
}

fn is_marked(body: &[u8], item: &Item) -> bool {
    let bytes = body.get(item.range.clone()).unwrap_or_default();
    if !holds(bytes, MARKER_BLOCK) {
        return cuts(bytes);
    }
    // The block behind the item's own, not a word of its text.
    let mut cursor = Cursor::new(bytes, 0);
    let own = Envelope::read(&mut cursor).map_or(bytes.len(), |own| own.range.end);
    holds(&bytes[own..], MARKER_BLOCK) || cuts(bytes)
}

/// A marker is a member of this envelope, or of one inside of it.
fn cuts(bytes: &[u8]) -> bool {
    let named = MARKERS.iter().any(|name| holds(bytes, name));
    named && Envelope::read(&mut Cursor::new(bytes, 0)).is_ok_and(|own| !own.cuts.is_empty())
}

fn holds(bytes: &[u8], name: &[u8]) -> bool {
    memchr::memmem::find(bytes, name).is_some()
}

fn ends(item: &Item, next: Option<&Item>) -> bool {
    let result = |item: &Item| item.mark.role == Role::Tool || item.mark.kind == Kind::ToolResult;
    let goes_on = next.is_some_and(|next| next.message == item.message && next.block.is_some());
    match item.mark.role {
        _ if result(item) => !next.is_some_and(result),
        Role::User => !goes_on,
        _ => false,
    }
}
