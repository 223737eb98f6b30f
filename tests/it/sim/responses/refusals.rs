//! What the Responses API refuses, and what just passes.

use super::*;
use inkfast::sim::{Answer, Format, LaterSystem};

fn status(input: Value) -> (u16, String) {
    let provider = start();
    let reply = responses(&provider, &request(MIDDLE, input));
    let message = match reply.status {
        200 => String::new(),
        _ => reply.message(),
    };
    (reply.status, message)
}

fn passes(input: Value) {
    assert_eq!(status(input.clone()), (200, String::new()), "{input}");
}

fn refused(input: Value, why: &str) {
    let (status, message) = status(input.clone());
    assert_eq!(status, 400, "{input}");
    assert!(message.contains(why), "{message}");
}

fn reasoning(id: &str) -> Value {
    json!({"type": "reasoning", "id": id, "summary": [], "encrypted_content": "from elsewhere"})
}

#[test]
fn every_call_has_its_output() {
    passes(list([says("user", "a"), call("1"), output("1")]));
    refused(
        list([says("user", "a"), call("1")]),
        "No tool output found for function call 1",
    );
    refused(list([says("user", "a"), output("1")]), "call_id 1");
    refused(list([call("1"), output("2")]), "call_id 2");
    refused(list([call("1"), output("1"), output("1")]), "call_id 1");
    let custom = json!({"type": "custom_tool_call", "call_id": "c", "name": "p", "input": "x"});
    let answer = json!({"type": "custom_tool_call_output", "call_id": "c", "output": "y"});
    passes(list([custom.clone(), answer.clone()]));
    refused(list([custom]), "No tool output found");
    refused(list([answer]), "No tool call found for custom tool call output");
}

#[test]
fn outputs_follow_their_group_at_once() {
    passes(list([
        call("1"),
        call("2"),
        output("2"),
        output("1"),
        says("developer", "d"),
    ]));
    passes(list([call("1"), output("1"), call("2"), output("2")]));
    passes(list([
        reasoning("a"),
        call("1"),
        reasoning("b"),
        call("2"),
        output("1"),
        output("2"),
    ]));
    for between in [
        says("developer", "d"),
        says("user", "u"),
        says("assistant", "a"),
        json!({"type": "configuration_update", "reasoning": {"effort": "high"}}),
    ] {
        let why = "No tool output found";
        refused(list([call("1"), between.clone(), output("1")]), why);
        refused(
            list([call("1"), call("2"), output("1"), between, output("2")]),
            why,
        );
    }
    refused(
        list([
            call("1"),
            call("2"),
            output("1"),
            call("3"),
            output("2"),
            output("3"),
        ]),
        "No tool output found for function call 2",
    );
}

#[test]
fn reasoning_stays_with_its_item() {
    passes(list([says("user", "u"), reasoning("r"), says("assistant", "a")]));
    passes(list([reasoning("r"), call("1"), output("1")]));
    let why = "Item 'r' of type 'reasoning' was provided without its required following item";
    refused(list([says("user", "u"), reasoning("r")]), why);
    refused(list([reasoning("r"), says("user", "u")]), why);
    refused(
        list([reasoning("r"), says("developer", "d"), says("assistant", "a")]),
        why,
    );
    refused(list([reasoning("r"), json!({"type": "compaction_trigger"})]), why);
}

#[test]
fn a_compaction_trigger_is_the_last_item() {
    let trigger = json!({"type": "compaction_trigger"});
    passes(list([says("user", "u"), trigger.clone()]));
    refused(
        list([says("user", "u"), trigger, says("developer", "d")]),
        "final input item",
    );
}

#[test]
fn roles_and_parts() {
    for role in ["user", "assistant", "system", "developer"] {
        passes(list([says("user", "u"), says(role, "x"), says("user", "u")]));
    }
    refused(list([says("tool", "x")]), "Invalid value: 'tool'");
    let part = |role: &str, kind: &str| {
        list([json!({"type": "message", "role": role, "content": [{"type": kind, "text": "x"}]})])
    };
    passes(part("user", "input_text"));
    passes(part("assistant", "output_text"));
    refused(part("user", "output_text"), "Invalid value: 'output_text'");
    refused(part("assistant", "input_text"), "Invalid value: 'input_text'");
    refused(part("user", "text"), "Invalid value: 'text'");
    let tools = |role: &str| list([json!({"type": "additional_tools", "role": role, "tools": []})]);
    passes(tools("developer"));
    refused(tools("user"), "'developer' only");
    passes(list([
        json!({"type": "never_heard_of", "x": 1}),
        says("user", "u"),
    ]));
    refused(list([json!({"x": 1})]), "'type'");
}

#[test]
fn what_a_request_must_have() {
    let provider = start();
    let reply = responses(&provider, &json!({"input": "a"}));
    assert_eq!(
        (reply.status, &reply.json()["error"]["param"]),
        (400, &json!("model"))
    );
    let reply = responses(&provider, &json!({"model": NEW}));
    assert_eq!(reply.json()["error"]["code"], "missing_required_parameter");
    assert_eq!(responses(&provider, &request(NEW, json!(3))).status, 400);
    let options = with(
        &request(OLD, json!("a")),
        "prompt_cache_options",
        json!({"ttl": "12h"}),
    );
    assert_eq!(
        responses(&provider, &options).json()["error"]["code"],
        "unsupported_parameter"
    );
    assert_eq!(post(&provider, "/v1/responses/cancel", &json!({})).status, 404);
}

#[test]
fn a_refused_request_uses_up_no_answer() {
    let provider = start();
    provider.push(Answer::text("kept"));
    responses(&provider, &request(NEW, list([call("1")])));
    let counted = post(
        &provider,
        "/v1/responses/input_tokens",
        &request(NEW, json!("abcdefgh")),
    );
    assert_eq!(
        counted.json(),
        json!({"object": "response.input_tokens", "input_tokens": 4})
    );
    let answer = response(&provider, &request(NEW, json!("a")));
    assert_eq!(answer["output"][0]["content"][0]["text"], "kept");
    assert_eq!(provider.recorded()[0].usage, None);
}

fn later(mode: LaterSystem) -> Provider {
    Provider::start(Config {
        later_system: mode,
        ..Config::default()
    })
    .unwrap()
}

#[test]
fn templates_treat_later_developer_items_like_messages() {
    let input = list([
        says("developer", "first"),
        says("user", "u"),
        says("assistant", "a"),
        says("developer", "later"),
    ]);
    let body = with(&request(MIDDLE, input), "instructions", json!("told"));
    let bytes = body.to_string();
    let seen = |mode| {
        let provider = later(mode);
        let seen = provider.effective_prompt(Format::OpenAiResponses, bytes.as_bytes());
        assert!(provider.recorded().is_empty());
        seen.map(|o| (o.head.join("|"), o.later.join("|")))
    };
    let pair = |head: &str, later: &str| Some((head.to_owned(), later.to_owned()));
    assert_eq!(seen(LaterSystem::InPlace), pair("told|first", "later"));
    assert_eq!(seen(LaterSystem::Hoist), pair("told|first|later", ""));
    assert_eq!(seen(LaterSystem::Drop), pair("told|first", ""));
    assert_eq!(seen(LaterSystem::Strict { status: 500 }), None);
    let strict = later(LaterSystem::Strict { status: 500 });
    assert_eq!(responses(&strict, &body).status, 500);
    assert_eq!(responses(&strict, &request(MIDDLE, json!("u"))).status, 200);
}
