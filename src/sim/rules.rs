//! The provider's own table of models: minimum lengths, what a model takes, what it binds.
//!
//! Sources: Anthropic "Prompt caching", "Mid-conversation system messages" and "Preserved thinking"; OpenAI "Prompt
//! caching", summary of model differences; read on 2026-11-30. A model that no row names gets the oldest behaviour.

use std::time::Duration;

use super::Format;
use super::dialect::Dialect;

/// `cache_control` without a `ttl`.
pub(super) const FIVE_MINUTES: Duration = Duration::from_secs(300);
/// `cache_control` with `ttl` "1h".
pub(super) const ONE_HOUR: Duration = Duration::from_secs(3600);
/// Explicit markers in one Anthropic request, and cache writes in one OpenAI request.
pub(super) const MARKERS: usize = 4;
/// Positions looked at per Anthropic marker, the marked one included.
pub(super) const LOOK_BACK: usize = 20;

/// Where a provider looks for cache entries and writes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Places {
    /// At explicit markers, looking back from each.
    Markers,
    /// At the ends of messages (GPT-5.6 and later).
    Ends,
    /// Every so many tokens, unbilled and unreported.
    Steps(usize),
}

/// How a provider caches.
#[derive(Clone, Copy, Debug)]
pub(super) struct Habit {
    /// Shortest prefix that is cached, in tokens.
    pub(super) minimum: usize,
    pub(super) places: Places,
    /// How long an entry lives after its last use.
    pub(super) ttl: Duration,
}

pub(super) fn habit(format: Format, model: &str, dialect: Dialect) -> Habit {
    let (minimum, places, ttl) = match format {
        Format::AnthropicMessages | Format::BedrockConverse => {
            (claude(model).minimum, Places::Markers, FIVE_MINUTES)
        }
        // Entries go at will; an hour is as good as any.
        Format::Gemini => (gemini(model).minimum, Places::Steps(1), ONE_HOUR),
        // Until the model is unloaded.
        Format::Ollama => (0, Places::Steps(1), FIVE_MINUTES),
        _ => match (gpt(model), dialect.manners().steps) {
            (gpt, Some((minimum, step))) => (minimum, Places::Steps(step), gpt.ttl),
            (gpt, None) if gpt.exact => (gpt.minimum, Places::Ends, gpt.ttl),
            (gpt, None) => (gpt.minimum, Places::Steps(STEP), gpt.ttl),
        },
    };
    Habit { minimum, places, ttl }
}

/// What an Anthropic model does.
#[derive(Clone, Copy, Debug)]
pub(super) struct Claude {
    /// Shortest prefix that is cached, in tokens.
    pub(super) minimum: usize,
    /// Takes `role: system` inside `messages`.
    pub(super) takes_system: bool,
    /// Binds thinking to the prefix in front of it.
    pub(super) binds_thinking: bool,
    /// Keeps old thinking in the prompt when the user speaks again.
    pub(super) keeps_thinking: bool,
}

/// The longest name that the model's id starts with decides.
pub(super) fn claude(model: &str) -> Claude {
    let model = model.rsplit('/').next().unwrap_or(model);
    // Bedrock's ids have a region and the vendor in front.
    let (on_bedrock, model) = match model.split_once("anthropic.") {
        Some((_, model)) => (true, model),
        None => (false, model),
    };
    let (name, minimum, flags) = CLAUDE
        .iter()
        .filter(|(name, ..)| names(model, name))
        .max_by_key(|(name, ..)| name.len())
        .unwrap_or(&("", 1_024, ""));
    Claude {
        minimum: match on_bedrock && LONGER_ON_BEDROCK.contains(name) {
            true => 1_024,
            false => *minimum,
        },
        takes_system: flags.contains('s'),
        binds_thinking: flags.contains('b'),
        keeps_thinking: flags.contains('k'),
    }
}

fn names(model: &str, name: &str) -> bool {
    model
        .strip_prefix(name)
        .is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_alphanumeric()))
}

/// Name, minimum, flags: `s` takes a later system message, `b` binds thinking, `k` keeps old thinking.
const CLAUDE: &[(&str, usize, &str)] = &[
    ("claude-fable-5", 512, "sk"),
    ("claude-fable-5-1", 512, "sbk"),
    ("claude-fable-5-2", 512, "sbk"),
    ("claude-mythos-preview", 2_048, "k"),
    ("claude-mythos-5", 512, "sk"),
    // Named among the binding models, but its own page says that it does not run the check.
    ("claude-mythos-5-1", 512, "sk"),
    ("claude-mythos-5-2", 512, "sbk"),
    ("claude-opus-4", 1_024, ""),
    ("claude-opus-4-5", 4_096, "k"),
    ("claude-opus-4-6", 4_096, "k"),
    ("claude-opus-4-7", 2_048, "k"),
    ("claude-opus-4-8", 1_024, "sk"),
    ("claude-opus-5", 512, "sk"),
    ("claude-opus-5-5", 512, "sbk"),
    ("claude-sonnet-4", 1_024, ""),
    ("claude-sonnet-4-6", 1_024, "k"),
    // Its pages contradict each other about later system messages.
    ("claude-sonnet-5", 1_024, "k"),
    ("claude-sonnet-5-5", 512, "sbk"),
    ("claude-haiku-4-5", 4_096, ""),
    ("claude-haiku-5-5", 1_024, "sbk"),
    ("claude-3-5-haiku", 2_048, ""),
];

/// Models that cache from 1,024 tokens on there.
const LONGER_ON_BEDROCK: &[&str] = &["claude-fable-5", "claude-mythos-5"];

/// What a Gemini model does.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gemini {
    /// Shortest prefix that is cached without being asked, in tokens.
    pub(super) minimum: usize,
    /// Signs its function calls and wants the signatures back.
    pub(super) signs: bool,
}

/// By version: `gemini-2.5-pro` caches from 2,048 tokens on, Gemini 3 from 4,096; those before 2.5 do not.
pub(super) fn gemini(model: &str) -> Gemini {
    let version = version_behind("gemini-", model).unwrap_or((0, 0));
    Gemini {
        minimum: match version {
            (3.., _) => 4_096,
            (2, 5..) => 2_048,
            _ => usize::MAX,
        },
        signs: version.0 >= 3,
    }
}

/// What an OpenAI model's cache does.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gpt {
    /// Shortest prefix that is cached, in tokens.
    pub(super) minimum: usize,
    /// Breakpoints at message ends, exact counts and writes that are billed (GPT-5.6 and later), instead of steps.
    pub(super) exact: bool,
    /// How long an entry lives after its last use.
    pub(super) ttl: Duration,
}

/// Counts of models before GPT-5.6 are rounded down to this.
pub(super) const STEP: usize = 128;
/// Earlier message ends looked at for an implicit breakpoint, GPT-5.6 and later.
pub(super) const EARLIER_ENDS: usize = 20;
/// `prompt_cache_retention` "24h".
pub(super) const ONE_DAY: Duration = Duration::from_secs(24 * 3600);
/// A breakpoint's `ttl` "12h".
pub(super) const HALF_DAY: Duration = Duration::from_secs(12 * 3600);

/// What the Responses API does with an OpenAI model.
#[derive(Clone, Copy, Debug)]
pub(super) struct ResponsesModel {
    /// `instructions` stand behind the input, for this request only (GPT-6.2 and later), instead of at the head.
    pub(super) instructions_last: bool,
    /// Reasoning behind another prefix is dropped (GPT-6.2 and later).
    pub(super) binds_reasoning: bool,
    /// Default of `reasoning.context`: all turns (GPT-5.6 and later), or the current one.
    pub(super) recalls_reasoning: bool,
}

/// OpenAI "Keep the prefix unchanged" and "Using GPT-6.2", read on 2026-11-30.
pub(super) fn responses(model: &str) -> ResponsesModel {
    let since = |minimum| version_behind("gpt-", model).is_some_and(|v| v >= minimum);
    ResponsesModel {
        instructions_last: since((6, 2)),
        binds_reasoning: since((6, 2)),
        recalls_reasoning: since((5, 6)),
    }
}

pub(super) fn gpt(model: &str) -> Gpt {
    let exact = version_behind("gpt-", model).is_some_and(|v| v >= (5, 6));
    let minutes = if exact { 30 } else { 5 };
    Gpt {
        minimum: 1_024,
        exact,
        ttl: Duration::from_secs(minutes * 60),
    }
}

/// `gpt-5.6-mini` is (5, 6), `gpt-6` is (6, 0).
fn version_behind(name: &str, model: &str) -> Option<(u32, u32)> {
    let model = model.rsplit('/').next()?;
    let digits = model.strip_prefix(name)?.split('-').next()?;
    let (major, minor) = digits.split_once('.').unwrap_or((digits, "0"));
    Some((major.parse().ok()?, minor.parse().ok()?))
}
