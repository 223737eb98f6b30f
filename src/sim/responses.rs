//! What a request to the Responses API has beside its prompt: its items as they came, and the state that it goes on from.

use serde_json::Value;

use super::json::Json;
use super::prompt::Message;

/// The part of a [`Prompt`](super::prompt::Prompt) that other formats leave empty.
#[derive(Clone, Debug, Default)]
pub(super) struct Responses {
    /// The body without its input.
    pub(super) body: Body,
    /// The input as items, behind those that the server held.
    pub(super) items: Vec<Json>,
    /// How many of the items the server held.
    pub(super) held: usize,
    /// `instructions` where they stand behind the input.
    pub(super) behind: Option<Message>,
    /// Old reasoning stays in the prompt when the user speaks again.
    pub(super) recalls: bool,
    /// Ids of reasoning items that were dropped, because they were signed behind another prompt.
    pub(super) removed: Vec<String>,
    /// `/responses/compact`: the answer is a window, not a response.
    pub(super) window: bool,
    /// Where the answer goes in WebSocket mode.
    pub(super) lane: Option<Lane>,
    /// `prompt_cache_diagnostics`, if the request asked for a comparison.
    pub(super) diagnostics: Option<Value>,
}

/// The lane of a WebSocket connection that a frame came in on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Lane {
    /// Unique in this provider.
    pub(super) connection: u64,
    /// `stream_id`.
    pub(super) stream: Option<String>,
}

/// Fields of the request, read where they are needed.
#[derive(Clone, Debug)]
pub(super) struct Body(pub(super) Json);

impl Default for Body {
    fn default() -> Self {
        Self(Json::Null)
    }
}

impl Body {
    pub(super) fn previous(&self) -> Option<&str> {
        self.0.str("previous_response_id")
    }

    /// `conversation`, as an id or `{id}`.
    pub(super) fn conversation(&self) -> Option<&str> {
        let conversation = self.0.some("conversation")?;
        conversation.as_str().or_else(|| conversation.str("id"))
    }

    pub(super) fn comparison(&self) -> Option<&str> {
        self.0.at("prompt_cache_options.comparison_response_id")?.as_str()
    }

    pub(super) fn is_stored(&self) -> bool {
        self.0.get("store") != Some(&Json::Bool(false))
    }

    /// `generate: false`: the request only prepares state.
    pub(super) fn is_silent(&self) -> bool {
        self.0.get("generate") == Some(&Json::Bool(false))
    }
}

impl Responses {
    /// The input ends in an item that asks for a compaction.
    pub(super) fn is_triggered(&self) -> bool {
        self.items.last().map(kind) == Some("compaction_trigger")
    }

    pub(super) fn compacts(&self) -> bool {
        self.window || self.is_triggered()
    }

    /// Messages of the user, which a compaction keeps.
    pub(super) fn users(&self) -> impl Iterator<Item = &Json> {
        let is_user = |item: &&Json| kind(item) == "message" && item.str("role") == Some("user");
        self.items.iter().filter(is_user)
    }
}

/// The type of an item; a message may leave it out.
pub(super) fn kind(item: &Json) -> &str {
    let default = if item.some("role").is_some() {
        "message"
    } else {
        ""
    };
    item.str("type").unwrap_or(default)
}

/// Calls whose output the client owes.
pub(super) fn is_call(kind: &str) -> bool {
    matches!(kind, "function_call" | "custom_tool_call")
}

pub(super) fn is_output(kind: &str) -> bool {
    matches!(kind, "function_call_output" | "custom_tool_call_output")
}
