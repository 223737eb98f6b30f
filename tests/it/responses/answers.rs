//! Answers: bodies, streams, frames.

use inkfast::wire::Framing;
use inkfast::wire::answer::{MissReason, Reader, Reading};
use inkfast::wire::format::Format;
use serde_json::{Value, json};

fn body(value: &Value) -> Reading {
    let mut reader = Reader::new(Format::OpenaiResponses, Framing::Body);
    reader.push(value.to_string().as_bytes());
    reader.finish()
}

/// A stream of events, each named after its type.
fn stream(events: &[Value]) -> Reading {
    let mut reader = Reader::new(Format::OpenaiResponses, Framing::Events);
    for event in events {
        let kind = event["type"].as_str().unwrap();
        for half in format!("event: {kind}\ndata: {event}\n\n").as_bytes().chunks(7) {
            reader.push(half);
        }
    }
    reader.finish()
}

fn message(text: &str) -> Value {
    json!({"type": "message", "role": "assistant", "content": [
        {"type": "output_text", "text": text, "annotations": []}, {"type": "refusal", "refusal": "no"}]})
}

fn call(id: &str) -> Value {
    json!({"type": "function_call", "id": "fc", "call_id": id, "name": "f", "arguments": "{}"})
}

fn usage() -> Value {
    json!({"input_tokens": 100, "input_tokens_details": {"cached_tokens": 64, "cache_write_tokens": 30}, "output_tokens": 9})
}

#[test]
fn a_body_is_read() {
    let reading = body(&json!({
        "id": "resp_1", "object": "response", "status": "completed", "model": "gpt-5.5-2026", "error": null,
        "output": [{"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]}, message("one "), message("two"),
            {"type": "web_search_call", "id": "ws"}, call("c1"), {"type": "custom_tool_call", "call_id": "c2"}],
        "usage": usage(),
    }));
    assert_eq!(
        (reading.id.as_deref(), reading.model.as_deref()),
        (Some("resp_1"), Some("gpt-5.5-2026"))
    );
    let answer = reading.answer.unwrap();
    assert_eq!(
        (answer.text.as_str(), answer.call_ids),
        ("one two", vec!["c1".to_owned(), "c2".to_owned()])
    );
    let usage = reading.usage.unwrap();
    assert_eq!(
        (
            usage.input_total,
            usage.cache_read,
            usage.cache_write,
            usage.output
        ),
        (Some(100), Some(64), Some(30), Some(9))
    );
    assert_eq!(
        (reading.stop.as_deref(), reading.errored),
        (Some("completed"), false)
    );
}

#[test]
fn a_stream_is_read_from_its_items_or_from_its_end() {
    let start = json!({"type": "response.created", "response": {"id": "resp_1", "model": "m", "status": "in_progress", "output": []}});
    let delta = json!({"type": "response.output_text.delta", "delta": "one"});
    let done = |index: u64, item: Value| json!({"type": "response.output_item.done", "output_index": index, "item": item});
    let end = |output: Value| {
        let response = json!({"id": "resp_1", "status": "completed", "output": output, "usage": usage()});
        json!({"type": "response.completed", "response": response})
    };
    let whole = json!([message("one"), call("c1"), call("c2")]);
    for events in [
        vec![
            start.clone(),
            delta.clone(),
            done(0, message("one")),
            done(2, call("c2")),
            done(1, call("c1")),
            end(whole.clone()),
        ],
        vec![
            start.clone(),
            delta.clone(),
            done(0, message("one")),
            done(1, call("c1")),
            done(2, call("c2")),
            end(json!([])),
        ],
        vec![start.clone(), delta.clone(), end(whole)],
    ] {
        let reading = stream(&events);
        let answer = reading.answer.unwrap();
        assert_eq!(
            (answer.text.as_str(), answer.call_ids.join(",").as_str()),
            ("one", "c1,c2")
        );
        assert_eq!(
            (reading.id.as_deref(), reading.usage.unwrap().cache_read),
            (Some("resp_1"), Some(64))
        );
    }
    let cut = stream(&[start, delta, done(0, message("one"))]);
    assert_eq!((cut.answer, cut.id.as_deref()), (None, Some("resp_1")));
}

#[test]
fn what_failed_or_is_not_there_yet_is_no_answer() {
    let response =
        |status: &str| json!({"id": "r", "status": status, "output": [message("x")], "usage": usage()});
    let event =
        |kind: &str, status: &str| json!({"type": format!("response.{kind}"), "response": response(status)});
    for (reading, errored) in [
        (stream(&[event("failed", "failed")]), true),
        (
            stream(&[json!({"type": "error", "code": "server_error", "message": "m"})]),
            true,
        ),
        (body(&response("failed")), true),
        (body(&json!({"error": {"message": "m"}})), true),
        (body(&response("in_progress")), false),
        (
            body(&json!({"id": "c", "object": "response.compaction", "output": [message("x")]})),
            false,
        ),
    ] {
        assert_eq!(
            (reading.answer.is_none(), reading.errored),
            (true, errored),
            "{reading:?}"
        );
    }
    let mut incomplete = event("incomplete", "incomplete");
    incomplete["response"]["incomplete_details"] = json!({"reason": "max_output_tokens"});
    let reading = stream(&[incomplete]);
    assert_eq!(
        (reading.answer.unwrap().text.as_str(), reading.stop.as_deref()),
        ("x", Some("max_output_tokens"))
    );
}

#[test]
fn the_vendors_findings_are_read() {
    let with = |found: Value| {
        body(&json!({
            "status": "completed", "output": [], "prompt_cache_diagnostics": found,
            "input_transformations": [{"id": "rs_1", "action": "removed", "reason": "prefix_mismatch", "type": "reasoning"}],
        }))
        .diagnostics
    };
    let miss = with(json!({"type": "cache_miss", "reason": "tools_changed", "cache_missed_tokens": 7}));
    let found = miss.comparison.unwrap();
    assert_eq!((found.reason, found.tokens), (MissReason::ToolsChanged, Some(7)));
    assert_eq!(
        (
            miss.transformations[0].kind.as_str(),
            miss.transformations[0].reason.as_str()
        ),
        ("reasoning", "prefix_mismatch")
    );

    let reason = |found: Value| with(found).comparison.unwrap().reason;
    assert_eq!(reason(json!({"type": "cache_hit"})), MissReason::CacheHit);
    assert_eq!(
        reason(json!({"type": "comparison_response_not_found"})),
        MissReason::ComparisonResponseNotFound
    );
    assert_eq!(
        reason(json!({"type": "cache_miss", "reason": "of_tomorrow"})),
        MissReason::Other
    );
}

#[test]
fn the_last_event_is_known_when_all_of_it_is_there() {
    let is_last = |chunk: &str| Format::OpenaiResponses.wire().is_last(chunk.as_bytes());
    let data = r#"{"type":"response.completed","response":{"id":"r"}}"#;
    let framed = format!("event: response.completed\ndata: {data}\n\n");
    for chunk in [
        data.to_owned(),
        framed.clone(),
        format!("data: {data}\n\n"),
        format!("data: {{}}\n\n{framed}"),
        framed.replace('\n', "\r\n"),
    ] {
        assert!(is_last(&chunk), "{chunk}");
    }
    assert!(is_last(r#"{"type":"error","code":"x"}"#) && is_last("event: error\ndata: {}\n\n"));
    for chunk in [
        &framed[..framed.len() - 2],
        "event: response.output_text.delta\ndata: {\"delta\":\"\\\"type\\\":\\\"response.completed\\\"\"}\n\n",
        "data: {\"type\":\"response.output_item.done\",\"item\":{\"type\":\"error\"}}\n\n",
        "data: [DONE]\n\n",
    ] {
        assert!(!is_last(chunk), "{chunk}");
    }
}
