//! Google's `generateContent`, on the Gemini API and on Vertex AI.
//!
//! Prefix order: tools, the system instruction, contents (Google documents none; the order is that of other
//! providers). An item is a part with its role. Keys come in camelCase and in snake_case; both are read, by both
//! servers' JSON mapping of protocol buffers (protobuf.dev, "ProtoJSON format", 2026-11-30).

mod answer;
mod tools;

use std::ops::Range;

use bytes::Bytes;

use crate::prefix::item::{Content, HeadForm, Kind, Member, Message, Names, Request, Role};

use super::answer::Draft;
use super::blocks;
use super::body::{Context, Reader, Said};
use super::call;
use super::canonical;
use super::envelope::{self, Digests, Envelope};
use super::head;
use super::scan::{Cursor, Fault};
use super::{Call, Framing, Part, Shapes, Wire};

/// Members of `generationConfig` that change the rendered prefix: a schema is told to the model, a thinking level
/// selects its mode, and the resolution decides how many tokens an image is (ai.google.dev, "Structured outputs",
/// "Thinking", "Media resolution", 2026-11-30).
const RENDERED: [[&str; 2]; 6] = [
    ["responseSchema", "response_schema"],
    ["responseJsonSchema", "response_json_schema"],
    ["responseMimeType", "response_mime_type"],
    ["responseModalities", "response_modalities"],
    ["thinkingConfig", "thinking_config"],
    ["mediaResolution", "media_resolution"],
];

const NAMES: Names = Names {
    form: HeadForm::Value,
    head: Some("systemInstruction"),
    history: "contents",
    blocks: Some("parts"),
};

const SHAPES: Shapes = Shapes {
    message: [r#"{"role":""#, r#"","parts":[{"text":"#, "}]}"],
    block: [r#"{"text":"#, "}"],
};

/// Path endings; the first that fits wins.
const ENDINGS: &[(&str, Call)] = &[
    (":generateContent", Call::Messages),
    (":streamGenerateContent", Call::Messages),
    (":countTokens", Call::CountTokens),
    ("/cachedContents", Call::Other),
    ("/interactions", Call::Other),
];

/// The format.
pub struct Gemini;

impl Wire for Gemini {
    fn matches(&self, path: &str) -> Option<Call> {
        let call = Call::by_ending(path, ENDINGS)?;
        // The Gemini API counts contents alone, or a request that is wrapped: no head may be put in, so its counts go
        // unread (ai.google.dev/api/tokens, 2026-11-30). Vertex takes a head beside the contents.
        let counts_alone = call == Call::CountTokens && !path.contains("/publishers/");
        Some(if counts_alone { Call::Other } else { call })
    }

    fn parse(&self, body: &Bytes, context: &Context<'_>, known: Option<&Request>) -> Result<Request, Fault> {
        parse(body, context, known)
    }

    fn model(&self, path: &str) -> Option<String> {
        call::model_in_path(path)
    }

    fn shapes(&self) -> &'static Shapes {
        &SHAPES
    }

    /// Without `alt=sse` a stream is one JSON array; an answer in one piece is an object.
    fn framing(&self, content_type: &str) -> Framing {
        match content_type {
            "text/event-stream" => Framing::Events,
            _ => Framing::Array,
        }
    }

    fn usage(&self, draft: &mut Draft, part: Part<'_>) {
        let (Part::Event(data) | Part::Body(data)) = part;
        answer::chunk(draft, data);
    }

    /// Counts may come behind the chunk with the finish reason, and nothing marks the last one.
    fn is_last(&self, _chunk: &[u8]) -> bool {
        false
    }
}

/// Reads a generation request.
pub fn parse(body: &Bytes, context: &Context<'_>, known: Option<&Request>) -> Result<Request, Fault> {
    let mut reader = Reader::new(body, context, known, NAMES);
    let (mut found, mut cached) = (false, None);
    reader.members(|reader, name, member| match name {
        "contents" => {
            found = true;
            contents(reader)
        }
        "systemInstruction" | "system_instruction" => system(reader, member),
        "cachedContent" | "cached_content" => {
            let twice = cached.replace(value_of(reader, member)?).is_some();
            if twice { Err(Fault::DuplicateKey) } else { Ok(()) }
        }
        "tools" => tools::read(reader),
        "toolConfig" | "tool_config" => reader.param("toolConfig"),
        "generationConfig" | "generation_config" => generation(reader),
        "model" if reader.request.model.is_none() => reader.model(),
        _ => reader.skip().map(drop),
    })?;
    if !found {
        return Err(Fault::Shape);
    }
    if let Some(member) = cached {
        cached_content(&mut reader, member);
    }
    head::seal(&mut reader.request.head);
    let mut request = reader.finish(said)?;
    request.signed_thinking = SIGNATURES.iter().any(|name| has(&request, name));
    Ok(request)
}

/// The key of a part's signature; inside a string its quotes would be escaped.
const SIGNATURES: [&[u8]; 2] = [b"\"thoughtSignature\"", b"\"thought_signature\""];

fn has(request: &Request, name: &[u8]) -> bool {
    let contents = &request.body[request.layout.messages_array.clone()];
    memchr::memmem::find(contents, name).is_some()
}

fn value_of(reader: &mut Reader<'_>, mut member: Member) -> Result<Member, Fault> {
    member.value = reader.skip()?;
    member.range.end = member.value.end;
    Ok(member)
}

/// The system instruction is one block: a content, whose role says nothing.
fn system(reader: &mut Reader<'_>, mut member: Member) -> Result<(), Fault> {
    if reader.request.layout.head_member.is_some() {
        return Err(Fault::DuplicateKey);
    }
    let start = reader.cursor.pos();
    match reader.cursor.peek()? {
        _ if reader.take_over_head(|known| known.blocks.len() == 1) => {}
        b'{' => {
            let content = Turn::read(reader)?;
            let block = instruction(reader, &content);
            reader.request.head.blocks.push(block);
        }
        b'n' => reader.skip().map(drop)?,
        _ => return Err(Fault::Shape),
    }
    member.value = start..reader.cursor.pos();
    member.range.end = member.value.end;
    reader.request.layout.head_member = Some(member);
    Ok(())
}

fn instruction(reader: &Reader<'_>, content: &Turn) -> crate::prefix::item::HeadBlock {
    let text = |part: &Envelope| {
        let alone = part.members.len() == 1;
        part.text(&reader.cursor, b"text").filter(|_| alone)
    };
    let texts = content.parts.iter().map(text).collect();
    let mut normal = content.extra.clone();
    for part in &content.parts {
        if canonical::write_envelope(reader.src, part.range.clone(), &mut normal).is_err() {
            normal.extend_from_slice(&reader.src[part.range.clone()]);
        }
    }
    head::value(reader.src, content.range.clone(), &normal, texts)
}

/// What the provider keeps under a name stands in front of all: a head that cannot be read. Nothing but contents may
/// stand beside it.
fn cached_content(reader: &mut Reader<'_>, member: Member) {
    let value = member.value.clone();
    if &reader.src[value.clone()] == b"null" {
        return;
    }
    let mut normal = Vec::new();
    if canonical::write_value(reader.src, value.clone(), &mut normal).is_err() {
        normal = reader.src[value.clone()].to_vec();
    }
    let block = head::value(reader.src, value, &normal, None);
    reader.request.head.blocks.push(block);
    if reader.request.layout.head_member.is_none() {
        reader.request.layout.head_member = Some(member);
        reader.request.names.head = Some("cachedContent");
    }
}

/// The rendered ones among the generation settings, each a parameter of its own.
fn generation(reader: &mut Reader<'_>) -> Result<(), Fault> {
    if reader.cursor.peek()? != b'{' {
        return reader.skip().map(drop);
    }
    reader.cursor.pass(b'{')?;
    let mut first = true;
    while let Some(name) = reader.cursor.key(&mut first)? {
        let name = &reader.src[name];
        let known = RENDERED
            .iter()
            .find(|spellings| spellings.iter().any(|spelling| spelling.as_bytes() == name));
        match known {
            Some([camel, _]) => reader.param(&format!("generationConfig.{camel}"))?,
            None => reader.skip().map(drop)?,
        }
    }
    Ok(())
}

fn contents(reader: &mut Reader<'_>) -> Result<(), Fault> {
    let start = reader.cursor.pos();
    if reader.cursor.peek()? != b'[' {
        // One content in the place of the array: nothing could be put beside it.
        return Err(Fault::Shape);
    }
    reader.cursor.pass(b'[')?;
    let (mut first, mut ordinal) = (true, 0);
    while reader.cursor.element(&mut first)? {
        if !reader.take_over_message(ordinal, &mut false) {
            content(reader, ordinal)?;
        }
        ordinal += 1;
    }
    reader.request.layout.messages_array = start..reader.cursor.pos();
    Ok(())
}

fn content(reader: &mut Reader<'_>, ordinal: usize) -> Result<(), Fault> {
    let turn = Turn::read(reader)?;
    let role = match turn.role.as_str() {
        "user" | "function" => Role::User,
        "model" => Role::Assistant,
        _ => return Err(Fault::Shape),
    };
    let first = reader.request.history.len();
    for (index, part) in turn.parts.iter().enumerate() {
        let extra: &[u8] = if index == 0 { &turn.extra } else { b"" };
        let digests = part.digests(reader.src, &[turn.role.as_bytes(), extra], &mut reader.scratch);
        let kind = kind(part, &reader.cursor, role);
        let place = (ordinal, Some(index));
        blocks::push(reader, part.range.clone(), digests, (role, kind), place);
    }
    if turn.parts.is_empty() {
        let digests = Digests::of_nothing(&[turn.role.as_bytes(), &turn.extra]);
        let place = (ordinal, None);
        blocks::push(reader, turn.range.clone(), digests, (role, Kind::Content), place);
    }
    let items = first..reader.request.history.len();
    reader.request.layout.messages.push(Message {
        range: turn.range,
        content: turn.layout,
        role,
        items,
        marker_ttl: None,
    });
    Ok(())
}

/// A content: who speaks, and the parts.
struct Turn {
    range: Range<usize>,
    /// As written; a content without a role is the user's.
    role: String,
    parts: Vec<Envelope>,
    /// Where blocks may be put: nowhere beside a part that stands without an array.
    layout: Content,
    /// The members beside role and parts, in normal form.
    extra: Vec<u8>,
}

impl Turn {
    fn read(reader: &mut Reader<'_>) -> Result<Self, Fault> {
        let src = reader.src;
        reader.cursor.peek()?;
        let mut turn = Self {
            range: reader.cursor.pos()..0,
            role: "user".to_owned(),
            parts: Vec::new(),
            layout: Content::Other,
            extra: Vec::new(),
        };
        reader.cursor.pass(b'{')?;
        let (mut first, mut seen) = (true, [false; 2]);
        while let Some(name) = reader.cursor.key(&mut first)? {
            let name = &src[name];
            let place = [&b"role"[..], b"parts"].iter().position(|known| *known == name);
            if let Some(place) = place
                && std::mem::replace(&mut seen[place], true)
            {
                return Err(Fault::DuplicateKey);
            }
            match name {
                b"role" => turn.speaker(&mut reader.cursor)?,
                b"parts" => turn.content(&mut reader.cursor)?,
                _ => envelope::write_extra(src, name, reader.cursor.value()?, &mut turn.extra),
            }
        }
        turn.range.end = reader.cursor.pos();
        Ok(turn)
    }

    fn speaker(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Fault> {
        let value = cursor.value()?;
        match canonical::decode_string(cursor.slice(&value)) {
            Some(role) if !role.is_empty() => self.role = role,
            Some(_) => {}
            None if cursor.slice(&value) == b"null" => {}
            None => return Err(Fault::Shape),
        }
        Ok(())
    }

    fn content(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Fault> {
        let start = cursor.pos();
        match cursor.peek()? {
            b'[' => {
                cursor.pass(b'[')?;
                let mut first = true;
                while cursor.element(&mut first)? {
                    self.parts.push(Envelope::read(cursor)?);
                }
                let ranges: Vec<_> = self.parts.iter().map(|part| part.range.clone()).collect();
                if !ranges.is_empty() {
                    self.layout = Content::Blocks(start..cursor.pos(), ranges);
                }
            }
            b'{' => self.parts.push(Envelope::read(cursor)?),
            b'n' => cursor.value().map(drop)?,
            _ => return Err(Fault::Shape),
        }
        Ok(())
    }
}

/// Both spellings of a part's member.
fn either(part: &Envelope, cursor: &Cursor<'_>, names: [&[u8]; 2]) -> Option<Range<usize>> {
    names.iter().find_map(|name| part.get(cursor, name))
}

const FUNCTION_CALL: [&[u8]; 2] = [b"functionCall", b"function_call"];
const FUNCTION_RESPONSE: [&[u8]; 2] = [b"functionResponse", b"function_response"];
const CODE_RESULT: [&[u8]; 2] = [b"codeExecutionResult", b"code_execution_result"];

fn kind(part: &Envelope, cursor: &Cursor<'_>, role: Role) -> Kind {
    let has = |names| either(part, cursor, names).is_some();
    if let Some(call) = either(part, cursor, FUNCTION_CALL) {
        let own = has([b"thoughtSignature", b"thought_signature"]) || call::has_id(cursor.slice(&call));
        return if own { Kind::ToolCall } else { Kind::UnnamedCall };
    }
    if has(FUNCTION_RESPONSE) {
        return Kind::ToolResult;
    }
    if is_thought(part, cursor) {
        return Kind::Thinking;
    }
    if role == Role::Assistant && has(CODE_RESULT) {
        return Kind::ServerToolResult;
    }
    Kind::Content
}

fn is_thought(part: &Envelope, cursor: &Cursor<'_>) -> bool {
    part.get(cursor, b"thought")
        .is_some_and(|value| cursor.slice(&value) == b"true")
}

/// The text and the calls of the parts of a content, thoughts left out.
fn said(src: &[u8], ranges: &[Range<usize>]) -> Option<Said> {
    let mut said = Said {
        text: String::new(),
        calls: Vec::new(),
    };
    for range in ranges {
        let mut cursor = Cursor::new(&src[..range.end], range.start);
        let part = Envelope::read(&mut cursor).ok()?;
        if is_thought(&part, &cursor) {
            continue;
        }
        if let Some(call) = either(&part, &cursor, FUNCTION_CALL) {
            let call = call::name_of(cursor.slice(&call))?;
            if !said.calls.contains(&call) {
                said.calls.push(call);
            }
        } else if let Some(response) = either(&part, &cursor, FUNCTION_RESPONSE) {
            said.text
                .push_str(&String::from_utf8_lossy(cursor.slice(&response)));
        } else if let Some(text) = part.get(&cursor, b"text") {
            said.text
                .push_str(&canonical::decode_string(cursor.slice(&text))?);
        }
    }
    Some(said)
}
