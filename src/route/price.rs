//! What input costs, by what the cache did with it: shares of the user's own base price. Unknown stays unknown.

use serde::Deserialize;

use super::{Destination, glob};

/// Prices of a route.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Price {
    /// A million input tokens that the cache had no part in, in the user's own currency.
    pub base: Option<f64>,
    /// Share of it for a token that is read from the cache.
    pub read: Option<f64>,
    /// Share of it for a token that is not: written for the shortest lifetime where writing costs.
    pub write: f64,
    /// The same for an hour.
    pub write_hour: f64,
    /// What was lost is written for an hour.
    pub for_an_hour: bool,
}

/// Shares for tokens that are written.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Write {
    short: f64,
    hour: Option<f64>,
}

/// A base price of the user's.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Base {
    hosts: Option<Vec<String>>,
    models: Option<Vec<String>>,
    input_per_mtok: f64,
}

impl Price {
    pub(super) fn of(to: Destination<'_>, read: Option<f64>, write: Option<Write>, bases: &[Base]) -> Self {
        let short = write.map_or(1.0, |write| write.short);
        Self {
            base: bases
                .iter()
                .find(|base| base.fits(to))
                .map(|base| base.input_per_mtok),
            read,
            write: short,
            write_hour: write.and_then(|write| write.hour).unwrap_or(short),
            for_an_hour: false,
        }
    }

    /// The same where what is written lives for so many seconds.
    #[must_use]
    pub fn with_ttl(self, seconds: Option<u32>) -> Self {
        Self {
            for_an_hour: seconds.is_some_and(|seconds| seconds >= 3600),
            ..self
        }
    }

    /// What so many tokens cost that would have been read from the cache, over what they would have cost then.
    pub fn lost(&self, tokens: u64) -> Option<f64> {
        let again = if self.for_an_hour {
            self.write_hour
        } else {
            self.write
        };
        Some(tokens as f64 * self.base? * (again - self.read?) / 1e6)
    }
}

impl Base {
    fn fits(&self, to: Destination<'_>) -> bool {
        let any = |patterns: &Option<Vec<String>>, text: &str| {
            let patterns = patterns.as_ref();
            patterns.is_none_or(|patterns| patterns.iter().any(|pattern| glob(pattern, text)))
        };
        any(&self.hosts, to.host) && any(&self.models, to.model)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Choice, Table};
    use super::*;
    use crate::{prefix::policy::Mode, wire::format::Format};

    #[test]
    fn costs_by_route_and_lifetime() {
        let own = "[[base]]\nmodels = [\"*claude*\"]\ninput_per_mtok = 4.0\n\n[[base]]\nhosts = [\"api.openai.com\"]\ninput_per_mtok = 2.0\n";
        let table = Table::built_in().unwrap().with(own).unwrap();
        let cost = |host, model, ttl| {
            let format = Format::AnthropicMessages;
            let choice = Choice {
                mode: Mode::Observe,
                text: None,
                loopback: true,
            };
            let route = table.route(Destination { host, format, model }, choice, &[]);
            let cost = route.price.with_ttl(ttl).lost(1_000_000);
            cost.map(|cost| (cost * 1000.0).round() / 1000.0)
        };
        for (host, model, ttl, want) in [
            ("api.anthropic.com", "claude-opus-5", None, Some(4.6)),
            ("api.anthropic.com", "claude-opus-5", Some(3600), Some(7.6)),
            ("api.anthropic.com", "claude-opus-5-5", None, Some(4.8)),
            ("api.anthropic.com", "claude-fable-5-1", None, Some(4.9)),
            ("api.openai.com", "gpt-4o", None, Some(1.0)),
            ("api.openai.com", "gpt-6", Some(3600), Some(2.3)),
            ("api.groq.com", "llama", None, None),
            ("127.0.0.1", "claude-opus-5", None, None),
        ] {
            assert_eq!(cost(host, model, ttl), want, "{host} {model}");
        }
    }
}
