//! The formats that can be probed: where their requests go, how a conversation is written in each, and what may be
//! better than the rows of the table.

use serde_json::{Value, json};

use super::talk::Turn;
use crate::{
    prefix::policy::{Carrier, Placement, Row, ToolLoop},
    wire::format::Format,
};

/// What the probe needs to know of a format.
pub struct Shape {
    /// The format.
    pub format: Format,
    /// What agents put behind `/v1` of a base URL.
    pub ending: &'static str,
    /// The usual environment variable of the key.
    pub key_env: &'static str,
    /// The header of the key, and what stands in front of the key in it.
    pub key_header: (&'static str, &'static str),
    /// Headers that every request has.
    pub headers: &'static [(&'static str, &'static str)],
    /// The parameters that limit an answer; a host that refuses one names the next.
    pub limits: &'static [&'static str],
    /// A conversation as a request body.
    body: fn(&Turn<'_>) -> Value,
    /// Rows that are better than what unknown hosts get, where they work. What happens in a tool loop is not probed.
    pub better: &'static [Row],
}

impl Shape {
    /// The body of a request.
    pub fn body(&self, model: &str, turn: &Turn<'_>, limit: (&str, u32)) -> Vec<u8> {
        let mut body = (self.body)(turn);
        body["model"] = model.into();
        body[limit.0] = limit.1.into();
        body.to_string().into_bytes()
    }
}

/// The shape of a format.
///
/// # Errors
/// A sentence for the user: this format cannot be probed.
pub fn of(format: Format) -> Result<&'static Shape, String> {
    let shape = SHAPES.iter().find(|shape| shape.format == format);
    shape.ok_or_else(|| {
        let known: Vec<_> = SHAPES.iter().map(|shape| shape.format.as_str()).collect();
        format!("--wire: {format} cannot be probed; {} can", known.join(" and "))
    })
}

static SHAPES: [Shape; 2] = [
    Shape {
        format: Format::OpenaiChat,
        ending: "/chat/completions",
        key_env: "OPENAI_API_KEY",
        key_header: ("authorization", "Bearer "),
        headers: &[],
        limits: &["max_tokens", "max_completion_tokens"],
        body: openai_chat,
        better: &[Row {
            carrier: Carrier::System,
            head_role: true,
            placement: Placement::BeforeUserRun,
            tool_loop: ToolLoop::Pass,
        }],
    },
    Shape {
        format: Format::AnthropicMessages,
        ending: "/messages",
        key_env: "ANTHROPIC_API_KEY",
        key_header: ("x-api-key", ""),
        headers: &[("anthropic-version", "2023-06-01")],
        limits: &["max_tokens"],
        body: anthropic_messages,
        better: &[Row {
            carrier: Carrier::System,
            head_role: false,
            placement: Placement::AfterUserTurn,
            tool_loop: ToolLoop::Pass,
        }],
    },
];

fn openai_chat(turn: &Turn<'_>) -> Value {
    let mut messages = vec![json!({"role": "system", "content": turn.system})];
    messages.extend(
        turn.messages
            .iter()
            .map(|(role, text)| json!({"role": role, "content": text})),
    );
    json!({ "messages": messages })
}

/// Markers stand where agents put them: at the end of the head and of the last message.
fn anthropic_messages(turn: &Turn<'_>) -> Value {
    let marked = |text: &str| json!([{"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}]);
    let last = turn.messages.len() - 1;
    let messages = turn.messages.iter().enumerate().map(|(index, (role, text))| {
        let content = if index == last { marked(text) } else { json!(text) };
        json!({"role": role, "content": content})
    });
    json!({"system": marked(turn.system), "messages": messages.collect::<Vec<_>>()})
}
