//! Why an item of the history reads otherwise than it was sent.

use super::form::{self, Form, IDS, REASONING, ROLE, words};
use super::item::Content;
use super::markup::{self, Split};
use crate::prefix::item::{Kind, Role};
use crate::prefix::verdict::Cause;
use crate::prompt;

/// The cause of a changed item `old`, of which `new` stands at its place now if anything does; `gone` is all that was
/// replaced from there on and `come` what replaced it. None where nothing says more than that it was edited.
pub fn cause(old: &Content, new: Option<&Content>, gone: &[Content], come: &[Content]) -> Option<Cause> {
    let Some(new) = new else {
        return without_counterpart(old, gone, come);
    };
    let causes: [fn(&Content, &Content) -> Option<Cause>; 7] = [
        spoken_by_another,
        in_another_form,
        without_reasoning,
        without_media,
        in_other_words,
        decorated_otherwise,
        pruned,
    ];
    let reshaped = reshaped(gone, come);
    if reshaped.is_some_and(|items| items != (1, 1)) {
        return Some(Cause::MessageReshaped);
    }
    let told = |new: &Content| causes.iter().find_map(|cause| cause(old, new));
    told(new)
        .or_else(|| elsewhere(old, new, come).find_map(told))
        .or_else(|| reshaped.map(|_| Cause::MessageReshaped))
        .or_else(|| carried_on(old, new, come))
        .or_else(|| {
            // Something else stands at its place.
            let replaced =
                old.is_media() && new.media() == 0 && new.role == old.role && is_notice(&new.text());
            replaced.then_some(Cause::ImageRemoved)
        })
}

/// What else may be the changed item, where new ones stand before it.
fn elsewhere<'c>(old: &Content, new: &'c Content, come: &'c [Content]) -> impl Iterator<Item = &'c Content> {
    let says_more = !markup::split(&old.text()).rest.trim().is_empty() || old.kind != Kind::Content;
    let kind = old.kind;
    let others = come
        .iter()
        .filter(move |other| other.json != new.json && other.kind == kind);
    others.filter(move |_| says_more)
}

fn without_counterpart(old: &Content, gone: &[Content], come: &[Content]) -> Option<Cause> {
    if reshaped(gone, come).is_some() {
        return Some(Cause::MessageReshaped);
    }
    let rules = [
        (old.is_decoration(), Cause::DecorationChanged),
        (old.is_media(), Cause::ImageRemoved),
        (old.kind == Kind::Thinking, Cause::ReasoningRemoved),
    ];
    rules.iter().find(|(holds, _)| *holds).map(|(_, cause)| *cause)
}

/// The same content under another role.
fn spoken_by_another(old: &Content, new: &Content) -> Option<Cause> {
    let [a, b] = [old, new].map(|side| Form::without(ROLE).write(&side.json));
    let other = old.role != new.role || old.json != new.json;
    (a? == b? && other && old.block == new.block).then_some(Cause::RoleChanged)
}

/// The same members, in another order or with other ids.
fn in_another_form(old: &Content, new: &Content) -> Option<Cause> {
    if old.role != new.role {
        return None;
    }
    if old.json == new.json {
        // Members that say nothing were left out, or came.
        return Some(Cause::MessageReshaped);
    }
    form::reordered(&old.json, &new.json).or_else(|| {
        let [a, b] = [old, new].map(|side| Form::without(IDS).write(&side.json));
        (a? == b?).then_some(Cause::IdsRegenerated)
    })
}

fn without_reasoning(old: &Content, new: &Content) -> Option<Cause> {
    if old.role != Role::Assistant || new.role != Role::Assistant {
        return None;
    }
    let [a, b] = [old, new].map(|side| Form::without(REASONING).read(&side.json));
    let (a, b) = (a?, b?);
    let left_out = a.json == b.json && a.members > b.members;
    (left_out || without_thoughts(old, new)).then_some(Cause::ReasoningRemoved)
}

/// Thoughts that stood in the text, between tags.
fn without_thoughts(old: &Content, new: &Content) -> bool {
    let [a, b] = [old, new].map(|side| markup::split(&side.text()));
    let thought = |(tag, _): &&(String, String)| ["think", "thinking", "reasoning"].contains(&tag.as_str());
    let thoughts = |split: &Split| split.elements.iter().filter(thought).count();
    let others = |split: &Split| -> Vec<(String, String)> {
        let others = split.elements.iter().filter(|element| !thought(element));
        others.cloned().collect()
    };
    thoughts(&a) > thoughts(&b) && others(&a) == others(&b) && same_words(&a.rest, &b.rest)
}

fn without_media(old: &Content, new: &Content) -> Option<Cause> {
    let (a, b) = (words(&old.texts), words(&new.texts));
    let mut rest = b.iter();
    let stands = a.iter().all(|word| rest.any(|other| other == word));
    (old.media() > new.media() && stands && old.role == new.role).then_some(Cause::ImageRemoved)
}

/// The same but for white space, or for what changes by itself.
fn in_other_words(old: &Content, new: &Content) -> Option<Cause> {
    let [a, b] = [old, new].map(|side| Form::TEXTLESS.write(&side.json));
    if a? != b? || old.texts.len() != new.texts.len() || old.role != new.role {
        return None;
    }
    if words(&old.texts) == words(&new.texts) {
        return Some(Cause::Whitespace);
    }
    let mut changed = old.texts.iter().zip(&new.texts).filter(|(a, b)| a != b);
    let volatile = changed.all(|(a, b)| same_words(a, b) || prompt::volatile_kind(a, b).is_some());
    (volatile && old.role != Role::Assistant).then_some(Cause::MessageVolatile)
}

/// The same text, with other reminders or context blocks around it.
fn decorated_otherwise(old: &Content, new: &Content) -> Option<Cause> {
    if old.role == Role::Assistant || new.role != old.role || old.media() != new.media() {
        return None;
    }
    let [a, b] = [old, new].map(|side| markup::split(&side.text()));
    let alone = old.kind == Kind::ToolResult && a.rest.trim().is_empty();
    if alone || !same_words(&a.rest, &b.rest) || a.elements == b.elements {
        return None;
    }
    let tags = |split: &'_ Split| {
        split
            .elements
            .iter()
            .map(|(tag, _)| tag.clone())
            .collect::<Vec<_>>()
    };
    if tags(&a) != tags(&b) {
        return Some(Cause::DecorationChanged);
    }
    let mut changed = a.elements.iter().zip(&b.elements).filter(|(a, b)| a != b);
    let trimmed = changed.any(|((_, a), (_, b))| is_cut(a, b));
    Some(if trimmed {
        Cause::DecorationChanged
    } else {
        Cause::MessageVolatile
    })
}

/// The same text without a passage in front or at the end that stands in a later message now.
fn carried_on(old: &Content, new: &Content, come: &[Content]) -> Option<Cause> {
    const SHORT: usize = 16;
    if old.role != Role::User || new.role != Role::User {
        return None;
    }
    let (a, b) = (old.text(), new.text());
    let (a, b) = (a.trim(), b.trim());
    let passage = a.strip_prefix(b).or_else(|| a.strip_suffix(b))?.trim();
    let later = come
        .iter()
        .filter(|content| content.role == Role::User && content.json != new.json);
    let moved = later.into_iter().any(|content| content.text().contains(passage));
    (passage.len() >= SHORT && !b.is_empty() && moved).then_some(Cause::DecorationChanged)
}

/// A tool's result that was cut, or gave way to a notice.
fn pruned(old: &Content, new: &Content) -> Option<Cause> {
    if old.kind != Kind::ToolResult || new.kind != Kind::ToolResult || old.call() != new.call() {
        return None;
    }
    let (a, b) = (old.text(), new.text());
    // What a result says may stand in members of any name.
    let (long, short) = (old.json.len(), new.json.len());
    let shorter = short < long && (is_cut(&a, &b) || short * 2 <= long || b.len() * 2 <= a.len());
    (shorter || is_notice(&b) && !is_notice(&a)).then_some(Cause::ToolResultPruned)
}

/// Less than before, and what is left stood there: in front, at the end, or in between.
fn is_cut(old: &str, new: &str) -> bool {
    let (a, b) = (old.trim(), new.trim());
    let front = a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count();
    let (a_rest, b_rest) = (&a.as_bytes()[front..], &b.as_bytes()[front..]);
    let ends = a_rest.iter().rev().zip(b_rest.iter().rev());
    let back = ends.take_while(|(a, b)| a == b).count();
    b.len() < a.len() && (front + back) * 2 >= b.len()
}

/// So long a notice may be.
const NOTICE: usize = 300;

/// What clients say instead of what they left out.
const LEFT_OUT: [&str; 12] = [
    "removed",
    "cleared",
    "truncated",
    "omitted",
    "pruned",
    "elided",
    "trimmed",
    "dropped",
    "deleted",
    "stripped",
    "compacted",
    "not shown",
];

fn is_notice(text: &str) -> bool {
    let lower = text.to_lowercase();
    text.len() <= NOTICE && (text.trim().is_empty() || LEFT_OUT.iter().any(|word| lower.contains(word)))
}

/// What was sent from the first changed item on is said now, in other blocks or messages: how many of them are told by how
/// many.
fn reshaped(gone: &[Content], come: &[Content]) -> Option<(usize, usize)> {
    let told = |side: &[Content]| -> Vec<Vec<String>> {
        let spoken = side.iter().filter(|content| content.kind != Kind::Thinking);
        spoken.map(said).collect()
    };
    let (gone, come) = (told(gone), told(come));
    let (mut a, mut b) = (Vec::new(), Vec::new());
    let (mut gone, mut come) = (gone.into_iter(), come.into_iter());
    let mut items = (0, 0);
    loop {
        if a.len() <= b.len() {
            a.extend(gone.next()?);
            items.0 += 1;
        } else {
            b.extend(come.next()?);
            items.1 += 1;
        }
        let both = a.len().min(b.len());
        if a[..both] != b[..both] {
            return None;
        }
        if a.len() == b.len() && !a.is_empty() {
            return Some(items);
        }
    }
}

/// The words of an item without the tags around them, and the names in it.
fn said(content: &Content) -> Vec<String> {
    let texts: Vec<String> = content.texts.iter().map(|text| markup::untagged(text)).collect();
    let mut said = words(&texts);
    said.extend(form::names_of(&content.json));
    said
}

fn same_words(a: &str, b: &str) -> bool {
    a.split_whitespace().eq(b.split_whitespace())
}
