//! What findings of one kind have in common, from run to run: cause, place and wire format.

use std::fmt;

use crate::prefix::Verdict;
use crate::wire::format::Format;

/// The longest place that is kept.
const PLACE: usize = 200;

/// A kind of finding.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Kind {
    /// The cause's name.
    pub cause: String,
    /// The first changed item without its ordinals: `tools:read_file`, `messages.content`; empty where none is known.
    pub item: String,
    /// The wire format's name.
    pub format: String,
}

/// How often a kind was found in what left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// Findings.
    pub count: u64,
    /// Breaks among them.
    pub breaks: u64,
}

impl Kind {
    pub(super) fn of(verdict: &Verdict, format: Format) -> Self {
        Self {
            cause: verdict.cause.as_str().to_owned(),
            item: without_ordinals(verdict.item.as_deref().unwrap_or("")),
            format: format.as_str().to_owned(),
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{} ({})", self.cause, self.item, self.format)
    }
}

/// `messages[12].content[0]` is `messages.content`; what stands in brackets and is no number stays.
fn without_ordinals(item: &str) -> String {
    let mut rest = item;
    let mut place = String::new();
    while let Some((front, behind)) = rest.split_once('[') {
        place.push_str(front);
        let digits = behind.trim_start_matches(|c: char| c.is_ascii_digit());
        rest = match digits.strip_prefix(']') {
            Some(after) if digits.len() < behind.len() => after,
            _ => {
                place.push('[');
                behind
            }
        };
    }
    place.push_str(rest);
    place.chars().take(PLACE).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_without_ordinals() {
        for (item, place) in [
            ("tools[3]:read_file", "tools:read_file"),
            ("system[1]", "system"),
            ("messages[12].content[0]", "messages.content"),
            ("param:model", "param:model"),
            ("tools[0]:a[b]c[]", "tools:a[b]c[]"),
            ("", ""),
        ] {
            assert_eq!(without_ordinals(item), place);
        }
    }
}
