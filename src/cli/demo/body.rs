//! Requests as text, with keys in the order in which agents write them.

use serde_json::Value;

use super::{
    agent::{Message, Said},
    persona::{TOOLS, tool_text},
};
use crate::sim::Format;

/// Counts its cache in steps and needs no markers.
const OPENAI_MODEL: &str = "gpt-5.5";
/// Takes later system messages, and binds its thinking to everything in front of it.
const ANTHROPIC_MODEL: &str = "claude-opus-5-5";

/// The model that requests of this format are for.
pub fn model(format: Format) -> &'static str {
    match format {
        Format::OpenAiChat => OPENAI_MODEL,
        // The demo plays in these two only.
        _ => ANTHROPIC_MODEL,
    }
}

/// The whole request.
pub fn write(format: Format, head: &[String], messages: &[Message]) -> String {
    match format {
        Format::OpenAiChat => openai_chat(head, messages),
        _ => anthropic_messages(head, messages),
    }
}

fn openai_chat(head: &[String], messages: &[Message]) -> String {
    let system = format!(r#"{{"role":"system","content":{}}}"#, quoted(&head.join("\n\n")));
    let messages = messages.iter().flat_map(openai_message);
    let messages: Vec<String> = [system].into_iter().chain(messages).collect();
    let tools = TOOLS.iter().map(|(name, description, argument)| {
        let (description, schema) = tool_text(description, argument);
        let description = quoted(&description);
        format!(
            r#"{{"type":"function","function":{{"name":"{name}","description":{description},"parameters":{schema}}}}}"#
        )
    });
    format!(
        r#"{{"model":"{OPENAI_MODEL}","messages":[{}],"tools":[{}],"stream":true,"stream_options":{{"include_usage":true}}}}"#,
        messages.join(","),
        listed(tools)
    )
}

fn openai_message(message: &Message) -> Vec<String> {
    match message {
        Message::User(text) => vec![format!(r#"{{"role":"user","content":{}}}"#, quoted(text))],
        Message::Results(results) => results
            .iter()
            .map(|(id, text)| {
                let text = quoted(text);
                format!(r#"{{"role":"tool","tool_call_id":"{id}","content":{text}}}"#)
            })
            .collect(),
        Message::Assistant(said) => vec![openai_answer(said)],
    }
}

fn openai_answer(said: &Said) -> String {
    let content = said.text.as_deref().map_or_else(|| "null".to_owned(), quoted);
    if said.calls.is_empty() {
        return format!(r#"{{"role":"assistant","content":{content}}}"#);
    }
    let calls = said.calls.iter().map(|(id, tool, arguments)| {
        let arguments = quoted(&arguments.to_string());
        format!(r#"{{"id":"{id}","type":"function","function":{{"name":"{tool}","arguments":{arguments}}}}}"#)
    });
    format!(
        r#"{{"role":"assistant","content":{content},"tool_calls":[{}]}}"#,
        listed(calls)
    )
}

/// Three markers, as agents set them: the last tool, the last block of the head, the last block of the conversation.
fn anthropic_messages(head: &[String], messages: &[Message]) -> String {
    let tools = TOOLS
        .iter()
        .enumerate()
        .map(|(i, (name, description, argument))| {
            let (description, schema) = tool_text(description, argument);
            let marker = marker(i + 1 == TOOLS.len());
            let description = quoted(&description);
            format!(r#"{{"name":"{name}","description":{description},"input_schema":{schema}{marker}}}"#)
        });
    let system = head.iter().enumerate().map(|(i, part)| {
        let marker = marker(i + 1 == head.len());
        format!(r#"{{"type":"text","text":{}{marker}}}"#, quoted(part))
    });
    let turns = messages
        .iter()
        .enumerate()
        .map(|(i, message)| anthropic_message(message, i + 1 == messages.len()));
    format!(
        r#"{{"model":"{ANTHROPIC_MODEL}","max_tokens":16000,"system":[{}],"messages":[{}],"tools":[{}],"thinking":{{"type":"adaptive"}},"stream":true}}"#,
        listed(system),
        listed(turns),
        listed(tools)
    )
}

fn anthropic_message(message: &Message, last: bool) -> String {
    match message {
        Message::User(text) => {
            let (text, marker) = (quoted(text), marker(last));
            format!(r#"{{"role":"user","content":[{{"type":"text","text":{text}{marker}}}]}}"#)
        }
        Message::Results(results) => {
            let blocks = results.iter().enumerate().map(|(i, (id, text))| {
                let marker = marker(last && i + 1 == results.len());
                let text = quoted(text);
                format!(r#"{{"type":"tool_result","tool_use_id":"{id}","content":{text}{marker}}}"#)
            });
            format!(r#"{{"role":"user","content":[{}]}}"#, listed(blocks))
        }
        Message::Assistant(said) => anthropic_answer(said),
    }
}

fn anthropic_answer(said: &Said) -> String {
    let thinking = said.thinking.iter().map(|(text, signature)| {
        let text = quoted(text);
        format!(r#"{{"type":"thinking","thinking":{text},"signature":"{signature}"}}"#)
    });
    let text = said
        .text
        .iter()
        .map(|text| format!(r#"{{"type":"text","text":{}}}"#, quoted(text)));
    let calls = said.calls.iter().map(|(id, tool, arguments)| {
        format!(r#"{{"type":"tool_use","id":"{id}","name":"{tool}","input":{arguments}}}"#)
    });
    format!(
        r#"{{"role":"assistant","content":[{}]}}"#,
        listed(thinking.chain(text).chain(calls))
    )
}

fn marker(here: bool) -> &'static str {
    if here {
        r#","cache_control":{"type":"ephemeral"}"#
    } else {
        ""
    }
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

fn listed(parts: impl Iterator<Item = String>) -> String {
    parts.collect::<Vec<_>>().join(",")
}
