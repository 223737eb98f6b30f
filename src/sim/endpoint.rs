//! What a request asks for, by method and path, and whose it is.

use super::Format;
use super::exchange::Incoming;
use super::refusal::Refusal;

/// The endpoint of a request.
pub(super) enum Endpoint {
    Chat { format: Format, count_only: bool },
    Models,
}

impl Endpoint {
    /// # Errors
    ///
    /// 404 for any other path.
    pub(super) fn of(incoming: &Incoming) -> Result<Self, Refusal> {
        let path = path(incoming);
        let chat = |format, count_only| Ok(Self::Chat { format, count_only });
        match incoming.method.as_str() {
            "POST" if path.ends_with("/responses/input_tokens") => chat(Format::OpenAiResponses, true),
            "POST" if path.ends_with("/responses") || is_compact(incoming) => {
                chat(Format::OpenAiResponses, false)
            }
            _ if incoming.lane.is_some() => chat(Format::OpenAiResponses, false),
            "GET" if is_responses(incoming) && header(incoming, "upgrade").is_some() => Err(no_socket()),
            "POST" if path.ends_with("/chat/completions") => chat(Format::OpenAiChat, false),
            "POST" if path.ends_with("/messages/count_tokens") => chat(Format::AnthropicMessages, true),
            "POST" if path.ends_with("/messages") => chat(Format::AnthropicMessages, false),
            "GET" | "HEAD" if path.ends_with("/models") || path == "/" => Ok(Self::Models),
            method => {
                let message = format!("Unknown request URL: {method} {path}");
                Err(Refusal::new(message).with_status(404).code("unknown_url"))
            }
        }
    }
}

/// The request asks for a compacted window.
pub(super) fn is_compact(incoming: &Incoming) -> bool {
    path(incoming).ends_with("/responses/compact")
}

fn is_responses(incoming: &Incoming) -> bool {
    path(incoming).ends_with("/responses")
}

/// An upgrade gets here only where it is refused.
fn no_socket() -> Refusal {
    Refusal::new("WebSocket mode is not available here.").with_status(426)
}

/// The format that an error is written in.
pub(super) fn format_of(incoming: &Incoming) -> Format {
    let is_anthropic = |(name, _): &(String, String)| {
        name.eq_ignore_ascii_case("anthropic-version") || name.eq_ignore_ascii_case("x-api-key")
    };
    match path(incoming).contains("/messages") || incoming.headers.iter().any(is_anthropic) {
        true => Format::AnthropicMessages,
        false => Format::OpenAiChat,
    }
}

/// The key that isolates caches: a workspace's.
pub(super) fn api_key(incoming: &Incoming) -> &str {
    let key = header(incoming, "x-api-key").or_else(|| header(incoming, "authorization"));
    key.unwrap_or_default()
}

fn header<'a>(incoming: &'a Incoming, name: &str) -> Option<&'a str> {
    let mut headers = incoming.headers.iter();
    let found = headers.find(|(n, _)| n.eq_ignore_ascii_case(name));
    found.map(|(_, value)| value.as_str())
}

fn path(incoming: &Incoming) -> &str {
    let end = incoming.target.find('?');
    &incoming.target[..end.unwrap_or(incoming.target.len())]
}
