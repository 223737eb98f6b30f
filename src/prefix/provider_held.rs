//! A request that goes on behind a response: what the provider holds of it, put in front of what is in its body.
//!
//! With that the request reads like one that carries all its history, and is decided on like one. What is held is never
//! spliced; the answer itself is not known and stands as one item of the model's. A client that sends all its history
//! after all has the answers' own items: [`unfold`] puts them for what stood there.

use std::sync::Arc;

use super::digest::{Canonical, Chain, Digest, Wire};
use super::item::{HeadBlock, Item, Kind, Mark, Request, Role, prompt_digest};
use super::keys::{Keys, Scope, keys};
use super::past::{Node, Past, Path};

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
    let said = path.and_then(|path| path.answer);
    let answer = answer(said.map_or(response, |said| said.digest));
    let held = sent.iter().copied().chain([answer]).map(item);
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

/// The answer that a response gave, by the digest of what it said, or of its id where that was not seen.
fn answer(said: Digest) -> Mark {
    Mark {
        wire: Wire(said),
        canonical: Canonical(said),
        len: 0,
        role: Role::Assistant,
        kind: Kind::Held,
        opens: true,
    }
}

/// Tells the paths of `past` in the items of `request`, where those have the answers that were held.
pub fn unfold(request: &Request, past: &mut Past) {
    if request.continues.is_some() {
        return;
    }
    for path in &mut past.paths {
        if let Some(told) = told(request, path) {
            *path = Arc::new(told);
        }
    }
}

/// Only the last few answers of a request can be compared; one that cannot stands in front of one that can.
fn told(request: &Request, path: &Path) -> Option<Path> {
    let mut places = Vec::new();
    // How many of the path's items stand in the request, up to its last answer that does; and in how many there.
    let (mut sure, mut own) = (0, 0);
    let mut at = 0;
    for mark in path.items.iter() {
        let Some(item) = request.history.get(at) else {
            break;
        };
        places.push(at);
        if mark.kind != Kind::Held && mark.canonical == item.mark.canonical {
            at += 1;
            continue;
        }
        if mark.kind != Kind::Held || item.mark.role != Role::Assistant {
            break;
        }
        at += turn(request, at);
        match item.answer {
            Some(answer) if answer.digest == mark.canonical.0 => (sure, own) = (places.len(), at),
            Some(_) => break,
            None => {}
        }
    }
    if sure == 0 {
        return None;
    }
    places.truncate(sure);
    let place = |position: u32| {
        let moved = position as usize + own - sure;
        places.get(position as usize).copied().unwrap_or(moved) as u32
    };
    let node = |node: &Arc<Node>| {
        let position = place(node.position);
        let moved = || {
            Arc::new(Node {
                position,
                ..(**node).clone()
            })
        };
        if position == node.position {
            node.clone()
        } else {
            moved()
        }
    };
    let items = request.history[..own].iter().map(|item| item.mark);
    Some(Path {
        items: items.chain(path.items[sure..].iter().copied()).collect(),
        nodes: path.nodes.iter().map(node).collect(),
        first_items: place(path.first_items),
        ..path.clone()
    })
}

/// How many items the turn that begins at `start` has.
fn turn(request: &Request, start: usize) -> usize {
    let more = request.history[start + 1..].iter();
    1 + more.take_while(|item| !item.mark.opens).count()
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
