//! How a request relates to what it continues.

use std::collections::HashSet;

use super::align::align;
use super::{Element, Flat, View};
use crate::prefix::digest::Digest;
use crate::prefix::item::Role;
use crate::prefix::verdict::Class;

/// The class of `after` against `before`; `carried_on` as in [`super::compare`].
pub fn class(before: &View<'_>, after: &View<'_>, flat: &Flat, carried_on: bool) -> Class {
    let (old, new) = (&flat.before, &flat.after);
    if flat.shared == old.len() {
        return Class::Extend;
    }
    if flat.shared == new.len() {
        return Class::Truncate;
    }
    if compacted(&before.history, &after.history) {
        return Class::Compaction;
    }
    if is_subsequence(old, new) {
        return Class::Insert;
    }
    if is_contained(old, new) {
        return Class::Reorder;
    }
    let front = before.tools.len() + before.head.len();
    if flat.shared >= front && !carried_on && is_branch(&before.history, &after.history) {
        return Class::Branch;
    }
    Class::Rewrite
}

/// Whether `large` has all items of `small`, each as often.
pub fn is_contained(small: &[Digest], large: &[Digest]) -> bool {
    let mut left: Vec<Digest> = large.to_vec();
    left.sort_unstable();
    let mut wanted: Vec<Digest> = small.to_vec();
    wanted.sort_unstable();
    is_subsequence(&wanted, &left)
}

/// Only the oldest items went: what is left of the old history opens the new one.
pub fn is_oldest_gone(old: &[Element], new: &[Element]) -> bool {
    let Some(opener) = new.first().map(|element| element.canonical) else {
        return false;
    };
    let starts = (1..old.len()).filter(|start| old[*start].canonical == opener);
    // Few items open a history like this one; more are not tried.
    starts
        .take(16)
        .any(|start| common(&old[start..], new) == old.len() - start)
}

fn common(a: &[Element], b: &[Element]) -> usize {
    let pairs = a.iter().zip(b);
    pairs.take_while(|(a, b)| a.canonical == b.canonical).count()
}

/// Messages are gone, and later ones stand at a smaller place or a summary at theirs. A message of which a block stands
/// is not gone. Thinking does not count: clients leave out that of past turns, and nothing of the conversation is gone
/// with it.
fn compacted(before: &[Element], after: &[Element]) -> bool {
    let [before, after] = [before, after].map(messages);
    let shared = before
        .iter()
        .zip(&after)
        .take_while(|(a, b)| a.1.canonical == b.1.canonical)
        .count();
    let rest = &after[shared..];
    let there: HashSet<Digest> = rest.iter().map(|(_, element)| element.canonical).collect();
    let stands = |element: &Element| there.contains(&element.canonical);
    let kept = before[..shared]
        .iter()
        .chain(before[shared..].iter().filter(|(_, element)| stands(element)));
    let kept: HashSet<usize> = kept.map(|(message, _)| *message).collect();
    let gone = before[shared..]
        .iter()
        .position(|(message, _)| !kept.contains(message));
    let Some(gone) = gone.map(|place| place + shared) else {
        return false;
    };
    let known: HashSet<Digest> = before.iter().map(|(_, element)| element.canonical).collect();
    let mut summaries = rest.iter().filter(|(_, element)| element.summary);
    if summaries.any(|(_, summary)| !known.contains(&summary.canonical)) {
        return true;
    }
    // What reads like an earlier item is not that item: only what is paired stands elsewhere.
    let digests = |side: &[(usize, &Element)]| {
        side.iter()
            .map(|(_, element)| element.canonical)
            .collect::<Vec<_>>()
    };
    let pairs = align(&digests(&before), &digests(&after));
    let later = before.iter().zip(&pairs).skip(gone + 1);
    let mut moved = later.filter_map(|((message, _), now)| Some((message, after[(*now)?].0)));
    moved.any(|(message, now)| now < *message)
}

/// The elements but for thinking, each with the number of its message.
fn messages(history: &[Element]) -> Vec<(usize, &Element)> {
    let mut message = 0;
    let numbered = history.iter().map(|element| {
        message += usize::from(element.opens);
        (message, element)
    });
    numbered.filter(|(_, element)| !element.thinking).collect()
}

/// The first changed item is the user's or an answer, and nothing sent behind it comes back.
fn is_branch(before: &[Element], after: &[Element]) -> bool {
    let shared = common(before, after);
    let Some(changed) = before.get(shared) else {
        return false;
    };
    let new = after.get(shared).map_or(changed.role, |element| element.role);
    let kind = matches!(changed.role, Role::User | Role::Assistant | Role::Tool) || changed.node;
    let same_speaker = changed.node || new == changed.role || new == Role::User;
    let rest: HashSet<Digest> = after[shared..].iter().map(|element| element.canonical).collect();
    let mut behind = before[shared + 1..].iter().filter(|element| !element.node);
    kind && same_speaker && !behind.any(|element| rest.contains(&element.canonical))
}

fn is_subsequence<T: PartialEq>(small: &[T], large: &[T]) -> bool {
    let mut rest = large.iter();
    small.iter().all(|item| rest.any(|other| other == item))
}
