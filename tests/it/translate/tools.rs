//! The tools of a request in every wire format.

use inkfast::wire::format::Format;
use serde_json::{Map, Value, json};

/// Says the tools of `chat` in `body`.
pub fn tools(chat: &Value, format: Format, body: &mut Value) {
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

/// The tools of a request of another format, as Chat Completions has them.
pub fn spoken(body: &Value, schema: &str) -> Option<Value> {
    let tools = body["tools"].as_array()?.iter().map(|tool| {
        let mut function = tool.as_object().unwrap().clone();
        function.remove("type");
        let parameters = function.remove(schema).unwrap();
        function.insert("parameters".to_owned(), parameters);
        json!({"type": "function", "function": function})
    });
    Some(tools.collect())
}
