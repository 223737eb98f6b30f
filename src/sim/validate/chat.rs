//! OpenAI Chat Completions: roles, tool groups, and the chat templates of open models.

use std::collections::HashSet;

use super::super::LaterSystem;
use super::super::prompt::{Kind, Message, Prompt, Role};
use super::super::refusal::Refusal;

pub(super) fn validate(prompt: &Prompt) -> Result<(), Refusal> {
    let messages: Vec<&Message> = prompt.head.iter().chain(&prompt.turns).collect();
    if messages.is_empty() {
        let message = "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead.";
        return Err(Refusal::new(message).param("messages").code("empty_array"));
    }
    for (i, message) in messages.iter().enumerate() {
        if let Role::Unknown(name) = &message.role {
            return Err(unknown_role(i, name));
        }
    }
    tool_groups(&messages)
}

/// What a strict chat template raises, with this status (llama.cpp answers 500, vLLM 400).
pub(in crate::sim) fn template(prompt: &Prompt, mode: LaterSystem) -> Result<(), Refusal> {
    let (status, alternate) = match mode {
        LaterSystem::Strict { status } => (status, false),
        LaterSystem::Alternate { status } => (status, true),
        _ => return Ok(()),
    };
    let raise = |message: &str| {
        let text = format!("Error rendering the chat template: {message}");
        Err(Refusal::new(text).with_status(status))
    };
    let mut messages = prompt.head.iter().chain(&prompt.turns);
    if messages.any(|m| m.role == Role::Developer) {
        return raise("Unexpected message role.");
    }
    let in_one_list = matches!(
        prompt.format,
        super::Format::OpenAiChat | super::Format::OpenAiResponses | super::Format::Ollama
    );
    let second_in_head = in_one_list && prompt.head.len() > 1;
    if second_in_head || prompt.turns.iter().any(|m| m.role == Role::System) {
        return raise("System message must be at the beginning.");
    }
    let speakers = prompt.turns.windows(2);
    let doubled = |pair: &[Message]| pair[0].role == pair[1].role && pair[0].role == Role::User;
    if alternate && speakers.into_iter().any(doubled) {
        return raise(
            "After the optional system message, conversation roles must alternate user/assistant/user/assistant/...",
        );
    }
    Ok(())
}

fn unknown_role(index: usize, name: &str) -> Refusal {
    Refusal::new(format!(
        "Invalid value: '{name}'. Supported values are: 'system', 'assistant', 'user', 'function', 'tool', and 'developer'."
    ))
    .param(format!("messages[{index}].role"))
    .code("invalid_value")
}

/// One `tool` message per call right behind the calls, and none elsewhere.
fn tool_groups(messages: &[&Message]) -> Result<(), Refusal> {
    let mut open: Vec<&str> = Vec::new();
    let mut group: HashSet<&str> = HashSet::new();
    for (i, message) in messages.iter().enumerate() {
        if message.role == Role::Tool {
            let id = message.blocks.iter().find_map(answered).unwrap_or_default();
            if !group.contains(id) {
                return Err(stray_result(i));
            }
            open.retain(|call| *call != id);
            continue;
        }
        unanswered(i, &open)?;
        open = message.blocks.iter().filter_map(called).collect();
        group = open.iter().copied().collect();
    }
    unanswered(messages.len(), &open)
}

fn called(block: &super::super::prompt::Block) -> Option<&str> {
    match &block.kind {
        Kind::ToolUse { id, .. } => Some(id),
        _ => None,
    }
}

fn answered(block: &super::super::prompt::Block) -> Option<&str> {
    match &block.kind {
        Kind::ToolResult { id, .. } => Some(id),
        _ => None,
    }
}

fn unanswered(index: usize, open: &[&str]) -> Result<(), Refusal> {
    if open.is_empty() {
        return Ok(());
    }
    Err(Refusal::new(format!(
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. \
         The following tool_call_ids did not have response messages: {}",
        open.join(", ")
    ))
    .param(format!("messages.[{index}].role")))
}

fn stray_result(index: usize) -> Refusal {
    let message = "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.";
    Refusal::new(message).param(format!("messages.[{index}].role"))
}
