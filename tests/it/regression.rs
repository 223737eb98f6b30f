//! One test per trap that is known by name, and per bug that was found: bytes in, bytes out.

use bytes::Bytes;
use inkfast::prefix::digest::Digest;
use inkfast::prefix::item::Hints;
use inkfast::prefix::{Class, Outcome, Scope};
use inkfast::prompt::Rendering;
use inkfast::wire::format::Format;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::harness::{Answer, Core, Turn};

const TOOLS: &str =
    r#""tools":[{"type":"function","function":{"name":"shell","parameters":{"type":"object"}}}]"#;
const CLAUDE_TOOLS: &str = r#""tools":[{"name":"shell","input_schema":{"type":"object"}}]"#;

fn head(word: &str) -> String {
    format!(
        "You are a coding agent for the parser. Follow its rules, prefer small edits, run the tests after each change \
         and report what you did. The word of the day is {word}."
    )
}

fn message(role: &str, text: &str) -> String {
    format!(r#"{{"role":"{role}","content":"{text}"}}"#)
}

fn user(text: &str) -> String {
    message("user", text)
}

fn said(text: &str) -> String {
    message("assistant", text)
}

fn block(text: &str, marker: bool) -> String {
    let marker = if marker {
        r#","cache_control":{"type":"ephemeral"}"#
    } else {
        ""
    };
    format!(r#"{{"type":"text","text":"{text}"{marker}}}"#)
}

fn chat(head: &[String], history: &[String]) -> Bytes {
    let head = head.iter().map(|text| message("system", text));
    let messages: Vec<String> = head.chain(history.iter().cloned()).collect();
    Bytes::from(format!(
        r#"{{"model":"m",{TOOLS},"messages":[{}]}}"#,
        messages.join(",")
    ))
}

fn claude(system: &str, history: &[String]) -> Bytes {
    let messages = history.join(",");
    Bytes::from(format!(
        r#"{{"model":"claude-opus-5","max_tokens":9,"system":{system},{CLAUDE_TOOLS},"messages":[{messages}]}}"#
    ))
}

fn quoted(text: &str) -> String {
    format!("\"{text}\"")
}

fn answer(text: &str) -> Answer {
    Answer {
        status: 200,
        text: text.to_owned(),
        calls: Vec::new(),
    }
}

fn openai() -> Core {
    Core::new(Format::OpenaiChat, "api.openai.com")
}

fn anthropic() -> Core {
    Core::new(Format::AnthropicMessages, "api.anthropic.com")
}

#[derive(Deserialize)]
struct Raw<'a> {
    #[serde(borrow)]
    messages: Vec<&'a RawValue>,
}

/// The messages of a body, byte for byte.
fn messages(body: &Bytes) -> Vec<String> {
    let raw: Raw<'_> = serde_json::from_slice(body).unwrap();
    raw.messages
        .iter()
        .map(|message| message.get().to_owned())
        .collect()
}

/// Sends a body that is answered with `text`.
fn ask(core: &mut Core, body: &Bytes, text: &str) -> Turn {
    let turn = core.exchange(body, Hints::default(), &answer(text));
    assert_eq!(turn.guard, Ok(()));
    turn
}

fn session(name: &str) -> Hints {
    Hints {
        session: Some(Digest::of("inkfast hint v1", name.as_bytes())),
        ..Hints::default()
    }
}

/// The messages of `next` begin with those of `last`.
fn assert_extends(last: &Turn, next: &Turn) {
    let (before, after) = (messages(&last.out), messages(&next.out));
    assert_eq!(before, after[..before.len().min(after.len())]);
}

fn history(length: usize) -> Vec<String> {
    (0..length)
        .map(|index| {
            if index % 2 == 0 {
                user(&format!("q{index}"))
            } else {
                said(&format!("a{index}"))
            }
        })
        .collect()
}

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
    let tenant = |subject: &str| Some(Digest::keyed(&[7; 32], "inkfast tenant v1", subject.as_bytes()));
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
    core.scope = Scope::new("api.openai.com", "openai_chat", tenant("issuer ann"));
    ask(&mut core, &chat(&[head("one")], &history[..1]), &answers[0]);
    let second = ask(&mut core, &chat(&[head("two")], &history[..3]), &answers[1]);
    // Another token of the same subject, then a stranger's.
    core.scope = Scope::new("api.openai.com", "openai_chat", tenant("issuer ann"));
    let third = ask(&mut core, &chat(&[head("two")], &history), "a5");
    assert_eq!(third.lowered.nodes.len(), 1);
    assert_extends(&second, &third);
    core.scope = Scope::new("api.openai.com", "openai_chat", tenant("issuer bob"));
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
