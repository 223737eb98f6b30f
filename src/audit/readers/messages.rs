//! Messages made of parts, as OpenTelemetry's conventions for generative AI have them (schemas `gen-ai-input-messages` and
//! `gen-ai-system-instructions`, v1.37 and later), as messages of a wire format.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::splice::{Object, list, some, text_of};
use crate::wire::format::Format;

/// A message.
#[derive(Deserialize)]
pub struct Message<'a> {
    #[serde(borrow)]
    role: Cow<'a, str>,
    #[serde(borrow)]
    parts: Vec<&'a RawValue>,
}

/// A part; which members it has hangs on its type.
#[derive(Default, Deserialize)]
struct Part<'a> {
    #[serde(borrow, rename = "type", default)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    name: Option<&'a RawValue>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
    /// What a tool answered; some libraries call it `result`.
    #[serde(borrow, alias = "result")]
    response: Option<&'a RawValue>,
}

/// A request's body. `system`, `tools` and `messages` are JSON; none where the messages are of another kind.
pub fn body(
    format: Format,
    model: Option<&str>,
    system: Option<&str>,
    tools: Option<&str>,
    messages: &str,
) -> Option<String> {
    let messages: Vec<Message> = serde_json::from_str(messages).ok()?;
    let system: Vec<&RawValue> = match system {
        Some(system) => serde_json::from_str(system).ok()?,
        None => Vec::new(),
    };
    let tools: Vec<&RawValue> = tools
        .and_then(|tools| serde_json::from_str(tools).ok())
        .unwrap_or_default();
    let body = Object::default().put_some("model", model);
    Some(match format {
        Format::AnthropicMessages => anthropic(body, &system, &tools, &messages),
        _ => chat(body, &system, &tools, &messages),
    })
}

/// An answer's body: the first of the messages that were given.
pub fn answer(format: Format, messages: &str) -> Option<String> {
    let messages: Vec<Message> = serde_json::from_str(messages).ok()?;
    let first = messages.first()?;
    Some(match format {
        Format::AnthropicMessages => anthropic_message(first),
        _ => {
            let choice = Object::default().put("message", chat_messages(first).first()?);
            Object::default().put("choices", &list([choice.text()])).text()
        }
    })
}

fn chat(body: Object, system: &[&RawValue], tools: &[&RawValue], messages: &[Message]) -> String {
    let head = Message {
        role: "system".into(),
        parts: system.to_vec(),
    };
    let head = (!system.is_empty())
        .then(|| chat_messages(&head))
        .into_iter()
        .flatten();
    let messages = list(head.chain(messages.iter().flat_map(chat_messages)));
    let tools = (!tools.is_empty()).then(|| list(tools.iter().map(|tool| chat_tool(tool))));
    body.put_some("tools", tools).put("messages", &messages).text()
}

/// A definition is a function's, with the kind of the tool among its members; one that stands in chat's envelope already
/// stays in it.
fn chat_tool(tool: &RawValue) -> String {
    let members = super::splice::members(tool.get()).unwrap_or_default();
    if members.is_empty() || members.iter().any(|(name, _)| name == "function") {
        return tool.get().to_owned();
    }
    let mut function = Object::default();
    for (name, value) in members.iter().filter(|(name, _)| name != "type") {
        function = function.put_named(name, value.get());
    }
    let kind = members.iter().find(|(name, _)| name == "type");
    let kind = kind.map_or("\"function\"", |(_, kind)| kind.get());
    Object::default()
        .put("type", kind)
        .put("function", &function.text())
        .text()
}

/// A message, and one for each answer of a tool that it has.
fn chat_messages(message: &Message<'_>) -> Vec<String> {
    let (mut calls, mut results, mut content, mut thought) = (Vec::new(), Vec::new(), Vec::new(), None);
    for raw in &message.parts {
        let part = part(raw);
        match &*part.kind {
            "tool_call" => calls.push(chat_call(&part)),
            "tool_call_response" => results.push(chat_result(&part)),
            "reasoning" => thought = part.content,
            _ => content.push((raw, part)),
        }
    }
    let mut messages = Vec::new();
    if !calls.is_empty() || !content.is_empty() || results.is_empty() {
        let role = super::splice::quoted(&message.role);
        let calls = (!calls.is_empty()).then(|| list(calls));
        let message = Object::default()
            .put("role", &role)
            .put("content", &chat_content(&content));
        let message = message.put_some("reasoning_content", thought.map(RawValue::get));
        messages.push(message.put_some("tool_calls", calls).text());
    }
    messages.extend(results);
    messages
}

/// One text is a string; none is null.
fn chat_content(parts: &[(&&RawValue, Part<'_>)]) -> String {
    match parts {
        [] => "null".to_owned(),
        [
            (
                _,
                Part {
                    kind,
                    content: Some(text),
                    ..
                },
            ),
        ] if kind == "text" => text.get().to_owned(),
        parts => list(parts.iter().map(|(raw, part)| block(raw, part))),
    }
}

fn chat_call(part: &Part<'_>) -> String {
    let function = Object::default()
        .put_some("name", part.name.map(RawValue::get))
        .put_some("arguments", part.arguments.map(text));
    let call = Object::default()
        .put_some("id", some(part.id).map(RawValue::get))
        .put("type", "\"function\"");
    call.put("function", &function.text()).text()
}

fn chat_result(part: &Part<'_>) -> String {
    let result = Object::default().put("role", "\"tool\"");
    let result = result.put_some("tool_call_id", some(part.id).map(RawValue::get));
    result
        .put("content", &part.response.map_or("\"\"".to_owned(), text))
        .text()
}

fn anthropic(body: Object, system: &[&RawValue], tools: &[&RawValue], messages: &[Message]) -> String {
    let leading = messages
        .iter()
        .take_while(|message| message.role == "system")
        .count();
    let (head, messages) = messages.split_at(leading);
    let head = system
        .iter()
        .chain(head.iter().flat_map(|message| &message.parts));
    let head: Vec<String> = head.map(|raw| block(raw, &part(raw))).collect();
    let head = (!head.is_empty()).then(|| list(head));
    let tools = (!tools.is_empty()).then(|| list(tools.iter().map(|tool| tool.get())));
    let messages = list(messages.iter().map(anthropic_message));
    body.put_some("tools", tools)
        .put_some("system", head)
        .put("messages", &messages)
        .text()
}

fn anthropic_message(message: &Message<'_>) -> String {
    let role = if message.role == "tool" {
        "user"
    } else {
        &*message.role
    };
    let blocks = list(message.parts.iter().map(|raw| block(raw, &part(raw))));
    Object::default()
        .put("role", &super::splice::quoted(role))
        .put("content", &blocks)
        .text()
}

/// A part as a block of content; one of a kind that is not known as it was recorded.
fn block(raw: &RawValue, part: &Part<'_>) -> String {
    let block = Object::default();
    let block = match (&*part.kind, part.content) {
        ("text", Some(content)) => block.put("type", "\"text\"").put("text", content.get()),
        ("reasoning", Some(content)) => block.put("type", "\"thinking\"").put("thinking", content.get()),
        ("tool_call", _) => block
            .put("type", "\"tool_use\"")
            .put_some("id", some(part.id).map(RawValue::get))
            .put_some("name", part.name.map(RawValue::get))
            .put("input", part.arguments.map_or("{}", RawValue::get)),
        ("tool_call_response", _) => block
            .put("type", "\"tool_result\"")
            .put_some("tool_use_id", some(part.id).map(RawValue::get))
            .put("content", &part.response.map_or("\"\"".to_owned(), text)),
        _ => return raw.get().to_owned(),
    };
    block.text()
}

/// A string as it is; another value as a string that says it.
fn text(value: &RawValue) -> String {
    match text_of(value) {
        Some(_) => value.get().to_owned(),
        None => super::splice::quoted(value.get()),
    }
}

fn part<'a>(raw: &&'a RawValue) -> Part<'a> {
    serde_json::from_str(raw.get()).unwrap_or_default()
}
