//! What a vendor itself says about the prefix: why its cache missed, and what it took out of the input.
//!
//! Sources: Anthropic's cache diagnostics (`diagnostics.cache_miss_reason`), `input_transformations` and
//! `context_management.applied_edits` of the Messages API; OpenAI's `prompt_cache_diagnostics` (on request, GPT-5.6 and later) and `input_transformations` (GPT-6.2
//! and later) of the Responses API; read on 2026-11-30.

use std::fmt;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::field;

/// More entries than are worth keeping.
const MAX_TRANSFORMATIONS: usize = 64;

/// The vendor's own findings; empty where it sent none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diagnostics {
    /// Why the cache could not serve the prefix of the request that the client named.
    pub cache_miss: Option<CacheMiss>,
    /// What came of the comparison with the response that the client named; also a hit.
    pub comparison: Option<CacheMiss>,
    /// What was left out of the input, or would have been.
    pub transformations: Vec<Transformation>,
    /// The provider cleared a part of the history itself before the model read it.
    pub context_edited: bool,
}

/// A cache miss that the vendor explains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheMiss {
    /// The first thing that differs.
    pub reason: MissReason,
    /// How many input tokens were missed by it.
    pub tokens: Option<u64>,
}

/// What differed from the request that the client named.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MissReason {
    /// Another model.
    ModelChanged,
    /// Other operator text.
    SystemChanged,
    /// Other tools.
    ToolsChanged,
    /// Other messages.
    MessagesChanged,
    /// The request to compare with is unknown.
    PreviousMessageNotFound,
    /// No comparison was made.
    Unavailable,
    /// The cache served the prefix: there was no miss.
    CacheHit,
    /// Another routing key.
    PromptCacheKeyChanged,
    /// Another format of the answer's text.
    TextFormatChanged,
    /// Another effort.
    ReasoningEffortChanged,
    /// Another verbosity.
    VerbosityChanged,
    /// The provider compacted the context.
    ContextCompacted,
    /// Other items.
    InputChanged,
    /// Another service tier.
    ServiceTierChanged,
    /// The response to compare with is unknown.
    ComparisonResponseNotFound,
    /// A reason that this version does not know.
    Other,
}

impl MissReason {
    const KNOWN: [Self; 15] = [
        Self::ModelChanged,
        Self::SystemChanged,
        Self::ToolsChanged,
        Self::MessagesChanged,
        Self::PreviousMessageNotFound,
        Self::Unavailable,
        Self::CacheHit,
        Self::PromptCacheKeyChanged,
        Self::TextFormatChanged,
        Self::ReasoningEffortChanged,
        Self::VerbosityChanged,
        Self::ContextCompacted,
        Self::InputChanged,
        Self::ServiceTierChanged,
        Self::ComparisonResponseNotFound,
    ];

    /// The vendor's word for it, as a metric label.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ModelChanged => "model_changed",
            Self::SystemChanged => "system_changed",
            Self::ToolsChanged => "tools_changed",
            Self::MessagesChanged => "messages_changed",
            Self::PreviousMessageNotFound => "previous_message_not_found",
            Self::Unavailable => "unavailable",
            Self::CacheHit => "cache_hit",
            Self::PromptCacheKeyChanged => "prompt_cache_key_changed",
            Self::TextFormatChanged => "text_format_changed",
            Self::ReasoningEffortChanged => "reasoning_effort_changed",
            Self::VerbosityChanged => "verbosity_changed",
            Self::ContextCompacted => "context_compacted",
            Self::InputChanged => "input_changed",
            Self::ServiceTierChanged => "service_tier_changed",
            Self::ComparisonResponseNotFound => "comparison_response_not_found",
            Self::Other => "other",
        }
    }

    fn from_wire(word: &str) -> Self {
        let known = Self::KNOWN.into_iter().find(|reason| reason.as_str() == word);
        known.unwrap_or(Self::Other)
    }
}

impl fmt::Display for MissReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One entry of `input_transformations`; words that are not plain labels become `other`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transformation {
    /// What was done, such as `thinking_dropped`, or what was removed, such as `reasoning`.
    pub kind: String,
    /// Why, such as `prefix_binding_mismatch`.
    pub reason: String,
}

impl Diagnostics {
    /// Takes over the two members of a message or event that carry findings.
    pub(in crate::wire) fn merge(
        &mut self,
        diagnostics: Option<&RawValue>,
        transformations: Option<&RawValue>,
    ) {
        let found: Option<Found> = field::parse(diagnostics);
        if let Some(miss) = found.and_then(|found| cache_miss(found.cache_miss_reason)) {
            self.cache_miss = Some(miss);
        }
        let listed: Option<Vec<Listed>> = field::parse(transformations);
        if let Some(listed) = listed.filter(|listed| !listed.is_empty()) {
            let listed = listed.iter().take(MAX_TRANSFORMATIONS);
            self.transformations = listed.map(Transformation::from).collect();
        }
    }
}

impl Diagnostics {
    /// Takes over a `context_management` member of an answer: the edits that the provider made.
    pub(in crate::wire) fn merge_edits(&mut self, managed: Option<&RawValue>) {
        let managed: Option<Managed> = field::parse(managed);
        let edits: Option<Vec<&RawValue>> = managed.and_then(|managed| field::parse(managed.applied_edits));
        self.context_edited |= edits.is_some_and(|edits| !edits.is_empty());
    }

    /// Takes over a `prompt_cache_diagnostics` member.
    pub fn merge_comparison(&mut self, comparison: Option<&RawValue>) {
        let Some(compared) = field::parse::<Compared>(comparison) else {
            return;
        };
        let Some(kind) = field::label(compared.kind) else {
            return;
        };
        let missed = kind == "cache_miss";
        let word = if missed {
            field::label(compared.reason)
        } else {
            Some(kind)
        };
        self.comparison = Some(CacheMiss {
            reason: word.map_or(MissReason::Other, |word| MissReason::from_wire(&word)),
            tokens: field::parse(compared.cache_missed_tokens),
        });
    }
}

#[derive(Deserialize)]
struct Compared<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<&'a RawValue>,
    #[serde(borrow)]
    reason: Option<&'a RawValue>,
    #[serde(borrow)]
    cache_missed_tokens: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Managed<'a> {
    #[serde(borrow)]
    applied_edits: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Found<'a> {
    #[serde(borrow)]
    cache_miss_reason: Option<&'a RawValue>,
}

/// Also what `cache_miss_reason` holds, beside its number.
#[derive(Deserialize)]
struct Listed<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<&'a RawValue>,
    #[serde(borrow)]
    reason: Option<&'a RawValue>,
    #[serde(borrow)]
    cache_missed_input_tokens: Option<&'a RawValue>,
}

impl From<&Listed<'_>> for Transformation {
    fn from(listed: &Listed<'_>) -> Self {
        let label = |raw| field::label(raw).unwrap_or_else(|| "other".to_owned());
        Self {
            kind: label(listed.kind),
            reason: label(listed.reason),
        }
    }
}

/// The reason is an object with a type; a bare word is read as well.
fn cache_miss(reason: Option<&RawValue>) -> Option<CacheMiss> {
    if let Some(word) = field::label(reason) {
        let reason = MissReason::from_wire(&word);
        return Some(CacheMiss { reason, tokens: None });
    }
    let listed: Listed = field::parse(reason)?;
    Some(CacheMiss {
        reason: MissReason::from_wire(&field::label(listed.kind)?),
        tokens: field::parse(listed.cache_missed_input_tokens),
    })
}

#[cfg(test)]
#[allow(clippy::expect_used)]
mod tests {
    use super::*;

    fn raw(json: &str) -> Box<RawValue> {
        RawValue::from_string(json.to_owned()).expect("the test's JSON is valid")
    }

    #[test]
    fn comparisons() {
        for (json, expected) in [
            (r#"{"type":"cache_hit"}"#, Some((MissReason::CacheHit, None))),
            (
                r#"{"type":"cache_miss","reason":"tools_changed","cache_missed_tokens":81,"comparison_reusable_tokens":9}"#,
                Some((MissReason::ToolsChanged, Some(81))),
            ),
            (
                r#"{"type":"cache_miss","reason":"moon_phase"}"#,
                Some((MissReason::Other, None)),
            ),
            (r#"{"type":"cache_miss"}"#, Some((MissReason::Other, None))),
            (
                r#"{"type":"comparison_response_not_found"}"#,
                Some((MissReason::ComparisonResponseNotFound, None)),
            ),
            (r#"{"type":"unavailable"}"#, Some((MissReason::Unavailable, None))),
            ("null", None),
            ("[7]", None),
            (r#"{"type":7}"#, None),
        ] {
            let mut found = Diagnostics::default();
            found.merge_comparison(Some(&raw(json)));
            let compared = found.comparison.map(|miss| (miss.reason, miss.tokens));
            assert_eq!(compared, expected, "{json}");
        }
    }

    #[test]
    fn edits_by_the_provider() {
        for (json, edited) in [
            (
                r#"{"applied_edits":[{"type":"clear_tool_uses_20250919","cleared_tool_uses":3}]}"#,
                true,
            ),
            (r#"{"applied_edits":[]}"#, false),
            (r#"{"applied_edits":7}"#, false),
            ("null", false),
        ] {
            let mut found = Diagnostics::default();
            found.merge_edits(Some(&raw(json)));
            assert_eq!(found.context_edited, edited, "{json}");
        }
    }

    #[test]
    fn every_reason_is_read_by_its_own_name() {
        for reason in MissReason::KNOWN {
            assert_eq!(MissReason::from_wire(reason.as_str()), reason);
        }
    }

    #[test]
    fn removed_reasoning_is_listed_with_its_reason() {
        let listed = r#"[{"id":"rs_1","action":"removed","reason":"prefix_mismatch","type":"reasoning"}]"#;
        let mut found = Diagnostics::default();
        found.merge(None, Some(&raw(listed)));
        let expected = Transformation {
            kind: "reasoning".into(),
            reason: "prefix_mismatch".into(),
        };
        assert_eq!(found.transformations, [expected]);
    }
}
