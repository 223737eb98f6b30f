//! What single tools write in their own way.

use std::io::{BufRead, BufReader, Cursor, Read};

use base64::{Engine, engine::general_purpose::STANDARD};
use inkfast::audit::{Exchange, Skipped};
use inkfast::wire::format::Format;
use serde_json::{Value, json};

use super::walk::{self, KINDS};

const BODY: &str = r#"{"model":"m","messages":[{"role":"user","content":"a  ä"}]}"#;

fn read(kind: &str, text: impl Into<Vec<u8>>) -> Vec<Result<Exchange, Skipped>> {
    let kind = KINDS.iter().find(|known| known.name == kind).unwrap();
    (kind.read)("f".into(), Box::new(Cursor::new(text.into()))).collect()
}

fn one(kind: &str, text: impl Into<Vec<u8>>) -> Exchange {
    let [Ok(exchange)] = &*read(kind, text) else {
        panic!("not one exchange")
    };
    exchange.clone()
}

fn why(kind: &str, text: impl Into<Vec<u8>>) -> &'static str {
    let [Err(skipped)] = &*read(kind, text) else {
        panic!("not one that is skipped")
    };
    skipped.reason
}

fn har(change: impl Fn(&mut Value)) -> String {
    let mut entry = json!({
        "startedDateTime": "1970-01-01T00:00:01.000Z",
        "time": 500.5,
        "request": {
            "method": "POST",
            "url": "https://user:pw@h.example/v1/chat/completions?k=1",
            "headers": [{"name": "Content-Encoding", "value": "zstd"}, {"name": "X-A", "value": "b"}],
            "postData": {"mimeType": "application/json", "text": BODY},
        },
        "response": {"status": 200, "headers": [], "content": {"mimeType": "text/event-stream", "text": "data: {}\n\n"}},
    });
    change(&mut entry);
    json!({"log": {"version": "1.2", "entries": [entry]}}).to_string()
}

#[test]
fn a_har_has_bodies_without_their_encoding() {
    let exchange = one("har", har(|_| ()));
    assert_eq!(exchange.body, BODY);
    assert_eq!(
        (exchange.host.as_deref(), exchange.path.as_deref()),
        (Some("h.example"), Some("/v1/chat/completions?k=1"))
    );
    assert!(exchange.headers.get("content-encoding").is_none() && exchange.headers["x-a"] == "b");
    let answer = exchange.answer.unwrap();
    assert_eq!((answer.status, answer.ended_ms), (Some(200), Some(1500)));
    assert_eq!(answer.headers["content-type"], "text/event-stream");
}

#[test]
fn a_har_has_base64_either_way() {
    let exchange = one(
        "har",
        har(|entry| {
            entry["request"]["postData"] = json!({"text": STANDARD.encode(BODY), "encoding": "base64"});
            entry["response"]["content"] =
                json!({"text": STANDARD.encode(b"\x00\xff"), "encoding": "base64"});
        }),
    );
    assert_eq!(exchange.body, BODY);
    assert_eq!(&exchange.answer.unwrap().body[..], b"\x00\xff");
}

#[test]
fn a_har_of_python_has_bytes_that_are_no_text() {
    let text = har(|entry| entry["request"]["postData"]["text"] = json!("x<>y\u{d7ff}"));
    let exchange = one("har", text.replace("<>", "\\udcff\\udc80\\ud83e\\udd80"));
    let crab = "🦀y\u{d7ff}".as_bytes();
    assert_eq!(exchange.body, [b"x\xff\x80", crab].concat());
}

#[test]
fn har_entries_without_an_answer_or_a_prompt() {
    let aborted = one("har", har(|entry| entry["response"]["status"] = json!(0)));
    assert!(aborted.answer.is_none());
    assert_eq!(
        why("har", har(|entry| entry["request"]["method"] = json!("GET"))),
        "not_a_prompt"
    );
    assert_eq!(
        why(
            "har",
            har(|entry| entry["request"]["url"] = json!("https://h/v1/models"))
        ),
        "not_a_prompt"
    );
    assert_eq!(
        why(
            "har",
            har(|entry| entry["request"]["postData"]["text"] = Value::Null)
        ),
        "no_body"
    );
    assert_eq!(why("har", har(|entry| entry["request"] = json!(7))), "malformed");
}

/// A typed netstring of a JSON value; strings are bytes.
fn net(value: &Value) -> Vec<u8> {
    let (inner, kind) = match value {
        Value::Null => (Vec::new(), b'~'),
        Value::Bool(truth) => (truth.to_string().into_bytes(), b'!'),
        Value::Number(number) if number.is_f64() => (number.to_string().into_bytes(), b'^'),
        Value::Number(number) => (number.to_string().into_bytes(), b'#'),
        Value::String(text) => (text.clone().into_bytes(), b','),
        Value::Array(values) => (values.iter().flat_map(net).collect(), b']'),
        Value::Object(members) => {
            let both = |(name, value): (&String, &Value)| [net(&json!(name)), net(value)].concat();
            (members.iter().flat_map(both).collect(), b'}')
        }
    };
    [inner.len().to_string().as_bytes(), b":", &inner, &[kind]].concat()
}

fn flow() -> Value {
    json!({
        "type": "http",
        "version": 4,
        "websocket": null,
        "request": {
            "method": "POST", "path": "/v1/messages?beta=true", "host": "10.0.0.1", "port": 443,
            "headers": [["Host", "api.anthropic.com"], ["content-encoding", "gzip"]],
            "content": BODY, "timestamp_start": 1.5,
        },
        "response": {
            "status_code": 200, "headers": [["content-type", "application/json"]], "content": "{}", "timestamp_end": 2.25,
        },
    })
}

#[test]
fn a_flow_is_as_it_was_on_the_wire() {
    let exchange = one("flows", net(&flow()));
    assert_eq!(
        (exchange.at_ms, exchange.host.as_deref()),
        (Some(1500), Some("api.anthropic.com"))
    );
    assert_eq!(exchange.headers["content-encoding"], "gzip");
    assert_eq!(exchange.body, BODY);
    let answer = exchange.answer.unwrap();
    assert_eq!(
        (answer.status, answer.ended_ms, &answer.body[..]),
        (Some(200), Some(2250), &b"{}"[..])
    );
}

#[test]
fn flows_that_are_no_prompt_or_were_not_kept() {
    let mut failed = flow();
    failed["response"] = Value::Null;
    assert!(one("flows", net(&failed)).answer.is_none());
    let mut streamed = flow();
    streamed["request"]["content"] = Value::Null;
    assert_eq!(why("flows", net(&streamed)), "no_body");
    assert_eq!(why("flows", net(&json!({"type": "tcp"}))), "not_a_prompt");
    assert_eq!(why("flows", net(&json!({"type": "http"}))), "malformed");
    assert_eq!(why("flows", net(&json!([1]))), "malformed");
}

#[test]
fn litellm_prefers_what_was_sent() {
    let payload = json!({
        "call_type": "acompletion", "status": "success", "model": "claude", "custom_llm_provider": "bedrock",
        "startTime": 1.25, "endTime": 2.0, "messages": [{"role": "user", "content": "rebuilt"}],
        "response": {"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 1}},
        "proxy_server_request": {"body": {"messages": [{"role": "user", "content": "received"}]}},
    });
    let raw = r#"{"messages": [{"role":"user","content":[{"text":"sent"}]}],"inferenceConfig":{}}"#;
    let outer = json!({
        "standard_logging_object": payload,
        "additional_args": {"complete_input_dict": raw, "api_base": "https://b.example/model/x/converse"},
        "original_response": "{\"output\":{}}",
    });
    let sent = one("litellm", outer.to_string());
    assert_eq!(
        (&sent.body[..], sent.format),
        (raw.as_bytes(), Some(Format::BedrockConverse))
    );
    assert_eq!(
        (sent.host.as_deref(), sent.path.as_deref()),
        (Some("b.example"), Some("/model/x/converse"))
    );
    let answer = sent.answer.unwrap();
    assert_eq!(
        (&answer.body[..], answer.usage.unwrap().input_total),
        (&br#"{"output":{}}"#[..], Some(9))
    );
    let received = one("litellm", payload.to_string());
    assert_eq!(
        received.body,
        r#"{"messages":[{"content":"received","role":"user"}]}"#
    );
    assert_eq!(
        (received.host.as_deref(), received.at_ms),
        (Some("bedrock"), Some(1250))
    );
}

#[test]
fn litellm_calls_that_tell_nothing() {
    let with = |change: &dyn Fn(&mut Value)| {
        let mut payload =
            json!({"call_type": "completion", "messages": "Hello", "status": "success", "response": {}});
        change(&mut payload);
        payload.to_string()
    };
    assert_eq!(
        one("litellm", with(&|_| ())).body,
        r#"{"messages":[{"role":"user","content":"Hello"}]}"#
    );
    assert_eq!(
        why("litellm", with(&|call| call["call_type"] = json!("aembedding"))),
        "not_a_prompt"
    );
    assert_eq!(
        why("litellm", with(&|call| call["messages"] = json!({}))),
        "no_body"
    );
    let redacted = json!([{"role": "user", "content": "redacted-by-litellm"}]);
    assert_eq!(
        why("litellm", with(&|call| call["messages"] = redacted.clone())),
        "abridged"
    );
    let failed = with(&|call| {
        call["status"] = json!("failure");
        call["error_information"] = json!({"error_code": "429"});
    });
    assert_eq!(one("litellm", failed).answer.unwrap().status, Some(429));
}

#[test]
fn langfuse_inputs_of_every_kind() {
    let generation = |input: Value, output: Value| {
        json!({"type": "GENERATION", "traceId": "t", "model": "m", "input": input, "output": output})
            .to_string()
    };
    let whole = json!({"model": "n", "system": "s", "messages": [{"role": "user", "content": "x"}]});
    let anthropic = one(
        "langfuse",
        generation(whole.clone(), json!([{"type": "text", "text": "y"}])),
    );
    assert_eq!(
        (&anthropic.body[..], anthropic.format),
        (whole.to_string().as_bytes(), Some(Format::AnthropicMessages))
    );
    assert_eq!(
        anthropic.answer.unwrap().body,
        r#"{"role":"assistant","content":[{"text":"y","type":"text"}]}"#
    );
    let text = one("langfuse", generation(json!("Hi"), json!("Ho")));
    assert_eq!(
        text.body,
        r#"{"model":"m","messages":[{"role":"user","content":"Hi"}]}"#
    );
    assert_eq!(
        text.answer.unwrap().body,
        r#"{"choices":[{"message":{"role":"assistant","content":"Ho"}}]}"#
    );
    let parts = json!([{"role": "user", "parts": [{"type": "text", "content": "Hi"}]}]);
    let parts = one("langfuse", generation(parts, Value::Null));
    assert_eq!(
        parts.body,
        r#"{"model":"m","messages":[{"role":"user","content":"Hi"}]}"#
    );
    assert_eq!(
        why("langfuse", json!({"type": "SPAN", "input": "x"}).to_string()),
        "not_a_prompt"
    );
    assert_eq!(
        why("langfuse", generation(json!({"query": "x"}), Value::Null)),
        "not_a_prompt"
    );
    assert_eq!(why("langfuse", generation(Value::Null, Value::Null)), "no_body");
    let failed = json!({"type": "GENERATION", "level": "ERROR", "input": "x"});
    assert!(one("langfuse", failed.to_string()).answer.is_none());
}

#[test]
fn bedrock_bodies_that_were_delivered_apart() {
    let record = json!({
        "schemaType": "ModelInvocationLog", "operation": "Converse", "modelId": "m",
        "input": {"inputBodyS3Path": "s3://bucket/AWSLogs/data/1_input.json"},
    });
    assert_eq!(why("bedrock_logs", record.to_string()), "body_elsewhere");
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log.json");
    std::fs::create_dir(folder.path().join("data")).unwrap();
    std::fs::write(folder.path().join("data/1_input.json"), r#"{"messages":[]}"#).unwrap();
    let kind = KINDS.iter().find(|kind| kind.name == "bedrock_logs").unwrap();
    let file = log.to_str().unwrap().into();
    let read = (kind.read)(file, Box::new(Cursor::new(record.to_string().into_bytes()))).collect();
    let [found] = &*walk::exchanges(read) else {
        panic!("not one")
    };
    assert_eq!(found.body, r#"{"messages":[]}"#);
}

#[test]
fn bedrock_errors_and_other_models() {
    let with = |operation: &str, body: Value, error: Value| {
        json!({"operation": operation, "modelId": "m", "errorCode": error, "input": {"inputBodyJson": body}})
            .to_string()
    };
    let failed = one(
        "bedrock_logs",
        with("Converse", json!({"messages": []}), json!("ThrottlingException")),
    );
    assert!(failed.answer.is_none());
    assert_eq!(
        why(
            "bedrock_logs",
            with("InvokeModel", json!({"inputText": "x"}), Value::Null)
        ),
        "not_a_prompt"
    );
    assert_eq!(
        why("bedrock_logs", with("Converse", Value::Null, Value::Null)),
        "no_body"
    );
}

#[test]
fn spans_in_the_shape_of_their_provider() {
    let span =
        |attributes: Value| json!({"name": "chat", "span_id": "1", "attributes": attributes}).to_string();
    let messages = json!([
        {"role": "system", "parts": [{"type": "text", "content": "s"}]},
        {"role": "user", "parts": [{"type": "text", "content": "u"}, {"type": "blob", "data": "eA=="}]},
        {"role": "assistant", "parts": [{"type": "reasoning", "content": "r"}, {"type": "tool_call", "id": "1", "name": "f", "arguments": {"a": 1}}]},
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "1", "response": {"b": 2}}]},
    ]);
    let anthropic =
        json!({"gen_ai.provider.name": "anthropic", "gen_ai.input.messages": messages.to_string()});
    let anthropic = one("otel", span(anthropic));
    assert_eq!(anthropic.format, Some(Format::AnthropicMessages));
    assert_eq!(
        anthropic.body,
        r#"{"system":[{"type":"text","text":"s"}],"messages":[{"role":"user","content":[{"type":"text","text":"u"},{"data":"eA==","type":"blob"}]},{"role":"assistant","content":[{"type":"thinking","thinking":"r"},{"type":"tool_use","id":"1","name":"f","input":{"a":1}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":"{\"b\":2}"}]}]}"#
    );
    let chat = one(
        "otel",
        span(json!({"gen_ai.provider.name": "aws.bedrock", "gen_ai.input.messages": messages})),
    );
    assert_eq!(
        (chat.format, chat.host.as_deref()),
        (Some(Format::OpenaiChat), Some("bedrock"))
    );
    assert!(
        chat.body
            .ends_with(br#"{"role":"tool","tool_call_id":"1","content":"{\"b\":2}"}]}"#)
    );
    assert_eq!(
        why("otel", span(json!({"gen_ai.operation.name": "execute_tool"}))),
        "not_a_prompt"
    );
    assert_eq!(why("otel", span(json!({"gen_ai.request.model": "m"}))), "no_body");
    assert_eq!(why("otel", span(json!({"http.method": "GET"}))), "not_a_prompt");
    assert_eq!(
        why("otel", span(json!({"gen_ai.input.messages": "[7]"}))),
        "malformed"
    );
}

#[test]
fn a_prompt_may_be_in_an_event() {
    let messages = json!([{"role": "user", "parts": [{"type": "text", "content": "u"}]}]);
    let details = json!({"name": "gen_ai.client.inference.operation.details", "attributes": {"gen_ai.input.messages": messages}});
    let span =
        json!({"name": "chat", "attributes": {"error.type": "429"}, "events": [{"name": "x"}, details]});
    let found = one("otel", span.to_string());
    assert_eq!(found.body, r#"{"messages":[{"role":"user","content":"u"}]}"#);
    assert!(found.answer.is_none(), "it failed");
}

/// What never ends: a beginning, then one piece over and over.
fn endless(beginning: &'static str, piece: Vec<u8>) -> Box<dyn BufRead + Send> {
    struct Endless(Vec<u8>, usize);
    impl Read for Endless {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            let Self(piece, at) = self;
            let size = buffer.len().min(piece.len() - *at);
            buffer[..size].copy_from_slice(&piece[*at..*at + size]);
            *at = (*at + size) % piece.len();
            Ok(size)
        }
    }
    Box::new(BufReader::new(beginning.as_bytes().chain(Endless(piece, 0))))
}

#[test]
fn a_recording_is_not_read_whole() {
    let long = "x".repeat(1 << 20);
    let with = |mut value: Value, pointer: &str| {
        *value.pointer_mut(pointer).unwrap() = json!(long);
        value
    };
    let entry: Value = serde_json::from_str(&har(|_| ())).unwrap();
    let entry = with(entry["log"]["entries"][0].clone(), "/request/postData/text").to_string() + ",";
    let call = json!({"call_type": "completion", "messages": "", "response": {}});
    for (kind, beginning, piece) in [
        ("har", r#"{"log":{"entries":["#, entry.into_bytes()),
        ("flows", "", net(&with(flow(), "/request/content"))),
        (
            "litellm",
            "[",
            (with(call, "/messages").to_string() + ",").into_bytes(),
        ),
    ] {
        let kind = KINDS.iter().find(|known| known.name == kind).unwrap();
        let first: Vec<_> = (kind.read)("f".into(), endless(beginning, piece))
            .take(3)
            .collect();
        assert!(first.iter().all(Result::is_ok), "{}", kind.name);
    }
}
