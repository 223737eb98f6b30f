//! Ollama: it knows four roles and checks nothing else.

use super::super::prompt::{Prompt, Role};
use super::super::refusal::Refusal;

pub(super) fn validate(prompt: &Prompt) -> Result<(), Refusal> {
    for message in prompt.head.iter().chain(&prompt.turns) {
        if let Role::Unknown(name) = &message.role {
            return Err(Refusal::new(format!(
                "invalid role: {name}, must be one of [system, user, assistant, tool]"
            )));
        }
    }
    Ok(())
}
