//! The frozen head in the place of the client's, with this request's cache markers on it.

use std::ops::Range;

use bytes::Bytes;

use crate::prefix::edit::Edit;
use crate::prefix::item::{FrozenBlock, FrozenHead, HeadForm, Member, Request};
use crate::wire::Shapes;

/// Puts `frozen` in the place of the head of `request`; nothing where the bytes are the same already. What stands in a
/// member of its own and what opens the history are restored each by itself.
pub fn restore(request: &Request, frozen: &FrozenHead, shapes: &Shapes, edits: &mut Vec<Edit>) {
    let own_members = request.head.blocks.len() - request.head.messages();
    let (messages, members): (Vec<_>, Vec<_>) = frozen.blocks.iter().partition(|block| block.is_message());
    let part = |own: Range<usize>, frozen| Part {
        request,
        shapes,
        own,
        frozen,
    };
    let members = part(0..own_members, members);
    if let Some(name) = request.names.head
        && members.differs()
    {
        edits.extend(match &request.layout.head_member {
            Some(member) => members.in_member(member),
            None => members.new_member(name),
        });
    }
    let messages = part(own_members..request.head.blocks.len(), messages);
    // Leading messages that the provider holds are not in the body.
    if request.held == 0 && messages.differs() {
        edits.extend(messages.in_messages());
    }
}

/// One part of the head: the client's own blocks, and the frozen ones that go out for them.
struct Part<'a> {
    request: &'a Request,
    shapes: &'a Shapes,
    own: Range<usize>,
    frozen: Vec<&'a FrozenBlock>,
}

impl Part<'_> {
    fn differs(&self) -> bool {
        let own = self.request.head.blocks[self.own.clone()].iter();
        !own.map(|block| block.frozen.bytes_digest)
            .eq(self.frozen.iter().map(|block| block.bytes_digest))
    }

    /// The head opens the array of messages.
    fn in_messages(&self) -> Option<Edit> {
        let messages = &self.request.layout.messages;
        let (head, rest) = messages.split_at(self.own.len());
        let bytes = self.blocks().join(&b","[..]);
        match (head, rest.first()) {
            ([], _) if bytes.is_empty() => None,
            ([], next) => {
                let layout = &self.request.layout;
                let start = layout.messages_array.start + usize::from(!layout.bare);
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
    fn in_member(&self, member: &Member) -> Option<Edit> {
        match self.value() {
            Some(value) => Some(edit(member.value.clone(), value)),
            None => Some(edit(with_comma(self.request, member), Vec::new())),
        }
    }

    fn new_member(&self, name: &str) -> Option<Edit> {
        let value = self.value()?;
        let start = self.request.layout.object;
        Some(edit(
            start..start,
            [b"\"", name.as_bytes(), b"\":", &value, b","].concat(),
        ))
    }

    /// The value of the head's member; none where nothing is left to say.
    fn value(&self) -> Option<Vec<u8>> {
        let head = &self.request.head;
        let marked = head
            .markers
            .iter()
            .any(|(block, _)| self.own.contains(&(*block as usize)));
        let bare = head.attribution.is_none() && !marked;
        if let ([only], true) = (self.frozen.as_slice(), bare)
            && let Some(token) = &only.string
        {
            return Some(only.bytes[token.start as usize..token.end as usize].to_vec());
        }
        if self.request.names.form == HeadForm::Value {
            return self.frozen.first().map(|value| value.bytes.to_vec());
        }
        let attribution = head
            .attribution
            .clone()
            .map(|range| self.request.body[range].to_vec());
        let blocks: Vec<Vec<u8>> = attribution.into_iter().chain(self.blocks()).collect();
        (!blocks.is_empty()).then(|| [b"[", blocks.join(&b","[..]).as_slice(), b"]"].concat())
    }

    /// The frozen blocks, each with the marker that is its own in this request.
    fn blocks(&self) -> Vec<Vec<u8>> {
        let own_last = self.own.end.saturating_sub(1);
        let last = self.frozen.len().saturating_sub(1);
        let mut markers: Vec<Option<Range<usize>>> = vec![None; self.frozen.len()];
        for (ordinal, marker) in &self.request.head.markers {
            let ordinal = *ordinal as usize;
            let target = if ordinal == own_last {
                last
            } else {
                ordinal.wrapping_sub(self.own.start)
            };
            if let Some(slot) = markers.get_mut(target).filter(|_| self.own.contains(&ordinal)) {
                *slot = Some(marker.clone());
            }
        }
        let marked = self.frozen.iter().zip(markers);
        marked
            .map(|(block, marker)| {
                let marker = marker.map(|range| &self.request.body[range]);
                with_marker(block, marker, self.shapes)
            })
            .collect()
    }
}

fn with_marker(block: &FrozenBlock, marker: Option<&[u8]>, shapes: &Shapes) -> Vec<u8> {
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
    let [open, close] = shapes.block.map(str::as_bytes);
    let block = [b"[", open, &bytes[start..end], b",", marker, close, b"]"].concat();
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
