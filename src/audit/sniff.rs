//! Which wire format a body has, by its shape alone, for recordings that keep neither path nor format.
//!
//! The formats share member names, so no single one decides between those with `messages`: what only one of them has is
//! looked for, at the top first and then in the messages and tools. A body without any such mark is a Chat Completions
//! request, the one whose plain form is plainest.

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use crate::wire::format::Format;

/// The format of a request's body; none where it is no prompt of any.
pub fn format(body: &[u8]) -> Option<Format> {
    let top: Top<'_> = serde_json::from_slice(body).ok()?;
    if top.contents.is_some() {
        return Some(Format::Gemini);
    }
    let Some(messages) = top.messages else {
        let ours = top.input.is_some() && top.model.is_some();
        return ours.then_some(Format::OpenaiResponses);
    };
    let messages: Vec<Message<'_>> = serde_json::from_str(messages.get()).ok()?;
    let tools: Vec<Tool> = top
        .tools
        .and_then(|tools| serde_json::from_str(tools.get()).ok())
        .unwrap_or_default();
    let blocks = || messages.iter().flat_map(Message::blocks);
    let operator = |message: &Message<'_>| matches!(message.role, Some("system" | "developer" | "tool"));
    let untyped = |block: &Block<'_>| block.kind.is_none() && block.has_converse_member();
    let of_converse =
        top.inference_config.is_some() || top.tool_config.is_some() || top.converse_id.is_some();
    let of_messages = top.anthropic_version.is_some() || top.system.is_some();
    let of_ollama = top.options.is_some() || top.keep_alive.is_some() || top.think.is_some();
    Some(match () {
        () if of_converse || blocks().any(|block| untyped(&block)) => Format::BedrockConverse,
        () if of_messages || tools.iter().any(|tool| tool.input_schema.is_some()) => {
            Format::AnthropicMessages
        }
        () if of_ollama || messages.iter().any(Message::is_ollama) => Format::Ollama,
        () if blocks().any(|block| block.is_anthropic()) => Format::AnthropicMessages,
        () if messages.iter().any(operator) || top.max_tokens.is_none() => Format::OpenaiChat,
        () if blocks().any(|block| block.kind == Some("image_url")) => Format::OpenaiChat,
        () if top.stream_options.is_some() || tools.iter().any(|tool| tool.function.is_some()) => {
            Format::OpenaiChat
        }
        // What is left says nothing of itself but its model's name and a limit, which one API demands.
        () if top.model.is_some_and(|model| model.contains("claude")) => Format::AnthropicMessages,
        () => Format::OpenaiChat,
    })
}

/// The names of the top-level members of the first JSON object in `text`, which may be cut anywhere behind them.
pub fn members(text: &[u8]) -> Vec<&str> {
    let mut names = Vec::new();
    let (mut depth, mut at) = (0_usize, 0);
    let mut is_key = false;
    while let Some(byte) = text.get(at) {
        match byte {
            b'"' => {
                let Some(end) = string_end(text, at + 1) else {
                    break;
                };
                if depth == 1 && is_key {
                    names.extend(std::str::from_utf8(&text[at + 1..end]));
                }
                (is_key, at) = (false, end);
            }
            b'{' | b'[' => {
                depth += 1;
                is_key = *byte == b'{';
            }
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    break;
                }
            }
            b',' => is_key = depth == 1,
            _ => {}
        }
        at += 1;
    }
    names
}

fn string_end(text: &[u8], mut at: usize) -> Option<usize> {
    loop {
        at += memchr::memchr2(b'"', b'\\', text.get(at..)?)?;
        if text[at] == b'"' {
            return Some(at);
        }
        at += 2;
    }
}

/// The top-level members that tell formats apart.
#[derive(Deserialize)]
struct Top<'a> {
    #[serde(borrow)]
    messages: Option<&'a RawValue>,
    #[serde(borrow)]
    tools: Option<&'a RawValue>,
    contents: Option<IgnoredAny>,
    input: Option<IgnoredAny>,
    #[serde(borrow)]
    model: Option<std::borrow::Cow<'a, str>>,
    system: Option<IgnoredAny>,
    anthropic_version: Option<IgnoredAny>,
    #[serde(rename = "inferenceConfig")]
    inference_config: Option<IgnoredAny>,
    #[serde(rename = "toolConfig")]
    tool_config: Option<IgnoredAny>,
    #[serde(rename = "modelId")]
    converse_id: Option<IgnoredAny>,
    options: Option<IgnoredAny>,
    keep_alive: Option<IgnoredAny>,
    think: Option<IgnoredAny>,
    max_tokens: Option<IgnoredAny>,
    stream_options: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    role: Option<&'a str>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    #[serde(borrow)]
    tool_calls: Option<&'a RawValue>,
    images: Option<IgnoredAny>,
    tool_name: Option<IgnoredAny>,
}

/// A block of a message's content.
#[derive(Deserialize)]
struct Block<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<&'a str>,
    text: Option<IgnoredAny>,
    #[serde(rename = "toolUse")]
    tool_use: Option<IgnoredAny>,
    #[serde(rename = "toolResult")]
    tool_result: Option<IgnoredAny>,
    #[serde(rename = "reasoningContent")]
    reasoning: Option<IgnoredAny>,
    #[serde(rename = "cachePoint")]
    cache_point: Option<IgnoredAny>,
    cache_control: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct Tool {
    input_schema: Option<IgnoredAny>,
    function: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct ToolCall<'a> {
    id: Option<IgnoredAny>,
    #[serde(borrow)]
    function: Option<Function<'a>>,
}

#[derive(Deserialize)]
struct Function<'a> {
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
}

impl Message<'_> {
    fn blocks(&self) -> Vec<Block<'_>> {
        self.content
            .filter(|content| content.get().starts_with('['))
            .and_then(|content| serde_json::from_str(content.get()).ok())
            .unwrap_or_default()
    }

    /// Ollama's images stand beside the text, its results name the tool, its calls have their arguments as an object.
    fn is_ollama(&self) -> bool {
        let calls: Vec<ToolCall<'_>> = self
            .tool_calls
            .and_then(|calls| serde_json::from_str(calls.get()).ok())
            .unwrap_or_default();
        let object = |call: &ToolCall<'_>| {
            let arguments = call.function.as_ref().and_then(|function| function.arguments);
            call.id.is_none() && arguments.is_some_and(|arguments| arguments.get().starts_with('{'))
        };
        self.images.is_some() || self.tool_name.is_some() || calls.iter().any(object)
    }
}

impl Block<'_> {
    fn has_converse_member(&self) -> bool {
        [
            self.text,
            self.tool_use,
            self.tool_result,
            self.reasoning,
            self.cache_point,
        ]
        .iter()
        .any(Option::is_some)
    }

    fn is_anthropic(&self) -> bool {
        let kinds = [
            "tool_use",
            "tool_result",
            "thinking",
            "redacted_thinking",
            "document",
            "image",
        ];
        self.cache_control.is_some() || self.kind.is_some_and(|kind| kinds.contains(&kind))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_of_a_cut_object() {
        let text = br#" {"a\"b": {"x": ["y"]}, "c":"d,\"e\"", "f": [1, {"g": 2}], "h": "cut of"#;
        assert_eq!(members(text), ["a\\\"b", "c", "f", "h"]);
        assert_eq!(members(b"{}{\"a\":1}"), [""; 0]);
        assert_eq!(members(b"[{\"a\":1}]"), [""; 0]);
    }

    #[test]
    fn every_format_by_its_body_alone() {
        let tools = r#""tools":[{"name":"t","input_schema":{}}]"#;
        let rows = [
            (r#"{"model":"m","messages":[{"role":"system","content":"s"}],"max_tokens":9}"#.to_owned(), Format::OpenaiChat),
            (r#"{"model":"m","messages":[{"role":"user","content":"q"}]}"#.into(), Format::OpenaiChat),
            (r#"{"model":"m","input":"q"}"#.into(), Format::OpenaiResponses),
            (r#"{"model":"m","system":"s","messages":[{"role":"user","content":"q"}]}"#.into(), Format::AnthropicMessages),
            (format!(r#"{{"model":"m",{tools},"messages":[]}}"#), Format::AnthropicMessages),
            (
                r#"{"model":"m","messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"i"}]}]}"#.into(),
                Format::AnthropicMessages,
            ),
            (
                r#"{"model":"claude-x","max_tokens":9,"messages":[{"role":"user","content":"q"}]}"#.into(),
                Format::AnthropicMessages,
            ),
            (r#"{"contents":[{"parts":[{"text":"q"}]}]}"#.into(), Format::Gemini),
            (r#"{"messages":[{"role":"user","content":[{"text":"q"}]}]}"#.into(), Format::BedrockConverse),
            (r#"{"messages":[],"system":[{"text":"s"}],"inferenceConfig":{}}"#.into(), Format::BedrockConverse),
            (r#"{"model":"m","options":{},"messages":[{"role":"system","content":"s"}]}"#.into(), Format::Ollama),
            (
                r#"{"model":"m","messages":[{"role":"assistant","tool_calls":[{"function":{"arguments":{}}}]}]}"#.into(),
                Format::Ollama,
            ),
            (
                r#"{"model":"m","messages":[{"role":"assistant","tool_calls":[{"id":"i","function":{"arguments":"{}"}}]}]}"#
                    .into(),
                Format::OpenaiChat,
            ),
        ];
        for (body, wanted) in rows {
            assert_eq!(format(body.as_bytes()), Some(wanted), "{body}");
        }
        assert_eq!(format(b"{\"input\":\"embedded\"}"), None);
        assert_eq!(format(b"[1]"), None);
        assert_eq!(format(b"{\"messages\":"), None);
    }
}
