//! OpenAI Responses and the hosts that speak it.
//!
//! Prefix order: tools, `instructions` (by models that read them in front), the leading run of system and developer
//! messages, the other items of `input` (developers.openai.com, guides "Prompt caching" and "Keep the prefix
//! unchanged", 2026-11-30). An item is an item of `input`. A turn of the model is a run of its items: reasoning,
//! messages, calls.

mod answer;
mod kinds;

use std::ops::Range;

use bytes::Bytes;

use crate::prefix::item::{Content, HeadForm, Item, Kind, Mark, Member, Message, Names, Request, Role};
use crate::prefix::keys::response_id;

use super::answer::Draft;
use super::body::{self, Context, Reader, Said};
use super::canonical;
use super::envelope::{self, Envelope};
use super::head;
use super::scan::{Cursor, Fault};
use super::{BARE, Call, Part, Shapes, Wire};

/// Members beside model, tools, instructions and input that change the rendered prefix (typed client of 2026-11-30:
/// the reasons of a cache miss; same guides).
const RENDERED: [&str; 8] = [
    "parallel_tool_calls",
    "reasoning",
    "text",
    "context_management",
    "prompt",
    "truncation",
    "image",
    "service_tier",
];

const NAMES: Names = Names {
    form: HeadForm::Blocks,
    head: Some("instructions"),
    history: "input",
    blocks: None,
};

const SHAPES: Shapes = Shapes {
    message: [
        r#"{"type":"message","role":""#,
        r#"","content":[{"type":"input_text","text":"#,
        "}]}",
    ],
    block: [r#"{"type":"input_text","text":"#, "}"],
};

/// Path endings; the first that fits wins.
const ENDINGS: &[(&str, Call)] = &[
    ("/responses", Call::Messages),
    ("/responses/input_tokens", Call::CountTokens),
    ("/responses/compact", Call::Compact),
];

/// The format.
pub struct OpenaiResponses;

impl Wire for OpenaiResponses {
    fn matches(&self, path: &str) -> Option<Call> {
        Call::by_ending(path, ENDINGS)
    }

    fn parse(&self, body: &Bytes, context: &Context<'_>, known: Option<&Request>) -> Result<Request, Fault> {
        parse(body, context, known)
    }

    fn shapes(&self) -> &'static Shapes {
        &SHAPES
    }

    fn goes_on_by_id(&self) -> bool {
        true
    }

    fn usage(&self, draft: &mut Draft, part: Part<'_>) {
        match part {
            Part::Event(data) => answer::event(draft, data),
            Part::Body(data) => answer::body(draft, data),
        }
    }

    fn is_last(&self, chunk: &[u8]) -> bool {
        answer::is_last(chunk)
    }
}

/// The members that are read when all of them are known: what they mean hangs on others, which may stand behind them.
#[derive(Default)]
struct Late {
    instructions: Option<Member>,
    input: Option<usize>,
}

/// Reads a request.
pub fn parse(body: &Bytes, context: &Context<'_>, known: Option<&Request>) -> Result<Request, Fault> {
    let mut reader = Reader::new(body, context, known, NAMES);
    let mut late = Late::default();
    reader.members(|reader, name, member| match name {
        "input" => {
            late.input = Some(member.value.start);
            // As a rule nothing behind it changes what it means.
            let leading = reader.request.continues.is_none();
            input(reader, leading)
        }
        "instructions" => {
            late.instructions = Some(whole(reader, member)?);
            Ok(())
        }
        "previous_response_id" => {
            reader.request.continues = reader.text()?.map(|id| response_id(&id));
            Ok(())
        }
        "conversation" => {
            let value = reader.skip()?;
            reader.request.server_state |= &reader.src[value] != b"null";
            Ok(())
        }
        "tools" => reader.tools(tool_name),
        "model" => reader.model(),
        "user" | "safety_identifier" => {
            let user = reader.hint()?;
            reader.request.hints.user = user.or(reader.request.hints.user);
            Ok(())
        }
        "prompt_cache_key" => {
            reader.request.hints.routing = reader.hint()?;
            Ok(())
        }
        name if RENDERED.contains(&name) => reader.param(name),
        _ => reader.skip().map(drop),
    })?;
    late.read(&mut reader, context)?;
    reader.finish(said)
}

impl Late {
    fn read(self, reader: &mut Reader<'_>, context: &Context<'_>) -> Result<(), Fault> {
        // A request without input goes on behind what the provider holds; else it is none.
        let Some(input_at) = self.input else {
            return Err(Fault::Shape);
        };
        if reader.request.continues.is_some() && !reader.request.head.blocks.is_empty() {
            // Its first items follow others: none of them is a head.
            reader.reread(input_at);
            input(reader, false)?;
        }
        let model = reader.request.model.as_deref().unwrap_or_default();
        if context.instructions_lead.is_some_and(|lead| lead(model)) {
            if let Some(member) = self.instructions {
                instructions(reader, member)?;
            }
        } else {
            reader.request.names.head = None;
        }
        head::seal(&mut reader.request.head);
        turns(&mut reader.request.history);
        reader.request.signed_thinking = reader
            .request
            .history
            .iter()
            .any(|item| item.mark.kind == Kind::Thinking);
        Ok(())
    }
}

fn whole(reader: &mut Reader<'_>, mut member: Member) -> Result<Member, Fault> {
    member.value = reader.skip()?;
    member.range.end = member.value.end;
    Ok(member)
}

/// The name of a function, or what names a tool that the provider runs.
fn tool_name(tool: &Envelope, cursor: &Cursor<'_>) -> Option<String> {
    let mut names = [&b"name"[..], b"server_label", b"type"].into_iter();
    names.find_map(|name| tool.text(cursor, name))
}

/// Puts the instructions in front of the leading messages.
fn instructions(reader: &mut Reader<'_>, member: Member) -> Result<(), Fault> {
    reader.cursor.jump(member.value.start);
    let is_read_so = |known: &crate::prefix::item::Head| {
        known
            .blocks
            .first()
            .is_some_and(|block| !block.frozen.is_message())
    };
    match reader.cursor.peek()? {
        b'n' => {}
        _ if reader.take_over_head(is_read_so) => {}
        b'"' => {
            let block = head::string(reader.src, member.value.clone());
            reader.request.head.blocks.push(block);
        }
        _ => return Err(Fault::Shape),
    }
    let head = &mut reader.request.head;
    if head.blocks.last().is_some_and(|block| !block.frozen.is_message()) {
        head.blocks.rotate_right(1);
        head.markers.iter_mut().for_each(|(ordinal, _)| *ordinal += 1);
    }
    reader.request.layout.head_member = Some(member);
    Ok(())
}

/// The input: items, or the string that one message of the user stands for. `leading`: nothing stands before it.
fn input(reader: &mut Reader<'_>, mut leading: bool) -> Result<(), Fault> {
    let start = reader.cursor.pos();
    match reader.cursor.peek()? {
        b'"' => return string(reader),
        b'[' => reader.cursor.pass(b'[')?,
        _ => return Err(Fault::Shape),
    }
    let (mut first, mut ordinal) = (true, 0);
    while reader.cursor.element(&mut first)? {
        if !reader.take_over_message(ordinal, &mut leading) {
            item(reader, ordinal, &mut leading)?;
        }
        ordinal += 1;
    }
    reader.request.layout.messages_array = start..reader.cursor.pos();
    Ok(())
}

/// One bare string: the item that it stands for has the digest that it would have written out.
fn string(reader: &mut Reader<'_>) -> Result<(), Fault> {
    let token = reader.cursor.string()?;
    let [open, close] = BARE.map(str::as_bytes);
    let message = [open, &reader.src[token.clone()], close].concat();
    let digests = Envelope::read(&mut Cursor::new(&message, 0))?.digests(&message, &[], &mut reader.scratch);
    let layout = &mut reader.request.layout;
    (layout.bare, layout.messages_array) = (true, token.clone());
    push(reader, token.clone(), digests, (Role::User, Kind::Content), 0);
    reader.request.layout.messages.push(Message {
        range: token.clone(),
        content: Content::Text(token),
        role: Role::User,
        items: 0..1,
        marker_ttl: None,
    });
    Ok(())
}

fn item(reader: &mut Reader<'_>, ordinal: usize, leading: &mut bool) -> Result<(), Fault> {
    let envelope = Envelope::read(&mut reader.cursor)?;
    let (role, kind) = kinds::of(&envelope, &reader.cursor)?;
    *leading &= role == Role::Operator && kinds::is_message(&envelope, &reader.cursor);
    let marker_ttl = reader.note_marker(&envelope);
    let items = reader.request.history.len();
    let content = if kinds::is_message(&envelope, &reader.cursor) {
        body::content(&envelope)
    } else {
        Content::Other
    };
    if *leading {
        let role = envelope.word(&reader.cursor, b"role").ok_or(Fault::Shape)?;
        let block = head::message(reader.src, &envelope, &reader.cursor, role);
        let head = &mut reader.request.head;
        let ordinal = head.blocks.len() as u32;
        let markers = envelope.markers().map(|marker| (ordinal, marker));
        head.markers.extend(markers);
        head.blocks.push(block);
    } else {
        let digests = envelope.digests(reader.src, &[], &mut reader.scratch);
        push(reader, envelope.range.clone(), digests, (role, kind), ordinal);
    }
    reader.request.layout.messages.push(Message {
        range: envelope.range,
        content,
        role,
        items: items..reader.request.history.len(),
        marker_ttl,
    });
    Ok(())
}

fn push(
    reader: &mut Reader<'_>,
    range: Range<usize>,
    digests: envelope::Digests,
    (role, kind): (Role, Kind),
    message: usize,
) {
    let mark = Mark {
        wire: digests.wire,
        canonical: digests.canonical,
        len: digests.len,
        role,
        kind,
        opens: true,
    };
    reader.request.history.push(Item {
        range,
        mark,
        message: message as u32,
        block: None,
        calls: u16::from(kind == Kind::ToolCall),
        answer: None,
        words: None,
    });
}

/// Joins the items that the model said in one go. What was taken over may stand behind another item than before.
fn turns(history: &mut [Item]) {
    let mut before = Role::User;
    for item in history {
        let goes_on = item.mark.role == Role::Assistant && before == Role::Assistant;
        item.mark.opens = !goes_on;
        item.answer = None;
        before = item.mark.role;
    }
}

/// The text and the call ids of the items of one turn.
fn said(src: &[u8], ranges: &[Range<usize>]) -> Option<Said> {
    let mut said = Said {
        text: String::new(),
        calls: Vec::new(),
    };
    for range in ranges {
        let mut cursor = Cursor::new(&src[..range.end], range.start);
        if cursor.peek().ok()? == b'"' {
            said.text
                .push_str(&canonical::decode_string(&src[range.clone()])?);
            continue;
        }
        let envelope = Envelope::read(&mut cursor).ok()?;
        if kinds::of(&envelope, &cursor).ok()?.1 == Kind::ToolCall {
            said.calls.extend(envelope.text(&cursor, b"call_id"));
        }
        if !kinds::is_message(&envelope, &cursor) {
            continue;
        }
        match &envelope.content {
            envelope::Content::Text(token) => said
                .text
                .push_str(&canonical::decode_string(&src[token.clone()])?),
            envelope::Content::Blocks(_, blocks) => {
                let texts = blocks.iter().filter_map(|block| block.text(&cursor, b"text"));
                texts.for_each(|text| said.text.push_str(&text));
            }
            envelope::Content::Other => {}
        }
    }
    Some(said)
}
