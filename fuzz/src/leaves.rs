//! What leaves: it can be read, and holds the client's items, the head and the nodes, and nothing else.

use std::sync::Arc;

use bytes::Bytes;
use inkfast::prefix::Request;
use inkfast::prefix::item::{FrozenHead, Item};
use inkfast::prefix::past::{Node, Slot};
use inkfast::wire::envelope::Envelope;
use inkfast::wire::plan_edits::PlanEdits;
use inkfast::wire::scan::Cursor;
use serde_json::value::RawValue;

use super::routes::{self, Place};

/// Reads `out`, which `request` became, and checks it.
pub fn check(place: &Place, request: &Request, lowered: &PlanEdits, out: &Bytes) -> Request {
    let shown = || {
        format!(
            "\n received {}\n sent     {}",
            request.body.escape_ascii(),
            out.escape_ascii()
        )
    };
    let sent = routes::read(place, out, None).unwrap_or_else(|| panic!("what leaves can be read{}", shown()));
    assert!(is_json(out), "what leaves is JSON{}", shown());
    assert_eq!(sent.model, request.model, "the model{}", shown());
    assert_eq!(sent.params, request.params, "the parameters{}", shown());
    let tools =
        |request: &Request| -> Vec<_> { request.tools.iter().map(|tool| tool.mark.clone()).collect() };
    assert_eq!(tools(&sent), tools(request), "the tools{}", shown());
    if request.held == 0 {
        assert_eq!(
            head(&sent.head.freeze()),
            head(&lowered.head),
            "the head{}",
            shown()
        );
    }
    let expected = expected(request, &lowered.nodes);
    let shows = |item: &Item| (item.mark.role, item.mark.kind, item.mark.canonical);
    assert_eq!(
        sent.history.len(),
        expected.len(),
        "the number of items{}",
        shown()
    );
    for (sent, expected) in sent.history.iter().zip(&expected) {
        match expected {
            Expected::Same(item) => assert_eq!(shows(sent), shows(item), "an item{}", shown()),
            Expected::Inside(item) => {
                assert_eq!(sent.mark.role, item.mark.role, "an item with a node{}", shown());
            }
            Expected::Node => {}
        }
    }
    let holders = lowered.nodes.iter().filter_map(|node| node.holder.as_ref());
    holders.for_each(|holder| assert!(is_json(&holder.sent), "an item as stored{}", shown()));
    sent
}

/// Whether this is one JSON text, by another reader than the one under test.
pub fn is_json(body: &[u8]) -> bool {
    serde_json::from_slice::<&RawValue>(body).is_ok()
}

fn head(head: &FrozenHead) -> Vec<inkfast::prefix::digest::Digest> {
    head.blocks.iter().map(|block| block.canonical.0).collect()
}

enum Expected<'a> {
    /// The client's item.
    Same(&'a Item),
    /// The client's item, which holds a node or has lost to one what its message says beside its blocks.
    Inside(&'a Item),
    /// A node.
    Node,
}

/// What the body holds behind the head. What the provider holds is in no body.
fn expected<'a>(request: &'a Request, nodes: &[Arc<Node>]) -> Vec<Expected<'a>> {
    let mut expected = Vec::new();
    for position in request.held..=request.history.len() {
        let here = || nodes.iter().filter(|node| node.position as usize == position);
        let own = |node: &&Arc<Node>| !matches!(node.slot, Slot::Lead | Slot::Trail);
        expected.extend(here().filter(own).map(|_| Expected::Node));
        let Some(item) = request.history.get(position) else {
            continue;
        };
        let behind = || nodes.iter().filter(|node| node.position as usize == position + 1);
        let inside =
            here().any(|node| node.slot == Slot::Lead) || behind().any(|node| node.slot == Slot::Trail);
        let first = here().any(|node| node.slot == Slot::BlockBefore) && says_more(request, item);
        expected.push(if inside || first {
            Expected::Inside(item)
        } else {
            Expected::Same(item)
        });
    }
    expected
}

/// The item's message says more than who speaks and what.
fn says_more(request: &Request, item: &Item) -> bool {
    let message = &request.layout.messages[item.message as usize].range;
    let mut cursor = Cursor::new(&request.body[..message.end], message.start);
    let envelope = Envelope::read(&mut cursor).expect("a message that was read is read again");
    let known = |name: &[u8]| [&b"role"[..], b"content", b"parts"].contains(&name);
    envelope
        .members
        .iter()
        .any(|(name, _)| !known(&request.body[name.clone()]))
}
