//! Converse: blocks that their only member names, cache points as blocks, and roles that alternate: the client merges
//! what one side says in a row.

use super::super::json::{Json, Style, envelope, object, text};
use super::{Draft, Message, schema};

impl Draft {
    pub(super) fn converse(&self) -> Vec<(String, Json)> {
        let style = &self.style;
        let mut members = Vec::new();
        if !self.head.is_empty() {
            let mut blocks: Vec<Json> = self.head.iter().map(|said| block(said)).collect();
            blocks.extend(style.markers.then(point));
            members.push(("system".to_owned(), Json::Arr(blocks)));
        }
        members.push(("messages".to_owned(), Json::Arr(self.turns())));
        if !self.tools.is_empty() {
            let mut tools: Vec<Json> = self.tools.iter().map(|name| tool(style, name)).collect();
            tools.extend(style.markers.then(point));
            let config = object([("tools", Json::Arr(tools))]);
            members.push(("toolConfig".to_owned(), config));
        }
        let limit = object([("maxTokens", Json::Num(4096))]);
        members.push(("inferenceConfig".to_owned(), limit));
        members
    }

    fn turns(&self) -> Vec<Json> {
        let style = &self.style;
        let mut turns: Vec<(&str, Vec<Json>)> = Vec::new();
        let last = self.history.len().saturating_sub(1);
        for (index, message) in self.history.iter().enumerate() {
            let (role, mut blocks) = content(message);
            if style.markers && role == "user" && (index == last || index + 2 == last) {
                blocks.push(point());
            }
            match turns.last_mut() {
                Some((before, content)) if *before == role => content.extend(blocks),
                _ => turns.push((role, blocks)),
            }
        }
        let message =
            |(role, blocks)| envelope(style, [("role", text(role)), ("content", Json::Arr(blocks))]);
        turns.into_iter().map(message).collect()
    }
}

fn content(message: &Message) -> (&'static str, Vec<Json>) {
    match message {
        Message::User(said) => ("user", vec![block(said)]),
        Message::System(said) => ("system", vec![block(said)]),
        Message::Reminded(reminder, said) => ("user", vec![block(reminder), block(said)]),
        Message::Assistant {
            text: said,
            calls,
            thinking,
        } => ("assistant", assistant(said, calls, *thinking)),
        Message::Results(results, said) => {
            let result = |(id, result): &(String, String)| {
                let inner = object([
                    ("toolUseId", text(id)),
                    ("content", Json::Arr(vec![block(result)])),
                ]);
                object([("toolResult", inner)])
            };
            let results = results.iter().map(result);
            (
                "user",
                results.chain(said.as_ref().map(|said| block(said))).collect(),
            )
        }
    }
}

fn assistant(said: &str, calls: &[String], thinking: bool) -> Vec<Json> {
    let mut blocks = Vec::new();
    if thinking {
        let inner = object([
            ("text", text(format!("About {said}"))),
            ("signature", text(format!("sig-{said}-{}", calls.len()))),
        ]);
        blocks.push(object([("reasoningContent", object([("reasoningText", inner)]))]));
    }
    if !said.is_empty() {
        blocks.push(block(said));
    }
    for id in calls {
        let input = object([("path", text(format!("{id}.rs"))), ("deep", Json::Bool(true))]);
        let call = object([
            ("toolUseId", text(id)),
            ("name", text("read_file")),
            ("input", input),
        ]);
        blocks.push(object([("toolUse", call)]));
    }
    blocks
}

fn block(said: &str) -> Json {
    object([("text", text(said))])
}

fn point() -> Json {
    object([("cachePoint", object([("type", text("default"))]))])
}

fn tool(style: &Style, name: &str) -> Json {
    let spec = envelope(
        style,
        [
            ("name", text(name)),
            ("description", text(format!("Runs {name} on a path"))),
            ("inputSchema", object([("json", schema())])),
        ],
    );
    object([("toolSpec", spec)])
}
