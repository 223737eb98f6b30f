//! What is known of each cause beside its name: the closed list, who caused it, what a developer should do about it.

use std::fmt;
use std::str::FromStr;

use super::{Cause, Class};
use crate::prompt::VolatileKind;

/// Who caused a break.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum By {
    /// The client, by what it sent.
    Client,
    /// The proxy, by what it made of that.
    Proxy,
}

impl Cause {
    /// Every cause once by its name. What kind of span a head is volatile in is no part of the name: compare names
    /// ([`Cause::as_str`]) where a name was asked for.
    pub const ALL: [Self; 37] = [
        Self::None,
        Self::ModelChanged,
        Self::ParametersChanged,
        Self::RoutingKeyChanged,
        Self::ToolsAdded,
        Self::ToolsRemoved,
        Self::ToolsReordered,
        Self::ToolChanged,
        Self::KeyOrder,
        Self::SystemChanged,
        Self::SystemVolatile(VolatileKind::Time),
        Self::SystemReordered,
        Self::SystemHoisted,
        Self::HistoryEdited,
        Self::HistoryTruncated,
        Self::HistoryCompacted,
        Self::ItemsReordered,
        Self::ToolResultPruned,
        Self::ImageRemoved,
        Self::ReasoningRemoved,
        Self::IdsRegenerated,
        Self::DecorationChanged,
        Self::MessageVolatile,
        Self::MessageReshaped,
        Self::ItemsInserted,
        Self::Whitespace,
        Self::RoleChanged,
        Self::Reserialised,
        Self::MarkerLimit,
        Self::MarkerTtlOrder,
        Self::MarkerLost,
        Self::Unknown,
        Self::NoSlot,
        Self::Refused,
        Self::Guard,
        Self::Rebaseline,
        Self::UnknownHistory,
    ];

    /// Who caused it.
    pub fn by(self) -> By {
        match self {
            Self::NoSlot | Self::Refused | Self::Guard | Self::Rebaseline | Self::UnknownHistory => By::Proxy,
            _ => By::Client,
        }
    }

    /// No byte that the provider renders differs for it: it says something of a prefix that stands.
    pub fn is_beside_the_prefix(self) -> bool {
        matches!(
            self,
            Self::None
                | Self::RoutingKeyChanged
                | Self::MarkerLimit
                | Self::MarkerTtlOrder
                | Self::MarkerLost
        )
    }

    /// What a developer of the agent should do, in one sentence; empty where nothing is wrong.
    pub fn advice(self) -> &'static str {
        match self {
            Self::None => "",
            Self::ModelChanged => "Switch models between conversations: each model has a cache of its own.",
            Self::ParametersChanged => {
                "Keep settings that are rendered into the prompt for a whole conversation."
            }
            Self::RoutingKeyChanged => "Send one cache key for all requests of a conversation.",
            Self::ToolsAdded => "Declare all tools from the first request on.",
            Self::ToolsRemoved => "Go on declaring a tool that may not be used, and refuse its calls.",
            Self::ToolsReordered => "Sort the tools by name before each request.",
            Self::ToolChanged => "Make descriptions and schemas of tools once, and send them unchanged.",
            Self::KeyOrder => "Write schemas and arguments with a map that keeps the order of its keys.",
            Self::SystemChanged => "Leave the system prompt as it was, and tell what changed at the end.",
            Self::SystemVolatile(_) => {
                "Take clocks, dates, counters and identifiers out of the system prompt."
            }
            Self::SystemReordered => "Put the system prompt together in one fixed order.",
            Self::SystemHoisted => "Leave an operator's message where it was said, behind what was sent.",
            Self::HistoryEdited => "Send earlier messages again exactly as they were sent.",
            Self::HistoryTruncated => "Drop old messages rarely and many at a time.",
            Self::HistoryCompacted => "Compact as late as the model allows, so that it is paid for once.",
            Self::ItemsReordered => "Keep the messages in the order in which they were first sent.",
            Self::ToolResultPruned => "Shorten a result before it is first sent, or prune many at once.",
            Self::ImageRemoved => "Keep images where they are, or shrink them before they are first sent.",
            Self::ReasoningRemoved => "Send reasoning back with the answers that it belongs to.",
            Self::IdsRegenerated => "Store the ids of items and calls, and send the same ones again.",
            Self::DecorationChanged => "Keep a reminder where it was first sent; put new ones at the end.",
            Self::MessageVolatile => "Do not refresh context in a sent message: append the new state.",
            Self::MessageReshaped => "Store each message in the form in which it is sent, blocks included.",
            Self::ItemsInserted => "Put new messages behind all that were sent.",
            Self::Whitespace => "Trim or pad texts once, before they are first sent.",
            Self::RoleChanged => "Fix the role of a message when it is first sent.",
            Self::Reserialised => "Encode requests with one encoder and the same settings throughout.",
            Self::MarkerLimit => "Set no more cache markers than the provider takes.",
            Self::MarkerTtlOrder => "Put markers of the longer lifetime in front of the others.",
            Self::MarkerLost => "Mark the end of every request, so that the next one finds it cached.",
            Self::Unknown => "Compare both requests by hand: they cannot be read well enough to tell.",
            Self::NoSlot => "Change the system prompt when the user speaks, not inside a tool loop.",
            Self::Refused => "Probe which form of an update the upstream takes, and route by that.",
            Self::Guard => "Report it: the proxy stopped its own edit because it did not verify.",
            Self::Rebaseline => "Nothing: the system prompt was written anew where that cost least.",
            Self::UnknownHistory => "Start conversations through the proxy, with a ledger that outlives it.",
        }
    }
}

impl Class {
    /// Every class.
    pub const ALL: [Self; 9] = [
        Self::Extend,
        Self::Truncate,
        Self::Branch,
        Self::Insert,
        Self::Reorder,
        Self::Compaction,
        Self::WireOnly,
        Self::NewLineage,
        Self::Rewrite,
    ];
}

impl By {
    /// As a metric label.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Proxy => "proxy",
        }
    }
}

/// No cause, or no class, has this name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownName(&'static str);

impl FromStr for Cause {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, UnknownName> {
        let mut all = Self::ALL.into_iter();
        all.find(|cause| cause.as_str() == name)
            .ok_or(UnknownName("cause"))
    }
}

impl FromStr for Class {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, UnknownName> {
        let mut all = Self::ALL.into_iter();
        all.find(|class| class.as_str() == name)
            .ok_or(UnknownName("class"))
    }
}

impl fmt::Display for UnknownName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown {}, expected one of", self.0)?;
        match self.0 {
            "cause" => Cause::ALL
                .iter()
                .try_for_each(|cause| write!(f, " {}", cause.as_str())),
            _ => Class::ALL
                .iter()
                .try_for_each(|class| write!(f, " {}", class.as_str())),
        }
    }
}

impl std::error::Error for UnknownName {}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn names_are_read_back_and_are_all_different() {
        for cause in Cause::ALL {
            assert_eq!(cause.as_str().parse(), Ok(cause));
            assert_eq!(cause.advice().is_empty(), cause == Cause::None);
        }
        for class in Class::ALL {
            assert_eq!(class.as_str().parse(), Ok(class));
        }
        let names: HashSet<_> = Cause::ALL.iter().map(|cause| cause.as_str()).collect();
        assert_eq!(names.len(), Cause::ALL.len());
        let advice: HashSet<_> = Cause::ALL.iter().map(|cause| cause.advice()).collect();
        assert_eq!(advice.len(), Cause::ALL.len());
        assert!("history".parse::<Cause>().is_err() && "none".parse::<Class>().is_err());
    }
}
