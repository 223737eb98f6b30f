//! Anthropic Messages and the hosts that speak it.
//!
//! Prefix order: tools, system, messages (platform.claude.com, "Prompt caching", 2026-11-30). An item is a content
//! block with its role; a message without blocks is one item; other members of a message belong to its first block.

mod answer;

use std::ops::Range;

use bytes::Bytes;

use crate::prefix::item::{Head, HeadForm, Kind, Member, Message, Names, Request, Role};

use super::answer::Draft;
use super::blocks;
use super::body::{self, Context, Reader, Said};
use super::call;
use super::canonical;
use super::envelope::{self, Content, Digests, Envelope};
use super::head;
use super::path;
use super::scan::{Cursor, Fault};
use super::{Call, Part, Shapes, Wire};

/// Members beside model, tools, system and messages that change the rendered prefix (same page, "What invalidates
/// the cache"; `effort` between requests is no edit).
const RENDERED: [&str; 4] = ["tool_choice", "thinking", "speed", "mcp_servers"];

/// What the client's attribution block opens with (code.claude.com, "LLM gateway protocol", 2026-11-30).
const ATTRIBUTION: &str = "x-anthropic-billing-header:";

const NAMES: Names = Names {
    form: HeadForm::Blocks,
    head: Some("system"),
    history: "messages",
    blocks: Some("content"),
};

/// The format.
pub struct AnthropicMessages;

impl Wire for AnthropicMessages {
    fn matches(&self, path: &str) -> Option<Call> {
        // An assistant thread of OpenAI has messages, too, and a model garden other publishers.
        let foreign = path.contains("/threads/")
            || path.ends_with("awPredict") && !path.contains("/anthropic/")
            || is_invoke(path) && path::model(path).is_none();
        Call::by_ending(path, &ENDINGS).filter(|_| !foreign)
    }

    fn parse(&self, body: &Bytes, context: &Context<'_>, known: Option<&Request>) -> Result<Request, Fault> {
        parse(body, context, known)
    }

    /// On Bedrock and Vertex the path names it.
    fn model(&self, path: &str) -> Option<String> {
        let vertex = path.ends_with("awPredict") && !path.ends_with("/count-tokens:rawPredict");
        path::model(path)
            .filter(|_| is_invoke(path))
            .or_else(|| call::model_in_path(path).filter(|_| vertex))
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
        let has = |needle: &[u8]| memchr::memmem::find(chunk, needle).is_some();
        has(br#""type":"message_stop""#) || has(b"\nevent: message_stop")
    }
}

/// Path endings, on the API itself, on Vertex and of Bedrock's InvokeModel.
const ENDINGS: [(&str, Call); 8] = [
    ("/messages", Call::Messages),
    ("/messages/count_tokens", Call::CountTokens),
    ("/messages/batches", Call::Other),
    ("/count-tokens:rawPredict", Call::CountTokens),
    (":rawPredict", Call::Messages),
    (":streamRawPredict", Call::Messages),
    (INVOKE[0], Call::Messages),
    (INVOKE[1], Call::Messages),
];

/// Bedrock's InvokeModel, which takes the body of any model's own API.
const INVOKE: [&str; 2] = ["/invoke", "/invoke-with-response-stream"];

fn is_invoke(path: &str) -> bool {
    INVOKE.iter().any(|ending| path.ends_with(ending))
}

/// The member by which a body says that it is for this API, where the path names the model.
const VERSION: &str = "anthropic_version";

/// Reads a messages request.
pub fn parse(body: &Bytes, context: &Context<'_>, known: Option<&Request>) -> Result<Request, Fault> {
    let mut reader = Reader::new(body, context, known, NAMES);
    let (mut found, attribution) = (false, context.attribution);
    // Where the path names the model, it may be any model.
    let mut ours = context.model.is_none();
    if !ours && memchr::memmem::find(body, VERSION.as_bytes()).is_none() {
        return Err(Fault::Foreign);
    }
    reader.members(|reader, name, member| match name {
        VERSION => {
            ours = true;
            reader.skip().map(drop)
        }
        "messages" => {
            found = true;
            messages(reader)
        }
        "system" => system(reader, member, attribution),
        "tools" => reader.tools(|tool, cursor| tool.text(cursor, b"name")),
        "model" => reader.model(),
        "metadata" => metadata(reader),
        "cache_control" => reader.automatic_marker(),
        "thread" => {
            reader.request.server_state = true;
            reader.skip().map(drop)
        }
        name if RENDERED.contains(&name) => reader.param(name),
        _ => reader.skip().map(drop),
    })?;
    if !ours {
        return Err(Fault::Foreign);
    }
    if !found {
        return Err(Fault::Shape);
    }
    head::seal(&mut reader.request.head);
    reader.finish(said)
}

fn system(reader: &mut Reader<'_>, mut member: Member, attribution: bool) -> Result<(), Fault> {
    let start = reader.cursor.pos();
    match reader.cursor.peek()? {
        _ if reader.take_over_head(|known| is_read_so(known, attribution)) => {}
        b'"' => {
            let token = reader.cursor.string()?;
            reader.request.head.blocks.push(head::string(reader.src, token));
        }
        b'[' => blocks(reader, attribution)?,
        b'n' => reader.skip().map(drop)?,
        _ => return Err(Fault::Shape),
    }
    member.value = start..reader.cursor.pos();
    member.range.end = member.value.end;
    reader.request.layout.head_member = Some(member);
    Ok(())
}

fn blocks(reader: &mut Reader<'_>, attribution: bool) -> Result<(), Fault> {
    reader.cursor.pass(b'[')?;
    let mut first = true;
    while reader.cursor.element(&mut first)? {
        let envelope = Envelope::read(&mut reader.cursor)?;
        let is_first = reader.request.head.blocks.is_empty() && reader.request.head.attribution.is_none();
        let ttl = reader.note_marker(&envelope);
        reader.note_head_ttl(ttl);
        let block = head::block(reader.src, &envelope, &reader.cursor);
        if attribution && is_first && is_attribution(&block.frozen.texts) {
            reader.request.head.attribution = Some(envelope.range);
            continue;
        }
        let ordinal = reader.request.head.blocks.len() as u32;
        reader
            .request
            .head
            .markers
            .extend(envelope.marker.map(|marker| (ordinal, marker)));
        reader.request.head.blocks.push(block);
    }
    Ok(())
}

/// Whether a head was read as it is read where the provider strips attribution blocks, or does not.
fn is_read_so(head: &Head, attribution: bool) -> bool {
    let unread = head
        .blocks
        .first()
        .is_some_and(|block| is_attribution(&block.frozen.texts));
    if attribution {
        !unread
    } else {
        head.attribution.is_none()
    }
}

fn is_attribution(texts: &Option<Vec<String>>) -> bool {
    texts
        .as_ref()
        .and_then(|texts| texts.first())
        .is_some_and(|text| text.starts_with(ATTRIBUTION))
}

fn messages(reader: &mut Reader<'_>) -> Result<(), Fault> {
    let start = reader.cursor.pos();
    if reader.cursor.peek()? != b'[' {
        return Err(Fault::Shape);
    }
    reader.cursor.pass(b'[')?;
    let (mut first, mut ordinal) = (true, 0);
    while reader.cursor.element(&mut first)? {
        if !reader.take_over_message(ordinal, &mut false) {
            message(reader, ordinal)?;
        }
        ordinal += 1;
    }
    reader.request.signed_thinking = reader
        .request
        .history
        .iter()
        .any(|item| item.mark.kind == Kind::Thinking);
    reader.request.layout.messages_array = start..reader.cursor.pos();
    Ok(())
}

fn message(reader: &mut Reader<'_>, ordinal: usize) -> Result<(), Fault> {
    let envelope = Envelope::read(&mut reader.cursor)?;
    let role_name = envelope.word(&reader.cursor, b"role").ok_or(Fault::Shape)?;
    let role = match role_name {
        "user" => Role::User,
        "assistant" => Role::Assistant,
        "system" => Role::Operator,
        _ => return Err(Fault::Shape),
    };
    let marker_ttl = reader.note_marker(&envelope);
    let extra = blocks::extra(reader, &envelope);
    let start = reader.request.history.len();
    match &envelope.content {
        Content::Blocks(_, blocks) if !blocks.is_empty() => {
            for (index, block) in blocks.iter().enumerate() {
                let context: &[&[u8]] = if index == 0 {
                    &[role_name.as_bytes(), &extra]
                } else {
                    &[role_name.as_bytes(), b""]
                };
                let digests = block.digests(reader.src, context, &mut reader.scratch);
                let kind = kind(block.word(&reader.cursor, b"type").unwrap_or_default(), role);
                blocks::push(
                    reader,
                    block.range.clone(),
                    digests,
                    (role, kind),
                    (ordinal, Some(index)),
                );
            }
        }
        content => {
            let digests = whole(reader, content, role_name, &extra);
            blocks::push(
                reader,
                envelope.range.clone(),
                digests,
                (role, Kind::Content),
                (ordinal, None),
            );
        }
    }
    let items = start..reader.request.history.len();
    let content = body::content(&envelope);
    reader.request.layout.messages.push(Message {
        range: envelope.range,
        content,
        role,
        items,
        marker_ttl,
    });
    Ok(())
}

/// A message that is one item: a string is the text block that it stands for.
fn whole(reader: &mut Reader<'_>, content: &Content, role: &str, extra: &[u8]) -> Digests {
    let text = match content {
        Content::Text(token) => [br#"{"type":"text","text":"#, &reader.src[token.clone()], b"}"].concat(),
        _ => Vec::new(),
    };
    let context: &[&[u8]] = &[role.as_bytes(), extra];
    let wire = envelope::digest(context, &[&text]);
    let mut cursor = Cursor::new(&text, 0);
    let loose = !text.is_empty() && (cursor.value().is_err() || cursor.loose);
    reader.scratch.clear();
    let (canonical, len) =
        match loose && canonical::write_envelope(&text, 0..text.len(), &mut reader.scratch).is_ok() {
            true => (
                envelope::digest(context, &[&reader.scratch]),
                reader.scratch.len(),
            ),
            false => (wire, text.len()),
        };
    Digests {
        wire: crate::prefix::digest::Wire(wire),
        canonical: crate::prefix::digest::Canonical(canonical),
        len: (len + extra.len()) as u32,
    }
}

fn kind(name: &str, role: Role) -> Kind {
    match name {
        "tool_use" => Kind::ToolCall,
        "tool_result" => Kind::ToolResult,
        "thinking" | "redacted_thinking" => Kind::Thinking,
        // web_search_tool_result, code_execution_tool_result, ...: run by the provider, in the assistant's turn.
        name if role == Role::Assistant && name.ends_with("_tool_result") => Kind::ServerToolResult,
        _ => Kind::Content,
    }
}

fn metadata(reader: &mut Reader<'_>) -> Result<(), Fault> {
    let value = reader.skip()?;
    let mut cursor = Cursor::new(&reader.src[..value.end], value.start);
    if cursor.peek()? != b'{' {
        return Ok(());
    }
    let envelope = Envelope::read(&mut cursor)?;
    let user = envelope.text(&cursor, b"user_id").filter(|text| !text.is_empty());
    let session = user.map(|text| crate::prefix::digest::Digest::of("inkfast hint v1", text.as_bytes()));
    reader.request.hints.session = reader.request.hints.session.or(session);
    Ok(())
}

/// The text and the call ids of the blocks of a message.
fn said(src: &[u8], ranges: &[Range<usize>]) -> Option<Said> {
    let mut said = Said {
        text: String::new(),
        calls: Vec::new(),
    };
    for range in ranges {
        let mut cursor = Cursor::new(&src[..range.end], range.start);
        let envelope = Envelope::read(&mut cursor).ok()?;
        match (envelope.word(&cursor, b"type"), &envelope.content) {
            (Some("text"), _) => said.text.push_str(&envelope.text(&cursor, b"text")?),
            (Some("tool_use"), _) => said.calls.extend(envelope.text(&cursor, b"id")),
            (_, Content::Text(token)) => said
                .text
                .push_str(&canonical::decode_string(&src[token.clone()])?),
            _ => {}
        }
    }
    Some(said)
}
