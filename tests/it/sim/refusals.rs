//! The 400s of both APIs, each beside the nearest body that is accepted.

use inkfast::sim::{Config, LaterSystem, Provider};
use serde_json::{Value, json};

use super::*;

fn u(content: &str) -> Value {
    json!({"role": "user", "content": content})
}

fn a(content: &str) -> Value {
    json!({"role": "assistant", "content": content})
}

fn s(content: &str) -> Value {
    json!({"role": "system", "content": content})
}

fn tool_use(ids: &[&str]) -> Value {
    let call = |id: &&str| json!({"type": "tool_use", "id": id, "name": "f", "input": {}});
    json!({"role": "assistant", "content": ids.iter().map(call).collect::<Vec<_>>()})
}

fn result(id: &str) -> Value {
    json!({"type": "tool_result", "tool_use_id": id, "content": "ok"})
}

fn results(blocks: &[Value]) -> Value {
    json!({"role": "user", "content": blocks})
}

/// The error text of an Anthropic request; none if it was answered.
fn refusal(body: &Value) -> Option<String> {
    let reply = messages(&start(), body);
    if reply.status == 200 {
        return None;
    }
    let error = reply.json();
    assert_eq!((reply.status, &error["type"]), (400, &json!("error")));
    assert_eq!(error["error"]["type"], "invalid_request_error");
    Some(reply.message())
}

fn of_messages(messages: &[Value]) -> Option<String> {
    refusal(&conversation(json!(messages)))
}

fn assert_refused(messages: &[Value], text: &str) {
    let refusal = of_messages(messages).unwrap_or_else(|| panic!("accepted, wanted: {text}"));
    assert!(refusal.contains(text), "{refusal}\nwanted: {text}");
}

#[test]
fn later_system_messages() {
    // In place: behind a user turn, last or in front of an assistant; behind results; in a run; behind a server's result.
    assert_eq!(of_messages(&[u("x"), s("n")]), None);
    assert_eq!(of_messages(&[u("x"), s("n"), a("y"), u("z")]), None);
    assert_eq!(of_messages(&[u("x"), s("n"), s("m"), a("y"), u("z")]), None);
    assert_eq!(
        of_messages(&[u("x"), tool_use(&["t"]), results(&[result("t")]), s("n")]),
        None
    );
    let server = json!({"role": "assistant", "content": [
        {"type": "server_tool_use", "id": "w", "name": "web_search", "input": {}},
        {"type": "web_search_tool_result", "tool_use_id": "w", "content": []},
    ]});
    assert_eq!(of_messages(&[u("x"), server, s("n")]), None);

    assert_refused(
        &[s("n"), u("x")],
        "messages.0: use the top-level 'system' parameter for the initial system prompt",
    );
    assert_refused(
        &[u("x"), a("y"), s("n")],
        "messages.2: a 'system' message must immediately follow",
    );
    assert_refused(
        &[u("x"), s("n"), u("y")],
        "messages.1: a 'system' message must be the last message",
    );
    assert_refused(
        &[u("x"), s("n"), s("m"), u("y")],
        "messages.2: a 'system' message must be the last",
    );
    assert_refused(
        &[u("x"), tool_use(&["t"]), s("n"), results(&[result("t")])],
        "must not stand between a `tool_use` block and its `tool_result`",
    );
}

#[test]
fn a_system_message_of_effort_only_may_stand_anywhere() {
    let effort =
        |content: Value| json!({"role": "system", "content": content, "output_config": {"effort": "low"}});
    assert_eq!(of_messages(&[u("x"), effort(json!([])), u("y")]), None);
    assert_refused(
        &[u("x"), effort(json!("text")), u("y")],
        "messages.1: a 'system' message must be the last",
    );
    assert_refused(
        &[u("x"), json!({"role": "system", "content": []}), u("y")],
        "messages.1: all messages must have",
    );
}

#[test]
fn later_system_messages_by_model() {
    let on = |model: &str| {
        let mut body = conversation(json!([u("x"), s("n")]));
        body["model"] = json!(model);
        refusal(&body)
    };
    for model in [
        "claude-opus-4-8",
        "claude-opus-5",
        "claude-sonnet-5-5",
        "claude-fable-5-1-20260601",
    ] {
        assert_eq!(on(model), None, "{model}");
    }
    for model in ["claude-opus-4-7", "claude-sonnet-5", "claude-haiku-4-5", "glm-5"] {
        let text = on(model).expect(model);
        assert!(
            text.contains("role 'system' is not supported on this model"),
            "{text}"
        );
    }
}

#[test]
fn roles_and_contents() {
    assert_eq!(of_messages(&[u("x"), a("y"), u("z")]), None);
    assert_eq!(of_messages(&[u("x"), u("y")]), None);
    assert_eq!(of_messages(&[u("x"), a("prefill")]), None);
    assert_refused(&[], "messages: at least one message is required");
    assert_refused(&[a("x"), u("y")], "first message must use the \"user\" role");
    assert_refused(
        &[u("x"), a(""), u("y")],
        "messages.1: all messages must have non-empty content",
    );
    assert_refused(
        &[u("x"), json!({"role": "tool", "content": "y"})],
        "messages.1.role: Input should be",
    );
    assert_refused(&[results(&[block("")])], "text content blocks must be non-empty");
}

#[test]
fn broken_bodies() {
    let provider = start();
    for body in [
        "",
        "{",
        "[]",
        r#"{"model":"m"}"#,
        r#"{"model":"m","messages":["\ud83d"]}"#,
    ] {
        let reply = send(&provider, "/v1/messages", "", body.as_bytes());
        assert_eq!(
            (reply.status, &reply.json()["type"]),
            (400, &json!("error")),
            "{body}"
        );
        let reply = send(&provider, "/v1/chat/completions", "", body.as_bytes());
        assert_eq!(reply.status, 400, "{body}");
        assert_eq!(reply.json()["error"]["type"], "invalid_request_error");
    }
}

#[test]
fn tool_results_come_at_once_and_first() {
    let calls = tool_use(&["p", "q"]);
    let (p, q) = (result("p"), result("q"));
    let both = results(&[p.clone(), q.clone(), block("note")]);
    assert_eq!(of_messages(&[u("x"), calls.clone(), both]), None);

    let missing = "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: q.";
    assert_refused(
        &[u("x"), calls.clone(), results(std::slice::from_ref(&p))],
        missing,
    );
    assert_refused(
        &[
            u("x"),
            calls.clone(),
            results(std::slice::from_ref(&p)),
            results(std::slice::from_ref(&q)),
        ],
        missing,
    );
    assert_refused(
        &[u("x"), calls.clone(), results(&[p.clone(), block("note"), q])],
        missing,
    );
    assert_refused(&[u("x"), calls], "immediately after: p, q.");
    assert_refused(
        &[u("x"), a("y"), results(&[p])],
        "messages.2.content.0: unexpected `tool_use_id` found in `tool_result` blocks: p.",
    );
}

#[test]
fn at_most_four_markers() {
    let blocks = |count: usize| user(json!(vec![marked("x"); count]));
    assert_eq!(refusal(&blocks(4)), None);
    let text = "A maximum of 4 blocks with cache_control may be provided. Found 5.";
    assert_eq!(refusal(&blocks(5)).unwrap(), text);

    let mut spread = blocks(3);
    spread["tools"] = json!([{"name": "f", "input_schema": {}, "cache_control": {"type": "ephemeral"}}]);
    assert_eq!(refusal(&spread), None);
    spread["system"] = json!([marked("s")]);
    assert_eq!(refusal(&spread).unwrap(), text);

    let mut inner = result("t");
    inner["content"] = json!([marked("x"), marked("y")]);
    let nested = |more: usize| {
        let mut blocks = vec![inner.clone()];
        blocks.extend(vec![marked("z"); more]);
        of_messages(&[u("x"), tool_use(&["t"]), results(&blocks)])
    };
    assert_eq!(nested(2), None);
    assert_eq!(nested(3).unwrap(), text);

    // The automatic one needs a slot, except where the last block is marked already.
    let mut automatic = blocks(4);
    automatic["cache_control"] = json!({"type": "ephemeral"});
    assert_eq!(refusal(&automatic), None);
    automatic["messages"][0]["content"]
        .as_array_mut()
        .unwrap()
        .push(block("y"));
    assert_eq!(refusal(&automatic).unwrap(), text);
}

#[test]
fn the_longer_lifetime_comes_first() {
    let order =
        |first: &str, second: &str| refusal(&user(json!([marked_for("x", first), marked_for("y", second)])));
    assert_eq!(order("1h", "5m"), None);
    assert_eq!(order("1h", "1h"), None);
    let text = order("5m", "1h").unwrap();
    let wanted = "messages.0.content.1.cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m'";
    assert!(text.starts_with(wanted), "{text}");
}

#[test]
fn what_cannot_carry_a_marker() {
    let thinking = |marker: Value| {
        let block = json!({"type": "thinking", "thinking": "t", "signature": "s", "cache_control": marker});
        of_messages(&[
            u("x"),
            json!({"role": "assistant", "content": [block, {"type": "text", "text": "y"}]}),
            u("z"),
        ])
    };
    assert_eq!(thinking(Value::Null), None);
    let text = thinking(json!({"type": "ephemeral"})).unwrap();
    assert_eq!(
        text,
        "messages.1.content.0.thinking.cache_control: Extra inputs are not permitted"
    );
    assert_refused(
        &[results(&[marked("")])],
        "cache_control cannot be set for empty text blocks",
    );
}

fn calls(ids: &[&str]) -> Value {
    let call =
        |id: &&str| json!({"id": id, "type": "function", "function": {"name": "f", "arguments": "{}"}});
    json!({"role": "assistant", "content": null, "tool_calls": ids.iter().map(call).collect::<Vec<_>>()})
}

fn tool(id: &str) -> Value {
    json!({"role": "tool", "tool_call_id": id, "content": "ok"})
}

/// Status and error of an OpenAI request.
fn chat_refusal(config: Config, messages: &[Value]) -> Option<(u16, Value)> {
    let provider = Provider::start(config).unwrap();
    let reply = chat(&provider, &chat_body("gpt-4o", json!(messages)));
    (reply.status != 200).then(|| (reply.status, reply.json()["error"].clone()))
}

fn assert_chat_refused(messages: &[Value], text: &str, param: &str) {
    let (status, error) = chat_refusal(Config::default(), messages).unwrap_or_else(|| panic!("{text}"));
    assert_eq!((status, &error["param"]), (400, &json!(param)));
    assert!(error["message"].as_str().unwrap().contains(text), "{error}");
}

#[test]
fn chat_tool_groups() {
    let accepted = |messages: &[Value]| assert_eq!(chat_refusal(Config::default(), messages), None);
    accepted(&[u("x"), calls(&["p", "q"]), tool("q"), tool("p"), s("n"), u("y")]);
    accepted(&[s("h"), s("i"), u("x"), u("y"), s("n"), a("z"), s("m")]);

    let missing = "The following tool_call_ids did not have response messages: q";
    assert_chat_refused(
        &[u("x"), calls(&["p", "q"]), tool("p"), s("n"), tool("q")],
        missing,
        "messages.[3].role",
    );
    assert_chat_refused(
        &[u("x"), calls(&["p", "q"]), tool("p")],
        missing,
        "messages.[3].role",
    );
    let stray = "must be a response to a preceeding message with 'tool_calls'";
    assert_chat_refused(&[u("x"), tool("p")], stray, "messages.[1].role");
    assert_chat_refused(
        &[u("x"), calls(&["p"]), tool("p"), u("y"), tool("p")],
        stray,
        "messages.[4].role",
    );
}

#[test]
fn chat_roles() {
    assert_chat_refused(&[], "empty array", "messages");
    let unknown = json!({"role": "operator", "content": "x"});
    assert_chat_refused(
        &[u("x"), unknown],
        "Invalid value: 'operator'.",
        "messages[1].role",
    );
}

#[test]
fn strict_templates_raise() {
    let strict = |status| Config {
        later_system: LaterSystem::Strict { status },
        ..Config::default()
    };
    assert_eq!(chat_refusal(strict(500), &[s("h"), u("x"), u("y")]), None);
    for status in [400, 500] {
        let (answered, error) = chat_refusal(strict(status), &[s("h"), u("x"), s("n")]).unwrap();
        assert_eq!(answered, status);
        let text = error["message"].as_str().unwrap();
        assert!(
            text.contains("System message must be at the beginning."),
            "{text}"
        );
    }
    let developer = json!({"role": "developer", "content": "h"});
    let (_, error) = chat_refusal(strict(400), &[developer, u("x")]).unwrap();
    assert!(
        error["message"]
            .as_str()
            .unwrap()
            .contains("Unexpected message role.")
    );

    let alternate = || Config {
        later_system: LaterSystem::Alternate { status: 400 },
        ..Config::default()
    };
    assert_eq!(chat_refusal(alternate(), &[s("h"), u("x"), a("y"), u("z")]), None);
    let (_, error) = chat_refusal(alternate(), &[s("h"), u("x"), u("y")]).unwrap();
    assert!(error["message"].as_str().unwrap().contains("must alternate"));
}
