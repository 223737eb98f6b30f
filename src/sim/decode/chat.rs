//! OpenAI Chat Completions to a prompt.

use super::{extra, marker, plain, role, settings, unmarked};
use crate::sim::Format;
use crate::sim::json::Json;
use crate::sim::prompt::{Block, CacheOptions, Kind, Message, Prompt, Role, Tool};
use crate::sim::refusal::Refusal;
use crate::sim::responses::Responses;
use crate::sim::rules;

/// Settings that OpenAI's page names as part of the rendered prefix.
const RENDERED: &[&str] = &[
    "parallel_tool_calls",
    "response_format",
    "reasoning_effort",
    "verbosity",
];

pub(super) fn decode(body: &Json) -> Result<Prompt, Refusal> {
    let model = body
        .str("model")
        .ok_or_else(|| Refusal::new("you must provide a model parameter"))?;
    let Some(Json::List(messages)) = body.get("messages") else {
        let missing = Refusal::new("Missing required parameter: 'messages'.");
        return Err(missing.param("messages").code("missing_required_parameter"));
    };
    let mut head: Vec<Message> = messages.iter().enumerate().map(message).collect();
    let leading = head.iter().take_while(|m| m.role.is_operator()).count();
    let turns = head.split_off(leading);
    let streaming = body.get("stream_options");
    Ok(Prompt {
        format: Format::OpenAiChat,
        model: model.to_owned(),
        stream: body.is_true("stream"),
        stream_usage: streaming.is_some_and(|o| o.is_true("include_usage")),
        thinking: false,
        tools: body.list("tools").iter().map(tool).collect(),
        head,
        turns,
        settings: settings(body, RENDERED),
        cache: cache(body, model)?,
        responses: Responses::default(),
    })
}

/// The caching fields, which the Responses API shares.
pub(super) fn cache(body: &Json, model: &str) -> Result<CacheOptions, Refusal> {
    let options = body.some("prompt_cache_options");
    if options.is_some() && !rules::gpt(model).exact {
        let message = "Unsupported parameter: 'prompt_cache_options' is not supported with this model.";
        return Err(Refusal::new(message)
            .param("prompt_cache_options")
            .code("unsupported_parameter"));
    }
    let ttl = match (
        options.and_then(|o| o.str("ttl")),
        body.str("prompt_cache_retention"),
    ) {
        (Some("12h"), _) => Some(rules::HALF_DAY),
        (_, Some("24h")) => Some(rules::ONE_DAY),
        _ => None,
    };
    Ok(CacheOptions {
        routing: body.str("prompt_cache_key").map(str::to_owned),
        ttl,
        explicit_only: options.and_then(|o| o.str("mode")) == Some("explicit"),
        ..CacheOptions::default()
    })
}

pub(super) fn tool(tool: &Json) -> Tool {
    let function = tool.get("function").unwrap_or(tool);
    Tool {
        name: function.str("name").unwrap_or_default().to_owned(),
        description: function.str("description").unwrap_or_default().to_owned(),
        schema: function.get("parameters").cloned().unwrap_or(Json::Null),
        extra: extra(function, &["type", "name", "description", "parameters"]),
        marker: None,
    }
}

fn message((index, message): (usize, &Json)) -> Message {
    let path = format!("messages.{index}");
    let role = role(message.str("role").unwrap_or_default());
    let mut blocks = Vec::new();
    if let Some(name) = message.str("name") {
        let kind = Kind::Other {
            kind: "name".to_owned(),
            json: name.to_owned(),
        };
        blocks.push(plain(path.clone(), kind));
    }
    // Other hosts than OpenAI show the model its earlier reasoning.
    if let Some(reasoning) = message.str("reasoning_content") {
        blocks.push(plain(path.clone(), Kind::Redacted(reasoning.to_owned())));
    }
    match role {
        Role::Tool => blocks.push(result(&path, message)),
        _ => blocks.extend(content(&path, message.get("content"))),
    }
    blocks.extend(calls(&path, message));
    Message { path, role, blocks }
}

fn result(path: &str, message: &Json) -> Block {
    let content = content(path, message.get("content"));
    let kind = Kind::ToolResult {
        id: message.str("tool_call_id").unwrap_or_default().to_owned(),
        failed: false,
        content: content.iter().map(|b| b.kind.clone()).collect(),
    };
    Block {
        marker: content.iter().find_map(|b| b.marker),
        ..plain(path.to_owned(), kind)
    }
}

fn content(path: &str, content: Option<&Json>) -> Vec<Block> {
    match content {
        Some(Json::Text(text)) => vec![plain(path.to_owned(), Kind::Text(text.clone()))],
        Some(Json::List(parts)) => parts
            .iter()
            .enumerate()
            .map(|(i, value)| Block {
                marker: marker(value),
                ..plain(format!("{path}.content.{i}"), part(value))
            })
            .collect(),
        _ => Vec::new(),
    }
}

fn part(part: &Json) -> Kind {
    match part.str("type").unwrap_or_default() {
        "text" => Kind::Text(part.str("text").unwrap_or_default().to_owned()),
        "image_url" => Kind::Image(unmarked(part).compact()),
        other => Kind::Other {
            kind: other.to_owned(),
            json: unmarked(part).compact(),
        },
    }
}

fn calls(path: &str, message: &Json) -> Vec<Block> {
    let call = |call: &Json| {
        let function = call.get("function").unwrap_or(&Json::Null);
        let kind = Kind::ToolUse {
            id: call.str("id").unwrap_or_default().to_owned(),
            name: function.str("name").unwrap_or_default().to_owned(),
            input: function.str("arguments").unwrap_or_default().to_owned(),
        };
        plain(path.to_owned(), kind)
    };
    message.list("tool_calls").iter().map(call).collect()
}
