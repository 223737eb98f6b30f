//! Conversations that the provider holds: the client sends what is new and names the last response.

use inkfast::prefix::Outcome;
use inkfast::prefix::item::Hints;
use serde_json::json;

use super::talk::*;
use crate::harness::Turn;

fn on_both(test: impl Fn(Talk)) {
    test(Talk::new("gpt-5.5"));
    test(Talk::new("gpt-5.5").on_disk());
}

fn verdicts(turn: &Turn) -> (String, String) {
    (turn.plan.received.to_string(), turn.plan.sent.to_string())
}

fn extends(turn: &Turn) -> bool {
    turn.plan.sent.to_string() == "extend/none"
}

#[test]
fn an_edit_goes_into_the_new_items_only() {
    on_both(|mut talk| {
        (talk.instructions, talk.developer) = (Some(prompt("plan")), Some("Be brief.".into()));
        let first = talk.user("q1").send_held(&[assistant("a1")]);
        let second = talk.user("q2").send_held(&[assistant("a2")]);
        assert_eq!(second.out, second.request.body);
        assert_eq!(verdicts(&second), ("extend/none".into(), "extend/none".into()));
        assert_eq!(second.plan.parent.as_ref().map(|path| path.seq), Some(first.seq));

        talk.core.reopen();
        talk.instructions = Some(prompt("act"));
        let edited = talk.user("q3").send_held(&[assistant("a3")]);
        assert_eq!(out(&edited)["instructions"], prompt("plan"));
        assert_eq!(shape(&edited), ["developer", "user"]);
        assert!(text(&out(&edited)["input"][0]).contains("Mode: act"));
        assert!(extends(&edited), "{:?}", verdicts(&edited));

        let kept = talk.user("q4").send_held(&[assistant("a4")]);
        assert_eq!(
            (out(&kept)["instructions"].clone(), shape(&kept)),
            (json!(prompt("plan")), vec!["user".to_owned()])
        );
        assert!(extends(&kept) && kept.lowered.nodes.len() == 1);

        talk.core.reopen();
        talk.instructions = Some(prompt("plan"));
        let back = talk.user("q5").send_held(&[assistant("a5")]);
        assert_eq!(shape(&back), ["developer", "user"]);
        assert!(extends(&back) && back.lowered.nodes.len() == 2);
    });
}

#[test]
fn a_tool_loop_takes_the_edit_behind_its_outputs() {
    on_both(|mut talk| {
        talk.instructions = Some(prompt("plan"));
        talk.user("q1").send_held(&[call("c1")]);
        talk.instructions = Some(prompt("act"));
        let edited = talk.item(output("c1")).send_held(&[assistant("a1")]);
        assert_eq!(shape(&edited), ["function_call_output", "developer"]);
        let next = talk.user("q2").send_held(&[assistant("a2")]);
        assert_eq!(shape(&next), ["user"]);
        assert!(extends(&next));
    });
}

#[test]
fn a_retry_goes_out_as_it_went_out() {
    on_both(|mut talk| {
        talk.instructions = Some(prompt("plan"));
        talk.user("q1").send_held(&[assistant("a1")]);
        talk.instructions = Some(prompt("act"));
        talk.user("q2");
        let body = talk.body();
        let once = talk.core.send(&body, Hints::default());
        let twice = talk.core.send(&body, Hints::default());
        assert_eq!(once.out, twice.out);
        let answer = crate::harness::Answer {
            status: 200,
            text: "a2".into(),
            calls: Vec::new(),
        };
        talk.core.end(once.seq, &answer);
        let again = talk.core.send(&body, Hints::default());
        assert_eq!((again.out, again.guard), (once.out, Ok(())));
    });
}

#[test]
fn a_response_may_be_gone_on_from_twice() {
    on_both(|mut talk| {
        talk.instructions = Some(prompt("plan"));
        talk.user("q1").send_held(&[assistant("a1")]);
        let fork = talk.held.clone();
        talk.instructions = Some(prompt("act"));
        talk.user("q2").send_held(&[assistant("a2")]);
        talk.user("q3").send_held(&[assistant("a3")]);
        talk.held = fork;
        let other = talk.user("another q2").send_held(&[assistant("b2")]);
        assert_eq!(
            shape(&other),
            ["developer", "user"],
            "this branch was not told yet"
        );
        assert_eq!((other.plan.shared, other.lowered.nodes.len()), (1, 1));
    });
}

#[test]
fn behind_an_unknown_response_the_head_is_a_baseline() {
    on_both(|mut talk| {
        talk.instructions = Some(prompt("plan"));
        // Another conversation with the same words, which must not be taken for this one.
        talk.user("yes").send(&[assistant("a")]);
        talk.items.clear();
        talk.held = Some("resp_of_another_day".into());
        let first = talk.user("yes").send_held(&[assistant("a1")]);
        assert_eq!(
            (&first.out, first.plan.parent.is_none()),
            (&first.request.body, true)
        );
        talk.instructions = Some(prompt("act"));
        let edited = talk.user("go on").send_held(&[assistant("a2")]);
        assert_eq!(shape(&edited), ["developer", "user"]);
        assert!(extends(&edited));
    });
}

#[test]
fn nodes_that_are_held_are_never_folded_away() {
    on_both(|mut talk| {
        talk.instructions = Some(prompt("plan"));
        talk.more = json!({"tools": [{"type": "function", "name": "read", "parameters": {}}]});
        talk.user("q1").send_held(&[assistant("a1")]);
        talk.instructions = Some(prompt("act"));
        talk.user("q2").send_held(&[assistant("a2")]);
        // Elsewhere a changed tool folds the prompt: here the held node would go on saying what it says.
        talk.more = json!({"tools": []});
        talk.instructions = Some(prompt("review"));
        let edited = talk.user("q3").send_held(&[assistant("a3")]);
        assert_eq!(out(&edited)["instructions"], prompt("plan"));
        assert_eq!(shape(&edited), ["developer", "user"]);
        // Nowhere to put it: it waits.
        talk.instructions = Some(prompt("ship"));
        let waits = talk.send_held(&[assistant("a4")]);
        assert_eq!(
            (waits.plan.outcome, out(&waits)["instructions"].clone()),
            (Outcome::Deferred, json!(prompt("plan")))
        );
        let told = talk.user("q5").send_held(&[assistant("a5")]);
        assert!(text(&out(&told)["input"][0]).contains("Mode: ship"));
    });
}

#[test]
fn without_held_nodes_an_edit_that_has_no_place_passes() {
    on_both(|mut talk| {
        talk.instructions = Some(prompt("plan"));
        talk.user("q1").send_held(&[assistant("a1")]);
        talk.instructions = Some(prompt("act"));
        let passed = talk.send_held(&[assistant("a2")]);
        assert_eq!(
            (passed.out, passed.plan.outcome),
            (passed.request.body, Outcome::PassedThrough)
        );
    });
}

/// Four turns that the provider held, the head edited in the second, then all of it in one body.
#[test]
fn what_was_held_is_sent_in_full_after_all() {
    on_both(|mut talk| {
        talk.instructions = Some(prompt("plan"));
        let turns = [
            (user("q1"), vec![reasoning("rs_1"), call("c1")]),
            (output("c1"), vec![reasoning("rs_2"), assistant("a1")]),
            (user("q2"), vec![assistant("a2")]),
            (user("q3"), vec![reasoning("rs_3"), assistant("a3")]),
            (user("q4"), vec![assistant("a4")]),
            (user("q5"), vec![assistant("a5")]),
        ];
        for (number, (asked, answer)) in turns.iter().enumerate() {
            let mode = if number < 2 { "plan" } else { "act" };
            talk.instructions = Some(prompt(mode));
            talk.item(asked.clone()).send_held(answer);
        }
        talk.held = None;
        for (asked, answer) in turns {
            talk.items.push(asked);
            talk.items.extend(answer);
        }
        talk.core.reopen();
        let whole = talk.user("q6").send(&[assistant("a6")]);
        assert_eq!(verdicts(&whole), ("extend/none".into(), "extend/none".into()));
        assert_eq!(out(&whole)["instructions"], prompt("plan"));
        assert_eq!(shape(&whole)[5..8], ["assistant", "developer", "user"]);
        assert_eq!(whole.lowered.nodes.len(), 1);
        let next = talk.user("q7").send(&[assistant("a7")]);
        assert_eq!(verdicts(&next), ("extend/none".into(), "extend/none".into()));
        assert_eq!(shape(&next)[..8], shape(&whole)[..8]);
    });
}

#[test]
fn what_was_held_is_not_taken_for_another_answer() {
    on_both(|mut talk| {
        talk.instructions = Some(prompt("plan"));
        talk.user("q1").send_held(&[assistant("a1")]);
        talk.instructions = Some(prompt("act"));
        talk.user("q2").send_held(&[assistant("a2")]);
        talk.held = None;
        talk.items = vec![user("q1"), assistant("another answer"), user("q2")];
        talk.instructions = Some("The prompt of another agent for other work.".into());
        let other = talk.send(&[assistant("b2")]);
        assert_eq!(
            (other.plan.parent.is_none(), other.out),
            (true, other.request.body)
        );
    });
}
