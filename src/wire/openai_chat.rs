//! OpenAI Chat Completions and the hosts that speak it.
//!
//! Prefix order: tools, the leading run of system and developer messages, the other messages
//! (developers.openai.com, guide "Prompt caching", 2026-11-30). An item is a message.

mod answer;

use std::ops::Range;

use bytes::Bytes;

use crate::prefix::item::{HeadForm, Item, Kind, Mark, Message, Names, Request, Role};

use super::answer::Draft;
use super::body::{self, Context, Reader, Said};
use super::canonical;
use super::envelope::{Content, Envelope};
use super::head;
use super::scan::{Cursor, Fault};
use super::{Call, Part, Shapes, Wire};

/// Members beside model, tools and messages that change the rendered prefix: OpenAI's (same guide, table of settings),
/// and vLLM's own (docs.vllm.ai, "OpenAI-compatible server", extra parameters).
const RENDERED: [&str; 9] = [
    "parallel_tool_calls",
    "response_format",
    "reasoning_effort",
    "verbosity",
    "chat_template",
    "chat_template_kwargs",
    "documents",
    "mm_processor_kwargs",
    "cache_salt",
];

const NAMES: Names = Names {
    form: HeadForm::Blocks,
    head: None,
    history: "messages",
    blocks: None,
};

/// The format.
pub struct OpenaiChat;

impl Wire for OpenaiChat {
    fn matches(&self, path: &str) -> Option<Call> {
        Call::by_ending(path, &[("/chat/completions", Call::Messages)])
    }

    fn parse(&self, body: &Bytes, context: &Context<'_>, known: Option<&Request>) -> Result<Request, Fault> {
        parse(body, context, known)
    }

    /// Azure's deployments are in the path, and what the body says then counts for nothing.
    fn model(&self, path: &str) -> Option<String> {
        let (_, behind) = path.split_once("/deployments/")?;
        behind.split('/').next().map(str::to_owned)
    }

    fn shapes(&self) -> &'static Shapes {
        &Shapes::PLAIN
    }

    fn usage(&self, draft: &mut Draft, part: Part<'_>) {
        match part {
            Part::Event(data) => answer::event(draft, data),
            Part::Body(data) => answer::body(draft, data),
        }
    }

    fn is_last(&self, chunk: &[u8]) -> bool {
        chunk.trim_ascii() == b"data: [DONE]" || memchr::memmem::find(chunk, b"\ndata: [DONE]").is_some()
    }
}

/// Reads a chat completion request.
pub fn parse(body: &Bytes, context: &Context<'_>, known: Option<&Request>) -> Result<Request, Fault> {
    let mut reader = Reader::new(body, context, known, NAMES);
    let mut found = false;
    reader.members(|reader, name, _| match name {
        "messages" => {
            found = true;
            messages(reader, Kind::ToolCall)
        }
        "tools" => tools(reader),
        "model" if reader.request.model.is_none() => reader.model(),
        "user" | "safety_identifier" => {
            let user = reader.hint()?;
            reader.request.hints.user = user.or(reader.request.hints.user);
            Ok(())
        }
        "session_id" => {
            let session = reader.hint()?;
            reader.request.hints.session = reader.request.hints.session.or(session);
            Ok(())
        }
        "prompt_cache_key" => {
            reader.request.hints.routing = reader.hint()?;
            Ok(())
        }
        name if RENDERED.contains(&name) => reader.param(name),
        _ => reader.skip().map(drop),
    })?;
    if !found {
        return Err(Fault::Shape);
    }
    reader.finish(said)
}

/// Reads the tools, each a `function` in an envelope.
pub(super) fn tools(reader: &mut Reader<'_>) -> Result<(), Fault> {
    reader.tools(|tool, cursor| {
        let function = tool.get(cursor, b"function")?;
        let mut inner = Cursor::new(reader_slice(cursor, function.end), function.start);
        Envelope::read(&mut inner).ok()?.text(&inner, b"name")
    })
}

/// Reads the messages; one that calls tools is of kind `call`.
pub(super) fn messages(reader: &mut Reader<'_>, call: Kind) -> Result<(), Fault> {
    let start = reader.cursor.pos();
    if reader.cursor.peek()? != b'[' {
        return Err(Fault::Shape);
    }
    reader.cursor.pass(b'[')?;
    let (mut first, mut ordinal, mut leading) = (true, 0, true);
    while reader.cursor.element(&mut first)? {
        if !reader.take_over_message(ordinal, &mut leading) {
            message(reader, ordinal, &mut leading, call)?;
        }
        ordinal += 1;
    }
    reader.request.layout.messages_array = start..reader.cursor.pos();
    head::seal(&mut reader.request.head);
    Ok(())
}

fn message(reader: &mut Reader<'_>, ordinal: usize, leading: &mut bool, call: Kind) -> Result<(), Fault> {
    let envelope = Envelope::read(&mut reader.cursor)?;
    let role_name = envelope.word(&reader.cursor, b"role").ok_or(Fault::Shape)?;
    let role = role(role_name)?;
    *leading &= role == Role::Operator;
    let marker_ttl = reader.note_marker(&envelope);
    let items = reader.request.history.len();
    let mut end = items;
    if *leading {
        let block = head::message(reader.src, &envelope, &reader.cursor, role_name);
        let ordinal = reader.request.head.blocks.len() as u32;
        let markers = envelope.markers().map(|marker| (ordinal, marker));
        reader.request.head.markers.extend(markers);
        reader.request.head.blocks.push(block);
    } else {
        let digests = envelope.digests(reader.src, &[], &mut reader.scratch);
        let kind = match role {
            Role::Tool => Kind::ToolResult,
            Role::Assistant if !envelope.calls.is_empty() => call,
            _ => Kind::Content,
        };
        let mark = Mark {
            wire: digests.wire,
            canonical: digests.canonical,
            len: digests.len,
            role,
            kind,
            opens: true,
        };
        let range = envelope.range.clone();
        let message = ordinal as u32;
        reader.request.history.push(Item {
            range,
            mark,
            message,
            block: None,
            calls: envelope.calls.len() as u16,
            answer: None,
            words: None,
        });
        end += 1;
    }
    let content = body::content(&envelope);
    reader.request.layout.messages.push(Message {
        range: envelope.range,
        content,
        role,
        items: items..end,
        marker_ttl,
    });
    Ok(())
}

fn role(name: &str) -> Result<Role, Fault> {
    match name {
        "system" | "developer" => Ok(Role::Operator),
        "user" => Ok(Role::User),
        "assistant" => Ok(Role::Assistant),
        "tool" | "function" => Ok(Role::Tool),
        _ => Err(Fault::Shape),
    }
}

/// The text and the call ids of a message.
fn said(src: &[u8], ranges: &[Range<usize>]) -> Option<Said> {
    said_with(src, ranges, |call, cursor| call.text(cursor, b"id"))
}

/// The same where `call` tells what a tool call is known by.
pub(super) fn said_with(
    src: &[u8],
    ranges: &[Range<usize>],
    call: impl Fn(&Envelope, &Cursor<'_>) -> Option<String>,
) -> Option<Said> {
    let [range] = ranges else { return None };
    let mut cursor = Cursor::new(&src[..range.end], range.start);
    let envelope = Envelope::read(&mut cursor).ok()?;
    let text = match &envelope.content {
        Content::Text(token) => canonical::decode_string(&src[token.clone()])?,
        Content::Blocks(_, blocks) => blocks
            .iter()
            .filter_map(|block| block.text(&cursor, b"text"))
            .collect(),
        Content::Other => String::new(),
    };
    let calls = envelope
        .calls
        .iter()
        .filter_map(|envelope| call(envelope, &cursor))
        .collect();
    Some(Said { text, calls })
}

fn reader_slice<'a>(cursor: &Cursor<'a>, end: usize) -> &'a [u8] {
    cursor.slice(&(0..end))
}
