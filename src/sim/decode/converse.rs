//! Bedrock Converse to a prompt. Blocks are named by their only key, and a `cachePoint` is a block that marks the end of the
//! one in front of it.

use std::time::Duration;

use super::{extra, lifetime, plain, role, settings};
use crate::sim::Format;
use crate::sim::json::Json;
use crate::sim::prompt::{Block, CacheOptions, Kind, Message, Prompt, Role, Tool};
use crate::sim::refusal::Refusal;
use crate::sim::responses::Responses;

pub(super) fn decode(body: &Json) -> Result<Prompt, Refusal> {
    let config = body.get("toolConfig").unwrap_or(&Json::Null);
    let fields = body.get("additionalModelRequestFields").unwrap_or(&Json::Null);
    let thinking = fields.get("thinking").unwrap_or(&Json::Null);
    let mut set = settings(config, &["toolChoice"]);
    set.extend(settings(thinking, &["type", "budget_tokens"]));
    let messages = body.list("messages").iter().enumerate();
    Ok(Prompt {
        format: Format::BedrockConverse,
        model: body.str("model").unwrap_or_default().to_owned(),
        stream: body.is_true("stream"),
        stream_usage: true,
        thinking: thinking.str("type").is_some_and(|t| t != "disabled"),
        tools: tools(config.list("tools"))?,
        head: head(body.list("system"))?,
        turns: messages.map(message).collect::<Result<_, _>>()?,
        settings: set,
        cache: CacheOptions::default(),
        responses: Responses::default(),
    })
}

fn head(system: &[Json]) -> Result<Vec<Message>, Refusal> {
    let blocks = blocks("system", system)?;
    if blocks.is_empty() {
        return Ok(Vec::new());
    }
    Ok(vec![Message {
        path: "system".to_owned(),
        role: Role::System,
        blocks,
    }])
}

fn message((index, message): (usize, &Json)) -> Result<Message, Refusal> {
    let path = format!("messages.{index}");
    Ok(Message {
        role: role(message.str("role").unwrap_or_default()),
        blocks: blocks(&format!("{path}.content"), message.list("content"))?,
        path,
    })
}

fn tools(values: &[Json]) -> Result<Vec<Tool>, Refusal> {
    let mut tools: Vec<Tool> = Vec::new();
    for (i, value) in values.iter().enumerate() {
        if let Some(ttl) = cache_point(value) {
            let path = format!("toolConfig.tools.{i}");
            let before = tools.last_mut().ok_or_else(|| unanchored(&path))?;
            before.marker = Some(ttl);
            continue;
        }
        let spec = value.get("toolSpec").unwrap_or(value);
        let schema = spec.get("inputSchema").and_then(|s| s.get("json"));
        tools.push(Tool {
            name: spec.str("name").unwrap_or_default().to_owned(),
            description: spec.str("description").unwrap_or_default().to_owned(),
            schema: schema.cloned().unwrap_or(Json::Null),
            extra: extra(spec, &["name", "description", "inputSchema"]),
            marker: None,
        });
    }
    Ok(tools)
}

fn blocks(path: &str, values: &[Json]) -> Result<Vec<Block>, Refusal> {
    let mut blocks: Vec<Block> = Vec::new();
    for (i, value) in values.iter().enumerate() {
        let path = format!("{path}.{i}");
        let Some(ttl) = cache_point(value) else {
            blocks.push(plain(path, kind(value)));
            continue;
        };
        let before = blocks.last_mut().ok_or_else(|| unanchored(&path))?;
        // A second one behind the same block takes a place, too.
        before.inner_markers += usize::from(before.marker.is_some());
        before.marker = Some(ttl);
    }
    Ok(blocks)
}

fn cache_point(value: &Json) -> Option<Duration> {
    value.some("cachePoint").map(lifetime)
}

fn unanchored(path: &str) -> Refusal {
    Refusal::new(format!(
        "{path}: a cachePoint must follow the content that it is to cache"
    ))
}

fn kind(value: &Json) -> Kind {
    let Some((name, inner)) = value.fields().first() else {
        return Kind::Text(String::new());
    };
    let text = |key: &str| inner.str(key).unwrap_or_default().to_owned();
    match name.as_str() {
        "text" => Kind::Text(inner.as_str().unwrap_or_default().to_owned()),
        "toolUse" => Kind::ToolUse {
            id: text("toolUseId"),
            name: text("name"),
            input: inner.get("input").map(Json::compact).unwrap_or_default(),
        },
        "toolResult" => Kind::ToolResult {
            id: text("toolUseId"),
            failed: inner.str("status") == Some("error"),
            content: inner.list("content").iter().map(kind).collect(),
        },
        "reasoningContent" => reasoning(inner),
        "image" => Kind::Image(inner.compact()),
        other => Kind::Other {
            kind: other.to_owned(),
            json: inner.compact(),
        },
    }
}

fn reasoning(inner: &Json) -> Kind {
    match inner.get("reasoningText") {
        Some(spoken) => Kind::Thinking {
            text: spoken.str("text").unwrap_or_default().to_owned(),
            signature: spoken.str("signature").unwrap_or_default().to_owned(),
        },
        None => Kind::Redacted(inner.str("redactedContent").unwrap_or_default().to_owned()),
    }
}
