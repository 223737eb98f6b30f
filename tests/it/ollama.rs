//! Ollama's own API: what is read, where an update goes, and what passes.

use bytes::Bytes;
use inkfast::prefix::item::{Hints, Kind};
use inkfast::wire::body::Context;
use inkfast::wire::format::Format;
use inkfast::wire::scan::Fault;

use crate::harness::{Answer, Core, parse};
use crate::rewrite::prompt;

/// As it stands in a JSON string.
fn head(mode: &str) -> String {
    prompt(mode).replace('\n', "\\n")
}

fn body(mode: &str, messages: &[&str]) -> Bytes {
    Bytes::from(format!(
        r#"{{"model":"m:8b","messages":[{{"role":"system","content":"{}"}},{}],"options":{{"num_ctx":8192,"temperature":0.10}},"keep_alive":"5m"}}"#,
        head(mode),
        messages.join(",")
    ))
}

const ONE: &str = r#"{"role":"user","content":"one","images":["aGk="]}"#;
const TWO: &str = r#"{"role":"user","content":"two"}"#;
const SAID: &str = r#"{"role":"assistant","content":"Said.","thinking":"hm"}"#;
const CALL: &str = r#"{"role":"assistant","content":"","tool_calls":[{"function":{"name":"read","arguments":{"path":"a","n":1.0}}}]}"#;
const RESULT: &str = r#"{"role":"tool","tool_name":"read","content":"A"}"#;

fn said(text: &str, calls: &[&str]) -> Answer {
    Answer {
        status: 200,
        text: text.into(),
        calls: calls.iter().map(|call| (*call).to_owned()).collect(),
    }
}

#[test]
fn an_edit_goes_into_the_last_user_message() {
    let mut core = Core::new(Format::Ollama, "ollama");
    core.exchange(&body("plan", &[ONE]), Hints::default(), &said("Said.", &[]));
    let turn = core.exchange(
        &body("act", &[ONE, SAID, TWO]),
        Hints::default(),
        &said("Yes.", &[]),
    );
    assert_eq!(turn.guard, Ok(()));
    assert_eq!(
        turn.plan.received.to_string(),
        "rewrite/system_changed@messages[0]"
    );
    assert_eq!(turn.plan.sent.to_string(), "extend/none");
    let node = turn.lowered.new_node.as_ref().unwrap();
    let node = std::str::from_utf8(&node.bytes).unwrap();
    assert!(node.starts_with("<system-reminder>"), "{node}");
    let two = TWO.replace("two", &format!("{node}two"));
    assert_eq!(turn.out, body("plan", &[ONE, SAID, &two]));
}

#[test]
fn a_tool_loop_is_known_again_and_passes() {
    let mut core = Core::new(Format::Ollama, "ollama");
    core.exchange(
        &body("plan", &[ONE]),
        Hints::default(),
        &said("", &[r#"read{"n":1,"path":"a"}"#]),
    );
    let looping = body("act", &[ONE, CALL, RESULT]);
    let turn = core.exchange(&looping, Hints::default(), &said("Yes.", &[]));
    assert!(turn.plan.carries);
    assert_eq!(turn.plan.sent.to_string(), "rewrite/no_slot@messages[0]");
    assert_eq!(turn.out, looping);
    let kinds: Vec<_> = turn
        .request
        .history
        .iter()
        .map(|item| (item.mark.kind, item.calls))
        .collect();
    assert_eq!(
        kinds,
        [(Kind::Content, 0), (Kind::UnnamedCall, 1), (Kind::ToolResult, 0)]
    );
    let names: Vec<_> = turn
        .request
        .params
        .iter()
        .map(|param| param.name.as_str())
        .collect();
    assert_eq!(names, ["options.num_ctx"]);
}

#[test]
fn a_single_prompt_is_nothing_to_append_to() {
    for body in [
        r#"{"model":"m","prompt":"p","system":"s"}"#,
        r#"{"model":"m","prompt":"p","context":[1,2,3]}"#,
    ] {
        let request = parse(Format::Ollama, &Bytes::from(body), &Context::default(), None).unwrap();
        assert!(request.server_state && request.history.is_empty());
        let mut core = Core::new(Format::Ollama, "ollama");
        let turn = core.send(&Bytes::from(body), Hints::default());
        assert_eq!(turn.out, body);
    }
}

#[test]
fn what_cannot_be_read_without_doubt_passes() {
    for (body, fault) in [
        (r#"{"model":"m"}"#, Fault::Shape),
        (r#"{"model":"m","messages":"x"}"#, Fault::Shape),
        (r#"{"model":"m","messages":[{"content":"x"}]}"#, Fault::Shape),
        (r#"{"messages":[],"messages":[]}"#, Fault::DuplicateKey),
        (r#"{"messages":[]"#, Fault::Syntax),
    ] {
        let read = parse(Format::Ollama, &Bytes::from(body), &Context::default(), None);
        assert_eq!(read.map(|_| ()), Err(fault), "{body}");
    }
}
