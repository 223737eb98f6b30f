//! Ollama's own API.
//!
//! `/api/chat` has the messages of Chat Completions, with two differences: a tool call has its arguments as an object,
//! and no id that its result would name. `/api/generate` is one prompt, behind which the server puts what it keeps of
//! earlier ones (`context`): nothing can be appended there, and only its answer's counts are read
//! (ollama/ollama fb30760, docs/api.md).

mod answer;

use std::ops::Range;

use bytes::Bytes;

use crate::prefix::item::{HeadForm, Kind, Names, Request};

use super::answer::Draft;
use super::body::{Context, Reader, Said};
use super::call;
use super::envelope::Envelope;
use super::openai_chat;
use super::scan::{Cursor, Fault};
use super::{Call, Framing, Part, Shapes, Wire};

const NAMES: Names = Names {
    form: HeadForm::Blocks,
    head: None,
    history: "messages",
    blocks: None,
};

/// Path endings; the first that fits wins.
const ENDINGS: &[(&str, Call)] = &[
    ("/api/chat", Call::Messages),
    ("/api/generate", Call::Messages),
    ("/api/embed", Call::Other),
    ("/api/embeddings", Call::Other),
    ("/api/ps", Call::Other),
    ("/api/pull", Call::Other),
    ("/api/show", Call::Other),
    ("/api/tags", Call::Other),
    ("/api/version", Call::Other),
];

/// The format.
pub struct Ollama;

impl Wire for Ollama {
    fn matches(&self, path: &str) -> Option<Call> {
        Call::by_ending(path, ENDINGS)
    }

    fn parse(&self, body: &Bytes, context: &Context<'_>, known: Option<&Request>) -> Result<Request, Fault> {
        parse(body, context, known)
    }

    fn shapes(&self) -> &'static Shapes {
        &Shapes::PLAIN
    }

    fn framing(&self, content_type: &str) -> Framing {
        match content_type {
            "application/x-ndjson" => Framing::Lines,
            _ => Framing::Body,
        }
    }

    fn usage(&self, draft: &mut Draft, part: Part<'_>) {
        let (Part::Event(data) | Part::Body(data)) = part;
        answer::line(draft, data);
    }

    fn is_last(&self, chunk: &[u8]) -> bool {
        answer::is_last(chunk)
    }
}

/// Reads a request of either endpoint.
pub fn parse(body: &Bytes, context: &Context<'_>, known: Option<&Request>) -> Result<Request, Fault> {
    let mut reader = Reader::new(body, context, known, NAMES);
    let (mut found, mut prompt) = (false, false);
    reader.members(|reader, name, _| match name {
        "messages" => {
            found = true;
            openai_chat::messages(reader, Kind::UnnamedCall)
        }
        "prompt" | "context" => {
            prompt = true;
            reader.skip().map(drop)
        }
        "tools" => openai_chat::tools(reader),
        "model" => reader.model(),
        "think" => reader.param("think"),
        "options" => options(reader),
        _ => reader.skip().map(drop),
    })?;
    reader.request.server_state = prompt && !found;
    if !found && !prompt {
        return Err(Fault::Shape);
    }
    reader.finish(said)
}

/// Another size of the context loads the model anew, with an empty cache; the other options are not rendered.
fn options(reader: &mut Reader<'_>) -> Result<(), Fault> {
    if reader.cursor.peek()? != b'{' {
        return reader.skip().map(drop);
    }
    reader.cursor.pass(b'{')?;
    let mut first = true;
    while let Some(name) = reader.cursor.key(&mut first)? {
        match &reader.src[name] {
            b"num_ctx" => reader.param("options.num_ctx")?,
            _ => reader.skip().map(drop)?,
        }
    }
    Ok(())
}

/// The text and the calls of a message.
fn said(src: &[u8], ranges: &[Range<usize>]) -> Option<Said> {
    let mut said = openai_chat::said_with(src, ranges, called)?;
    // The reader of an answer takes the second of two equal calls for a repetition, too.
    let mut known: Vec<String> = Vec::new();
    said.calls.retain(|call| {
        let new = !known.contains(call);
        if new {
            known.push(call.clone());
        }
        new
    });
    Some(said)
}

fn called(envelope: &Envelope, cursor: &Cursor<'_>) -> Option<String> {
    call::name_of(cursor.slice(&envelope.get(cursor, b"function")?))
}
