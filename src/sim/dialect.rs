//! Hosts that speak Chat Completions with cache rules and fields of their own, as a table.
//!
//! Sources: the hosts' pages on prompt caching and the servers' own documentation, read on 2026-11-30. Where a host publishes no
//! cache rule it gets OpenAI's.

/// Whose Chat Completions a provider speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dialect {
    /// OpenAI and Azure.
    #[default]
    OpenAi,
    /// `prompt_cache_hit_tokens`, `prompt_cache_miss_tokens`, `reasoning_content`.
    DeepSeek,
    /// Comment lines while it waits, `cost`, usage without being asked.
    OpenRouter,
    /// Usage in the chunk that finishes, without being asked.
    Mistral,
    /// `reasoning_content`; blocks of 128 tokens.
    Xai,
    /// `x_groq` in the chunk that finishes.
    Groq,
    /// `prompt_tokens_details` null, as without `--enable-prompt-tokens-details`; blocks of 16 tokens.
    Vllm,
    /// `prompt_tokens_details` left out where nothing was cached.
    Sglang,
    /// `timings`.
    LlamaCpp,
    /// An opening chunk with filter results.
    Copilot,
}

/// When a stream says what it cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Told {
    /// In a chunk of its own, if asked by `stream_options.include_usage`.
    WhenAsked,
    /// In a chunk of its own.
    Always,
    /// In the chunk that has the finish reason.
    AtTheFinish,
}

/// A row of the table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Manners {
    /// Shortest cached prefix and distance of cache entries, in tokens; none for OpenAI's rules by model.
    pub(super) steps: Option<(usize, usize)>,
    /// The key of an answer's reasoning; none where it is not shown.
    pub(super) reasoning: Option<&'static str>,
    pub(super) told: Told,
}

impl Dialect {
    pub(super) fn manners(self) -> Manners {
        let content = Some("reasoning_content");
        let (steps, reasoning, told) = match self {
            Self::OpenAi | Self::Copilot => (None, None, Told::WhenAsked),
            Self::DeepSeek => (Some((64, 64)), content, Told::WhenAsked),
            Self::OpenRouter => (None, Some("reasoning"), Told::Always),
            Self::Mistral => (None, None, Told::AtTheFinish),
            Self::Xai => (Some((128, 128)), content, Told::WhenAsked),
            Self::Groq => (None, Some("reasoning"), Told::WhenAsked),
            Self::Vllm => (Some((16, 16)), content, Told::WhenAsked),
            Self::Sglang | Self::LlamaCpp => (Some((1, 1)), content, Told::WhenAsked),
        };
        Manners {
            steps,
            reasoning,
            told,
        }
    }

    /// A stream brings a tool call in one chunk, not in pieces. Mistral's own client takes no call without a name
    /// (mistralai 3.7.0, `FunctionCall`).
    pub(super) fn calls_are_whole(self) -> bool {
        self == Self::Mistral
    }
}
