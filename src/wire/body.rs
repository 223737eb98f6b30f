//! What the parsers of all formats share: the top-level walk, parameters, tools, and taking over what an earlier
//! body of the same conversation has already told.
//!
//! JSON objects, arrays and strings end themselves: where the bytes of a known value stand at the cursor, the value
//! is that value. So an element that equals the one at the same place of the last body is taken over with its digests.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use crate::prefix::digest::{Chain, Digest};
use crate::prefix::item::{
    AnswerMark, Content, Hints, Item, Layout, Member, Message, Names, Param, Request, Role, Tool, ToolMark,
};

use crate::prompt::Sketch;

use super::canonical;
use super::envelope::{self, Envelope};
use super::scan::{Cursor, Fault};

/// What parsing depends on beside the body.
#[derive(Clone, Debug, Default)]
pub struct Context<'a> {
    /// The provider strips an attribution block in front of the head before it processes the request.
    pub attribution: bool,
    /// The model, where the path names it.
    pub model: Option<&'a str>,
    /// What the headers say of the client.
    pub hints: Hints,
}

/// What the items of a message say.
pub struct Said {
    /// Their text, blocks joined.
    pub text: String,
    /// The ids of their tool calls.
    pub calls: Vec<String>,
}

/// A body while it is read.
pub struct Reader<'a> {
    /// The position in the body.
    pub cursor: Cursor<'a>,
    /// The body.
    pub src: &'a Bytes,
    /// The last body of the same conversation, if one is kept.
    pub known: Option<&'a Request>,
    /// A buffer for normal forms.
    pub scratch: Vec<u8>,
    /// The result so far.
    pub request: Request,
}

/// The members that may stand only once: two readers could take different ones.
const ONCE: [&str; 5] = ["model", "messages", "system", "tools", "stream"];

/// Answers are compared with those of the last assistant messages only.
const ANSWERS: usize = 4;

impl<'a> Reader<'a> {
    /// A reader at the start of `src`; an error where the body is no UTF-8.
    pub fn new(
        src: &'a Bytes,
        context: &Context<'_>,
        known: Option<&'a Request>,
        names: Names,
    ) -> Result<Self, Fault> {
        std::str::from_utf8(src).map_err(|_| Fault::Syntax)?;
        let request = Request {
            body: src.clone(),
            model: context.model.map(str::to_owned),
            params: Vec::new(),
            tools: Vec::new(),
            head: Default::default(),
            history: Vec::new(),
            chains: Vec::new(),
            layout: Layout::default(),
            hints: context.hints.clone(),
            signed_thinking: false,
            server_state: false,
            names,
            marker_ttl: None,
        };
        Ok(Self { cursor: Cursor::new(src, 0), src, known, scratch: Vec::new(), request })
    }

    /// Walks the top-level object; `member` reads one value and must leave the cursor behind it.
    pub fn members(
        &mut self,
        mut member: impl FnMut(&mut Self, &str, Member) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        self.cursor.expect(b'{')?;
        self.request.layout.object = self.cursor.pos();
        let (mut first, mut seen) = (true, Vec::new());
        while let Some(name) = self.cursor.key(&mut first)? {
            let text = std::str::from_utf8(&self.src[name.clone()]).map_err(|_| Fault::Syntax)?;
            if ONCE.contains(&text) {
                if seen.contains(&text) {
                    return Err(Fault::DuplicateKey);
                }
                seen.push(text);
            }
            let start = self.cursor.pos();
            let follows = !self.is_first(name.start);
            member(self, text, Member { range: name.start - 1..start, value: start..start, follows })?;
        }
        self.cursor.end()
    }

    /// A value of no interest: skipped.
    pub fn skip(&mut self) -> Result<Range<usize>, Fault> {
        self.cursor.value()
    }

    /// The model's name.
    pub fn model(&mut self) -> Result<(), Fault> {
        let value = self.skip()?;
        self.request.model = canonical::decode_string(&self.src[value]);
        Ok(())
    }

    /// A parameter that the provider renders into the prefix.
    pub fn param(&mut self, name: &str) -> Result<(), Fault> {
        let value = self.skip()?;
        self.scratch.clear();
        let normal = canonical::write_value(self.src, value.clone(), &mut self.scratch).is_ok();
        let bytes: &[u8] = if normal { &self.scratch } else { &self.src[value] };
        self.request.params.push(Param { name: name.to_owned(), value: Digest::of("inkfast param v1", bytes) });
        Ok(())
    }

    /// The digest of a string member, as a hint.
    pub fn hint(&mut self) -> Result<Option<Digest>, Fault> {
        let value = self.skip()?;
        let text = canonical::decode_string(&self.src[value]).filter(|text| !text.is_empty());
        Ok(text.map(|text| Digest::of("inkfast hint v1", text.as_bytes())))
    }

    /// The tools; `name` finds a tool's name in its envelope.
    pub fn tools(&mut self, name: impl Fn(&Envelope, &Cursor<'a>) -> Option<String>) -> Result<(), Fault> {
        let start = self.cursor.pos();
        if self.take_over_tools(start) {
            return Ok(());
        }
        if self.cursor.peek()? != b'[' {
            return self.skip().map(drop);
        }
        self.cursor.expect(b'[')?;
        let mut first = true;
        while self.cursor.element(&mut first)? {
            if self.cursor.peek()? != b'{' {
                return Err(Fault::Shape);
            }
            let tool = Envelope::read(&mut self.cursor)?;
            let name = name(&tool, &self.cursor).unwrap_or_default();
            let digests = tool.digests(self.src, &[b"tool"], &mut self.scratch);
            self.note_marker(&tool);
            let mark = ToolMark {
                name: name.clone(),
                wire: digests.wire,
                canonical: digests.canonical,
                len: digests.len,
            };
            self.request.tools.push(Tool { range: tool.range, name, mark });
        }
        self.request.layout.tools_array = Some(start..self.cursor.pos());
        Ok(())
    }

    /// Remembers the lifetime of an explicit cache marker, here or in a nested envelope.
    pub fn note_marker(&mut self, envelope: &Envelope) {
        if let Some(marker) = &envelope.marker {
            let bytes = &self.src[marker.clone()];
            let hour = memchr::memmem::find(bytes, b"\"1h\"").is_some();
            let seconds = if hour { 3600 } else { 300 };
            self.request.marker_ttl = self.request.marker_ttl.max(Some(seconds));
        }
        if let envelope::Content::Blocks(_, blocks) = &envelope.content {
            blocks.iter().for_each(|block| self.note_marker(block));
        }
    }

    /// Takes over the message at the cursor if the last body has the same bytes at this ordinal and it is history
    /// in both. The digests, the answer and the kind of its items come along; only offsets move.
    pub fn take_over_message(&mut self, ordinal: usize, head_len: usize) -> bool {
        let Some(known) = self.known else { return false };
        let Some(message) = known.layout.messages.get(ordinal) else { return false };
        let known_head = known.layout.messages.iter().take_while(|message| message.items.is_empty()).count();
        let start = self.cursor.pos();
        let bytes = &known.body[message.range.clone()];
        if known_head != head_len || message.items.is_empty() || !self.src[start..].starts_with(bytes) {
            return false;
        }
        let shift = Shift { from: message.range.start, to: start };
        let first = self.request.history.len();
        for item in &known.history[message.items.clone()] {
            self.request.history.push(Item { range: shift.range(&item.range), ..item.clone() });
        }
        let items = first..self.request.history.len();
        self.request.layout.messages.push(shift.message(message, items));
        self.cursor.jump(start + bytes.len());
        true
    }

    /// Closes the request: chains, the answers that its last assistant messages carry, the words of what they
    /// answered. `read` tells text and call ids of the items of one message.
    pub fn finish(mut self, read: impl Fn(&[u8], &[Range<usize>]) -> Option<Said>) -> Request {
        let known = self.known.map_or(&[][..], |known| known.chains.as_slice());
        let known_items = self.known.map_or(&[][..], |known| known.history.as_slice());
        let (mut chain, mut same) = (Chain::EMPTY, true);
        for (index, item) in self.request.history.iter().enumerate() {
            same &= known_items.get(index).is_some_and(|known| known.mark.canonical == item.mark.canonical);
            chain = if same { known[index] } else { chain.then(item.mark.canonical) };
            self.request.chains.push(chain);
        }
        self.mark_answers(&read);
        self.request
    }

    fn mark_answers(&mut self, read: &impl Fn(&[u8], &[Range<usize>]) -> Option<Said>) {
        let request = &mut self.request;
        let assistants = request.layout.messages.iter().rev().filter(|message| message.role == Role::Assistant);
        let firsts: Vec<Range<usize>> =
            assistants.map(|message| message.items.clone()).filter(|items| !items.is_empty()).take(ANSWERS).collect();
        for items in &firsts {
            if request.history[items.start].answer.is_none() {
                let ranges: Vec<_> = request.history[items.clone()].iter().map(|item| item.range.clone()).collect();
                let said = read(self.src, &ranges);
                request.history[items.start].answer = said.and_then(|said| AnswerMark::of(&said.text, &said.calls));
            }
        }
        let answered = firsts.iter().filter_map(|items| items.start.checked_sub(1));
        for index in answered.chain(request.history.len().checked_sub(1)).collect::<Vec<_>>() {
            let item = &mut request.history[index];
            if item.words.is_none() && item.mark.role != Role::Assistant {
                let said = read(self.src, std::slice::from_ref(&item.range));
                item.words = said.map(|said| Arc::new(Sketch::of(&said.text)));
            }
        }
    }

    fn take_over_tools(&mut self, start: usize) -> bool {
        let Some((known, array)) = self.known.and_then(|known| Some((known, known.layout.tools_array.clone()?))) else {
            return false;
        };
        let bytes = &known.body[array.clone()];
        if !self.src[start..].starts_with(bytes) {
            return false;
        }
        let shift = Shift { from: array.start, to: start };
        self.request.tools =
            known.tools.iter().map(|tool| Tool { range: shift.range(&tool.range), ..tool.clone() }).collect();
        // Lifetimes are noted per body; tools rarely carry a longer one than the messages do.
        self.request.marker_ttl = self.request.marker_ttl.max(known.marker_ttl);
        self.request.layout.tools_array = Some(start..start + bytes.len());
        self.cursor.jump(start + bytes.len());
        true
    }

    fn is_first(&self, name: usize) -> bool {
        let between = &self.src[self.request.layout.object..name - 1];
        between.iter().all(u8::is_ascii_whitespace)
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
            Content::Blocks(array, blocks) => {
                Content::Blocks(self.range(array), blocks.iter().map(|block| self.range(block)).collect())
            }
            Content::Other => Content::Other,
        };
        Message { range: self.range(&message.range), content, role: message.role, items }
    }
}

/// The content of an envelope, as the layout keeps it.
pub fn content(envelope: &Envelope) -> Content {
    match &envelope.content {
        envelope::Content::Text(token) => Content::Text(token.clone()),
        envelope::Content::Blocks(array, blocks) => {
            Content::Blocks(array.clone(), blocks.iter().map(|block| block.range.clone()).collect())
        }
        envelope::Content::Other => Content::Other,
    }
}
