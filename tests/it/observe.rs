//! Responses read on the side: streams as real servers shape them, whole, cut and broken.
#![allow(clippy::unwrap_used)]

use inkfast::wire::{
    Framing,
    answer::{Answer, CacheMiss, MAX_BODY, MAX_TEXT, MissReason, Reader, Reading, Transformation},
    format::Format::{self, AnthropicMessages, OpenaiChat},
    sse::SseParser,
    usage::Usage,
};
use proptest::prelude::*;

/// Two tool calls in pieces, usage in a chunk without choices, `usage: null` before it.
const CHAT_TOOLS: &str = r#"data: {"id":"chatcmpl-1","object":"chat.completion.chunk","model":"gpt-5.5","choices":[{"index":0,"delta":{"role":"assistant","content":"","refusal":null},"finish_reason":null}],"usage":null}

data: {"id":"chatcmpl-1","model":"gpt-5.5","choices":[{"index":0,"delta":{"content":"I read "},"finish_reason":null}],"usage":null}

data: {"id":"chatcmpl-1","model":"gpt-5.5","choices":[{"index":0,"delta":{"content":"both \u00e9."},"finish_reason":null}],"usage":null}

data: {"id":"chatcmpl-1","model":"gpt-5.5","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_a","type":"function","function":{"name":"read","arguments":""}}]},"finish_reason":null}],"usage":null}

data: {"id":"chatcmpl-1","model":"gpt-5.5","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"path\":"}}]},"finish_reason":null}],"usage":null}

data: {"id":"chatcmpl-1","model":"gpt-5.5","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\"a\"}"}}]},"finish_reason":null}],"usage":null}

data: {"id":"chatcmpl-1","model":"gpt-5.5","choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"call_b","type":"function","function":{"name":"read","arguments":"{}"}}]},"finish_reason":null}],"usage":null}

data: {"id":"chatcmpl-1","model":"gpt-5.5","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}],"usage":null}

data: {"id":"chatcmpl-1","model":"gpt-5.5","choices":[],"usage":{"prompt_tokens":2048,"completion_tokens":31,"total_tokens":2079,"prompt_tokens_details":{"cached_tokens":1920,"audio_tokens":0},"completion_tokens_details":{"reasoning_tokens":0}}}

data: [DONE]

"#;

const CHAT_TOOLS_JSON: &str = r#"{"id":"chatcmpl-1","object":"chat.completion","model":"gpt-5.5","choices":[{"index":0,"message":{"role":"assistant","content":"I read both é.","refusal":null,"tool_calls":[{"id":"call_a","type":"function","function":{"name":"read","arguments":"{\"path\":\"a\"}"}},{"id":"call_b","type":"function","function":{"name":"read","arguments":"{}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":2048,"completion_tokens":31,"total_tokens":2079,"prompt_tokens_details":{"cached_tokens":1920}}}"#;

/// Thinking, text in two blocks around a server tool, a client tool call, usage at both ends, comments and pings.
const MESSAGES_TOOLS: &str = r#"event: message_start
data: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-opus-5-5","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":12,"cache_creation_input_tokens":300,"cache_read_input_tokens":4000,"cache_creation":{"ephemeral_5m_input_tokens":300,"ephemeral_1h_input_tokens":0},"output_tokens":3},"diagnostics":{"cache_miss_reason":{"type":"system_changed","cache_missed_input_tokens":812}},"input_transformations":[{"type":"thinking_dropped","path":"messages.1.content.0","reason":"prefix_binding_mismatch"}]}}

event: ping
data: {"type": "ping"}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hidden"}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"c2ln"}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: content_block_start
data: {"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Looking"}}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":" it up…"}}

event: content_block_stop
data: {"type":"content_block_stop","index":1}

event: content_block_start
data: {"type":"content_block_start","index":2,"content_block":{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}}}

event: content_block_start
data: {"type":"content_block_start","index":3,"content_block":{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[]}}

event: content_block_start
data: {"type":"content_block_start","index":4,"content_block":{"type":"text","text":"Found."}}

event: content_block_start
data: {"type":"content_block_start","index":5,"content_block":{"type":"tool_use","id":"toolu_1","name":"read","input":{}}}

event: content_block_delta
data: {"type":"content_block_delta","index":5,"delta":{"type":"input_json_delta","partial_json":"{\"text\":\"not the answer\"}"}}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"input_tokens":40,"cache_creation_input_tokens":300,"cache_read_input_tokens":4000,"output_tokens":57}}

event: message_stop
data: {"type":"message_stop"}

"#;

const MESSAGES_TOOLS_JSON: &str = r#"{"id":"msg_1","type":"message","role":"assistant","model":"claude-opus-5-5","content":[{"type":"thinking","thinking":"hidden","signature":"c2ln"},{"type":"text","text":"Looking it up…"},{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}},{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[]},{"type":"text","text":"Found."},{"type":"tool_use","id":"toolu_1","name":"read","input":{"text":"not the answer"}}],"stop_reason":"tool_use","stop_sequence":null,"usage":{"input_tokens":40,"cache_creation_input_tokens":300,"cache_read_input_tokens":4000,"output_tokens":57},"diagnostics":{"cache_miss_reason":{"type":"system_changed","cache_missed_input_tokens":812}},"input_transformations":[{"type":"thinking_dropped","path":"messages.1.content.0","reason":"prefix_binding_mismatch"}]}"#;

fn framing(is_sse: bool) -> Framing {
    if is_sse { Framing::Events } else { Framing::Body }
}

fn read(format: Format, is_sse: bool, bytes: impl AsRef<[u8]>) -> Reading {
    let mut reader = Reader::new(format, framing(is_sse));
    reader.push(bytes.as_ref());
    reader.finish()
}

fn answer(text: &str, call_ids: &[&str]) -> Option<Answer> {
    Some(Answer {
        text: text.to_owned(),
        call_ids: call_ids.iter().map(|id| (*id).to_owned()).collect(),
        complete: true,
    })
}

fn usage(total: u64, read: Option<u64>, write: Option<u64>, output: u64) -> Option<Usage> {
    Some(Usage {
        input_total: Some(total),
        cache_read: read,
        cache_write: write,
        output: Some(output),
    })
}

#[test]
fn chat_stream_with_tool_calls() {
    let reading = read(OpenaiChat, true, CHAT_TOOLS);
    let expected = Reading {
        usage: usage(2048, Some(1920), None, 31),
        id: Some("chatcmpl-1".into()),
        model: Some("gpt-5.5".into()),
        stop: Some("tool_calls".into()),
        answer: answer("I read both é.", &["call_a", "call_b"]),
        ..Reading::default()
    };
    assert_eq!(reading, expected);
}

#[test]
fn messages_stream_with_thinking_and_tools() {
    let reading = read(AnthropicMessages, true, MESSAGES_TOOLS);
    assert_eq!(reading.usage, usage(4340, Some(4000), Some(300), 57));
    assert_eq!(reading.usage.and_then(|usage| usage.none()), Some(40));
    assert_eq!(reading.id.as_deref(), Some("msg_1"));
    assert_eq!(reading.stop.as_deref(), Some("tool_use"));
    assert_eq!(reading.answer, answer("Looking it up…Found.", &["toolu_1"]));
    let miss = CacheMiss {
        reason: MissReason::SystemChanged,
        tokens: Some(812),
    };
    assert_eq!(reading.diagnostics.cache_miss, Some(miss));
    let dropped = Transformation {
        kind: "thinking_dropped".into(),
        reason: "prefix_binding_mismatch".into(),
    };
    assert_eq!(reading.diagnostics.transformations, [dropped]);
}

#[test]
fn body_and_stream_of_the_same_content_read_alike() {
    assert_eq!(
        read(OpenaiChat, false, CHAT_TOOLS_JSON),
        read(OpenaiChat, true, CHAT_TOOLS)
    );
    assert_eq!(
        read(AnthropicMessages, false, MESSAGES_TOOLS_JSON),
        read(AnthropicMessages, true, MESSAGES_TOOLS)
    );
}

#[test]
fn dialects_of_chat() {
    let deepseek = r#"data: {"id":"d","choices":[{"index":0,"delta":{"role":"assistant","content":null,"reasoning_content":"hm"},"finish_reason":null}]}

data: {"id":"d","choices":[{"index":0,"delta":{"content":"Yes","reasoning_content":null},"finish_reason":"stop"}],"usage":{"prompt_tokens":300,"completion_tokens":8,"prompt_tokens_details":{"cached_tokens":256},"prompt_cache_hit_tokens":256,"prompt_cache_miss_tokens":44}}

data: [DONE]

"#;
    let reading = read(OpenaiChat, true, deepseek);
    assert_eq!(reading.usage, usage(300, Some(256), None, 8));
    assert_eq!(reading.answer, answer("Yes", &[]));

    let llama = r#"data: {"choices":[{"finish_reason":null,"index":0,"delta":{"content":"Yes"}}],"id":"l"}

data: {"choices":[{"finish_reason":"stop","index":0,"delta":{}}],"id":"l","timings":{"cache_n":236,"prompt_n":1,"prompt_ms":30.9,"predicted_n":35}}

data: [DONE]

"#;
    let reading = read(OpenaiChat, true, llama);
    assert_eq!(reading.usage, usage(237, Some(236), None, 35));

    let vllm = r#"{"id":"v","choices":[{"index":0,"message":{"role":"assistant","content":"Yes","tool_calls":[]},"finish_reason":"stop"}],"usage":{"prompt_tokens":300,"completion_tokens":8,"prompt_tokens_details":null},"prompt_logprobs":null,"kv_transfer_params":null}"#;
    let reading = read(OpenaiChat, false, vllm);
    assert_eq!(reading.usage, usage(300, None, None, 8));
    assert_eq!(reading.answer, answer("Yes", &[]));

    let parts = r#"{"choices":[{"message":{"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]},{"type":"text","text":"Y"},{"type":"text","text":"es"}]},"finish_reason":"stop"}]}"#;
    assert_eq!(read(OpenaiChat, false, parts).answer, answer("Yes", &[]));
}

#[test]
fn a_stream_without_usage_has_none() {
    let stream = "data: {\"id\":\"x\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Yes\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]";
    let reading = read(OpenaiChat, true, stream);
    assert_eq!(reading.usage, None);
    assert_eq!(reading.answer, answer("Yes", &[]));
}

#[test]
fn only_the_first_choice_counts() {
    let stream = r#"data: {"choices":[{"index":1,"delta":{"content":"B"}},{"index":0,"delta":{"content":"A"}}]}

data: {"choices":[{"index":1,"delta":{"content":"b","tool_calls":[{"index":0,"id":"other"}]},"finish_reason":"tool_calls"}]}

data: {"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}]}

"#;
    assert_eq!(read(OpenaiChat, true, stream).answer, answer("Aa", &[]));
    let body =
        r#"{"choices":[{"index":1,"message":{"content":"Bb"}},{"index":0,"message":{"content":"Aa"}}]}"#;
    assert_eq!(read(OpenaiChat, false, body).answer, answer("Aa", &[]));
}

#[test]
fn call_ids_keep_their_order_whatever_the_server_does_to_the_index() {
    let all_zero = r#"data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"x"},{"index":0,"id":"y"}]},"finish_reason":"tool_calls"}]}

"#;
    assert_eq!(read(OpenaiChat, true, all_zero).answer, answer("", &["x", "y"]));
    let late = r#"data: {"choices":[{"delta":{"tool_calls":[{"index":1,"id":"y"}]}}]}

data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"x"},{"index":1,"id":"y"},{"index":1,"id":""}]},"finish_reason":"tool_calls"}]}

"#;
    assert_eq!(read(OpenaiChat, true, late).answer, answer("", &["x", "y"]));
}

#[test]
fn an_error_in_the_stream_leaves_no_answer() {
    let anthropic = MESSAGES_TOOLS.replace(
        "event: message_stop\ndata: {\"type\":\"message_stop\"}",
        "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}",
    );
    let reading = read(AnthropicMessages, true, anthropic);
    assert!(reading.errored);
    assert_eq!(reading.answer, None);
    assert_eq!(reading.usage, usage(4340, Some(4000), Some(300), 57));

    let chat = CHAT_TOOLS.replace(
        "data: [DONE]",
        "data: {\"error\":{\"message\":\"gone\",\"code\":500}}",
    );
    let reading = read(OpenaiChat, true, chat);
    assert!(reading.errored);
    assert_eq!(reading.answer, None);

    let body = r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
    for format in Format::ALL {
        let reading = read(format, false, body);
        assert!(reading.errored && reading.answer.is_none() && reading.usage.is_none());
    }
}

/// The whole stream has an answer; no prefix of it that lacks the end has one, and none panics.
#[test]
fn a_cut_stream_leaves_no_answer() {
    for (format, stream, end) in [
        (OpenaiChat, CHAT_TOOLS, "\"finish_reason\":\"tool_calls\""),
        (AnthropicMessages, MESSAGES_TOOLS, "\"stop_reason\":\"tool_use\""),
    ] {
        let end = stream.find(end).unwrap();
        for cut in 0..stream.len() {
            let reading = read(format, true, &stream.as_bytes()[..cut]);
            assert!(reading.answer.is_none() || cut > end, "{format} cut at {cut}");
        }
    }
    let inside_e_acute = MESSAGES_TOOLS.find('…').unwrap() + 1;
    let reading = read(
        AnthropicMessages,
        true,
        &MESSAGES_TOOLS.as_bytes()[..inside_e_acute],
    );
    assert_eq!(reading.answer, None);
    assert_eq!(reading.usage, usage(4312, Some(4000), Some(300), 3));
}

#[test]
fn garbage_reads_as_nothing() {
    let nothing = Reading::default();
    let deep = format!("{{\"choices\":{}", "[".repeat(100_000));
    for bytes in [
        b"".as_slice(),
        b"<html>502</html>",
        b"\xff\xfe\0",
        b"[]",
        b"null",
        b"{}",
        deep.as_bytes(),
    ] {
        for format in Format::ALL {
            assert_eq!(read(format, false, bytes), nothing);
            assert_eq!(read(format, true, bytes), nothing);
        }
    }
}

#[test]
fn one_bad_event_takes_the_answer_but_not_the_usage() {
    for (format, stream, good, bad) in [
        (
            OpenaiChat,
            CHAT_TOOLS,
            "\"content\":\"I read \"",
            "\"content\":\"\\ud83d\"",
        ),
        (
            OpenaiChat,
            CHAT_TOOLS,
            "\"content\":\"I read \"}",
            "\"content\":\"I read \"",
        ),
        (
            AnthropicMessages,
            MESSAGES_TOOLS,
            "\"text\":\"Looking\"",
            "\"text\":\"\\ud83d\"",
        ),
        (
            AnthropicMessages,
            MESSAGES_TOOLS,
            "\"text\":\"Looking\"}",
            "\"text\":\"Looking\"",
        ),
    ] {
        let whole = read(format, true, stream);
        let reading = read(format, true, stream.replacen(good, bad, 1));
        assert_eq!(reading.answer, None);
        assert_eq!(reading.usage, whole.usage);
    }
}

#[test]
fn too_large_is_said_and_bounded() {
    let mut reader = Reader::new(OpenaiChat, Framing::Body);
    for _ in 0..=MAX_BODY / 4096 {
        reader.push(&[b' '; 4096]);
    }
    reader.push(CHAT_TOOLS_JSON.as_bytes());
    let reading = reader.finish();
    assert!(reading.truncated && reading.answer.is_none() && reading.usage.is_none());

    let long = "é".repeat(MAX_TEXT / 2) + "!";
    let body = CHAT_TOOLS_JSON.replace("I read both é.", &long);
    let stream = CHAT_TOOLS.replace("I read ", &long);
    let (body, stream) = (read(OpenaiChat, false, body), read(OpenaiChat, true, stream));
    assert_eq!(body.answer, stream.answer);
    let answer = body.answer.unwrap();
    assert!(!answer.complete && answer.text.len() == MAX_TEXT && answer.call_ids.len() == 2);

    let huge = format!("data: {}\n\n{CHAT_TOOLS}", "x".repeat(MAX_BODY));
    let reading = read(OpenaiChat, true, huge);
    assert!(reading.truncated && reading.answer.is_none() && reading.usage.is_some());
}

type Events = Vec<(Option<String>, Vec<u8>)>;

fn split(max_event: usize, pieces: &[&[u8]]) -> (Events, u64) {
    let mut parser = SseParser::new(max_event);
    let mut events = Events::new();
    let mut keep = |event: inkfast::wire::sse::Event<'_>| {
        events.push((event.event.map(str::to_owned), event.data.to_vec()));
    };
    for piece in pieces {
        parser.push(piece, &mut keep);
    }
    parser.finish(&mut keep);
    (events, parser.skipped())
}

/// Cuts `bytes` at the places that `cuts` names.
fn cut<'a>(bytes: &'a [u8], cuts: &[prop::sample::Index]) -> Vec<&'a [u8]> {
    let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
    places.extend([0, bytes.len()]);
    places.sort_unstable();
    places.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect()
}

proptest! {
    #[test]
    fn events_do_not_depend_on_the_reads(
        lines in prop::collection::vec(
            ("(data|event|id|: ping|\u{feff}|é|)", "(:|: |)", "[a-zé…]{0,9}", "(\n|\r\n|\r)"),
            0..24,
        ),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
    ) {
        let stream: String = lines.into_iter().map(|(a, b, c, d)| a + &b + &c + &d).collect();
        let bytes = stream.as_bytes();
        for max_event in [24, 1 << 20] {
            let whole = split(max_event, &[bytes]);
            prop_assert_eq!(&split(max_event, &cut(bytes, &cuts)), &whole);
            let single: Vec<&[u8]> = bytes.chunks(1).collect();
            prop_assert_eq!(&split(max_event, &single), &whole);
        }
    }

    #[test]
    fn readings_do_not_depend_on_the_reads(cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12)) {
        for (format, stream) in [(OpenaiChat, CHAT_TOOLS), (AnthropicMessages, MESSAGES_TOOLS)] {
            let mut reader = Reader::new(format, Framing::Events);
            for piece in cut(stream.as_bytes(), &cuts) {
                reader.push(piece);
            }
            prop_assert_eq!(reader.finish(), read(format, true, stream));
        }
    }

    #[test]
    fn no_bytes_make_a_reader_fail(bytes in prop::collection::vec(any::<u8>(), 0..200), is_sse: bool) {
        for format in Format::ALL {
            read(format, is_sse, &bytes);
            read(format, is_sse, [b"data: ".as_slice(), &bytes].concat());
        }
    }
}
