//! Verdicts: what a request did to the prefix that it continues, and why.
//!
//! Values and their printed names; `compare` makes them.

use std::fmt;
use std::ops::Range;

use crate::prompt::VolatileKind;

/// How a request relates to what it continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// Every sent item stands.
    Extend,
    /// The request ends earlier.
    Truncate,
    /// The user's item, or an answer, is another one, and nothing sent behind it comes back.
    Branch,
    /// All sent items stand, in order, with new ones between.
    Insert,
    /// All sent items stand in another order.
    Reorder,
    /// Sent items are gone and later ones stand at a smaller place.
    Compaction,
    /// Equal to the provider, other bytes.
    WireOnly,
    /// Nothing is continued.
    NewLineage,
    /// Anything else.
    Rewrite,
}

/// Why the first changed item changed. A closed set; what no rule fills yet is not listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cause {
    /// Nothing changed.
    None,
    /// Another model.
    ModelChanged,
    /// A parameter that the provider renders.
    ParametersChanged,
    /// New tools beside the old ones.
    ToolsAdded,
    /// Tools are gone.
    ToolsRemoved,
    /// The same tools in another order.
    ToolsReordered,
    /// A tool of the same name reads otherwise.
    ToolChanged,
    /// The head reads otherwise.
    SystemChanged,
    /// The head differs in spans of a volatile kind only.
    SystemVolatile(VolatileKind),
    /// The same head blocks in another order.
    SystemReordered,
    /// A sent item reads otherwise.
    HistoryEdited,
    /// The oldest items are gone.
    HistoryTruncated,
    /// The history was replaced by less.
    HistoryCompacted,
    /// Sent items stand in another order.
    ItemsReordered,
    /// New items stand between sent ones.
    ItemsInserted,
    /// Equal in normal form, written otherwise.
    Reserialised,
    /// By the proxy: no legal place for an update.
    NoSlot,
    /// By the proxy: the upstream refused the edited form.
    Refused,
    /// By the proxy: the last check failed.
    Guard,
    /// By the proxy: the prompt was folded into the head.
    Rebaseline,
}

/// What a request did to the prefix that it continues.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// How it relates.
    pub class: Class,
    /// Why its first changed item changed.
    pub cause: Cause,
    /// That item, as it is printed: `tools[3]:read_file`, `system[1]`, `messages[12].content[0]`, `param:model`.
    pub item: Option<String>,
    /// The bytes of the item's text that changed, where the head changed.
    pub span: Option<Range<usize>>,
    /// Bytes of the prefix that stand, in normal form.
    pub kept: u64,
    /// Bytes of the whole prefix before.
    pub before: u64,
}

impl Verdict {
    /// The verdict on a request that continues nothing.
    pub fn new_lineage() -> Self {
        Self {
            class: Class::NewLineage,
            cause: Cause::None,
            item: None,
            span: None,
            kept: 0,
            before: 0,
        }
    }

    /// Whether sent bytes were lost.
    pub fn is_break(&self) -> bool {
        matches!(
            self.class,
            Class::Insert | Class::Reorder | Class::Compaction | Class::Rewrite
        )
    }
}

impl Class {
    /// As printed and as a metric label.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Extend => "extend",
            Self::Truncate => "truncate",
            Self::Branch => "branch",
            Self::Insert => "insert",
            Self::Reorder => "reorder",
            Self::Compaction => "compaction",
            Self::WireOnly => "wire_only",
            Self::NewLineage => "new_lineage",
            Self::Rewrite => "rewrite",
        }
    }
}

impl Cause {
    /// As printed and as a metric label.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::ModelChanged => "model_changed",
            Self::ParametersChanged => "parameters_changed",
            Self::ToolsAdded => "tools_added",
            Self::ToolsRemoved => "tools_removed",
            Self::ToolsReordered => "tools_reordered",
            Self::ToolChanged => "tool_changed",
            Self::SystemChanged => "system_changed",
            Self::SystemVolatile(_) => "system_volatile",
            Self::SystemReordered => "system_reordered",
            Self::HistoryEdited => "history_edited",
            Self::HistoryTruncated => "history_truncated",
            Self::HistoryCompacted => "history_compacted",
            Self::ItemsReordered => "items_reordered",
            Self::ItemsInserted => "items_inserted",
            Self::Reserialised => "reserialised",
            Self::NoSlot => "no_slot",
            Self::Refused => "refused",
            Self::Guard => "guard",
            Self::Rebaseline => "rebaseline",
        }
    }

    /// It speaks of the history, where a branch or an earlier end is no break.
    pub fn is_history(self) -> bool {
        matches!(
            self,
            Self::HistoryEdited | Self::HistoryTruncated | Self::ItemsInserted | Self::ItemsReordered
        )
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.class.as_str(), self.cause.as_str())?;
        self.item.as_ref().map_or(Ok(()), |item| write!(f, "@{item}"))
    }
}
