//! Converse: blocks that their only member names; a cache point is no item.

use serde_json::value::RawValue;

use super::{Block, Body, Item, Kind, Members, Tree, list, texts};

impl Body {
    pub(super) fn converse(&mut self, members: &Members<'_>) -> &'static [&'static str] {
        if let Some(config) = members.get("toolConfig") {
            let config: Members<'_> = serde_json::from_str(config.get()).unwrap();
            self.tools(config.get("tools"));
        }
        for block in members.get("system").map_or_else(Vec::new, |head| list(head)) {
            if !is_point(block) {
                let texts = texts(Some(&Tree::Arr(vec![Tree::parse(block.get())])));
                let raw = block.get().to_owned();
                self.head.push(Block::of(raw, texts));
            }
        }
        for message in list(members["messages"]) {
            self.turn(message);
        }
        &["toolConfig", "system", "messages"]
    }

    fn turn(&mut self, message: &RawValue) {
        let members: Members<'_> = serde_json::from_str(message.get()).unwrap();
        let role: String = serde_json::from_str(members["role"].get()).unwrap();
        let content = list(members["content"]);
        let said = said(&Tree::parse(members["content"].get()));
        self.turns.push(role.clone());
        let alone = content.len() == 1 && role == "system";
        let mut opens = true;
        for block in content {
            if is_point(block) {
                self.points
                    .extend(self.items.last().map(|item| item.canonical.clone()));
                continue;
            }
            let tree = Tree::parse(block.get());
            let place = self.message_of(opens);
            self.items.push(Item {
                // A node is compared with the whole of what it is.
                raw: if alone { message } else { block }.get().to_owned(),
                canonical: format!("{role} {}", tree.envelope()),
                role: role.clone(),
                kind: kind(&tree),
                opens: std::mem::take(&mut opens),
                texts: said.clone(),
                holds: false,
                message: place,
            });
        }
    }
}

fn is_point(block: &RawValue) -> bool {
    Tree::parse(block.get()).get("cachePoint").is_some()
}

fn kind(block: &Tree) -> Kind {
    let has = |name| block.get(name).is_some();
    match () {
        () if has("toolUse") => Kind::Calls(1),
        () if has("toolResult") => Kind::Result,
        () if has("reasoningContent") => Kind::Thinking,
        () => Kind::Content,
    }
}

/// What a message says: how the world names answers.
fn said(content: &Tree) -> String {
    let calls = content.list().iter();
    let calls = calls.filter_map(|block| block.get("toolUse")?.get("toolUseId")?.str());
    let calls: Vec<&str> = calls.collect();
    format!("{}|{}", texts(Some(content)).concat(), calls.join(","))
}
