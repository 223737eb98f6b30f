//! The places of a prompt at which a provider may keep what stands in front: the ends of its items, front to back, with
//! what the request says of each.

use std::collections::HashSet;

use crate::prefix::item::{Item, Kind, Role};
use crate::prefix::{Part, Request};

use super::markers;

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
    let marked: HashSet<(Part, usize)> = markers::all(request)
        .iter()
        .map(|one| (one.part, one.item))
        .collect();
    let place = |part, at, bytes, ends| Place {
        bytes: u64::from(bytes),
        marker: marked.contains(&(part, at)),
        ends,
    };
    let tools = request.tools.iter().enumerate();
    let tools = tools.map(|(at, tool)| place(Part::Tool, at, tool.mark.len, false));
    let blocks = &request.head.blocks;
    let head = blocks.iter().enumerate();
    let head = head.map(|(at, block)| place(Part::Head, at, block.frozen.len, at + 1 == blocks.len()));
    let items = &request.history;
    let history = items.iter().enumerate();
    let history =
        history.map(|(at, item)| place(Part::History, at, item.mark.len, ends(item, items.get(at + 1))));
    let mut places: Vec<Place> = tools.chain(head).chain(history).collect();
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

fn ends(item: &Item, next: Option<&Item>) -> bool {
    let result = |item: &Item| item.mark.role == Role::Tool || item.mark.kind == Kind::ToolResult;
    let goes_on = next.is_some_and(|next| next.message == item.message && next.block.is_some());
    match item.mark.role {
        _ if result(item) => !next.is_some_and(result),
        Role::User => !goes_on,
        _ => false,
    }
}
