//! Invariant 3: what is in force is what the client sent, by the ledger's entries and by the bytes' own words.

use inkfast::prefix::Outcome;
use inkfast::prefix::past::{Node, Slot};
use inkfast::prompt::{self, Entry, Rendering};

use super::body::Kind;
use super::check::{Case, Check, broken};
use super::tree::Tree;

/// 3: baseline and nodes give the head that the client sent.
pub fn effective(case: &Case<'_>) -> Check {
    let head = prompt::joined(&normal(&case.client.head_texts()));
    let entries: Vec<Entry> = case
        .nodes
        .iter()
        .flat_map(|node| node.entries.iter().cloned())
        .collect();
    let derived = prompt::joined(&normal(&prompt::derive(&case.out.head_texts(), &entries)));
    if case.turn.plan.outcome == Outcome::Deferred {
        return if derived == head || waits(case) {
            Ok(())
        } else {
            broken(3, "deferred outside of a tool loop")
        };
    }
    if derived != head {
        return broken(3, format!("in force: {derived}\nwanted: {head}"));
    }
    let Some(last) = case.nodes.last().filter(|node| node.rendering == Rendering::Full) else {
        return Ok(());
    };
    let said = node_text(last);
    let told = said.split_once("\n\n").map_or("", |(_, prompt)| prompt);
    let wanted = prompt::joined(&case.client.head_texts());
    let wanted = prompt::joined(&normal(&[wanted]));
    if prompt::joined(&normal(&[told.to_owned()])) != wanted {
        return broken(3, format!("the last node tells {told:?}, not {wanted:?}"));
    }
    Ok(())
}

/// A change may wait only in a tool loop, or where thinking is bound to what stands.
fn waits(case: &Case<'_>) -> bool {
    let turn = case
        .client
        .items
        .iter()
        .rev()
        .take_while(|item| item.role != "assistant");
    let in_loop = turn.clone().any(|item| item.kind == Kind::Result);
    let open = case
        .client
        .items
        .last()
        .is_some_and(|item| item.role == "assistant");
    in_loop || open || case.client.items.iter().any(|item| item.kind == Kind::Thinking)
}

/// What a node says, its wrapping taken off.
fn node_text(node: &Node) -> String {
    let bytes = std::str::from_utf8(&node.bytes).unwrap();
    let text = match node.slot {
        Slot::Lead | Slot::Trail => serde_json::from_str::<String>(&format!("\"{bytes}\"")).unwrap(),
        _ => {
            let tree = Tree::parse(bytes);
            let content = tree.get("text").or(tree.get("content")).unwrap();
            let block = content.list().first().and_then(|block| block.get("text"));
            block.unwrap_or(content).str().unwrap().to_owned()
        }
    };
    let text = text.trim();
    for tag in ["system-reminder", "system-update"] {
        let inner = text.strip_prefix(&format!("<{tag}>\n"));
        if let Some(inner) = inner.and_then(|inner| inner.strip_suffix(&format!("\n</{tag}>"))) {
            return inner.replace("&lt;", "<").replace("&amp;", "&");
        }
    }
    text.to_owned()
}

/// Without what is no change: white space at line ends, blank blocks.
pub fn normal(blocks: &[String]) -> Vec<String> {
    let lines = |block: &String| {
        block
            .lines()
            .map(str::trim_end)
            .collect::<Vec<_>>()
            .join("\n")
            .trim_end()
            .to_owned()
    };
    blocks
        .iter()
        .map(lines)
        .filter(|block| !block.is_empty())
        .collect()
}
