//! The prompt as it left, front to back, cut by what became of it.

use std::collections::HashSet;

use super::observation::{Segment, Share};
use crate::prefix::{
    Class, Path, Request, Verdict,
    digest::Digest,
    item::{HeadForm, Mark},
};

/// Cuts `sent` by its verdict. `parent` is what it continues; `received` is what the client sent, where that differs.
pub fn strip(
    sent: &Request,
    verdict: &Verdict,
    parent: Option<&Path>,
    received: Option<&Request>,
) -> Vec<Segment> {
    let mut cut = Cut {
        before: parent
            .filter(|_| verdict.is_break())
            .map_or_else(HashSet::new, digests),
        kept: verdict.kept,
        broke: verdict.is_break(),
        inserted: verdict.class == Class::Insert,
        segments: Vec::new(),
        passed: 0,
        beyond: false,
    };
    for (index, tool) in sent.tools.iter().enumerate() {
        let name = || format!("tools[{index}]:{}", tool.name);
        cut.item(tool.mark.canonical.0, tool.mark.len.into(), 0, name);
    }
    for (index, block) in sent.head.blocks.iter().enumerate() {
        let name = || head_place(sent, index);
        cut.item(block.frozen.canonical.0, block.frozen.len.into(), 0, name);
    }
    let nodes = received.map_or_else(Vec::new, |received| nodes(sent, received));
    for (index, item) in sent.history.iter().enumerate() {
        let node = nodes.get(index).copied().unwrap_or(0);
        cut.item(item.mark.canonical.0, item.mark.len.into(), node, || {
            place(sent, index)
        });
    }
    cut.segments
}

/// What stood before, in any order.
fn digests(path: &Path) -> HashSet<Digest> {
    let tools = path.tools.iter().map(|tool| tool.canonical.0);
    let head = path.baseline.blocks.iter().map(|block| block.canonical.0);
    let items = path.items.iter().map(|mark| mark.canonical.0);
    tools.chain(head).chain(items).collect()
}

struct Cut {
    /// What stood before, where something broke.
    before: HashSet<Digest>,
    kept: u64,
    broke: bool,
    /// What stands first behind what is kept is new, and not a changed item.
    inserted: bool,
    segments: Vec<Segment>,
    /// Bytes so far.
    passed: u64,
    /// The first item behind what is kept was passed.
    beyond: bool,
}

impl Cut {
    /// Adds an item of `bytes` bytes, `node` of which the proxy added.
    fn item(&mut self, digest: Digest, bytes: u64, node: u64, name: impl Fn() -> String) {
        let share = self.share(digest, bytes);
        self.passed += bytes;
        for (share, bytes) in [(Share::Node, node), (share, bytes.saturating_sub(node))] {
            match self.segments.last_mut() {
                _ if bytes == 0 => {}
                Some(last) if last.share == share => last.bytes += bytes,
                _ => self.segments.push(Segment {
                    share,
                    bytes,
                    item: name(),
                }),
            }
        }
    }

    fn share(&mut self, digest: Digest, bytes: u64) -> Share {
        if !self.beyond && self.passed + bytes <= self.kept {
            return Share::Stable;
        }
        let first = !std::mem::replace(&mut self.beyond, true);
        let changed = first && !self.inserted;
        if self.broke && (changed || self.before.contains(&digest)) {
            Share::Broken
        } else {
            Share::New
        }
    }
}

/// For each history item of `sent`, how many of its bytes do not stand in `received`: all of an item that was put
/// between, what is longer of one that was put in the place of another.
fn nodes(sent: &Request, received: &Request) -> Vec<u64> {
    let left: HashSet<Digest> = sent.history.iter().map(|item| item.mark.canonical.0).collect();
    let mut own = received.history.iter().map(|item| &item.mark).peekable();
    let mut added = |mark: &Mark| match own.peek() {
        Some(next) if next.canonical == mark.canonical => {
            own.next();
            0
        }
        Some(next) if !left.contains(&next.canonical.0) && next.role == mark.role => {
            let added = mark.len.saturating_sub(next.len);
            own.next();
            u64::from(added)
        }
        _ => u64::from(mark.len),
    };
    sent.history.iter().map(|item| added(&item.mark)).collect()
}

/// The name of a head block.
fn head_place(request: &Request, index: usize) -> String {
    let (names, blocks) = (request.names, &request.head.blocks);
    let members = blocks.len() - request.head.messages();
    let string = members == 1 && blocks[0].frozen.string.is_some();
    match names.head.filter(|_| index < members) {
        Some(head) if string || names.form == HeadForm::Value => head.to_owned(),
        Some(head) => format!("{head}[{index}]"),
        None => format!("{}[{}]", names.history, index - members),
    }
}

/// The name of a history item.
fn place(request: &Request, index: usize) -> String {
    let (names, history) = (request.names, &request.history);
    let item = &history[index];
    // What the provider holds stands in no message of this body.
    let Some(message) = request.layout.messages.get(item.message as usize) else {
        return format!("{}[{index}]", names.history);
    };
    match names.blocks.zip(item.block).filter(|_| message.items.len() > 1) {
        Some((blocks, block)) => format!("{}[{}].{blocks}[{block}]", names.history, item.message),
        None => format!("{}[{}]", names.history, item.message),
    }
}
