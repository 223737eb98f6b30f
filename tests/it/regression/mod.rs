//! One test per trap that is known by name, and per bug that was found: bytes in, bytes out.

use bytes::Bytes;
use inkfast::prefix::digest::Digest;
use inkfast::prefix::item::Hints;
use inkfast::prefix::{Class, Outcome, Scope};
use inkfast::prompt::Rendering;
use inkfast::wire::format::Format;
use serde::Deserialize;
use serde_json::value::RawValue;

mod evidence;
mod found;
mod named;
mod odd;
mod translated;

use crate::harness::{Answer, Core, Turn};

const TOOLS: &str =
    r#""tools":[{"type":"function","function":{"name":"shell","parameters":{"type":"object"}}}]"#;
const CLAUDE_TOOLS: &str = r#""tools":[{"name":"shell","input_schema":{"type":"object"}}]"#;

fn head(word: &str) -> String {
    format!(
        "You are a coding agent for the parser. Follow its rules, prefer small edits, run the tests after each change \
         and report what you did. The word of the day is {word}."
    )
}

fn message(role: &str, text: &str) -> String {
    format!(r#"{{"role":"{role}","content":"{text}"}}"#)
}

fn user(text: &str) -> String {
    message("user", text)
}

fn said(text: &str) -> String {
    message("assistant", text)
}

fn block(text: &str, marker: bool) -> String {
    let marker = if marker {
        r#","cache_control":{"type":"ephemeral"}"#
    } else {
        ""
    };
    format!(r#"{{"type":"text","text":"{text}"{marker}}}"#)
}

fn chat(head: &[String], history: &[String]) -> Bytes {
    let head = head.iter().map(|text| message("system", text));
    let messages: Vec<String> = head.chain(history.iter().cloned()).collect();
    Bytes::from(format!(
        r#"{{"model":"m",{TOOLS},"messages":[{}]}}"#,
        messages.join(",")
    ))
}

fn claude(system: &str, history: &[String]) -> Bytes {
    let messages = history.join(",");
    Bytes::from(format!(
        r#"{{"model":"claude-opus-5","max_tokens":9,"system":{system},{CLAUDE_TOOLS},"messages":[{messages}]}}"#
    ))
}

fn quoted(text: &str) -> String {
    format!("\"{text}\"")
}

fn answer(text: &str) -> Answer {
    Answer {
        status: 200,
        text: text.to_owned(),
        calls: Vec::new(),
    }
}

fn openai() -> Core {
    Core::new(Format::OpenaiChat, "api.openai.com")
}

fn anthropic() -> Core {
    Core::new(Format::AnthropicMessages, "api.anthropic.com")
}

#[derive(Deserialize)]
struct Raw<'a> {
    #[serde(borrow)]
    messages: Vec<&'a RawValue>,
}

/// The messages of a body, byte for byte.
fn messages(body: &Bytes) -> Vec<String> {
    let raw: Raw<'_> = serde_json::from_slice(body).unwrap();
    raw.messages
        .iter()
        .map(|message| message.get().to_owned())
        .collect()
}

/// Sends a body that is answered with `text`.
fn ask(core: &mut Core, body: &Bytes, text: &str) -> Turn {
    let turn = core.exchange(body, Hints::default(), &answer(text));
    assert_eq!(turn.guard, Ok(()));
    turn
}

fn session(name: &str) -> Hints {
    Hints {
        session: Some(Digest::of("inkfast hint v1", name.as_bytes())),
        ..Hints::default()
    }
}

/// The messages of `next` begin with those of `last`.
fn assert_extends(last: &Turn, next: &Turn) {
    let (before, after) = (messages(&last.out), messages(&next.out));
    assert_eq!(before, after[..before.len().min(after.len())]);
}

fn history(length: usize) -> Vec<String> {
    (0..length)
        .map(|index| {
            if index % 2 == 0 {
                user(&format!("q{index}"))
            } else {
                said(&format!("a{index}"))
            }
        })
        .collect()
}

/// Two examples, as a client puts them in front of each chat.
fn examples() -> [String; 4] {
    [
        user("Colour of red?"),
        said("red"),
        user("Colour of blue?"),
        said("blue"),
    ]
}

fn chat_of(name: &str, history: &[String]) -> Bytes {
    chat(&[format!("{} You work for {name}.", head("one"))], history)
}
