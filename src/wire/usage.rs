//! Token counts of a response, in one convention for all providers, and the table that maps their fields to it.
//!
//! A number that a provider does not send stays missing: it is never taken for zero. `input_total` counts every
//! prompt token, cached or not, also where the provider's own field leaves the cached ones out.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

use super::format::Format;

/// More tokens than any prompt can have: a number above it is noise and counts as missing.
const MAX_TOKENS: u64 = 1_000_000_000;

/// Token counts of one response; `None` where the provider did not say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// All prompt tokens, cached or not.
    pub input_total: Option<u64>,
    /// Prompt tokens that were served from the prefix cache.
    pub cache_read: Option<u64>,
    /// Prompt tokens that were written to the prefix cache.
    pub cache_write: Option<u64>,
    /// Tokens of the answer, reasoning included.
    pub output: Option<u64>,
}

impl Usage {
    /// Prompt tokens that the cache had no part in. `None` where the total or the cached part is unknown;
    /// a provider that reports no writes is taken to have none.
    pub fn none(&self) -> Option<u64> {
        let rest = self.input_total?.saturating_sub(self.cache_read?);
        Some(rest.saturating_sub(self.cache_write.unwrap_or(0)))
    }

    /// The same where what it says about the cache tells nothing.
    pub fn without_cache(self) -> Self {
        Self {
            cache_read: None,
            cache_write: None,
            ..self
        }
    }

    /// The share of the prompt that came from the cache. `None` where a part of it is unknown or zero.
    pub fn hit_ratio(&self) -> Option<f64> {
        let total = self.input_total.filter(|total| *total > 0)?;
        Some(self.cache_read? as f64 / total as f64)
    }
}

/// The fields that are read, by their path in the response (in a stream: in the object that carries them).
const FIELDS: [&str; 25] = [
    "eval_count",
    "prompt_eval_count",
    "timings.cache_n",
    "timings.predicted_n",
    "timings.prompt_n",
    "usage.cacheReadInputTokens",
    "usage.cacheWriteInputTokens",
    "usage.cache_creation_input_tokens",
    "usage.cache_read_input_tokens",
    "usage.completion_tokens",
    "usage.inputTokens",
    "usage.input_tokens",
    "usage.input_tokens_details.cache_write_tokens",
    "usage.input_tokens_details.cached_tokens",
    "usage.outputTokens",
    "usage.output_tokens",
    "usage.prompt_cache_hit_tokens",
    "usage.prompt_cache_miss_tokens",
    "usage.prompt_tokens",
    "usage.prompt_tokens_details.cache_write_tokens",
    "usage.prompt_tokens_details.cached_tokens",
    "usageMetadata.cachedContentTokenCount",
    "usageMetadata.candidatesTokenCount",
    "usageMetadata.promptTokenCount",
    "usageMetadata.thoughtsTokenCount",
];

/// How one number is made: the sum of fields that must all be there, and of others where they are.
struct Sum {
    all: &'static [&'static str],
    optional: &'static [&'static str],
}

/// How a wire format's fields become a [`Usage`]: for each number the first sum that can be made.
struct Row {
    input_total: &'static [Sum],
    cache_read: &'static [Sum],
    cache_write: &'static [Sum],
    output: &'static [Sum],
}

const fn sum(all: &'static [&'static str]) -> Sum {
    Sum { all, optional: &[] }
}

/// Chat: OpenAI's own fields, which Azure, OpenRouter, xAI, Mistral, vLLM (details null unless asked for),
/// SGLang (details left out when zero) and llama.cpp share; then DeepSeek's hit and miss, whose sum is the
/// prompt; then llama.cpp's `timings`, where `prompt_n` leaves the cached tokens out.
const OPENAI_CHAT: Row = Row {
    input_total: &[
        sum(&["usage.prompt_tokens"]),
        sum(&["usage.prompt_cache_hit_tokens", "usage.prompt_cache_miss_tokens"]),
        sum(&["timings.cache_n", "timings.prompt_n"]),
    ],
    cache_read: &[
        sum(&["usage.prompt_cache_hit_tokens"]),
        sum(&["usage.prompt_tokens_details.cached_tokens"]),
        sum(&["timings.cache_n"]),
    ],
    cache_write: &[sum(&["usage.prompt_tokens_details.cache_write_tokens"])],
    output: &[sum(&["usage.completion_tokens"]), sum(&["timings.predicted_n"])],
};

/// Anthropic: `input_tokens` is only what stands behind the last breakpoint, so the total is the sum of three.
const ANTHROPIC_MESSAGES: Row = Row {
    input_total: &[Sum {
        all: &["usage.input_tokens"],
        optional: &[
            "usage.cache_read_input_tokens",
            "usage.cache_creation_input_tokens",
        ],
    }],
    cache_read: &[sum(&["usage.cache_read_input_tokens"])],
    cache_write: &[sum(&["usage.cache_creation_input_tokens"])],
    output: &[sum(&["usage.output_tokens"])],
};

/// Responses: as chat, by other names.
const OPENAI_RESPONSES: Row = Row {
    input_total: &[sum(&["usage.input_tokens"])],
    cache_read: &[sum(&["usage.input_tokens_details.cached_tokens"])],
    cache_write: &[sum(&["usage.input_tokens_details.cache_write_tokens"])],
    output: &[sum(&["usage.output_tokens"])],
};

/// Gemini: the prompt's count includes what was cached; thinking is counted apart from the answer.
const GEMINI: Row = Row {
    input_total: &[sum(&["usageMetadata.promptTokenCount"])],
    cache_read: &[sum(&["usageMetadata.cachedContentTokenCount"])],
    cache_write: &[],
    output: &[Sum {
        all: &["usageMetadata.candidatesTokenCount"],
        optional: &["usageMetadata.thoughtsTokenCount"],
    }],
};

/// Converse: as Anthropic, `inputTokens` leaves the cached ones out.
const BEDROCK_CONVERSE: Row = Row {
    input_total: &[Sum {
        all: &["usage.inputTokens"],
        optional: &["usage.cacheReadInputTokens", "usage.cacheWriteInputTokens"],
    }],
    cache_read: &[sum(&["usage.cacheReadInputTokens"])],
    cache_write: &[sum(&["usage.cacheWriteInputTokens"])],
    output: &[sum(&["usage.outputTokens"])],
};

/// Ollama: the count includes what its engine had in its cache, and it tells nothing of that.
const OLLAMA: Row = Row {
    input_total: &[sum(&["prompt_eval_count"])],
    cache_read: &[],
    cache_write: &[],
    output: &[sum(&["eval_count"])],
};

/// The raw counts of one response, gathered from its body or from all its events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts([Option<u64>; FIELDS.len()]);

impl Counts {
    /// Takes over what stands in the member `path` (`usage`, `timings`) of a response or event. Numbers are
    /// cumulative: the last one stands, but a later zero takes no count back (some servers fill fields that they do
    /// not know with zero in one of the two events that carry usage). Anything but a plausible count is ignored.
    pub fn merge(&mut self, path: &str, value: &RawValue) {
        if let Some(place) = FIELDS.iter().position(|field| *field == path) {
            let count = value.get().parse().ok().filter(|count| *count <= MAX_TOKENS);
            let known = &mut self.0[place];
            if count.is_some_and(|count| count > 0 || known.is_none()) {
                *known = count;
            }
        } else if leads_to_fields(path)
            && let Ok(members) = serde_json::from_str::<BTreeMap<String, &RawValue>>(value.get())
        {
            for (key, member) in members {
                self.merge(&format!("{path}.{key}"), member);
            }
        }
    }

    /// The counts in the one convention; `None` if there is no number at all. A cached part that is larger
    /// than the whole is noise and counts as missing.
    pub fn usage(&self, format: Format) -> Option<Usage> {
        let row = match format {
            Format::OpenaiChat => &OPENAI_CHAT,
            Format::OpenaiResponses => &OPENAI_RESPONSES,
            Format::AnthropicMessages => &ANTHROPIC_MESSAGES,
            Format::Gemini => &GEMINI,
            Format::BedrockConverse => &BEDROCK_CONVERSE,
            Format::Ollama => &OLLAMA,
        };
        let input_total = self.first(row.input_total);
        let within =
            |part: &u64, taken: u64| input_total.is_none_or(|total| part.saturating_add(taken) <= total);
        let cache_read = self.first(row.cache_read).filter(|read| within(read, 0));
        let read = cache_read.unwrap_or(0);
        let usage = Usage {
            input_total,
            cache_read,
            cache_write: self.first(row.cache_write).filter(|write| within(write, read)),
            output: self.first(row.output),
        };
        Some(usage).filter(|usage| *usage != Usage::default())
    }

    fn first(&self, sums: &[Sum]) -> Option<u64> {
        sums.iter().find_map(|sum| {
            let needed = sum
                .all
                .iter()
                .try_fold(0u64, |total, field| Some(total.saturating_add(self.get(field)?)))?;
            let optional = sum.optional.iter().filter_map(|field| self.get(field));
            Some(optional.fold(needed, u64::saturating_add))
        })
    }

    fn get(&self, field: &str) -> Option<u64> {
        let place = FIELDS.iter().position(|known| *known == field)?;
        self.0[place]
    }
}

/// Whether some field's path goes on behind `path`.
fn leads_to_fields(path: &str) -> bool {
    FIELDS
        .iter()
        .filter_map(|field| field.strip_prefix(path))
        .any(|rest| rest.starts_with('.'))
}

#[cfg(test)]
#[allow(clippy::expect_used)]
mod tests {
    use super::*;

    fn usage(format: Format, parts: &[(&str, &str)]) -> Option<Usage> {
        let mut counts = Counts::default();
        for (path, json) in parts {
            let raw = RawValue::from_string((*json).to_owned()).expect("the test's JSON is valid");
            counts.merge(path, &raw);
        }
        counts.usage(format)
    }

    fn chat(json: &str) -> Option<Usage> {
        usage(Format::OpenaiChat, &[("usage", json)])
    }

    fn some(total: u64, read: Option<u64>, write: Option<u64>, output: u64) -> Option<Usage> {
        Some(Usage {
            input_total: Some(total),
            cache_read: read,
            cache_write: write,
            output: Some(output),
        })
    }

    #[test]
    fn every_field_of_the_table_is_read() {
        for row in [
            &OPENAI_CHAT,
            &OPENAI_RESPONSES,
            &ANTHROPIC_MESSAGES,
            &GEMINI,
            &BEDROCK_CONVERSE,
            &OLLAMA,
        ] {
            for sums in [row.input_total, row.cache_read, row.cache_write, row.output] {
                for field in sums.iter().flat_map(|sum| sum.all.iter().chain(sum.optional)) {
                    assert!(FIELDS.contains(field), "{field}");
                }
            }
        }
    }

    #[test]
    fn chat_dialects() {
        let openai = r#"{"prompt_tokens":100,"completion_tokens":9,"total_tokens":109,
            "prompt_tokens_details":{"cached_tokens":64,"audio_tokens":0,"cache_write_tokens":30}}"#;
        assert_eq!(chat(openai), some(100, Some(64), Some(30), 9));
        assert_eq!(chat(openai).and_then(|usage| usage.none()), Some(6));

        let vllm = r#"{"prompt_tokens":100,"completion_tokens":9,"prompt_tokens_details":null}"#;
        assert_eq!(chat(vllm), some(100, None, None, 9));
        assert_eq!(chat(vllm).and_then(|usage| usage.none()), None);

        let deepseek =
            r#"{"completion_tokens":9,"prompt_cache_hit_tokens":64,"prompt_cache_miss_tokens":36}"#;
        assert_eq!(chat(deepseek), some(100, Some(64), None, 9));

        let timings = r#"{"cache_n":90,"prompt_n":10,"predicted_n":9,"predicted_ms":12.5}"#;
        let llama = usage(Format::OpenaiChat, &[("timings", timings)]);
        assert_eq!(llama, some(100, Some(90), None, 9));
    }

    #[test]
    fn anthropic_total_is_the_sum_and_the_last_number_stands() {
        let start = r#"{"input_tokens":5,"cache_creation_input_tokens":20,"cache_read_input_tokens":75,"output_tokens":1}"#;
        let delta = r#"{"input_tokens":7,"cache_read_input_tokens":null,"output_tokens":42}"#;
        let both = usage(Format::AnthropicMessages, &[("usage", start), ("usage", delta)]);
        assert_eq!(both, some(102, Some(75), Some(20), 42));
        assert_eq!(both.and_then(|usage| usage.none()), Some(7));

        let zeros = r#"{"input_tokens":0,"output_tokens":80}"#;
        let both = usage(Format::AnthropicMessages, &[("usage", start), ("usage", zeros)]);
        assert_eq!(both, some(100, Some(75), Some(20), 80));
    }

    #[test]
    fn missing_is_not_zero_and_noise_is_missing() {
        for json in ["null", "{}", "[1]", "7", r#""prompt_tokens""#] {
            assert_eq!(chat(json), None, "{json}");
        }
        let noise = r#"{"prompt_tokens":-1,"completion_tokens":1e3,"prompt_tokens_details":{"cached_tokens":18446744073709551616}}"#;
        assert_eq!(chat(noise), None);
        let zero = r#"{"prompt_tokens":0,"completion_tokens":0,"prompt_tokens_details":{"cached_tokens":0}}"#;
        assert_eq!(chat(zero), some(0, Some(0), None, 0));
        assert_eq!(chat(zero).and_then(|usage| usage.hit_ratio()), None);
        let too_much =
            r#"{"prompt_tokens":10,"completion_tokens":1,"prompt_tokens_details":{"cached_tokens":11}}"#;
        assert_eq!(chat(too_much), some(10, None, None, 1));
        let almost = r#"{"prompt_tokens":25000,"completion_tokens":1,"prompt_tokens_details":{"cached_tokens":24999}}"#;
        assert!(
            chat(almost)
                .and_then(|usage| usage.hit_ratio())
                .is_some_and(|ratio| ratio < 1.0)
        );
    }
}
