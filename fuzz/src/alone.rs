//! One body: reading it with and without an earlier one, and every edit that its format may be asked for.

use std::sync::Arc;

use bytes::Bytes;
use inkfast::prefix::item::{FrozenHead, Request};
use inkfast::prefix::past::Slot;
use inkfast::prefix::place::{Found, Spot, place as find};
use inkfast::prefix::plan::{NewNode, Outcome, Plan};
use inkfast::prefix::policy::{Mode, Policy, TextMode};
use inkfast::prefix::verdict::Verdict;
use inkfast::prefix::{Past, Scope, apply, keys, provider_held};
use inkfast::prompt::group_for;
use inkfast::wire::format::Format;

use super::leaves;
use super::routes::{self, Place};

/// Checks the last of `bodies`; those before it are what may be known of its conversation.
pub fn check(format: Format, bodies: &[Bytes]) {
    let Some((body, earlier)) = bodies.split_last() else {
        return;
    };
    let place = &routes::places(format)[0];
    let Some(request) = routes::read(place, body, None) else {
        return;
    };
    assert!(
        leaves::is_json(body),
        "what can be read is JSON: {}",
        body.escape_ascii()
    );
    same_with(place, &request, &request);
    for earlier in earlier.iter().filter_map(|body| routes::read(place, body, None)) {
        same_with(place, &request, &earlier);
    }
    let scope = Scope::new(place.to.host, format.as_str(), None);
    let whole = provider_held::behind(&request, &keys(&request, scope), scope, &Past::default());
    let request = whole.map_or(request, |(whole, _)| whole);
    if request.server_state || request.head.texts().is_none() {
        return;
    }
    for head in heads(place) {
        edits(place, &request, &head);
    }
}

/// What an earlier body tells changes nothing.
fn same_with(place: &Place, request: &Request, known: &Request) {
    let again =
        routes::read(place, &request.body, Some(known)).expect("a body that was read once is read again");
    assert_eq!(request.history, again.history);
    assert_eq!(request.chains, again.chains);
    assert_eq!(request.head, again.head);
    assert_eq!(request.tools, again.tools);
    assert_eq!(request.layout, again.layout);
    assert_eq!(request.params, again.params);
    assert_eq!(request.names, again.names);
    assert_eq!(request.marker_ttl, again.marker_ttl);
    assert_eq!(request.signed_thinking, again.signed_thinking);
}

/// No node, one by every row and by how much of the history was sent before, and a second one behind each.
fn edits(place: &Place, request: &Request, head: &Arc<FrozenHead>) {
    // A head that this model would read at another place is never restored.
    if request.names.head.is_none() && head.blocks.first().is_some_and(|block| !block.is_message()) {
        return;
    }
    leave(place, request, head, &[]);
    let all = request.history.len();
    let later = spots(place, request, all);
    let mut seen = Vec::new();
    for first in [0, all.saturating_sub(1), all]
        .into_iter()
        .flat_map(|sent| spots(place, request, sent))
    {
        if seen.contains(&first) {
            continue;
        }
        seen.push(first);
        later
            .iter()
            .for_each(|second| leave(place, request, head, &[first, *second]));
    }
}

fn spots(place: &Place, request: &Request, sent: usize) -> Vec<Spot> {
    let found = |row| {
        let policy = Policy {
            rows: vec![row],
            ..place.route.policy.clone()
        };
        match find(request, sent, &policy, false) {
            // A message in front of all would be a part of the head; a conversation that is continued has one item.
            Found::Spot(spot) if spot.slot != Slot::Message || spot.position > 0 => Some(spot),
            _ => None,
        }
    };
    routes::rows(place.to.format)
        .into_iter()
        .filter_map(found)
        .collect()
}

/// Sends the body once with each node more, and once again with the last one stored.
fn leave(place: &Place, request: &Request, head: &Arc<FrozenHead>, spots: &[Spot]) {
    let lower = |plan: &Plan| {
        let lowered = place.to.format.wire().edits(request, plan, TextMode::Full);
        let lowered = lowered.expect("the edits are disjoint");
        let out = apply(&request.body, &lowered.edits).concat();
        (lowered, out)
    };
    let mut plan = plan(head);
    for number in 0..=spots.len() {
        plan.new_node = number.checked_sub(1).map(|last| node(head, number, spots[last]));
        let (lowered, out) = lower(&plan);
        leaves::check(place, request, &lowered, &out);
        plan.nodes = lowered.nodes;
        plan.new_node = None;
        assert_eq!(out, lower(&plan).1, "what is stored goes out as it went out");
    }
}

fn node(head: &FrozenHead, number: usize, spot: Spot) -> NewNode {
    let prompt = |number: usize| {
        vec![format!(
            "Be \"precise\" in {number}.\n</system-reminder> \u{1F980}"
        )]
    };
    let effective = match number {
        1 => head.texts().expect("the samples are text"),
        _ => prompt(number - 1),
    };
    let wanted = prompt(number);
    NewNode {
        spot,
        group: group_for(&effective, &wanted).expect("no two of them are the same"),
        effective,
        wanted,
        deltas: 0,
        head_role: head
            .blocks
            .first()
            .map(|block| block.role.clone())
            .filter(|role| !role.is_empty()),
    }
}

fn plan(head: &Arc<FrozenHead>) -> Plan {
    Plan {
        parent: None,
        compared: None,
        shared: 0,
        carries: false,
        mode: Mode::InHistory,
        baseline: Some(Arc::clone(head)),
        nodes: Vec::new(),
        anew: Vec::new(),
        outcome: Outcome::Kept,
        new_node: None,
        received: Verdict::new_lineage(),
        sent: Verdict::new_lineage(),
        whitespace: false,
        mutant: None,
        now_ms: 0,
    }
}

/// Heads that an earlier body of the conversation may have had.
fn heads(place: &Place) -> Vec<Arc<FrozenHead>> {
    let freeze = |body: &&'static str| {
        let request = routes::read(place, &Bytes::from_static(body.as_bytes()), None);
        Arc::new(request.expect("the sample is sound").head.freeze())
    };
    samples(place.to.format).iter().map(freeze).collect()
}

/// One block, two blocks, no head; where a head may stand at two places, at either and at both.
fn samples(format: Format) -> &'static [&'static str] {
    match format {
        Format::OpenaiChat | Format::Ollama => &[
            r#"{"messages":[{"role":"system","content":"Be brief."}]}"#,
            r#"{"messages":[{"role":"system","content":[{"type":"text","text":"Be"}]},{"role":"developer","content":"brief."}]}"#,
            r#"{"messages":[]}"#,
        ],
        Format::OpenaiResponses => &[
            r#"{"model":"gpt-5","instructions":"Be brief.","input":[]}"#,
            r#"{"model":"gpt-5","input":[{"role":"developer","content":"Be brief."}]}"#,
            r#"{"model":"gpt-5","instructions":"Be","input":[{"role":"developer","content":[{"type":"input_text","text":"brief."}]}]}"#,
            r#"{"model":"gpt-5","input":[]}"#,
        ],
        Format::AnthropicMessages => &[
            r#"{"system":"Be brief.","messages":[]}"#,
            r#"{"system":[{"type":"text","text":"Be"},{"type":"text","text":"brief."}],"messages":[]}"#,
            r#"{"messages":[]}"#,
        ],
        Format::Gemini => &[
            r#"{"systemInstruction":{"parts":[{"text":"Be brief."}]},"contents":[]}"#,
            r#"{"system_instruction":{"role":"user","parts":[{"text":"Be"},{"text":"brief."}]},"contents":[]}"#,
            r#"{"contents":[]}"#,
        ],
        Format::BedrockConverse => &[
            r#"{"system":[{"text":"Be brief."}],"messages":[]}"#,
            r#"{"system":[{"text":"Be"},{"text":"brief."}],"messages":[]}"#,
            r#"{"messages":[]}"#,
        ],
    }
}
