//! The answer while it is being read.

use super::{Answer, MAX_TEXT, Reading};
use crate::wire::{format::Format, usage::Counts};

/// More tool calls than one answer can have.
const MAX_CALLS: usize = 1024;

/// What was read so far.
#[derive(Debug, Default)]
pub struct Draft {
    /// The parts that stand by themselves; `usage` and `answer` are filled at the end.
    pub(in crate::wire) reading: Reading,
    pub(in crate::wire) counts: Counts,
    text: String,
    /// Position, where the server gives one, and id of each call.
    calls: Vec<(Option<u64>, String)>,
    overflow: bool,
    ended: bool,
    doubt: bool,
}

impl Draft {
    /// Adds text of the answer.
    pub(in crate::wire) fn text(&mut self, part: &str) {
        if self.overflow {
            return;
        }
        let room = floor_char_boundary(part, MAX_TEXT - self.text.len());
        self.overflow = room < part.len();
        self.text.push_str(&part[..room]);
    }

    /// Adds a tool call, unless an earlier piece of the stream named it.
    pub(in crate::wire) fn call(&mut self, position: Option<u64>, id: String) {
        if self.calls.iter().any(|(_, known)| *known == id) {
            return;
        }
        if self.calls.len() == MAX_CALLS {
            self.overflow = true;
        } else {
            self.calls.push((position, id));
        }
    }

    /// Nothing was said yet.
    pub(in crate::wire) fn is_silent(&self) -> bool {
        self.text.is_empty() && self.calls.is_empty()
    }

    /// The provider said that the answer is complete.
    pub(in crate::wire) fn end(&mut self) {
        self.ended = true;
    }

    /// Something of the answer could not be read.
    pub(in crate::wire) fn doubt(&mut self) {
        self.doubt = true;
    }

    pub(in crate::wire) fn finish(mut self, format: Format) -> Reading {
        let mut reading = self.reading;
        reading.usage = self.counts.usage(format);
        if self.ended && !self.doubt && !reading.errored && !reading.truncated {
            // Stable: calls of servers that give all of them one position stay as they came.
            self.calls.sort_by_key(|(position, _)| *position);
            reading.answer = Some(Answer {
                text: self.text,
                call_ids: self.calls.into_iter().map(|(_, id)| id).collect(),
                complete: !self.overflow,
            });
        }
        reading
    }
}

/// The last character boundary of `text` that is not behind `limit`.
fn floor_char_boundary(text: &str, limit: usize) -> usize {
    let mut places = (0..=limit.min(text.len())).rev();
    places.find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}
