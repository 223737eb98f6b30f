//! The vendor's findings beside our own verdict on what left: the same thing seen, another, or not to be compared.
//!
//! Labels are closed sets. A finding of the vendor's that has no place in the tables is `other`, and is compared with
//! nothing.

use crate::{
    prefix::{Class, Part, Verdict},
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
const SAME: [(MissReason, &[&str]); 10] = [
    (MissReason::CacheHit, STANDS),
    (MissReason::ModelChanged, MODEL),
    (MissReason::SystemChanged, SYSTEM),
    (MissReason::ToolsChanged, TOOLS),
    (MissReason::MessagesChanged, HISTORY),
    (MissReason::TextFormatChanged, PARAMETERS),
    (MissReason::ReasoningEffortChanged, PARAMETERS),
    (MissReason::VerbosityChanged, PARAMETERS),
    (MissReason::PromptCacheKeyChanged, KEY),
    (
        MissReason::ContextCompacted,
        &["history_compacted", "history_truncated"],
    ),
];
const STANDS: &[&str] = &["none", "marker_limit", "marker_ttl_order", "marker_lost"];
const KEY: &[&str] = &["routing_key_changed"];
const MODEL: &[&str] = &["model_changed"];
const PARAMETERS: &[&str] = &["parameters_changed"];
const TOOLS: &[&str] = &["tools_added", "tools_removed", "tools_reordered", "tool_changed"];
const SYSTEM: &[&str] = &[
    "system_changed",
    "system_volatile",
    "system_reordered",
    "system_hoisted",
    "no_slot",
    "refused",
    "guard",
    "rebaseline",
];
const HISTORY: &[&str] = &[
    "history_edited",
    "history_truncated",
    "history_compacted",
    "items_reordered",
    "items_inserted",
    "tool_result_pruned",
    "image_removed",
    "reasoning_removed",
    "ids_regenerated",
    "decoration_changed",
    "message_volatile",
];
/// Causes that any part can have: the changed item's own part says which it is.
const ANYWHERE: &[&str] = &[
    "key_order",
    "message_reshaped",
    "whitespace",
    "role_changed",
    "reserialised",
];

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
    // "Input" is all that stands in the one list: leading messages of the operator and the history.
    let input = (MissReason::InputChanged == reason).then(|| is_of(sent, SYSTEM) || is_of(sent, HISTORY));
    let hit = (MissReason::CacheHit == reason).then(|| is_of(sent, STANDS) || is_of(sent, KEY));
    let listed = SAME.iter().find(|(known, _)| *known == reason);
    input
        .or(hit)
        .or(listed.map(|(_, causes)| is_of(sent, causes)))
        .map_or(Agrees::Unknown, Agrees::from)
}

/// Whether the cause of a verdict is one of `causes`, or can be anywhere and is in the part that they are of.
fn is_of(sent: &Verdict, causes: &[&str]) -> bool {
    let cause = sent.cause.as_str();
    let part = sent.change.map(|change| match change.part {
        Part::Param => PARAMETERS,
        Part::Tool => TOOLS,
        Part::Head => SYSTEM,
        Part::History => HISTORY,
    });
    causes.contains(&cause) || ANYWHERE.contains(&cause) && part == Some(causes)
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
    use crate::{
        prefix::{Cause, Change},
        wire::answer::CacheMiss,
    };

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
        let rerouted = verdict(Class::Extend, Cause::RoutingKeyChanged);
        let keys = Verdict {
            change: Some(Change {
                part: Part::Tool,
                old: Some(0),
                new: Some(0),
            }),
            ..verdict(Class::Rewrite, Cause::KeyOrder)
        };
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
            (MissReason::PromptCacheKeyChanged, Some(&extend), "no"),
            (MissReason::PromptCacheKeyChanged, Some(&rerouted), "yes"),
            (MissReason::ToolsChanged, Some(&keys), "yes"),
            (MissReason::MessagesChanged, Some(&keys), "no"),
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
    fn every_cause_has_one_list_or_none_on_purpose() {
        const NOWHERE: &[&str] = &["unknown", "unknown_history"];
        let lists = [
            STANDS, KEY, MODEL, PARAMETERS, TOOLS, SYSTEM, HISTORY, ANYWHERE, NOWHERE,
        ];
        for cause in Cause::ALL {
            let count = lists.iter().filter(|list| list.contains(&cause.as_str())).count();
            assert_eq!(count, 1, "{}", cause.as_str());
        }
        let listed: usize = lists.iter().map(|list| list.len()).sum();
        assert_eq!(listed, Cause::ALL.len(), "no list names what is no cause");
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
