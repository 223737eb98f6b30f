//! OpenAI Responses to a prompt: first the items as they came; [`arrange`] makes messages of them once the server's own
//! stand in front.

use super::{chat, extra, marker, plain, role, unmarked};
use crate::sim::Format;
use crate::sim::json::Json;
use crate::sim::prompt::{Block, Kind, Message, Prompt, Role, Tool};
use crate::sim::refusal::Refusal;
use crate::sim::responses::{Body, Responses, is_call, is_output, kind};
use crate::sim::{rules, thinking};

/// Parameters that OpenAI's page names as part of the rendered prefix, and those that its diagnostics name as a reason of
/// a miss.
const RENDERED: &[&str] = &[
    "parallel_tool_calls",
    "prompt",
    "service_tier",
    "reasoning.effort",
    "text.format",
    "text.verbosity",
    "image.context_compression",
];

/// Head and turns are empty until [`arrange`].
pub(super) fn decode(body: &Json) -> Result<Prompt, Refusal> {
    let model = body
        .str("model")
        .ok_or_else(|| missing("model", "Missing required parameter: 'model'."))?;
    let recalls = match body.at("reasoning.context").and_then(Json::as_str) {
        Some(context) => context == "all_turns",
        None => rules::responses(model).recalls_reasoning,
    };
    let rendered = RENDERED.iter().filter_map(|path| Some((path, body.at(path)?)));
    Ok(Prompt {
        format: Format::OpenAiResponses,
        model: model.to_owned(),
        stream: body.is_true("stream"),
        stream_usage: true,
        thinking: body
            .some("reasoning")
            .is_some_and(|r| r.str("effort") != Some("none")),
        tools: body.list("tools").iter().map(tool).collect(),
        head: Vec::new(),
        turns: Vec::new(),
        settings: rendered
            .map(|(path, value)| format!("{path}={}", value.compact()))
            .collect(),
        cache: chat::cache(body, model)?,
        responses: Responses {
            body: Body(body.with("input", None)),
            items: items(body)?,
            recalls,
            ..Responses::default()
        },
    })
}

/// Makes head and turns of the instructions and all items.
pub(in crate::sim) fn arrange(prompt: &mut Prompt) {
    let responses = &mut prompt.responses;
    let mut messages: Vec<Message> = responses.items.iter().enumerate().map(message).collect();
    let leads = |m: &&Message| m.role.is_operator() || is_tool_list(m);
    let leading = messages.iter().take_while(leads).count();
    prompt.turns = messages.split_off(leading);
    prompt.head = messages;
    let text = responses.body.0.str("instructions").unwrap_or_default();
    if text.is_empty() {
        return;
    }
    let instructions = Message {
        path: "instructions".to_owned(),
        role: Role::System,
        blocks: vec![plain("instructions".to_owned(), Kind::Text(text.to_owned()))],
    };
    match rules::responses(&prompt.model).instructions_last {
        true => responses.behind = Some(instructions),
        false => prompt.head.insert(0, instructions),
    }
}

/// A string is the same as one message of the user.
fn items(body: &Json) -> Result<Vec<Json>, Refusal> {
    let item = |(key, value): (&str, &str)| (key.to_owned(), Json::Text(value.to_owned()));
    match body.some("input") {
        Some(Json::List(items)) => Ok(items.clone()),
        Some(Json::Text(text)) => {
            let fields = [("type", "message"), ("role", "user"), ("content", text.as_str())];
            Ok(vec![Json::Map(fields.into_iter().map(item).collect())])
        }
        Some(_) => {
            let message = "Invalid type for 'input': expected one of a string or array of input items.";
            Err(Refusal::new(message).param("input").code("invalid_type"))
        }
        None if holds_state(body) => Ok(Vec::new()),
        None => Err(missing(
            "input",
            "One of \"input\" or \"previous_response_id\" or \"prompt\" or \"conversation\" must be provided.",
        )),
    }
}

fn holds_state(body: &Json) -> bool {
    let keys = ["previous_response_id", "prompt", "conversation"];
    keys.iter().any(|key| body.some(key).is_some())
}

fn missing(param: &str, message: &str) -> Refusal {
    Refusal::new(message)
        .param(param)
        .code("missing_required_parameter")
}

/// A function is flat; of any other kind, the type tells it apart.
fn tool(tool: &Json) -> Tool {
    let kind = tool.str("type").unwrap_or_default();
    let known: &[&str] = match kind {
        "function" => &["type", "name", "description", "parameters"],
        _ => &["name", "description", "parameters"],
    };
    Tool {
        name: tool.str("name").unwrap_or(kind).to_owned(),
        description: tool.str("description").unwrap_or_default().to_owned(),
        schema: tool.get("parameters").cloned().unwrap_or(Json::Null),
        extra: extra(tool, known),
        marker: None,
    }
}

fn is_tool_list(message: &Message) -> bool {
    let kinds = message.blocks.iter().map(|b| &b.kind);
    message.role == Role::Item
        && kinds
            .into_iter()
            .any(|k| matches!(k, Kind::Other { kind, .. } if kind == "additional_tools"))
}

fn message((index, item): (usize, &Json)) -> Message {
    let path = format!("input[{index}]");
    let one = |role, kind| (role, vec![plain(path.clone(), kind)]);
    let text = |key: &str| item.str(key).unwrap_or_default().to_owned();
    let (role, blocks) = match kind(item) {
        "message" => (role(item.str("role").unwrap_or_default()), content(&path, item)),
        "reasoning" => one(Role::Assistant, reasoning(item)),
        call if is_call(call) => one(
            Role::Assistant,
            Kind::ToolUse {
                id: text("call_id"),
                name: text("name"),
                input: item.str("arguments").map_or_else(|| text("input"), str::to_owned),
            },
        ),
        output if is_output(output) => (Role::Tool, vec![result(&path, item)]),
        other => one(Role::Item, opaque(other, item)),
    };
    Message { path, role, blocks }
}

fn content(path: &str, item: &Json) -> Vec<Block> {
    // Without its phase the same text is another prompt.
    let phase = item.str("phase").map(|phase| Kind::Other {
        kind: "phase".to_owned(),
        json: phase.to_owned(),
    });
    let phase = phase.map(|kind| plain(path.to_owned(), kind));
    phase
        .into_iter()
        .chain(parts(path, item.get("content")))
        .collect()
}

/// A string is the same as one text part.
fn parts(path: &str, content: Option<&Json>) -> Vec<Block> {
    match content {
        Some(Json::Text(text)) => vec![plain(path.to_owned(), Kind::Text(text.clone()))],
        Some(Json::List(parts)) => parts
            .iter()
            .enumerate()
            .map(|(i, value)| Block {
                marker: marker(value),
                ..plain(format!("{path}.content[{i}]"), part(value))
            })
            .collect(),
        _ => Vec::new(),
    }
}

fn part(part: &Json) -> Kind {
    match part.str("type").unwrap_or_default() {
        "input_text" | "output_text" => Kind::Text(part.str("text").unwrap_or_default().to_owned()),
        "input_image" => Kind::Image(unmarked(part).compact()),
        other => opaque(other, part),
    }
}

/// The encrypted content counts, or without one the summary.
fn reasoning(item: &Json) -> Kind {
    let (text, signature) = match item.str("encrypted_content") {
        Some(content) => thinking::decrypt(content),
        None => {
            let parts = item.list("summary").iter().filter_map(|part| part.str("text"));
            (parts.collect::<Vec<_>>().join("\n"), String::new())
        }
    };
    Kind::Thinking { text, signature }
}

fn result(path: &str, item: &Json) -> Block {
    let content = parts(path, item.get("output"));
    let kind = Kind::ToolResult {
        id: item.str("call_id").unwrap_or_default().to_owned(),
        failed: false,
        content: content.iter().map(|block| block.kind.clone()).collect(),
    };
    Block {
        marker: content.iter().find_map(|block| block.marker),
        ..plain(path.to_owned(), kind)
    }
}

/// Without what only the server's bookkeeping needs, so that an item is the same whoever sends it.
fn opaque(kind: &str, item: &Json) -> Kind {
    let bookkeeping = ["id", "status", "created_by"];
    let bare = bookkeeping
        .iter()
        .fold(unmarked(item), |item, key| item.with(key, None));
    Kind::Other {
        kind: kind.to_owned(),
        json: bare.compact(),
    }
}
