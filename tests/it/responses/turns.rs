//! Edits of the head, turn by turn, where the client sends its whole history.

use inkfast::prefix::item::Hints;
use serde_json::json;

use super::talk::*;

fn both(turn: &crate::harness::Turn) -> (String, String) {
    (turn.plan.received.to_string(), turn.plan.sent.to_string())
}

#[test]
fn edited_instructions_are_frozen_and_told_in_the_input() {
    let mut talk = Talk::new("gpt-5.5");
    talk.instructions = Some(prompt("plan"));
    let first = talk.user("q1").send(&[reasoning("rs_1"), assistant("a1")]);
    assert_eq!(first.out, first.request.body);
    talk.instructions = Some(prompt("act"));
    let edited = talk.user("q2").send(&[assistant("a2")]);
    assert_eq!(edited.plan.sent.to_string(), "extend/none");
    assert!(
        edited.plan.received.to_string().ends_with("@instructions"),
        "{:?}",
        both(&edited)
    );
    assert_eq!(out(&edited)["instructions"], prompt("plan"));
    assert_eq!(
        shape(&edited),
        ["user", "reasoning", "assistant", "developer", "user"]
    );
    assert!(text(&out(&edited)["input"][3]).contains("Mode: act"));
    // Back, and then nothing new.
    talk.instructions = Some(prompt("plan"));
    let back = talk.user("q3").send(&[assistant("a3")]);
    let kept = talk.user("q4").send(&[assistant("a4")]);
    assert_eq!(
        (back.plan.sent.to_string(), kept.plan.sent.to_string()),
        ("extend/none".into(), "extend/none".into())
    );
    assert_eq!((back.lowered.nodes.len(), kept.lowered.nodes.len()), (2, 2));
    let front =
        |turn: &crate::harness::Turn, items: usize| out(turn)["input"].as_array().unwrap()[..items].to_vec();
    assert_eq!(front(&kept, 8), front(&back, 8), "what was sent stands");
}

#[test]
fn instructions_that_come_and_go_are_edits() {
    let mut talk = Talk::new("gpt-5.5");
    talk.developer = Some(prompt("plan"));
    talk.user("q1").send(&[assistant("a1")]);
    talk.instructions = Some("Answer in one line.".into());
    let come = talk.user("q2").send(&[assistant("a2")]);
    assert_eq!(out(&come).get("instructions"), None);
    assert_eq!(
        shape(&come),
        ["developer", "user", "assistant", "developer", "user"]
    );
    assert_eq!(come.plan.sent.to_string(), "extend/none");

    let mut talk = Talk::new("gpt-5.5");
    (talk.instructions, talk.developer) = (Some("Answer in one line.".into()), Some(prompt("plan")));
    talk.user("q1").send(&[assistant("a1")]);
    (talk.instructions, talk.developer) = (None, Some(prompt("act")));
    let gone = talk.user("q2").send(&[assistant("a2")]);
    assert_eq!(out(&gone)["instructions"], "Answer in one line.");
    assert_eq!(text(&out(&gone)["input"][0]), prompt("plan"));
    assert_eq!(gone.plan.sent.to_string(), "extend/none");
    assert_eq!(gone.lowered.nodes.len(), 1);
}

#[test]
fn instructions_behind_the_input_pass_and_leading_items_are_frozen() {
    for model in ["gpt-6.2-astra", "of-tomorrow"] {
        let mut talk = Talk::new(model);
        (talk.instructions, talk.developer) = (Some(prompt("one")), Some(prompt("plan")));
        talk.user("q1").send(&[reasoning("rs_1"), assistant("a1")]);
        talk.instructions = Some(prompt("two"));
        let passed = talk.user("q2").send(&[assistant("a2")]);
        assert_eq!(passed.out, passed.request.body);
        assert_eq!(both(&passed), ("extend/none".into(), "extend/none".into()));
        talk.developer = Some(prompt("act"));
        let edited = talk.user("q3").send(&[assistant("a3")]);
        assert_eq!(out(&edited)["instructions"], prompt("two"));
        assert_eq!(text(&out(&edited)["input"][0]), prompt("plan"));
        assert_eq!(edited.plan.sent.to_string(), "extend/none");
    }
}

#[test]
fn a_model_that_reads_the_instructions_elsewhere_gets_the_clients_own_body() {
    for (before, after) in [("gpt-5.5", "gpt-6.2-astra"), ("gpt-6.2-astra", "gpt-5.5")] {
        let mut talk = Talk::new(before);
        talk.instructions = Some(prompt("plan"));
        talk.user("q1").send(&[assistant("a1")]);
        talk.model = after;
        let moved = talk.user("q2").send(&[assistant("a2")]);
        assert_eq!(moved.out, moved.request.body, "{after}");
        talk.instructions = Some(prompt("act"));
        let edited = talk.user("q3").send(&[assistant("a3")]);
        assert_eq!(edited.plan.sent.to_string(), "extend/none");
        assert_eq!(edited.lowered.nodes.len(), usize::from(after == "gpt-5.5"));
    }
}

#[test]
fn in_a_tool_loop_the_node_goes_behind_the_outputs() {
    let mut talk = Talk::new("gpt-5.5");
    talk.instructions = Some(prompt("plan"));
    talk.user("q1").send(&[reasoning("rs_1"), call("c1"), call("c2")]);
    talk.instructions = Some(prompt("act"));
    let body = talk.body();
    let half = talk.core.plan(&body, Hints::default()).unwrap().2;
    assert!(half.new_node.is_none(), "the model spoke without it");
    let edited = talk
        .item(output("c1"))
        .item(output("c2"))
        .send(&[reasoning("rs_2"), assistant("a1")]);
    let output_type = "function_call_output";
    assert_eq!(
        shape(&edited),
        [
            "user",
            "reasoning",
            "function_call",
            "function_call",
            output_type,
            output_type,
            "developer"
        ]
    );
    let next = talk.user("q2").send(&[assistant("a2")]);
    assert_eq!(shape(&next)[6..], ["developer", "reasoning", "assistant", "user"]);
    assert_eq!(next.plan.sent.to_string(), "extend/none");
}

#[test]
fn a_string_holds_no_message() {
    let mut talk = Talk::new("gpt-5.5");
    talk.instructions = Some(prompt("plan"));
    talk.more = json!({"input": "q1"});
    talk.send_held(&[assistant("a1")]);
    talk.instructions = Some(prompt("act"));
    talk.more = json!({"input": "q2 \u{e9}"});
    let edited = talk.send_held(&[assistant("a2")]);
    let body = out(&edited);
    assert_eq!(body["instructions"], prompt("plan"));
    let text = body["input"].as_str().unwrap();
    assert!(
        text.starts_with("<system-reminder>") && text.ends_with("\n\nq2 \u{e9}"),
        "{text}"
    );
    assert!(text.contains("Mode: act"));
}

#[test]
fn two_conversations_with_one_greeting_stay_apart() {
    let mut talk = Talk::new("gpt-5.5");
    talk.instructions = Some(prompt("plan"));
    talk.user("hi").send(&[assistant("Hello there, how can I help?")]);
    talk.items.clear();
    talk.instructions = Some("A wholly other prompt of another agent for other work.".into());
    let other = talk.user("hi").send(&[assistant("x")]);
    assert_eq!(
        (other.out, other.plan.parent.is_none()),
        (other.request.body, true)
    );
}

#[test]
fn a_marker_on_a_head_that_was_a_string_stands_on_a_text_of_the_input() {
    let mut talk = Talk::new("gpt-5.5");
    talk.developer = Some(prompt("plan"));
    talk.user("q1").send(&[assistant("a1")]);
    talk.developer = None;
    let marked = json!({"type": "message", "role": "developer", "content": [
        {"type": "input_text", "text": prompt("act"), "prompt_cache_breakpoint": {"type": "ephemeral"}}]});
    talk.items.insert(0, marked);
    let edited = talk.user("q2").send(&[assistant("a2")]);
    let head = &out(&edited)["input"][0]["content"][0];
    assert_eq!(
        (&head["type"], &head["text"]),
        (&json!("input_text"), &json!(prompt("plan")))
    );
    assert!(head["prompt_cache_breakpoint"].is_object());
}
