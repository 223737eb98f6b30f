//! The question that a vendor answers with its own finding about the prefix: a member of the body beside the prompt, put
//! in front of all others.
//!
//! Sources: `diagnostics.previous_message_id` of the Anthropic Messages API; `prompt_cache_options.comparison_response_id`
//! of the OpenAI Responses API (GPT-5.6 and later; it does not change what is cached); read on 2026-11-30.

use bytes::Bytes;
use serde::Deserialize;

use crate::prefix::Request;

/// How a vendor is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ask {
    /// By the id of the message before.
    PreviousMessageId,
    /// By the id of the response to compare with.
    ComparisonResponseId,
}

/// The pieces of a body that leaves, with the question in it; none where the client says something of its own there, or the
/// id is not one. All edits of a body stand behind its `{`, so what is put there moves none of them.
pub fn asking(ask: Ask, id: &str, request: &Request, pieces: &[Bytes]) -> Option<Vec<Bytes>> {
    let (member, question) = match ask {
        Ask::PreviousMessageId => ("\"diagnostics\"", format!(r#"{{"previous_message_id":"{id}"}}"#)),
        Ask::ComparisonResponseId => (
            "\"prompt_cache_options\"",
            format!(r#"{{"comparison_response_id":"{id}"}}"#),
        ),
    };
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    let is_id = !id.is_empty() && id.len() <= 256 && id.bytes().all(plain);
    // A member of that name anywhere: better not to ask than to say it twice.
    if !is_id || memchr::memmem::find(&request.body, member.as_bytes()).is_some() {
        return None;
    }
    let at = request.layout.object;
    let first = pieces.first().filter(|first| at > 0 && first.len() >= at)?;
    let said = Bytes::from(format!("{member}:{question},"));
    let split = [first.slice(..at), said, first.slice(at..)];
    Some(split.into_iter().chain(pieces[1..].iter().cloned()).collect())
}
