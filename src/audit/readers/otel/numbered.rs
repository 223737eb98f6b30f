//! The attributes that came before the conventions: `gen_ai.prompt.0.role` and its like, one for each message and call, and
//! `llm.request.functions.0.name` for tools, as OpenLLMetry wrote them.

use super::Shaped;
use crate::audit::readers::attributes::Attributes;
use crate::audit::readers::splice::{Object, list, quoted};
use crate::wire::format::Format;

/// More messages than any prompt has.
const MAX: usize = 100_000;

/// The body and the answer that the attributes tell of; none where there is no message.
pub fn read(attributes: &Attributes, model: Option<&str>) -> Option<Shaped> {
    let messages = all(attributes, "gen_ai.prompt.", message);
    if messages.is_empty() {
        return None;
    }
    let tools = all(attributes, "llm.request.functions.", tool);
    let tools = (!tools.is_empty()).then(|| list(tools));
    let body = Object::default()
        .put_some("model", model.map(quoted))
        .put_some("tools", tools);
    let answers = all(attributes, "gen_ai.completion.", message);
    let answer = answers.first().map(|message| {
        let choice = Object::default().put("message", message).text();
        Object::default().put("choices", &list([choice])).text()
    });
    Some((
        body.put("messages", &list(messages)).text(),
        answer,
        Format::OpenaiChat,
    ))
}

/// What stands below `start`, number by number.
fn all(attributes: &Attributes, start: &str, read: fn(&Attributes, &str) -> String) -> Vec<String> {
    let numbered = |number: &usize| format!("{start}{number}.");
    let there = |start: &String| attributes.below(start).next().is_some();
    let starts = (0..MAX).map(|number| numbered(&number)).take_while(there);
    starts.map(|start| read(attributes, &start)).collect()
}

fn message(attributes: &Attributes, start: &str) -> String {
    let get = |name: &str| attributes.json(&format!("{start}{name}"));
    let calls = all(attributes, &format!("{start}tool_calls."), call);
    let role = get("role");
    Object::default()
        .put("role", role.as_deref().unwrap_or("\"assistant\""))
        .put("content", content(attributes, start).as_deref().unwrap_or("null"))
        .put_some("tool_calls", (!calls.is_empty()).then(|| list(calls)))
        .put_some("tool_call_id", get("tool_call_id"))
        .text()
}

/// A text that is a list of blocks was one when it was sent; any other stays the text that it is.
fn content<'a>(attributes: &'a Attributes, start: &str) -> Option<std::borrow::Cow<'a, str>> {
    let name = format!("{start}content");
    let blocks = attributes
        .json(&name)
        .filter(|json| json.starts_with("[{") && json.contains("\"type\""));
    blocks.or_else(|| attributes.raw(&name).map(Into::into))
}

fn call(attributes: &Attributes, start: &str) -> String {
    let get = |name: &str| attributes.json(&format!("{start}{name}"));
    let text = |name: &str| {
        attributes
            .text(&format!("{start}{name}"))
            .map(|text| quoted(&text))
    };
    let function = Object::default()
        .put_some("name", get("name"))
        .put_some("arguments", text("arguments"));
    Object::default()
        .put_some("id", get("id"))
        .put("type", "\"function\"")
        .put("function", &function.text())
        .text()
}

fn tool(attributes: &Attributes, start: &str) -> String {
    let get = |name: &str| attributes.json(&format!("{start}{name}"));
    let function = Object::default()
        .put_some("name", get("name"))
        .put_some("description", get("description"))
        .put_some("parameters", get("parameters"));
    Object::default()
        .put("type", "\"function\"")
        .put("function", &function.text())
        .text()
}
