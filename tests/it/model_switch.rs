//! A conversation that changes its model: the head and the nodes go along, and a carrier that the new model cannot
//! take is rendered once more at its anchor.

use bytes::Bytes;
use inkfast::prefix::item::Hints;
use inkfast::wire::format::Format;
use serde_json::{Value, json};

use crate::harness::{Answer, Core};

const HEAD: &str =
    "You are a coding agent for the repository parser. Follow its rules, run the tests. Mode: ";

fn body(model: &str, mode: &str, turns: usize) -> Bytes {
    let mut messages = Vec::new();
    for turn in 1..=turns {
        messages.push(json!({"role": "user", "content": format!("q{turn}")}));
        if turn < turns {
            messages.push(json!({"role": "assistant", "content": format!("a{turn}")}));
        }
    }
    let body = json!({"model": model, "system": format!("{HEAD}{mode}"), "messages": messages});
    Bytes::from(body.to_string())
}

fn answer(turn: usize) -> Answer {
    Answer {
        status: 200,
        text: format!("a{turn}"),
        calls: Vec::new(),
    }
}

#[test]
fn a_native_node_becomes_user_text_where_the_model_takes_no_system_message() {
    let mut core = Core::new(Format::AnthropicMessages, "api.anthropic.com");
    core.exchange(&body("claude-opus-5", "plan", 1), Hints::default(), &answer(1));
    let native = core.exchange(&body("claude-opus-5", "build", 2), Hints::default(), &answer(2));
    let native: Value = serde_json::from_slice(&native.out).unwrap();
    assert_eq!(
        native["messages"][3]["role"], "system",
        "behind the second question"
    );

    let switched = core.exchange(
        &body("claude-sonnet-4-6", "build", 3),
        Hints::default(),
        &answer(3),
    );
    assert_eq!(switched.guard, Ok(()));
    let out: Value = serde_json::from_slice(&switched.out).unwrap();
    let messages = out["messages"].as_array().unwrap();
    assert!(messages.iter().all(|message| message["role"] != "system"));
    assert_eq!(out["system"], format!("{HEAD}plan"), "the frozen head goes along");
    let holder = messages[2]["content"]
        .as_array()
        .expect("the second question holds the update now");
    assert_eq!(holder[0], json!({"type": "text", "text": "q2"}));
    let update = holder[1]["text"].as_str().unwrap();
    assert!(
        update.contains("<system-reminder>") && update.contains("build"),
        "{update}"
    );

    let again = core.exchange(
        &body("claude-sonnet-4-6", "build", 4),
        Hints::default(),
        &answer(4),
    );
    let next: Value = serde_json::from_slice(&again.out).unwrap();
    assert_eq!(next["messages"][2], messages[2], "and stays as it was rendered");
    assert_eq!(again.plan.sent.to_string(), "extend/none");
}
