//! OpenAI Responses: a turn of the model is a run of items.

use super::{Block, Body, Item, Kind, Members, Tree, canonical, list, texts};

impl Body {
    pub(super) fn responses(&mut self, members: &Members<'_>) -> &'static [&'static str] {
        self.tools(members.get("tools"));
        let model = Tree::parse(members["model"].get());
        let leads = reads_instructions_first(model.str().unwrap());
        if let Some(instructions) = members.get("instructions").filter(|_| leads) {
            let texts = vec![serde_json::from_str(instructions.get()).unwrap()];
            let raw = instructions.get().to_owned();
            self.head.push(Block::of(raw, texts));
        }
        let input = members["input"];
        if input.get().starts_with('"') {
            self.item(input.get(), &Tree::parse(input.get()));
        } else {
            let mut leading = true;
            for item in list(input) {
                let tree = Tree::parse(item.get());
                leading &= matches!(tree.get("role").and_then(Tree::str), Some("system" | "developer"));
                if leading {
                    self.head
                        .push(Block::message(item.get(), texts(tree.get("content"))));
                } else {
                    self.item(item.get(), &tree);
                }
            }
        }
        self.name_turns();
        if leads {
            &["tools", "instructions", "input"]
        } else {
            &["tools", "input"]
        }
    }

    fn item(&mut self, raw: &str, tree: &Tree) {
        let (role, kind) = match tree.get("type").and_then(Tree::str) {
            Some("reasoning") => ("assistant", Kind::Thinking),
            Some("function_call") => ("assistant", Kind::Calls(1)),
            Some("function_call_output") => ("tool", Kind::Result),
            _ => (
                tree.get("role").and_then(Tree::str).unwrap_or("user"),
                Kind::Content,
            ),
        };
        let said = match kind {
            Kind::Calls(_) => tree.get("call_id").and_then(Tree::str).unwrap().to_owned(),
            _ => texts(tree.get("content")).concat(),
        };
        let goes_on = role == "assistant" && self.items.last().is_some_and(|last| last.role == role);
        let message = self.message_of(!goes_on);
        self.items.push(Item {
            raw: raw.to_owned(),
            canonical: canonical(raw),
            role: role.to_owned(),
            kind,
            opens: !goes_on,
            texts: said,
            holds: false,
            message,
        });
    }

    /// Every item of a turn tells what the whole turn says.
    fn name_turns(&mut self) {
        let mut turns = vec![(String::new(), Vec::new()); self.items.len()];
        for item in &self.items {
            let (said, calls) = &mut turns[item.message];
            match item.kind {
                Kind::Calls(_) => calls.push(item.texts.clone()),
                _ => said.push_str(&item.texts),
            }
        }
        for item in &mut self.items {
            let (said, calls) = &turns[item.message];
            item.texts = format!("{said}|{}", calls.join(","));
        }
    }
}

/// From GPT-6.2 on the instructions are read behind the input (developers.openai.com, "Latest model").
fn reads_instructions_first(model: &str) -> bool {
    let version = model.strip_prefix("gpt-").unwrap_or_default();
    let mut numbers = version
        .split(['.', '-'])
        .map_while(|number| number.parse::<u32>().ok());
    let (major, minor) = (numbers.next(), numbers.next().unwrap_or(0));
    major.is_some_and(|major| (major, minor) < (6, 2))
}
