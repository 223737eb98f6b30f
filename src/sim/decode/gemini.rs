//! Gemini `generateContent` to a prompt. Keys come in camelCase or snake_case, and a list of one may come without its brackets.

use super::{extra, plain};
use crate::sim::Format;
use crate::sim::json::Json;
use crate::sim::prompt::{Block, CacheOptions, Kind, Message, Prompt, Role, Tool};
use crate::sim::responses::Responses;

pub(super) fn decode(body: &Json) -> Prompt {
    let model = body.str("model").unwrap_or_default();
    let config = field(body, "generationConfig").and_then(|c| field(c, "thinkingConfig"));
    let thoughts = config.and_then(|c| field(c, "includeThoughts"));
    let settings = field(body, "toolConfig").map(|c| format!("toolConfig={}", c.compact()));
    Prompt {
        format: Format::Gemini,
        model: model.rsplit('/').next().unwrap_or_default().to_owned(),
        stream: body.is_true("stream"),
        stream_usage: true,
        thinking: thoughts == Some(&Json::Bool(true)),
        tools: items(field(body, "tools")).iter().flat_map(tools).collect(),
        head: head(field(body, "systemInstruction")),
        turns: items(field(body, "contents"))
            .iter()
            .enumerate()
            .map(content)
            .collect(),
        settings: settings.into_iter().collect(),
        cache: CacheOptions {
            content: field(body, "cachedContent")
                .and_then(Json::as_str)
                .map(str::to_owned),
            ..CacheOptions::default()
        },
        responses: Responses::default(),
    }
}

/// A key in either spelling, where it is there and not null.
fn field<'a>(value: &'a Json, camel: &str) -> Option<&'a Json> {
    value.some(camel).or_else(|| value.some(&snake(camel)))
}

fn snake(camel: &str) -> String {
    let mut out = String::new();
    for letter in camel.chars() {
        if letter.is_ascii_uppercase() {
            out.push('_');
        }
        out.push(letter.to_ascii_lowercase());
    }
    out
}

fn items(value: Option<&Json>) -> &[Json] {
    match value {
        Some(Json::List(items)) => items,
        Some(one) => std::slice::from_ref(one),
        None => &[],
    }
}

/// Each function is a tool; so is each of the vendor's own (`googleSearch` and others).
fn tools(value: &Json) -> Vec<Tool> {
    let functions = items(field(value, "functionDeclarations")).iter().map(function);
    let others = extra(value, &["functionDeclarations", "function_declarations"]);
    let own = others.into_iter().map(|(name, schema)| Tool {
        name,
        description: String::new(),
        schema,
        extra: Vec::new(),
        marker: None,
    });
    functions.chain(own).collect()
}

fn function(value: &Json) -> Tool {
    let schema = field(value, "parameters").or_else(|| field(value, "parametersJsonSchema"));
    let known = [
        "name",
        "description",
        "parameters",
        "parametersJsonSchema",
        "parameters_json_schema",
    ];
    Tool {
        name: value.str("name").unwrap_or_default().to_owned(),
        description: value.str("description").unwrap_or_default().to_owned(),
        schema: schema.cloned().unwrap_or(Json::Null),
        extra: extra(value, &known),
        marker: None,
    }
}

fn head(instruction: Option<&Json>) -> Vec<Message> {
    let blocks = match instruction {
        Some(Json::Text(text)) => vec![plain("system_instruction".to_owned(), Kind::Text(text.clone()))],
        Some(content) => parts("system_instruction", content),
        None => Vec::new(),
    };
    if blocks.is_empty() {
        return Vec::new();
    }
    vec![Message {
        path: "system_instruction".to_owned(),
        role: Role::System,
        blocks,
    }]
}

fn content((index, content): (usize, &Json)) -> Message {
    let path = format!("contents[{index}]");
    Message {
        role: match content.str("role") {
            Some("user") | None => Role::User,
            Some("model") => Role::Assistant,
            Some("function") => Role::Function,
            Some(other) => Role::Unknown(other.to_owned()),
        },
        blocks: parts(&path, content),
        path,
    }
}

fn parts(path: &str, content: &Json) -> Vec<Block> {
    let parts = items(content.get("parts")).iter().enumerate();
    parts
        .map(|(i, part)| Block {
            signature: field(part, "thoughtSignature")
                .and_then(Json::as_str)
                .map(str::to_owned),
            ..plain(format!("{path}.parts[{i}]"), kind(part))
        })
        .collect()
}

fn kind(part: &Json) -> Kind {
    let text = |value: &Json, key: &str| value.str(key).unwrap_or_default().to_owned();
    if let Some(call) = field(part, "functionCall") {
        return Kind::ToolUse {
            id: text(call, "id"),
            name: text(call, "name"),
            input: call.get("args").map(Json::compact).unwrap_or_default(),
        };
    }
    if let Some(response) = field(part, "functionResponse") {
        let content = response.get("response").map(Json::compact).unwrap_or_default();
        return Kind::ToolResult {
            id: text(response, "name") + &text(response, "id"),
            failed: false,
            content: vec![Kind::Text(content)],
        };
    }
    if let Some(spoken) = part.str("text") {
        return match part.is_true("thought") {
            true => Kind::Redacted(spoken.to_owned()),
            false => Kind::Text(spoken.to_owned()),
        };
    }
    if let Some(data) = field(part, "inlineData").or_else(|| field(part, "fileData")) {
        return Kind::Image(data.compact());
    }
    Kind::Other {
        kind: part
            .fields()
            .first()
            .map(|(key, _)| key.clone())
            .unwrap_or_default(),
        json: part.compact(),
    }
}
