//! The members of the JSON report, in the order in which they are written; `docs/report.schema.json` says what they mean.

use serde::Serialize;
use uuid::Uuid;

#[derive(Serialize)]
pub struct Written<'a> {
    pub schema: &'static str,
    pub version: u32,
    pub tool: Tool,
    pub base_price: Option<f64>,
    pub totals: WrittenTotals,
    pub gates: Vec<WrittenGate<'a>>,
    pub causes: Causes,
    pub misses: Vec<Miss>,
    pub diagnostics: Vec<Diagnostic>,
    pub volatile: Vec<Volatile<'a>>,
    pub conversations: Vec<WrittenConversation<'a>>,
    pub findings: Vec<WrittenFinding<'a>>,
    pub kinds: Vec<WrittenKind<'a>>,
    pub left_out: WrittenLeftOut,
}

#[derive(Serialize)]
pub struct Tool {
    pub name: &'static str,
    pub version: &'static str,
}

#[derive(Serialize)]
pub struct WrittenTotals {
    pub requests: u64,
    pub continued: u64,
    pub failed: u64,
    pub conversations: u64,
    pub skipped: Vec<Skipped>,
    pub sent: WrittenPrefix,
    pub received: WrittenPrefix,
    pub shares: WrittenShares,
    pub tokens: Tokens,
}

#[derive(Serialize)]
pub struct Skipped {
    pub reason: &'static str,
    pub count: u64,
}

#[derive(Serialize)]
pub struct WrittenPrefix {
    pub kept: u64,
    pub before: u64,
    pub ratio: Option<f64>,
    pub breaks: u64,
    pub lost: u64,
    pub classes: std::collections::BTreeMap<&'static str, u64>,
}

#[derive(Serialize)]
pub struct WrittenShares {
    pub stable: u64,
    pub new: u64,
    pub broken: u64,
    pub node: u64,
}

/// Null where no answer told.
#[derive(Serialize)]
pub struct Tokens {
    pub cache_read: Option<u64>,
    pub cache_write: Option<u64>,
    pub uncached: Option<u64>,
    pub hit_ratio: Option<f64>,
    pub counted: u64,
    pub uncounted: u64,
}

#[derive(Serialize)]
pub struct WrittenGate<'a> {
    pub name: &'static str,
    pub passed: Option<bool>,
    pub figure: Option<f64>,
    pub why: &'a str,
}

#[derive(Serialize)]
pub struct Causes {
    pub sent: Vec<CauseRow>,
    pub received: Vec<CauseRow>,
}

#[derive(Serialize)]
pub struct CauseRow {
    pub cause: &'static str,
    pub count: u64,
    pub breaks: u64,
    pub bytes: u64,
    pub tokens: Option<u64>,
    pub tokens_unknown: u64,
    pub cost: Option<f64>,
    pub cost_unknown: u64,
    pub remedy: &'static str,
    pub advice: &'static str,
}

#[derive(Serialize)]
pub struct Miss {
    pub cause: &'static str,
    pub count: u64,
    pub advice: &'static str,
}

#[derive(Serialize)]
pub struct Diagnostic {
    pub source: &'static str,
    pub cause: &'static str,
    pub yes: u64,
    pub no: u64,
    pub unknown: u64,
}

#[derive(Serialize)]
pub struct Volatile<'a> {
    pub conversation: u64,
    pub kind: &'static str,
    pub block: &'a str,
    pub changes: u64,
    pub requests: u64,
    pub advice: &'a str,
}

#[derive(Serialize)]
pub struct WrittenConversation<'a> {
    pub id: u64,
    pub file: &'a str,
    pub upstream: Option<&'a str>,
    pub format: &'static str,
    pub model: Option<&'a str>,
    pub requests: u64,
    pub failed: u64,
    pub breaks: u64,
    pub client_breaks: u64,
    pub lost: u64,
    pub tokens: Option<u64>,
    pub tokens_unknown: u64,
    pub cost: Option<f64>,
    pub cost_unknown: u64,
    pub cache: Tokens,
    pub nodes: u64,
    pub first_ms: Option<u64>,
    pub last_ms: Option<u64>,
    pub turns: Vec<WrittenTurn<'a>>,
    pub turns_left_out: u64,
}

#[derive(Serialize)]
pub struct WrittenTurn<'a> {
    pub request: u64,
    pub number: u64,
    pub continues: Option<u64>,
    pub at_ms: Option<u64>,
    pub received: String,
    pub sent: String,
    pub hit_ratio: Option<f64>,
    pub failed: bool,
    pub strip: Vec<Run<'a>>,
}

#[derive(Serialize)]
pub struct Run<'a> {
    pub share: &'static str,
    pub bytes: u64,
    pub item: &'a str,
}

#[derive(Serialize)]
pub struct WrittenFinding<'a> {
    pub on: &'static str,
    pub level: &'static str,
    pub gated: bool,
    pub request: u64,
    pub continues: Option<u64>,
    pub conversation: u64,
    pub file: &'a str,
    pub number: u64,
    pub at_ms: Option<u64>,
    pub format: &'static str,
    pub model: Option<&'a str>,
    pub class: &'static str,
    pub cause: &'static str,
    pub item: Option<&'a str>,
    pub kept: u64,
    pub before: u64,
    pub old: Option<WrittenSide<'a>>,
    pub new: Option<WrittenSide<'a>>,
    pub bytes: u64,
    pub tokens: Option<u64>,
    pub cost: Option<f64>,
    pub remedy: &'static str,
    pub advice: &'static str,
}

#[derive(Serialize)]
pub struct WrittenSide<'a> {
    pub id: Uuid,
    pub offset: u64,
    pub bytes: u64,
    pub window: Option<Window<'a>>,
}

#[derive(Serialize)]
pub struct Window<'a> {
    pub text: &'a str,
    pub at: usize,
}

#[derive(Serialize)]
pub struct WrittenKind<'a> {
    pub cause: &'a str,
    pub item: &'a str,
    pub format: &'a str,
    pub count: u64,
    pub breaks: u64,
}

#[derive(Serialize)]
pub struct WrittenLeftOut {
    pub conversations: u64,
    pub findings: u64,
    pub turns: u64,
    pub kinds: u64,
}
