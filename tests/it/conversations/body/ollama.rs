//! Ollama: the messages of Chat Completions, with arguments as objects and calls that have no ids.

use super::super::json::{Json, envelope, object, text};
use super::{Draft, Message, schema};

impl Draft {
    pub(super) fn ollama(&self) -> Vec<(String, Json)> {
        let style = &self.style;
        let plain = |role: &str, said: &str| envelope(style, [("role", text(role)), ("content", text(said))]);
        let mut messages: Vec<Json> = self.head.iter().map(|said| plain("system", said)).collect();
        for message in &self.history {
            match message {
                Message::User(said) => messages.push(plain("user", said)),
                Message::System(said) => messages.push(plain("system", said)),
                // A content is a string and nothing else.
                Message::Reminded(reminder, said) => {
                    messages.push(plain("user", &format!("{reminder}\n{said}")));
                }
                Message::Assistant {
                    text: said,
                    calls,
                    thinking,
                } => messages.push(self.ollama_answer(said, calls, *thinking)),
                Message::Results(results, said) => {
                    let result = |(_, result): &(String, String)| {
                        let (role, name) = (text("tool"), text("read_file"));
                        envelope(
                            style,
                            [("role", role), ("tool_name", name), ("content", text(result))],
                        )
                    };
                    messages.extend(results.iter().map(result));
                    messages.extend(said.as_ref().map(|said| plain("user", said)));
                }
            }
        }
        let mut members = vec![
            ("model".to_owned(), text(&self.model)),
            ("messages".to_owned(), Json::Arr(messages)),
        ];
        if !self.tools.is_empty() {
            let tools = self.tools.iter().map(|name| self.ollama_tool(name)).collect();
            members.push(("tools".to_owned(), Json::Arr(tools)));
        }
        members.push(("options".to_owned(), object([("num_ctx", Json::Num(32768))])));
        members
    }

    fn ollama_answer(&self, said: &str, calls: &[String], thinking: bool) -> Json {
        let mut members = vec![
            ("role".to_owned(), text("assistant")),
            ("content".to_owned(), text(said)),
        ];
        members.extend(thinking.then(|| ("thinking".to_owned(), text(format!("About {said}")))));
        let call = |id: &String| {
            let arguments = object([("path", text(format!("{id}.rs"))), ("deep", Json::Bool(true))]);
            let function = envelope(
                &self.style,
                [("name", text("read_file")), ("arguments", arguments)],
            );
            object([("function", function)])
        };
        if !calls.is_empty() {
            members.push((
                "tool_calls".to_owned(),
                Json::Arr(calls.iter().map(call).collect()),
            ));
        }
        Json::Obj(members)
    }

    fn ollama_tool(&self, name: &str) -> Json {
        let function = envelope(
            &self.style,
            [
                ("name", text(name)),
                ("description", text(format!("Runs {name} on a path"))),
                ("parameters", schema()),
            ],
        );
        envelope(&self.style, [("type", text("function")), ("function", function)])
    }
}
