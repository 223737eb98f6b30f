//! What the route allows, in words that name no provider. Built by `route`, read by `decide`.

use serde::{Deserialize, Serialize};

pub use crate::prompt::TextMode;

/// Whether bodies are edited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// A changed head becomes a node in the history.
    #[default]
    InHistory,
    /// No byte is changed; everything is recorded and reported.
    Observe,
}

/// How a node travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Carrier {
    /// A message of role `system`.
    System,
    /// A message of role `developer`.
    Developer,
    /// User text in sentinels.
    UserReminder,
    /// A part of the user's content.
    TextPart,
}

/// Where a new node goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Placement {
    /// A message before the first unsent item of the trailing user run; behind the run when it was sent.
    BeforeUserRun,
    /// A message right behind the trailing user turn, last or before an unsent prefill.
    AfterUserTurn,
    /// A block of the trailing user turn: its first while none of it was sent, else behind the last one sent.
    BlockInUserTurn,
    /// Inside the last user message: before the user's own text while that was not sent, else behind it.
    InsideUserMessage,
}

/// What a route does with a change that comes in the middle of a tool loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolLoop {
    /// The node goes behind the complete group of results.
    AfterResults,
    /// The change waits for the next user turn.
    Wait,
    /// There is no slot: the change passes through.
    Pass,
}

/// One way to carry a node; a route lists them in order of preference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// How the node travels. `System` and `Developer` follow the head's own role where `head_role` says so.
    pub carrier: Carrier,
    /// The node takes the role that the head was written in.
    #[serde(default)]
    pub head_role: bool,
    /// Where it goes.
    pub placement: Placement,
    /// What happens in a tool loop.
    pub tool_loop: ToolLoop,
}

/// All that `decide` needs to know beside the request and its past.
#[derive(Clone, Debug)]
pub struct Policy {
    /// In-history or observe, for conversations that begin now.
    pub mode: Mode,
    /// Carriers by preference; empty where no node can travel.
    pub rows: Vec<Row>,
    /// How update texts are rendered.
    pub text: TextMode,
    /// The listener serves one person's machine.
    pub loopback: bool,
    /// Thinking is bound to its prefix: a changed prefix is refused.
    pub binds_thinking: bool,
    /// The provider documents a lifetime of its cache, in seconds; explicit markers may lengthen it.
    pub cache_ttl: Option<u32>,
    /// Price of a cached token and of an uncached one, in any common unit; for the break-even.
    pub prices: Option<(f64, f64)>,
    /// Test-only fault in the planner; see [`Mutant`].
    pub mutant: Option<Mutant>,
}

/// A seeded fault: each property test must catch the one named after what it breaks. Never set outside tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mutant {
    /// Invariant 1: an unchanged body is copied with a space behind it.
    TouchUntouched,
    /// Invariant 2: a stored node is left out.
    ForgetNode,
    /// Invariant 2: the client's own head goes out though a baseline is frozen.
    ThawHead,
    /// Invariant 3: the comparison is with the first prompt, not with the latest.
    CompareWithFirst,
    /// Invariant 4: the last client item is dropped.
    LoseItem,
    /// Invariant 5: the clock shows in the node's text.
    ClockInNode,
    /// Invariant 6: the node goes between a call and its result.
    SplitPair,
    /// Invariant 8: a new node does not wait until it is on record.
    SendBeforeRecord,
    /// Invariant 11: no evidence is asked for.
    AskNoEvidence,
}
