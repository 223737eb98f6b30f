//! An agent's request as a body in its wire format.

mod converse;
mod gemini;
mod ollama;
mod responses;

use bytes::Bytes;
use inkfast::wire::format::Format;

use super::json::{Json, Style, envelope, marked, object, text, write};

/// What stands in a history.
#[derive(Clone, Debug, PartialEq)]
pub enum Message {
    User(String),
    /// A user's message in two parts: the harness's reminder and the text.
    Reminded(String, String),
    Assistant {
        text: String,
        calls: Vec<String>,
        thinking: bool,
    },
    /// Results of calls, and what the user said behind them.
    Results(Vec<(String, String)>, Option<String>),
    /// The client's own operator message.
    System(String),
}

/// One request, before it is written.
#[derive(Clone, Debug)]
pub struct Draft {
    pub format: Format,
    pub model: String,
    pub head: Vec<String>,
    pub role: &'static str,
    pub tools: Vec<String>,
    pub history: Vec<Message>,
    pub attribution: Option<String>,
    pub style: Style,
}

impl Draft {
    pub fn write(&self) -> Bytes {
        let mut members = match self.format {
            Format::OpenaiChat => self.chat(),
            Format::AnthropicMessages => self.anthropic(),
            Format::OpenaiResponses => self.responses(),
            Format::Gemini => self.gemini(),
            Format::BedrockConverse => self.converse(),
            Format::Ollama => self.ollama(),
        };
        if self.style.messages_first {
            members.sort_by_key(|(name, _)| !matches!(name.as_str(), "messages" | "input" | "contents"));
        }
        write(&Json::Obj(members), &self.style)
    }

    fn chat(&self) -> Vec<(String, Json)> {
        let style = &self.style;
        let mut messages = self.chat_head();
        let last = self.history.len().saturating_sub(1);
        for (index, message) in self.history.iter().enumerate() {
            let mark = style.markers && index == last;
            self.chat_message(message, mark, &mut messages);
        }
        let mut members = vec![
            ("model".to_owned(), text(&self.model)),
            ("messages".to_owned(), Json::Arr(messages)),
            ("stream".to_owned(), Json::Bool(true)),
        ];
        if !self.tools.is_empty() {
            let tool = |name: &String| {
                let function = envelope(
                    style,
                    [
                        ("name", text(name)),
                        ("description", text(format!("Runs {name} on a path"))),
                        ("parameters", schema()),
                    ],
                );
                envelope(style, [("type", text("function")), ("function", function)])
            };
            members.push((
                "tools".to_owned(),
                Json::Arr(self.tools.iter().map(tool).collect()),
            ));
        }
        members
    }

    fn chat_head(&self) -> Vec<Json> {
        let style = &self.style;
        let block = |text_: &String| envelope(style, [("type", text("text")), ("text", text(text_))]);
        if self.head.len() > 1 && style.head_blocks {
            let mut blocks: Vec<Json> = self.head.iter().map(block).collect();
            if style.markers {
                let last = blocks.pop().unwrap();
                blocks.push(marked(style, last));
            }
            return vec![envelope(
                style,
                [("role", text(self.role)), ("content", Json::Arr(blocks))],
            )];
        }
        let message = |content: &String| {
            let content = match style.head_blocks {
                true => Json::Arr(vec![block(content)]),
                false => text(content),
            };
            envelope(style, [("role", text(self.role)), ("content", content)])
        };
        self.head.iter().map(message).collect()
    }

    fn chat_message(&self, message: &Message, mark: bool, out: &mut Vec<Json>) {
        let style = &self.style;
        let plain = |role: &str, said: &str| {
            let content = self.chat_content(said, mark);
            envelope(style, [("role", text(role)), ("content", content)])
        };
        match message {
            Message::User(said) => out.push(plain("user", said)),
            Message::Reminded(reminder, said) => {
                let parts = [reminder, said]
                    .map(|part| envelope(style, [("type", text("text")), ("text", text(part))]))
                    .to_vec();
                out.push(envelope(
                    style,
                    [("role", text("user")), ("content", Json::Arr(parts))],
                ));
            }
            Message::System(said) => out.push(plain("system", said)),
            Message::Assistant {
                text: said, calls, ..
            } if calls.is_empty() => {
                let content = self.chat_content(said, false);
                out.push(envelope(
                    style,
                    [("role", text("assistant")), ("content", content)],
                ));
            }
            Message::Assistant {
                text: said, calls, ..
            } => {
                let call = |id: &String| {
                    let function = envelope(
                        style,
                        [
                            ("name", text("read_file")),
                            ("arguments", text(format!("{{\"path\": \"{id}.rs\"}}"))),
                        ],
                    );
                    envelope(
                        style,
                        [
                            ("id", text(id)),
                            ("type", text("function")),
                            ("function", function),
                        ],
                    )
                };
                let content = if said.is_empty() { Json::Null } else { text(said) };
                out.push(envelope(
                    style,
                    [
                        ("role", text("assistant")),
                        ("content", content),
                        ("tool_calls", Json::Arr(calls.iter().map(call).collect())),
                    ],
                ));
            }
            Message::Results(results, said) => {
                for (id, result) in results {
                    let content = self.chat_content(result, false);
                    out.push(envelope(
                        style,
                        [
                            ("role", text("tool")),
                            ("tool_call_id", text(id)),
                            ("content", content),
                        ],
                    ));
                }
                out.extend(said.as_ref().map(|said| plain("user", said)));
            }
        }
    }

    fn chat_content(&self, said: &str, mark: bool) -> Json {
        let style = &self.style;
        if !style.blocks && !mark {
            return text(said);
        }
        let block = envelope(style, [("type", text("text")), ("text", text(said))]);
        Json::Arr(vec![if mark { marked(style, block) } else { block }])
    }

    fn anthropic(&self) -> Vec<(String, Json)> {
        let style = &self.style;
        let mut members = vec![
            ("model".to_owned(), text(&self.model)),
            ("max_tokens".to_owned(), Json::Num(4096)),
        ];
        if let Some(system) = self.anthropic_head() {
            members.push(("system".to_owned(), system));
        }
        if !self.tools.is_empty() {
            let tool = |name: &String| {
                envelope(
                    style,
                    [
                        ("name", text(name)),
                        ("description", text(format!("Runs {name} on a path"))),
                        ("input_schema", schema()),
                    ],
                )
            };
            members.push((
                "tools".to_owned(),
                Json::Arr(self.tools.iter().map(tool).collect()),
            ));
        }
        let last = self.history.len().saturating_sub(1);
        let messages = self.history.iter().enumerate();
        let messages = messages.map(|(index, message)| {
            let mark = style.markers && (index == last || index + 2 == last);
            self.anthropic_message(message, mark)
        });
        members.push(("messages".to_owned(), Json::Arr(messages.collect())));
        members.push(("stream".to_owned(), Json::Bool(true)));
        members
    }

    fn anthropic_head(&self) -> Option<Json> {
        let style = &self.style;
        if self.head.is_empty() && self.attribution.is_none() {
            return None;
        }
        if let ([only], false, None) = (
            self.head.as_slice(),
            style.head_blocks || style.markers,
            &self.attribution,
        ) {
            return Some(text(only));
        }
        let block = |said: &String| envelope(style, [("type", text("text")), ("text", text(said))]);
        let mut blocks: Vec<Json> = self.head.iter().map(block).collect();
        if let Some(last) = blocks.pop_if(|_| style.markers) {
            blocks.push(marked(style, last));
        }
        let attribution = self.attribution.as_ref().map(block);
        Some(Json::Arr(attribution.into_iter().chain(blocks).collect()))
    }

    fn anthropic_message(&self, message: &Message, mark: bool) -> Json {
        let style = &self.style;
        let block = |said: &str| envelope(style, [("type", text("text")), ("text", text(said))]);
        let (role, mut blocks) = match message {
            Message::User(said) | Message::System(said) if !style.blocks && !mark => {
                let role = if matches!(message, Message::User(_)) {
                    "user"
                } else {
                    "system"
                };
                return envelope(style, [("role", text(role)), ("content", text(said))]);
            }
            Message::User(said) => ("user", vec![block(said)]),
            Message::System(said) => ("system", vec![block(said)]),
            Message::Reminded(reminder, said) => ("user", vec![block(reminder), block(said)]),
            Message::Assistant {
                text: said,
                calls,
                thinking,
            } => {
                if !thinking && calls.is_empty() && !style.blocks {
                    return envelope(style, [("role", text("assistant")), ("content", text(said))]);
                }
                ("assistant", assistant(style, said, calls, *thinking))
            }
            Message::Results(results, said) => {
                let result = |(id, result): &(String, String)| {
                    let content = if style.blocks {
                        Json::Arr(vec![block(result)])
                    } else {
                        text(result)
                    };
                    envelope(
                        style,
                        [
                            ("type", text("tool_result")),
                            ("tool_use_id", text(id)),
                            ("content", content),
                        ],
                    )
                };
                let results = results.iter().map(result);
                (
                    "user",
                    results.chain(said.as_ref().map(|said| block(said))).collect(),
                )
            }
        };
        if let Some(last) = blocks.pop_if(|_| mark && role == "user") {
            blocks.push(marked(style, last));
        }
        envelope(style, [("role", text(role)), ("content", Json::Arr(blocks))])
    }
}

fn assistant(style: &Style, said: &str, calls: &[String], thinking: bool) -> Vec<Json> {
    let mut blocks = Vec::new();
    if thinking {
        blocks.push(envelope(
            style,
            [
                ("type", text("thinking")),
                ("thinking", text(format!("About {said}"))),
                ("signature", text(format!("sig-{said}-{}", calls.len()))),
            ],
        ));
    }
    if !said.is_empty() {
        blocks.push(envelope(style, [("type", text("text")), ("text", text(said))]));
    }
    for id in calls {
        blocks.push(envelope(
            style,
            [
                ("type", text("tool_use")),
                ("id", text(id)),
                ("name", text("read_file")),
                (
                    "input",
                    object([("path", text(format!("{id}.rs"))), ("deep", Json::Bool(true))]),
                ),
            ],
        ));
    }
    blocks
}

/// Keys in here mean what they mean in the order in which they stand.
fn schema() -> Json {
    object([
        ("type", text("object")),
        (
            "properties",
            object([
                ("path", object([("type", text("string"))])),
                ("deep", object([("type", text("boolean"))])),
            ]),
        ),
        ("required", Json::Arr(vec![text("path")])),
    ])
}
