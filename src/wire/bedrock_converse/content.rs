//! The messages: their blocks as items, and what an item says.

use std::ops::Range;

use crate::prefix::digest::{Canonical, Wire};
use crate::prefix::item::{Item, Kind, Message, Role};
use crate::wire::blocks;
use crate::wire::body::{self, Reader, Said};
use crate::wire::canonical;
use crate::wire::envelope::{self, Content, Digests, Envelope};
use crate::wire::scan::{Cursor, Fault};

/// Reads the array of messages.
pub fn messages(reader: &mut Reader<'_>) -> Result<(), Fault> {
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
    let thinks = |item: &Item| item.mark.kind == Kind::Thinking;
    reader.request.signed_thinking = reader.request.history.iter().any(thinks);
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
    let Content::Blocks(_, elements) = &envelope.content else {
        return Err(Fault::Shape);
    };
    let extra = blocks::extra(reader, &envelope);
    let start = reader.request.history.len();
    let mut marker_ttl = None;
    for element in elements {
        if element.is_marker(&reader.cursor) {
            marker_ttl = marker_ttl.max(reader.note_marker_block(element));
            close_behind(reader, start, element.range.end);
            continue;
        }
        let index = reader.request.history.len() - start;
        let extra: &[u8] = if index == 0 { &extra } else { b"" };
        let context: &[&[u8]] = &[role_name.as_bytes(), extra];
        let digests = element.digests(reader.src, context, &mut reader.scratch);
        let kind = kind(element, &reader.cursor, role);
        let place = (ordinal, Some(index));
        blocks::push(reader, element.range.clone(), digests, (role, kind), place);
    }
    if reader.request.history.len() == start {
        let digests = nothing(role_name, &extra);
        let range = envelope.range.clone();
        blocks::push(reader, range, digests, (role, Kind::Content), (ordinal, None));
    }
    let content = body::content(&envelope);
    let items = start..reader.request.history.len();
    reader.request.layout.messages.push(Message {
        range: envelope.range,
        content,
        role,
        items,
        marker_ttl,
    });
    Ok(())
}

/// The marker behind an item of this message goes with it: what is put behind the item stands behind both.
fn close_behind(reader: &mut Reader<'_>, start: usize, end: usize) {
    if let Some(item) = reader.request.history[start..].last_mut() {
        item.range.end = end;
    }
}

/// A message that says nothing is one item.
fn nothing(role: &str, extra: &[u8]) -> Digests {
    let digest = envelope::digest(&[role.as_bytes(), extra], &[]);
    Digests {
        wire: Wire(digest),
        canonical: Canonical(digest),
        len: extra.len() as u32,
    }
}

fn kind(block: &Envelope, cursor: &Cursor<'_>, role: Role) -> Kind {
    let Some((name, value)) = block.only(cursor) else {
        return Kind::Content;
    };
    match name {
        // A tool that the provider runs itself answers in the assistant's turn.
        b"toolUse" if is_server_tool(cursor, value) => Kind::Content,
        b"toolUse" => Kind::ToolCall,
        b"toolResult" if role == Role::Assistant => Kind::ServerToolResult,
        b"toolResult" => Kind::ToolResult,
        b"reasoningContent" => Kind::Thinking,
        _ => Kind::Content,
    }
}

fn is_server_tool(cursor: &Cursor<'_>, value: Range<usize>) -> bool {
    let mut inner = Cursor::new(cursor.slice(&(0..value.end)), value.start);
    let call = Envelope::read(&mut inner);
    call.is_ok_and(|call| call.word(&inner, b"type") == Some("server_tool_use"))
}

/// The text and the call ids of the items of a message.
pub fn said(src: &[u8], ranges: &[Range<usize>]) -> Option<Said> {
    let mut said = Said {
        text: String::new(),
        calls: Vec::new(),
    };
    for range in ranges {
        let mut cursor = Cursor::new(&src[..range.end], range.start);
        let block = Envelope::read(&mut cursor).ok()?;
        let Some((name, value)) = block.only(&cursor) else {
            continue;
        };
        match name {
            b"text" => said
                .text
                .push_str(&canonical::decode_string(cursor.slice(&value))?),
            b"toolUse" if !is_server_tool(&cursor, value.clone()) => {
                let mut inner = Cursor::new(&src[..value.end], value.start);
                let call = Envelope::read(&mut inner).ok()?;
                said.calls.extend(call.text(&inner, b"toolUseId"));
            }
            b"citationsContent" => said.text.push_str(&texts(src, value)),
            _ => {}
        }
    }
    Some(said)
}

/// The texts inside a block that has a content of its own.
fn texts(src: &[u8], value: Range<usize>) -> String {
    let mut cursor = Cursor::new(&src[..value.end], value.start);
    match Envelope::read(&mut cursor).map(|inner| inner.content) {
        Ok(Content::Blocks(_, blocks)) => blocks
            .iter()
            .filter_map(|block| block.text(&cursor, b"text"))
            .collect(),
        _ => String::new(),
    }
}
