//! Who a client says that it is, by its headers: digests only, and no proof of anything. Pure.

use hyper::{HeaderMap, header::HeaderValue};

use crate::prefix::{digest::Digest, item::Hints};

/// Who the client says that it is: digests of the first header of each kind that it sent.
pub fn hints(headers: &HeaderMap) -> Hints {
    let first = |names: &[&str]| {
        names
            .iter()
            .filter_map(|name| headers.get(*name))
            .map(HeaderValue::as_bytes)
            .find(|value| !value.trim_ascii().is_empty())
            .map(|value| Digest::of("inkfast hint v1", value.trim_ascii()))
    };
    Hints {
        session: first(SESSION_HEADERS),
        agent: first(AGENT_HEADERS),
        ..Hints::default()
    }
}

/// Whether a header of this name, in lower case, is one that those digests are of.
pub fn names_anyone(name: &str) -> bool {
    SESSION_HEADERS.contains(&name) || AGENT_HEADERS.contains(&name)
}

/// Headers that name a session, by the clients that are known to send one; the first match wins.
const SESSION_HEADERS: &[&str] = &[
    "x-claude-code-session-id",
    "session-id",
    "session_id",
    "x-opencode-session",
    "x-session-id",
    "x-session-affinity",
    "x-grok-conv-id",
    "x-litellm-session-id",
    "helicone-session-id",
    "x-qwen-code-session-id",
    "x-deepseek-harness-session-id",
    "x-client-session-id",
];

/// Headers that tell the agents of one session apart.
const AGENT_HEADERS: &[&str] = &["x-claude-code-agent-id", "thread-id", "conversation_id"];

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::header::HeaderName;

    fn map(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let pairs = pairs
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)));
        pairs.collect()
    }

    #[test]
    fn hints_come_from_the_first_header_that_says_something() {
        let session = |pairs: &[(&'static str, &'static str)]| hints(&map(pairs)).session;
        assert_eq!(session(&[("x-session-id", " ")]), None);
        assert_eq!(
            session(&[("x-session-id", "a"), ("session_id", "b")]),
            session(&[("session_id", "b")])
        );
        assert_ne!(session(&[("session_id", "a")]), session(&[("session_id", "b")]));
        assert!(hints(&map(&[("x-claude-code-agent-id", "a")])).agent.is_some());
    }
}
