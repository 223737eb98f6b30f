//! Requests of other formats as Chat Completions says them, with no cache markers.

use inkfast::wire::format::Format;
use serde_json::{Map, Value, json};

use super::tools;

/// The conversation of `body`; an error names what Chat Completions has no words for.
pub fn spoken(body: &Value, format: Format) -> Result<Value, &'static str> {
    let (head, history, schema) = match format {
        Format::OpenaiChat | Format::Ollama => return Ok(body.clone()),
        Format::AnthropicMessages => ("system", "messages", "input_schema"),
        Format::OpenaiResponses => ("instructions", "input", "parameters"),
        Format::Gemini => ("systemInstruction", "contents", "parameters"),
        Format::BedrockConverse => return Err("nobody's own format here"),
    };
    let said = body[history].as_array().unwrap().iter();
    let mut messages = match content(&body[head]) {
        Value::Null => Vec::new(),
        content => vec![json!({"role": "system", "content": content})],
    };
    for message in said {
        messages.extend(told(message)?);
    }
    let mut chat = Map::from_iter([("messages".to_owned(), messages.into())]);
    for name in ["model", "prompt_cache_key"] {
        chat.extend(body.get(name).map(|value| (name.to_owned(), value.clone())));
    }
    chat.extend(tools::spoken(body, schema).map(|tools| ("tools".to_owned(), tools)));
    Ok(Value::Object(chat))
}

/// One message: its results are messages of their own, in front.
fn told(message: &Value) -> Result<Vec<Value>, &'static str> {
    let role = match message["role"].as_str() {
        Some("model") => "assistant",
        Some(role) => role,
        None => return Err("an item that is no message"),
    };
    let of = |kind: &'static str| blocks(message).filter(move |block| block["type"] == kind);
    let mut told: Vec<Value> = of("tool_result")
        .map(
            |block| json!({"role": "tool", "tool_call_id": block["tool_use_id"], "content": block["content"]}),
        )
        .collect();
    let calls: Vec<Value> = of("tool_use")
        .map(|block| {
            let function = json!({"name": block["name"], "arguments": block["input"].to_string()});
            json!({"id": block["id"], "type": "function", "function": function})
        })
        .collect();
    let content = content(message.get("content").unwrap_or(message));
    if content.is_null() && calls.is_empty() && told.is_empty() {
        return Err("a message without words");
    }
    if !content.is_null() || !calls.is_empty() {
        let mut said = json!({"role": role, "content": content});
        if !calls.is_empty() {
            said["tool_calls"] = json!(calls);
        }
        told.push(said);
    }
    Ok(told)
}

fn blocks(message: &Value) -> impl Iterator<Item = &Value> {
    message["content"].as_array().into_iter().flatten()
}

/// The texts of a member: one is a string, several are parts.
fn content(member: &Value) -> Value {
    if member.is_string() {
        return member.clone();
    }
    let blocks = member.as_array().or_else(|| member["parts"].as_array());
    let texts: Vec<&Value> = blocks
        .into_iter()
        .flatten()
        .filter_map(|block| block.get("text"))
        .collect();
    match texts.as_slice() {
        [] => Value::Null,
        [only] => (*only).clone(),
        _ => texts
            .iter()
            .map(|text| json!({"type": "text", "text": text}))
            .collect(),
    }
}
