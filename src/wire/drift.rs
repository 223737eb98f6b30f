//! What changed between two requests, told from both bodies: the cause that digests alone cannot give, and where the bytes
//! differ.
//!
//! Called where a verdict says that something changed, and never on the way of a request: it reads the changed items
//! again, and nothing of it is kept. Where a body is gone, the verdict stands as the digests gave it.

mod difference;
mod form;
mod history;
mod item;
mod markup;

use std::collections::HashSet;

use crate::prefix::compare::align::{align, gap};
use crate::prefix::digest::Digest;
use crate::prefix::item::{Item, Request, Role};
use crate::prefix::verdict::{By, Cause, Change, Class, Part, Verdict};

pub use difference::{Difference, Side, WINDOW, Window, difference};
use form::Form;
use item::Content;

/// Refines the cause of `verdict`, which compares the client's own items of `after` with those of `before`, and tells
/// where the first changed item differs; none where the verdict names no item, or one that is not in a body.
pub fn explain(before: &Request, after: &Request, verdict: &mut Verdict) -> Option<Difference> {
    let change = verdict.change.filter(|_| before.held == 0 && after.held == 0)?;
    if let Some(cause) = cause(before, after, verdict, change) {
        verdict.cause = cause;
    }
    difference(before, after, change)
}

/// Refines both verdicts on a request: what it did to what the client sent before, and what left to what left before.
/// The sent one is told from the same bodies, where its first change is the client's own.
pub fn explain_both(
    before: &Request,
    after: &Request,
    received: &mut Verdict,
    sent: &mut Verdict,
) -> Option<Difference> {
    let plain = received.clone();
    let difference = explain(before, after, received);
    let by_client = sent.cause.by() == By::Client;
    if sent.change == plain.change && sent.cause == plain.cause {
        sent.cause = received.cause;
    } else if by_client && sent.change.is_some_and(|change| change.part != Part::Head) {
        explain(before, after, sent);
    }
    difference
}

/// The more precise cause, if there is one.
fn cause(before: &Request, after: &Request, verdict: &Verdict, change: Change) -> Option<Cause> {
    match (change.part, verdict.cause) {
        (Part::Tool, Cause::ToolChanged) => tool(before, after, change),
        (Part::Head, Cause::SystemChanged) => hoisted(before, after).then_some(Cause::SystemHoisted),
        (Part::History, Cause::HistoryEdited | Cause::ItemsReordered | Cause::ItemsInserted) => {
            Sides::of(before, after, change)?.cause(verdict.cause)
        }
        (Part::Head | Part::History, Cause::HistoryTruncated | Cause::HistoryCompacted)
            if verdict.class == Class::Compaction =>
        {
            let gone = Gone::of(before, after);
            if gone.all(|content| content.role == Role::Operator) && hoisted(before, after) {
                return Some(Cause::SystemHoisted);
            }
            gone.all(|content| content.is_decoration())
                .then_some(Cause::DecorationChanged)
                .or_else(|| {
                    gone.all(|content| content.is_media())
                        .then_some(Cause::ImageRemoved)
                })
        }
        _ => None,
    }
}

/// A tool that reads otherwise: in another order, or in white space only.
fn tool(before: &Request, after: &Request, change: Change) -> Option<Cause> {
    let old = before.tools.get(change.old?)?;
    let new = after.tools.get(change.new?)?;
    let old = Content::of_envelope(&before.body, old.range.clone())?;
    let new = Content::of_envelope(&after.body, new.range.clone())?;
    form::reordered(&old.json, &new.json).or_else(|| {
        let same = Form::TEXTLESS.write(&old.json)? == Form::TEXTLESS.write(&new.json)?;
        let spaced = same && form::words_of(&old.json) == form::words_of(&new.json);
        spaced.then_some(Cause::Whitespace)
    })
}

/// What an operator said in the history stands in the head now, and in the history no more.
fn hoisted(before: &Request, after: &Request) -> bool {
    let (Some(old), Some(new)) = (before.head.texts(), after.head.texts()) else {
        return false;
    };
    let has = |texts: &[String], said: &str| texts.iter().any(|text| text.contains(said));
    let stays: HashSet<Digest> = after.history.iter().map(|item| item.mark.canonical.0).collect();
    let moved = |item: &&Item| item.mark.role == Role::Operator && !stays.contains(&item.mark.canonical.0);
    let mut said = before
        .history
        .iter()
        .filter(moved)
        .filter_map(|item| Content::of(before, item))
        .map(|content| content.text());
    said.any(|said| !said.trim().is_empty() && has(&new, said.trim()) && !has(&old, said.trim()))
}

/// What stood at the changed place and what stands there now.
struct Sides {
    /// The first changed item, and its counterpart.
    old: Option<Content>,
    new: Option<Content>,
    /// All that was replaced, from the first changed item on, and what replaced it.
    gone: Vec<Content>,
    come: Vec<Content>,
    /// The first changed item stands elsewhere now, to the byte.
    moved: bool,
    /// There was one, whether it can be read or not.
    has_old: bool,
    /// Nothing of it changed: what the verdict means is no item of the client's.
    same: bool,
}

/// More items of a gap than these are not looked at.
const GAP: usize = 64;

impl Sides {
    fn of(before: &Request, after: &Request, change: Change) -> Option<Self> {
        let (olds, news) = (digests(before), digests(after));
        let old = change.old.and_then(|index| before.history.get(index));
        let new = change.new.and_then(|index| after.history.get(index));
        let (mut gone, mut come) = (Vec::new(), Vec::new());
        if let Some(at) = change.old.filter(|at| *at < olds.len()) {
            let pairs = align(&olds, &news);
            let (lost, instead) = match pairs[at] {
                Some(place) => (at..at + 1, place..place + 1),
                None => gap(&pairs, at, news.len()),
            };
            let skipped = instead.start
                + if lost.len() == instead.len() {
                    at - lost.start
                } else {
                    0
                };
            gone = contents(before, &before.history[at..lost.end.max(at)]);
            come = contents(after, &after.history[skipped..instead.end.max(skipped)]);
        }
        let digest = old.map(|item| item.mark.canonical.0);
        Some(Self {
            has_old: old.is_some(),
            same: digest.is_some() && digest == new.map(|item| item.mark.canonical.0),
            moved: digest.is_some_and(|digest| news.contains(&digest)),
            old: old.and_then(|item| Content::of(before, item)),
            new: new.and_then(|item| Content::of(after, item)),
            gone,
            come,
        })
    }

    fn cause(&self, cause: Cause) -> Option<Cause> {
        let Some(old) = self.old.as_ref() else {
            // It is there, and has no form in which it could be compared.
            return (self.has_old && cause == Cause::HistoryEdited).then_some(Cause::Unknown);
        };
        if cause == Cause::ItemsReordered || self.moved {
            return old.is_decoration().then_some(Cause::DecorationChanged);
        }
        if cause != Cause::HistoryEdited || self.same {
            return None;
        }
        history::cause(old, self.new.as_ref(), &self.gone, &self.come)
    }
}

/// The old items that stand nowhere any more.
struct Gone(Vec<Option<Content>>);

impl Gone {
    fn of(before: &Request, after: &Request) -> Self {
        let stays: HashSet<Digest> = digests(after).into_iter().collect();
        let gone = before
            .history
            .iter()
            .filter(|item| !stays.contains(&item.mark.canonical.0));
        Self(gone.take(GAP + 1).map(|item| Content::of(before, item)).collect())
    }

    fn all(&self, are: impl Fn(&Content) -> bool) -> bool {
        let all = |content: &Option<Content>| content.as_ref().is_some_and(&are);
        !self.0.is_empty() && self.0.len() <= GAP && self.0.iter().all(all)
    }
}

fn digests(request: &Request) -> Vec<Digest> {
    request.history.iter().map(|item| item.mark.canonical.0).collect()
}

fn contents(request: &Request, items: &[Item]) -> Vec<Content> {
    let contents = items
        .iter()
        .take(GAP)
        .map_while(|item| Content::of(request, item));
    contents.collect()
}
