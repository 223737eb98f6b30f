//! From plan to bytes: the frozen head and the nodes as edits of the body as received.
//!
//! Nothing is serialised anew. What is inserted is the frozen bytes of the head, the stored bytes of nodes, and for
//! a new node the one rendering that is stored before it is sent.

mod head;
mod nodes;

use std::sync::Arc;

use bytes::Bytes;

use crate::prefix::edit::{Edit, Edits, Overlap};
use crate::prefix::item::{FrozenHead, Request};
use crate::prefix::past::{Holder, Node, Slot};
use crate::prefix::plan::{NewNode, Plan};
use crate::prefix::policy::{Carrier, Mutant};
use crate::prompt::{self, TextMode};

use super::{BARE, Shapes};

/// A plan in bytes.
#[derive(Clone, Debug)]
pub struct PlanEdits {
    /// The edits of the body.
    pub edits: Edits,
    /// The head that goes out.
    pub head: Arc<FrozenHead>,
    /// All nodes that go out, in order.
    pub nodes: Vec<Arc<Node>>,
    /// The one among them that is new.
    pub new_node: Option<Arc<Node>>,
}

/// Lowers `plan` onto the body of `request`; `text` is how a new update is told, `shapes` how a node is written.
pub fn plan_edits(
    request: &Request,
    plan: &Plan,
    text: TextMode,
    shapes: &Shapes,
) -> Result<PlanEdits, Overlap> {
    let mut edits = Vec::new();
    let head = match &plan.baseline {
        Some(frozen) => {
            if plan.mutant != Some(Mutant::ThawHead) {
                head::restore(request, frozen, shapes, &mut edits);
            }
            frozen.clone()
        }
        None => Arc::new(request.head.freeze()),
    };
    let mut nodes = plan.nodes.clone();
    let mut fresh: Vec<usize> = Vec::new();
    for (index, anew) in &plan.anew {
        nodes[*index] = Arc::new(render(anew, &head, (text, shapes), plan));
        fresh.push(*index);
    }
    if let Some(new) = &plan.new_node {
        fresh.push(nodes.len());
        nodes.push(Arc::new(render(new, &head, (text, shapes), plan)));
    }
    let inserted = nodes::insert(request, &nodes, shapes, &mut edits);
    list(request, &mut edits);
    let moved = (0..nodes.len()).filter(|index| nodes::is_moved(request, &nodes[*index]));
    fresh.extend(moved.collect::<Vec<_>>());
    for index in fresh {
        nodes[index] = with_holder(request, &nodes[index], &inserted);
    }
    let new_node = plan.new_node.as_ref().and_then(|_| nodes.last().cloned());
    faults(request, plan.mutant, &mut edits);
    Ok(PlanEdits {
        edits: Edits::new(edits)?,
        head,
        nodes,
        new_node,
    })
}

/// A history that is one bare string becomes a list of the message that it stands for, where something is put beside it.
fn list(request: &Request, edits: &mut Vec<Edit>) {
    let string = &request.layout.messages_array;
    let ends = [string.start, string.end];
    let beside = |edit: &Edit| edit.range.is_empty() && ends.contains(&edit.range.start);
    if !request.layout.bare || !edits.iter().any(beside) {
        return;
    }
    let put = |at: usize, insert: &'static str| Edit {
        range: at..at,
        insert: Bytes::from_static(insert.as_bytes()),
    };
    let [open, close] = BARE;
    // Of what is put at one place, the first comes first.
    edits.splice(0..0, [put(string.start, "["), put(string.end, close)]);
    edits.extend([put(string.start, open), put(string.end, "]")]);
}

/// The new node with its bytes.
fn render(new: &NewNode, head: &FrozenHead, (mode, shapes): (TextMode, &Shapes), plan: &Plan) -> Node {
    let mut update = prompt::render(&new.effective, &new.wanted, &new.group, mode, new.deltas);
    if plan.mutant == Some(Mutant::ClockInNode) {
        update.text.push_str(&plan.now_ms.to_string());
    }
    let text = match new.spot.row.carrier {
        Carrier::UserReminder | Carrier::TextPart => {
            prompt::wrap(&update.text, &head.texts().unwrap_or_default())
        }
        Carrier::System | Carrier::Developer => update.text,
    };
    let bytes = match new.spot.slot {
        Slot::Message => shapes.message(role(new), &string(&text)).into_bytes(),
        Slot::BlockBefore | Slot::BlockAfter => shapes.block(string(&text).as_bytes()),
        Slot::Lead => fragment(&format!("{text}\n\n")),
        Slot::Trail => fragment(&format!("\n\n{text}")),
    };
    new.store(Bytes::from(bytes), update.rendering, None)
}

fn role(new: &NewNode) -> &str {
    let row = new.spot.row;
    match row.carrier {
        Carrier::UserReminder | Carrier::TextPart => "user",
        Carrier::System if row.head_role => new.head_role.as_deref().unwrap_or("system"),
        Carrier::System => "system",
        Carrier::Developer if row.head_role => new.head_role.as_deref().unwrap_or("developer"),
        Carrier::Developer => "developer",
    }
}

/// A text as a JSON string token.
fn string(text: &str) -> String {
    serde_json::to_string(text).unwrap_or_default()
}

/// A text as it stands inside a JSON string.
fn fragment(text: &str) -> Vec<u8> {
    let token = string(text);
    token.as_bytes()[1..token.len() - 1].to_vec()
}

/// Gives a node inside an item the item as it goes out: it must never go out otherwise.
fn with_holder(request: &Request, node: &Arc<Node>, inserted: &[Edit]) -> Arc<Node> {
    let Some(item) = nodes::holder(node).and_then(|index| request.history.get(index)) else {
        return node.clone();
    };
    let sent = nodes::unmarked(&nodes::item_with(request, item.range.clone(), inserted));
    // A copy: a slice would keep the whole body alive.
    let holder = Holder {
        client: item.mark,
        sent: Bytes::copy_from_slice(&sent),
    };
    Arc::new(Node {
        holder: Some(holder),
        ..(**node).clone()
    })
}

/// Test-only faults that only bytes can show.
fn faults(request: &Request, mutant: Option<Mutant>, edits: &mut Vec<Edit>) {
    let end = request.body.len();
    match (mutant, request.layout.messages.as_slice()) {
        (Some(Mutant::TouchUntouched), _) => {
            edits.push(Edit {
                range: end..end,
                insert: Bytes::from_static(b" "),
            });
        }
        (Some(Mutant::LoseItem), [.., before, last]) => {
            edits.retain(|edit| edit.range.end <= before.range.end);
            edits.push(Edit {
                range: before.range.end..last.range.end,
                insert: Bytes::new(),
            });
        }
        _ => {}
    }
}
