//! Amazon Bedrock's Converse, for every model that it serves.
//!
//! Prefix order: tools, system, messages. An item is a content block with its role; a block is named by its only
//! member. A `cachePoint` is a block of its own that marks the place behind the block in front of it: it is no item, no
//! head block and no tool, and in no digest (botocore 1.44.8, service model of `bedrock-runtime`, 2026-11-30). Items
//! and tools are counted without them. What guards the head's text (`guardContent`) is kept as it is and never told in
//! a node, which would take it out of the guardrail's sight. The body of a token count holds the same in
//! `input.converse`; what it holds for another API is not looked into. `requestMetadata` is free text for logs and says
//! nothing about the conversation.

mod answer;
mod content;

use bytes::Bytes;

use crate::prefix::item::{HeadForm, Member, Names, Request};

use super::answer::Draft;
use super::body::{Context, Reader};
use super::envelope::Envelope;
use super::head;
use super::path;
use super::scan::{Cursor, Fault};
use super::{Call, Part, Shapes, Wire};

/// The format.
pub struct BedrockConverse;

/// Path endings; the first that fits wins.
const ENDINGS: &[(&str, Call)] = &[
    ("/converse", Call::Messages),
    ("/converse-stream", Call::Messages),
    ("/count-tokens", Call::CountTokens),
];

/// Members beside tools, system and messages that change the rendered prefix. A guardrail reads the prompt and does not
/// write it.
const RENDERED: [&str; 2] = ["additionalModelRequestFields", "promptVariables"];

/// Where the members of an inner object that are read stand.
const TOOL_CHOICE: &str = "toolConfig.toolChoice";
const TEXT_FORMAT: &str = "outputConfig.textFormat";

const NAMES: Names = Names {
    form: HeadForm::Blocks,
    head: Some("system"),
    history: "messages",
    blocks: Some("content"),
};

const SHAPES: Shapes = Shapes {
    message: [r#"{"role":""#, r#"","content":[{"text":"#, "}]}"],
    block: [r#"{"text":"#, "}"],
};

impl Wire for BedrockConverse {
    fn matches(&self, path: &str) -> Option<Call> {
        path::model(path).and_then(|_| Call::by_ending(path, ENDINGS))
    }

    fn parse(&self, body: &Bytes, context: &Context<'_>, known: Option<&Request>) -> Result<Request, Fault> {
        parse(body, context, known)
    }

    fn model(&self, path: &str) -> Option<String> {
        path::model(path)
    }

    fn shapes(&self) -> &'static Shapes {
        &SHAPES
    }

    fn usage(&self, draft: &mut Draft, part: Part<'_>) {
        match part {
            Part::Event(data) => answer::event(draft, data),
            Part::Body(data) => answer::body(draft, data),
        }
    }

    fn is_last(&self, chunk: &[u8]) -> bool {
        answer::ends_with_metadata(chunk)
    }
}

/// Reads a Converse request, or the count of one.
pub fn parse(body: &Bytes, context: &Context<'_>, known: Option<&Request>) -> Result<Request, Fault> {
    let mut reader = Reader::new(body, context, known, NAMES);
    let (mut found, mut counted, mut bare) = (false, false, false);
    reader.members(|reader, name, member| match name {
        "input" => {
            counted = true;
            count(reader, &mut found)
        }
        name => {
            bare |= matches!(name, "messages" | "system" | "toolConfig");
            converse(reader, name, member, &mut found)
        }
    })?;
    if !found || counted && bare {
        return Err(Fault::Shape);
    }
    head::seal(&mut reader.request.head);
    reader.finish(content::said)
}

/// What a token count is asked for.
fn count(reader: &mut Reader<'_>, found: &mut bool) -> Result<(), Fault> {
    inner(reader, |reader, name, _| match name {
        "converse" if reader.cursor.peek()? == b'{' => {
            reader.request.layout.object = reader.cursor.pos() + 1;
            reader.object(|reader, name, member| converse(reader, name, member, found))
        }
        _ => reader.skip().map(drop),
    })
}

fn converse(reader: &mut Reader<'_>, name: &str, member: Member, found: &mut bool) -> Result<(), Fault> {
    match name {
        "messages" => {
            *found = true;
            content::messages(reader)
        }
        "system" => system(reader, member),
        "toolConfig" => inner(reader, |reader, name, _| match name {
            "tools" => reader.tools(tool_name),
            "toolChoice" => reader.param(TOOL_CHOICE),
            _ => reader.skip().map(drop),
        }),
        "outputConfig" => inner(reader, |reader, name, _| match name {
            "textFormat" => reader.param(TEXT_FORMAT),
            _ => reader.skip().map(drop),
        }),
        name if RENDERED.contains(&name) => reader.param(name),
        _ => reader.skip().map(drop),
    }
}

/// Walks an object inside the body; anything else is skipped.
fn inner<'a>(
    reader: &mut Reader<'a>,
    member: impl FnMut(&mut Reader<'a>, &str, Member) -> Result<(), Fault>,
) -> Result<(), Fault> {
    if reader.cursor.peek()? == b'{' {
        reader.object(member)
    } else {
        reader.skip().map(drop)
    }
}

/// A tool is named inside the only member that it has.
fn tool_name(tool: &Envelope, cursor: &Cursor<'_>) -> Option<String> {
    let (_, value) = tool.only(cursor)?;
    let mut inner = Cursor::new(cursor.slice(&(0..value.end)), value.start);
    Envelope::read(&mut inner).ok()?.text(&inner, b"name")
}

fn system(reader: &mut Reader<'_>, mut member: Member) -> Result<(), Fault> {
    let start = reader.cursor.pos();
    match reader.cursor.peek()? {
        _ if reader.take_over_head(|_| true) => {}
        b'[' => blocks(reader)?,
        b'n' => reader.skip().map(drop)?,
        _ => return Err(Fault::Shape),
    }
    member.value = start..reader.cursor.pos();
    member.range.end = member.value.end;
    reader.request.layout.head_member = Some(member);
    Ok(())
}

fn blocks(reader: &mut Reader<'_>) -> Result<(), Fault> {
    reader.cursor.pass(b'[')?;
    let mut first = true;
    while reader.cursor.element(&mut first)? {
        let envelope = Envelope::read(&mut reader.cursor)?;
        if !envelope.is_marker(&reader.cursor) {
            let block = head::named(reader.src, &envelope, &reader.cursor);
            reader.request.head.blocks.push(block);
            continue;
        }
        // In front of the whole head it has no block to hang on.
        if let Some(ordinal) = reader.request.head.blocks.len().checked_sub(1) {
            let ttl = reader.note_marker_block(&envelope);
            reader.note_head_ttl(ttl);
            let marker = (ordinal as u32, envelope.range);
            reader.request.head.markers.push(marker);
        }
    }
    Ok(())
}
