//! Requests: items, kinds, the head in both its places, and what passes through.

use inkfast::prefix::item::{Content, Kind, Role};
use inkfast::wire::scan::Fault;
use serde_json::{Value, json};

use super::{bytes, read, read_after};

/// A body with these items.
fn of(items: Value) -> bytes::Bytes {
    bytes(&json!({"model": "gpt-5.5", "input": items}))
}

#[test]
fn every_item_says_who_speaks_and_what_it_is() {
    use Kind::*;
    use Role::*;
    for (item, role, kind) in [
        (json!({"role": "user", "content": "q"}), User, Content),
        (
            json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "a"}]}),
            Assistant,
            Content,
        ),
        (
            json!({"type": "message", "role": "developer", "content": "d"}),
            Operator,
            Content,
        ),
        (
            json!({"type": "reasoning", "id": "rs_1", "summary": []}),
            Assistant,
            Thinking,
        ),
        (
            json!({"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}),
            Assistant,
            ToolCall,
        ),
        (
            json!({"type": "custom_tool_call", "call_id": "c", "name": "f", "input": "x"}),
            Assistant,
            ToolCall,
        ),
        (
            json!({"type": "local_shell_call", "call_id": "c", "action": {}}),
            Assistant,
            ToolCall,
        ),
        (
            json!({"type": "shell_call", "call_id": "c", "action": {}}),
            Assistant,
            ToolCall,
        ),
        (
            json!({"type": "apply_patch_call", "call_id": "c", "operation": {}}),
            Assistant,
            ToolCall,
        ),
        (
            json!({"type": "computer_call", "call_id": "c", "action": {}}),
            Assistant,
            ToolCall,
        ),
        (
            json!({"type": "tool_search_call", "call_id": "c", "execution": "client"}),
            Assistant,
            ToolCall,
        ),
        (
            json!({"type": "tool_search_call", "execution": "server"}),
            Assistant,
            Content,
        ),
        (
            json!({"type": "web_search_call", "id": "ws", "status": "completed"}),
            Assistant,
            Content,
        ),
        (
            json!({"type": "mcp_approval_request", "id": "m"}),
            Assistant,
            ToolCall,
        ),
        (
            json!({"type": "mcp_approval_response", "approval_request_id": "m"}),
            Tool,
            ToolResult,
        ),
        (
            json!({"type": "function_call_output", "call_id": "c", "output": "r"}),
            Tool,
            ToolResult,
        ),
        (
            json!({"type": "computer_call_output", "call_id": "c", "output": {}}),
            Tool,
            ToolResult,
        ),
        (
            json!({"type": "tool_search_output", "execution": "server"}),
            Assistant,
            ServerToolResult,
        ),
        (
            json!({"type": "program_output", "output": "r"}),
            Assistant,
            ServerToolResult,
        ),
        (
            json!({"type": "item_reference", "id": "msg_1"}),
            Assistant,
            Content,
        ),
        (json!({"id": "msg_1"}), Assistant, Content),
        (
            json!({"type": "compaction", "encrypted_content": "x"}),
            Assistant,
            Summary,
        ),
        (json!({"type": "compaction_trigger"}), Operator, Trigger),
        (
            json!({"type": "configuration_update", "reasoning": {"effort": "low"}}),
            Operator,
            Content,
        ),
        (
            json!({"type": "additional_tools", "role": "developer", "tools": []}),
            Operator,
            Content,
        ),
        (json!({"type": "of_tomorrow"}), Assistant, Content),
        (json!({"type": "of_tomorrow", "role": "user"}), User, Content),
    ] {
        let request = read(of(json!([{"role": "user", "content": "q"}, item])), true).unwrap();
        let mark = request.history[1].mark;
        assert_eq!((mark.role, mark.kind), (role, kind), "{item}");
        assert_eq!(request.history[1].calls, u16::from(kind == ToolCall));
        assert_eq!(
            &request.body[request.history[1].range.clone()],
            item.to_string().as_bytes()
        );
    }
}

#[test]
fn the_head_has_two_parts_in_any_order_of_keys() {
    let input = r#""input":[{"role":"developer","content":"one"},{"type":"message","role":"system","content":[{"type":"input_text","text":"two"}]},{"role":"user","content":"q"}]"#;
    for body in [
        format!(r#"{{"model":"m","instructions":"zero",{input}}}"#),
        format!(r#"{{{input},"instructions":"zero","model":"m"}}"#),
    ] {
        let request = read(body.clone(), true).unwrap();
        assert_eq!(request.head.texts().unwrap(), ["zero", "one", "two"], "{body}");
        let roles: Vec<_> = request
            .head
            .blocks
            .iter()
            .map(|block| block.frozen.role.as_str())
            .collect();
        assert_eq!(roles, ["", "developer", "system"]);
        assert_eq!((request.head.messages(), request.history.len()), (2, 1));
        let member = request.layout.head_member.unwrap();
        assert_eq!(&request.body[member.value], b"\"zero\"");

        let request = read(body, false).unwrap();
        assert_eq!(request.head.texts().unwrap(), ["one", "two"]);
        assert_eq!((request.names.head, request.layout.head_member), (None, None));
        assert!(
            request.params.is_empty(),
            "instructions behind the input are no part of the prefix"
        );
    }
}

#[test]
fn what_is_no_message_ends_the_head() {
    let request = read(
        of(json!([
            {"role": "developer", "content": "one"},
            {"type": "additional_tools", "role": "developer", "tools": []},
            {"role": "developer", "content": "two"},
        ])),
        true,
    )
    .unwrap();
    assert_eq!(request.head.texts().unwrap(), ["one"]);
    assert_eq!(request.history.len(), 2);
}

#[test]
fn the_items_behind_a_held_response_have_no_head() {
    let items = json!([{"role": "developer", "content": "d"}, {"role": "user", "content": "q"}]);
    let first = bytes(&json!({"previous_response_id": "resp_1", "input": items, "instructions": "i"}));
    let last = bytes::Bytes::from(format!(
        r#"{{"instructions":"i","input":{items},"previous_response_id":"resp_1"}}"#
    ));
    let [first, last] = [first, last].map(|body| read(body, true).unwrap());
    for request in [&first, &last] {
        assert_eq!(request.head.texts().unwrap(), ["i"]);
        assert_eq!(request.history.len(), 2);
        assert!(
            request
                .layout
                .messages
                .iter()
                .all(|message| message.items.len() == 1)
        );
    }
    assert!(first.continues.is_some() && first.continues == last.continues);
    assert_eq!(first.chains, last.chains);
    let none = read(
        bytes(&json!({"previous_response_id": null, "input": items})),
        true,
    )
    .unwrap();
    assert_eq!((none.continues, none.head.messages()), (None, 1));
}

#[test]
fn a_string_is_the_message_that_it_stands_for() {
    let string = read(r#"{"input":"q\u00e9"}"#, true).unwrap();
    let message = read(of(json!([{"role": "user", "content": "qé"}])), true).unwrap();
    let blocks = read(
        of(json!([{"role": "user", "content": [{"type": "input_text", "text": "qé"}]}])),
        true,
    )
    .unwrap();
    assert!(string.layout.bare && !message.layout.bare);
    assert_eq!(
        string.history[0].mark.canonical,
        message.history[0].mark.canonical
    );
    assert_eq!(
        blocks.history[0].mark.canonical,
        message.history[0].mark.canonical
    );
    assert_ne!(string.history[0].mark.wire, message.history[0].mark.wire);
    let Content::Text(token) = &string.layout.messages[0].content else {
        panic!("a text")
    };
    assert_eq!(&string.body[token.clone()], br#""q\u00e9""#);
}

#[test]
fn a_turn_of_the_model_is_a_run_of_its_items() {
    let request = read(
        of(json!([
            {"role": "user", "content": "q"},
            {"type": "reasoning", "id": "rs_1", "summary": []},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "a"}]},
            {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"},
            {"type": "function_call", "call_id": "c2", "name": "f", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c1", "output": "r"},
            {"type": "function_call_output", "call_id": "c2", "output": "r"},
            {"type": "reasoning", "id": "rs_2", "summary": []},
            {"type": "message", "role": "assistant", "content": "b"},
            {"role": "user", "content": "q2"},
        ])),
        true,
    )
    .unwrap();
    let opens: Vec<usize> = (0..10)
        .filter(|index| request.history[*index].mark.opens)
        .collect();
    assert_eq!(opens, [0, 1, 5, 6, 7, 9]);
    let answers: Vec<_> = request.history.iter().map(|item| item.answer).collect();
    assert_eq!(
        answers[1],
        inkfast::prefix::item::AnswerMark::of("a", &["c1", "c2"])
    );
    assert_eq!(answers[7], inkfast::prefix::item::AnswerMark::of("b", &[""; 0]));
    assert_eq!(answers.iter().flatten().count(), 2);
    assert!(request.signed_thinking);
}

#[test]
fn tools_parameters_and_hints() {
    let request = read(
        bytes(&json!({
            "model": "gpt-5.5", "input": "q", "prompt_cache_key": "k", "safety_identifier": "u", "store": false,
            "reasoning": {"effort": "low"}, "text": {"verbosity": "low"}, "truncation": "auto", "stream": true,
            "tools": [
                {"type": "function", "name": "read", "parameters": {}}, {"type": "web_search"},
                {"type": "mcp", "server_label": "files"},
            ],
        })),
        true,
    )
    .unwrap();
    let names: Vec<_> = request.tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["read", "web_search", "files"]);
    let mut params: Vec<_> = request.params.iter().map(|param| param.name.as_str()).collect();
    params.sort_unstable();
    assert_eq!(params, ["reasoning", "text", "truncation"]);
    let hints = request.hints;
    assert!(hints.routing.is_some() && hints.user.is_some() && hints.session.is_none());
}

#[test]
fn a_conversation_object_is_the_servers() {
    for (value, held) in [
        (json!("conv_1"), true),
        (json!({"id": "conv_1"}), true),
        (json!(null), false),
    ] {
        let request = read(bytes(&json!({"conversation": value, "input": "q"})), true).unwrap();
        assert_eq!(request.server_state, held, "{value}");
    }
}

#[test]
fn bad_bodies_are_faults() {
    for (body, fault) in [
        (r#"{"model":"m"}"#, Fault::Shape),
        (r#"{"input":7}"#, Fault::Shape),
        (r#"{"input":[1]}"#, Fault::Syntax),
        (r#"{"input":[{"role":"critic","content":"x"}]}"#, Fault::Shape),
        (r#"{"input":[],"input":[]}"#, Fault::DuplicateKey),
        (r#"{"input":[],"instructions":["x"]}"#, Fault::Shape),
        (
            r#"{"input":[],"instructions":"a","instructions":"b"}"#,
            Fault::DuplicateKey,
        ),
        (
            r#"{"input":[{"type":"message","role":"user","role":"user","content":"x"}]}"#,
            Fault::DuplicateKey,
        ),
        (r#"{"input":[]} x"#, Fault::Syntax),
        (r#"{"input":["#, Fault::Syntax),
        ("\u{feff}{\"input\":[]}", Fault::Syntax),
    ] {
        assert_eq!(read(body, true).unwrap_err(), fault, "{body}");
    }
}

/// Every pair of these, in both directions, with instructions that lead and that do not.
#[test]
fn a_body_reads_the_same_after_any_other() {
    let user = |text: &str| json!({"role": "user", "content": text});
    let developer = |text: &str| json!({"role": "developer", "content": text});
    let think = json!({"type": "reasoning", "id": "rs_1", "summary": []});
    let said =
        json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "a"}]});
    let call = json!({"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"});
    let bodies = [
        json!({"instructions": "i", "input": [user("q")]}),
        json!({"instructions": "i", "input": [user("q"), think, said, user("q2")]}),
        json!({"instructions": "i", "input": [user("q"), think, said, call]}),
        json!({"instructions": "i", "input": [user("q"), user("x"), said, call]}),
        json!({"instructions": "j", "input": [developer("d"), user("q"), think, said]}),
        json!({"input": [developer("d"), developer("e"), user("q"), think, said]}),
        json!({"input": [developer("d"), user("q")], "instructions": "i", "previous_response_id": "r"}),
        json!({"input": "q", "instructions": "i"}),
    ];
    for (before, now) in bodies
        .iter()
        .flat_map(|before| bodies.iter().map(move |now| (before, now)))
    {
        for (then, lead) in [(true, true), (true, false), (false, true), (false, false)] {
            let known = read(bytes(before), then).unwrap();
            let with = read_after(bytes(now), lead, Some(&known)).unwrap();
            let alone = read(bytes(now), lead).unwrap();
            assert_eq!(with.history, alone.history, "{before} {now}");
            assert_eq!(with.chains, alone.chains);
            assert_eq!(with.head, alone.head);
            assert_eq!(with.layout, alone.layout);
            assert_eq!((with.names, with.continues), (alone.names, alone.continues));
        }
    }
}

#[test]
fn bytes_that_are_no_text_are_found_around_what_is_taken_over() {
    let body = |id: &str| {
        format!(
            r#"{{"instructions":"some words","input":[{{"role":"user","content":"q"}}],"previous_response_id":"{id}"}}"#
        )
    };
    let known = read(body("r1"), true).unwrap();
    for needle in ["{\"instr", "\"previous", "r2"] {
        let mut now = body("r2").into_bytes();
        let at = memchr::memmem::find(&now, needle.as_bytes()).unwrap() + 1;
        now[at] = 0xff;
        assert!(read_after(now, true, Some(&known)).is_err(), "{needle}");
    }
    assert!(read_after(body("r2"), true, Some(&known)).is_ok());
}
