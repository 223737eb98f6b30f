//! The vendor's findings beside our own verdict on what left: the same thing seen, another, or not to be compared.
//!
//! Labels are closed sets. A finding of the vendor's that has no place in the tables is `other`, and is compared with
//! nothing.

use crate::{
    prefix::{Class, Verdict},
    wire::answer::{Diagnostics, MissReason, Transformation},
};

/// One finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Diagnosis {
    /// The vendor's member that says it.
    pub source: &'static str,
    /// What it says.
    pub cause: &'static str,
    /// Whether our verdict says the same.
    pub agrees: Agrees,
}

/// Whether two verdicts are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Agrees {
    /// Both name a cause of one kind.
    Yes,
    /// They do not.
    No,
    /// One of them says nothing that the other could agree with.
    Unknown,
}

/// The vendor's reasons for a miss, and the causes of our verdicts that say the same. A reason that is not here cannot
/// be seen in a body.
const SAME: [(MissReason, &[&str]); 9] = [
    (MissReason::CacheHit, &["none"]),
    (MissReason::ModelChanged, &["model_changed"]),
    (MissReason::SystemChanged, SYSTEM),
    (MissReason::ToolsChanged, TOOLS),
    (MissReason::MessagesChanged, HISTORY),
    (MissReason::TextFormatChanged, PARAMETERS),
    (MissReason::ReasoningEffortChanged, PARAMETERS),
    (MissReason::VerbosityChanged, PARAMETERS),
    (
        MissReason::ContextCompacted,
        &["history_compacted", "history_truncated"],
    ),
];
const SYSTEM: &[&str] = &[
    "system_changed",
    "system_volatile",
    "system_reordered",
    "no_slot",
    "refused",
    "guard",
    "rebaseline",
];
const TOOLS: &[&str] = &["tools_added", "tools_removed", "tools_reordered", "tool_changed"];
const HISTORY: &[&str] = &[
    "history_edited",
    "history_truncated",
    "history_compacted",
    "items_reordered",
    "items_inserted",
    "reserialised",
];
const PARAMETERS: &[&str] = &["parameters_changed"];

/// What providers say of an item that they left out (in `reason`, and in `type` where that says all), as a label.
const LEFT_OUT: [&str; 6] = [
    "thinking_dropped",
    "prefix_mismatch",
    "model_mismatch",
    "organization_mismatch",
    "end_user_mismatch",
    "turn_boundary",
];

/// All that a vendor found, beside our verdict on what left, if there is one.
pub fn all(found: &Diagnostics, sent: Option<&Verdict>) -> Vec<Diagnosis> {
    let sent = sent.filter(|sent| sent.class != Class::NewLineage);
    let miss = |source, reason: MissReason| Diagnosis {
        source,
        cause: reason.as_str(),
        agrees: sent.map_or(Agrees::Unknown, |sent| agrees(reason, sent)),
    };
    let explained = found.cache_miss.map(|one| miss("diagnostics", one.reason));
    let compared = found
        .comparison
        .map(|one| miss("prompt_cache_diagnostics", one.reason));
    let left_out = found.transformations.iter().map(|one| transformed(one, sent));
    explained.into_iter().chain(compared).chain(left_out).collect()
}

fn agrees(reason: MissReason, sent: &Verdict) -> Agrees {
    let cause = sent.cause.as_str();
    // "Input" is all that stands in the one list: leading messages of the operator and the history.
    let input =
        (MissReason::InputChanged == reason).then(|| SYSTEM.contains(&cause) || HISTORY.contains(&cause));
    let listed = SAME.iter().find(|(known, _)| *known == reason);
    input
        .or(listed.map(|(_, causes)| causes.contains(&cause)))
        .map_or(Agrees::Unknown, Agrees::from)
}

fn transformed(one: &Transformation, sent: Option<&Verdict>) -> Diagnosis {
    let known = |word: &str| LEFT_OUT.into_iter().find(|known| *known == word);
    let cause = known(&one.kind).or(known(&one.reason)).unwrap_or("other");
    let ours = sent.and_then(|sent| match cause {
        "thinking_dropped" | "prefix_mismatch" => Some(sent.is_break()),
        "model_mismatch" => Some(sent.cause.as_str() == "model_changed"),
        _ => None,
    });
    Diagnosis {
        source: "input_transformations",
        cause,
        agrees: ours.map_or(Agrees::Unknown, Agrees::from),
    }
}

impl Agrees {
    /// As a metric label.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Yes => "yes",
            Self::No => "no",
            Self::Unknown => "unknown",
        }
    }
}

impl From<bool> for Agrees {
    fn from(same: bool) -> Self {
        if same { Self::Yes } else { Self::No }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{prefix::Cause, wire::answer::CacheMiss};

    fn verdict(class: Class, cause: Cause) -> Verdict {
        Verdict {
            class,
            cause,
            ..Verdict::new_lineage()
        }
    }

    #[test]
    fn reasons_for_a_miss() {
        let extend = verdict(Class::Extend, Cause::None);
        let system = verdict(Class::Rewrite, Cause::SystemChanged);
        let model = verdict(Class::Extend, Cause::ModelChanged);
        let root = Verdict::new_lineage();
        for (reason, sent, expected) in [
            (MissReason::SystemChanged, Some(&system), "yes"),
            (MissReason::SystemChanged, Some(&extend), "no"),
            (MissReason::SystemChanged, Some(&root), "unknown"),
            (MissReason::SystemChanged, None, "unknown"),
            (MissReason::MessagesChanged, Some(&system), "no"),
            (MissReason::InputChanged, Some(&system), "yes"),
            (MissReason::InputChanged, Some(&extend), "no"),
            (MissReason::ModelChanged, Some(&model), "yes"),
            (MissReason::CacheHit, Some(&extend), "yes"),
            (MissReason::CacheHit, Some(&system), "no"),
            (MissReason::PromptCacheKeyChanged, Some(&extend), "unknown"),
            (MissReason::PreviousMessageNotFound, Some(&extend), "unknown"),
            (MissReason::Other, Some(&system), "unknown"),
        ] {
            let found = Diagnostics {
                comparison: Some(CacheMiss { reason, tokens: None }),
                ..Diagnostics::default()
            };
            let all = all(&found, sent);
            let all: Vec<_> = all
                .iter()
                .map(|one| (one.source, one.cause, one.agrees.as_str()))
                .collect();
            assert_eq!(all, [("prompt_cache_diagnostics", reason.as_str(), expected)]);
        }
    }

    #[test]
    fn what_was_left_out() {
        let broke = verdict(Class::Rewrite, Cause::HistoryEdited);
        for (kind, reason, cause, expected) in [
            (
                "thinking_dropped",
                "prefix_binding_mismatch",
                "thinking_dropped",
                "yes",
            ),
            ("reasoning", "prefix_mismatch", "prefix_mismatch", "yes"),
            ("reasoning", "model_mismatch", "model_mismatch", "no"),
            ("reasoning", "turn_boundary", "turn_boundary", "unknown"),
            ("reasoning", "moon_phase", "other", "unknown"),
        ] {
            let found = Diagnostics {
                transformations: vec![Transformation {
                    kind: kind.into(),
                    reason: reason.into(),
                }],
                ..Diagnostics::default()
            };
            let one = all(&found, Some(&broke))[0];
            assert_eq!(
                (one.cause, one.agrees.as_str()),
                (cause, expected),
                "{kind} {reason}"
            );
        }
    }
}
