//! Wire formats: the API shapes that a request and its answer have. Pure: bytes in, values out.
//!
//! One file a format, with the reading of its answers beside it, behind one small trait; what they share (scanning,
//! normal forms, edits, event streams, usage) has files of its own. To add one: a file that implements [`Wire`], and
//! its row in the table of `format.rs`.

pub mod answer;
pub mod anthropic_messages;
pub mod array;
pub mod ask;
pub mod bedrock_converse;
pub mod blocks;
pub mod body;
pub mod call;
pub mod canonical;
pub mod drift;
pub mod envelope;
pub mod eventstream;
pub mod format;
pub mod gemini;
pub mod head;
pub mod markers;
pub mod ndjson;
pub mod ollama;
pub mod openai_chat;
pub mod openai_responses;
pub mod path;
pub mod places;
pub mod plan_edits;
pub mod scan;
pub mod sse;
pub mod usage;

use bytes::Bytes;

use crate::prefix::edit::Overlap;
use crate::prefix::{Plan, Request};
use crate::prompt::TextMode;

use answer::Draft;
use plan_edits::PlanEdits;

/// What a wire format can do.
pub trait Wire: Sync {
    /// What a `POST` to this path (without query) asks for; none where the path is of another format.
    fn matches(&self, path: &str) -> Option<Call>;

    /// Cuts a body into items. `known` is an earlier body of the same conversation, if one is kept: what stands at
    /// the same place with the same bytes is taken over from it.
    ///
    /// # Errors
    /// The body cannot be read as this format without doubt; it passes through.
    fn parse(
        &self,
        body: &Bytes,
        context: &body::Context<'_>,
        known: Option<&Request>,
    ) -> Result<Request, scan::Fault>;

    /// The model, where the path names it instead of the body.
    fn model(&self, _path: &str) -> Option<String> {
        None
    }

    /// How a node is written.
    fn shapes(&self) -> &'static Shapes;

    /// The plan as edits of the body. The formats differ in names, places and shapes only.
    ///
    /// # Errors
    /// Two edits want the same bytes, which a sound plan never does.
    fn edits(&self, request: &Request, plan: &Plan, text: TextMode) -> Result<PlanEdits, Overlap> {
        plan_edits::plan_edits(request, plan, text, self.shapes())
    }

    /// How an answer of this content type (lower case, without parameters) is cut into parts.
    fn framing(&self, content_type: &str) -> Framing {
        match content_type {
            "text/event-stream" => Framing::Events,
            "application/vnd.amazon.eventstream" => Framing::EventStream,
            _ => Framing::Body,
        }
    }

    /// Whether a request may name the response that it goes on behind.
    fn goes_on_by_id(&self) -> bool {
        false
    }

    /// Reads one part of an answer: its usage, and what the assistant said.
    fn usage(&self, draft: &mut Draft, part: Part<'_>);

    /// Whether this chunk of a stream says that the answer is whole; `false` where in doubt: then its end does. Text
    /// about such an end must not be mistaken for it: inside an event's JSON, line ends and quotes are escaped.
    fn is_last(&self, chunk: &[u8]) -> bool;
}

/// Around a history that is one bare string: the message that it stands for.
pub const BARE: [&str; 2] = [r#"{"role":"user","content":"#, "}"];

/// The bytes around a node's text, which is a JSON string with its quotes.
#[derive(Clone, Copy, Debug)]
pub struct Shapes {
    /// A message of its own: in front of its role's name, behind it, behind the text.
    pub message: [&'static str; 3],
    /// A block: in front of the text, behind it.
    pub block: [&'static str; 2],
}

impl Shapes {
    /// The shapes of most formats: a content that is a string, blocks with a type.
    pub const PLAIN: Self = Self {
        message: [r#"{"role":""#, r#"","content":"#, "}"],
        block: [r#"{"type":"text","text":"#, "}"],
    };

    /// A message of `role` that says `text`, a JSON string.
    pub fn message(&self, role: &str, text: &str) -> String {
        let [front, middle, back] = self.message;
        [front, role, middle, text, back].concat()
    }

    /// A block that says `text`, a JSON string.
    pub fn block(&self, text: &[u8]) -> Vec<u8> {
        let [front, back] = self.block;
        [front.as_bytes(), text, back.as_bytes()].concat()
    }
}

/// How an answer is cut into parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// One JSON body.
    Body,
    /// Server-sent events.
    Events,
    /// One JSON value a line.
    Lines,
    /// A JSON array that grows, or the one object that stands in its place.
    Array,
    /// AWS's binary messages.
    EventStream,
}

/// What a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// An answer to a prompt.
    Messages,
    /// The number of tokens of a prompt; nothing is generated and nothing cached.
    CountTokens,
    /// A shorter history for a prompt: it is read from the cache as an answer would be, but is none.
    Compact,
    /// Anything else: it carries no prompt that would be sent again.
    Other,
}

/// A part of an answer.
#[derive(Clone, Copy, Debug)]
pub enum Part<'a> {
    /// The data of one event of a stream.
    Event(&'a [u8]),
    /// A whole JSON body.
    Body(&'a [u8]),
}

impl Call {
    /// The name in logs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Messages => "messages",
            Self::CountTokens => "count_tokens",
            Self::Compact => "compact",
            Self::Other => "other",
        }
    }

    /// The call of the first ending that `path` has.
    fn by_ending(path: &str, endings: &[(&str, Self)]) -> Option<Self> {
        endings
            .iter()
            .find(|(ending, _)| path.ends_with(ending))
            .map(|(_, call)| *call)
    }
}
