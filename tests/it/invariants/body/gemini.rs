//! Gemini: parts as items, keys in either spelling.

use serde_json::value::RawValue;

use super::{Block, Body, Item, Kind, Members, Tree, called, list};

impl Body {
    pub(super) fn gemini(&mut self, members: &Members<'_>) -> &'static [&'static str] {
        self.tools(members.get("tools"));
        let head = ["systemInstruction", "system_instruction"];
        if let Some(head) = head.iter().find_map(|key| members.get(*key)) {
            let parts = Tree::parse(head.get());
            let texts = parts.get("parts").map_or(&[][..], Tree::list).iter();
            let texts = texts.filter_map(|part| part.get("text")?.str());
            let texts = texts.map(str::to_owned).collect();
            self.head.push(Block::of(head.get().to_owned(), texts));
        }
        for content in list(members["contents"]) {
            self.content(content);
        }
        &["tools", "systemInstruction", "system_instruction", "contents"]
    }

    fn content(&mut self, content: &RawValue) {
        let members: Members<'_> = serde_json::from_str(content.get()).unwrap();
        let tree = Tree::parse(content.get());
        let role = match tree.get("role").and_then(Tree::str) {
            Some("model") => "assistant",
            role => role.unwrap_or("user"),
        };
        let said = said(&tree);
        for (index, part) in list(members["parts"]).iter().enumerate() {
            let tree = Tree::parse(part.get());
            let message = self.message_of(index == 0);
            self.items.push(Item {
                raw: part.get().to_owned(),
                canonical: format!("{role} {}", tree.envelope()),
                role: role.to_owned(),
                kind: kind(&tree),
                opens: index == 0,
                texts: said.clone(),
                holds: false,
                message,
            });
        }
    }
}

fn kind(part: &Tree) -> Kind {
    if either(part, ["functionCall", "function_call"]).is_some() {
        return Kind::Calls(1);
    }
    if either(part, ["functionResponse", "function_response"]).is_some() {
        return Kind::Result;
    }
    match part.get("thought") {
        Some(Tree::Bool(true)) => Kind::Thinking,
        _ => Kind::Content,
    }
}

fn either<'t>(part: &'t Tree, names: [&str; 2]) -> Option<&'t Tree> {
    names.iter().find_map(|name| part.get(name))
}

/// What a content says: how the world names answers.
fn said(content: &Tree) -> String {
    let parts = content.get("parts").map_or(&[][..], Tree::list);
    let spoken = parts.iter().filter(|part| kind(part) != Kind::Thinking);
    let texts: String = spoken.filter_map(|part| part.get("text")?.str()).collect();
    let call = |part: &Tree| called(either(part, ["functionCall", "function_call"])?.get("args")?);
    let calls: Vec<String> = parts.iter().filter_map(call).collect();
    format!("{texts}|{}", calls.join(","))
}
