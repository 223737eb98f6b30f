//! Bytes of a request to a [`Prompt`]: what the formats share. Each format has a file.

use std::time::Duration;

use super::endpoint::hosted::Call;
use super::json::Json;
use super::prompt::{Block, Kind, Prompt, Role};
use super::refusal::Refusal;
use super::{Format, rules};

mod chat;
mod converse;
mod gemini;
mod messages;
mod ollama;
mod responses;

pub(super) use responses::arrange;

pub(super) fn decode(call: &Call, body: &[u8]) -> Result<Prompt, Refusal> {
    let json = Json::parse(body).map_err(|e| not_json(call.format, &e))?;
    let (format, json) = call.complete(json)?;
    match format {
        Format::OpenAiChat => chat::decode(&json),
        Format::AnthropicMessages => messages::decode(&json),
        Format::Gemini => Ok(gemini::decode(&json)),
        Format::BedrockConverse => converse::decode(&json),
        Format::Ollama => ollama::decode(&json),
        Format::OpenAiResponses => responses::decode(&json),
    }
}

fn not_json(format: Format, error: &serde_json::Error) -> Refusal {
    Refusal::new(match format {
        Format::OpenAiChat | Format::OpenAiResponses => {
            format!("We could not parse the JSON body of your request. (The parser said: {error})")
        }
        Format::AnthropicMessages => {
            format!("The request body is not valid JSON: {error}")
        }
        Format::Gemini => format!("Invalid JSON payload received. {error}"),
        Format::BedrockConverse | Format::Ollama => error.to_string(),
    })
}

fn role(name: &str) -> Role {
    match name {
        "system" => Role::System,
        "developer" => Role::Developer,
        "user" => Role::User,
        "assistant" => Role::Assistant,
        "tool" => Role::Tool,
        "function" => Role::Function,
        other => Role::Unknown(other.to_owned()),
    }
}

/// A `cache_control` or `prompt_cache_breakpoint` on this value.
fn marker(value: &Json) -> Option<Duration> {
    if let Some(control) = value.some("cache_control") {
        return Some(lifetime(control));
    }
    let breakpoint = value.some("prompt_cache_breakpoint")?;
    Some(match breakpoint.str("ttl") {
        Some("12h") => rules::HALF_DAY,
        _ => rules::gpt("gpt-5.6").ttl,
    })
}

fn lifetime(control: &Json) -> Duration {
    match control.str("ttl") {
        Some("1h") => rules::ONE_HOUR,
        _ => rules::FIVE_MINUTES,
    }
}

/// The value with its own and all inner markers left out.
fn unmarked(value: &Json) -> Json {
    match value {
        Json::List(items) => Json::List(items.iter().map(unmarked).collect()),
        Json::Map(fields) => Json::Map(
            fields
                .iter()
                .filter(|(key, _)| !is_marker(key))
                .map(|(key, value)| (key.clone(), unmarked(value)))
                .collect(),
        ),
        other => other.clone(),
    }
}

fn is_marker(key: &str) -> bool {
    matches!(key, "cache_control" | "prompt_cache_breakpoint")
}

/// A block that only its path and meaning matter of.
fn plain(path: String, kind: Kind) -> Block {
    Block {
        path,
        kind,
        marker: None,
        inner_markers: 0,
        signature: None,
    }
}

/// Fields of a tool that have no place of their own, in a fixed order.
fn extra(tool: &Json, known: &[&str]) -> Vec<(String, Json)> {
    let mut rest: Vec<_> = tool
        .fields()
        .iter()
        .filter(|(key, _)| !known.contains(&key.as_str()) && !is_marker(key))
        .cloned()
        .collect();
    rest.sort_by(|a, b| a.0.cmp(&b.0));
    rest
}

/// Settings of the request that stand in the rendered prompt, as `key=value`.
fn settings(body: &Json, keys: &[&str]) -> Vec<String> {
    let present = keys.iter().filter_map(|key| Some((key, body.some(key)?)));
    present
        .map(|(key, value)| format!("{key}={}", value.compact()))
        .collect()
}
