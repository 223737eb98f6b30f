//! Every cause by its name, as `--fail-on` takes them.

use std::fmt;

use crate::prefix::Cause;
use crate::prompt::VolatileKind;

/// Every cause that a verdict can name, in the order of the provider's prefix. Volatile text is one, whatever its kind.
pub const CAUSES: [Cause; 36] = [
    Cause::ModelChanged,
    Cause::ParametersChanged,
    Cause::RoutingKeyChanged,
    Cause::ToolsAdded,
    Cause::ToolsRemoved,
    Cause::ToolsReordered,
    Cause::ToolChanged,
    Cause::KeyOrder,
    Cause::SystemChanged,
    Cause::SystemVolatile(VolatileKind::Time),
    Cause::SystemReordered,
    Cause::SystemHoisted,
    Cause::HistoryEdited,
    Cause::HistoryTruncated,
    Cause::HistoryCompacted,
    Cause::ItemsReordered,
    Cause::ToolResultPruned,
    Cause::ImageRemoved,
    Cause::ReasoningRemoved,
    Cause::IdsRegenerated,
    Cause::DecorationChanged,
    Cause::MessageVolatile,
    Cause::MessageReshaped,
    Cause::ItemsInserted,
    Cause::Whitespace,
    Cause::RoleChanged,
    Cause::Reserialised,
    Cause::MarkerLimit,
    Cause::MarkerTtlOrder,
    Cause::MarkerLost,
    Cause::Unknown,
    Cause::NoSlot,
    Cause::Refused,
    Cause::Guard,
    Cause::Rebaseline,
    Cause::UnknownHistory,
];

/// The cause of a name; made to be a parser of one argument.
///
/// # Errors
/// No cause has this name; the error lists those that have one.
pub fn cause(name: &str) -> Result<Cause, UnknownCause> {
    CAUSES
        .into_iter()
        .find(|cause| cause.as_str() == name.trim())
        .ok_or_else(|| UnknownCause(name.to_owned()))
}

/// No cause has this name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownCause(String);

impl fmt::Display for UnknownCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown cause {:?}, expected one of", self.0)?;
        CAUSES
            .iter()
            .try_for_each(|cause| write!(f, " {}", cause.as_str()))
    }
}

impl std::error::Error for UnknownCause {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_back() {
        for known in CAUSES {
            assert_eq!(cause(known.as_str()), Ok(known));
        }
        let unknown = cause("system_chnged").map_err(|error| error.to_string());
        assert!(unknown.is_err_and(|error| error.contains("system_changed") && error.contains("guard")));
        assert!(cause("none").is_err(), "no cause is no cause");
    }
}
