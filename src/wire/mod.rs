//! Wire formats: the API shapes that a request and its answer have. Pure: bytes in, values out.
//!
//! One file a format, with the reading of its answers beside it, behind one small trait; what they share (scanning,
//! normal forms, edits, event streams, usage) has files of its own. To add one: a file that implements [`Wire`], and
//! its row in the table of `format.rs`.

pub mod answer;
pub mod anthropic_messages;
pub mod array;
pub mod body;
pub mod canonical;
pub mod envelope;
pub mod eventstream;
pub mod format;
pub mod head;
pub mod lower;
pub mod ndjson;
pub mod openai_chat;
pub mod scan;
pub mod sse;
pub mod usage;

use bytes::Bytes;

use crate::prefix::edit::Overlap;
use crate::prefix::{Plan, Request};
use crate::prompt::TextMode;

use answer::Draft;
use lower::Lowered;

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

    /// The plan as edits of the body. The formats so far differ in names and places only, which are in the request.
    ///
    /// # Errors
    /// Two edits want the same bytes, which a sound plan never does.
    fn edits(&self, request: &Request, plan: &Plan, text: TextMode) -> Result<Lowered, Overlap> {
        lower::lower(request, plan, text)
    }

    /// Reads one part of an answer: its usage, and what the assistant said.
    fn usage(&self, draft: &mut Draft, part: Part<'_>);
}

/// What a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// An answer to a prompt.
    Messages,
    /// The number of tokens of a prompt; nothing is generated and nothing cached.
    CountTokens,
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
