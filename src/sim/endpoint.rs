//! What a request asks for, by method and path, and whose it is.

use serde_json::Value;

use super::Format;
use super::exchange::Incoming;
use super::refusal::Refusal;
use super::{signing, socket};

pub(super) mod hosted;

use hosted::Call;

/// The endpoint of a request.
pub(super) enum Endpoint {
    Chat {
        format: Format,
        count_only: bool,
    },
    /// A format whose path says more.
    Hosted(Call),
    /// Gemini's explicit caches; `parent` on Vertex is the collection's whole name.
    CachedContents {
        parent: Option<String>,
    },
    /// An answer that no request changes.
    About(Value),
    Models,
}

impl Endpoint {
    /// # Errors
    ///
    /// 404 for any other path.
    pub(super) fn at(method: &str, target: &str) -> Result<Self, Refusal> {
        if let Some(hosted) = hosted::find(method, target) {
            return Ok(hosted);
        }
        let path = path(target);
        let chat = |format, count_only| Ok(Self::Chat { format, count_only });
        match method {
            "POST" if path.ends_with("/responses/input_tokens") => chat(Format::OpenAiResponses, true),
            "POST" if path.ends_with("/responses") || path.ends_with(COMPACT) => {
                chat(Format::OpenAiResponses, false)
            }
            socket::METHOD | socket::SUCCESSOR => chat(Format::OpenAiResponses, false),
            "GET" if path.ends_with("/responses") => Err(no_socket()),
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

    /// What is asked of a model; none where nothing is.
    pub(super) fn call(self) -> Option<Call> {
        match self {
            Self::Chat { format, count_only } => Some(Call::plain(format, count_only)),
            Self::Hosted(call) => Some(call),
            _ => None,
        }
    }
}

/// The request asks for a compacted window.
pub(super) fn is_compact(incoming: &Incoming) -> bool {
    path(&incoming.target).ends_with(COMPACT)
}

const COMPACT: &str = "/responses/compact";

/// An upgrade gets here only where it is refused, and so does a request without one.
fn no_socket() -> Refusal {
    Refusal::new("WebSocket mode is not available here.").with_status(426)
}

/// The format that an error is written in.
pub(super) fn format_of(incoming: &Incoming) -> Format {
    match hosted::find(&incoming.method, &incoming.target) {
        Some(Endpoint::Hosted(call)) => return call.error_format(),
        Some(Endpoint::CachedContents { .. }) => return Format::Gemini,
        _ => {}
    }
    let is_anthropic = |(name, _): &(String, String)| {
        name.eq_ignore_ascii_case("anthropic-version") || name.eq_ignore_ascii_case("x-api-key")
    };
    match path(&incoming.target).contains("/messages") || incoming.headers.iter().any(is_anthropic) {
        true => Format::AnthropicMessages,
        false => Format::OpenAiChat,
    }
}

/// The key that isolates caches: a workspace's.
pub(super) fn api_key(incoming: &Incoming) -> &str {
    let key = header(incoming, "x-api-key")
        .or_else(|| header(incoming, "x-goog-api-key"))
        .or_else(|| header(incoming, "authorization"))
        .or_else(|| query_key(&incoming.target))
        .unwrap_or_default();
    // A signature is another one for each request.
    signing::access_key(key).unwrap_or(key)
}

/// Gemini's `?key=`.
fn query_key(target: &str) -> Option<&str> {
    let (_, query) = target.split_once('?')?;
    query.split('&').find_map(|pair| pair.strip_prefix("key="))
}

fn header<'a>(incoming: &'a Incoming, name: &str) -> Option<&'a str> {
    let mut headers = incoming.headers.iter();
    let found = headers.find(|(n, _)| n.eq_ignore_ascii_case(name));
    found.map(|(_, value)| value.as_str())
}

fn path(target: &str) -> &str {
    target.split_once('?').map_or(target, |(path, _)| path)
}
