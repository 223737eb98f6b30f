//! One file per wire format; pure.
pub mod answer;
pub mod anthropic_messages;
pub mod body;
pub mod canonical;
pub mod envelope;
pub mod format;
pub mod head;
pub mod lower;
pub mod openai_chat;
pub mod scan;
pub mod sse;
pub mod usage;

use bytes::Bytes;

use crate::prefix::Request;

/// Reads a request body in `format`. `known` is an earlier body of the same conversation, if one is kept: what stands
/// at the same place with the same bytes is taken over from it.
pub fn parse(
    format: format::Format,
    body: &Bytes,
    context: &body::Context<'_>,
    known: Option<&Request>,
) -> Result<Request, scan::Fault> {
    match format {
        format::Format::OpenaiChat => openai_chat::parse(body, context, known),
        format::Format::AnthropicMessages => anthropic_messages::parse(body, context, known),
    }
}
