//! OpenAI Responses: `instructions` or leading operator items, and a turn of the model as several items.

use super::super::json::{Json, Style, envelope, object, text};
use super::{Draft, Message, schema};

impl Draft {
    pub(super) fn responses(&self) -> Vec<(String, Json)> {
        let style = &self.style;
        let mut members = vec![("model".to_owned(), text(&self.model))];
        let (instructions, leading) = match self.head.split_first() {
            // Read behind the input, and for this request only: no part of the prompt.
            _ if !style.head_blocks && reads_instructions_last(&self.model) => {
                let step = format!("This is step {}.", self.history.len());
                (Some(step), self.head.as_slice())
            }
            Some((first, rest)) if !style.head_blocks => (Some(first.clone()), rest),
            _ => (None, self.head.as_slice()),
        };
        members.extend(instructions.map(|said| ("instructions".to_owned(), text(said))));
        let mut items: Vec<Json> = leading.iter().map(|said| self.message(self.role, said)).collect();
        self.history
            .iter()
            .for_each(|message| self.items(message, &mut items));
        let input = match (items.is_empty() || leading.is_empty(), self.history.as_slice()) {
            (true, [Message::User(said)]) if style.bare => text(said),
            _ => Json::Arr(items),
        };
        members.push(("input".to_owned(), input));
        members.push(("store".to_owned(), Json::Bool(false)));
        if !self.tools.is_empty() {
            let tools = self.tools.iter().map(|name| tool(style, name)).collect();
            members.push(("tools".to_owned(), Json::Arr(tools)));
        }
        members.push(("stream".to_owned(), Json::Bool(true)));
        members
    }

    fn items(&self, said: &Message, out: &mut Vec<Json>) {
        let style = &self.style;
        match said {
            Message::User(said) => out.push(self.message("user", said)),
            Message::Reminded(reminder, said) => {
                let parts = [reminder, said].map(|said| part(style, "input_text", said));
                let content = Json::Arr(parts.to_vec());
                out.push(envelope(style, [("role", text("user")), ("content", content)]));
            }
            Message::System(said) => out.push(self.message(self.role, said)),
            Message::Assistant {
                text: said,
                calls,
                thinking,
            } => {
                out.extend(thinking.then(|| reasoning(style, said, calls.len())));
                if !said.is_empty() {
                    out.push(answered(style, said));
                }
                out.extend(calls.iter().map(|id| call(style, id)));
            }
            Message::Results(results, said) => {
                let output = |(id, result): &(String, String)| {
                    envelope(
                        style,
                        [
                            ("type", text("function_call_output")),
                            ("call_id", text(id)),
                            ("output", text(result)),
                        ],
                    )
                };
                out.extend(results.iter().map(output));
                out.extend(said.as_ref().map(|said| self.message("user", said)));
            }
        }
    }

    /// `type` may be left out, and one part be its text; who mixes that does so from one turn to the next.
    fn message(&self, role: &str, said: &str) -> Json {
        let style = &self.style;
        let turn = self.history.len() / 2;
        let (typed, parts) = match style.mixed {
            true => (turn.is_multiple_of(2), turn.is_multiple_of(3)),
            false => (style.blocks, style.blocks),
        };
        let content = match parts {
            true => Json::Arr(vec![part(style, "input_text", said)]),
            false => text(said),
        };
        let (role, content) = (("role", text(role)), ("content", content));
        match typed {
            true => envelope(style, [("type", text("message")), role, content]),
            false => envelope(style, [role, content]),
        }
    }
}

fn reads_instructions_last(model: &str) -> bool {
    ["gpt-6.2", "gpt-7"].contains(&model)
}

fn part(style: &Style, kind: &str, said: &str) -> Json {
    envelope(style, [("type", text(kind)), ("text", text(said))])
}

/// As the client got it.
fn answered(style: &Style, said: &str) -> Json {
    let part = object([
        ("type", text("output_text")),
        ("text", text(said)),
        ("annotations", Json::Arr(Vec::new())),
    ]);
    envelope(
        style,
        [
            ("type", text("message")),
            ("role", text("assistant")),
            ("content", Json::Arr(vec![part])),
        ],
    )
}

fn reasoning(style: &Style, said: &str, calls: usize) -> Json {
    let summary = object([
        ("type", text("summary_text")),
        ("text", text(format!("About {said}"))),
    ]);
    envelope(
        style,
        [
            ("type", text("reasoning")),
            ("summary", Json::Arr(vec![summary])),
            ("encrypted_content", text(format!("sealed-{said}-{calls}"))),
        ],
    )
}

fn call(style: &Style, id: &str) -> Json {
    envelope(
        style,
        [
            ("type", text("function_call")),
            ("call_id", text(id)),
            ("name", text("read_file")),
            ("arguments", text(format!("{{\"path\": \"{id}.rs\"}}"))),
        ],
    )
}

fn tool(style: &Style, name: &str) -> Json {
    envelope(
        style,
        [
            ("type", text("function")),
            ("name", text(name)),
            ("description", text(format!("Runs {name} on a path"))),
            ("parameters", schema()),
        ],
    )
}
