//! What the parsers of all formats share: the top-level walk, parameters, tools, the close of a request.

mod take_over;

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use crate::prefix::digest::{Chain, Digest};
use crate::prefix::item::{
    AnswerMark, Content, Head, Hints, Layout, Member, Names, Param, Request, Role, Tool, ToolMark,
};

use crate::prompt::Sketch;

use super::canonical;
use super::envelope::{self, Envelope};
use super::scan::{Cursor, Fault};

/// What parsing depends on beside the body.
#[derive(Clone, Default)]
pub struct Context<'a> {
    /// The provider strips an attribution block in front of the head before it processes the request.
    pub attribution: bool,
    /// The model, where the path names it.
    pub model: Option<&'a str>,
    /// Whether this model reads request-level instructions in front of the history; none: no model does.
    pub instructions_lead: Option<&'a dyn Fn(&str) -> bool>,
    /// What the headers say of the client.
    pub hints: Hints,
}

/// What the items of a message say.
pub struct Said {
    /// Their text, blocks joined.
    pub text: String,
    /// The ids of their tool calls, or what those without ids are known by.
    pub calls: Vec<String>,
}

/// A body while it is read.
pub struct Reader<'a> {
    /// The position in the body.
    pub cursor: Cursor<'a>,
    /// The body.
    pub src: &'a Bytes,
    /// The last body of the same conversation, if one is kept.
    known: Option<&'a Request>,
    /// How many of its messages are its head.
    known_head: usize,
    /// What was taken over from it: bytes that are known to be UTF-8.
    taken: Vec<Range<usize>>,
    /// A buffer for normal forms.
    pub scratch: Vec<u8>,
    /// The result so far.
    pub request: Request,
}

/// The members that may stand only once: two readers could take different ones.
const ONCE: [&str; 13] = [
    "model",
    "messages",
    "system",
    "tools",
    "stream",
    "input",
    "instructions",
    "contents",
    "systemInstruction",
    "system_instruction",
    "toolConfig",
    "converse",
    "prompt",
];

/// So many messages more than the last body has are expected.
const ROOM: usize = 8;

/// Answers are compared with those of the last assistant messages only.
const ANSWERS: usize = 4;

impl<'a> Reader<'a> {
    /// A reader at the start of `src`.
    pub fn new(src: &'a Bytes, context: &Context<'_>, known: Option<&'a Request>, names: Names) -> Self {
        let known_messages = known.map_or(&[][..], |known| &known.layout.messages);
        let known_items = known.map_or(0, |known| known.history.len());
        let mut request = Request {
            body: src.clone(),
            model: context.model.map(str::to_owned),
            params: Vec::new(),
            tools: Vec::new(),
            head: Default::default(),
            history: Vec::with_capacity(known_items + ROOM),
            chains: Vec::new(),
            layout: Layout::default(),
            hints: context.hints.clone(),
            signed_thinking: false,
            server_state: false,
            continues: None,
            held: 0,
            names,
            marker_ttl: None,
        };
        request.layout.messages.reserve(known_messages.len() + ROOM);
        Self {
            cursor: Cursor::new(src, 0),
            src,
            known,
            known_head: known_messages
                .iter()
                .take_while(|message| message.items.is_empty())
                .count(),
            taken: Vec::with_capacity(known_messages.len()),
            scratch: Vec::new(),
            request,
        }
    }

    /// Walks the top-level object; `member` reads one value and must leave the cursor behind it.
    pub fn members(
        &mut self,
        member: impl FnMut(&mut Self, &str, Member) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        self.cursor.peek()?;
        self.request.layout.object = self.cursor.pos() + 1;
        self.object(member)?;
        self.cursor.end()
    }

    /// Walks the object at the cursor in the same way.
    pub fn object(
        &mut self,
        mut member: impl FnMut(&mut Self, &str, Member) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        self.cursor.pass(b'{')?;
        let object = self.cursor.pos();
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
            let between = &self.src[object..name.start - 1];
            let follows = !between.iter().all(u8::is_ascii_whitespace);
            member(
                self,
                text,
                Member {
                    range: name.start - 1..start,
                    value: start..start,
                    follows,
                },
            )?;
        }
        Ok(())
    }

    /// Goes back to `at`, where the history starts, and forgets what was read of it.
    pub fn reread(&mut self, at: usize) {
        self.cursor.jump(at);
        let request = &mut self.request;
        (request.head, request.layout.bare) = (Head::default(), false);
        request.history.clear();
        request.layout.messages.clear();
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
        self.request.params.push(Param {
            name: name.to_owned(),
            value: Digest::of("inkfast param v1", bytes),
        });
        Ok(())
    }

    /// A string member that says something.
    pub fn text(&mut self) -> Result<Option<String>, Fault> {
        let value = self.skip()?;
        Ok(canonical::decode_string(&self.src[value]).filter(|text| !text.is_empty()))
    }

    /// The digest of a string member, as a hint.
    pub fn hint(&mut self) -> Result<Option<Digest>, Fault> {
        Ok(self
            .text()?
            .map(|text| Digest::of("inkfast hint v1", text.as_bytes())))
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
        self.cursor.pass(b'[')?;
        let mut first = true;
        while self.cursor.element(&mut first)? {
            if self.cursor.peek()? != b'{' {
                return Err(Fault::Shape);
            }
            let tool = Envelope::read(&mut self.cursor)?;
            if tool.is_marker(&self.cursor) {
                let ttl = self.note_marker_block(&tool);
                self.request.layout.tools_ttl = self.request.layout.tools_ttl.max(ttl);
                continue;
            }
            let name = name(&tool, &self.cursor).unwrap_or_default();
            let digests = tool.digests(self.src, &[b"tool"], &mut self.scratch);
            let ttl = self.note_marker(&tool);
            self.request.layout.tools_ttl = self.request.layout.tools_ttl.max(ttl);
            let mark = ToolMark {
                name: name.clone(),
                wire: digests.wire,
                canonical: digests.canonical,
                len: digests.len,
            };
            self.request.tools.push(Tool {
                range: tool.range,
                name,
                mark,
            });
        }
        self.request.layout.tools_array = Some(start..self.cursor.pos());
        Ok(())
    }

    /// Remembers the lifetime of the explicit cache markers of an envelope, and gives the longest.
    pub fn note_marker(&mut self, envelope: &Envelope) -> Option<u32> {
        let inner = match &envelope.content {
            envelope::Content::Blocks(_, blocks) => blocks.as_slice(),
            _ => &[],
        };
        let own = envelope.marker.clone().map(|marker| lifetime(&self.src[marker]));
        let longest = inner
            .iter()
            .fold(own, |ttl, block| ttl.max(self.note_marker(block)));
        self.request.marker_ttl = self.request.marker_ttl.max(longest);
        longest
    }

    /// The same of a marker that is a block of its own.
    pub fn note_marker_block(&mut self, block: &Envelope) -> Option<u32> {
        let ttl = Some(lifetime(&self.src[block.range.clone()]));
        self.request.marker_ttl = self.request.marker_ttl.max(ttl);
        ttl
    }

    /// A marker of the whole request, on the last item that can carry one.
    pub fn automatic_marker(&mut self) -> Result<(), Fault> {
        if self.cursor.peek()? != b'{' {
            return self.skip().map(drop);
        }
        let marker = self.cursor.value()?;
        self.request.layout.automatic_marker = true;
        let ttl = Some(lifetime(&self.src[marker]));
        self.request.marker_ttl = self.request.marker_ttl.max(ttl);
        Ok(())
    }

    /// Remembers the longest lifetime of markers in the head's own member.
    pub fn note_head_ttl(&mut self, ttl: Option<u32>) {
        self.request.marker_ttl = self.request.marker_ttl.max(ttl);
        self.request.layout.head_ttl = self.request.layout.head_ttl.max(ttl);
    }

    /// Closes the request: chains, the answers that its last assistant messages carry, the words of what they
    /// answered. `read` tells text and call ids of the items of one turn. An error where the body is no UTF-8.
    pub fn finish(mut self, read: impl Fn(&[u8], &[Range<usize>]) -> Option<Said>) -> Result<Request, Fault> {
        // What was read twice was perhaps taken over twice.
        self.taken.sort_by_key(|taken| taken.start);
        let mut checked = 0;
        for taken in self.taken.iter().chain([&(self.src.len()..self.src.len())]) {
            let between = &self.src[checked.min(taken.start)..taken.start];
            std::str::from_utf8(between).map_err(|_| Fault::Syntax)?;
            checked = checked.max(taken.end);
        }
        self.link();
        self.mark_answers(&read);
        Ok(self.request)
    }

    /// The chain over the history; as far as the last body's reaches, it is that one's.
    fn link(&mut self) {
        let known = self.known.map_or(&[][..], |known| &known.history);
        let own = self.request.history.iter().map(|item| item.mark.canonical);
        let same = own
            .clone()
            .zip(known)
            .take_while(|(own, known)| *own == known.mark.canonical)
            .count();
        let mut chains = self.known.map_or(&[][..], |known| &known.chains[..same]).to_vec();
        chains.reserve(own.len() - same);
        for canonical in own.skip(same) {
            let last = chains.last().copied().unwrap_or(Chain::EMPTY);
            chains.push(last.then(canonical));
        }
        self.request.chains = chains;
    }

    /// Marks the last few answers and what they may have answered; what was taken over with older marks loses them,
    /// so that a request reads the same with and without a last body.
    fn mark_answers(&mut self, read: &impl Fn(&[u8], &[Range<usize>]) -> Option<Said>) {
        let history = &mut self.request.history;
        let opens = (0..history.len()).filter(|index| history[*index].mark.opens);
        let ends = opens.clone().skip(1).chain([history.len()]);
        let mut answers: Vec<Range<usize>> = opens
            .zip(ends)
            .map(|(start, end)| start..end)
            .filter(|items| history[items.start].mark.role == Role::Assistant)
            .collect();
        answers.drain(..answers.len().saturating_sub(ANSWERS));
        let starts = || answers.iter().map(|items| items.start);
        let last = history.len().checked_sub(1);
        let answered: Vec<usize> = starts()
            .filter_map(|start| start.checked_sub(1))
            .chain(last)
            .collect();
        for (index, item) in history.iter_mut().enumerate() {
            item.answer = item.answer.filter(|_| starts().any(|start| start == index));
            item.words = item.words.take().filter(|_| answered.contains(&index));
        }
        for items in &answers {
            if history[items.start].answer.is_some() {
                continue;
            }
            let ranges: Vec<_> = history[items.clone()]
                .iter()
                .map(|item| item.range.clone())
                .collect();
            let said = read(self.src, &ranges);
            history[items.start].answer = said.and_then(|said| AnswerMark::of(&said.text, &said.calls));
        }
        for index in answered {
            let item = &mut history[index];
            if item.words.is_none() && item.mark.role != Role::Assistant {
                let said = read(self.src, std::slice::from_ref(&item.range));
                item.words = said.map(|said| Arc::new(Sketch::of(&said.text)));
            }
        }
    }
}

/// The lifetime that a cache marker asks for, in seconds.
pub(super) fn lifetime(marker: &[u8]) -> u32 {
    let hour = memchr::memmem::find(marker, b"\"1h\"").is_some();
    if hour { 3600 } else { 300 }
}

/// The content of an envelope, as the layout keeps it.
pub fn content(envelope: &Envelope) -> Content {
    match &envelope.content {
        envelope::Content::Text(token) => Content::Text(token.clone()),
        envelope::Content::Blocks(array, blocks) => Content::Blocks(
            array.clone(),
            blocks.iter().map(|block| block.range.clone()).collect(),
        ),
        envelope::Content::Other => Content::Other,
    }
}
