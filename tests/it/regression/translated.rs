//! Bugs that the cases and sequences in other formats found.

use super::*;

/// What an agent of Messages keeps of a past turn: with the thinking in front of its call, or without.
fn past_turn(thinking: bool) -> Vec<String> {
    let call = r#"{"type":"tool_use","id":"call_1","name":"read","input":{"path":"a"}}"#;
    let thought = r#"{"type":"thinking","thinking":"The file first.","signature":"c2ln"},"#;
    let thought = if thinking { thought } else { "" };
    vec![
        user("What is in it?"),
        format!(r#"{{"role":"assistant","content":[{thought}{call}]}}"#),
        r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"call_1","content":"text"}]}"#
            .to_owned(),
    ]
}

#[test]
fn thinking_left_out_of_past_turns_is_no_compaction() {
    for word in ["one", "two"] {
        let mut core = Core::new(Format::AnthropicMessages, "gateway.example");
        let called = Answer {
            calls: vec!["call_1".to_owned()],
            ..answer("")
        };
        let first = claude(&quoted(&head("one")), &past_turn(true)[..1]);
        core.exchange(&first, Hints::default(), &called);
        ask(
            &mut core,
            &claude(&quoted(&head("one")), &past_turn(true)),
            "Plain text.",
        );
        let talk = [past_turn(false), vec![said("Plain text."), user("And now?")]].concat();
        let third = ask(&mut core, &claude(&quoted(&head(word)), &talk), "Nothing.");
        // The frozen head stays, and an edit of it is a node, not a head of a compacted history.
        assert_eq!(third.plan.received.class, Class::Rewrite, "{word}");
        assert_eq!(third.lowered.nodes.len(), usize::from(word == "two"));
        assert!(String::from_utf8_lossy(&third.out).contains(&head("one")));
    }
}
