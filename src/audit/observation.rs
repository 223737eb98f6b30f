//! What is known of one request of a recording: both verdicts, what a break cost, what the provider said.

use std::sync::Arc;

use uuid::Uuid;

use super::exchange::Source;
use crate::prefix::Verdict;
use crate::route::{diagnosis::Diagnosis, loss::Loss, warmth::Miss};
use crate::wire::{format::Format, usage::Usage};

/// One request of a recording, judged.
#[derive(Clone, Debug)]
pub struct Observation {
    /// Where it stands.
    pub source: Source,
    /// Its number in the audit, from 1.
    pub number: u64,
    /// When it was sent, in milliseconds since the epoch.
    pub at_ms: Option<u64>,
    /// The host or the upstream's name; empty where nothing says it.
    pub upstream: Arc<str>,
    /// The wire format.
    pub format: Format,
    /// The model.
    pub model: Option<Arc<str>>,
    /// The conversation that it belongs to: the number in the audit of the conversation's first request.
    pub conversation: u64,
    /// The number in the audit of the request that it continues.
    pub continues: Option<u64>,
    /// The client's history items.
    pub items: usize,
    /// What the client did to its own prefix.
    pub received: Judged,
    /// What left did to what left before. Equal to `received` where nothing between changed a body.
    pub sent: Judged,
    /// The prompt as it left, front to back, cut by what became of it.
    pub strip: Vec<Segment>,
    /// The token counts of its answer.
    pub usage: Option<Usage>,
    /// Why the provider's cache missed an intact prefix.
    pub miss: Option<Miss>,
    /// What the vendor itself found, beside our verdict.
    pub diagnoses: Vec<Diagnosis>,
    /// No answer was recorded, or it was no good one: it is no predecessor of anything.
    pub failed: bool,
}

/// A verdict with what it is worth.
#[derive(Clone, Debug)]
pub struct Judged {
    /// The verdict.
    pub verdict: Verdict,
    /// Both sides of the first changed item.
    pub before: Option<Side>,
    /// The later one.
    pub after: Option<Side>,
    /// What the break lost; nothing where there was none.
    pub loss: Loss,
}

/// One side of a changed item.
#[derive(Clone, Debug, PartialEq)]
pub struct Side {
    /// The item's id: equal items have equal ids.
    pub id: Uuid,
    /// Byte offset in the body of the first byte that differs.
    pub offset: u64,
    /// Bytes of the item that differ, from there on.
    pub bytes: u64,
    /// A bounded window of the text around them, with the offset of the difference in it; only where content was asked
    /// for.
    pub window: Option<(String, usize)>,
}

/// A run of bytes of the prompt that left.
#[derive(Clone, Debug, PartialEq)]
pub struct Segment {
    /// What became of it.
    pub share: Share,
    /// Bytes in normal form.
    pub bytes: u64,
    /// The first item of the run: `tools[0]:read_file`, `messages[12]`.
    pub item: String,
}

/// What became of a run of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Share {
    /// Stands as it was sent before.
    Stable,
    /// Was not sent before.
    New,
    /// Was sent before, and must be read again: it stands behind a break, or is what broke.
    Broken,
    /// Added by the proxy.
    Node,
}
