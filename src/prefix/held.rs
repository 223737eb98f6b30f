//! A request that goes on behind a response: what the provider holds of it, put in front of what is in its body.
//!
//! With that the request reads like one that carries all its history, and is decided on like one. What is held is never
//! spliced; the answer itself is not known and stands as one item of the model's.

use super::digest::{Canonical, Chain, Digest, Wire};
use super::item::{HeadBlock, Item, Kind, Mark, Request, Role, prompt_digest};
use super::keys::{Keys, Scope, keys};
use super::past::{Past, Path};

/// `request` with what is held in front of it, and its keys; none where it names no response. What is known of that is
/// all that is in `past`: the history of its path and the answer, or the answer alone.
pub fn behind(request: &Request, known_by: &Keys, scope: Scope, past: &Past) -> Option<(Request, Keys)> {
    let response = request.continues?;
    let whole = whole(request, response, past.paths.first().map(|path| &**path));
    let keys = Keys {
        request: known_by.request,
        ..keys(&whole, scope)
    };
    Some((whole, keys))
}

fn whole(request: &Request, response: Digest, path: Option<&Path>) -> Request {
    let mut whole = request.clone();
    let sent = path.map_or(&[][..], |path| &path.items);
    let held = sent.iter().copied().chain([answer(response)]).map(item);
    whole.history = held.chain(request.history.iter().cloned()).collect();
    whole.held = sent.len() + 1;
    for message in &mut whole.layout.messages {
        message.items = message.items.start + whole.held..message.items.end + whole.held;
    }
    // Whether thinking is held is not known.
    whole.signed_thinking = true;
    if let Some(path) = path {
        lead(&mut whole, path);
    }
    link(&mut whole);
    whole
}

/// The answer that a response gave: nothing of it is known but whose it is.
fn answer(response: Digest) -> Mark {
    Mark {
        wire: Wire(response),
        canonical: Canonical(response),
        len: 0,
        role: Role::Assistant,
        kind: Kind::Content,
        opens: true,
    }
}

fn item(mark: Mark) -> Item {
    Item {
        range: 0..0,
        mark,
        message: u32::MAX,
        block: None,
        calls: 0,
        answer: None,
        words: None,
    }
}

/// The leading messages of the path are those of the request; what stands in a member of its own is sent each time.
fn lead(request: &mut Request, path: &Path) {
    let messages = path.head.blocks.iter().filter(|block| block.is_message());
    let held = messages.map(|block| HeadBlock {
        range: 0..0,
        frozen: block.clone(),
    });
    let head = &mut request.head;
    head.blocks.extend(held);
    let blocks = head.blocks.iter().map(|block| &block.frozen.canonical.0);
    head.digest = Digest::of_all("inkfast head v1", blocks);
    head.prompt = head.texts().map_or(head.digest, |texts| prompt_digest(&texts));
}

fn link(request: &mut Request) {
    let mut last = Chain::EMPTY;
    let items = request.history.iter();
    request.chains = items
        .map(|item| {
            last = last.then(item.mark.canonical);
            last
        })
        .collect();
}
