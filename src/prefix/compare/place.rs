//! What the places of items are called: `tools[3]:read_file`, `system[1]`, `messages[12].content[0]`.

use super::View;
use crate::prefix::item::{HeadForm, Names, Request};
use crate::prefix::verdict::Part;

/// The place of a tool.
pub fn tool(index: usize, name: &str) -> String {
    format!("tools[{index}]:{name}")
}

/// The place of a head block: the blocks of the head's own member stand before those that are messages.
pub fn head(view: &View<'_>, index: usize, names: Names) -> String {
    head_block(index, view.head_members, view.head_string, names)
}

fn head_block(index: usize, members: usize, string: bool, names: Names) -> String {
    let alone = string || names.form == HeadForm::Value;
    match names.head.filter(|_| index < members) {
        Some(head) if alone => head.to_owned(),
        Some(head) => format!("{head}[{index}]"),
        None => format!("{}[{}]", names.history, index - members.min(index)),
    }
}

/// The place of a history element, counted in the client's own items of that side.
pub fn history(view: &View<'_>, element: usize, names: Names) -> String {
    let index = view.history[element].index;
    let marks = view
        .marks
        .get(..=index.min(view.marks.len().saturating_sub(1)))
        .unwrap_or(&[]);
    let message = marks.iter().filter(|opens| **opens).count().saturating_sub(1);
    let block = marks.iter().rev().take_while(|opens| !**opens).count();
    let more = view.marks.get(index + 1).is_some_and(|opens| !opens);
    match names.blocks {
        Some(blocks) if block > 0 || more => {
            let message = message + view.head_messages;
            format!("{}[{message}].{blocks}[{block}]", names.history)
        }
        Some(_) => format!("{}[{}]", names.history, message + view.head_messages),
        None => format!("{}[{}]", names.history, index + view.head_messages),
    }
}

/// The place of an item of a request, as a verdict on it would name it.
pub fn of(request: &Request, part: Part, index: usize) -> String {
    let names = request.names;
    match part {
        Part::Param => names.history.to_owned(),
        Part::Tool => tool(index, request.tools.get(index).map_or("", |tool| &tool.name)),
        Part::Head => {
            let blocks = &request.head.blocks;
            let members = blocks.len() - request.head.messages();
            let string = members == 1 && blocks[0].frozen.string.is_some();
            head_block(index, members, string, names)
        }
        Part::History => match request.history.get(index) {
            None => names.history.to_owned(),
            Some(item) => {
                let opens = |index: usize| request.history.get(index).is_none_or(|item| item.mark.opens);
                let alone = opens(index) && opens(index + 1);
                match (names.blocks, item.block) {
                    (Some(blocks), Some(block)) if !alone => {
                        format!("{}[{}].{blocks}[{block}]", names.history, item.message)
                    }
                    _ => format!("{}[{}]", names.history, item.message),
                }
            }
        },
    }
}
