//! The comparison behind a verdict: two sequences of marks in the provider's order, parameters, tools, head, history.
//!
//! The same comparison serves both sides: *received* compares what the client sent, *sent* what left.

use std::ops::Range;

use super::digest::{Canonical, Digest, Wire};
use super::item::{HeadForm, Kind, Mark, Names, Param, Role, ToolMark};
use super::verdict::{Cause, Class, Verdict};
use crate::prompt;

/// One side of a comparison.
pub struct View<'a> {
    /// The model.
    pub model: Option<&'a str>,
    /// Rendered parameters.
    pub params: &'a [Param],
    /// Tools.
    pub tools: Vec<&'a ToolMark>,
    /// Head blocks: both digests and length.
    pub head: Vec<(Canonical, Wire, u32)>,
    /// Texts of the head, if it is all text.
    pub head_texts: Option<Vec<String>>,
    /// How many messages the head takes up in the history's array.
    pub head_messages: usize,
    /// How many of the head blocks stand in a member of their own, in front of the others.
    pub head_members: usize,
    /// What that member holds is one bare string.
    pub head_string: bool,
    /// For each client item whether it opens a turn.
    pub marks: Vec<bool>,
    /// History items and, on the sent side, nodes.
    pub history: Vec<Element>,
}

/// One element of the history on one side.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Element {
    /// Digest of the normal form.
    pub canonical: Digest,
    /// Digest of the bytes.
    pub wire: Digest,
    /// Length of the normal form.
    pub len: u32,
    /// Who speaks.
    pub role: Role,
    /// How many client items stand before it.
    pub index: usize,
    /// It is a node.
    pub node: bool,
    /// It is what is left of older items.
    pub summary: bool,
    /// It is thinking or reasoning.
    pub thinking: bool,
}

impl Element {
    /// A client item.
    pub fn item(index: usize, mark: &Mark) -> Self {
        let (canonical, wire) = (mark.canonical.0, mark.wire.0);
        Self {
            canonical,
            wire,
            len: mark.len,
            role: mark.role,
            index,
            node: false,
            summary: mark.kind == Kind::Summary,
            thinking: mark.kind == Kind::Thinking,
        }
    }

    /// A node behind `index` client items.
    pub fn node(index: usize, digest: Digest, len: usize) -> Self {
        Self {
            canonical: digest,
            wire: digest,
            len: len as u32,
            role: Role::Operator,
            index,
            node: true,
            summary: false,
            thinking: false,
        }
    }
}

/// Compares `after` with `before`. `carried_on` is true where `after` carries the answer that was given to
/// `before`: then a changed last item was rewritten, not asked anew.
pub fn compare(before: &View<'_>, after: &View<'_>, names: Names, carried_on: bool) -> Verdict {
    let flat_before = before.flatten();
    let flat_after = after.flatten();
    let shared = common(&flat_before, &flat_after);
    let class = classify(before, after, &flat_before, &flat_after, carried_on);
    let first = first_change(before, after, class, names);
    let (mut cause, item, span) = first.map_or((Cause::None, None, None), |(cause, item, span)| {
        (cause, Some(item), span)
    });
    if class == Class::Extend
        && item.is_none()
        && let Some((cause, place)) = first_wire_change(before, after, names)
    {
        return before.verdict((Class::WireOnly, cause), Some(place), None, shared);
    }
    if class == Class::Compaction {
        cause = compaction_cause(before, after);
    }
    if matches!(class, Class::Branch | Class::Truncate) && cause.is_history() {
        cause = Cause::None;
    }
    before.verdict((class, cause), item, span, shared)
}

impl View<'_> {
    fn flatten(&self) -> Vec<Digest> {
        let tools = self.tools.iter().map(|tool| tool.canonical.0);
        let head = self.head.iter().map(|block| block.0.0);
        tools
            .chain(head)
            .chain(self.history.iter().map(|element| element.canonical))
            .collect()
    }

    fn lens(&self) -> impl Iterator<Item = u64> {
        let tools = self.tools.iter().map(|tool| tool.len);
        let head = self.head.iter().map(|block| block.2);
        tools
            .chain(head)
            .chain(self.history.iter().map(|element| element.len))
            .map(u64::from)
    }

    fn verdict(
        &self,
        (class, cause): (Class, Cause),
        item: Option<String>,
        span: Option<Range<usize>>,
        shared: usize,
    ) -> Verdict {
        let (kept, before) = (self.lens().take(shared).sum(), self.lens().sum());
        Verdict {
            class,
            cause,
            item,
            change: None,
            span,
            kept,
            before,
        }
    }
}

fn common<T: PartialEq>(a: &[T], b: &[T]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

fn classify(
    before: &View<'_>,
    after: &View<'_>,
    flat_before: &[Digest],
    flat_after: &[Digest],
    carried_on: bool,
) -> Class {
    let shared = common(flat_before, flat_after);
    if shared == flat_before.len() {
        return Class::Extend;
    }
    if shared == flat_after.len() {
        return Class::Truncate;
    }
    if compacted(&before.history, &after.history) {
        return Class::Compaction;
    }
    if is_subsequence(flat_before, flat_after) {
        return Class::Insert;
    }
    if is_contained(flat_before, flat_after) {
        return Class::Reorder;
    }
    let front = before.tools.len() + before.head.len();
    if shared >= front && !carried_on && is_branch(&before.history, &after.history) {
        return Class::Branch;
    }
    Class::Rewrite
}

/// Items are gone, and later ones stand at a smaller place or a summary at theirs. Thinking does not count: clients
/// leave out that of past turns, and nothing of the conversation is gone with it.
fn compacted(before: &[Element], after: &[Element]) -> bool {
    let [before, after] = [before, after].map(|side| {
        let spoken = side.iter().filter(|element| !element.thinking);
        spoken.copied().collect::<Vec<_>>()
    });
    let shared = before
        .iter()
        .zip(&after)
        .take_while(|(a, b)| a.canonical == b.canonical)
        .count();
    let gone = |element: &Element| {
        !after[shared..]
            .iter()
            .any(|other| other.canonical == element.canonical)
    };
    let Some(first_gone) = before[shared..].iter().position(gone) else {
        return false;
    };
    let known = |summary: &Element| before.iter().any(|other| other.canonical == summary.canonical);
    let mut summaries = after[shared..].iter().filter(|element| element.summary);
    if summaries.any(|summary| !known(summary)) {
        return true;
    }
    before
        .iter()
        .enumerate()
        .skip(shared + first_gone + 1)
        .any(|(place, element)| {
            let now = after
                .iter()
                .skip(shared)
                .position(|other| other.canonical == element.canonical);
            now.is_some_and(|now| now + shared < place)
        })
}

/// The first changed item is the user's or an answer, and nothing sent behind it comes back.
fn is_branch(before: &[Element], after: &[Element]) -> bool {
    let shared = before
        .iter()
        .zip(after)
        .take_while(|(a, b)| a.canonical == b.canonical)
        .count();
    let Some(changed) = before.get(shared) else {
        return false;
    };
    let new = after.get(shared).map_or(changed.role, |element| element.role);
    let kind = matches!(changed.role, Role::User | Role::Assistant | Role::Tool) || changed.node;
    let same_speaker = changed.node || new == changed.role || new == Role::User;
    let behind = &before[shared + 1..];
    let comes_back = |element: &Element| {
        after[shared..]
            .iter()
            .any(|other| other.canonical == element.canonical)
    };
    kind && same_speaker && !behind.iter().filter(|element| !element.node).any(comes_back)
}

fn is_subsequence<T: PartialEq>(small: &[T], large: &[T]) -> bool {
    let mut rest = large.iter();
    small.iter().all(|item| rest.any(|other| other == item))
}

fn is_contained(small: &[Digest], large: &[Digest]) -> bool {
    let mut left: Vec<Digest> = large.to_vec();
    left.sort_unstable();
    let mut wanted: Vec<Digest> = small.to_vec();
    wanted.sort_unstable();
    is_subsequence(&wanted, &left)
}

type Change = (Cause, String, Option<Range<usize>>);

/// The first changed item in the order parameters, tools, head, history.
fn first_change(before: &View<'_>, after: &View<'_>, class: Class, names: Names) -> Option<Change> {
    if before.model != after.model {
        return Some((Cause::ModelChanged, "param:model".into(), None));
    }
    if let Some(name) = changed_param(before.params, after.params) {
        return Some((Cause::ParametersChanged, format!("param:{name}"), None));
    }
    changed_tool(&before.tools, &after.tools)
        .or_else(|| changed_head(before, after, names))
        .or_else(|| changed_history(before, after, class, names))
}

fn changed_param(before: &[Param], after: &[Param]) -> Option<String> {
    let differs = |param: &Param, others: &[Param]| {
        others
            .iter()
            .find(|other| other.name == param.name)
            .is_none_or(|other| other.value != param.value)
    };
    let gone = before.iter().find(|param| differs(param, after));
    let come = || after.iter().find(|param| differs(param, before));
    gone.or_else(come).map(|param| param.name.clone())
}

fn changed_tool(before: &[&ToolMark], after: &[&ToolMark]) -> Option<Change> {
    let digests = |tools: &[&ToolMark]| tools.iter().map(|tool| tool.canonical.0).collect::<Vec<_>>();
    let (old, new) = (digests(before), digests(after));
    let first = common(&old, &new);
    if first == old.len().max(new.len()) {
        return None;
    }
    let cause = if old.len() == new.len() && is_contained(&old, &new) {
        Cause::ToolsReordered
    } else if is_contained(&old, &new) {
        Cause::ToolsAdded
    } else if is_contained(&new, &old) {
        Cause::ToolsRemoved
    } else {
        let known = |tool: &ToolMark| before.iter().any(|other| other.name == tool.name);
        let kept = after
            .iter()
            .any(|tool| known(tool) && !old.contains(&tool.canonical.0));
        match (kept, after.iter().all(|tool| known(tool))) {
            (true, _) => Cause::ToolChanged,
            (false, true) => Cause::ToolsRemoved,
            (false, false) => Cause::ToolsAdded,
        }
    };
    let name = after
        .get(first)
        .or(before.get(first))
        .map_or("", |tool| tool.name.as_str());
    Some((cause, format!("tools[{first}]:{name}"), None))
}

fn changed_head(before: &View<'_>, after: &View<'_>, names: Names) -> Option<Change> {
    let digests = |view: &View<'_>| view.head.iter().map(|block| block.0.0).collect::<Vec<_>>();
    let (old, new) = (digests(before), digests(after));
    let first = common(&old, &new);
    if first == old.len().max(new.len()) {
        return None;
    }
    let place = head_place(if new.is_empty() { before } else { after }, first, names);
    if old.len() == new.len() && is_contained(&old, &new) {
        return Some((Cause::SystemReordered, place, None));
    }
    let texts = before.head_texts.as_deref().zip(after.head_texts.as_deref());
    let volatile = texts.and_then(|(old, new)| prompt::volatile_change(old, new));
    if let Some((_, kind, span)) = volatile {
        return Some((Cause::SystemVolatile(kind), place, Some(span.new)));
    }
    let span = texts
        .and_then(|(old, new)| prompt::first_change(old, new))
        .map(|(_, span)| span.new);
    Some((Cause::SystemChanged, place, span))
}

fn changed_history(before: &View<'_>, after: &View<'_>, class: Class, names: Names) -> Option<Change> {
    let (old, new) = (&before.history, &after.history);
    let first = old
        .iter()
        .zip(new)
        .take_while(|(a, b)| a.canonical == b.canonical)
        .count();
    if first == old.len() || (first == new.len() && class == Class::Truncate) {
        return None;
    }
    let cause = match class {
        Class::Insert => Cause::ItemsInserted,
        Class::Reorder => Cause::ItemsReordered,
        _ => Cause::HistoryEdited,
    };
    Some((cause, place(before, first, names), None))
}

fn compaction_cause(before: &View<'_>, after: &View<'_>) -> Cause {
    match oldest_gone(&before.history, &after.history) {
        true => Cause::HistoryTruncated,
        false => Cause::HistoryCompacted,
    }
}

/// Only the oldest items went: what is left of the old history opens the new one.
fn oldest_gone(old: &[Element], new: &[Element]) -> bool {
    (1..old.len()).any(|gone| common_canonical(&old[gone..], new) == old.len() - gone)
}

fn common_canonical(a: &[Element], b: &[Element]) -> usize {
    a.iter()
        .zip(b)
        .take_while(|(a, b)| a.canonical == b.canonical)
        .count()
}

fn first_wire_change(before: &View<'_>, after: &View<'_>, names: Names) -> Option<(Cause, String)> {
    let tools = before
        .tools
        .iter()
        .zip(&after.tools)
        .position(|(a, b)| a.wire != b.wire);
    if let Some(index) = tools {
        return Some((
            Cause::Reserialised,
            format!("tools[{index}]:{}", after.tools[index].name),
        ));
    }
    if let Some(index) = before.head.iter().zip(&after.head).position(|(a, b)| a.1 != b.1) {
        return Some((Cause::Reserialised, head_place(after, index, names)));
    }
    let index = before
        .history
        .iter()
        .zip(&after.history)
        .position(|(a, b)| a.wire != b.wire)?;
    Some((Cause::Reserialised, place(before, index, names)))
}

/// The place of a head block: the blocks of the head's own member stand before those that are messages.
fn head_place(view: &View<'_>, index: usize, names: Names) -> String {
    let alone = view.head_string || names.form == HeadForm::Value;
    match names.head.filter(|_| index < view.head_members) {
        Some(head) if alone => head.to_owned(),
        Some(head) => format!("{head}[{index}]"),
        None => format!("{}[{}]", names.history, index - view.head_members),
    }
}

/// The place of a history element, counted in the client's own items of that side.
fn place(view: &View<'_>, element: usize, names: Names) -> String {
    let index = view.history[element].index;
    let marks = view
        .marks
        .get(..=index.min(view.marks.len().saturating_sub(1)))
        .unwrap_or(&[]);
    let message = marks.iter().filter(|opens| **opens).count().saturating_sub(1);
    let block = marks.iter().rev().take_while(|opens| !**opens).count();
    let more = view.marks.get(index + 1).is_some_and(|opens| !opens);
    match names.blocks {
        Some(blocks) if block > 0 || more => {
            let message = message + view.head_messages;
            format!("{}[{message}].{blocks}[{block}]", names.history)
        }
        Some(_) => format!("{}[{}]", names.history, message + view.head_messages),
        None => format!("{}[{}]", names.history, index + view.head_messages),
    }
}
