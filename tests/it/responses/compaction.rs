//! Summaries: asked for by an endpoint of their own or by a last item, and what comes after them.

use inkfast::prefix::{Class, Outcome};
use serde_json::json;

use super::talk::*;

fn summary() -> serde_json::Value {
    json!({"type": "compaction", "id": "cmp_1", "encrypted_content": "gAAAA"})
}

/// Three turns, the head edited in the second.
fn edited() -> Talk {
    let mut talk = Talk::new("gpt-5.5");
    talk.instructions = Some(prompt("plan"));
    talk.user("q1").send(&[assistant("a1")]);
    talk.instructions = Some(prompt("act"));
    talk.user("q2").send(&[assistant("a2")]);
    talk.user("q3").send(&[assistant("a3")]);
    talk
}

#[test]
fn a_trigger_stays_last() {
    let mut talk = edited();
    let kept = talk.item(json!({"type": "compaction_trigger"})).send(&[]);
    assert_eq!(kept.plan.sent.to_string(), "extend/none");
    assert_eq!(kept.lowered.nodes.len(), 1);

    let mut talk = edited();
    talk.instructions = Some(prompt("review"));
    let asked = talk.item(json!({"type": "compaction_trigger"})).send(&[]);
    let shape = shape(&asked);
    assert_eq!(
        shape[shape.len() - 3..],
        ["assistant", "developer", "compaction_trigger"]
    );
    assert_eq!(asked.plan.sent.to_string(), "extend/none");
    // The summary never came: the client goes on as if it had not asked.
    talk.items.pop();
    let on = talk.user("q4").send(&[assistant("a4")]);
    assert_eq!(on.plan.sent.class, Class::Extend, "{}", on.plan.sent);
}

#[test]
fn a_trigger_behind_what_is_held_stays_last() {
    let mut talk = Talk::new("gpt-5.5");
    talk.instructions = Some(prompt("plan"));
    talk.user("q1").send_held(&[assistant("a1")]);
    talk.instructions = Some(prompt("act"));
    let asked = talk.item(json!({"type": "compaction_trigger"})).send_held(&[]);
    assert_eq!(shape(&asked), ["developer", "compaction_trigger"]);
}

/// What `/responses/compact` returns: the user's messages and a summary. Its developer messages are gone.
#[test]
fn after_a_summary_the_clients_own_head_is_in_force() {
    for (mode, users) in [("act", 3), ("review", 3), ("act", 1)] {
        let mut talk = edited();
        talk.items = (1..=users).map(|turn| user(&format!("q{turn}"))).collect();
        talk.items.push(summary());
        talk.instructions = Some(prompt(mode));
        let after = talk.user("q4").send(&[assistant("a4")]);
        assert_eq!(
            after.plan.received.class,
            Class::Compaction,
            "{}",
            after.plan.received
        );
        assert_eq!(
            (after.plan.outcome, after.lowered.nodes.len()),
            (Outcome::Adopted, 0)
        );
        assert_eq!(
            after.out, after.request.body,
            "the head that the client asks for is the one in front"
        );
        let next = talk.user("q5").send(&[assistant("a5")]);
        assert_eq!(
            (next.out, next.plan.sent.to_string()),
            (next.request.body, "extend/none".into())
        );
    }
}

#[test]
fn a_summary_among_all_items_is_an_item_like_others() {
    let mut talk = edited();
    talk.item(summary()).item(assistant("a3b"));
    let after = talk.user("q4").send(&[assistant("a4")]);
    assert_eq!(after.plan.sent.to_string(), "extend/none");
    assert_eq!(after.lowered.nodes.len(), 1);
}
