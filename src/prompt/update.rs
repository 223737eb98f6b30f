//! The text by which a model learns of an edit.
//!
//! Its wording states facts: what is in force from here on, and what stays. The bytes are made once, stored and sent
//! again as they are, so wording may change between versions; within one, equal edits give equal bytes.

use serde::{Deserialize, Serialize};

use super::delta::delta;
use super::derive::{Group, GroupKind, joined, normal};

/// How edits are to be told, by configuration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TextMode {
    /// Always the whole new prompt.
    Full,
    /// The changed passages, wherever names can tell them.
    Delta,
    /// As `Delta`, while the deltas since the last full text and this one stay under half of the full text.
    #[default]
    Auto,
}

/// How an edit was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rendering {
    /// The text says all that is in force; a removal says that nothing is.
    Full,
    /// The text says what changed.
    Delta,
}

/// The text of a [`Group`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Update {
    /// What the model reads, before a carrier wraps it.
    pub text: String,
    /// How the edit was told.
    pub rendering: Rendering,
}

/// The text of the group that turns `effective` into `wanted`.
///
/// `deltas_since_full` are the bytes of the delta texts on the path since its last full text, or since its start. A
/// delta leaves out white space at line ends; a full text has the blocks as they are.
pub fn render(
    effective: &[String],
    wanted: &[String],
    group: &Group,
    mode: TextMode,
    deltas_since_full: usize,
) -> Update {
    if group.kind == GroupKind::Removal {
        return Update {
            text: REMOVED.to_owned(),
            rendering: Rendering::Full,
        };
    }
    let full = full(effective, wanted);
    let short = match mode {
        TextMode::Full => None,
        TextMode::Delta => short(effective, wanted, group),
        TextMode::Auto => {
            short(effective, wanted, group).filter(|text| (deltas_since_full + text.len()) * 2 < full.len())
        }
    };
    match short {
        Some(text) => Update {
            text,
            rendering: Rendering::Delta,
        },
        None => Update {
            text: full,
            rendering: Rendering::Full,
        },
    }
}

fn full(effective: &[String], wanted: &[String]) -> String {
    let opening = if joined(effective).is_empty() {
        FIRST
    } else {
        REPLACED
    };
    format!("{opening}\n\n{}", joined(wanted))
}

/// The edit told by what changed; `None` where nothing is in force yet, or names do not do.
fn short(effective: &[String], wanted: &[String], group: &Group) -> Option<String> {
    let old = joined(effective);
    if old.is_empty() {
        return None;
    }
    if group.kind == GroupKind::Append {
        let added: Vec<String> = group.entries.iter().map(|entry| entry.text.clone()).collect();
        return Some(format!("{ADDED}\n\n{}", joined(&added)));
    }
    let statements = delta(&normal(&old), &normal(&joined(wanted)))?;
    Some(format!("{CHANGED}\n\n{statements}\n\n{UNCHANGED}"))
}

/// Opens a full text.
const REPLACED: &str = "The system prompt of this conversation has changed. The text below is the whole of it from here \
    on, in place of the system prompt that opened the conversation and of its earlier updates like this one. Other system \
    and developer messages stay in force.";

/// Opens a full text where no prompt was in force.
const FIRST: &str = "From here on this conversation has a system prompt; the text below is the whole of it. Other system \
    and developer messages stay in force.";

/// Opens the blocks of an append.
const ADDED: &str = "The text below is added to the system prompt of this conversation. All of its earlier text stays in \
    force.";

/// Opens a delta.
const CHANGED: &str = "The system prompt of this conversation has changed in the passages below. Each is named by text of \
    the system prompt; lines that start with \">\" are its new text.";

/// Closes a delta.
const UNCHANGED: &str =
    "The rest of the system prompt stays in force, and so do other system and developer messages.";

/// A removal.
const REMOVED: &str = "The system prompt that opened this conversation, and its earlier updates like this one, are no \
    longer in force. From here on there is no system prompt text of this kind. Other system and developer messages stay in \
    force.";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prompt::group_for;

    fn list(blocks: &[&str]) -> Vec<String> {
        blocks.iter().map(|block| (*block).to_owned()).collect()
    }

    fn told(old: &[&str], new: &[&str], mode: TextMode, before: usize) -> Update {
        let (old, new) = (list(old), list(new));
        let group = group_for(&old, &new).expect("an edit");
        render(&old, &new, &group, mode, before)
    }

    #[test]
    fn full_holds_the_whole_prompt_and_what_stays() {
        for new in [&["x", "b\n", "c"][..], &["a", "b", "c"]] {
            let update = told(&["a", "b"], new, TextMode::Full, 0);
            assert_eq!(update.rendering, Rendering::Full);
            assert!(
                update
                    .text
                    .ends_with(&format!("force.\n\n{}", joined(&list(new)))),
                "{}",
                update.text
            );
            assert!(
                update
                    .text
                    .contains("Other system and developer messages stay in force.")
            );
        }
    }

    #[test]
    fn an_append_tells_the_new_blocks_only() {
        let update = told(&["first"], &["first", "second", "third"], TextMode::Delta, 0);
        assert_eq!(
            update,
            Update {
                text: format!("{ADDED}\n\nsecond\n\n---\n\nthird"),
                rendering: Rendering::Delta
            }
        );
    }

    #[test]
    fn a_removal_is_explicit_and_a_prompt_after_it_is_whole() {
        for mode in [TextMode::Full, TextMode::Delta, TextMode::Auto] {
            assert_eq!(
                told(&["a"], &[""], mode, 0),
                Update {
                    text: REMOVED.into(),
                    rendering: Rendering::Full
                }
            );
            assert_eq!(
                told(&[], &["a"], mode, 0),
                Update {
                    text: format!("{FIRST}\n\na"),
                    rendering: Rendering::Full
                }
            );
        }
    }

    #[test]
    fn auto_is_a_delta_under_half_of_the_full_text() {
        let rest = "\nA rule that stays.".repeat(60);
        let (old, new) = (format!("Date: 1{rest}"), format!("Date: 2{rest}"));
        let at = |before| told(&[&old], &[&new], TextMode::Auto, before);
        let (short, half) = (at(0).text.len(), (REPLACED.len() + 2 + new.len()).div_ceil(2));
        assert_eq!(at(half - short - 1).rendering, Rendering::Delta);
        assert_eq!(at(half - short).rendering, Rendering::Full);
    }

    #[test]
    fn a_delta_does_not_repeat_the_old_value() {
        let update = told(
            &["Be brief.\nCodeword: apple\nEnd."],
            &["Be brief.\nCodeword: pear\nEnd."],
            TextMode::Delta,
            0,
        );
        assert!(
            update
                .text
                .contains("The line with \"Codeword:\" now reads:\n> Codeword: pear"),
            "{}",
            update.text
        );
        assert!(!update.text.contains("apple"));
        assert!(update.text.ends_with(UNCHANGED));
    }
}
