//! Thinking that is bound to what stands in front of it.

use inkfast::sim::{Answer, Config, Provider};
use serde_json::{Value, json};

use super::*;

const BINDS: &str = "claude-opus-5-5";

const ELSEWHERE: &str = "messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different \
    conversation. Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to \"drop_block\".";

/// A first question, answered with thinking, and the follow-up that carries the answer.
fn follow_up(provider: &Provider, model: &str) -> Value {
    let mut body = conversation(json!([{"role": "user", "content": "one"}]));
    body["model"] = json!(model);
    body["system"] = json!("be brief");
    body["tools"] = json!([{"name": "f", "input_schema": {"type": "object"}}]);
    ask_on(provider, &mut body, "two");
    body
}

/// Sends the body, then adds the answer and another question to it.
fn ask_on(provider: &Provider, body: &mut Value, question: &str) {
    provider.push(Answer::text("sure").with_thinking("hm"));
    let reply = messages(provider, body);
    assert_eq!(reply.status, 200, "{}", reply.text());
    let content = reply.json()["content"].clone();
    assert_eq!(content[0]["type"], "thinking");
    let messages = body["messages"].as_array_mut().unwrap();
    messages.push(json!({"role": "assistant", "content": content}));
    messages.push(json!({"role": "user", "content": question}));
}

fn answered(provider: &Provider, body: &Value) -> Result<(), String> {
    let reply = messages(provider, body);
    match reply.status {
        200 => Ok(()),
        _ => Err(reply.message()),
    }
}

#[test]
fn an_untouched_prefix_is_accepted() {
    let provider = start();
    let body = follow_up(&provider, BINDS);
    assert_eq!(answered(&provider, &body), Ok(()));
}

#[test]
fn every_change_in_front_is_refused() {
    let provider = start();
    let body = follow_up(&provider, BINDS);
    for (pointer, value) in [
        ("/system", json!("be brief!")),
        ("/tools/0/name", json!("g")),
        ("/messages/0/content", json!("one more")),
    ] {
        let mut changed = body.clone();
        *changed.pointer_mut(pointer).unwrap() = value;
        assert_eq!(
            answered(&provider, &changed),
            Err(ELSEWHERE.to_owned()),
            "{pointer}"
        );
    }
}

#[test]
fn markers_parameters_and_the_tail_are_no_change() {
    let provider = start();
    let mut body = follow_up(&provider, BINDS);
    body["system"] = json!([marked("be brief")]);
    body["messages"][0]["content"] = json!([marked("one")]);
    body["tool_choice"] = json!({"type": "auto"});
    body["messages"][2]["content"] = json!("three");
    let note = json!({"role": "system", "content": "be long"});
    body["messages"].as_array_mut().unwrap().push(note);
    assert_eq!(answered(&provider, &body), Ok(()));
}

#[test]
fn only_models_of_the_list_bind() {
    for (model, binds) in [
        ("claude-fable-5-1", true),
        ("claude-fable-5", false),
        ("claude-mythos-5-2", true),
        ("claude-mythos-5-1", false),
        ("claude-haiku-5-5", true),
        ("claude-haiku-4-5", false),
    ] {
        let provider = start();
        let mut body = follow_up(&provider, model);
        body["system"] = json!("other");
        assert_eq!(answered(&provider, &body).is_err(), binds, "{model}");
    }
}

#[test]
fn its_own_text_must_not_change_on_any_model() {
    let provider = start();
    let mut body = follow_up(&provider, CLAUDE);
    body["messages"][1]["content"][0]["thinking"] = json!("hmm");
    let error = answered(&provider, &body).unwrap_err();
    assert!(
        error.contains("blocks in the latest assistant message cannot be modified"),
        "{error}"
    );
}

#[test]
fn a_leading_run_of_thinking_may_go_and_no_other() {
    let provider = start();
    let mut body = follow_up(&provider, BINDS);
    ask_on(&provider, &mut body, "three");
    ask_on(&provider, &mut body, "four");
    let without = |gone: &[usize]| {
        let mut body = body.clone();
        for index in gone {
            body["messages"][*index]["content"]
                .as_array_mut()
                .unwrap()
                .remove(0);
        }
        answered(&provider, &body)
    };
    assert_eq!(without(&[]), Ok(()));
    assert_eq!(without(&[1]), Ok(()));
    assert_eq!(without(&[1, 3]), Ok(()));
    assert!(
        without(&[3])
            .unwrap_err()
            .starts_with("messages.5.content.0: Invalid `signature`")
    );
}

#[test]
fn foreign_signatures_are_taken_unless_told_otherwise() {
    let mut body = conversation(json!([
        {"role": "user", "content": "one"},
        {"role": "assistant", "content": [
            {"type": "thinking", "thinking": "hm", "signature": "EqoBCkYIARgC"},
            {"type": "text", "text": "sure"},
        ]},
        {"role": "user", "content": "two"},
    ]));
    body["model"] = json!(BINDS);
    assert_eq!(answered(&start(), &body), Ok(()));
    let config = Config {
        accept_foreign_thinking: false,
        ..Config::default()
    };
    let strict = Provider::start(config).unwrap();
    assert!(
        answered(&strict, &body)
            .unwrap_err()
            .contains("Invalid `signature`")
    );
}
