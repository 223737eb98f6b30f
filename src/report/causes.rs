//! Every cause by its name, as `--fail-on` takes them.

use std::fmt;

use crate::prefix::Cause;

/// Every cause that a verdict can name. Volatile text is one, whatever its kind.
pub fn causes() -> impl Iterator<Item = Cause> {
    Cause::ALL.into_iter().filter(|cause| *cause != Cause::None)
}

/// The cause of a name; made to be a parser of one argument.
///
/// # Errors
/// No cause has this name; the error lists those that have one.
pub fn cause(name: &str) -> Result<Cause, UnknownCause> {
    causes()
        .find(|cause| cause.as_str() == name.trim())
        .ok_or_else(|| UnknownCause(name.to_owned()))
}

/// No cause has this name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownCause(String);

impl fmt::Display for UnknownCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown cause {:?}, expected one of", self.0)?;
        causes().try_for_each(|cause| write!(f, " {}", cause.as_str()))
    }
}

impl std::error::Error for UnknownCause {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_back() {
        for known in causes() {
            assert_eq!(cause(known.as_str()), Ok(known));
        }
        let unknown = cause("system_chnged").map_err(|error| error.to_string());
        assert!(unknown.is_err_and(|error| error.contains("system_changed") && error.contains("guard")));
        assert!(cause("none").is_err(), "no cause is no cause");
    }
}
