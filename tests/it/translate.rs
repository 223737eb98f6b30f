//! A conversation of Chat Completions as the other wire formats say it. `spoken` goes the other way.

mod blocks;
mod route;
mod spoken;
mod tools;

use inkfast::wire::format::Format;
use serde_json::{Value, json};

use blocks::{blocks, gemini, named_blocks, turns};
pub use route::{model_in_path, route_of, said_in};
pub use spoken::spoken;

/// The body in another format; an error names what cannot be said in it.
pub fn translate(chat: &Value, format: Format) -> Result<Value, &'static str> {
    let messages = chat["messages"].as_array().unwrap();
    let leading = messages.iter().take_while(|message| is_operator(message)).count();
    let (head, history) = messages.split_at(leading);
    let mut body = match format {
        Format::OpenaiChat => return Ok(chat.clone()),
        Format::Ollama => ollama(head, history)?,
        Format::OpenaiResponses => json!({"input": messages.iter().flat_map(items).collect::<Vec<_>>()}),
        Format::AnthropicMessages => {
            let head = head
                .iter()
                .flat_map(texts)
                .map(|said| json!({"type": "text", "text": said}));
            json!({"max_tokens": 256, "system": head.collect::<Vec<_>>(), "messages": turns(history, blocks)?})
        }
        Format::BedrockConverse => {
            let head = head.iter().flat_map(texts).map(|said| json!({"text": said}));
            json!({"system": head.collect::<Vec<_>>(), "messages": turns(history, named_blocks)?})
        }
        Format::Gemini => gemini(head, history)?,
    };
    if !matches!(format, Format::Gemini | Format::BedrockConverse) {
        body["model"] = chat["model"].clone();
    }
    if head.is_empty() {
        let body = body.as_object_mut().unwrap();
        body.retain(|name, _| name != "system" && name != "systemInstruction");
    }
    if format == Format::OpenaiResponses && chat["prompt_cache_key"].is_string() {
        body["prompt_cache_key"] = chat["prompt_cache_key"].clone();
    }
    tools::tools(chat, format, &mut body);
    Ok(body)
}

/// A message of the operator.
pub fn is_operator(message: &Value) -> bool {
    message["role"] == "system" || message["role"] == "developer"
}

/// The texts that a message says.
pub fn texts(message: &Value) -> Vec<String> {
    match &message["content"] {
        Value::String(said) if said.is_empty() => Vec::new(),
        Value::String(said) => vec![said.clone()],
        content => content
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|part| Some(part["text"].as_str()?.to_owned()))
            .collect(),
    }
}

fn calls(message: &Value) -> impl Iterator<Item = (&Value, &Value, Value)> {
    let calls = message["tool_calls"].as_array().into_iter().flatten();
    calls.map(|call| {
        let function = &call["function"];
        let arguments = serde_json::from_str(function["arguments"].as_str().unwrap());
        (&call["id"], &function["name"], arguments.unwrap())
    })
}

/// What the model thought, said by `say`; in front of its words.
fn thought(message: &Value, say: fn(&Value) -> Value) -> impl Iterator<Item = Value> {
    let thought = &message["reasoning_content"];
    thought.is_string().then(|| say(thought)).into_iter()
}

/// A head of several texts is several messages, since a message has but one.
fn ollama(head: &[Value], history: &[Value]) -> Result<Value, &'static str> {
    let single = |message: &Value| {
        let role = message["role"].clone();
        let said = texts(message).into_iter();
        said.map(|said| json!({"role": role, "content": said}))
            .collect::<Vec<_>>()
    };
    let head: Vec<Value> = head.iter().flat_map(single).collect();
    let said = head.iter().chain(history).map(|message| {
        let said = match texts(message).as_slice() {
            [] => String::new(),
            [only] => only.clone(),
            _ => return Err("a content of several parts"),
        };
        let mut told = json!({"role": message["role"], "content": said});
        let calls: Vec<Value> = calls(message)
            .map(|(_, name, arguments)| json!({"function": {"name": name, "arguments": arguments}}))
            .collect();
        if !calls.is_empty() {
            told["tool_calls"] = json!(calls);
        }
        if let Some(thought) = thought(message, Value::clone).next() {
            told["thinking"] = thought;
        }
        Ok(told)
    });
    Ok(json!({"messages": said.collect::<Result<Vec<_>, _>>()?}))
}

fn items(message: &Value) -> Vec<Value> {
    let said = texts(message);
    match message["role"].as_str().unwrap() {
        "tool" => vec![json!({
            "type": "function_call_output", "call_id": message["tool_call_id"], "output": said.concat(),
        })],
        "assistant" => {
            let part = |said: &String| json!({"type": "output_text", "text": said, "annotations": []});
            let parts: Vec<Value> = said.iter().map(part).collect();
            let message_item = json!({"type": "message", "role": "assistant", "content": parts});
            let calls = calls(message).map(|(id, name, arguments)| {
                json!({"type": "function_call", "call_id": id, "name": name, "arguments": arguments.to_string()})
            });
            let spoken = (!parts.is_empty()).then_some(message_item);
            let thought = thought(
                message,
                |thought| json!({"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": thought}]}),
            );
            thought.chain(spoken).chain(calls).collect()
        }
        role => match &message["content"] {
            Value::String(said) => vec![json!({"role": role, "content": said})],
            _ => {
                let part = |said: &String| json!({"type": "input_text", "text": said});
                vec![json!({"role": role, "content": said.iter().map(part).collect::<Vec<_>>()})]
            }
        },
    }
}
