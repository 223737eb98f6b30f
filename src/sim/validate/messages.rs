//! Anthropic Messages: roles, later system messages, tool pairs and markers.
//!
//! Texts are the vendor's own where they are known; those about a system message behind or in front of the wrong turn are
//! not published and only name the rule.

use std::collections::HashSet;
use std::time::Duration;

use super::super::prompt::{Block, Kind, Message, Prompt, Role};
use super::super::refusal::Refusal;
use super::super::rules;

pub(super) fn validate(prompt: &Prompt) -> Result<(), Refusal> {
    let messages = &prompt.turns;
    let Some(first) = messages.first() else {
        return Err(Refusal::new("messages: at least one message is required"));
    };
    roles(prompt)?;
    if first.role == Role::System {
        return Err(Refusal::new(
            "messages.0: use the top-level 'system' parameter for the initial system prompt",
        ));
    }
    if first.role == Role::Assistant {
        return Err(Refusal::new("messages: first message must use the \"user\" role"));
    }
    contents(messages)?;
    system_placement(messages)?;
    tool_pairs(messages)?;
    markers(prompt)
}

fn roles(prompt: &Prompt) -> Result<(), Refusal> {
    let takes_system = rules::claude(&prompt.model).takes_system;
    for message in &prompt.turns {
        let path = &message.path;
        match &message.role {
            Role::User | Role::Assistant => {}
            Role::System if takes_system => {}
            Role::System => {
                let text = format!("{path}: role 'system' is not supported on this model");
                return Err(Refusal::new(text));
            }
            _ => {
                let text = format!("{path}.role: Input should be 'user' or 'assistant'");
                return Err(Refusal::new(text));
            }
        }
    }
    Ok(())
}

fn contents(messages: &[Message]) -> Result<(), Refusal> {
    for (i, message) in messages.iter().enumerate() {
        let final_prefill = i + 1 == messages.len() && message.role == Role::Assistant;
        if message.blocks.is_empty() && !final_prefill {
            return Err(Refusal::new(format!(
                "{}: all messages must have non-empty content except for the optional final assistant message",
                message.path
            )));
        }
        let empty = |b: &Block| b.kind.text().is_some_and(str::is_empty) && b.marker.is_none();
        if message.blocks.iter().any(empty) {
            return Err(Refusal::new("messages: text content blocks must be non-empty"));
        }
    }
    Ok(())
}

/// A run of system messages is one section: behind a user turn or a server tool result, last or in front of an assistant.
fn system_placement(messages: &[Message]) -> Result<(), Refusal> {
    for (i, message) in messages.iter().enumerate() {
        if message.role != Role::System {
            continue;
        }
        let before = &messages[i - 1];
        if has_open_calls(before) {
            return Err(Refusal::new(format!(
                "{}: a 'system' message must not stand between a `tool_use` block and its `tool_result`",
                message.path
            )));
        }
        let follows_turn = match before.role {
            Role::Assistant => ends_in_server_result(before),
            _ => true,
        };
        if !follows_turn {
            return Err(Refusal::new(format!(
                "{}: a 'system' message must immediately follow a 'user' message or a server tool result",
                message.path
            )));
        }
        if messages.get(i + 1).is_some_and(|m| m.role == Role::User) {
            return Err(Refusal::new(format!(
                "{}: a 'system' message must be the last message or be followed by an 'assistant' message",
                message.path
            )));
        }
    }
    Ok(())
}

fn has_open_calls(message: &Message) -> bool {
    message.role == Role::Assistant && message.blocks.iter().any(|b| called(b).is_some())
}

fn ends_in_server_result(message: &Message) -> bool {
    let last = message.blocks.last().map(|b| &b.kind);
    matches!(last, Some(Kind::Other { kind, .. }) if kind.ends_with("_tool_result"))
}

/// All results of a round lead the very next message; no result stands elsewhere.
fn tool_pairs(messages: &[Message]) -> Result<(), Refusal> {
    for (i, message) in messages.iter().enumerate() {
        let calls: Vec<&str> = message.blocks.iter().filter_map(called).collect();
        // Behind the first text a result no longer counts.
        let leading: HashSet<&str> = messages
            .get(i + 1)
            .map(|next| next.blocks.iter().map_while(answered).collect())
            .unwrap_or_default();
        let missing: Vec<&str> = calls.into_iter().filter(|id| !leading.contains(id)).collect();
        if !missing.is_empty() {
            return Err(Refusal::new(format!(
                "{}: `tool_use` ids were found without `tool_result` blocks immediately after: {}. Each `tool_use` \
                 block must have a corresponding `tool_result` block in the next message.",
                message.path,
                missing.join(", ")
            )));
        }
        stray_results(message, i.checked_sub(1).map(|i| &messages[i]))?;
    }
    Ok(())
}

fn stray_results(message: &Message, before: Option<&Message>) -> Result<(), Refusal> {
    let calls: HashSet<&str> = before
        .map(|m| m.blocks.iter().filter_map(called).collect())
        .unwrap_or_default();
    for block in &message.blocks {
        let Some(id) = answered(block).filter(|id| !calls.contains(id)) else {
            continue;
        };
        return Err(Refusal::new(format!(
            "{}: unexpected `tool_use_id` found in `tool_result` blocks: {id}. Each `tool_result` block must have a \
             corresponding `tool_use` block in the previous message.",
            block.path
        )));
    }
    Ok(())
}

fn called(block: &Block) -> Option<&str> {
    match &block.kind {
        Kind::ToolUse { id, .. } => Some(id),
        _ => None,
    }
}

fn answered(block: &Block) -> Option<&str> {
    match &block.kind {
        Kind::ToolResult { id, .. } => Some(id),
        _ => None,
    }
}

fn markers(prompt: &Prompt) -> Result<(), Refusal> {
    let blocks = || prompt.head.iter().chain(&prompt.turns).flat_map(|m| &m.blocks);
    if let Some(block) = blocks().find(|b| b.marker.is_some() && !b.is_cacheable()) {
        return Err(misplaced_marker(block));
    }
    let tools = prompt.tools.iter().enumerate();
    let marked: Vec<(String, Duration)> = tools
        .filter_map(|(i, t)| Some((format!("tools.{i}"), t.marker?)))
        .chain(blocks().filter_map(|b| Some((b.path.clone(), b.marker?))))
        .collect();
    let inner: usize = blocks().map(|b| b.inner_markers).sum();
    let automatic = usize::from(takes_slot(prompt));
    let found = marked.len() + inner + automatic;
    if found > rules::MARKERS {
        return Err(Refusal::new(format!(
            "A maximum of {} blocks with cache_control may be provided. Found {found}.",
            rules::MARKERS
        )));
    }
    lifetimes(&marked, prompt.cache.automatic)
}

fn misplaced_marker(block: &Block) -> Refusal {
    let path = &block.path;
    Refusal::new(match block.kind {
        Kind::Text(_) => format!("{path}.text: cache_control cannot be set for empty text blocks"),
        _ => format!("{path}.thinking.cache_control: Extra inputs are not permitted"),
    })
}

/// The automatic marker needs no slot of its own where the last block is marked already.
fn takes_slot(prompt: &Prompt) -> bool {
    let mut blocks = prompt.turns.iter().rev().flat_map(|m| m.blocks.iter().rev());
    let last = blocks.find(|b| b.is_cacheable());
    prompt.cache.automatic.is_some() && last.is_some_and(|b| b.marker.is_none())
}

fn lifetimes(marked: &[(String, Duration)], automatic: Option<Duration>) -> Result<(), Refusal> {
    let automatic = automatic.map(|ttl| ("cache_control".to_owned(), ttl));
    let mut short_seen = false;
    for (path, ttl) in marked.iter().chain(&automatic) {
        if short_seen && *ttl == rules::ONE_HOUR {
            return Err(Refusal::new(format!(
                "{path}.cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' \
                 cache_control block. Note that blocks are processed in the following order: `tools`, `system`, \
                 `messages`."
            )));
        }
        short_seen |= *ttl == rules::FIVE_MINUTES;
    }
    Ok(())
}
