//! Bedrock Converse: the order of roles is Bedrock's own rule; the rest is the model's, as in the Messages format.

use super::super::prompt::{Kind, Message, Prompt, Role};
use super::super::refusal::Refusal;
use super::messages;

pub(super) fn validate(prompt: &Prompt) -> Result<(), Refusal> {
    let turns = &prompt.turns;
    for message in turns {
        if let Role::Unknown(_) | Role::Developer | Role::Tool | Role::Function = message.role {
            return Err(Refusal::new(format!(
                "1 validation error detected: Value at '{}.role' failed to satisfy constraint: Member must satisfy enum \
                 value set: [user, assistant, system]",
                message.path
            )));
        }
    }
    if turns.first().is_some_and(|m| m.role == Role::Assistant) {
        return Err(Refusal::new(
            "A conversation must start with a user message. Try again with a conversation that starts with a user message.",
        ));
    }
    if turns.windows(2).any(|pair| pair[0].role == pair[1].role) {
        return Err(Refusal::new(
            "A conversation must alternate between user and assistant roles. Make sure the conversation alternates between \
             user and assistant roles and try again.",
        ));
    }
    if prompt.tools.is_empty() && turns.iter().any(uses_tools) {
        return Err(Refusal::new(
            "The toolConfig field must be defined when using toolUse and toolResult content blocks.",
        ));
    }
    messages::validate(prompt).map_err(by_the_model)
}

fn uses_tools(message: &Message) -> bool {
    let mut kinds = message.blocks.iter().map(|b| &b.kind);
    kinds.any(|kind| matches!(kind, Kind::ToolUse { .. } | Kind::ToolResult { .. }))
}

fn by_the_model(refusal: Refusal) -> Refusal {
    Refusal {
        message: format!("The model returned the following errors: {}", refusal.message),
        ..refusal
    }
}
