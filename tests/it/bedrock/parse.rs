//! What a body is cut into.

use bytes::Bytes;
use inkfast::prefix::Request;
use inkfast::prefix::item::{Kind, Role};
use inkfast::wire::Call;
use inkfast::wire::body::Context;
use inkfast::wire::format::Format;
use inkfast::wire::scan::Fault;

use super::*;
use crate::harness::parse;
use crate::take_over::same;

const CONVERSE: Format = Format::BedrockConverse;

fn read(body: impl Into<Bytes>) -> Request {
    parse(CONVERSE, &body.into(), &Context::default(), None).unwrap()
}

fn slice<'a>(request: &'a Request, range: &std::ops::Range<usize>) -> &'a str {
    std::str::from_utf8(&request.body[range.clone()]).unwrap()
}

const BODY: &str = r#"{ "toolConfig": {"tools": [
    {"toolSpec":{"name":"read","inputSchema":{"json":{"type":"object"}}}}, {"systemTool":{"name":"nova_grounding"}},
    {"cachePoint":{"type":"default","ttl":"1h"}}], "toolChoice": {"auto":{}}},
  "system": [{"text":"One."}, {"cachePoint":{"type":"default"}}, {"text":"Two."}],
  "messages": [
    {"role":"user","content":[{"text":"q"},{"document":{"name":"d","format":"txt","source":{"text":"t"}}},{"cachePoint":{"type":"default"}}]},
    {"role":"assistant","content":[{"reasoningContent":{"reasoningText":{"text":"hm","signature":"c2ln"}}},{"text":"a"},
      {"toolUse":{"toolUseId":"t1","name":"read","input":{"b":1,"a":2}}},
      {"toolUse":{"toolUseId":"s1","name":"nova_grounding","input":{},"type":"server_tool_use"}},{"toolResult":{"toolUseId":"s1","content":[]}}]},
    {"role":"user","content":[{"toolResult":{"toolUseId":"t1","content":[{"text":"r"}]}}, {"cachePoint":{"type":"default"}}, {"cachePoint":{"type":"default"}}]},
    {"role":"system","content":[{"toolAddition":{"tool":{"name":"x"}}}]}
  ], "additionalModelRequestFields": {"thinking":{"type":"adaptive"}}, "guardrailConfig": {"guardrailIdentifier":"g"} }"#;

#[test]
fn items_tools_head_and_parameters() {
    let request = read(BODY);
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
    let (user, assistant) = (Role::User, Role::Assistant);
    assert_eq!(
        items,
        [
            (0, Some(0), user, Kind::Content, 0),
            (0, Some(1), user, Kind::Content, 0),
            (1, Some(0), assistant, Kind::Thinking, 0),
            (1, Some(1), assistant, Kind::Content, 0),
            (1, Some(2), assistant, Kind::ToolCall, 1),
            (1, Some(3), assistant, Kind::Content, 0),
            (1, Some(4), assistant, Kind::ServerToolResult, 0),
            (2, Some(0), user, Kind::ToolResult, 0),
            (3, Some(0), Role::Operator, Kind::Content, 0),
        ]
    );
    let tools: Vec<_> = request.tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(tools, ["read", "nova_grounding"]);
    assert_eq!(request.head.texts().unwrap(), ["One.", "Two."]);
    let params: Vec<_> = request.params.iter().map(|param| param.name.as_str()).collect();
    assert_eq!(params, ["toolConfig.toolChoice", "additionalModelRequestFields"]);
    assert!(request.signed_thinking);
    assert_eq!(request.marker_ttl, Some(3600));
    // An item ends behind the markers that follow it.
    assert!(slice(&request, &request.history[1].range).ends_with(r#"{"cachePoint":{"type":"default"}}"#));
    let results = slice(&request, &request.history[7].range);
    assert!(results.starts_with(r#"{"toolResult""#) && count(results.as_bytes(), "cachePoint") == 2);
    assert_eq!(slice(&request, &request.history[0].range), r#"{"text":"q"}"#);
}

/// Adding, moving and dropping markers, and their lifetime, changes no digest.
#[test]
fn markers_are_in_no_digest() {
    let plain = read(BODY.replace(
        r#"{"cachePoint":{"type":"default"}}, {"text":"Two."}"#,
        r#"{"text":"Two."}"#,
    ));
    let bare = {
        let mut text = BODY.to_owned();
        for marker in [
            r#",{"cachePoint":{"type":"default"}}"#,
            r#", {"cachePoint":{"type":"default"}}"#,
            ",\n    {\"cachePoint\":{\"type\":\"default\",\"ttl\":\"1h\"}}",
        ] {
            assert!(text.contains(marker));
            text = text.replace(marker, "");
        }
        read(text)
    };
    let more = read(BODY.replace(
        r#"{"text":"a"},"#,
        r#"{"cachePoint":{"ttl":"5m","type":"default"}},{"text":"a"},{"cachePoint":{"type":"default"}},"#,
    ));
    let marked = read(BODY);
    assert_eq!(bare.marker_ttl, None);
    for other in [plain, bare, more] {
        assert_eq!(other.chains, marked.chains);
        let wires = |request: &Request| request.history.iter().map(|item| item.mark).collect::<Vec<_>>();
        assert_eq!(wires(&other), wires(&marked));
        assert_eq!(
            (other.head.digest, other.head.prompt),
            (marked.head.digest, marked.head.prompt)
        );
        let tools = |request: &Request| {
            request
                .tools
                .iter()
                .map(|tool| tool.mark.clone())
                .collect::<Vec<_>>()
        };
        assert_eq!(tools(&other), tools(&marked));
    }
}

#[test]
fn one_meaning_has_one_digest_and_two_have_two() {
    let tip = |content: &str| {
        let text = format!(r#"{{"messages":[{{"role":"user","content":[{content}]}}]}}"#);
        read(text).chains.last().copied()
    };
    let call = r#"{"toolUse":{"toolUseId":"t","name":"n","input":{"b":1.0,"a":"x"}}}"#;
    for same in [
        r#"{ "toolUse" : {"name":"n", "input":{"b":1,"a":"\u0078"},"toolUseId":"t"} }"#,
        r#"{"toolUse":{"toolUseId":"t","name":"n","input":{"b":1.0,"a":"x"}}},{"cachePoint":{"type":"default"}}"#,
    ] {
        assert_eq!(tip(same), tip(call), "{same}");
    }
    for other in [
        r#"{"toolUse":{"toolUseId":"t","name":"n","input":{"a":"x","b":1.0}}}"#,
        r#"{"toolUse":{"toolUseId":"u","name":"n","input":{"b":1.0,"a":"x"}}}"#,
        r#"{"text":"x","cachePoint":{"type":"default"}}"#,
    ] {
        assert_ne!(tip(other), tip(call), "{other}");
    }
}

#[test]
fn what_guards_the_head_is_no_text() {
    let guarded = json!([{"text": "One."}, {"guardContent": {"text": {"text": "Two."}}}]);
    assert_eq!(
        read(body(guarded, &[user(json!([text("q")]))])).head.texts(),
        None
    );
}

#[test]
fn a_count_of_tokens_is_read_inside() {
    let inner = r#"{"system":[{"text":"S"}],"messages":[{"role":"user","content":[{"text":"q"}]}]}"#;
    let counted = read(format!(r#"{{"input":{{"converse":{inner}}}}}"#));
    let asked = read(inner);
    assert_eq!(
        (counted.chains, counted.head.digest),
        (asked.chains, asked.head.digest)
    );
    for other in [
        r#"{"input":{"invokeModel":{"body":"e30="}}}"#.to_owned(),
        format!(r#"{{"input":{{"converse":{inner}}},"system":[{{"text":"S"}}]}}"#),
        format!(r#"{{"input":{{"converse":{inner},"converse":{inner}}}}}"#),
    ] {
        assert!(
            parse(CONVERSE, &Bytes::from(other.clone()), &Context::default(), None).is_err(),
            "{other}"
        );
    }
}

#[test]
fn bad_bodies_are_faults() {
    let fault = |text: &str| parse(CONVERSE, &Bytes::from(text.to_owned()), &Context::default(), None).err();
    for (text, expected) in [
        ("", Fault::Syntax),
        ("[]", Fault::Syntax),
        ("\u{feff}{}", Fault::Syntax),
        ("{}", Fault::Shape),
        (r#"{"messages":[]} x"#, Fault::Syntax),
        (r#"{"messages":{}}"#, Fault::Shape),
        (r#"{"messages":[],"messages":[]}"#, Fault::DuplicateKey),
        (
            r#"{"messages":[],"toolConfig":{"tools":[],"tools":[]}}"#,
            Fault::DuplicateKey,
        ),
        (r#"{"messages":[],"system":"a string"}"#, Fault::Shape),
        (r#"{"messages":[],"system":["a string"]}"#, Fault::Syntax),
        (
            r#"{"messages":[{"role":"user","content":"a string"}]}"#,
            Fault::Shape,
        ),
        (r#"{"messages":[{"role":"tool","content":[]}]}"#, Fault::Shape),
        (r#"{"messages":[{"content":[]}]}"#, Fault::Shape),
        (r#"{"messages":[{"role":"user","content":[1]}]}"#, Fault::Shape),
        (
            r#"{"messages":[{"role":"user","role":"user","content":[]}]}"#,
            Fault::DuplicateKey,
        ),
        (
            r#"{"messages":[{"role":"user","content":[{"text":"q"}"#,
            Fault::Syntax,
        ),
    ] {
        assert_eq!(fault(text), Some(expected), "{text}");
    }
}

#[test]
fn messages_that_say_nothing_are_items() {
    let request = read(
        r#"{"messages":[{"role":"user","content":[]},{"role":"user","content":[{"cachePoint":{"type":"default"}}]}]}"#,
    );
    assert_eq!(request.history.len(), 2);
    assert_eq!(request.history[0].mark, request.history[1].mark);
    assert_eq!(request.history[0].block, None);
}

/// With markers that come, go and move between two bodies.
#[test]
fn a_known_body_reads_the_same() {
    let grown = BODY.replace(
        r#"{"role":"system","content":[{"toolAddition":{"tool":{"name":"x"}}}]}"#,
        r#"{"role":"assistant","content":[{"text":"done"}]},{"role":"user","content":[{"text":"q2"},{"cachePoint":{"type":"default"}}]}"#,
    );
    let moved = grown.replacen(r#",{"cachePoint":{"type":"default"}}"#, "", 1);
    let edited = moved.replace("Two.", "Three.").replace(
        r#"{"text":"One."}, {"cachePoint":{"type":"default"}}"#,
        r#"{"text":"One."}"#,
    );
    let leading = grown.replace(r#"{"text":"One."},"#, "");
    let bodies = [BODY.to_owned(), grown, moved, edited, leading].map(Bytes::from);
    for before in &bodies {
        for now in &bodies {
            same(CONVERSE, before, now);
        }
    }
}

#[test]
fn paths() {
    let call = |path: &str| {
        Format::ALL
            .into_iter()
            .find_map(|format| Some((format, format.wire().matches(path)?, format.wire().model(path))))
    };
    let model = |name: &str| Some(name.to_owned());
    for (path, expected) in [
        ("/model/m/converse", Some((CONVERSE, Call::Messages, model("m")))),
        (
            "/gw/model/arn%3Aaws%3Ap%2Fx/converse-stream",
            Some((CONVERSE, Call::Messages, model("arn:aws:p/x"))),
        ),
        (
            "/model/m/count-tokens",
            Some((CONVERSE, Call::CountTokens, model("m"))),
        ),
        (
            "/model/m/invoke",
            Some((Format::AnthropicMessages, Call::Messages, model("m"))),
        ),
        (
            "/model/m%3A0/invoke-with-response-stream",
            Some((Format::AnthropicMessages, Call::Messages, model("m:0"))),
        ),
        (
            "/v1/messages",
            Some((Format::AnthropicMessages, Call::Messages, None)),
        ),
        ("/model/m/invoke-with-bidirectional-stream", None),
        ("/converse", None),
        ("/invoke", None),
    ] {
        assert_eq!(call(path), expected, "{path}");
    }
}

#[test]
fn invoke_takes_only_what_says_that_it_is_anthropics() {
    let context = Context {
        model: Some("anthropic.claude-opus-5"),
        ..Context::default()
    };
    let read = |text: &str| {
        parse(
            Format::AnthropicMessages,
            &Bytes::from(text.to_owned()),
            &context,
            None,
        )
    };
    let request = read(r#"{"anthropic_version":"bedrock-2023-05-31","system":"s","messages":[{"role":"user","content":"q"}]}"#).unwrap();
    assert_eq!(request.model.as_deref(), Some("anthropic.claude-opus-5"));
    for other in [
        r#"{"system":[{"text":"s"}],"messages":[{"role":"user","content":[{"text":"q"}]}]}"#,
        r#"{"inputText":"q"}"#,
        r#"{"prompt":"q"}"#,
        r#"{"messages":[{"role":"tool","content":"q"}]}"#,
        r#"{"messages":[{"role":"user","content":"what is \"anthropic_version\"?"}]}"#,
        r#"{"messages":[{"role":"user","content":[{"anthropic_version":"x"}]}]}"#,
    ] {
        assert_eq!(read(other).err(), Some(Fault::Foreign), "{other}");
    }
}
