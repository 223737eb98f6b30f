//! Formats whose items are the content blocks of messages: what they put into the history, and what a message says
//! beside its blocks.

use std::ops::Range;

use crate::prefix::item::{Item, Kind, Mark, Role};

use super::body::Reader;
use super::envelope::{self, Digests, Envelope};

/// Puts an item into the history: the block at this place of its message, or the whole message.
pub fn push(
    reader: &mut Reader<'_>,
    range: Range<usize>,
    digests: Digests,
    (role, kind): (Role, Kind),
    (message, block): (usize, Option<usize>),
) {
    let mark = Mark {
        wire: digests.wire,
        canonical: digests.canonical,
        len: digests.len,
        role,
        kind,
        opens: block.unwrap_or(0) == 0,
    };
    reader.request.history.push(Item {
        range,
        mark,
        message: message as u32,
        block: block.map(|block| block as u32),
        calls: u16::from(kind.is_call()),
        answer: None,
        words: None,
    });
}

/// The members of a message beside role and content, in normal form; they belong to its first block.
pub fn extra(reader: &Reader<'_>, envelope: &Envelope) -> Vec<u8> {
    let mut out = Vec::new();
    for (name, value) in &envelope.members {
        let name = &reader.src[name.clone()];
        if name != b"role" && name != b"content" {
            envelope::write_extra(reader.src, name, value.clone(), &mut out);
        }
    }
    out
}
