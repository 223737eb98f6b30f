//! The comparison behind a verdict: two sequences of marks in the provider's order, parameters, tools, head, history.
//!
//! The same comparison serves both sides: *received* compares what the client sent, *sent* what left.

pub mod align;
mod cause;
mod class;
pub mod place;

use super::digest::{Canonical, Digest, Wire};
use super::item::{FrozenBlock, Kind, Mark, Names, Param, Role, ToolMark};
use super::verdict::{Cause, Class, Part, Verdict};
use cause::First;

/// One side of a comparison.
pub struct View<'a> {
    /// The model.
    pub model: Option<&'a str>,
    /// Rendered parameters.
    pub params: &'a [Param],
    /// Tools.
    pub tools: Vec<&'a ToolMark>,
    /// The key by which the provider picks a machine.
    pub routing: Option<Digest>,
    /// Head blocks.
    pub head: Vec<HeadMark>,
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

/// What counts of a head block.
pub struct HeadMark {
    /// Digest of the normal form.
    pub canonical: Canonical,
    /// Digest of the bytes.
    pub wire: Wire,
    /// Length of the normal form.
    pub len: u32,
    /// As written.
    pub role: String,
}

impl From<&FrozenBlock> for HeadMark {
    fn from(block: &FrozenBlock) -> Self {
        Self {
            canonical: block.canonical,
            wire: block.wire,
            len: block.len,
            role: block.role.clone(),
        }
    }
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
    /// It opens a turn.
    pub opens: bool,
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
            opens: mark.opens,
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
            opens: true,
            node: true,
            summary: false,
            thinking: false,
        }
    }
}

/// Compares `after` with `before`. `carried_on` is true where `after` carries the answer that was given to
/// `before`: then a changed last item was rewritten, not asked anew.
pub fn compare(before: &View<'_>, after: &View<'_>, names: Names, carried_on: bool) -> Verdict {
    let flat = Flat::of(before, after);
    let class = class::class(before, after, &flat, carried_on);
    let first = cause::first_change(before, after, class, names);
    if class == Class::Extend
        && first
            .as_ref()
            .is_none_or(|first| first.cause.is_beside_the_prefix())
        && let Some(first) = cause::first_wire_change(before, after, names)
    {
        return before.verdict(Class::WireOnly, Some(first), flat.shared);
    }
    let mut verdict = before.verdict(class, first, flat.shared);
    let asked_anew = matches!(class, Class::Branch | Class::Truncate);
    if asked_anew && verdict.change.is_none_or(|change| change.part == Part::History) {
        let beside = verdict
            .item
            .as_ref()
            .is_some_and(|item| item.starts_with("param:"));
        verdict.cause = if beside { verdict.cause } else { Cause::None };
    }
    if verdict.is_break() && verdict.cause == Cause::None {
        verdict.cause = Cause::Unknown;
    }
    verdict
}

/// Both sides as one run of digests, in the provider's order.
struct Flat {
    before: Vec<Digest>,
    after: Vec<Digest>,
    /// How many they open with alike.
    shared: usize,
}

impl Flat {
    fn of(before: &View<'_>, after: &View<'_>) -> Self {
        let (before, after) = (before.flatten(), after.flatten());
        let pairs = before.iter().zip(&after);
        Self {
            shared: pairs.take_while(|(a, b)| a == b).count(),
            before,
            after,
        }
    }
}

impl View<'_> {
    fn flatten(&self) -> Vec<Digest> {
        let tools = self.tools.iter().map(|tool| tool.canonical.0);
        let head = self.head.iter().map(|block| block.canonical.0);
        tools
            .chain(head)
            .chain(self.history.iter().map(|element| element.canonical))
            .collect()
    }

    fn lens(&self) -> impl Iterator<Item = u64> {
        let tools = self.tools.iter().map(|tool| tool.len);
        let head = self.head.iter().map(|block| block.len);
        tools
            .chain(head)
            .chain(self.history.iter().map(|element| element.len))
            .map(u64::from)
    }

    fn verdict(&self, class: Class, first: Option<First>, shared: usize) -> Verdict {
        let (kept, before) = (self.lens().take(shared).sum(), self.lens().sum());
        let verdict = Verdict {
            class,
            cause: Cause::None,
            item: None,
            change: None,
            span: None,
            kept,
            before,
        };
        match first {
            None => verdict,
            Some(first) => Verdict {
                cause: first.cause,
                item: Some(first.item),
                change: first.change,
                span: first.span,
                ..verdict
            },
        }
    }
}
