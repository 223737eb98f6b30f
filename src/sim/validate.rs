//! What a provider refuses, checked before anything is rendered. Each format has a file.

use super::Format;
use super::prompt::Prompt;
use super::refusal::Refusal;

mod chat;
mod converse;
mod gemini;
mod messages;
mod ollama;
mod responses;

pub(super) use chat::template;

/// Checks roles, placement, tool pairs and markers.
pub(super) fn validate(prompt: &Prompt) -> Result<(), Refusal> {
    match prompt.format {
        Format::OpenAiChat => chat::validate(prompt),
        Format::AnthropicMessages => messages::validate(prompt),
        Format::Gemini => gemini::validate(prompt),
        Format::BedrockConverse => converse::validate(prompt),
        Format::Ollama => ollama::validate(prompt),
        Format::OpenAiResponses => responses::validate(&prompt.responses),
    }
}
