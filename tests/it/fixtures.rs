//! Reading `fixtures/`: requests as the bytes that an agent would send.

use std::path::{Path, PathBuf};

use bytes::Bytes;
use serde_json::{Value, json};

use crate::harness::Answer;

/// The JSON files of a folder of `fixtures/`, by name.
pub fn files(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("fixtures")
        .join(folder);
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    files
}

/// A JSON text without the white space between its tokens; key order, escapes and numbers as they are.
pub fn compact(text: &str) -> Bytes {
    let (mut out, mut quoted, mut escaped) = (Vec::with_capacity(text.len()), false, false);
    for byte in text.bytes() {
        if quoted || !byte.is_ascii_whitespace() {
            out.push(byte);
        }
        if quoted && !escaped && byte == b'\\' {
            escaped = true;
            continue;
        }
        if byte == b'"' && !escaped {
            quoted = !quoted;
        }
        escaped = false;
    }
    Bytes::from(out)
}

/// What the upstream must have answered to `body`: the assistant's message that a later request of the same
/// conversation carries behind the last message of this one.
pub fn answer(body: &Bytes, later: &[Bytes]) -> Answer {
    let own = history(body);
    let none = Answer {
        status: 200,
        text: String::new(),
        calls: Vec::new(),
    };
    for next in later {
        let theirs = history(next);
        let is_answer = |index: &usize| {
            let role = theirs.get(*index).map(|message| &message["role"]);
            role.is_some_and(|role| role == "assistant" || role == "model")
        };
        let behind = own
            .last()
            .and_then(|last| theirs.iter().rposition(|message| said_same(message, last)));
        let at = behind
            .map(|at| at + 1)
            .filter(is_answer)
            .or(Some(own.len()).filter(is_answer));
        let before_last = theirs.len().checked_sub(2).filter(is_answer);
        if let Some(at) = at.or(before_last) {
            return said(&theirs[at]);
        }
    }
    none
}

/// The messages of a body without those of the system.
fn history(body: &Bytes) -> Vec<Value> {
    let all = messages(body).into_iter();
    all.filter(|message| message["role"] != "system").collect()
}

/// The messages of a body, whatever its format calls them.
fn messages(body: &Bytes) -> Vec<Value> {
    let value: Value = serde_json::from_slice(body).unwrap();
    match &value["input"] {
        Value::Array(items) => turns(items),
        _ => ["messages", "contents"]
            .iter()
            .find_map(|name| value[*name].as_array().cloned())
            .unwrap_or_default(),
    }
}

/// Input items as messages: what the model said in one go is one.
fn turns(items: &[Value]) -> Vec<Value> {
    let mut messages: Vec<Value> = Vec::new();
    for item in items {
        let kind = item["type"].as_str().unwrap_or("message");
        let role = match kind {
            "message" => item["role"].as_str().unwrap().replace("developer", "system"),
            kind if kind.ends_with("_output") => "tool".to_owned(),
            _ => "assistant".to_owned(),
        };
        let text = |block: &Value| json!({"type": "text", "text": block["text"]});
        let mut content: Vec<Value> = match kind {
            "message" => item["content"].as_array().unwrap().iter().map(text).collect(),
            "function_call" | "custom_tool_call" => vec![json!({"id": item["call_id"]})],
            kind if kind.ends_with("_output") => vec![item.clone()],
            _ => Vec::new(),
        };
        match messages
            .last_mut()
            .filter(|last| role == "assistant" && last["role"] == role.as_str())
        {
            Some(last) => last["content"].as_array_mut().unwrap().append(&mut content),
            None => messages.push(json!({"role": role, "content": content})),
        }
    }
    messages
}

fn said_same(a: &Value, b: &Value) -> bool {
    let is = |name: &str| a[name] == b[name];
    a["role"] == b["role"]
        && (is("content") && is("parts") || said(a).text == said(b).text && !said(a).text.is_empty())
}

fn said(message: &Value) -> Answer {
    let mut answer = Answer {
        status: 200,
        text: String::new(),
        calls: Vec::new(),
    };
    if let Some(text) = message["content"].as_str() {
        answer.text = text.to_owned();
    }
    for block in message["content"].as_array().into_iter().flatten() {
        if block["type"] == "text" {
            answer.text.push_str(block["text"].as_str().unwrap_or_default());
        }
        answer.calls.extend(block["id"].as_str().map(str::to_owned));
    }
    for part in message["parts"].as_array().into_iter().flatten() {
        match &part["functionCall"] {
            Value::Null if part["thought"] != true => {
                answer.text.push_str(part["text"].as_str().unwrap_or_default());
            }
            Value::Null => {}
            call => answer.calls.push(unnamed(&call["name"], &call["args"])),
        }
    }
    let calls = message["tool_calls"].as_array().into_iter().flatten();
    answer.calls.extend(calls.map(|call| match call["id"].as_str() {
        Some(id) => id.to_owned(),
        None => unnamed(&call["function"]["name"], &call["function"]["arguments"]),
    }));
    answer
}

/// A call that has no id of the provider's: its name and its arguments.
fn unnamed(name: &Value, args: &Value) -> String {
    format!("{}{args}", name.as_str().unwrap())
}

/// Takes the rows that `are` it out of a list of exceptions; whether there were any.
pub fn take<T>(rows: &mut Vec<T>, are: impl Fn(&T) -> bool) -> bool {
    let before = rows.len();
    rows.retain(|row| !are(row));
    rows.len() < before
}
