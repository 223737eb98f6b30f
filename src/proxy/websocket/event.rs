//! What a frame of the Responses API's WebSocket mode says of itself (developers.openai.com, guide "WebSocket mode",
//! 2026-11-30): client frames are bodies with a `type`, server frames are the events of the HTTP stream.

use std::borrow::Cow;

use serde::Deserialize;

/// The members of a frame that tell where it belongs.
#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
pub struct Event<'a> {
    #[serde(borrow, rename = "type", default)]
    kind: Cow<'a, str>,
    /// The lane; the connection's own where it is none.
    #[serde(borrow)]
    pub stream_id: Option<Cow<'a, str>>,
    /// The HTTP status that an error stands for.
    pub status: Option<u16>,
}

impl<'a> Event<'a> {
    /// Reads a frame; one that is no JSON object says nothing.
    pub fn of(text: &'a str) -> Self {
        serde_json::from_str(text).unwrap_or_default()
    }

    /// It asks for an answer: a prompt. A `response.steer` is none: it takes user items only.
    pub fn is_prompt(&self) -> bool {
        self.kind == "response.create"
    }

    /// It is an error in place of an answer, or of the rest of it.
    pub fn is_error(&self) -> bool {
        self.kind == "error"
    }

    /// No event of the same answer follows.
    pub fn is_last(&self) -> bool {
        let ends = [
            "response.completed",
            "response.failed",
            "response.incomplete",
            "error",
        ];
        ends.contains(&&*self.kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_say_what_they_are() {
        let event = Event::of(r#"{"input":[],"type":"response.create","stream_id":"a\u0062"}"#);
        assert!(event.is_prompt() && !event.is_last());
        assert_eq!(event.stream_id.as_deref(), Some("ab"));
        assert!(!Event::of(r#"{"type":"response.steer","input":[]}"#).is_prompt());
        let error = Event::of(r#"{"type":"error","status":400,"error":{"message":"no"}}"#);
        assert!(error.is_error() && error.is_last());
        assert_eq!(error.status, Some(400));
        for odd in [
            "",
            "[1]",
            "null",
            r#"{"type":7}"#,
            r#"{"type":"response.create","type":"x"}"#,
        ] {
            assert_eq!(Event::of(odd), Event::default(), "{odd}");
        }
    }
}
