//! Gemini requests: what is read, where an update goes, and what is never touched.

use bytes::Bytes;
use inkfast::prefix::Request;
use inkfast::prefix::item::{Hints, Kind, Role};
use inkfast::wire::body::Context;
use inkfast::wire::format::Format;
use inkfast::wire::scan::Fault;

use crate::harness::{Answer, Core, Turn, parse};
use crate::rewrite::prompt;

const HOST: &str = "generativelanguage.googleapis.com";

/// As it stands in a JSON string.
fn head(mode: &str) -> String {
    prompt(mode).replace('\n', "\\n")
}

fn body(mode: &str, contents: &[&str]) -> Bytes {
    Bytes::from(format!(
        r#"{{"contents":[{}],"systemInstruction":{{"role":"user","parts":[{{"text":"{}"}}]}},"generationConfig":{{"temperature":1.0}}}}"#,
        contents.join(","),
        head(mode)
    ))
}

const ONE: &str = r#"{"role":"user","parts":[{"text":"one"}]}"#;
const TWO: &str = r#"{"parts":[{"text":"two"}],"role":"user"}"#;
const SAID: &str =
    r#"{"role":"model","parts":[{"thought":true,"text":"hm"},{"text":"Said.","thoughtSignature":"c2ln"}]}"#;
const CALL: &str = r#"{"role":"model","parts":[{"functionCall":{"name":"read","args":{"path":"a"}},"thoughtSignature":"c2ln"}]}"#;
const RESULT: &str =
    r#"{"role":"user","parts":[{"functionResponse":{"name":"read","response":{"output":"A"}}}]}"#;

fn read(text: &str) -> Request {
    parse(
        Format::Gemini,
        &Bytes::from(text.to_owned()),
        &Context::default(),
        None,
    )
    .unwrap()
}

fn said(text: &str, calls: &[&str]) -> Answer {
    Answer {
        status: 200,
        text: text.into(),
        calls: calls.iter().map(|call| (*call).to_owned()).collect(),
    }
}

fn exchange(core: &mut Core, body: &Bytes, answer: &Answer) -> Turn {
    let turn = core.exchange(body, Hints::default(), answer);
    assert_eq!(turn.guard, Ok(()));
    turn
}

/// The bytes of the only node that is new.
fn node(turn: &Turn) -> String {
    let node = turn.lowered.new_node.as_ref().expect("a new node");
    let text = String::from_utf8(node.bytes.to_vec()).unwrap();
    assert!(
        text.starts_with(r#"{"text":"<system-reminder>"#) && text.ends_with(r#"</system-reminder>"}"#),
        "{text}"
    );
    text
}

#[test]
fn an_edit_is_a_part_of_the_last_user_content_and_stays_there() {
    let mut core = Core::new(Format::Gemini, HOST);
    let first = body("plan", &[ONE]);
    assert_eq!(exchange(&mut core, &first, &said("Said.", &[])).out, first);

    let second = exchange(&mut core, &body("act", &[ONE, SAID, TWO]), &said("Done.", &[]));
    assert_eq!(
        second.plan.received.to_string(),
        "rewrite/system_changed@systemInstruction"
    );
    assert_eq!(second.plan.sent.to_string(), "extend/none");
    let node = node(&second);
    let with_node = TWO.replace(r#"{"text":"two"}"#, &format!(r#"{node},{{"text":"two"}}"#));
    assert_eq!(second.out, body("plan", &[ONE, SAID, &with_node]));

    // In another order of keys and the other spelling, and with one question more.
    let answer = r#"{"role":"model","parts":[{"text":"Done."}]}"#;
    let snake = format!(
        r#"{{"system_instruction":{{"parts":{{"text":"{}"}}}},"contents":[{ONE},{SAID},{TWO},{answer},{ONE}]}}"#,
        head("act")
    );
    let third = exchange(&mut core, &Bytes::from(snake), &said("Yes.", &[]));
    let frozen = format!(r#"{{"role":"user","parts":[{{"text":"{}"}}]}}"#, head("plan"));
    assert_eq!(
        third.out,
        format!(r#"{{"system_instruction":{frozen},"contents":[{ONE},{SAID},{with_node},{answer},{ONE}]}}"#)
    );
}

#[test]
fn an_edit_that_is_taken_back_is_a_second_update() {
    let mut core = Core::new(Format::Gemini, HOST);
    let answer = r#"{"role":"model","parts":[{"text":"Done."}]}"#;
    exchange(&mut core, &body("plan", &[ONE]), &said("Said.", &[]));
    let there = exchange(&mut core, &body("act", &[ONE, SAID, TWO]), &said("Done.", &[]));
    let back = exchange(
        &mut core,
        &body("plan", &[ONE, SAID, TWO, answer, ONE]),
        &said("Yes.", &[]),
    );
    let with = |content: &str, text: &str, node: &str| {
        let part = format!(r#"{{"text":"{text}"}}"#);
        content.replace(&part, &format!("{node},{part}"))
    };
    assert_eq!(back.plan.sent.to_string(), "extend/none");
    assert_eq!(
        back.out,
        body(
            "plan",
            &[
                ONE,
                SAID,
                &with(TWO, "two", &node(&there)),
                answer,
                &with(ONE, "one", &node(&back))
            ]
        )
    );
    assert!(node(&back).contains("Mode: plan") && !node(&there).contains("Mode: plan"));
}

#[test]
fn an_edit_behind_results_goes_into_the_users_own_content() {
    let mut core = Core::new(Format::Gemini, HOST);
    exchange(
        &mut core,
        &body("plan", &[ONE]),
        &said("", &[r#"read{"path":"a"}"#]),
    );
    let turn = exchange(
        &mut core,
        &body("act", &[ONE, CALL, RESULT, TWO]),
        &said("Yes.", &[]),
    );
    let with_node = TWO.replace(
        r#"{"text":"two"}"#,
        &format!(r#"{},{{"text":"two"}}"#, node(&turn)),
    );
    assert_eq!(turn.out, body("plan", &[ONE, CALL, RESULT, &with_node]));
}

#[test]
fn a_head_that_is_gone_is_put_back_and_cancelled() {
    let mut core = Core::new(Format::Gemini, HOST);
    let tools = r#""tools":[{"functionDeclarations":[{"name":"read"}]}]"#;
    let frozen = format!(r#"{{"parts":[{{"text":"{}"}}]}}"#, head("plan"));
    let with = |contents: &[&str]| {
        let contents = contents.join(",");
        format!(r#"{{"systemInstruction":{frozen},{tools},"contents":[{contents}]}}"#)
    };
    exchange(&mut core, &Bytes::from(with(&[ONE])), &said("Said.", &[]));
    let without = format!(r#"{{{tools},"contents":[{ONE},{SAID},{TWO}]}}"#);
    let turn = exchange(&mut core, &Bytes::from(without), &said("Yes.", &[]));
    let with_node = TWO.replace(
        r#"{"text":"two"}"#,
        &format!(r#"{},{{"text":"two"}}"#, node(&turn)),
    );
    assert_eq!(turn.out, with(&[ONE, SAID, &with_node]));
}

#[test]
fn an_edit_in_a_tool_loop_passes_through() {
    let mut core = Core::new(Format::Gemini, HOST);
    exchange(
        &mut core,
        &body("plan", &[ONE]),
        &said("", &[r#"read{"path":"a"}"#]),
    );
    let looping = body("act", &[ONE, CALL, RESULT]);
    let turn = exchange(&mut core, &looping, &said("Said.", &[]));
    assert_eq!(turn.plan.sent.to_string(), "rewrite/no_slot@systemInstruction");
    assert_eq!(turn.out, looping);
    // Text of the user's beside the results does not end the loop for us; a content of its own does.
    let beside = RESULT.replace("]}", r#",{"text":"and now?"}]}"#);
    let looping = body("do", &[ONE, CALL, &beside]);
    assert_eq!(exchange(&mut core, &looping, &said("Said.", &[])).out, looping);
    let asked = exchange(
        &mut core,
        &body("ask", &[ONE, CALL, RESULT, SAID, TWO]),
        &said("Yes.", &[]),
    );
    node(&asked);
    assert!(
        asked
            .out
            .windows(CALL.len())
            .any(|bytes| bytes == CALL.as_bytes())
    );
    assert!(
        asked
            .out
            .windows(SAID.len())
            .any(|bytes| bytes == SAID.as_bytes())
    );
}

#[test]
fn the_answer_of_a_call_is_known_again_whatever_id_the_client_gives_it() {
    for call in [
        CALL.to_owned(),
        CALL.replace(r#""name":"read""#, r#""id":"read_17","name":"read""#),
    ] {
        let mut core = Core::new(Format::Gemini, HOST);
        exchange(
            &mut core,
            &body("plan", &[ONE]),
            &said("", &[r#"read{"path":"a"}"#]),
        );
        let turn = exchange(&mut core, &body("plan", &[ONE, &call, RESULT]), &said("", &[]));
        assert!(turn.plan.carries && turn.plan.sent.to_string() == "extend/none");
        let answers = turn.request.history.iter().filter_map(|item| item.answer);
        assert!(answers.map(|answer| answer.strong).eq([false]));
    }
}

#[test]
fn cached_content_is_a_head_that_nothing_is_put_beside() {
    let mut core = Core::new(Format::Gemini, HOST);
    let body = |name: &str, contents: &[&str]| {
        Bytes::from(format!(
            r#"{{"cachedContent":"{name}","contents":[{}]}}"#,
            contents.join(",")
        ))
    };
    let first = body("cachedContents/a", &[ONE]);
    assert_eq!(exchange(&mut core, &first, &said("Said.", &[])).out, first);
    let second = body("cachedContents/a", &[ONE, SAID, TWO]);
    let turn = exchange(&mut core, &second, &said("Done.", &[]));
    assert_eq!(
        (turn.plan.sent.to_string().as_str(), turn.out),
        ("extend/none", second)
    );
    let other = body("cachedContents/b", &[ONE, SAID, TWO]);
    let turn = exchange(&mut core, &other, &said("Done.", &[]));
    assert_eq!(turn.out, other, "{}", turn.plan.sent);
    // A head that was frozen is not put beside it.
    exchange(&mut core, &self::body("plan", &[TWO]), &said("Said.", &[]));
    let later = body("cachedContents/c", &[TWO, SAID, ONE]);
    assert_eq!(exchange(&mut core, &later, &said("x", &[])).out, later);
}

#[test]
fn parts_are_items_with_a_kind() {
    let request = read(&format!(
        r#"{{"contents":[{ONE},{SAID},{CALL},{RESULT},
        {{"role":"function","parts":[{{"function_response":{{"name":"f","response":{{}}}}}}]}},
        {{"role":"model","parts":[{{"function_call":{{"name":"f"}}}},{{"codeExecutionResult":{{"outcome":"OUTCOME_OK"}}}}]}},
        {{"parts":{{"inlineData":{{"mimeType":"image/png","data":"aaaa"}}}}}},{{"role":"user"}}]}}"#
    ));
    let items: Vec<_> = request
        .history
        .iter()
        .map(|item| {
            (
                item.message,
                item.block,
                item.mark.role,
                item.mark.kind,
                item.calls,
            )
        })
        .collect();
    let (user, model) = (Role::User, Role::Assistant);
    assert_eq!(
        items,
        [
            (0, Some(0), user, Kind::Content, 0),
            (1, Some(0), model, Kind::Thinking, 0),
            (1, Some(1), model, Kind::Content, 0),
            (2, Some(0), model, Kind::ToolCall, 1),
            (3, Some(0), user, Kind::ToolResult, 0),
            (4, Some(0), user, Kind::ToolResult, 0),
            (5, Some(0), model, Kind::UnnamedCall, 1),
            (5, Some(1), model, Kind::ServerToolResult, 0),
            (6, Some(0), user, Kind::Content, 0),
            (7, None, user, Kind::Content, 0),
        ]
    );
    assert!(request.signed_thinking);
    let plain = read(r#"{"contents":[{"parts":[{"text":"\"thoughtSignature\""}]}]}"#);
    assert!(!plain.signed_thinking, "a text about it is none");
}

#[test]
fn spellings_and_the_order_of_keys_mean_the_same() {
    let plain = read(&format!(
        r#"{{"contents":[{CALL}],"systemInstruction":{{"parts":[{{"text":"s"}}]}},"toolConfig":{{"a":1}},"generationConfig":{{"thinkingConfig":{{"thinkingLevel":"HIGH"}},"topK":1}}}}"#
    ));
    let other = read(
        r#"{"generation_config":{"topK":2,"thinking_config":{"thinkingLevel":"HIGH"}},"tool_config":{ "a":1.0 },
        "system_instruction":{"parts":{"text":"\u0073"},"role":"system"},
        "contents":[{"parts":[{"thoughtSignature":"c2ln","functionCall":{"args":{"path":"a"},"name":"read"}}],"role":"model"}]}"#,
    );
    assert_eq!(plain.chains, other.chains);
    assert_eq!(
        (plain.head.digest, plain.head.prompt),
        (other.head.digest, other.head.prompt)
    );
    let names = |request: &Request| {
        request
            .params
            .iter()
            .map(|param| param.name.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(names(&plain), ["toolConfig", "generationConfig.thinkingConfig"]);
    let mut params = other.params.clone();
    params.reverse();
    assert_eq!(plain.params, params);
}

#[test]
fn each_function_and_each_tool_of_the_providers_is_one_item() {
    let request = read(
        r#"{"tools":[{"functionDeclarations":[{"name":"a","parameters":{"x":1}},{"name":"b"}],"googleSearch":{}},{"code_execution":{}}],"contents":[]}"#,
    );
    let names: Vec<_> = request.tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["a", "b", "googleSearch", "code_execution"]);
    assert_eq!(
        &request.body[request.tools[2].range.clone()],
        br#""googleSearch":{}"#
    );
}

#[test]
fn places_are_named_as_the_client_names_them() {
    let verdict = |before: &str, after: &str| {
        let mut core = Core::new(Format::Gemini, HOST);
        exchange(&mut core, &Bytes::from(before.to_owned()), &said("Said.", &[]));
        let turn = exchange(&mut core, &Bytes::from(after.to_owned()), &said("Done.", &[]));
        turn.plan.received.to_string()
    };
    let two = |first: &str| format!(r#"{{"role":"user","parts":[{{"text":"{first}"}},{{"text":"q"}}]}}"#);
    let with = |opening: &str| format!(r#"{{"contents":[{},{SAID},{TWO}]}}"#, two(opening));
    assert_eq!(
        verdict(
            &format!(r#"{{"contents":[{}]}}"#, two("monday")),
            &with("tuesday")
        ),
        "rewrite/history_edited@contents[0].parts[0]"
    );
    let tools = |text: &str, contents: &str| {
        format!(
            r#"{{"tools":[{{"functionDeclarations":[{{"name":"read","description":"{text}"}}]}}],"contents":[{contents}]}}"#
        )
    };
    assert_eq!(
        verdict(&tools("a", ONE), &tools("b", &format!("{ONE},{SAID},{TWO}"))),
        "rewrite/tool_changed@tools[0]:read"
    );
}

#[test]
fn what_cannot_be_read_without_doubt_passes() {
    for (body, fault) in [
        ("[]", Fault::Syntax),
        (r#"{"contents":[{"parts":[{"text":"x"}]}"#, Fault::Syntax),
        (r#"{"contents":[{"parts":[{"text":"x"}]}]} x"#, Fault::Syntax),
        (r#"{"generateContentRequest":{"contents":[]}}"#, Fault::Shape),
        (r#"{"contents":{"parts":[{"text":"x"}]}}"#, Fault::Shape),
        (
            r#"{"contents":[{"role":"system","parts":[{"text":"x"}]}]}"#,
            Fault::Shape,
        ),
        (
            r#"{"contents":[{"role":1,"parts":[{"text":"x"}]}]}"#,
            Fault::Shape,
        ),
        (r#"{"contents":[{"parts":"x"}]}"#, Fault::Shape),
        (r#"{"contents":[],"systemInstruction":"x"}"#, Fault::Shape),
        (r#"{"contents":[],"tools":["x"]}"#, Fault::Shape),
        (r#"{"contents":[],"contents":[]}"#, Fault::DuplicateKey),
        (
            r#"{"contents":[{"role":"user","role":"model"}]}"#,
            Fault::DuplicateKey,
        ),
        (r#"{"contents":[{"parts":[],"parts":[]}]}"#, Fault::DuplicateKey),
        (
            r#"{"contents":[],"systemInstruction":{},"system_instruction":{}}"#,
            Fault::DuplicateKey,
        ),
        (
            r#"{"contents":[],"cachedContent":"a","cached_content":"b"}"#,
            Fault::DuplicateKey,
        ),
        (r#"{"contents":[{"\u0070arts":[]}]}"#, Fault::EscapedKey),
    ] {
        let read = parse(Format::Gemini, &Bytes::from(body), &Context::default(), None);
        assert_eq!(read.map(|_| ()), Err(fault), "{body}");
    }
    let whole = body("plan", &[ONE, SAID, CALL, RESULT]);
    for cut in 0..whole.len() {
        assert!(parse(Format::Gemini, &whole.slice(..cut), &Context::default(), None).is_err());
    }
}

#[test]
fn the_path_names_the_model() {
    let wire = Format::Gemini.wire();
    for path in [
        "/v1beta/models/gemini-3.5-flash:generateContent",
        "/v1/projects/p/locations/l/publishers/google/models/gemini-3.5-flash:streamGenerateContent",
    ] {
        assert_eq!(wire.model(path).as_deref(), Some("gemini-3.5-flash"));
    }
    let claude = Format::AnthropicMessages.wire();
    let publisher = "/v1/projects/p/locations/l/publishers/anthropic/models";
    assert_eq!(
        claude
            .model(&format!("{publisher}/claude-opus-5@20260801:streamRawPredict"))
            .as_deref(),
        Some("claude-opus-5@20260801")
    );
    assert_eq!(
        claude.model(&format!("{publisher}/count-tokens:rawPredict")),
        None
    );
    assert_eq!(claude.model("/v1/messages"), None);
    let context = Context {
        model: Some("by-path"),
        ..Context::default()
    };
    let body = Bytes::from(r#"{"model":"by-body","contents":[]}"#);
    let request = parse(Format::Gemini, &body, &context, None).unwrap();
    assert_eq!(request.model.as_deref(), Some("by-path"));
}
