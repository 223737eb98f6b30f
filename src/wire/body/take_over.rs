//! Taking over what an earlier body of the same conversation has already told.
//!
//! JSON objects, arrays and strings end themselves: where the bytes of a known value stand at the cursor, the value
//! is that value. So an element that equals the one at the same place of the last body is taken over with its digests.

use std::ops::Range;

use crate::prefix::item::{Content, Head, HeadBlock, Item, Message, Role, Tool};

use super::{Reader, lifetime};

impl Reader<'_> {
    /// Takes over the message at the cursor if the last body has the same bytes at its place: counted from the front
    /// in the head, from the end of the head in the history. The digests, the answers and the kinds of its items come
    /// along; only offsets move. `leading`: only head messages stand before it.
    pub fn take_over_message(&mut self, ordinal: usize, leading: &mut bool) -> bool {
        let Some(known) = self.known else { return false };
        let own_head = self.request.head.messages();
        let is_head = *leading && ordinal < self.known_head;
        let place = if is_head {
            ordinal
        } else {
            ordinal - own_head + self.known_head
        };
        let message = known.layout.messages.get(place);
        // What was no head there, because something is held in front of it, may be one here.
        let may_lead = |message: &&Message| *leading && !is_head && message.role == Role::Operator;
        let Some(message) = message.filter(|message| !may_lead(message)) else {
            return false;
        };
        let Some(shift) = self.take_over(&known.body, &message.range) else {
            return false;
        };
        *leading &= is_head;
        if is_head {
            let in_member = known.head.blocks.len() - known.head.messages();
            self.push_head(&known.head, in_member + place, &shift);
        }
        let first = self.request.history.len();
        let items = known.history[message.items.clone()].iter().map(|item| Item {
            range: shift.range(&item.range),
            message: ordinal as u32,
            ..item.clone()
        });
        self.request.history.extend(items);
        let items = first..self.request.history.len();
        self.request.marker_ttl = self.request.marker_ttl.max(message.marker_ttl);
        self.request.layout.messages.push(shift.message(message, items));
        true
    }

    /// Takes over the head at the cursor where it is a member of its own; `fits` says whether it was read as it
    /// would be read now.
    pub fn take_over_head(&mut self, fits: impl Fn(&Head) -> bool) -> bool {
        let known = self.known.filter(|known| fits(&known.head));
        let Some((known, member)) = known.and_then(|known| Some((known, known.layout.head_member.as_ref()?)))
        else {
            return false;
        };
        let Some(shift) = self.take_over(&known.body, &member.value) else {
            return false;
        };
        for place in 0..known.head.blocks.len() - known.head.messages() {
            self.push_head(&known.head, place, &shift);
        }
        self.request.head.attribution = known.head.attribution.as_ref().map(|range| shift.range(range));
        self.note_head_ttl(known.layout.head_ttl);
        true
    }

    /// Takes over the tools at the cursor, which stands at `start`, if the last body has the same bytes there.
    pub fn take_over_tools(&mut self, start: usize) -> bool {
        let Some((known, array)) = self
            .known
            .and_then(|known| Some((known, known.layout.tools_array.clone()?)))
        else {
            return false;
        };
        let Some(shift) = self.take_over(&known.body, &array) else {
            return false;
        };
        let tools = known.tools.iter().map(|tool| Tool {
            range: shift.range(&tool.range),
            ..tool.clone()
        });
        self.request.tools = tools.collect();
        self.request.marker_ttl = self.request.marker_ttl.max(known.layout.tools_ttl);
        self.request.layout.tools_ttl = known.layout.tools_ttl;
        self.request.layout.tools_array = Some(start..self.cursor.pos());
        true
    }

    /// Passes a value of the last body if its bytes stand at the cursor.
    fn take_over(&mut self, known: &[u8], value: &Range<usize>) -> Option<Shift> {
        let start = self.cursor.pos();
        let bytes = &known[value.clone()];
        if !self.src[start..].starts_with(bytes) {
            return None;
        }
        let end = start + bytes.len();
        self.cursor.jump(end);
        self.taken.push(start..end);
        Some(Shift {
            from: value.start,
            to: start,
        })
    }

    fn push_head(&mut self, known: &Head, place: usize, shift: &Shift) {
        let (block, head) = (&known.blocks[place], &mut self.request.head);
        let markers = known
            .markers
            .iter()
            .filter(|(ordinal, _)| *ordinal as usize == place);
        let ordinal = head.blocks.len() as u32;
        for (_, marker) in markers {
            let marker = shift.range(marker);
            let ttl = Some(lifetime(&self.src[marker.clone()]));
            self.request.marker_ttl = self.request.marker_ttl.max(ttl);
            head.markers.push((ordinal, marker));
        }
        head.blocks.push(HeadBlock {
            range: shift.range(&block.range),
            frozen: block.frozen.clone(),
        });
    }
}

/// Moves ranges of a known body to where the same bytes stand now.
struct Shift {
    from: usize,
    to: usize,
}

impl Shift {
    fn range(&self, range: &Range<usize>) -> Range<usize> {
        range.start - self.from + self.to..range.end - self.from + self.to
    }

    fn message(&self, message: &Message, items: Range<usize>) -> Message {
        let content = match &message.content {
            Content::Text(token) => Content::Text(self.range(token)),
            Content::Blocks(array, blocks) => Content::Blocks(
                self.range(array),
                blocks.iter().map(|block| self.range(block)).collect(),
            ),
            Content::Other => Content::Other,
        };
        Message {
            range: self.range(&message.range),
            content,
            role: message.role,
            items,
            marker_ttl: message.marker_ttl,
        }
    }
}
