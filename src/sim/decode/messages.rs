//! Anthropic Messages to a prompt.

use std::time::Duration;

use super::{extra, lifetime, marker, plain, role, settings, unmarked};
use crate::sim::Format;
use crate::sim::json::Json;
use crate::sim::prompt::{Block, CacheOptions, Kind, Message, Prompt, Role, Tool};
use crate::sim::refusal::Refusal;
use crate::sim::responses::Responses;

pub(super) fn decode(body: &Json) -> Result<Prompt, Refusal> {
    let model = body
        .str("model")
        .ok_or_else(|| Refusal::new("model: Field required"))?;
    let Some(Json::List(messages)) = body.get("messages") else {
        return Err(Refusal::new("messages: Field required"));
    };
    let turns = messages.iter().enumerate();
    let turns: Vec<Message> = turns
        .filter(|(_, value)| !is_effort_only(value))
        .map(message)
        .collect();
    Ok(Prompt {
        format: Format::AnthropicMessages,
        model: model.to_owned(),
        stream: body.is_true("stream"),
        stream_usage: true,
        thinking: thinking_type(body).is_some_and(|t| t != "disabled"),
        tools: body.list("tools").iter().map(tool).collect(),
        head: head(body.get("system")),
        settings: message_settings(body, &turns),
        turns,
        cache: CacheOptions {
            automatic: body.some("cache_control").map(lifetime),
            ..CacheOptions::default()
        },
        responses: Responses::default(),
    })
}

/// A system message that only sets the effort is no text: it is exempt from placement and not rendered.
fn is_effort_only(message: &Json) -> bool {
    let empty = content("", message.get("content")).is_empty();
    message.str("role") == Some("system") && message.some("output_config").is_some() && empty
}

fn thinking_type(body: &Json) -> Option<&str> {
    body.get("thinking")?.str("type")
}

/// What the page on caching lists as invalidating the messages only: tool choice, thinking parameters, whether there is
/// an image at all.
fn message_settings(body: &Json, turns: &[Message]) -> Vec<String> {
    let mut found = settings(body, &["tool_choice"]);
    if let Some(thinking) = body.some("thinking") {
        found.extend(settings(thinking, &["type", "budget_tokens"]));
    }
    let blocks = turns.iter().flat_map(|m| &m.blocks);
    if blocks.into_iter().any(|b| has_image(&b.kind)) {
        found.push("images".to_owned());
    }
    found
}

fn has_image(kind: &Kind) -> bool {
    match kind {
        Kind::Image(_) => true,
        Kind::ToolResult { content, .. } => content.iter().any(has_image),
        _ => false,
    }
}

fn head(system: Option<&Json>) -> Vec<Message> {
    let blocks = content("system", system);
    if blocks.is_empty() {
        return Vec::new();
    }
    vec![Message {
        path: "system".to_owned(),
        role: Role::System,
        blocks,
    }]
}

fn tool(tool: &Json) -> Tool {
    Tool {
        name: tool.str("name").unwrap_or_default().to_owned(),
        description: tool.str("description").unwrap_or_default().to_owned(),
        schema: tool.get("input_schema").cloned().unwrap_or(Json::Null),
        extra: extra(tool, &["name", "description", "input_schema"]),
        marker: marker(tool),
    }
}

fn message((index, message): (usize, &Json)) -> Message {
    let path = format!("messages.{index}");
    Message {
        role: role(message.str("role").unwrap_or_default()),
        blocks: content(&format!("{path}.content"), message.get("content")),
        path,
    }
}

/// A string is the same as one text block.
fn content(path: &str, content: Option<&Json>) -> Vec<Block> {
    match content {
        Some(Json::Text(text)) if text.is_empty() => Vec::new(),
        Some(Json::Text(text)) => vec![plain(format!("{path}.0"), Kind::Text(text.clone()))],
        Some(Json::List(blocks)) => blocks
            .iter()
            .enumerate()
            .map(|(i, value)| block(format!("{path}.{i}"), value))
            .collect(),
        _ => Vec::new(),
    }
}

fn block(path: String, value: &Json) -> Block {
    let inner = inner_markers(value);
    Block {
        marker: marker(value).or(inner.first().copied()),
        inner_markers: inner.len() - usize::from(marker(value).is_none() && !inner.is_empty()),
        ..plain(path, kind(value))
    }
}

fn inner_markers(value: &Json) -> Vec<Duration> {
    value.list("content").iter().filter_map(marker).collect()
}

fn kind(value: &Json) -> Kind {
    let text = |key: &str| value.str(key).unwrap_or_default().to_owned();
    match value.str("type").unwrap_or_default() {
        "text" => Kind::Text(text("text")),
        "tool_use" => Kind::ToolUse {
            id: text("id"),
            name: text("name"),
            input: value.get("input").map(Json::compact).unwrap_or_default(),
        },
        "tool_result" => Kind::ToolResult {
            id: text("tool_use_id"),
            failed: value.is_true("is_error"),
            content: result_content(value.get("content")),
        },
        "thinking" => Kind::Thinking {
            text: text("thinking"),
            signature: text("signature"),
        },
        "redacted_thinking" => Kind::Redacted(text("data")),
        "image" => Kind::Image(unmarked(value).compact()),
        other => Kind::Other {
            kind: other.to_owned(),
            json: unmarked(value).compact(),
        },
    }
}

fn result_content(value: Option<&Json>) -> Vec<Kind> {
    match value {
        Some(Json::Text(text)) => vec![Kind::Text(text.clone())],
        Some(Json::List(blocks)) => blocks.iter().map(kind).collect(),
        _ => Vec::new(),
    }
}
