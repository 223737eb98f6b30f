//! Gemini: parts in contents of two roles, keys in either spelling, signatures on parts.

use super::super::json::{Json, Style, envelope, object, text};
use super::{Draft, Message, schema};

impl Draft {
    pub(super) fn gemini(&self) -> Vec<(String, Json)> {
        let style = &self.style;
        let mut members = Vec::new();
        if !self.head.is_empty() {
            let parts = self.head.iter().map(|said| part(said)).collect();
            let head = object([("parts", Json::Arr(parts))]);
            members.push((key(style, "systemInstruction"), head));
        }
        if !self.tools.is_empty() {
            let tools = self.tools.iter().map(|name| tool(style, name)).collect();
            let tools = keyed(style, vec![("functionDeclarations", Json::Arr(tools))]);
            members.push(("tools".to_owned(), Json::Arr(vec![tools])));
        }
        let mut contents = Vec::new();
        self.history
            .iter()
            .for_each(|message| self.contents(message, &mut contents));
        members.push(("contents".to_owned(), Json::Arr(contents)));
        let limit = keyed(style, vec![("maxOutputTokens", Json::Num(4096))]);
        members.push((key(style, "generationConfig"), limit));
        members
    }

    fn contents(&self, message: &Message, out: &mut Vec<Json>) {
        let style = &self.style;
        match message {
            // There is no third role.
            Message::User(said) | Message::System(said) => {
                out.push(content(style, "user", vec![part(said)]));
            }
            Message::Reminded(reminder, said) => {
                out.push(content(style, "user", vec![part(reminder), part(said)]));
            }
            Message::Assistant {
                text: said,
                calls,
                thinking,
            } => out.push(content(style, "model", model(style, said, calls, *thinking))),
            Message::Results(results, said) => {
                let mut parts: Vec<Json> = results
                    .iter()
                    .map(|(id, result)| response(style, id, result))
                    .collect();
                if style.blocks {
                    parts.extend(said.as_ref().map(|said| part(said)));
                    return out.push(content(style, "user", parts));
                }
                out.push(content(style, "user", parts));
                out.extend(said.as_ref().map(|said| content(style, "user", vec![part(said)])));
            }
        }
    }
}

/// The key as this agent spells it.
fn key(style: &Style, camel: &str) -> String {
    if !style.snake {
        return camel.to_owned();
    }
    let mut snake = String::new();
    for c in camel.chars() {
        if c.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(c.to_ascii_lowercase());
    }
    snake
}

fn keyed(style: &Style, members: Vec<(&str, Json)>) -> Json {
    let members = members.into_iter().map(|(name, value)| (key(style, name), value));
    Json::Obj(members.collect())
}

fn content(style: &Style, role: &str, parts: Vec<Json>) -> Json {
    envelope(style, [("role", text(role)), ("parts", Json::Arr(parts))])
}

fn part(said: &str) -> Json {
    object([("text", text(said))])
}

fn model(style: &Style, said: &str, calls: &[String], thinking: bool) -> Vec<Json> {
    let mut parts = Vec::new();
    if thinking {
        parts.push(object([
            ("text", text(format!("About {said}"))),
            ("thought", Json::Bool(true)),
        ]));
    }
    let mut seal = Some((
        "thoughtSignature",
        text(format!("seal-{said}-{}", calls.join("-"))),
    ));
    if !said.is_empty() {
        let mut members = vec![("text", text(said))];
        members.extend(seal.take_if(|_| thinking && calls.is_empty()));
        parts.push(keyed(style, members));
    }
    for id in calls {
        let args = object([("path", text(format!("{id}.rs"))), ("deep", Json::Bool(true))]);
        let mut call = vec![("name", text("read_file")), ("args", args)];
        call.extend(style.ids.then(|| ("id", text(id))));
        // The first of a group is signed.
        let mut members = vec![("functionCall", keyed(style, call))];
        members.extend(seal.take());
        parts.push(keyed(style, members));
    }
    parts
}

fn response(style: &Style, id: &str, result: &str) -> Json {
    let output = object([("output", text(result))]);
    let mut members = vec![("name", text("read_file")), ("response", output)];
    members.extend(style.ids.then(|| ("id", text(id))));
    keyed(style, vec![("functionResponse", keyed(style, members))])
}

fn tool(style: &Style, name: &str) -> Json {
    envelope(
        style,
        [
            ("name", text(name)),
            ("description", text(format!("Runs {name} on a path"))),
            ("parameters", schema()),
        ],
    )
}
