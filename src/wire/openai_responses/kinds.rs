//! What the items of `input` and `output` are: who speaks, and what must follow.
//!
//! Types as in the typed client of 2026-11-30; a type that is not known is opaque and counts as the model's, next to
//! which nothing is ever put.

use crate::prefix::item::{Kind, Role};
use crate::wire::envelope::Envelope;
use crate::wire::scan::{Cursor, Fault};

/// Calls that the client answers with an item of the same `call_id`.
const CLIENT_CALLS: [&str; 6] = [
    "function_call",
    "custom_tool_call",
    "local_shell_call",
    "shell_call",
    "apply_patch_call",
    "computer_call",
];

/// Whether an item of this type is a call that the client answers.
pub fn is_client_call(kind: &str) -> bool {
    CLIENT_CALLS.contains(&kind)
}

/// Whether the item is a message; `type` may be left out.
pub fn is_message(item: &Envelope, cursor: &Cursor<'_>) -> bool {
    match item.get(cursor, b"type") {
        Some(kind) => cursor.slice(&kind) == b"\"message\"",
        None => item.get(cursor, b"role").is_some(),
    }
}

/// Who speaks in an item, and what it is.
pub fn of(item: &Envelope, cursor: &Cursor<'_>) -> Result<(Role, Kind), Fault> {
    if is_message(item, cursor) {
        let role = role(item, cursor).ok_or(Fault::Shape)?;
        return Ok((role, Kind::Content));
    }
    let kind = item.word(cursor, b"type").unwrap_or_default();
    // Searches for tools are run by either side, programs by the provider.
    let execution = item.word(cursor, b"execution").unwrap_or_default();
    let by_server = execution == "server" || kind.starts_with("program");
    let by_client = is_client_call(kind) || execution == "client" && kind.ends_with("_call");
    Ok(match kind {
        "reasoning" => (Role::Assistant, Kind::Thinking),
        "compaction" | "compaction_summary" => (Role::Assistant, Kind::Summary),
        "compaction_trigger" => (Role::Operator, Kind::Trigger),
        "mcp_approval_request" => (Role::Assistant, Kind::ToolCall),
        "mcp_approval_response" => (Role::Tool, Kind::ToolResult),
        "configuration_update" | "additional_tools" => (Role::Operator, Kind::Content),
        _ if by_client => (Role::Assistant, Kind::ToolCall),
        _ if kind.ends_with("_output") && by_server => (Role::Assistant, Kind::ServerToolResult),
        _ if kind.ends_with("_output") => (Role::Tool, Kind::ToolResult),
        _ => (role(item, cursor).unwrap_or(Role::Assistant), Kind::Content),
    })
}

fn role(item: &Envelope, cursor: &Cursor<'_>) -> Option<Role> {
    match item.word(cursor, b"role")? {
        "system" | "developer" => Some(Role::Operator),
        "user" => Some(Role::User),
        "assistant" => Some(Role::Assistant),
        _ => None,
    }
}
