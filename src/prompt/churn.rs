//! The volatile-span finder: which bytes of a head change from request to request, how often, and of what kind.
//!
//! Pure, and of bounded memory: the last head and what was found so far. A span is followed through edits around it by
//! its place, and found again by its anchor: the text in front of it on its line, or the line above its list. Nothing of
//! the text comes out but [`Churn::label`], for those who were asked to show content.

mod changes;
mod kind;
mod line;

pub use kind::ChurnKind;

use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;

use changes::{Found, Page, Shift};

/// Bytes of a head that are looked at; what stands behind them is not followed.
const MAX_HEAD: usize = 512 * 1024;
/// Spans that are followed; later ones are not.
const MAX_SPANS: usize = 128;

/// A part of the head that changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChurnSpan {
    /// The block of the last head that it stands in.
    pub block: usize,
    /// Its bytes there; empty where the last head has none of it.
    pub range: Range<usize>,
    /// What kind of text it is.
    pub kind: ChurnKind,
    /// In how many requests it was another text than in the one before.
    pub changes: u32,
    /// How many requests were looked at.
    pub seen: u32,
    /// Digest of what it is known by: equal in other conversations with the same text around.
    pub anchor: u64,
}

/// The heads of one conversation, one after another.
#[derive(Clone, Debug, Default)]
pub struct Churn {
    head: Vec<String>,
    seen: u32,
    tracks: Vec<Track>,
}

/// A span that is followed.
#[derive(Clone, Debug)]
struct Track {
    block: usize,
    range: Range<usize>,
    kind: ChurnKind,
    changes: u32,
    anchor: u64,
    inline: bool,
}

impl Churn {
    /// Takes the head of the next request: the texts of its blocks.
    pub fn see(&mut self, head: &[String]) {
        let head = bounded(head);
        self.seen = self.seen.saturating_add(1);
        if self.seen > 1 && self.head != head {
            self.follow(&head);
        }
        self.head = head;
    }

    /// What changes, the most frequent first.
    pub fn spans(&self) -> Vec<ChurnSpan> {
        let spans = self.tracks.iter().map(|track| ChurnSpan {
            block: track.block,
            range: track.range.clone(),
            kind: track.kind,
            changes: track.changes,
            seen: self.seen,
            anchor: track.anchor,
        });
        sorted(spans.collect())
    }

    /// Heads that were looked at.
    pub fn seen(&self) -> u32 {
        self.seen
    }

    /// The text in front of a span on its line. Content: only for those who were asked to show it.
    pub fn label(&self, span: &ChurnSpan) -> Option<&str> {
        let front = self.head.get(span.block)?.get(..span.range.start)?;
        let line = front.rsplit('\n').next()?.trim();
        Some(line).filter(|line| !line.is_empty())
    }

    fn follow(&mut self, head: &[String]) {
        let (old, new) = (Page::of(&self.head), Page::of(head));
        let (found, shift) = changes::between(&old, &new);
        let mut changed = vec![false; self.tracks.len()];
        for found in found {
            match self.known(&found, &changed) {
                Some(at) => {
                    changed[at] = true;
                    self.tracks[at].change(found);
                }
                None if self.tracks.len() < MAX_SPANS => {
                    changed.push(true);
                    self.tracks.push(Track::of(found));
                }
                None => {}
            }
        }
        let unchanged = self
            .tracks
            .iter_mut()
            .zip(changed)
            .filter(|(_, changed)| !changed);
        for (track, _) in unchanged {
            track.shift(&shift);
        }
    }

    /// The track that a change is one more change of: it stood at that place, else it has that anchor.
    fn known(&self, found: &Found, changed: &[bool]) -> Option<usize> {
        let free = |at: &usize| !changed[*at] && self.tracks[*at].may_be(found);
        let place = |track: &Track| {
            track.block == found.before.0 && !track.range.is_empty() && meet(&track.range, &found.before.1)
        };
        let anchor = |track: &Track| track.anchor == found.anchor;
        let all = || (0..self.tracks.len()).filter(free);
        all()
            .find(|at| place(&self.tracks[*at]))
            .or_else(|| all().find(|at| anchor(&self.tracks[*at])))
    }
}

/// The spans of many conversations as one list: equal anchors of one kind are one span, at its place in the last of them.
pub fn merged(spans: impl IntoIterator<Item = ChurnSpan>) -> Vec<ChurnSpan> {
    let mut all: Vec<ChurnSpan> = Vec::new();
    for span in spans {
        let same = |one: &ChurnSpan| one.anchor == span.anchor && one.kind == span.kind;
        match all.iter().position(same) {
            Some(at) => {
                let (changes, seen) = (all[at].changes + span.changes, all[at].seen + span.seen);
                all[at] = ChurnSpan {
                    changes,
                    seen,
                    ..span
                };
            }
            None if all.len() < MAX_SPANS => all.push(span),
            None => {}
        }
    }
    sorted(all)
}

fn sorted(mut spans: Vec<ChurnSpan>) -> Vec<ChurnSpan> {
    spans.sort_by_key(|span| (std::cmp::Reverse(span.changes), span.block, span.range.start));
    spans
}

impl Track {
    fn of(found: Found) -> Self {
        Self {
            block: found.after.0,
            range: found.after.1,
            kind: found.kind,
            changes: 1,
            anchor: found.anchor,
            inline: found.inline,
        }
    }

    fn may_be(&self, found: &Found) -> bool {
        self.inline == found.inline && self.kind.may_be(found.kind)
    }

    fn change(&mut self, found: Found) {
        (self.block, self.range) = found.after;
        self.kind = self.kind.with(found.kind);
        self.changes = self.changes.saturating_add(1);
    }

    /// It reads as before, maybe at another place; what is gone has no bytes.
    fn shift(&mut self, shift: &Shift) {
        match shift.of(self.block, &self.range) {
            Some((block, range)) => (self.block, self.range) = (block, range),
            None => self.range = self.range.start..self.range.start,
        }
    }
}

fn meet(a: &Range<usize>, b: &Range<usize>) -> bool {
    a.start < b.end && b.start < a.end
}

/// The blocks up to the limit, cut at a line.
fn bounded(head: &[String]) -> Vec<String> {
    let mut left = MAX_HEAD;
    let cut = |block: &String| {
        if block.len() <= left {
            left -= block.len();
            return block.clone();
        }
        let end = (0..=left)
            .rev()
            .find(|at| block.is_char_boundary(*at))
            .unwrap_or(0);
        let kept = block[..end].rfind('\n').map_or("", |at| &block[..at]);
        left = 0;
        kept.to_owned()
    };
    head.iter().map(cut).collect()
}

/// A digest for the eyes of reports: it keeps equal anchors together and shows no text.
fn digest(parts: &[&str]) -> u64 {
    let mut hasher = DefaultHasher::new();
    parts.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
#[path = "churn/tests.rs"]
mod tests;
