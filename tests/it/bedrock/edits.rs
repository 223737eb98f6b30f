//! A changed head becomes a node, and what leaves is the client's bytes around it.

use inkfast::prefix::item::Hints;
use inkfast::prefix::policy::Carrier;

use super::*;
use crate::harness::Turn;

fn send(core: &mut Core, body: &Bytes, answer: &Answer) -> Turn {
    let turn = core.exchange(body, Hints::default(), answer);
    assert_eq!(turn.guard, Ok(()));
    turn
}

/// The texts of a body's nodes: what the client did not send, block by block.
fn inserted(turn: &Turn) -> Vec<String> {
    let node =
        |node: &std::sync::Arc<inkfast::prefix::past::Node>| String::from_utf8(node.bytes.to_vec()).unwrap();
    turn.lowered.nodes.iter().map(node).collect()
}

/// The body that leaves without its nodes, which stand behind a comma.
fn without_nodes(turn: &Turn) -> String {
    let mut out = String::from_utf8(turn.out.to_vec()).unwrap();
    for node in inserted(turn) {
        let behind = format!(",{node}");
        let found = if out.contains(&behind) {
            behind
        } else {
            format!("{node},")
        };
        assert_eq!(out.matches(&found).count(), 1, "{out}");
        out = out.replacen(&found, "", 1);
    }
    out
}

fn messages(out: &Bytes) -> Vec<Value> {
    let value: Value = serde_json::from_slice(out).unwrap();
    value["messages"].as_array().unwrap().clone()
}

#[test]
fn a_model_that_takes_it_gets_a_system_message_behind_the_turn() {
    let mut core = core(NATIVE);
    let head = |mode: &str| json!([text(&prompt(mode)), marker()]);
    let mut said_so_far = vec![user(json!([text("one"), marker()]))];
    let first = send(&mut core, &body(head("plan"), &said_so_far), &said("a one", &[]));
    assert_eq!(first.out, body(head("plan"), &said_so_far));
    said_so_far = vec![
        user(json!([text("one")])),
        assistant(json!([text("a one")])),
        user(json!([text("two"), marker()])),
    ];
    let second = send(&mut core, &body(head("act"), &said_so_far), &said("a two", &[]));
    assert_eq!(second.lowered.nodes[0].carrier, Carrier::System);
    let out = messages(&second.out);
    assert_eq!(out.len(), 4);
    assert_eq!(out[3]["role"], "system");
    assert!(
        out[3]["content"][0]["text"]
            .as_str()
            .unwrap()
            .contains("Mode: act")
    );
    // The frozen head is the first one, with this request's marker.
    assert_eq!(
        without_nodes(&second),
        String::from_utf8(body(head("plan"), &said_so_far).to_vec()).unwrap()
    );
    said_so_far.extend([
        assistant(json!([text("a two")])),
        user(json!([text("three"), marker()])),
    ]);
    said_so_far[2] = user(json!([text("two")]));
    let third = send(&mut core, &body(head("act"), &said_so_far), &said("a three", &[]));
    assert_eq!(messages(&third.out)[3], out[3]);
    assert_eq!(third.plan.sent.to_string(), "extend/none");
    assert!(third.plan.new_node.is_none());
}

#[test]
fn other_models_get_a_block_of_the_turn_and_never_a_second_message() {
    let mut core = core(PLAIN);
    let head = |mode: &str| json!([text(&prompt(mode))]);
    let one = [user(json!([text("one")]))];
    send(&mut core, &body(head("plan"), &one), &said("a one", &[]));
    let two = [
        one[0].clone(),
        assistant(json!([text("a one")])),
        user(json!([text("two"), marker()])),
    ];
    let second = send(&mut core, &body(head("act"), &two), &said("a two", &[]));
    let out = messages(&second.out);
    assert_eq!(out.len(), 3);
    assert!(
        out[2]["content"][0]["text"]
            .as_str()
            .unwrap()
            .starts_with("<system-reminder>")
    );
    assert_eq!(
        out[2]["content"].as_array().unwrap()[1..],
        [text("two"), marker()]
    );
    // A to B to A: the first prompt comes back as a second node, and the first stays.
    let three = [
        &two[..],
        &[assistant(json!([text("a two")])), user(json!([text("three")]))],
    ]
    .concat();
    let third = send(&mut core, &body(head("plan"), &three), &said("a three", &[]));
    let back = messages(&third.out);
    assert_eq!(back[2], out[2]);
    assert!(
        back[4]["content"][0]["text"]
            .as_str()
            .unwrap()
            .contains("Mode: plan")
    );
    assert_eq!(
        third.plan.received.to_string(),
        "rewrite/system_changed@system[0]"
    );
    assert_eq!(third.plan.sent.to_string(), "extend/none");
}

#[test]
fn behind_results_and_behind_their_marker_in_a_tool_loop() {
    let mut core = core(PLAIN);
    let head = |mode: &str| json!([text(&prompt(mode))]);
    let call = json!({"toolUse": {"toolUseId": "t1", "name": "read", "input": {"path": "a"}}});
    let results = json!({"toolResult": {"toolUseId": "t1", "content": [{"text": "r"}]}});
    let one = [user(json!([text("one")]))];
    send(&mut core, &body(head("plan"), &one), &said("", &["t1"]));
    let two = [
        one[0].clone(),
        assistant(json!([call])),
        user(json!([results, marker()])),
    ];
    let second = send(&mut core, &body(head("act"), &two), &said("done", &[]));
    let out = messages(&second.out);
    assert_eq!(out.len(), 3);
    let content = out[2]["content"].as_array().unwrap();
    assert_eq!(content[..2], [results.clone(), marker()]);
    assert!(content[2]["text"].as_str().unwrap().contains("Mode: act"));
    // The marker moves on: the node stays behind the results, byte for byte.
    let three = [
        one[0].clone(),
        two[1].clone(),
        user(json!([results])),
        assistant(json!([text("done")])),
        user(json!([text("next"), marker()])),
    ];
    let third = send(&mut core, &body(head("act"), &three), &said("ok", &[]));
    let now = messages(&third.out);
    assert_eq!(now[2]["content"], json!([results, content[2]]));
    assert_eq!(third.plan.sent.to_string(), "extend/none");
    assert_eq!(count(&third.out, "cachePoint"), 1);
}

#[test]
fn a_half_of_parallel_calls_gets_no_node() {
    let mut core = core(PLAIN);
    let head = |mode: &str| json!([text(&prompt(mode))]);
    let call = |id: &str| json!({"toolUse": {"toolUseId": id, "name": "read", "input": {}}});
    let results = |id: &str| json!({"toolResult": {"toolUseId": id, "content": [{"text": id}]}});
    let one = [user(json!([text("one")]))];
    send(&mut core, &body(head("plan"), &one), &said("", &["t1", "t2"]));
    let two = [
        one[0].clone(),
        assistant(json!([call("t1"), call("t2")])),
        user(json!([results("t1")])),
    ];
    let second = send(&mut core, &body(head("act"), &two), &said("", &[]));
    assert_eq!(second.out, body(head("act"), &two));
    assert_eq!(second.plan.sent.to_string(), "rewrite/no_slot@system[0]");
}

/// Old Claude models drop thinking where text follows results: there the change waits.
#[test]
fn old_models_wait_in_a_tool_loop() {
    let mut core = core("anthropic.claude-sonnet-4-5-20250929-v1:0");
    let head = |mode: &str| json!([text(&prompt(mode))]);
    let one = [user(json!([text("one")]))];
    send(&mut core, &body(head("plan"), &one), &said("", &["t1"]));
    let two = [
        one[0].clone(),
        assistant(json!([{"toolUse": {"toolUseId": "t1", "name": "read", "input": {}}}])),
        user(json!([{"toolResult": {"toolUseId": "t1", "content": [{"text": "r"}]}}])),
    ];
    let second = send(&mut core, &body(head("act"), &two), &said("", &[]));
    assert_eq!(second.out, body(head("plan"), &two));
}

fn tools() -> Value {
    json!({"tools": [{"toolSpec": {"name": "read", "inputSchema": {"json": {}}}}]})
}

/// With tools, by which a conversation is known whose whole head changes.
fn tooled(system: Value, messages: &[Value]) -> Bytes {
    Bytes::from(json!({"system": system, "messages": messages, "toolConfig": tools()}).to_string())
}

/// Each marker of this request's head goes behind the frozen block of its place, the last behind the last.
#[test]
fn markers_of_the_head_return_to_the_frozen_blocks() {
    let (a, b, c) = (
        prompt("plan"),
        "Second part of the prompt, as it was.",
        "Third part of it.",
    );
    let frozen = json!([text(&a), text(b)]);
    let one = [user(json!([text("one")]))];
    let two = [
        one[0].clone(),
        assistant(json!([text(&long())])),
        user(json!([text("two")])),
    ];
    let changed = prompt("act");
    for (client, expected) in [
        (json!([text(&changed), text(b)]), json!([text(&a), text(b)])),
        (
            json!([text(&changed), marker(), text(b), marker()]),
            json!([text(&a), marker(), text(b), marker()]),
        ),
        (
            json!([text(&changed), text(b), text(c), marker()]),
            json!([text(&a), text(b), marker()]),
        ),
        (
            json!([text(&changed), marker(), text(b), text(c), marker()]),
            json!([text(&a), marker(), text(b), marker()]),
        ),
        (
            json!([text(&changed), marker(), marker()]),
            json!([text(&a), text(b), marker()]),
        ),
        (
            json!([marker(), text(&changed), marker()]),
            json!([text(&a), text(b), marker()]),
        ),
        (json!([]), json!([text(&a), text(b)])),
    ] {
        let mut core = core(PLAIN);
        send(&mut core, &tooled(frozen.clone(), &one), &said(&long(), &[]));
        let sent = tooled(client.clone(), &two);
        let second = send(&mut core, &sent, &said("a two", &[]));
        let out: Value = serde_json::from_slice(&second.out).unwrap();
        assert_eq!(out["system"], expected, "{client}");
        assert!(count(&second.out, "cachePoint") <= count(&sent, "cachePoint"));
        assert_eq!(second.lowered.nodes.len(), 1);
    }
}

#[test]
fn a_head_that_is_gone_or_new_is_put_in_and_told() {
    let mut core = core(PLAIN);
    let one = [user(json!([text("one")]))];
    let two = [
        one[0].clone(),
        assistant(json!([text(&long())])),
        user(json!([text("two")])),
    ];
    let bare =
        |messages: &[Value]| Bytes::from(json!({"messages": messages, "toolConfig": tools()}).to_string());
    send(
        &mut core,
        &tooled(json!([text(&prompt("plan"))]), &one),
        &said(&long(), &[]),
    );
    let second = send(&mut core, &bare(&two), &said("a two", &[]));
    let out: Value = serde_json::from_slice(&second.out).unwrap();
    assert_eq!(out["system"], json!([text(&prompt("plan"))]));

    let mut core = self::core(PLAIN);
    send(&mut core, &bare(&one), &said(&long(), &[]));
    let second = send(
        &mut core,
        &tooled(json!([text(&prompt("plan")), marker()]), &two),
        &said("a two", &[]),
    );
    let out: Value = serde_json::from_slice(&second.out).unwrap();
    assert_eq!(out.get("system"), None);
    assert!(
        messages(&second.out)[2]["content"][0]["text"]
            .as_str()
            .unwrap()
            .contains("Mode: plan")
    );
}

#[test]
fn a_guarded_head_passes_when_it_changes() {
    let mut core = core(PLAIN);
    let head = |mode: &str| json!([{"text": "Be kind."}, {"guardContent": {"text": {"text": prompt(mode)}}}]);
    let one = [user(json!([text("one")]))];
    let two = [
        one[0].clone(),
        assistant(json!([text("a one")])),
        user(json!([text("two")])),
    ];
    send(&mut core, &body(head("plan"), &one), &said("a one", &[]));
    let second = send(&mut core, &body(head("act"), &two), &said("a two", &[]));
    assert_eq!(second.out, body(head("act"), &two));
}

#[test]
fn reasoning_is_untouched_and_holds_the_head() {
    let mut core = core(NATIVE);
    let head = |mode: &str| json!([text(&prompt(mode))]);
    let thought = r#"{"reasoningContent":{"reasoningText":{"text":"h\u00e9 1.0","signature":"c2ln"}}}"#;
    let with = |mode: &str, more: &str| {
        let head = head(mode);
        Bytes::from(format!(
            r#"{{"system":{head},"messages":[{{"role":"user","content":[{{"text":"one"}}]}},{{"role":"assistant","content":[{thought},{{"text":"a one"}}]}}{more}]}}"#
        ))
    };
    send(
        &mut core,
        &body(head("plan"), &[user(json!([text("one")]))]),
        &said("a one", &[]),
    );
    let turn = send(
        &mut core,
        &with("act", r#",{"role":"user","content":[{"text":"two"}]}"#),
        &said("a two", &[]),
    );
    assert_eq!(count(&turn.out, thought), 1);
    assert!(
        turn.out
            .starts_with(&with("plan", "")[..with("plan", "").len() - 2])
    );
    // Not even long after the cache is gone is the head folded under thinking that is bound to it.
    core.now_ms += 10 * 3_600_000;
    let more = r#",{"role":"user","content":[{"text":"two"}]},{"role":"assistant","content":[{"text":"a two"}]},{"role":"user","content":[{"text":"three"}]}"#;
    let turn = send(&mut core, &with("act", more), &said("a three", &[]));
    assert!(
        turn.out
            .starts_with(&with("plan", "")[..with("plan", "").len() - 2])
    );
    assert_eq!(turn.lowered.nodes.len(), 1);
}

#[test]
fn verdicts_name_places_as_the_client_knows_them() {
    let tool = |name: &str, text: &str| json!({"toolSpec": {"name": name, "description": text, "inputSchema": {"json": {}}}});
    let ask = |tools: Value, system: Value, history: &[Value]| {
        Bytes::from(
            json!({"toolConfig": {"tools": tools}, "system": system, "messages": history}).to_string(),
        )
    };
    let tools = json!([tool("a", "x"), tool("b", "x"), marker(), tool("c", "x")]);
    let system = json!([text("One."), marker(), text("Two.")]);
    let history = [
        user(json!([text("one")])),
        assistant(json!([text("a one")])),
        user(json!([text("two")])),
        assistant(json!([text("x"), text("y")])),
        user(json!([text("three")])),
    ];
    let more = [assistant(json!([text(&long())])), user(json!([text("four")]))];
    let grown = [&history[..], &more].concat();
    let mut edited = grown.clone();
    edited[3] = assistant(json!([text("x"), marker(), text("z")]));
    let changed = json!([tool("a", "x"), tool("b", "x"), tool("c", "y"), marker()]);
    for (now, expected) in [
        (
            ask(changed, system.clone(), &grown),
            "rewrite/tool_changed@tools[2]:c",
        ),
        (
            ask(tools.clone(), json!([text("One."), text("2.")]), &grown),
            "rewrite/system_changed@system[1]",
        ),
        (
            ask(tools.clone(), system.clone(), &edited),
            "rewrite/history_edited@messages[3].content[1]",
        ),
        (
            ask(
                tools.clone(),
                json!([text("One."), text("Two."), marker()]),
                &grown,
            ),
            "extend/none",
        ),
    ] {
        let mut core = core(PLAIN);
        core.mode = inkfast::prefix::policy::Mode::Observe;
        send(
            &mut core,
            &ask(tools.clone(), system.clone(), &history),
            &said(&long(), &[]),
        );
        let turn = send(&mut core, &now, &said(&long(), &[]));
        assert_eq!(turn.plan.received.to_string(), expected);
        assert_eq!(turn.out, now);
    }
}

#[test]
fn invoke_follows_the_models_rows() {
    let ask = |mode: &str, history: &[(&str, &str)]| {
        let history: Vec<Value> = history
            .iter()
            .map(|(role, text)| json!({"role": role, "content": text}))
            .collect();
        let body = json!({"anthropic_version": "bedrock-2023-05-31", "max_tokens": 9, "system": prompt(mode), "messages": history});
        Bytes::from(body.to_string())
    };
    for (model, carrier) in [
        ("anthropic.claude-opus-5-20260801-v1:0", Carrier::System),
        (
            "arn:aws:bedrock:us-east-1:1:inference-profile/eu.anthropic.claude-haiku-5-5-v1:0",
            Carrier::System,
        ),
        (
            "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
            Carrier::UserReminder,
        ),
        (
            "arn:aws:bedrock:us-east-1:1:application-inference-profile/abc",
            Carrier::UserReminder,
        ),
    ] {
        let mut core = Core::new(Format::AnthropicMessages, HOST);
        core.model = Some(model.to_owned());
        send(&mut core, &ask("plan", &[("user", "one")]), &said("a one", &[]));
        let history = [("user", "one"), ("assistant", "a one"), ("user", "two")];
        let second = send(&mut core, &ask("act", &history), &said("a two", &[]));
        assert_eq!(second.lowered.nodes[0].carrier, carrier, "{model}");
        assert_eq!(second.plan.sent.to_string(), "extend/none");
        assert!(second.out.starts_with(&ask("plan", &[])[..40]));
    }
}
