//! The frames of a WebSocket as exchanges: the Responses API takes each prompt in a `response.create` frame and answers it
//! with the events of its HTTP stream (developers.openai.com, guide "WebSocket mode", 2026-11-30).

use serde::Deserialize;

use super::entry;
use crate::audit::exchange::{Answer, Exchange};

/// One text frame.
pub struct Frame {
    /// The client sent it.
    pub from_client: bool,
    /// When, in milliseconds since the epoch.
    pub at_ms: Option<u64>,
    /// What it says.
    pub text: String,
}

/// The exchanges of one connection; each has what is known of its upgrade.
pub fn exchanges(frames: impl IntoIterator<Item = Frame>, upgrade: &Exchange) -> Vec<Exchange> {
    let mut open: Vec<Open> = Vec::new();
    for frame in frames {
        // A frame of another kind belongs to no answer.
        let event: Event = serde_json::from_str(&frame.text).unwrap_or_default();
        if frame.from_client && event.kind == "response.create" {
            open.push(Open {
                lane: event.stream_id,
                exchange: Exchange {
                    at_ms: frame.at_ms,
                    body: frame.text.into(),
                    ..upgrade.clone()
                },
                events: Vec::new(),
                ended: false,
                ended_ms: None,
            });
        } else if !frame.from_client {
            // A lane answers in the order in which it was asked.
            let asked = open
                .iter_mut()
                .find(|asked| !asked.ended && asked.lane == event.stream_id);
            if let Some(asked) = asked {
                asked.ended = LAST.contains(&&*event.kind);
                asked.ended_ms = frame.at_ms;
                asked.events.push(frame.text);
            }
        }
    }
    open.into_iter().map(Open::end).collect()
}

/// Events that end an answer.
const LAST: [&str; 4] = [
    "response.completed",
    "response.failed",
    "response.incomplete",
    "error",
];

/// The members of a frame that tell where it belongs.
#[derive(Default, Deserialize)]
struct Event {
    #[serde(rename = "type", default)]
    kind: String,
    stream_id: Option<String>,
    status: Option<u16>,
}

/// A prompt and what came of it.
struct Open {
    lane: Option<String>,
    exchange: Exchange,
    events: Vec<String>,
    ended: bool,
    ended_ms: Option<u64>,
}

impl Open {
    fn end(self) -> Exchange {
        let refusal = self
            .events
            .first()
            .and_then(|first| serde_json::from_str::<Event>(first).ok());
        let status = refusal
            .filter(|event| event.kind == "error")
            .and_then(|event| event.status);
        let answer = (!self.events.is_empty()).then(|| Answer {
            status: Some(status.unwrap_or(200)),
            ended_ms: self.ended_ms,
            ..entry::stream(self.events.iter().map(String::as_str))
        });
        Exchange {
            answer,
            ..self.exchange
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::exchange::Source;

    #[test]
    fn each_prompt_has_its_own_answer() {
        let frames = [
            (true, r#"{"type":"response.create","stream_id":"a","input":[]}"#),
            (true, r#"{"type":"response.create","input":"x"}"#),
            (false, r#"{"type":"response.created","stream_id":"a"}"#),
            (false, r#"{"type":"error","status":429}"#),
            (false, r#"{"type":"response.completed","stream_id":"a"}"#),
            (false, r#"{"type":"response.completed","stream_id":"a"}"#),
            (true, "not json"),
            (true, r#"{"type":"response.create"}"#),
        ];
        let frames = frames.map(|(from_client, text)| Frame {
            from_client,
            at_ms: None,
            text: text.to_owned(),
        });
        let source = Source {
            file: "f".into(),
            number: 7,
        };
        let all = exchanges(frames, &entry::exchange(&source, "".into()));
        let text = |answer: &Answer| String::from_utf8(answer.body.to_vec()).unwrap();
        let answers: Vec<_> = all
            .iter()
            .map(|one| one.answer.as_ref().map(|answer| (answer.status, text(answer))))
            .collect();
        let created = r#"data: {"type":"response.created","stream_id":"a"}"#;
        let completed = r#"data: {"type":"response.completed","stream_id":"a"}"#;
        let refused = r#"data: {"type":"error","status":429}"#;
        assert_eq!(
            answers,
            [
                Some((Some(200), format!("{created}\n\n{completed}\n\n"))),
                Some((Some(429), format!("{refused}\n\n"))),
                None
            ]
        );
        assert_eq!(all[1].body, r#"{"type":"response.create","input":"x"}"#);
        assert!(all.iter().all(|one| one.source.number == 7));
    }
}
