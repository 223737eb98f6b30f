//! A conversation of Chat Completions as the other wire formats say it.

use inkfast::wire::format::Format;
use serde_json::{Map, Value, json};

/// The body in another format; an error names what cannot be said in it.
pub fn translate(chat: &Value, format: Format) -> Result<Value, &'static str> {
    let messages = chat["messages"].as_array().unwrap();
    let leading = messages.iter().take_while(|message| is_operator(message)).count();
    let (head, history) = messages.split_at(leading);
    let mut body = match format {
        Format::OpenaiChat => return Ok(chat.clone()),
        Format::Ollama => ollama(messages)?,
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
    tools(chat, format, &mut body);
    Ok(body)
}

fn is_operator(message: &Value) -> bool {
    message["role"] == "system" || message["role"] == "developer"
}

fn texts(message: &Value) -> Vec<String> {
    match &message["content"] {
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

fn ollama(messages: &[Value]) -> Result<Value, &'static str> {
    let said = messages.iter().map(|message| {
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
            spoken.into_iter().chain(calls).collect()
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

/// Messages of blocks; results of one round stand in one message of the user.
fn turns(history: &[Value], blocks: fn(&Value) -> Vec<Value>) -> Result<Vec<Value>, &'static str> {
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

fn blocks(message: &Value) -> Vec<Value> {
    if message["role"] == "tool" {
        let said = texts(message).concat();
        return vec![json!({"type": "tool_result", "tool_use_id": message["tool_call_id"], "content": said})];
    }
    let said = texts(message)
        .into_iter()
        .map(|said| json!({"type": "text", "text": said}));
    let calls = calls(message)
        .map(|(id, name, input)| json!({"type": "tool_use", "id": id, "name": name, "input": input}));
    said.chain(calls).collect()
}

fn named_blocks(message: &Value) -> Vec<Value> {
    if message["role"] == "tool" {
        let content = [json!({"text": texts(message).concat()})];
        return vec![json!({"toolResult": {"toolUseId": message["tool_call_id"], "content": content}})];
    }
    let said = texts(message).into_iter().map(|said| json!({"text": said}));
    let calls = calls(message)
        .map(|(id, name, input)| json!({"toolUse": {"toolUseId": id, "name": name, "input": input}}));
    said.chain(calls).collect()
}

fn gemini(head: &[Value], history: &[Value]) -> Result<Value, &'static str> {
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
        said.chain(calls).collect()
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

fn tools(chat: &Value, format: Format, body: &mut Value) {
    let Some(tools) = chat["tools"].as_array().filter(|tools| !tools.is_empty()) else {
        return;
    };
    let functions = tools.iter().map(|tool| tool["function"].as_object().unwrap());
    let renamed = |function: &Map<String, Value>, name: &str, wrap: fn(Value) -> Value| {
        let mut tool = function.clone();
        if let Some(schema) = tool.remove("parameters") {
            tool.insert(name.to_owned(), wrap(schema));
        }
        Value::Object(tool)
    };
    match format {
        Format::OpenaiChat | Format::Ollama => body["tools"] = chat["tools"].clone(),
        Format::OpenaiResponses => {
            let flat = functions.map(|function| {
                let mut tool = function.clone();
                tool.insert("type".to_owned(), json!("function"));
                Value::Object(tool)
            });
            body["tools"] = flat.collect();
        }
        Format::AnthropicMessages => {
            body["tools"] = functions
                .map(|function| renamed(function, "input_schema", |schema| schema))
                .collect();
        }
        Format::Gemini => {
            let declared: Value = functions
                .map(|function| Value::Object(function.clone()))
                .collect();
            body["tools"] = json!([{"functionDeclarations": declared}]);
        }
        Format::BedrockConverse => {
            let specs = functions
                .map(|function| json!({"toolSpec": renamed(function, "inputSchema", |schema| json!({"json": schema}))}));
            body["toolConfig"] = json!({"tools": specs.collect::<Vec<_>>()});
        }
    }
}
