//! Why the first changed item changed, as far as digests and the texts of heads tell; what needs the bodies is refined by
//! who has them.

use std::collections::HashSet;
use std::ops::Range;

use super::align::{align, gap};
use super::class::{is_contained, is_oldest_gone};
use super::{Element, View, place};
use crate::prefix::digest::Digest;
use crate::prefix::item::{Names, Param, ToolMark};
use crate::prefix::verdict::{Cause, Change, Class, Part};
use crate::prompt;

/// The first change: its cause, its place by name and by ordinals.
pub struct First {
    pub cause: Cause,
    pub item: String,
    pub change: Option<Change>,
    pub span: Option<Range<usize>>,
}

impl First {
    fn param(cause: Cause, name: &str) -> Self {
        Self {
            cause,
            item: format!("param:{name}"),
            change: None,
            span: None,
        }
    }

    fn at(cause: Cause, item: String, part: Part, [old, new]: [Option<usize>; 2]) -> Self {
        Self {
            cause,
            item,
            change: Some(Change { part, old, new }),
            span: None,
        }
    }
}

/// The first change in the order parameters, tools, head, history, routing key.
pub fn first_change(before: &View<'_>, after: &View<'_>, class: Class, names: Names) -> Option<First> {
    if before.model != after.model {
        return Some(First::param(Cause::ModelChanged, "model"));
    }
    if let Some(name) = changed_param(before.params, after.params) {
        return Some(First::param(Cause::ParametersChanged, name));
    }
    let first = changed_tool(&before.tools, &after.tools)
        .or_else(|| changed_head(before, after, names))
        .or_else(|| changed_history(before, after, class, names));
    match first {
        Some(first) if class == Class::Compaction => Some(First {
            cause: if is_oldest_gone(&before.history, &after.history) {
                Cause::HistoryTruncated
            } else {
                Cause::HistoryCompacted
            },
            ..first
        }),
        None if before.routing != after.routing => {
            Some(First::param(Cause::RoutingKeyChanged, "prompt_cache_key"))
        }
        first => first,
    }
}

/// The first item that reads the same and is written otherwise.
pub fn first_wire_change(before: &View<'_>, after: &View<'_>, names: Names) -> Option<First> {
    let at = |part, index, item| First::at(Cause::Reserialised, item, part, [Some(index); 2]);
    let tools = before.tools.iter().zip(&after.tools);
    if let Some(index) = tools.into_iter().position(|(a, b)| a.wire != b.wire) {
        return Some(at(
            Part::Tool,
            index,
            place::tool(index, &after.tools[index].name),
        ));
    }
    let blocks = || before.head.iter().zip(&after.head);
    if let Some(index) = blocks().position(|(a, b)| a.wire != b.wire) {
        let first = at(Part::Head, index, place::head(after, index, names));
        let cause = if blocks().all(|(a, b)| a.wire == b.wire || a.role != b.role) {
            Cause::RoleChanged
        } else {
            Cause::Reserialised
        };
        return Some(First { cause, ..first });
    }
    let mut items = before.history.iter().zip(&after.history);
    let index = items.position(|(a, b)| a.wire != b.wire)?;
    let ordinals = [&before.history, &after.history].map(|side| ordinal(&side[index]));
    let first = First::at(
        Cause::Reserialised,
        place::history(before, index, names),
        Part::History,
        ordinals,
    );
    Some(first.of_client())
}

fn changed_param<'a>(before: &'a [Param], after: &'a [Param]) -> Option<&'a str> {
    let differs = |param: &Param, others: &[Param]| {
        let other = others.iter().find(|other| other.name == param.name);
        other.is_none_or(|other| other.value != param.value)
    };
    let gone = before.iter().find(|param| differs(param, after));
    let come = || after.iter().find(|param| differs(param, before));
    gone.or_else(come).map(|param| param.name.as_str())
}

fn changed_tool(before: &[&ToolMark], after: &[&ToolMark]) -> Option<First> {
    let digests = |tools: &[&ToolMark]| tools.iter().map(|tool| tool.canonical.0).collect::<Vec<_>>();
    let (old, new) = (digests(before), digests(after));
    if old == new {
        return None;
    }
    let (olds, news): (HashSet<Digest>, HashSet<Digest>) =
        (old.iter().copied().collect(), new.iter().copied().collect());
    let named = |tools: &[&ToolMark], name: &str| tools.iter().position(|tool| tool.name == name);
    let change = |cause, ordinals: [Option<usize>; 2]| {
        let index = ordinals[0].or(ordinals[1]).unwrap_or(0);
        let tools = if ordinals[0].is_some() { before } else { after };
        let shown = if cause == Cause::ToolChanged {
            ordinals[1].unwrap_or(index)
        } else {
            index
        };
        let item = place::tool(shown, tools.get(index).map_or("", |tool| &tool.name));
        Some(First::at(cause, item, Part::Tool, ordinals))
    };
    let reads_otherwise = |index: &usize| {
        let other = named(after, &before[*index].name).map(|place| after[place]);
        !news.contains(&old[*index]) && other.is_some_and(|other| !olds.contains(&other.canonical.0))
    };
    let changed = (0..old.len()).find(reads_otherwise);
    if let Some(index) = changed {
        return change(
            Cause::ToolChanged,
            [Some(index), named(after, &before[index].name)],
        );
    }
    let come = (0..new.len()).find(|index| !olds.contains(&new[*index]));
    let gone = (0..old.len()).find(|index| !news.contains(&old[*index]));
    let first = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    match (come, gone) {
        (Some(index), _) => change(Cause::ToolsAdded, [None, Some(index)]),
        (None, Some(index)) => change(Cause::ToolsRemoved, [Some(index), None]),
        _ if old.len() == new.len() && is_contained(&old, &new) => {
            let now = old
                .get(first)
                .and_then(|tool| new.iter().position(|other| other == tool));
            change(Cause::ToolsReordered, [Some(first), now])
        }
        // The same tool once more, or once less.
        _ if new.len() > old.len() => change(Cause::ToolsAdded, [None, Some(first)]),
        _ => change(Cause::ToolsRemoved, [Some(first), None]),
    }
}

fn changed_head(before: &View<'_>, after: &View<'_>, names: Names) -> Option<First> {
    let digests = |view: &View<'_>| {
        view.head
            .iter()
            .map(|block| block.canonical.0)
            .collect::<Vec<_>>()
    };
    let (old, new) = (digests(before), digests(after));
    let first = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    if first == old.len().max(new.len()) {
        return None;
    }
    let pairs = align(&old, &new);
    let inserted = pairs.get(first).is_none_or(Option::is_some);
    let removed = first >= new.len() || pairs.contains(&Some(first));
    let ordinals = [(!inserted).then_some(first), (!removed).then_some(first)];
    let item = place::head(if new.is_empty() { before } else { after }, first, names);
    let at = |cause, span| {
        let first = First::at(cause, item.clone(), Part::Head, ordinals);
        Some(First { span, ..first })
    };
    if old.len() == new.len() && is_contained(&old, &new) {
        let now = new.iter().position(|block| *block == old[first]);
        return Some(First::at(
            Cause::SystemReordered,
            item,
            Part::Head,
            [Some(first), now],
        ));
    }
    let Some((old, new)) = before.head_texts.as_deref().zip(after.head_texts.as_deref()) else {
        return at(Cause::SystemChanged, None);
    };
    if let Some((_, kind, span)) = prompt::volatile_change(old, new) {
        return at(Cause::SystemVolatile(kind), Some(span.new));
    }
    let span = prompt::first_change(old, new).map(|(_, span)| span.new);
    at(cause_of_texts(old, new), span)
}

/// What became of the texts of a head.
fn cause_of_texts(old: &[String], new: &[String]) -> Cause {
    let words = |texts: &'_ [String]| -> Vec<String> {
        let words = texts.iter().flat_map(|text| text.split_whitespace());
        words.map(str::to_owned).collect()
    };
    let grown = !old.is_empty() && new.len() > old.len() && new[..old.len()] == *old;
    // A part of its own behind a head that stands is what an operator's message is made into where the history has no
    // place for one.
    if grown && new[old.len()..].iter().all(|text| !text.trim().is_empty()) {
        return Cause::SystemHoisted;
    }
    match words(old) == words(new) {
        false => Cause::SystemChanged,
        true if old.len() == new.len() => Cause::Whitespace,
        true => Cause::MessageReshaped,
    }
}

fn changed_history(before: &View<'_>, after: &View<'_>, class: Class, names: Names) -> Option<First> {
    let (old, new) = (&before.history, &after.history);
    let pairs = old.iter().zip(new);
    let first = pairs.take_while(|(a, b)| a.canonical == b.canonical).count();
    if first == old.len() || (first == new.len() && class == Class::Truncate) {
        return None;
    }
    let at = |cause, element: usize, now: Option<usize>| {
        let ordinals = [Some(&old[element]), now.map(|now| &new[now])].map(|side| side.and_then(ordinal));
        let item = place::history(before, element, names);
        Some(First::at(cause, item, Part::History, ordinals).of_client())
    };
    match class {
        Class::Insert => inserted(before, after, first, names),
        Class::Reorder => at(Cause::ItemsReordered, first, position(new, old[first].canonical)),
        Class::Branch | Class::Truncate => {
            at(Cause::HistoryEdited, first, (first < new.len()).then_some(first))
        }
        _ => {
            let digests = |side: &[Element]| side.iter().map(|element| element.canonical).collect::<Vec<_>>();
            let pairs = align(&digests(old), &digests(new));
            let Some(lost) = (first..old.len()).find(|index| pairs[*index].is_none()) else {
                return inserted(before, after, first, names);
            };
            if let Some(now) = position(&new[first..], old[lost].canonical) {
                return at(Cause::ItemsReordered, lost, Some(now + first));
            }
            let now = counterpart(old, new, &pairs, lost);
            let unthought = old[lost].thinking && now.is_none();
            let cause = if unthought {
                Cause::ReasoningRemoved
            } else {
                Cause::HistoryEdited
            };
            at(cause, lost, now)
        }
    }
}

/// New items stand in front of the sent item `first`.
fn inserted(before: &View<'_>, after: &View<'_>, first: usize, names: Names) -> Option<First> {
    let ordinals = [None, after.history.get(first).and_then(ordinal)];
    let item = place::history(before, first, names);
    Some(First::at(Cause::ItemsInserted, item, Part::History, ordinals).of_client())
}

/// What stands where the element `lost` stood: as far into what replaced its neighbours as it was into these, or where
/// there are more or fewer of them, what is of its kind and nearest to its length.
fn counterpart(old: &[Element], new: &[Element], pairs: &[Option<usize>], lost: usize) -> Option<usize> {
    let (gone, come) = gap(pairs, lost, new.len());
    let place = come.start + (lost - gone.start);
    let fits = |element: &Element| {
        element.opens == old[lost].opens && element.thinking == old[lost].thinking && !element.node
    };
    let alike = |element: &Element| fits(element) && element.role == old[lost].role;
    let nearest = come.clone().filter(|place| alike(&new[*place]));
    let nearest = nearest.min_by_key(|place| new[*place].len.abs_diff(old[lost].len));
    let by_place = Some(place).filter(|place| come.contains(place) && fits(&new[*place]));
    // Behind the last item that both have, what is new follows what was there.
    let follows = come.end == new.len() && by_place.is_some_and(|place| alike(&new[place]));
    match gone.len() == come.len() || follows {
        true => by_place,
        false => nearest.or(by_place),
    }
}

fn position(elements: &[Element], digest: Digest) -> Option<usize> {
    elements.iter().position(|element| element.canonical == digest)
}

/// The ordinal of a client item; none for a node.
fn ordinal(element: &Element) -> Option<usize> {
    (!element.node).then_some(element.index)
}

impl First {
    /// A change of nothing but nodes has no ordinals.
    fn of_client(mut self) -> Self {
        self.change = self
            .change
            .filter(|change| change.old.is_some() || change.new.is_some());
        self
    }
}
