//! A conversation as a request body, in each format. Cache markers stand where agents put them: at the end of the head
//! and of the last message.

use serde_json::{Value, json};

use super::talk::{RESULT, TOOL, TOOL_ID, Tool, Turn};

/// How bodies are written for one endpoint.
pub struct Style {
    /// Where Responses has the head.
    pub head: Head,
    /// The request has cache markers, where the format has any.
    pub marked: bool,
    /// The parameter that limits an answer, as a JSON pointer, and the most tokens.
    pub limit: (&'static str, u32),
}

/// Where the head is, for a format that has more than one place.
#[derive(Clone, Copy)]
pub enum Head {
    /// In a member of the request.
    Instructions,
    /// In a leading message of this role.
    Message(&'static str),
}

/// Chat Completions.
pub fn openai_chat(turn: &Turn<'_>, _: &Style) -> Value {
    let call = json!({"id": TOOL_ID, "type": "function", "function": {"name": TOOL, "arguments": arguments().to_string()}});
    let calls = [
        json!({"role": "assistant", "content": null, "tool_calls": [call]}),
        json!({"role": "tool", "tool_call_id": TOOL_ID, "content": RESULT}),
    ];
    let messages = [said("system", turn.system)].into_iter();
    let messages = messages.chain(turn.messages.iter().map(|(role, text)| said(role, text)));
    let mut body = json!({"messages": messages.chain(called(turn, calls)).collect::<Vec<_>>()});
    if turn.tool.is_declared() {
        body["tools"] = json!([{"type": "function", "function": function("parameters")}]);
    }
    body
}

/// Responses; nothing is stored at the provider.
pub fn openai_responses(turn: &Turn<'_>, style: &Style) -> Value {
    let calls = [
        json!({"type": "function_call", "call_id": TOOL_ID, "name": TOOL, "arguments": arguments().to_string()}),
        json!({"type": "function_call_output", "call_id": TOOL_ID, "output": RESULT}),
    ];
    let item = |role: &str, text: &str| json!({"type": "message", "role": role, "content": text});
    let mut body = json!({"store": false});
    let mut input = Vec::new();
    match style.head {
        Head::Instructions => body["instructions"] = turn.system.into(),
        Head::Message(role) => input.push(item(role, turn.system)),
    }
    input.extend(turn.messages.iter().map(|(role, text)| item(role, text)));
    input.extend(called(turn, calls));
    body["input"] = input.into();
    if turn.tool.is_declared() {
        let mut tool = function("parameters");
        tool["type"] = "function".into();
        body["tools"] = json!([tool]);
    }
    body
}

/// Messages.
pub fn anthropic_messages(turn: &Turn<'_>, style: &Style) -> Value {
    let calls = [
        (
            "assistant",
            json!({"type": "tool_use", "id": TOOL_ID, "name": TOOL, "input": arguments()}),
        ),
        (
            "user",
            json!({"type": "tool_result", "tool_use_id": TOOL_ID, "content": RESULT}),
        ),
    ];
    let mut messages: Vec<Value> = turn
        .messages
        .iter()
        .map(|(role, text)| said(role, text))
        .collect();
    if let (true, Some(last)) = (style.marked, messages.last_mut()) {
        last["content"] = marked(&last["content"]);
    }
    let calls = calls.map(|(role, block)| json!({"role": role, "content": [block]}));
    messages.extend(called(turn, calls));
    let system = json!(turn.system);
    let system = if style.marked { marked(&system) } else { system };
    let mut body = json!({"system": system, "messages": messages});
    if turn.tool.is_declared() {
        body["tools"] = json!([function("input_schema")]);
    }
    body
}

fn marked(text: &Value) -> Value {
    json!([{"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}])
}

/// Gemini's `generateContent`. Its calls carry signatures that only the model can make: no tool loop is written.
pub fn gemini(turn: &Turn<'_>, _: &Style) -> Value {
    let contents = turn.messages.iter().map(|(role, text)| {
        let role = if *role == "assistant" { "model" } else { role };
        json!({"role": role, "parts": [{"text": text}]})
    });
    json!({
        "systemInstruction": {"parts": [{"text": turn.system}]},
        "contents": contents.collect::<Vec<_>>(),
    })
}

/// Bedrock's Converse.
pub fn bedrock_converse(turn: &Turn<'_>, style: &Style) -> Value {
    let point = json!({"cachePoint": {"type": "default"}});
    let blocks = |text: &str, marked: bool| {
        let blocks = [json!({"text": text}), point.clone()];
        Value::from(blocks[..1 + usize::from(marked)].to_vec())
    };
    let calls = [
        (
            "assistant",
            json!({"toolUse": {"toolUseId": TOOL_ID, "name": TOOL, "input": arguments()}}),
        ),
        (
            "user",
            json!({"toolResult": {"toolUseId": TOOL_ID, "content": [{"text": RESULT}]}}),
        ),
    ];
    let last = turn.messages.len() - 1;
    let messages = turn.messages.iter().enumerate();
    let messages = messages.map(
        |(index, (role, text))| json!({"role": role, "content": blocks(text, style.marked && index == last)}),
    );
    let calls = calls.map(|(role, block)| json!({"role": role, "content": [block]}));
    let messages: Vec<Value> = messages.chain(called(turn, calls)).collect();
    let mut body = json!({"system": blocks(turn.system, style.marked), "messages": messages});
    if turn.tool.is_declared() {
        let mut tool = function("inputSchema");
        tool["inputSchema"] = json!({"json": tool["inputSchema"]});
        body["toolConfig"] = json!({"tools": [{"toolSpec": tool}]});
    }
    body
}

/// Ollama's chat; it streams unless told not to.
pub fn ollama(turn: &Turn<'_>, style: &Style) -> Value {
    let calls = [
        json!({"role": "assistant", "content": "", "tool_calls": [{"function": {"name": TOOL, "arguments": arguments()}}]}),
        json!({"role": "tool", "tool_name": TOOL, "content": RESULT}),
    ];
    let plain = Turn {
        tool: turn.tool.declared(),
        ..*turn
    };
    let mut body = openai_chat(&plain, style);
    body["stream"] = false.into();
    if let Some(messages) = body["messages"].as_array_mut() {
        messages.extend(called(turn, calls));
    }
    body
}

fn said(role: &str, text: &str) -> Value {
    json!({"role": role, "content": text})
}

/// The call and its result, where the turn has them.
fn called(turn: &Turn<'_>, group: [Value; 2]) -> impl Iterator<Item = Value> {
    let has = turn.tool == Tool::Called;
    group.into_iter().filter(move |_| has)
}

fn arguments() -> Value {
    json!({"shelf": "middle"})
}

/// The tool; the formats name its schema each in its own way.
fn function(schema: &str) -> Value {
    json!({
        "name": TOOL,
        "description": "Counts the boxes on one shelf.",
        schema: {"type": "object", "properties": {"shelf": {"type": "string"}}, "required": ["shelf"]},
    })
}
