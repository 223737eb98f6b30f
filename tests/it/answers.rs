//! Answers of Gemini and Ollama, read on the side: streams as real servers shape them, whole, cut and broken.

use inkfast::wire::{
    Framing,
    answer::{Answer, Reader, Reading},
    format::Format::{self, Gemini, Ollama},
    usage::Usage,
};

/// Thoughts, text in pieces, two calls, the reason with the last piece; a count on every chunk.
const CHUNKS: [&str; 4] = [
    r#"{"candidates":[{"content":{"parts":[{"text":"hm","thought":true},{"text":"I read "}],"role":"model"},"index":0}],"usageMetadata":{"promptTokenCount":4200,"totalTokenCount":4200},"modelVersion":"gemini-3.5-flash","responseId":"r1"}"#,
    r#"{"candidates":[{"content":{"parts":[{"text":"both é."}],"role":"model"},"index":0,"finishReason":"FINISH_REASON_UNSPECIFIED"}],"modelVersion":"gemini-3.5-flash","responseId":"r1"}"#,
    r#"{"candidates":[{"content":{"parts":[{"functionCall":{"name":"read","args":{"path":"a","n":2}},"thoughtSignature":"c2ln"},{"functionCall":{"id":"x","name":"read","args":{}}}],"role":"model"},"index":0}],"modelVersion":"gemini-3.5-flash","responseId":"r1"}"#,
    r#"{"candidates":[{"content":{"parts":[{"text":""}],"role":"model"},"index":0,"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":4200,"cachedContentTokenCount":4096,"candidatesTokenCount":20,"thoughtsTokenCount":7,"totalTokenCount":4227},"modelVersion":"gemini-3.5-flash","responseId":"r1"}"#,
];

const WHOLE: &str = r#"{"candidates":[{"content":{"parts":[{"text":"hm","thought":true},{"text":"I read both é."},{"functionCall":{"args":{"n":2.0,"path":"a"},"name":"read"},"thoughtSignature":"c2ln"},{"functionCall":{"name":"read"}}],"role":"model"},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":4200,"cachedContentTokenCount":4096,"candidatesTokenCount":20,"thoughtsTokenCount":7,"totalTokenCount":4227},"modelVersion":"gemini-3.5-flash","responseId":"r1"}"#;

/// Thinking, text in pieces, a call, the counts in the last line.
const LINES: &str = r#"{"model":"m:8b","created_at":"2026-11-30T00:00:00Z","message":{"role":"assistant","content":"","thinking":"hm"},"done":false}
{"model":"m:8b","created_at":"2026-11-30T00:00:00Z","message":{"role":"assistant","content":"I read "},"done":false}
{"model":"m:8b","created_at":"2026-11-30T00:00:00Z","message":{"role":"assistant","content":"both é."},"done":false}
{"model":"m:8b","created_at":"2026-11-30T00:00:00Z","message":{"role":"assistant","content":"","tool_calls":[{"function":{"name":"read","arguments":{"path":"a","done":true}}}]},"done":false}
{"model":"m:8b","created_at":"2026-11-30T00:00:00Z","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","total_duration":5,"prompt_eval_count":300,"prompt_eval_duration":4,"eval_count":12,"eval_duration":1}
"#;

const LINES_JSON: &str = r#"{"model":"m:8b","created_at":"2026-11-30T00:00:00Z","message":{"role":"assistant","content":"I read both é.","thinking":"hm","tool_calls":[{"function":{"name":"read","arguments":{"done":true,"path":"a"}}}]},"done":true,"done_reason":"stop","prompt_eval_count":300,"eval_count":12}"#;

fn events() -> String {
    CHUNKS
        .iter()
        .map(|chunk| format!("data: {chunk}\r\n\r\n"))
        .collect()
}

fn array() -> String {
    format!("[{}\n]\n", CHUNKS.join(",\r\n"))
}

/// Every stream with its format and what it is cut into.
fn streams() -> [(Format, Framing, String); 3] {
    [
        (Gemini, Framing::Events, events()),
        (Gemini, Framing::Array, array()),
        (Ollama, Framing::Lines, LINES.to_owned()),
    ]
}

fn read(format: Format, framing: Framing, bytes: impl AsRef<[u8]>) -> Reading {
    let mut reader = Reader::new(format, framing);
    reader.push(bytes.as_ref());
    reader.finish()
}

fn answer(text: &str, calls: &[&str]) -> Option<Answer> {
    Some(Answer {
        text: text.to_owned(),
        call_ids: calls.iter().map(|id| (*id).to_owned()).collect(),
        complete: true,
    })
}

#[test]
fn streams_and_bodies_read_alike() {
    let gemini = Reading {
        usage: Some(Usage {
            input_total: Some(4200),
            cache_read: Some(4096),
            cache_write: None,
            output: Some(27),
        }),
        id: Some("r1".into()),
        model: Some("gemini-3.5-flash".into()),
        stop: Some("STOP".into()),
        answer: answer("I read both é.", &[r#"read{"n":2,"path":"a"}"#, "read{}"]),
        ..Reading::default()
    };
    assert_eq!(read(Gemini, Framing::Events, events()), gemini);
    assert_eq!(read(Gemini, Framing::Array, array()), gemini);
    assert_eq!(read(Gemini, Framing::Array, WHOLE), gemini);
    assert_eq!(read(Gemini, Framing::Body, WHOLE), gemini);
    let ollama = Reading {
        usage: Some(Usage {
            input_total: Some(300),
            cache_read: None,
            cache_write: None,
            output: Some(12),
        }),
        model: Some("m:8b".into()),
        stop: Some("stop".into()),
        answer: answer("I read both é.", &[r#"read{"done":true,"path":"a"}"#]),
        ..Reading::default()
    };
    assert_eq!(read(Ollama, Framing::Lines, LINES), ollama);
    assert_eq!(read(Ollama, Framing::Body, LINES_JSON), ollama);
    let generated = LINES_JSON.replace(
        r#""message":{"role":"assistant","content":"I read both é.","#,
        r#""response":"One.","was":{"#,
    );
    assert_eq!(read(Ollama, Framing::Body, generated).answer, answer("One.", &[]));
}

#[test]
fn the_framing_goes_by_the_content_type() {
    for (format, kind, framing) in [
        (Gemini, "text/event-stream", Framing::Events),
        (Gemini, "application/json", Framing::Array),
        (Ollama, "application/x-ndjson", Framing::Lines),
        (Ollama, "application/json", Framing::Body),
    ] {
        assert_eq!(format.wire().framing(kind), framing, "{format} {kind}");
    }
}

/// The whole stream has an answer; no prefix of it that lacks the end has one, and how it is cut up changes nothing.
#[test]
fn a_cut_stream_leaves_no_answer() {
    for (format, framing, stream) in streams() {
        let whole = read(format, framing, &stream);
        let end = stream
            .rfind(if format == Gemini { "STOP" } else { "done_reason" })
            .unwrap();
        for cut in 0..stream.len() {
            let (front, back) = stream.as_bytes().split_at(cut);
            let reading = read(format, framing, front);
            assert!(
                reading.answer.is_none() || cut > end,
                "{format} {framing:?} cut at {cut}"
            );
            let mut reader = Reader::new(format, framing);
            reader.push(front);
            reader.push(back);
            assert_eq!(reader.finish(), whole);
        }
    }
}

#[test]
fn a_bad_piece_takes_the_answer_but_not_the_usage() {
    for (format, framing, stream) in streams() {
        let usage = read(format, framing, &stream).usage;
        for (good, bad) in [
            (r#""I read ""#, r#""\ud83d""#),
            (r#""I read ""#, "7"),
            (r#""name":"read""#, r#""name":7"#),
        ] {
            let reading = read(format, framing, stream.replacen(good, bad, 1));
            assert_eq!(
                (reading.answer, reading.usage),
                (None, usage),
                "{format} {framing:?} {bad}"
            );
        }
    }
}

#[test]
fn errors_and_blocked_prompts_have_no_answer() {
    let error = r#"{"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}"#;
    for broken in [
        format!("data: {}\n\ndata: {error}\n\n", CHUNKS[0]),
        format!("data: {error}\n\n"),
    ] {
        let reading = read(Gemini, Framing::Events, broken);
        assert!(reading.errored && reading.answer.is_none());
    }
    for broken in [
        format!("[{},\n{error}]", CHUNKS[3]),
        format!("[{error}]"),
        error.to_owned(),
    ] {
        let reading = read(Gemini, Framing::Array, broken);
        assert!(reading.errored && reading.answer.is_none());
    }
    let blocked =
        r#"{"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"},"usageMetadata":{"promptTokenCount":9}}"#;
    let reading = read(Gemini, Framing::Array, blocked);
    assert_eq!(
        (reading.stop.as_deref(), reading.answer),
        (Some("PROHIBITED_CONTENT"), None)
    );
    let error = format!(
        "{}{{\"error\":\"an error was encountered\"}}\n",
        LINES.split_once('\n').unwrap().0
    );
    assert!(read(Ollama, Framing::Lines, error.replace("}{", "}\n{")).errored);
}

#[test]
fn arguments_in_pieces_leave_the_answer_in_doubt() {
    for piece in [
        r#"{"name":"read","partialArgs":[{"jsonPath":"$.path","stringValue":"a"}]}"#,
        r#"{"name":"read","willContinue":true}"#,
        r#"{"partialArgs":[]}"#,
    ] {
        let stream = events().replacen(r#"{"id":"x","name":"read","args":{}}"#, piece, 1);
        let reading = read(Gemini, Framing::Events, stream);
        assert!(reading.answer.is_none() && reading.usage.is_some(), "{piece}");
    }
}

#[test]
fn the_last_line_is_not_mistaken_for_text_about_it() {
    let wire = Ollama.wire();
    let lines: Vec<String> = LINES.lines().map(|line| format!("{line}\n")).collect();
    for line in &lines[..4] {
        assert!(!wire.is_last(line.as_bytes()), "{line}");
    }
    assert!(wire.is_last(lines[4].as_bytes()) && wire.is_last(LINES.as_bytes()));
    assert!(!wire.is_last(lines[4].trim_end().as_bytes()), "not whole");
    assert!(!wire.is_last(&lines[4].as_bytes()[9..]), "not all of it");
    let said = r#"{"message":{"content":"\"done\":true"},"done":false}"#;
    assert!(!wire.is_last(format!("{said}\n").as_bytes()));
    assert!(
        CHUNKS
            .iter()
            .all(|chunk| !Gemini.wire().is_last(chunk.as_bytes()))
    );
}

#[test]
fn noise_reads_as_nothing() {
    for bytes in [
        &b""[..],
        b"<html>",
        b"\xff\xfe\0",
        b"[]",
        b"null",
        b"[null]",
        b"{}",
        b"[{}]",
    ] {
        for (format, framing) in [
            (Gemini, Framing::Array),
            (Gemini, Framing::Events),
            (Ollama, Framing::Lines),
            (Ollama, Framing::Body),
        ] {
            let reading = read(format, framing, bytes);
            assert!(reading.answer.is_none() && reading.usage.is_none() && !reading.errored);
        }
    }
}
