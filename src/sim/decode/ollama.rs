//! Ollama `/api/chat` and `/api/generate` to a prompt.

use super::{plain, role, settings};
use crate::sim::Format;
use crate::sim::json::Json;
use crate::sim::prompt::{Block, CacheOptions, Kind, Message, Prompt, Role};
use crate::sim::refusal::Refusal;
use crate::sim::responses::Responses;

pub(super) fn decode(body: &Json) -> Result<Prompt, Refusal> {
    let model = body.str("model").filter(|name| !name.is_empty());
    let model = model.ok_or_else(|| Refusal::new("model is required"))?;
    let mut head: Vec<Message> = match body.some("messages") {
        Some(messages) => messages.as_list().iter().enumerate().map(message).collect(),
        None => generated(body),
    };
    let leading = head.iter().take_while(|m| m.role.is_operator()).count();
    let turns = head.split_off(leading);
    Ok(Prompt {
        format: Format::Ollama,
        model: model.to_owned(),
        stream: body.get("stream") != Some(&Json::Bool(false)),
        stream_usage: true,
        thinking: body.some("think").is_some_and(|t| *t != Json::Bool(false)),
        tools: body.list("tools").iter().map(super::chat::tool).collect(),
        head,
        turns,
        settings: settings(body, &["format"]),
        cache: CacheOptions::default(),
        responses: Responses::default(),
    })
}

/// `/api/generate`: one turn of the user, `system` in front.
fn generated(body: &Json) -> Vec<Message> {
    let turn = |key: &str, role: Role| {
        let text = body.str(key).filter(|text| !text.is_empty())?;
        let mut blocks = vec![plain(key.to_owned(), Kind::Text(text.to_owned()))];
        if role == Role::User {
            blocks.extend(images(key, body));
        }
        let path = key.to_owned();
        Some(Message { path, role, blocks })
    };
    let turns = [turn("system", Role::System), turn("prompt", Role::User)];
    turns.into_iter().flatten().collect()
}

fn message((index, message): (usize, &Json)) -> Message {
    let path = format!("messages.{index}");
    let role = role(message.str("role").unwrap_or_default());
    let text = message.str("content").unwrap_or_default();
    let mut blocks = Vec::new();
    if let Some(thinking) = message.str("thinking").filter(|text| !text.is_empty()) {
        blocks.push(plain(path.clone(), Kind::Redacted(thinking.to_owned())));
    }
    if role == Role::Tool {
        let name = message.str("tool_name").or(message.str("name"));
        let kind = Kind::ToolResult {
            id: name.unwrap_or_default().to_owned(),
            failed: false,
            content: vec![Kind::Text(text.to_owned())],
        };
        blocks.push(plain(path.clone(), kind));
    } else if !text.is_empty() {
        blocks.push(plain(path.clone(), Kind::Text(text.to_owned())));
    }
    blocks.extend(images(&path, message));
    blocks.extend(calls(&path, message));
    Message { path, role, blocks }
}

fn images(path: &str, message: &Json) -> Vec<Block> {
    let image = |image: &Json| plain(path.to_owned(), Kind::Image(image.compact()));
    message.list("images").iter().map(image).collect()
}

/// Calls have no ids, and their arguments are objects.
fn calls(path: &str, message: &Json) -> Vec<Block> {
    let call = |call: &Json| {
        let function = call.get("function").unwrap_or(&Json::Null);
        let kind = Kind::ToolUse {
            id: String::new(),
            name: function.str("name").unwrap_or_default().to_owned(),
            input: function.get("arguments").map(Json::compact).unwrap_or_default(),
        };
        plain(path.to_owned(), kind)
    };
    message.list("tool_calls").iter().map(call).collect()
}
