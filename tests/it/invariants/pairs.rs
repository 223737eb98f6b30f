//! Invariant 6: where a node may stand.

use inkfast::prefix::past::Slot;
use inkfast::wire::format::Format;

use super::body::{Element, Item, Kind};
use super::check::{Case, Check, Checker, broken, name};

impl Checker {
    /// 6: no node in a pair, none before an answer that was written without it, none where the provider refuses it.
    pub fn pairs(&self, case: &Case<'_>) -> Check {
        let native = matches!(self.format, Format::AnthropicMessages | Format::BedrockConverse);
        self.alternate(case)?;
        self.function_turns(case)?;
        let mut open = 0;
        let mut behind: Vec<String> = Vec::new();
        for (index, element) in case.elements.iter().enumerate() {
            match element {
                Element::Node(node) => {
                    if open > 0 {
                        return broken(6, format!("node in a pair: {}", node.bytes));
                    }
                    behind.push(name(element));
                    if native && node.slot == Slot::Message && node.bytes.contains("\"role\":\"system\"") {
                        self.legal(case, index)?;
                    }
                }
                Element::Item(item) => {
                    match item.kind {
                        Kind::Calls(calls) => open += calls,
                        Kind::Result => open = usize::saturating_sub(open, 1),
                        _ if item.role == "user" => open = 0,
                        _ => {}
                    }
                    if item.role == "assistant" {
                        self.written_with(item, &behind)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Bedrock refuses two messages of one side in a row.
    fn alternate(&self, case: &Case<'_>) -> Check {
        let in_a_row = |turns: &[String]| {
            let roles: Vec<&String> = turns.iter().filter(|role| *role != "system").collect();
            roles.windows(2).any(|pair| pair[0] == pair[1])
        };
        if in_a_row(&case.out.turns) && !in_a_row(&case.client.turns) {
            return broken(6, "two messages of one side in a row");
        }
        Ok(())
    }

    /// Text beside function responses ends the turn in which the model thinks: none may be put there.
    fn function_turns(&self, case: &Case<'_>) -> Check {
        if self.format != Format::Gemini {
            return Ok(());
        }
        for node in case.nodes {
            let put = case
                .out
                .items
                .iter()
                .find(|item| item.raw.as_bytes() == node.bytes);
            let Some(put) = put else { continue };
            let beside = case.out.items.iter().filter(|item| item.message == put.message);
            let own = |item: &&Item| case.nodes.iter().all(|node| item.raw.as_bytes() != node.bytes);
            if beside.filter(own).all(|item| item.kind == Kind::Result) {
                return broken(6, format!("text among function responses: {}", put.raw));
            }
        }
        Ok(())
    }

    fn written_with(&self, item: &Item, behind: &[String]) -> Check {
        let Some(known) = self.answers.get(&item.texts) else {
            return Ok(());
        };
        let written_so = |nodes: &Option<Vec<String>>| {
            nodes
                .as_ref()
                .is_none_or(|nodes| behind.iter().all(|node| nodes.contains(node)))
        };
        if known.iter().any(written_so) {
            return Ok(());
        }
        let what = &item.texts;
        broken(
            6,
            format!("a node before {what:?}, which was written without it: {behind:?}, known {known:?}"),
        )
    }

    /// The provider's rules for an operator message in mid-conversation (platform.claude.com, mid-conversation system messages).
    fn legal(&self, case: &Case<'_>, index: usize) -> Check {
        let is_system = |element: &&Element| match element {
            Element::Item(item) => item.role == "system",
            Element::Node(node) => node.slot == Slot::Message,
        };
        let before = case.elements[..index]
            .iter()
            .rev()
            .find(|element| !is_system(element));
        let after = case.elements[index + 1..]
            .iter()
            .find(|element| !is_system(element));
        let role = |element: Option<&Element>| match element {
            Some(Element::Item(item)) => item.role.clone(),
            Some(Element::Node(_)) => "user".to_owned(),
            None => String::new(),
        };
        let opens = !matches!(after, Some(Element::Item(item)) if !item.opens);
        if role(before) != "user" || !matches!(role(after).as_str(), "" | "assistant") || !opens {
            return broken(
                6,
                format!(
                    "an operator message between {:?} and {:?}",
                    role(before),
                    role(after)
                ),
            );
        }
        Ok(())
    }
}
