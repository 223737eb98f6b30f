//! What a provider refuses, checked before anything is rendered. The formats are in `chat` and `messages`.

use super::Format;
use super::prompt::Prompt;
use super::refusal::Refusal;

mod chat;
mod messages;
mod responses;

pub(super) use chat::template;

/// Checks roles, placement, tool pairs and markers.
pub(super) fn validate(prompt: &Prompt) -> Result<(), Refusal> {
    match prompt.format {
        Format::OpenAiChat => chat::validate(prompt),
        Format::AnthropicMessages => messages::validate(prompt),
        Format::OpenAiResponses => responses::validate(&prompt.responses),
    }
}
