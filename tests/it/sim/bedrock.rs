//! Bedrock: Converse and InvokeModel, plain and as event streams, their refusals and cache points.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use inkfast::sim::{Answer, Clock, Config, Format, Provider};
use serde_json::{Value, json};

use super::*;

const OPUS: &str = "us.anthropic.claude-opus-4-8-20260301-v1%3A0";

fn post(provider: &Provider, path: &str, body: &Value) -> Reply {
    let headers = "Authorization: Bearer k\r\n";
    send(provider, path, headers, body.to_string().as_bytes())
}

fn converse(provider: &Provider, model: &str, body: &Value) -> Reply {
    post(provider, &format!("/model/{model}/converse"), body)
}

fn says(role: &str, text: &str) -> Value {
    json!({"role": role, "content": [{"text": text}]})
}

fn with(role: &str, blocks: &[Value]) -> Value {
    json!({"role": role, "content": blocks})
}

fn point() -> Value {
    json!({"cachePoint": {"type": "default"}})
}

fn tool_use(id: &str) -> Value {
    json!({"toolUse": {"toolUseId": id, "name": "f", "input": {}}})
}

fn result(id: &str) -> Value {
    json!({"toolResult": {"toolUseId": id, "content": [{"text": "ok"}]}})
}

fn tools() -> Value {
    json!({"tools": [{"toolSpec": {"name": "f", "inputSchema": {"json": {"type": "object"}}}}]})
}

/// The message of a ValidationException; none if it was answered.
fn refusal_on(model: &str, body: &Value) -> Option<String> {
    let reply = converse(&start(), model, body);
    if reply.status == 200 {
        return None;
    }
    assert_eq!(reply.status, 400);
    assert!(
        reply
            .head
            .to_lowercase()
            .contains("x-amzn-errortype: validationexception")
    );
    Some(reply.json()["message"].as_str().unwrap().to_owned())
}

fn refusal(messages: &[Value]) -> Option<String> {
    refusal_on(OPUS, &json!({"messages": messages, "toolConfig": tools()}))
}

fn assert_refused(messages: &[Value], text: &str) {
    let message = refusal(messages).unwrap_or_else(|| panic!("accepted, wanted: {text}"));
    assert!(message.contains(text), "{message}\nwanted: {text}");
}

#[test]
fn roles_alternate_from_the_user_on() {
    let turns = [says("user", "x"), says("assistant", "y"), says("user", "z")];
    assert_eq!(refusal(&turns), None);
    assert_refused(
        &[says("user", "x"), says("user", "y")],
        "must alternate between user and assistant",
    );
    assert_refused(&[says("assistant", "x")], "must start with a user message");
    assert_refused(
        &[says("user", "x"), says("developer", "y")],
        "Value at 'messages.1.role'",
    );
}

#[test]
fn later_system_messages_by_model_and_place() {
    let noted = [says("user", "x"), says("system", "n")];
    assert_eq!(refusal(&noted), None);
    assert_refused(
        &[says("user", "x"), says("system", "n"), says("user", "y")],
        "a 'system' message must be the last message or be followed by an 'assistant' message",
    );
    assert_refused(
        &[says("system", "n"), says("user", "x")],
        "messages.0: use the top-level 'system'",
    );
    for model in ["anthropic.claude-opus-4-5-20251101-v1:0", "amazon.nova-pro-v1:0"] {
        let message = refusal_on(model, &json!({"messages": noted})).unwrap();
        assert!(
            message.contains("role 'system' is not supported"),
            "{model}: {message}"
        );
    }
    let arn =
        "arn%3Aaws%3Abedrock%3Aus-east-1%3A123456789012%3Ainference-profile%2Fus.anthropic.claude-opus-5-v1";
    assert_eq!(refusal_on(arn, &json!({"messages": noted})), None);
}

#[test]
fn tool_results_answer_the_calls_in_front() {
    let calls = || with("assistant", &[tool_use("p"), tool_use("q")]);
    let both = with("user", &[result("p"), result("q"), json!({"text": "note"})]);
    assert_eq!(refusal(&[says("user", "x"), calls(), both.clone()]), None);
    assert_refused(
        &[says("user", "x"), calls(), with("user", &[result("p")])],
        "immediately after: q",
    );
    assert_refused(
        &[says("user", "x"), says("assistant", "y"), both.clone()],
        "unexpected `tool_use_id`",
    );
    let untold = json!({"messages": [says("user", "x"), calls(), both]});
    assert!(
        refusal_on(OPUS, &untold)
            .unwrap()
            .contains("toolConfig field must be defined")
    );
}

#[test]
fn at_most_four_cache_points_and_none_without_content() {
    let text = || json!({"text": "x"});
    let four = [text(), point(), text(), point(), text(), point(), text(), point()];
    assert_eq!(refusal(&[with("user", &four)]), None);
    let mut body = json!({"messages": [with("user", &four)], "system": [text(), point()]});
    let message = refusal_on(OPUS, &body).unwrap();
    assert!(message.contains("A maximum of 4 blocks"), "{message}");
    body["messages"] = json!([says("user", "x")]);
    assert_eq!(refusal_on(OPUS, &body), None);
    assert_refused(&[with("user", &[point(), text()])], "messages.0.content.0");
}

/// inputTokens, cacheReadInputTokens, cacheWriteInputTokens
fn usage(reply: &Reply) -> (u64, u64, u64) {
    assert_eq!(reply.status, 200, "{}", reply.text());
    counts(&reply.json()["usage"])
}

fn counts(usage: &Value) -> (u64, u64, u64) {
    let count = |key: &str| usage[key].as_u64().unwrap();
    let found = (
        count("inputTokens"),
        count("cacheReadInputTokens"),
        count("cacheWriteInputTokens"),
    );
    let total = found.0 + found.1 + found.2 + count("outputTokens");
    assert_eq!(count("totalTokens"), total);
    found
}

#[test]
fn cache_points_write_and_read() {
    let clock = Clock::manual();
    let provider = Provider::start(Config {
        clock: clock.clone(),
        ..Config::default()
    })
    .unwrap();
    let body = |head: usize| {
        json!({
            "system": [{"text": words(head)}, point()],
            "messages": [says("user", "abcd")],
        })
    };
    // The head is 2 more than its text, the question 3.
    assert_eq!(usage(&converse(&provider, OPUS, &body(1021))), (1026, 0, 0));
    assert_eq!(usage(&converse(&provider, OPUS, &body(1022))), (3, 0, 1024));
    assert_eq!(usage(&converse(&provider, OPUS, &body(1022))), (3, 1024, 0));
    let record = provider.recorded().pop().unwrap();
    assert_eq!(
        (record.usage.unwrap().total, record.usage.unwrap().cached),
        (1027, 1024)
    );
    clock.advance(Duration::from_secs(300));
    let reply = converse(&provider, OPUS, &body(1022));
    assert_eq!(
        reply.json()["usage"]["cacheDetails"],
        json!([{"ttl": "5m", "inputTokens": 1024}])
    );
}

#[test]
fn some_models_cache_from_another_length_on_there() {
    let body = json!({"system": [{"text": words(600)}, point()], "messages": [says("user", "abcd")]});
    assert_eq!(
        usage(&converse(&start(), "anthropic.claude-fable-5-1-v1", &body)).2,
        602
    );
    assert_eq!(
        usage(&converse(&start(), "anthropic.claude-fable-5-v1", &body)).2,
        0
    );
}

#[test]
fn an_hour_is_told_apart() {
    let long = json!({"cachePoint": {"type": "default", "ttl": "1h"}});
    let body = json!({"system": [{"text": words(1098)}, long], "messages": [says("user", "abcd")]});
    let reply = converse(&start(), OPUS, &body);
    assert_eq!(
        reply.json()["usage"]["cacheDetails"],
        json!([{"ttl": "1h", "inputTokens": 1100}])
    );
}

#[test]
fn reasoning_is_bound_to_what_stands_in_front() {
    let model = "anthropic.claude-opus-5-5-v1:0";
    let provider = start();
    provider.push(Answer::text("sure").with_thinking("hm"));
    let first = json!({"system": [{"text": "be brief"}], "messages": [says("user", "one")]});
    let answer = converse(&provider, model, &first).json()["output"]["message"].clone();
    assert_eq!(
        answer["content"][0]["reasoningContent"]["reasoningText"]["text"],
        "hm"
    );
    let mut body = first.clone();
    body["messages"] = json!([says("user", "one"), answer, says("user", "two")]);
    assert_eq!(converse(&provider, model, &body).status, 200);
    body["system"] = json!([{"text": "be long"}]);
    let reply = converse(&provider, model, &body);
    assert_eq!(reply.status, 400);
    assert!(
        reply.text().contains("bound to a different conversation"),
        "{}",
        reply.text()
    );
}

/// The frames of an event stream: headers and payload. Every length and checksum is checked.
fn frames(mut bytes: &[u8]) -> Vec<(Vec<(String, String)>, Value)> {
    let number = |at: &[u8]| u32::from_be_bytes(at[..4].try_into().unwrap());
    let mut found = Vec::new();
    while !bytes.is_empty() {
        let total = number(bytes) as usize;
        let headers = number(&bytes[4..]) as usize;
        assert_eq!(number(&bytes[8..]), crc32(&bytes[..8]), "prelude");
        assert_eq!(number(&bytes[total - 4..]), crc32(&bytes[..total - 4]), "message");
        let payload = serde_json::from_slice(&bytes[12 + headers..total - 4]).unwrap();
        found.push((header_fields(&bytes[12..12 + headers]), payload));
        bytes = &bytes[total..];
    }
    found
}

fn header_fields(mut bytes: &[u8]) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    while !bytes.is_empty() {
        let name = usize::from(bytes[0]);
        assert_eq!(bytes[1 + name], 7, "a string");
        let value = usize::from(u16::from_be_bytes([bytes[2 + name], bytes[3 + name]]));
        found.push((text(&bytes[1..=name]), text(&bytes[4 + name..4 + name + value])));
        bytes = &bytes[4 + name + value..];
    }
    found
}

/// Bit by bit, from the definition.
fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32| (crc >> 1) ^ (0xEDB8_8320 * (crc & 1));
    let byte = |crc: u32, byte: &u8| (0..8).fold(crc ^ u32::from(*byte), |crc, _| step(crc));
    !bytes.iter().fold(u32::MAX, byte)
}

fn header<'a>(frame: &'a (Vec<(String, String)>, Value), name: &str) -> &'a str {
    &frame.0.iter().find(|(n, _)| n == name).unwrap().1
}

#[test]
fn the_checksum_is_the_usual_one() {
    assert_eq!(crc32(b"123456789"), 0xCBF4_3926);
}

fn scripted() -> Answer {
    let answer = Answer::call("id1", "f", json!({"path": "src/ü.rs"})).with_thinking("let me see first");
    Answer {
        text: Some("I will read two files.".to_owned()),
        ..answer
    }
}

#[test]
fn converse_stream() {
    let provider = start();
    let body = json!({
        "system": [{"text": words(1098)}, point()],
        "messages": [says("user", "abcd")],
        "toolConfig": tools(),
    });
    provider.push(scripted());
    let reply = post(&provider, &format!("/model/{OPUS}/converse-stream"), &body);
    assert!(reply.head.contains("application/vnd.amazon.eventstream"));
    provider.push(scripted());
    let whole = converse(&provider, OPUS, &body).json();
    let content = &whole["output"]["message"]["content"];

    let frames = frames(&reply.body);
    assert!(frames.iter().all(|f| header(f, ":message-type") == "event"));
    assert!(
        frames
            .iter()
            .all(|f| header(f, ":content-type") == "application/json")
    );
    let names: Vec<&str> = frames.iter().map(|f| header(f, ":event-type")).collect();
    assert_eq!(names[0], "messageStart");
    assert_eq!(names[names.len() - 2..], ["messageStop", "metadata"]);
    let count = |name: &str| names.iter().filter(|n| **n == name).count();
    assert_eq!((count("contentBlockStart"), count("contentBlockStop")), (1, 3));
    let joined = |pointer: &str| -> String {
        let texts = frames.iter().filter_map(|(_, p)| p.pointer(pointer)?.as_str());
        texts.collect()
    };
    let spoken = &content[0]["reasoningContent"]["reasoningText"];
    assert_eq!(
        joined("/delta/reasoningContent/text"),
        spoken["text"].as_str().unwrap()
    );
    assert_eq!(joined("/delta/text"), content[1]["text"].as_str().unwrap());
    let input: Value = serde_json::from_str(&joined("/delta/toolUse/input")).unwrap();
    assert_eq!(input, content[2]["toolUse"]["input"]);
    assert_eq!(joined("/start/toolUse/toolUseId"), "id1");
    assert_eq!(joined("/stopReason"), whole["stopReason"].as_str().unwrap());
    let metadata = &frames.last().unwrap().1;
    assert!(metadata["metrics"]["latencyMs"].is_u64());
    // The tool is 3, its name 1 and its schema 5; the head 2 more than its text.
    assert_eq!(counts(&metadata["usage"]), (3, 0, 1109));
    assert_eq!(counts(&whole["usage"]), (3, 1109, 0));
}

#[test]
fn a_stream_may_end_in_an_exception() {
    let provider = start();
    provider.push(Answer::text("many words that never arrive").failing("modelStreamErrorException", "gone"));
    let body = json!({"messages": [says("user", "x")]});
    let reply = post(&provider, &format!("/model/{OPUS}/converse-stream"), &body);
    let frames = frames(&reply.body);
    let last = frames.last().unwrap();
    assert_eq!(header(last, ":message-type"), "exception");
    assert_eq!(header(last, ":exception-type"), "modelStreamErrorException");
    assert_eq!(last.1, json!({"message": "gone"}));
    assert!(frames.iter().all(|(_, payload)| payload.get("usage").is_none()));
}

fn invoke_body() -> Value {
    json!({
        "anthropic_version": "bedrock-2023-05-31",
        "max_tokens": 8,
        "system": [marked(&words(1100))],
        "messages": [{"role": "user", "content": "abcd"}],
    })
}

#[test]
fn invoke_with_anthropic_bodies() {
    let provider = start();
    let invoke = |body: &Value| post(&provider, &format!("/model/{OPUS}/invoke"), body);
    let reply = invoke(&invoke_body());
    assert_eq!(usage_of(&reply.json()["usage"]), (3, 0, 1102, 0));
    assert_eq!(reply.json()["type"], "message");

    let path = format!("/model/{OPUS}/invoke-with-response-stream");
    let frames = frames(&post(&provider, &path, &invoke_body()).body);
    let event = |frame: &(Vec<(String, String)>, Value)| -> Value {
        assert_eq!(header(frame, ":event-type"), "chunk");
        assert!(frame.1["p"].is_string());
        let bytes = STANDARD.decode(frame.1["bytes"].as_str().unwrap()).unwrap();
        serde_json::from_slice(&bytes).unwrap()
    };
    let events: Vec<Value> = frames.iter().map(event).collect();
    assert_eq!(usage_of(&events[0]["message"]["usage"]), (3, 1102, 0, 0));
    let last = events.last().unwrap();
    assert_eq!(last["type"], "message_stop");
    let metrics = &last["amazon-bedrock-invocationMetrics"];
    assert_eq!(
        (&metrics["inputTokenCount"], &metrics["cacheReadInputTokenCount"]),
        (&json!(3), &json!(1102))
    );
    assert_eq!(metrics["cacheWriteInputTokenCount"], 0);
    assert!(events.iter().all(|event| event["type"] != "ping"));

    for (key, value) in [
        ("model", json!(CLAUDE)),
        ("stream", json!(true)),
        ("anthropic_version", json!(null)),
    ] {
        let mut body = invoke_body();
        body[key] = value;
        let reply = invoke(&body);
        assert_eq!(reply.status, 400, "{key}");
        assert!(reply.json()["message"].is_string(), "in AWS's shape");
    }
    provider.push(Answer::error(429, "slow down"));
    let reply = invoke(&invoke_body());
    assert_eq!(
        (reply.status, reply.json()),
        (429, json!({"message": "slow down"}))
    );
    assert!(reply.head.contains("ThrottlingException"), "{}", reply.head);
}

#[test]
fn tokens_of_either_kind_are_counted() {
    let provider = start();
    let path = format!("/model/{OPUS}/count-tokens");
    let conversation = json!({"input": {"converse": {"messages": [says("user", "abcd")]}}});
    assert_eq!(
        post(&provider, &path, &conversation).json(),
        json!({"inputTokens": 3})
    );
    let encoded = STANDARD.encode(invoke_body().to_string());
    let invocation = json!({"input": {"invokeModel": {"body": encoded}}});
    assert_eq!(
        post(&provider, &path, &invocation).json(),
        json!({"inputTokens": 1105})
    );
    assert_eq!(post(&provider, &path, &json!({"input": {}})).status, 400);
}

#[test]
fn the_operator_of_a_body() {
    let body = json!({
        "system": [{"text": "head"}],
        "messages": [says("user", "<system-reminder>\nfirst\n</system-reminder>"), says("system", "second")],
    })
    .to_string();
    let provider = start();
    let target = format!("/model/{OPUS}/converse");
    let seen = provider.effective_prompt_at(&target, body.as_bytes()).unwrap();
    assert_eq!(
        (seen.head, seen.later),
        (
            vec!["head".to_owned()],
            vec!["first".to_owned(), "second".to_owned()]
        )
    );
    // Without the path no model is known that takes a later system message.
    assert_eq!(
        provider.effective_prompt(Format::BedrockConverse, body.as_bytes()),
        None
    );
}
