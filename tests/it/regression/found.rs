//! Bugs that random conversations found.

use super::*;

#[test]
fn twin_in_flight_goes_out_alike() {
    let mut core = openai();
    ask(&mut core, &chat(&[head("one")], &history(1)), "a1");
    let body = chat(&[head("two")], &history(3));
    let first = core.send(&body, Hints::default());
    let second = core.send(&body, Hints::default());
    assert_eq!(first.lowered.nodes.len(), 1);
    assert_eq!(first.out, second.out);
}

#[test]
fn held_item_keeps_no_marker() {
    let mut core = Core::new(Format::OpenaiChat, "localhost");
    let marked = |text: &str| format!(r#"{{"role":"user","content":[{}]}}"#, block(text, true));
    ask(&mut core, &chat(&[head("one")], &[user("q0")]), "a1");
    let second = ask(
        &mut core,
        &chat(&[head("two")], &[user("q0"), said("a1"), marked("q2")]),
        "a3",
    );
    let talk = [user("q0"), said("a1"), user("q2"), said("a3"), marked("q4")];
    let third = ask(&mut core, &chat(&[head("two")], &talk), "a5");
    let bare = messages(&second.out)[3].replace(r#","cache_control":{"type":"ephemeral"}"#, "");
    assert_eq!(messages(&third.out)[3], bare);
}

#[test]
fn answer_of_one_twin_is_not_put_behind_the_others_node() {
    let mut core = openai();
    ask(&mut core, &chat(&[head("one")], &history(1)), "a1");
    let bodies = ["two", "three"].map(|word| chat(&[head(word)], &history(3)));
    let turns = bodies.each_ref().map(|body| core.send(body, Hints::default()));
    core.end(turns[0].seq, &answer("of two"));
    core.end(turns[1].seq, &answer("of three"));
    let talk = [history(3), vec![said("of three"), user("on")]].concat();
    let next = ask(&mut core, &chat(&[head("two")], &talk), "a5");
    assert_extends(&turns[1], &next);
    assert_eq!(next.lowered.nodes.len(), 2);
}

#[test]
fn regenerated_answer_leaves_the_old_one_behind() {
    let mut core = openai();
    let body = chat(&[head("one")], &history(1));
    ask(&mut core, &body, "old");
    ask(&mut core, &body, "a1");
    let edited = ask(&mut core, &chat(&[head("two")], &history(3)), "a3");
    let back = ask(&mut core, &chat(&[head("one")], &history(5)), "a5");
    assert_extends(&edited, &back);
    assert_eq!(back.lowered.nodes.len(), 2);
}

#[test]
fn no_node_in_front_of_a_sent_message() {
    let mut core = Core::new(Format::AnthropicMessages, "gateway.example");
    ask(&mut core, &claude(&quoted(&head("one")), &history(1)), "a1");
    let talk = [history(3), vec![message("system", "Plan mode is on.")]].concat();
    ask(&mut core, &claude(&quoted(&head("one")), &talk), "a3");
    let again = ask(&mut core, &claude(&quoted(&head("two")), &talk), "b3");
    assert_eq!(again.plan.outcome, Outcome::PassedThrough);
    assert!(again.lowered.nodes.is_empty());
}

#[test]
fn white_space_is_no_other_head() {
    let mut core = openai();
    ask(&mut core, &chat(&[head("one")], &history(1)), "a1");
    let bodies = ["two", "three"].map(|word| chat(&[head(word)], &history(3)));
    let turns = bodies.each_ref().map(|body| core.send(body, Hints::default()));
    turns.iter().for_each(|turn| core.end(turn.seq, &answer("")));
    // Which of the twins was answered so is unknown; the head tells, with a blank at its end too.
    let next = ask(
        &mut core,
        &chat(&[format!("{}  ", head("two"))], &history(5)),
        "a5",
    );
    assert_extends(&turns[0], &next);
    assert_eq!(next.lowered.nodes.len(), 1);
}

#[test]
fn equal_answers_do_not_lead_back() {
    let mut core = openai();
    ask(&mut core, &chat(&[head("one")], &history(1)), "a1");
    let bodies = ["two", "three"].map(|word| chat(&[head(word)], &history(3)));
    let turns = bodies.each_ref().map(|body| core.send(body, Hints::default()));
    turns.iter().for_each(|turn| core.end(turn.seq, &answer("a3")));
    let on = ask(&mut core, &chat(&[head("three")], &history(5)), "a5");
    let back = ask(&mut core, &chat(&[head("two")], &history(7)), "a7");
    assert_extends(&on, &back);
}

#[test]
fn equal_greetings_do_not_lead_to_a_stranger_on_a_branch() {
    let mut core = openai();
    let own = |name: &str, word: &str| format!("{} You work for {name}.", head(word));
    let opener = [user("Hello!"), said("OK."), user("Do it.")];
    ask(&mut core, &chat(&[own("Ann", "one")], &opener[..1]), "OK.");
    ask(&mut core, &chat(&[own("Ann", "one")], &opener), "Done.");
    ask(&mut core, &chat(&[own("Bob", "one")], &opener[..1]), "OK.");
    let branch = [user("Hello!"), said("OK."), user("Do that.")];
    for word in ["one", "two"] {
        let turn = ask(&mut core, &chat(&[own("Ann", word)], &branch), "Done.");
        assert!(!String::from_utf8_lossy(&turn.out).contains("Bob"), "{word}");
    }
}

#[test]
fn equal_short_answers_are_no_evidence_of_a_strangers_conversation() {
    let own = |name: &str, word: &str| format!("{} You work for {name}.", head(word));
    for loopback in [true, false] {
        let mut core = openai();
        core.loopback = loopback;
        let opener = [user("Hello!"), said("OK."), user("Do it.")];
        ask(&mut core, &chat(&[own("Ann", "one")], &opener[..1]), "OK.");
        ask(&mut core, &chat(&[own("Bob", "one")], &opener[..1]), "OK.");
        ask(&mut core, &chat(&[own("Bob", "one")], &opener), "Done.");
        let other = [user("Hello!"), said("OK."), user("Do that.")];
        let body = chat(&[own("Ann", "two")], &other);
        assert_eq!(ask(&mut core, &body, "Done.").out, body);
    }
}

#[test]
fn a_question_alike_with_a_short_answer_is_no_evidence() {
    let mut core = openai();
    ask(
        &mut core,
        &chat(&[head("one")], &[user("Do part 17, please, carefully.")]),
        "OK.",
    );
    let other = [user("Do part 2, please, carefully."), said("OK."), user("Go on.")];
    for prompt in [
        Vec::new(),
        vec!["Write a poem on the weather of the day.".to_owned()],
    ] {
        let body = chat(&prompt, &other);
        assert_eq!(ask(&mut core, &body, "Done.").out, body);
    }
}

#[test]
fn a_node_that_moved_to_a_branchs_item_keeps_its_form_there() {
    let mut core = Core::new(Format::OpenaiChat, "localhost");
    let marked = |text: &str| format!(r#"{{"role":"user","content":[{}]}}"#, block(text, true));
    ask(&mut core, &chat(&[head("one")], &history(1)), "a1");
    ask(
        &mut core,
        &chat(&[head("two")], &[history(2), vec![marked("q2")]].concat()),
        "a3",
    );
    let branch = chat(&[head("two")], &[history(2), vec![marked("instead")]].concat());
    let branch = ask(&mut core, &branch, "b3");
    assert_eq!(branch.lowered.nodes.len(), 1);
    let talk = [history(2), vec![user("instead"), said("b3"), user("on")]].concat();
    let next = ask(&mut core, &chat(&[head("two")], &talk), "b5");
    let bare = messages(&branch.out)[3].replace(r#","cache_control":{"type":"ephemeral"}"#, "");
    assert_eq!(messages(&next.out)[3], bare);
}

/// A turn of two calls, their results (the first as `result`), and what was said since.
fn called(result: &str, since: &[String]) -> Vec<String> {
    let call = |id: &str| format!(r#"{{"type":"tool_use","id":"{id}","name":"shell","input":{{}}}}"#);
    let given =
        |id: &str, said: &str| format!(r#"{{"type":"tool_result","tool_use_id":"{id}","content":"{said}"}}"#);
    let calls = format!("[{},{}]", call("call_1"), call("call_2"));
    let results = format!("[{},{}]", given("call_1", result), given("call_2", "ok"));
    let mut talk = vec![
        user("q0"),
        format!(r#"{{"role":"assistant","content":{calls}}}"#),
        format!(r#"{{"role":"user","content":{results}}}"#),
    ];
    talk.extend_from_slice(since);
    talk
}

#[test]
fn a_pruned_history_goes_on_behind_the_answer_that_stands_in_it() {
    let mut core = anthropic();
    let (one, two) = (quoted(&head("one")), quoted(&head("two")));
    let calls = Answer {
        calls: vec!["call_1".to_owned(), "call_2".to_owned()],
        ..answer("")
    };
    core.exchange(&claude(&one, &called("", &[])[..1]), Hints::default(), &calls);
    // One answer to two heads.
    let bodies = [&one, &two].map(|head| claude(head, &called("a long result", &[])));
    let twins = bodies.each_ref().map(|body| core.send(body, Hints::default()));
    twins.iter().for_each(|turn| core.end(turn.seq, &answer("OK.")));
    assert_eq!(twins.each_ref().map(|turn| turn.lowered.nodes.len()), [0, 1]);
    // It goes on under the first; what comes then was written without the update.
    let mut since = vec![said("OK."), user("q1")];
    let long = "It was a long way. ".repeat(12);
    let on = ask(&mut core, &claude(&one, &called("a long result", &since)), &long);
    assert!(on.lowered.nodes.is_empty());
    since.extend([said(&long), user("q2")]);
    let pruned = ask(&mut core, &claude(&two, &called("[cleared]", &since)), "Done.");
    assert_eq!(pruned.plan.parent.as_ref().map(|parent| parent.seq), Some(on.seq));
    let places = pruned.lowered.nodes.iter().map(|node| node.position as usize);
    assert_eq!(places.collect::<Vec<_>>(), [pruned.request.history.len()]);
}

#[test]
fn a_pruned_history_goes_on_with_the_farthest_request_though_its_answer_was_not_seen() {
    let mut core = Core::new(Format::OpenaiChat, "localhost");
    let call = |id: &str| {
        let function = r#"{"name":"shell","arguments":"{}"}"#;
        let call = format!(r#"{{"id":"{id}","type":"function","function":{function}}}"#);
        format!(r#"{{"role":"assistant","content":null,"tool_calls":[{call}]}}"#)
    };
    let result =
        |id: &str, text: &str| format!(r#"{{"role":"tool","tool_call_id":"{id}","content":"{text}"}}"#);
    let called = |id: &str| Answer {
        calls: vec![id.to_owned()],
        ..answer("")
    };
    let mut talk = vec![user("q0")];
    core.exchange(&chat(&[head("one")], &talk), Hints::default(), &called("c1"));
    talk.extend([call("c1"), result("c1", "a long result")]);
    ask(&mut core, &chat(&[head("one")], &talk), "a1");
    talk.extend([said("a1"), user("q1")]);
    let update = ask(&mut core, &chat(&[head("two")], &talk), "a2");
    assert_eq!(update.lowered.nodes.len(), 1);
    talk.extend([said("a2"), user("q2")]);
    // The process dies over this one.
    core.send(&chat(&[head("two")], &talk), Hints::default());
    talk.extend([call("c2"), result("c2", "ok")]);
    // No place in a tool loop: from here on without the update, under the client's own head.
    let passed = ask(&mut core, &chat(&[head("three")], &talk), "a3");
    assert_eq!(passed.plan.outcome, Outcome::PassedThrough);
    talk.extend([said("a3"), user("q3")]);
    let unseen = ask(&mut core, &chat(&[head("three")], &talk), "");
    talk.extend([said("a4"), user("q4")]);
    talk[2] = result("c1", "[cleared]");
    let pruned = ask(&mut core, &chat(&[head("three")], &talk), "a5");
    assert_eq!(
        pruned.plan.parent.as_ref().map(|parent| parent.seq),
        Some(unseen.seq)
    );
    assert!(pruned.lowered.nodes.is_empty());
}

#[test]
fn a_retry_behind_a_compaction_goes_out_as_it_went_out() {
    let mut core = anthropic();
    let (one, two) = (quoted(&head("one")), quoted(&head("two")));
    ask(&mut core, &claude(&one, &history(5)), "a5");
    let mut talk = vec![
        user("Summary of what was said."),
        user("q4"),
        said("a5"),
        user("q6"),
    ];
    // The process dies over this one.
    core.send(&claude(&one, &talk), Hints::default());
    talk.extend([said("a7"), user("q8")]);
    let body = claude(&two, &talk);
    let first = ask(&mut core, &body, "a9");
    assert_eq!(first.lowered.nodes.len(), 1);
    assert_eq!(ask(&mut core, &body, "b9").out, first.out);
}

#[test]
fn an_equal_answer_to_another_question_takes_no_update_off() {
    let mut core = anthropic();
    let (one, two) = (quoted(&head("one")), quoted(&head("two")));
    let talk = |question: &str| vec![user("q1"), said("Done."), user(question)];
    ask(&mut core, &claude(&one, &talk("")[..1]), "Done.");
    // What it was answered was not seen.
    let update = ask(&mut core, &claude(&two, &talk("q2")), "");
    assert_eq!(update.lowered.nodes.len(), 1);
    let other = ask(&mut core, &claude(&one, &talk("And then?")), "Yes.");
    assert!(other.lowered.nodes.is_empty());
    let on = [talk("q2"), vec![said("Yes."), user("q3")]].concat();
    let on = ask(&mut core, &claude(&two, &on), "Well.");
    assert_extends(&update, &on);
    assert_eq!(on.lowered.nodes.len(), 1);
}

#[test]
fn a_message_is_one_item_however_it_is_written() {
    let forms = [
        r#""Hello!""#,
        r#"[{"role":"user","content":"Hello!"}]"#,
        r#"[{"type":"message","role":"user","content":"Hello!"}]"#,
        r#"[{"role":"user","content":[{"type":"input_text","text":"Hello!"}]}]"#,
        r#"[{"type":"message","role":"user","content":[{"type":"input_text","text":"Hello!"}]}]"#,
        r#"[{"role":"user","type":"message","content":"Hello!"}]"#,
        r#"[{"role":"user","content":"Hello!","type":"message"}]"#,
    ];
    let body = |input: &str| {
        let head = head("one");
        Bytes::from(format!(
            r#"{{"model":"gpt-5.5","instructions":"{head}","input":{input}}}"#
        ))
    };
    for first in forms {
        for second in &forms[1..] {
            let mut core = Core::new(Format::OpenaiResponses, "api.openai.com");
            ask(&mut core, &body(first), "Hi.");
            let item = second.strip_suffix(']').unwrap();
            let since = r#"{"role":"assistant","content":"Hi."},{"role":"user","content":"Go on."}"#;
            let next = ask(&mut core, &body(&format!("{item},{since}]")), "Done.");
            let verdict = next.plan.received;
            assert_eq!(
                (next.plan.shared, verdict.to_string().as_str()),
                (1, "extend/none"),
                "{first} {second}"
            );
        }
    }
}

#[test]
fn examples_that_a_branch_brought_are_no_evidence_of_a_strangers_conversation() {
    let own = |name: &str| chat_of(name, &[&examples()[..], &[user("Go on.")]].concat());
    for (again, went_on) in [(false, false), (true, false), (false, true)] {
        let mut core = openai();
        for _ in 0..=usize::from(again) {
            ask(&mut core, &chat_of("Ann", &examples()[..3]), "azure");
        }
        if went_on {
            let talk = [&examples()[..3], &[said("azure"), user("Thanks.")]].concat();
            ask(&mut core, &chat_of("Ann", &talk), "Welcome.");
        }
        ask(&mut core, &own("Ann"), "Done.");
        assert_eq!(
            ask(&mut core, &own("Bob"), "Done.").out,
            own("Bob"),
            "{again} {went_on}"
        );
    }
}

#[test]
fn an_equal_chat_that_was_answered_otherwise_does_not_carry_a_chat_on() {
    let mut core = openai();
    core.loopback = false;
    let long = "Blue is the colour of a clear sky at noon. ".repeat(6);
    let first = ask(&mut core, &chat_of("Ann", &examples()[..3]), &long);
    let other = [&examples()[..], &[user("Go on.")]].concat();
    ask(&mut core, &chat_of("Ann", &other), "Done.");
    let talk = [&examples()[..3], &[said(&long), user("Go on.")]].concat();
    let next = ask(&mut core, &chat_of("Ann", &talk), "Done.");
    assert_eq!(next.plan.parent.map(|parent| parent.seq), Some(first.seq));
}

#[test]
fn a_retry_of_a_chat_that_failed_is_not_an_equal_chat_under_another_role() {
    let mut core = openai();
    core.loopback = false;
    let body = chat_of("Ann", &history(1));
    let overloaded = Answer {
        status: 529,
        ..answer("")
    };
    let failed = core.exchange(&body, Hints::default(), &overloaded);
    let text = String::from_utf8(body.to_vec()).unwrap();
    let other = Bytes::from(text.replacen(r#""role":"system""#, r#""role":"developer""#, 1));
    assert_ne!(other, body);
    ask(&mut core, &other, "a1");
    let again = ask(&mut core, &body, "a1");
    assert_eq!(again.out, failed.out);
}
