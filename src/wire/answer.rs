//! Reads a response on the side: usage, id, the vendor's diagnostics, and the answer that a later request carries on.
//!
//! A [`Reader`] takes a JSON body or an event stream in any pieces and never fails: what it cannot read is missing
//! from the [`Reading`]. Memory is bounded. The answer serves as evidence that two requests belong together, so it is
//! given only where the whole of it was seen: a stream that was cut, failed or had an unreadable event has none.

mod diagnostics;
mod draft;
pub(in crate::wire) mod field;

pub use diagnostics::{CacheMiss, Diagnostics, MissReason, Transformation};
pub use draft::Draft;

use super::{
    Framing, Part,
    array::ArrayParser,
    eventstream::{self, EventStreamParser},
    format::Format,
    ndjson::LineParser,
    sse::SseParser,
    usage::Usage,
};

/// The largest JSON body, and the largest event of a stream, that is read.
pub const MAX_BODY: usize = 8 << 20;
/// The largest text of an answer that is kept, in bytes.
pub const MAX_TEXT: usize = 1 << 20;

/// What a response says about itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// Token counts; `None` where the response has none, which is not zero.
    pub usage: Option<Usage>,
    /// The response's id.
    pub id: Option<String>,
    /// The model that answered, as the provider names it.
    pub model: Option<String>,
    /// Why the answer ended: `finish_reason` or `stop_reason`.
    pub stop: Option<String>,
    /// What the assistant said; `None` where it is in doubt.
    pub answer: Option<Answer>,
    /// What the vendor itself says about cache and prefix.
    pub diagnostics: Diagnostics,
    /// An error came in place of the answer or in the middle of the stream.
    pub errored: bool,
    /// The body, or an event, was too large to be read.
    pub truncated: bool,
}

/// The assistant's answer, as a client puts it into its next request.
///
/// Reasoning, refusals and the arguments of calls are no part of it: clients drop and reshape them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// All text blocks of the first choice, joined without a separator; at most [`MAX_TEXT`] bytes.
    pub text: String,
    /// The ids of the tool calls, in order, or what calls without ids are known by; tools that the provider runs itself
    /// do not count.
    pub call_ids: Vec<String>,
    /// Whether nothing was left out for size.
    pub complete: bool,
}

/// Accumulates one response.
#[derive(Debug)]
pub struct Reader {
    format: Format,
    input: Input,
    draft: Draft,
}

#[derive(Debug)]
enum Input {
    Events(SseParser),
    Lines(LineParser),
    Array(ArrayParser),
    EventStream(EventStreamParser),
    Body(Vec<u8>),
}

impl Reader {
    /// A reader for a response in `format` that is cut into parts by `framing`.
    pub fn new(format: Format, framing: Framing) -> Self {
        let input = match framing {
            Framing::Events => Input::Events(SseParser::new(MAX_BODY)),
            Framing::Lines => Input::Lines(LineParser::new(MAX_BODY)),
            Framing::Array => Input::Array(ArrayParser::new(MAX_BODY)),
            Framing::EventStream => Input::EventStream(EventStreamParser::new(MAX_BODY)),
            Framing::Body => Input::Body(Vec::new()),
        };
        Self {
            format,
            input,
            draft: Draft::default(),
        }
    }

    /// Takes the next bytes of the response, content encodings undone.
    pub fn push(&mut self, bytes: &[u8]) {
        let (format, draft) = (self.format, &mut self.draft);
        match &mut self.input {
            Input::Events(parser) => parser.push(bytes, |event| on_event(format, draft, event)),
            Input::Lines(parser) => parser.push(bytes, |line| on_value(format, draft, line)),
            Input::Array(parser) => parser.push(bytes, |value| on_value(format, draft, value)),
            Input::EventStream(parser) => parser.push(bytes, |event| on_message(format, draft, event)),
            Input::Body(_) if draft.reading.truncated => {}
            Input::Body(body) if body.len() + bytes.len() > MAX_BODY => {
                *body = Vec::new();
                draft.reading.truncated = true;
            }
            Input::Body(body) => body.extend_from_slice(bytes),
        }
    }

    /// Takes one event that came by itself, as over a WebSocket.
    pub fn event(&mut self, data: &[u8]) {
        self.format.wire().usage(&mut self.draft, Part::Event(data));
    }

    /// Ends the response, by its own end or because it was cut.
    pub fn finish(mut self) -> Reading {
        let (format, draft) = (self.format, &mut self.draft);
        match self.input {
            Input::Events(mut parser) => {
                parser.finish(|event| on_event(format, draft, event));
                draft.reading.truncated |= parser.skipped() > 0;
            }
            Input::Lines(mut parser) => {
                parser.finish(|line| on_value(format, draft, line));
                draft.reading.truncated |= parser.skipped() > 0;
            }
            Input::Array(mut parser) => {
                parser.finish();
                draft.reading.truncated |= parser.skipped() > 0;
            }
            Input::EventStream(mut parser) => {
                parser.finish();
                draft.reading.truncated |= parser.skipped() > 0;
            }
            Input::Body(body) => format.wire().usage(draft, Part::Body(&body)),
        }
        self.draft.finish(format)
    }
}

fn on_event(format: Format, draft: &mut Draft, event: super::sse::Event<'_>) {
    if event.event == Some("error") {
        draft.reading.errored = true;
        return;
    }
    format.wire().usage(draft, Part::Event(event.data));
}

fn on_value(format: Format, draft: &mut Draft, value: &[u8]) {
    format.wire().usage(draft, Part::Event(value));
}

/// An exception ends the stream. A `chunk` is the envelope of an event that is the model's own.
fn on_message(format: Format, draft: &mut Draft, message: eventstream::Event<'_>) {
    if message.message_type.is_some_and(|kind| kind != "event") {
        draft.reading.errored = true;
        return;
    }
    if message.event_type != Some("chunk") {
        return format.wire().usage(draft, Part::Event(message.payload));
    }
    match eventstream::chunk(message.payload) {
        Some(inner) => format.wire().usage(draft, Part::Event(&inner)),
        None => draft.doubt(),
    }
}
