//! The traps that are known by name.

use hyper::HeaderMap;
use hyper::header::AUTHORIZATION;
use inkfast::proxy::tenant::Tenants;

use super::*;

#[test]
fn edit_on_second_turn() {
    let mut core = openai();
    let first = ask(&mut core, &chat(&[head("one")], &history(1)), "a1");
    let second = ask(&mut core, &chat(&[head("two")], &history(3)), "a3");
    assert_eq!(second.lowered.nodes.len(), 1);
    assert_extends(&first, &second);
    let sent = messages(&second.out);
    assert_eq!(sent[1..3], history(2));
    assert_eq!(sent[4], user("q2"), "the node stands before the new turn");
    assert_eq!(sent[3].as_bytes(), second.lowered.nodes[0].bytes);
}

#[test]
fn jan_first_system_content() {
    let mut core = openai();
    let words = ["one", "two", "two", "two", "one", "one"];
    let mut last: Option<Turn> = None;
    for (index, word) in words.iter().enumerate() {
        let length = 2 * index + 1;
        let turn = ask(
            &mut core,
            &chat(&[head(word)], &history(length)),
            &format!("a{length}"),
        );
        assert_eq!(
            turn.lowered.nodes.len(),
            [0, 1, 1, 1, 2, 2][index],
            "request {index}"
        );
        if let Some(last) = &last {
            assert_extends(last, &turn);
        }
        last = Some(turn);
    }
}

#[test]
fn panto_first_k() {
    let mut core = openai();
    let blocks = |word: &str| vec![head(word), format!("Skill: {word}.")];
    ask(&mut core, &chat(&blocks("one"), &history(1)), "a1");
    let edited = ask(&mut core, &chat(&blocks("two"), &history(3)), "a3");
    core.reopen();
    let resumed = ask(&mut core, &chat(&blocks("two"), &history(5)), "a5");
    assert!(resumed.plan.new_node.is_none());
    assert_extends(&edited, &resumed);
    let again = ask(&mut core, &chat(&blocks("two"), &history(7)), "a7");
    assert_eq!(again.lowered.nodes.len(), 1);
    assert_extends(&resumed, &again);
}

#[test]
fn summary_is_not_prompt_edit() {
    let mut core = openai();
    for length in [1, 3, 5] {
        ask(
            &mut core,
            &chat(&[head("one")], &history(length)),
            &format!("a{length}"),
        );
    }
    let kept = [user("q4"), said("a5"), user("next")];
    let body = chat(
        &[head("one"), "Summary of the talk: all went well.".into()],
        &kept,
    );
    let turn = ask(&mut core, &body, "fine");
    assert_eq!(turn.out, body);
    assert!(turn.lowered.nodes.is_empty());
}

#[test]
fn stored_node_followed_by_user() {
    let mut core = anthropic();
    ask(&mut core, &claude(&quoted(&head("one")), &history(1)), "a1");
    let second = ask(&mut core, &claude(&quoted(&head("two")), &history(3)), "a3");
    assert!(messages(&second.out)[3].contains(r#""role":"system""#));
    // The answer is dropped and the user goes on: the node may not stand before a user's message.
    let interrupted = [history(3), vec![user("and this")]].concat();
    let third = ask(&mut core, &claude(&quoted(&head("two")), &interrupted), "a4");
    let sent = messages(&third.out);
    assert_eq!(sent[..4], interrupted);
    assert_eq!(sent.len(), 5);
    assert!(sent[4].contains(r#""role":"system""#));
}

#[test]
fn sibling_branch_sent_without_node() {
    let mut core = openai();
    ask(&mut core, &chat(&[head("one")], &history(1)), "a1");
    ask(&mut core, &chat(&[head("two")], &history(3)), "a3");
    let mut branch = [history(2), vec![user("instead")]].concat();
    let without = chat(&[head("one")], &branch);
    assert_eq!(ask(&mut core, &without, "b3").out, without);
    branch.extend([said("b3"), user("go on")]);
    let on = chat(&[head("one")], &branch);
    let on = ask(&mut core, &on, "b5");
    assert!(on.lowered.nodes.is_empty());
    branch.extend([said("b5"), user("more")]);
    let edited = ask(&mut core, &chat(&[head("two")], &branch), "b7");
    assert_extends(&on, &edited);
}

#[test]
fn cache_control_moved_is_not_drift() {
    let mut core = Core::new(Format::AnthropicMessages, "gateway.example");
    let system = format!("[{}]", block(&head("one"), true));
    let turn = |text: &str, marker| format!(r#"{{"role":"user","content":[{}]}}"#, block(text, marker));
    ask(&mut core, &claude(&system, &[turn("q0", true)]), "a1");
    let body = claude(&system, &[turn("q0", false), said("a1"), turn("q2", true)]);
    let moved = ask(&mut core, &body, "a3");
    assert_eq!(
        (moved.plan.sent.class, moved.plan.received.class),
        (Class::Extend, Class::Extend)
    );
    assert_eq!(moved.out.as_ptr(), body.as_ptr());
}

#[test]
fn session_header_shared_by_subagents() {
    let mut core = openai();
    let hints = session("s");
    let send = |core: &mut Core, head: &str, history: &[String], text: &str| {
        core.exchange(&chat(&[head.to_owned()], history), hints.clone(), &answer(text))
    };
    let agents = [
        "Search the files and list what you find.",
        "Write a poem on the weather of the day.",
    ];
    for agent in agents {
        send(&mut core, agent, &[user("start")], "begun");
    }
    send(&mut core, &head("one"), &history(1), "a1");
    for agent in agents {
        let turn = send(
            &mut core,
            agent,
            &[user("start"), said("begun"), user("on")],
            "done",
        );
        assert!(turn.lowered.nodes.is_empty());
        assert!(messages(&turn.out)[0].contains(agent));
        assert_eq!(turn.plan.sent.class, Class::Extend);
    }
    let edited = send(&mut core, &head("two"), &history(3), "a3");
    assert!(messages(&edited.out)[0].contains("is one"));
}

#[test]
fn two_prompts_one_script() {
    let mut core = openai();
    for length in [1, 3, 5, 7] {
        for word in ["one", "two"] {
            let body = chat(&[head(word)], &history(length));
            let turn = ask(&mut core, &body, &format!("a{length}"));
            assert_eq!(turn.out, body, "{word} at {length}");
        }
    }
}

#[test]
fn head_seen_in_another_conversation() {
    let mut core = openai();
    ask(&mut core, &chat(&[head("two")], &history(1)), "another answer");
    let first = ask(&mut core, &chat(&[head("one")], &history(1)), "a1");
    let second = ask(&mut core, &chat(&[head("two")], &history(3)), "a3");
    assert_eq!(
        second.plan.parent.as_ref().map(|parent| parent.seq),
        Some(first.seq)
    );
    assert_extends(&first, &second);
}

#[test]
fn greeting_is_no_evidence() {
    let mut core = openai();
    core.loopback = false;
    let own = |name: &str, word: &str| format!("{} You work for {name}.", head(word));
    for name in ["Ann", "Bob"] {
        let body = chat(&[own(name, "one")], &[user("Hello!")]);
        assert_eq!(ask(&mut core, &body, "Hello, how can I help?").out, body);
    }
    let next = [
        user("Hello!"),
        said("Hello, how can I help?"),
        user("What is new?"),
    ];
    for name in ["Ann", "Bob"] {
        let turn = ask(&mut core, &chat(&[own(name, "two")], &next), "Nothing.");
        let stranger = if name == "Ann" { "Bob" } else { "Ann" };
        let out = String::from_utf8(turn.out.to_vec()).unwrap();
        assert!(out.contains(name) && !out.contains(stranger), "{out}");
    }
}

#[test]
fn token_refresh_keeps_nodes() {
    // Claims {"iss":"i","sub":"ann"} or {"sub":"bob"}, with another time of expiry in each token.
    let tenants = Tenants::many([7; 32]);
    let tenant = |claims: &str| {
        let token = format!("Bearer eyJhbGciOiJub25lIn0.{claims}.c2lnbmVk");
        tenants.of(
            &HeaderMap::from_iter([(AUTHORIZATION, token.parse().unwrap())]),
            None,
        )
    };
    let ann = "eyJpc3MiOiJpIiwic3ViIjoiYW5uIiwiZXhwIjoxfQ";
    let ann_refreshed = "eyJpc3MiOiJpIiwic3ViIjoiYW5uIiwiZXhwIjoyfQ";
    let bob = "eyJpc3MiOiJpIiwic3ViIjoiYm9iIiwiZXhwIjoxfQ";
    let mut core = openai();
    core.loopback = false;
    let answers = ["a1 is long. ".repeat(20), "a3 is long. ".repeat(20)];
    let history = [
        user("q0"),
        said(&answers[0]),
        user("q2"),
        said(&answers[1]),
        user("q4"),
    ];
    core.scope = Scope::new("api.openai.com", "openai_chat", tenant(ann));
    ask(&mut core, &chat(&[head("one")], &history[..1]), &answers[0]);
    let second = ask(&mut core, &chat(&[head("two")], &history[..3]), &answers[1]);
    // Another token of the same subject, then a stranger's.
    core.scope = Scope::new("api.openai.com", "openai_chat", tenant(ann_refreshed));
    let third = ask(&mut core, &chat(&[head("two")], &history), "a5");
    assert_eq!(third.lowered.nodes.len(), 1);
    assert_extends(&second, &third);
    core.scope = Scope::new("api.openai.com", "openai_chat", tenant(bob));
    let body = chat(&[head("two")], &history);
    assert_eq!(ask(&mut core, &body, "a5").out, body);
}

#[test]
fn string_or_one_block() {
    let mut core = Core::new(Format::OpenaiChat, "localhost");
    ask(&mut core, &chat(&[head("one")], &history(1)), "a1");
    let second = ask(&mut core, &chat(&[head("two")], &history(3)), "a3");
    let mut blocks = history(5);
    for index in [0, 2] {
        blocks[index] = format!(
            r#"{{"role":"user","content":[{}]}}"#,
            block(&format!("q{index}"), false)
        );
    }
    let third = ask(&mut core, &chat(&[head("two")], &blocks), "a5");
    assert_eq!(third.plan.sent.class, Class::Extend);
    let (before, after) = (messages(&second.out), messages(&third.out));
    assert_eq!(
        after[3], before[3],
        "the message that holds the node goes out as it went out"
    );
    assert_eq!(after[1], blocks[0], "any other as the client writes it");
}

#[test]
fn five_markers_never() {
    let mut core = anthropic();
    let turn = |text: &str, marker| format!(r#"{{"role":"user","content":[{}]}}"#, block(text, marker));
    let system = |words: &[&str], marked: bool| {
        let blocks: Vec<_> = words.iter().map(|word| block(&head(word), marked)).collect();
        format!("[{}]", blocks.join(","))
    };
    ask(
        &mut core,
        &claude(&system(&["one", "two", "three"], true), &[turn("q0", true)]),
        "a1",
    );
    let bodies = [
        claude(
            &system(&["one", "two"], true),
            &[turn("q0", true), said("a1"), turn("q2", true)],
        ),
        claude(
            &system(&["four"], true),
            &[
                turn("q0", true),
                said("a1"),
                turn("q2", true),
                said("a3"),
                turn("q4", true),
            ],
        ),
    ];
    for (body, text) in bodies.iter().zip(["a3", "a5"]) {
        let turn = ask(&mut core, body, text);
        let count = |bytes: &Bytes| String::from_utf8_lossy(bytes).matches("cache_control").count();
        assert!(count(&turn.out) <= count(body), "{:?}", turn.out);
        assert!(!turn.lowered.nodes.is_empty());
    }
}

#[test]
fn attribution_block_is_this_requests() {
    let mut core = anthropic();
    let system = |number: u32, word: &str| {
        let attribution = block(&format!("x-anthropic-billing-header: cch={number};"), false);
        format!("[{attribution},{}]", block(&head(word), true))
    };
    ask(&mut core, &claude(&system(1, "one"), &history(1)), "a1");
    let same = claude(&system(2, "one"), &history(3));
    let turn = ask(&mut core, &same, "a3");
    assert_eq!((turn.out, turn.plan.sent.class), (same, Class::Extend));
    let edited = ask(&mut core, &claude(&system(3, "two"), &history(5)), "a5");
    let out = String::from_utf8(edited.out.to_vec()).unwrap();
    assert!(
        out.contains(&format!(r#""system":{}"#, system(3, "one"))),
        "{out}"
    );
}

#[test]
fn client_mid_system_survives_full_update() {
    let mut core = openai();
    core.text = Some(inkfast::prefix::policy::TextMode::Full);
    let own = message("system", "Plan mode is on.");
    let mut talk = vec![user("q0"), said("a1"), own.clone(), user("q2")];
    ask(&mut core, &chat(&[head("one")], &talk[..1]), "a1");
    ask(&mut core, &chat(&[head("one")], &talk), "a3");
    talk.extend([said("a3"), user("q4")]);
    let edited = ask(&mut core, &chat(&[head("two")], &talk), "a5");
    let sent = messages(&edited.out);
    assert_eq!(sent[3], own);
    let node = &edited.lowered.nodes[0];
    assert_eq!(node.rendering, Rendering::Full);
    assert!(
        String::from_utf8_lossy(&node.bytes).contains("Other system and developer messages stay in force.")
    );
}
