//! Answers as JSON and as AWS messages.

use base64::{Engine, engine::general_purpose::STANDARD};
use inkfast::wire::Framing;
use inkfast::wire::answer::{Answer, Reader, Reading};
use inkfast::wire::usage::Usage;

use super::*;
use crate::streams::{header, message};

const CONVERSE: Format = Format::BedrockConverse;

/// A message with its headers in the order in which AWS writes them.
pub fn event(name: &str, payload: impl AsRef<[u8]>) -> Vec<u8> {
    let headers = [
        header(":event-type", 7, name),
        header(":content-type", 7, "application/json"),
        header(":message-type", 7, "event"),
    ];
    message(&headers, payload.as_ref())
}

fn exception(name: &str, payload: &str) -> Vec<u8> {
    let headers = [
        header(":exception-type", 7, name),
        header(":content-type", 7, "application/json"),
        header(":message-type", 7, "exception"),
    ];
    message(&headers, payload.as_bytes())
}

/// Thinking, text, a tool that the provider runs, and a call.
pub fn converse() -> Vec<Vec<u8>> {
    [
        ("messageStart", r#"{"p":"abcd","role":"assistant"}"#),
        ("contentBlockDelta", r#"{"contentBlockIndex":0,"delta":{"reasoningContent":{"text":"hidden"}},"p":"ab"}"#),
        ("contentBlockDelta", r#"{"contentBlockIndex":0,"delta":{"reasoningContent":{"signature":"c2ln"}}}"#),
        ("contentBlockStop", r#"{"contentBlockIndex":0}"#),
        ("contentBlockDelta", r#"{"contentBlockIndex":1,"delta":{"text":"Found "}}"#),
        ("contentBlockDelta", r#"{"contentBlockIndex":1,"delta":{"text":"it…"}}"#),
        ("contentBlockStop", r#"{"contentBlockIndex":1}"#),
        (
            "contentBlockStart",
            r#"{"contentBlockIndex":2,"start":{"toolUse":{"name":"search","toolUseId":"s1","type":"server_tool_use"}}}"#,
        ),
        ("contentBlockStart", r#"{"contentBlockIndex":3,"start":{"toolResult":{"toolUseId":"s1","status":"success"}}}"#),
        ("contentBlockStart", r#"{"contentBlockIndex":4,"start":{"toolUse":{"name":"read","toolUseId":"t1"}}}"#),
        ("contentBlockDelta", r#"{"contentBlockIndex":4,"delta":{"toolUse":{"input":"{\"text\":\"no\"}"}}}"#),
        ("contentBlockStop", r#"{"contentBlockIndex":4}"#),
        ("messageStop", r#"{"stopReason":"tool_use"}"#),
        (
            "metadata",
            r#"{"metrics":{"latencyMs":9},"usage":{"inputTokens":40,"outputTokens":57,"totalTokens":4397,"cacheReadInputTokens":4000,"cacheWriteInputTokens":300}}"#,
        ),
    ]
    .map(|(name, payload)| event(name, payload))
    .to_vec()
}

const CONVERSE_JSON: &str = r#"{"metrics":{"latencyMs":9},"output":{"message":{"role":"assistant","content":[{"reasoningContent":{"reasoningText":{"text":"hidden","signature":"c2ln"}}},{"text":"Found "},{"citationsContent":{"content":[{"text":"it…"}],"citations":[{"title":"t"}]}},{"toolUse":{"toolUseId":"s1","name":"search","input":{},"type":"server_tool_use"}},{"toolResult":{"toolUseId":"s1","content":[{"text":"no"}]}},{"toolUse":{"toolUseId":"t1","name":"read","input":{"text":"no"}}}]}},"stopReason":"tool_use","usage":{"inputTokens":40,"outputTokens":57,"totalTokens":4397,"cacheReadInputTokens":4000,"cacheWriteInputTokens":300}}"#;

/// The events of the Messages API, each in a chunk.
fn invoke() -> Vec<Vec<u8>> {
    [
        r#"{"type":"message_start","message":{"id":"msg_bdrk_1","type":"message","role":"assistant","model":"claude-opus-5","content":[],"stop_reason":null,"usage":{"input_tokens":40,"cache_creation_input_tokens":300,"cache_read_input_tokens":4000,"output_tokens":1}}}"#,
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Found it…"}}"#,
        r#"{"type":"content_block_stop","index":0}"#,
        r#"{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"t1","name":"read","input":{}}}"#,
        r#"{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":57}}"#,
        r#"{"type":"message_stop","amazon-bedrock-invocationMetrics":{"inputTokenCount":40,"outputTokenCount":57}}"#,
    ]
    .map(|inner| event("chunk", format!(r#"{{"bytes":"{}","p":"abc"}}"#, STANDARD.encode(inner))))
    .to_vec()
}

fn read(format: Format, framing: Framing, bytes: impl AsRef<[u8]>) -> Reading {
    let mut reader = Reader::new(format, framing);
    reader.push(bytes.as_ref());
    reader.finish()
}

fn stream(format: Format, bytes: impl AsRef<[u8]>) -> Reading {
    read(format, Framing::EventStream, bytes)
}

fn whole() -> Reading {
    Reading {
        usage: Some(Usage {
            input_total: Some(4340),
            cache_read: Some(4000),
            cache_write: Some(300),
            output: Some(57),
        }),
        stop: Some("tool_use".into()),
        answer: Some(Answer {
            text: "Found it…".into(),
            call_ids: vec!["t1".into()],
            complete: true,
        }),
        ..Reading::default()
    }
}

#[test]
fn stream_and_body_of_converse_read_alike() {
    assert_eq!(stream(CONVERSE, converse().concat()), whole());
    assert_eq!(read(CONVERSE, Framing::Body, CONVERSE_JSON), whole());
}

#[test]
fn events_of_invoke_are_in_chunks() {
    let expected = Reading {
        id: Some("msg_bdrk_1".into()),
        model: Some("claude-opus-5".into()),
        ..whole()
    };
    assert_eq!(stream(Format::AnthropicMessages, invoke().concat()), expected);
}

/// What the client sends back of an answer has the answer's mark.
#[test]
fn an_answer_comes_back_in_the_next_request() {
    let value: Value = serde_json::from_str(CONVERSE_JSON).unwrap();
    let asked = body(
        json!([]),
        &[
            user(json!([text("q")])),
            value["output"]["message"].clone(),
            user(json!([text("r")])),
        ],
    );
    let request = crate::harness::parse(CONVERSE, &asked, &Default::default(), None).unwrap();
    let answer = whole().answer.unwrap();
    let mark = inkfast::prefix::item::AnswerMark::of(&answer.text, &answer.call_ids);
    assert_eq!(request.history[1].answer, mark);
}

#[test]
fn a_stream_that_is_cut_anywhere_leaves_no_answer() {
    for (format, events, ends_at) in [
        (CONVERSE, converse(), 13),
        (Format::AnthropicMessages, invoke(), 6),
    ] {
        let stop: usize = events[..ends_at].iter().map(Vec::len).sum();
        let bytes = events.concat();
        for cut in 0..bytes.len() {
            let reading = stream(format, &bytes[..cut]);
            // Whole is only what ends behind the message that says so.
            assert_eq!(reading.answer.is_some(), cut == stop, "{format} cut at {cut}");
        }
    }
}

#[test]
fn pieces_do_not_matter() {
    let bytes = converse().concat();
    for size in [1, 7, 64] {
        let mut reader = Reader::new(CONVERSE, Framing::EventStream);
        bytes.chunks(size).for_each(|piece| reader.push(piece));
        assert_eq!(reader.finish(), whole());
    }
}

#[test]
fn an_exception_or_damage_leaves_no_answer() {
    for format in [CONVERSE, Format::AnthropicMessages] {
        let mut events = if format == CONVERSE { converse() } else { invoke() };
        events.push(exception(
            "throttlingException",
            r#"{"message":"Too many requests"}"#,
        ));
        let reading = stream(format, events.concat());
        assert!(reading.errored && reading.answer.is_none());
        assert!(reading.usage.is_some());
    }
    let mut damaged = converse().concat();
    let at = damaged.len() / 2;
    damaged[at] ^= 1;
    assert_eq!(stream(CONVERSE, damaged).answer, None);
    let mut odd = converse();
    odd.insert(
        4,
        event(
            "contentBlockDelta",
            r#"{"contentBlockIndex":1,"delta":{"text":7}}"#,
        ),
    );
    assert_eq!(stream(CONVERSE, odd.concat()).answer, None);
    let mut odd = invoke();
    odd.insert(2, event("chunk", r#"{"bytes":"%%%"}"#));
    assert_eq!(stream(Format::AnthropicMessages, odd.concat()).answer, None);
}

#[test]
fn an_error_body_is_no_answer() {
    let reading = read(
        CONVERSE,
        Framing::Body,
        r#"{"message":"The model returned an error"}"#,
    );
    assert!(reading.errored && reading.answer.is_none() && reading.usage.is_none());
    for cut in 0..CONVERSE_JSON.len() {
        if let Some(part) = CONVERSE_JSON.get(..cut) {
            assert_eq!(read(CONVERSE, Framing::Body, part).answer, None);
        }
    }
}

#[test]
fn only_a_whole_metadata_message_at_the_end_is_the_last() {
    let wire = CONVERSE.wire();
    let events = converse();
    let (last, before) = events.split_last().unwrap();
    assert!(wire.is_last(last));
    assert!(wire.is_last(&[&before[12..].concat(), &last[..]].concat()));
    assert!(before.iter().all(|event| !wire.is_last(event)));
    for cut in 0..last.len() {
        assert!(!wire.is_last(&last[..cut]));
    }
    assert!(!wire.is_last(&last[1..]));
    assert!(!wire.is_last(&[&last[..], b"x"].concat()));
    let about = event(
        "contentBlockDelta",
        r#"{"delta":{"text":"\u000b:event-type\u0007\u0000\bmetadata"}}"#,
    );
    assert!(!wire.is_last(&about));
    let stop = invoke().pop().unwrap();
    assert!(!Format::AnthropicMessages.wire().is_last(&stop));
}
