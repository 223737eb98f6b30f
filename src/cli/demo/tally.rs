//! The arithmetic of the table: what was read from the cache, of what could have been.

use std::ops::AddAssign;

use crate::sim::{Format, Usage};

/// How much of what could be read has to be read through Inkfast.
const ENOUGH: f64 = 0.95;
/// The straight run is far below when its ratio is under this share of the other one.
const FAR_BELOW: f64 = 0.5;

/// OpenAI before GPT-5.6 counts cached tokens in these steps, and none under the minimum; read on 2026-11-30 in its
/// guide "Prompt caching".
const OPENAI_STEP: usize = 128;
const OPENAI_MINIMUM: usize = 1_024;
/// The shortest prefix that Claude Opus 5 and later caches; Anthropic's page "Prompt caching", read on 2026-11-30.
const ANTHROPIC_MINIMUM: usize = 512;

/// Tokens of one request, or of many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tokens {
    /// The whole prompt.
    pub input: usize,
    /// Read from the cache, as the provider says.
    pub cached: usize,
    /// What could have been read: see [`possible`].
    pub possible: usize,
    /// What was read of what could have been. An abandoned branch may have left more in the cache than `possible`.
    pub hit: usize,
}

impl Tokens {
    /// One request that continues a request of `previous` tokens; 0 if it is the first.
    pub fn new(format: Format, usage: Usage, previous: usize) -> Self {
        let possible = possible(format, previous);
        Self {
            input: usage.total,
            cached: usage.cached,
            possible,
            hit: usage.cached.min(possible),
        }
    }

    /// Read of what could have been; none where nothing could.
    pub fn ratio(&self) -> Option<f64> {
        (self.possible > 0).then(|| self.hit as f64 / self.possible as f64)
    }
}

impl AddAssign for Tokens {
    fn add_assign(&mut self, other: Self) {
        self.input += other.input;
        self.cached += other.cached;
        self.possible += other.possible;
        self.hit += other.hit;
    }
}

/// What a request could have had cached if nothing of the request that it continues had been rewritten: all of that
/// request's tokens, as far as the provider's own rules let them be read.
pub fn possible(format: Format, previous: usize) -> usize {
    let (step, minimum) = match format {
        Format::OpenAiChat => (OPENAI_STEP, OPENAI_MINIMUM),
        _ => (1, ANTHROPIC_MINIMUM),
    };
    let readable = previous / step * step;
    if readable < minimum { 0 } else { readable }
}

/// Whether Inkfast did its job: nearly all is read through it, and straight far less.
pub fn is_good(straight: &Tokens, through: &Tokens) -> bool {
    match (straight.ratio(), through.ratio()) {
        (Some(straight), Some(through)) => through >= ENOUGH && straight < FAR_BELOW * through,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(hit: usize, possible: usize) -> Tokens {
        Tokens {
            possible,
            hit,
            ..Tokens::default()
        }
    }

    #[test]
    fn possible_follows_the_rules_of_the_provider() {
        let openai = [(0, 0), (1_023, 0), (1_024, 1_024), (1_151, 1_024), (1_152, 1_152)];
        for (previous, expected) in openai {
            assert_eq!(possible(Format::OpenAiChat, previous), expected, "{previous}");
        }
        let anthropic = [(0, 0), (511, 0), (512, 512), (1_151, 1_151)];
        for (previous, expected) in anthropic {
            assert_eq!(
                possible(Format::AnthropicMessages, previous),
                expected,
                "{previous}"
            );
        }
    }

    #[test]
    fn more_in_the_cache_than_possible_is_no_credit() {
        let usage = Usage {
            total: 5_000,
            cached: 2_560,
            ..Usage::default()
        };
        let branched = Tokens::new(Format::OpenAiChat, usage, 2_000);
        assert_eq!(
            (branched.cached, branched.possible, branched.hit),
            (2_560, 1_920, 1_920)
        );
        assert_eq!(branched.ratio(), Some(1.0));
    }

    #[test]
    fn totals_weigh_by_tokens_and_first_requests_do_not_count() {
        let mut total = Tokens::default();
        assert_eq!(total.ratio(), None);
        total += tokens(0, 0);
        total += tokens(900, 1_000);
        total += tokens(0, 3_000);
        assert_eq!(total.ratio(), Some(0.225));
    }

    #[test]
    fn good_is_nearly_all_through_and_under_half_of_it_straight() {
        assert!(is_good(&tokens(47, 100), &tokens(95, 100)));
        assert!(!is_good(&tokens(48, 100), &tokens(95, 100)));
        assert!(!is_good(&tokens(0, 100), &tokens(94, 100)));
        assert!(!is_good(&tokens(0, 0), &tokens(100, 100)));
    }
}
