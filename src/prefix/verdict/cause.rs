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
        }
        for class in Class::ALL {
            assert_eq!(class.as_str().parse(), Ok(class));
        }
        let names: HashSet<_> = Cause::ALL.iter().map(|cause| cause.as_str()).collect();
        assert_eq!(names.len(), Cause::ALL.len());
        assert!("history".parse::<Cause>().is_err() && "none".parse::<Class>().is_err());
    }
}
