//! A route's facts: one table per fact, rows with source and date, and what was learned since.
//!
//! Pure: the table's text and the names of rows that were given up come in, a [`Route`] comes out. `config/routes.toml`
//! is the table that is built in; rows of a user's own table come before its rows. [`warmth`] and
//! [`evidence`] say what the token counts of answers teach.

pub mod attribution;
pub mod diagnosis;
pub mod evidence;
pub mod loss;
pub mod price;
pub mod warmth;

use serde::{Deserialize, Serialize};

pub use price::Price;

use crate::prefix::policy::{Mode, Policy, Row, TextMode};
use crate::wire::format::Format;
use crate::wire::{ask::Ask, markers};

/// The table that is built in.
const BUILT_IN: &str = include_str!("../config/routes.toml");

/// Shares of a base price.
const PRICES: &str = include_str!("../config/prices.toml");

/// Facts about providers.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Table {
    carriers: Vec<Carriers>,
    update_text: Vec<Fact<TextMode>>,
    attribution: Vec<Fact<bool>>,
    instructions_lead: Vec<Fact<bool>>,
    binds_thinking: Vec<Fact<bool>>,
    cache_ttl: Vec<Fact<u32>>,
    cached_price: Vec<Fact<f64>>,
    usage_cached: Vec<Fact<Cached>>,
    cache_minimum: Vec<Fact<u64>>,
    cache_at_markers: Vec<Fact<bool>>,
    cache_at_ends: Vec<Fact<bool>>,
    cache_lookback: Vec<Fact<u32>>,
    cache_granularity: Vec<Fact<u64>>,
    forgets_thinking: Vec<Fact<bool>>,
    write_price: Vec<Fact<price::Write>>,
    base: Vec<price::Base>,
    cache_marker_limit: Vec<Fact<usize>>,
    ask_diagnostics: Vec<Fact<Ask>>,
    refusals: Vec<Fact<Vec<String>>>,
}

/// Where a request goes, as far as facts hang on it.
#[derive(Clone, Copy, Debug)]
pub struct Destination<'a> {
    /// The upstream's host, or the host that it acts as.
    pub host: &'a str,
    /// The wire format.
    pub format: Format,
    /// The model.
    pub model: &'a str,
}

/// What the user chose, over the table.
#[derive(Clone, Copy, Debug)]
pub struct Choice {
    /// In-history or observe.
    pub mode: Mode,
    /// How updates are told; the table's word where it is none.
    pub text: Option<TextMode>,
    /// The listener is bound to loopback, with local state.
    pub loopback: bool,
}

/// Everything that hangs on one destination.
#[derive(Clone, Debug)]
pub struct Route {
    /// For the decision.
    pub policy: Policy,
    /// For parsing: the provider strips an attribution block.
    pub attribution: bool,
    /// For reading a refusal, in lower case.
    pub refusals: Vec<String>,
    /// For reading token counts.
    pub cache: warmth::Facts,
    /// For what a break lost.
    pub loss: loss::Facts,
    /// What that costs.
    pub price: Price,
    /// How the vendor can be asked what it finds about the prefix.
    pub ask: Option<Ask>,
    /// For judging cache markers.
    pub markers: markers::Rules,
}

/// Why a row was given up on a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Finding {
    /// An upstream answered with an error that names the form.
    Refused,
    /// The upstream moves it to the front, and what stood in its cache is lost.
    Hoisted,
    /// The upstream leaves it out.
    Dropped,
    /// The model reads it and does not act by it.
    Disobeyed,
}

/// The name of a route in the ledger.
pub fn key(upstream: &str, format: Format, model: &str) -> String {
    format!("{upstream}/{format}/{model}")
}

/// The name of a row: what it is, in the words of the table, so that it is the same row wherever it stands.
pub fn row_name(row: &Row) -> String {
    let words = (word(&row.carrier), word(&row.placement), word(&row.tool_loop));
    format!("{}/{}/{}", words.0, words.1, words.2)
}

/// A value of the table as the table writes it.
fn word(value: &impl Serialize) -> String {
    let quoted = serde_json::to_string(value).unwrap_or_default();
    quoted.trim_matches('"').to_owned()
}

impl Finding {
    /// As shown and logged.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::Hoisted => "hoisted",
            Self::Dropped => "dropped",
            Self::Disobeyed => "disobeyed",
        }
    }
}

impl Table {
    /// The built-in table.
    pub fn built_in() -> Result<Self, toml::de::Error> {
        let routes: Self = toml::from_str(BUILT_IN)?;
        routes.with(PRICES)
    }

    /// This table with the rows of `text` in front.
    pub fn with(self, text: &str) -> Result<Self, toml::de::Error> {
        let own: Self = toml::from_str(text)?;
        Ok(Self {
            carriers: [own.carriers, self.carriers].concat(),
            update_text: [own.update_text, self.update_text].concat(),
            attribution: [own.attribution, self.attribution].concat(),
            instructions_lead: [own.instructions_lead, self.instructions_lead].concat(),
            binds_thinking: [own.binds_thinking, self.binds_thinking].concat(),
            cache_ttl: [own.cache_ttl, self.cache_ttl].concat(),
            usage_cached: [own.usage_cached, self.usage_cached].concat(),
            cached_price: [own.cached_price, self.cached_price].concat(),
            cache_minimum: [own.cache_minimum, self.cache_minimum].concat(),
            cache_at_markers: [own.cache_at_markers, self.cache_at_markers].concat(),
            cache_at_ends: [own.cache_at_ends, self.cache_at_ends].concat(),
            cache_lookback: [own.cache_lookback, self.cache_lookback].concat(),
            cache_granularity: [own.cache_granularity, self.cache_granularity].concat(),
            forgets_thinking: [own.forgets_thinking, self.forgets_thinking].concat(),
            write_price: [own.write_price, self.write_price].concat(),
            base: [own.base, self.base].concat(),
            cache_marker_limit: [own.cache_marker_limit, self.cache_marker_limit].concat(),
            ask_diagnostics: [own.ask_diagnostics, self.ask_diagnostics].concat(),
            refusals: [own.refusals, self.refusals].concat(),
        })
    }

    /// Whether the model reads request-level instructions in front of the history.
    pub fn instructions_lead(&self, to: Destination<'_>) -> bool {
        value(&self.instructions_lead, to).unwrap_or(false)
    }

    /// Whether what a destination says about cached tokens tells nothing.
    pub fn ignores_cached(&self, to: Destination<'_>) -> bool {
        value(&self.usage_cached, to) == Some(Cached::Ignored)
    }

    /// Where the cache of a destination has its entries.
    fn loss(&self, to: Destination<'_>) -> loss::Facts {
        let is = |facts| value(facts, to).unwrap_or(false);
        loss::Facts {
            entries: match (is(&self.cache_at_markers), is(&self.cache_at_ends)) {
                (true, _) => loss::Entries::Markers,
                (_, true) => loss::Entries::Ends,
                _ => loss::Entries::Anywhere,
            },
            look_back: value(&self.cache_lookback, to),
            granularity: value(&self.cache_granularity, to),
            minimum: value(&self.cache_minimum, to),
        }
    }

    /// The route of a destination; rows that `incapable` names (see [`row_name`]) are left out.
    pub fn route(&self, to: Destination<'_>, choice: Choice, incapable: &[String]) -> Route {
        let rows = self.carriers.iter().find(|carriers| carriers.to.fits(to));
        let rows = rows.map_or(&[][..], |carriers| carriers.rows.as_slice());
        let able = rows.iter().filter(|row| !incapable.contains(&row_name(row)));
        let rows = able.copied().collect();
        let price = value(&self.cached_price, to);
        let cache_ttl = value(&self.cache_ttl, to);
        Route {
            policy: Policy {
                mode: choice.mode,
                rows,
                text: choice.text.or(value(&self.update_text, to)).unwrap_or_default(),
                loopback: choice.loopback,
                binds_thinking: value(&self.binds_thinking, to).unwrap_or(false),
                cache_ttl,
                prices: price.map(|cached| (cached, 1.0)),
                mutant: None,
            },
            attribution: value(&self.attribution, to).unwrap_or(false),
            refusals: value(&self.refusals, to)
                .unwrap_or_default()
                .iter()
                .map(|text| text.to_lowercase())
                .collect(),
            markers: markers::Rules {
                at_markers: value(&self.cache_at_markers, to).unwrap_or(false),
                limit: value(&self.cache_marker_limit, to),
            },
            cache: warmth::Facts {
                ttl: cache_ttl,
                minimum: value(&self.cache_minimum, to),
                at_markers: value(&self.cache_at_markers, to).unwrap_or(false),
                documented: cache_ttl.is_some() || price.is_some(),
                forgets_thinking: value(&self.forgets_thinking, to).unwrap_or(false),
            },
            loss: self.loss(to),
            ask: value(&self.ask_diagnostics, to),
            price: Price::of(to, price, value(&self.write_price, to), &self.base),
        }
    }
}

impl Route {
    /// The refusal pattern that an error body matches.
    pub fn refusal(&self, error: &str) -> Option<&str> {
        // Quotes inside a JSON string are escaped; the patterns say them plainly.
        let error = error.to_lowercase().replace("\\\"", "\"");
        self.refusals
            .iter()
            .find(|pattern| error.contains(pattern.as_str()))
            .map(String::as_str)
    }
}

/// What the counts of cached tokens are worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Cached {
    /// They are counted.
    Counted,
    /// They are constants.
    Ignored,
}

/// What a row holds for.
#[derive(Clone, Debug, Default, Deserialize)]
struct Applies {
    hosts: Option<Vec<String>>,
    format: Option<Format>,
    models: Option<Vec<String>>,
    /// Where the fact was read.
    #[serde(rename = "source")]
    _source: String,
    /// When.
    #[serde(rename = "date")]
    _date: String,
}

#[derive(Clone, Debug, Deserialize)]
struct Carriers {
    #[serde(flatten)]
    to: Applies,
    rows: Vec<Row>,
}

#[derive(Clone, Debug, Deserialize)]
struct Fact<T> {
    #[serde(flatten)]
    to: Applies,
    value: T,
}

fn value<T: Clone>(facts: &[Fact<T>], to: Destination<'_>) -> Option<T> {
    facts
        .iter()
        .find(|fact| fact.to.fits(to))
        .map(|fact| fact.value.clone())
}

impl Applies {
    fn fits(&self, to: Destination<'_>) -> bool {
        let any = |patterns: &Option<Vec<String>>, text: &str| {
            patterns
                .as_ref()
                .is_none_or(|patterns| patterns.iter().any(|pattern| glob(pattern, text)))
        };
        any(&self.hosts, to.host)
            && self.format.is_none_or(|format| format == to.format)
            && any(&self.models, to.model)
    }
}

/// Whether `text` fits `pattern`, in which `*` stands for any text.
fn glob(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else {
        return false;
    };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else {
        return rest.is_empty();
    };
    for part in middle {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs() {
        for (pattern, text, fits) in [
            ("a", "a", true),
            ("a", "ab", false),
            ("a*", "ab", true),
            ("*b", "ab", true),
            ("*a*c", "xaybc", true),
            ("*a*c", "xayb", false),
            ("a*a", "a", false),
        ] {
            assert_eq!(glob(pattern, text), fits, "{pattern} {text}");
        }
    }

    #[test]
    fn what_ollama_says_of_its_cache_is_ignored() {
        let table = Table::built_in().unwrap();
        let ignores = |host| {
            let format = Format::OpenaiResponses;
            table.ignores_cached(Destination {
                host,
                format,
                model: "",
            })
        };
        assert!(ignores("ollama") && ignores("ollama.com"));
        assert!(!ignores("api.openai.com") && !ignores("127.0.0.1"));
    }

    #[test]
    fn own_rows_come_first_and_incapable_rows_go() {
        let own = "[[update_text]]\nvalue = \"delta\"\nsource = \"mine\"\ndate = \"2026-11-30\"\n";
        let table = Table::built_in().unwrap().with(own).unwrap();
        let to = Destination {
            host: "api.openai.com",
            format: Format::OpenaiChat,
            model: "m",
        };
        let choice = Choice {
            mode: Mode::InHistory,
            text: None,
            loopback: true,
        };
        let first = "system/before_user_run/after_results";
        assert_eq!(row_name(&table.route(to, choice, &[]).policy.rows[0]), first);
        let route = table.route(to, choice, &[first.to_owned()]);
        assert_eq!(route.policy.text, TextMode::Delta);
        let left: Vec<String> = route.policy.rows.iter().map(row_name).collect();
        assert_eq!(left, ["user_reminder/inside_user_message/pass"]);
        let other = table.route(to, choice, &["system/before_user_run/pass".to_owned()]);
        assert_eq!(other.policy.rows.len(), 2, "that is another row");
    }

    #[test]
    fn a_row_without_a_source_is_refused() {
        assert!(
            Table::built_in()
                .unwrap()
                .with("[[cache_ttl]]\nvalue = 3\n")
                .is_err()
        );
    }
}
