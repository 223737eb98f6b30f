//! Request sequences of real agents (`fixtures/captures`; every word replaced) through the built binary: what is kept
//! of the previous request's prefix when the agent sends straight, and when it sends through Inkfast.

use std::path::Path;

use bytes::Bytes;
use serde_json::Value;

use crate::fixtures::answer;
use crate::harness::Answer;
use crate::replay::{Outcome, Replayed, identity, numbered, path, replay};

#[test]
fn claude_code_keeps_its_prefix_over_both_head_edits() {
    let outcomes = agent("claude-code", "anthropic_messages");
    for number in [7, 8] {
        let outcome = &outcomes[number - 1];
        assert!(
            (outcome.received_kept - 0.83).abs() < 0.01,
            "{}",
            outcome.received_kept
        );
        assert_eq!((outcome.sent.as_str(), outcome.sent_kept), ("extend/none", 1.0));
        assert!(outcome.node.starts_with("replace@"), "{}", outcome.node);
    }
    let tools = &outcomes[4];
    assert_eq!(tools.received, "rewrite/tool_changed@tools[1]:Dazo");
    assert_eq!(
        tools.node, "rebaseline(tools)",
        "a changed tool in front of a changed head: one break, folded for nothing"
    );
    assert!(tools.same);
    assert_eq!(breaks(&outcomes), 1);
    assert_eq!(
        numbered(&outcomes),
        [1, 2, 2, 2, 2, 2, 2, 2, 2],
        "the title request is a lineage of its own"
    );
}

#[test]
fn claude_code_of_today_only_appends_until_compact() {
    let outcomes = agent("claude-code-latest", "anthropic_messages");
    assert!(outcomes.iter().all(|outcome| outcome.nodes == 0 && outcome.same));
    assert!(outcomes[..9].iter().all(|outcome| outcome.sent_kept == 1.0));
    assert!(
        outcomes[9].received.ends_with("@messages[15].content[1]"),
        "{}",
        outcomes[9].received
    );
}

#[test]
fn qwen_code_keeps_its_head_and_its_rewritten_reminders_are_named() {
    let outcomes = agent("qwen-code", "openai_chat");
    let resumed = &outcomes[3];
    assert!(
        (resumed.received_kept - 0.49).abs() < 0.01,
        "{}",
        resumed.received_kept
    );
    assert!((resumed.sent_kept - 0.86).abs() < 0.01, "{}", resumed.sent_kept);
    assert_eq!(
        resumed.sent, "rewrite/decoration_changed@messages[1]",
        "the head is kept, the reminder is named"
    );
    assert_eq!(outcomes[5].sent, "rewrite/decoration_changed@messages[7]");
    assert_eq!(
        numbered(&outcomes),
        [1, 1, 1, 1, 1, 1, 2, 1, 1],
        "its sub-agent is a lineage of its own"
    );
    assert!(outcomes[6].same);
}

#[test]
fn gemini_cli_is_left_alone_and_its_resumes_are_named() {
    let outcomes = agent("gemini-cli", "gemini");
    assert!(outcomes.iter().all(|outcome| outcome.nodes == 0 && outcome.same));
    assert_eq!(
        numbered(&outcomes),
        [1, 2, 2, 2, 3, 2, 2, 4, 2, 4, 2, 2],
        "its router asks under a head of its own, over parts of the history"
    );
    let named: Vec<(usize, &str)> = (1..)
        .zip(&outcomes)
        .filter(|(_, outcome)| !outcome.sent.ends_with("/none"))
        .map(|(number, outcome)| (number, outcome.sent.as_str()))
        .collect();
    // Each resume repeats the results of calls; the first one writes the opening context anew, too, and the second one
    // leaves the signature of a thought out.
    assert_eq!(
        named,
        [
            (6, "rewrite/message_volatile@contents[0].parts[0]"),
            (9, "rewrite/reasoning_removed@contents[7]"),
            (10, "insert/items_inserted@contents[4]"),
            (11, "insert/items_inserted@contents[9]"),
        ]
    );
}

#[test]
fn agents_that_only_append_are_left_alone() {
    for name in ["opencode", "cline"] {
        let outcomes = agent(name, "openai_chat");
        assert!(
            outcomes
                .iter()
                .all(|outcome| outcome.nodes == 0 && outcome.same && outcome.sent_kept == 1.0)
        );
    }
}

#[test]
fn codex_only_appends_and_is_left_alone() {
    let outcomes = agent("codex", "openai_responses");
    assert_eq!(outcomes.len(), 8);
    assert!(
        outcomes
            .iter()
            .all(|outcome| outcome.nodes == 0 && outcome.same && outcome.sent_kept == 1.0)
    );
    assert_eq!(numbered(&outcomes), [1; 8]);
    assert!(outcomes[1..].iter().all(|outcome| outcome.sent == "extend/none"));
}

#[test]
fn agents_that_rewrite_their_history_are_reported_and_left_alone() {
    for (name, kept) in [
        ("aider", &[1.0, 0.60, 0.48, 0.57, 0.72, 0.73][..]),
        ("copilot", &[1.0, 1.0, 1.0, 0.98, 1.0, 0.99]),
    ] {
        let outcomes = agent(name, "openai_chat");
        assert!(outcomes.iter().all(|outcome| outcome.nodes == 0 && outcome.same));
        for (outcome, kept) in outcomes.iter().zip(kept) {
            assert!(
                (outcome.sent_kept - kept).abs() < 0.02,
                "{name}: {} for {kept}",
                outcome.sent_kept
            );
        }
    }
}

/// The answer to a router of gemini-cli, which has no tools: none of the conversation's.
fn routed(body: &Bytes) -> Option<Answer> {
    let body: Value = serde_json::from_slice(body).unwrap();
    let routes = body.get("contents").is_some() && body.get("tools").is_none();
    routes.then(|| Answer {
        status: 200,
        text: r#"{"reason":"a short one","score":9}"#.into(),
        calls: Vec::new(),
    })
}

fn breaks(outcomes: &[Outcome]) -> usize {
    outcomes.iter().filter(|outcome| outcome.sent_kept < 1.0).count()
}

/// Replays one agent and prints its table.
fn agent(name: &str, format: &str) -> Vec<Outcome> {
    let (upstream, host) = match format {
        "anthropic_messages" => ("anthropic", "api.anthropic.com"),
        "gemini" => ("gemini", "generativelanguage.googleapis.com"),
        _ => ("openai", "api.openai.com"),
    };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("fixtures/captures")
        .join(name);
    let bodies: Vec<Bytes> = (1..)
        .map(|number| folder.join(format!("{number:03}.json")))
        .take_while(|file| file.exists())
        .map(|file| Bytes::from(std::fs::read(file).unwrap()))
        .collect();
    let requests: Vec<Replayed> = bodies
        .iter()
        .enumerate()
        .map(|(index, body)| {
            let head = folder.join(format!("{:03}.headers.json", index + 1));
            Replayed {
                path: path(&head).unwrap_or_else(|| crate::replay::route(format).1.to_owned()),
                headers: identity(&head),
                body: body.clone(),
                answer: routed(body).unwrap_or_else(|| answer(body, &bodies[index + 1..])),
            }
        })
        .collect();
    let outcomes = replay(upstream, host, &requests);
    println!("{name:<20} straight through nodes  received, sent");
    for (number, outcome) in (1..).zip(&outcomes) {
        println!(
            "{number:>20} {:>8.2} {:>7.2} {:>5}  {}, {} {}",
            outcome.received_kept,
            outcome.sent_kept,
            outcome.nodes,
            outcome.received,
            outcome.sent,
            outcome.node
        );
    }
    outcomes
}
