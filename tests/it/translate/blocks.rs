//! The formats whose messages are lists of blocks.

use serde_json::{Value, json};

use super::{calls, is_operator, texts, thought};

/// Messages of blocks; results of one round stand in one message of the user.
pub fn turns(history: &[Value], blocks: fn(&Value) -> Vec<Value>) -> Result<Vec<Value>, &'static str> {
    let mut turns: Vec<Value> = Vec::new();
    let mut results = false;
    for message in history {
        let is_result = message["role"] == "tool";
        let mut content = blocks(message);
        if is_result && results {
            let last = turns.last_mut().unwrap()["content"].as_array_mut().unwrap();
            last.append(&mut content);
            continue;
        }
        let role = match message["role"].as_str().unwrap() {
            "tool" => "user",
            "developer" => "system",
            role => role,
        };
        turns.push(json!({"role": role, "content": content}));
        results = is_result;
    }
    Ok(turns)
}

/// The content blocks of Messages.
pub fn blocks(message: &Value) -> Vec<Value> {
    if message["role"] == "tool" {
        let said = texts(message).concat();
        return vec![json!({"type": "tool_result", "tool_use_id": message["tool_call_id"], "content": said})];
    }
    let said = texts(message)
        .into_iter()
        .map(|said| json!({"type": "text", "text": said}));
    let calls = calls(message)
        .map(|(id, name, input)| json!({"type": "tool_use", "id": id, "name": name, "input": input}));
    let thought = thought(
        message,
        |thought| json!({"type": "thinking", "thinking": thought, "signature": "c2ln"}),
    );
    thought.chain(said).chain(calls).collect()
}

/// The content blocks of Converse.
pub fn named_blocks(message: &Value) -> Vec<Value> {
    if message["role"] == "tool" {
        let content = [json!({"text": texts(message).concat()})];
        return vec![json!({"toolResult": {"toolUseId": message["tool_call_id"], "content": content}})];
    }
    let said = texts(message).into_iter().map(|said| json!({"text": said}));
    let calls = calls(message)
        .map(|(id, name, input)| json!({"toolUse": {"toolUseId": id, "name": name, "input": input}}));
    let thought = thought(
        message,
        |thought| json!({"reasoningContent": {"reasoningText": {"text": thought, "signature": "c2ln"}}}),
    );
    thought.chain(said).chain(calls).collect()
}

/// A body of generateContent.
pub fn gemini(head: &[Value], history: &[Value]) -> Result<Value, &'static str> {
    if history.iter().any(is_operator) {
        return Err("an operator message in the history");
    }
    let part = |said: String| json!({"text": said});
    let contents = turns(history, |message| {
        if message["role"] == "tool" {
            let output = json!({"output": texts(message).concat()});
            return vec![json!({"functionResponse": {"name": "tool", "response": output}})];
        }
        let said = texts(message).into_iter().map(|said| json!({"text": said}));
        let calls =
            calls(message).map(|(_, name, args)| json!({"functionCall": {"name": name, "args": args}}));
        let thought = thought(message, |thought| json!({"text": thought, "thought": true}));
        thought.chain(said).chain(calls).collect()
    })?;
    let contents: Vec<Value> = contents
        .iter()
        .map(|turn| {
            let role = if turn["role"] == "assistant" {
                "model"
            } else {
                "user"
            };
            json!({"role": role, "parts": turn["content"]})
        })
        .collect();
    let head: Vec<Value> = head.iter().flat_map(texts).map(part).collect();
    Ok(json!({"systemInstruction": {"parts": head}, "contents": contents}))
}
