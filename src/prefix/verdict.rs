//! Verdicts: what a request did to the prefix that it continues, and why.
//!
//! Values and their printed names; `compare` makes them.

mod cause;

use std::fmt;
use std::ops::Range;

pub use cause::{By, UnknownName};

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

/// Why the first changed item changed. A closed set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cause {
    /// Nothing changed.
    None,
    /// Another model.
    ModelChanged,
    /// A parameter that the provider renders.
    ParametersChanged,
    /// The key by which a provider routes to a machine that has the prefix.
    RoutingKeyChanged,
    /// New tools beside the old ones.
    ToolsAdded,
    /// Tools are gone.
    ToolsRemoved,
    /// The same tools in another order.
    ToolsReordered,
    /// A tool of the same name reads otherwise.
    ToolChanged,
    /// The same members of a schema, of arguments or of a tool's input, in another order.
    KeyOrder,
    /// The head reads otherwise.
    SystemChanged,
    /// The head differs in spans of a volatile kind only.
    SystemVolatile(VolatileKind),
    /// The same head blocks in another order.
    SystemReordered,
    /// What stood, or would stand, as an operator's message in the history was put into the head.
    SystemHoisted,
    /// A sent item reads otherwise.
    HistoryEdited,
    /// The oldest items are gone.
    HistoryTruncated,
    /// The history was replaced by less.
    HistoryCompacted,
    /// Sent items stand in another order.
    ItemsReordered,
    /// An old tool result was cut or replaced by a notice.
    ToolResultPruned,
    /// An image or document of a sent message is gone.
    ImageRemoved,
    /// Thinking or reasoning of a past answer was left out.
    ReasoningRemoved,
    /// The same items under other ids.
    IdsRegenerated,
    /// A reminder or context block of a sent message was dropped, moved or trimmed.
    DecorationChanged,
    /// A sent message differs in spans of a volatile kind only, or its context block was written anew.
    MessageVolatile,
    /// The same text in other blocks or messages.
    MessageReshaped,
    /// New items stand between sent ones.
    ItemsInserted,
    /// White space only.
    Whitespace,
    /// The same content from another speaker.
    RoleChanged,
    /// Equal in normal form, written otherwise.
    Reserialised,
    /// More cache markers than the provider takes.
    MarkerLimit,
    /// Cache markers of a longer lifetime behind those of a shorter.
    MarkerTtlOrder,
    /// A cache marker that was there is gone, and none stands behind it.
    MarkerLost,
    /// Something changed, and what is known does not tell what.
    Unknown,
    /// By the proxy: no legal place for an update.
    NoSlot,
    /// By the proxy: the upstream refused the edited form.
    Refused,
    /// By the proxy: the last check failed.
    Guard,
    /// By the proxy: the prompt was folded into the head.
    Rebaseline,
    /// By the proxy: nothing was known of the history, so the head was frozen as it came.
    UnknownHistory,
}

/// What can be done about a cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Remedy {
    /// Nothing is wrong.
    None,
    /// The new text can go out as an item behind the history.
    Append,
    /// What was sent before can be sent again as it was.
    PinBytes,
    /// The order of before can be sent again.
    PinOrder,
    /// The text is volatile: it can wait for the next user turn, or go to the end.
    Volatile,
    /// Only the client can do something; it goes out as it is and is named.
    ReportOnly,
}

/// The parts of a prefix, in the provider's order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    /// A parameter that is no item.
    Param,
    /// A tool.
    Tool,
    /// A block of the head.
    Head,
    /// An item of the history.
    History,
}

/// The first item that changed, on both sides.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    /// What kind of place it is.
    pub part: Part,
    /// Its ordinal in that part of the earlier request, counted in the client's own items; none where it is new.
    pub old: Option<usize>,
    /// Its ordinal in that part of the later request; none where it is gone.
    pub new: Option<usize>,
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
    /// That item's ordinals; none where nothing changed or a parameter did.
    pub change: Option<Change>,
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
            change: None,
            span: None,
            kept: 0,
            before: 0,
        }
    }

    /// Every rendered byte that was sent stands, and nothing in front of it changed.
    pub fn is_intact(&self) -> bool {
        self.class == Class::Extend && self.cause.is_beside_the_prefix()
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
            Self::RoutingKeyChanged => "routing_key_changed",
            Self::ToolsAdded => "tools_added",
            Self::ToolsRemoved => "tools_removed",
            Self::ToolsReordered => "tools_reordered",
            Self::ToolChanged => "tool_changed",
            Self::KeyOrder => "key_order",
            Self::SystemChanged => "system_changed",
            Self::SystemVolatile(_) => "system_volatile",
            Self::SystemReordered => "system_reordered",
            Self::SystemHoisted => "system_hoisted",
            Self::HistoryEdited => "history_edited",
            Self::HistoryTruncated => "history_truncated",
            Self::HistoryCompacted => "history_compacted",
            Self::ItemsReordered => "items_reordered",
            Self::ToolResultPruned => "tool_result_pruned",
            Self::ImageRemoved => "image_removed",
            Self::ReasoningRemoved => "reasoning_removed",
            Self::IdsRegenerated => "ids_regenerated",
            Self::DecorationChanged => "decoration_changed",
            Self::MessageVolatile => "message_volatile",
            Self::MessageReshaped => "message_reshaped",
            Self::ItemsInserted => "items_inserted",
            Self::Whitespace => "whitespace",
            Self::RoleChanged => "role_changed",
            Self::Reserialised => "reserialised",
            Self::MarkerLimit => "marker_limit",
            Self::MarkerTtlOrder => "marker_ttl_order",
            Self::MarkerLost => "marker_lost",
            Self::Unknown => "unknown",
            Self::NoSlot => "no_slot",
            Self::Refused => "refused",
            Self::Guard => "guard",
            Self::Rebaseline => "rebaseline",
            Self::UnknownHistory => "unknown_history",
        }
    }

    /// What can be done about it.
    pub fn remedy(self) -> Remedy {
        match self {
            Self::None | Self::ModelChanged => Remedy::None,
            Self::SystemChanged | Self::SystemHoisted | Self::MessageVolatile => Remedy::Append,
            Self::SystemVolatile(_) => Remedy::Volatile,
            Self::ToolsReordered | Self::SystemReordered | Self::ItemsReordered => Remedy::PinOrder,
            Self::ToolChanged
            | Self::KeyOrder
            | Self::ReasoningRemoved
            | Self::IdsRegenerated
            | Self::DecorationChanged
            | Self::MessageReshaped
            | Self::Whitespace
            | Self::RoleChanged
            | Self::Reserialised => Remedy::PinBytes,
            _ => Remedy::ReportOnly,
        }
    }
}

impl Remedy {
    /// As printed.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Append => "append",
            Self::PinBytes => "pin_bytes",
            Self::PinOrder => "pin_order",
            Self::Volatile => "volatile",
            Self::ReportOnly => "report_only",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.class.as_str(), self.cause.as_str())?;
        self.item.as_ref().map_or(Ok(()), |item| write!(f, "@{item}"))
    }
}
