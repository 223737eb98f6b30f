//! The frozen head in the place of the client's, with this request's cache markers on it.

use std::ops::Range;

use bytes::Bytes;

use crate::prefix::edit::Edit;
use crate::prefix::item::{FrozenBlock, FrozenHead, Member, Request};

/// Puts `frozen` in the place of the head of `request`; nothing where the bytes are the same already.
pub fn restore(request: &Request, frozen: &FrozenHead, edits: &mut Vec<Edit>) {
    let own = &request.head.blocks;
    let same = own.len() == frozen.blocks.len()
        && own
            .iter()
            .zip(&frozen.blocks)
            .all(|(own, frozen)| own.frozen.bytes_digest == frozen.bytes_digest);
    if same {
        return;
    }
    let edit = match (request.names.head, &request.layout.head_member) {
        (None, _) => in_messages(request, frozen),
        (Some(_), Some(member)) => in_member(request, member, frozen),
        (Some(name), None) => new_member(request, name, frozen),
    };
    edits.extend(edit);
}

/// The head opens the array of messages.
fn in_messages(request: &Request, frozen: &FrozenHead) -> Option<Edit> {
    let messages = &request.layout.messages;
    let count = request.head.blocks.len();
    let (head, rest) = messages.split_at(count);
    let bytes = blocks(request, frozen).join(&b","[..]);
    match (head, rest.first()) {
        ([], _) if bytes.is_empty() => None,
        ([], next) => {
            let start = request.layout.messages_array.start + 1;
            let comma: &[u8] = if next.is_some() { b"," } else { b"" };
            Some(edit(start..start, [&bytes, comma].concat()))
        }
        ([first, ..], Some(next)) if bytes.is_empty() => {
            Some(edit(first.range.start..next.range.start, bytes))
        }
        ([first, .., last], _) => Some(edit(first.range.start..last.range.end, bytes)),
        ([only], _) => Some(edit(only.range.clone(), bytes)),
    }
}

/// The head is a member of its own.
fn in_member(request: &Request, member: &Member, frozen: &FrozenHead) -> Option<Edit> {
    match value(request, frozen) {
        Some(value) => Some(edit(member.value.clone(), value)),
        None => Some(edit(with_comma(request, member), Vec::new())),
    }
}

fn new_member(request: &Request, name: &str, frozen: &FrozenHead) -> Option<Edit> {
    let value = value(request, frozen)?;
    let start = request.layout.object;
    Some(edit(
        start..start,
        [b"\"", name.as_bytes(), b"\":", &value, b","].concat(),
    ))
}

/// The value of the head's member; none where nothing is left to say.
fn value(request: &Request, frozen: &FrozenHead) -> Option<Vec<u8>> {
    let attribution = request.head.attribution.clone();
    let bare = attribution.is_none() && request.head.markers.is_empty();
    if let (
        [
            FrozenBlock {
                string: Some(token),
                bytes,
                ..
            },
        ],
        true,
    ) = (frozen.blocks.as_slice(), bare)
    {
        return Some(bytes[token.start as usize..token.end as usize].to_vec());
    }
    let attribution = attribution.map(|range| request.body[range].to_vec());
    let blocks: Vec<Vec<u8>> = attribution.into_iter().chain(blocks(request, frozen)).collect();
    if blocks.is_empty() {
        None
    } else {
        Some([b"[", blocks.join(&b","[..]).as_slice(), b"]"].concat())
    }
}

/// The frozen blocks, each with the marker that is its own in this request.
fn blocks(request: &Request, frozen: &FrozenHead) -> Vec<Vec<u8>> {
    let own_last = request.head.blocks.len().saturating_sub(1);
    let last = frozen.blocks.len().saturating_sub(1);
    let mut markers: Vec<Option<Range<usize>>> = vec![None; frozen.blocks.len()];
    for (ordinal, marker) in &request.head.markers {
        let ordinal = *ordinal as usize;
        let target = if ordinal == own_last { last } else { ordinal };
        if let Some(slot) = markers.get_mut(target).filter(|_| target <= last) {
            *slot = Some(marker.clone());
        }
    }
    let marked = frozen.blocks.iter().zip(markers);
    marked
        .map(|(block, marker)| with_marker(block, marker.map(|range| &request.body[range])))
        .collect()
}

fn with_marker(block: &FrozenBlock, marker: Option<&[u8]>) -> Vec<u8> {
    let bytes = &block.bytes[..];
    let Some(marker) = marker else {
        return bytes.to_vec();
    };
    if let Some(at) = block.marker_at {
        let (front, back) = bytes.split_at(at as usize);
        return [front, b",", marker, back].concat();
    }
    let Some(token) = &block.string else {
        return bytes.to_vec();
    };
    let (start, end) = (token.start as usize, token.end as usize);
    let block = [
        br#"[{"type":"text","text":"#,
        &bytes[start..end],
        b",",
        marker,
        b"}]",
    ]
    .concat();
    [&bytes[..start], &block, &bytes[end..]].concat()
}

/// The member with the comma that goes with it.
fn with_comma(request: &Request, member: &Member) -> Range<usize> {
    let body = &request.body;
    if member.follows {
        let comma = body[..member.range.start].iter().rposition(|byte| *byte == b',');
        return comma.unwrap_or(member.range.start)..member.range.end;
    }
    let rest = &body[member.range.end..];
    let comma = rest
        .iter()
        .position(|byte| !byte.is_ascii_whitespace())
        .filter(|at| rest[*at] == b',');
    member.range.start..member.range.end + comma.map_or(0, |at| at + 1)
}

fn edit(range: Range<usize>, insert: Vec<u8>) -> Edit {
    Edit {
        range,
        insert: Bytes::from(insert),
    }
}
