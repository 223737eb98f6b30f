//! Reading a body with an earlier one at hand gives what reading it alone gives.

use std::path::{Path, PathBuf};

use bytes::Bytes;
use inkfast::prefix::Request;
use inkfast::wire::body::Context;
use inkfast::wire::format::Format;
use serde_json::{Value, json};

use crate::harness::parse;

fn read(format: Format, body: &Bytes, attribution: bool, known: Option<&Request>) -> Request {
    let context = Context {
        attribution,
        ..Context::default()
    };
    parse(format, body, &context, known).unwrap()
}

#[track_caller]
pub fn same(format: Format, before: &Bytes, now: &Bytes) {
    for (then, attribution) in [(false, false), (true, true), (false, true), (true, false)] {
        let known = read(format, before, then, None);
        let with = read(format, now, attribution, Some(&known));
        let alone = read(format, now, attribution, None);
        assert_eq!(with.history, alone.history);
        assert_eq!(with.chains, alone.chains);
        assert_eq!(with.head, alone.head);
        assert_eq!(with.tools, alone.tools);
        assert_eq!(with.layout, alone.layout);
        assert_eq!(with.params, alone.params);
        assert_eq!(
            (
                with.hints,
                with.model,
                with.marker_ttl,
                with.signed_thinking,
                with.names
            ),
            (
                alone.hints,
                alone.model,
                alone.marker_ttl,
                alone.signed_thinking,
                alone.names
            )
        );
    }
}

/// Every body of every agent after each of the bodies around it.
#[test]
fn captures_read_the_same_after_any_other() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/captures");
    let mut pairs = 0;
    for agent in std::fs::read_dir(folder).unwrap() {
        let bodies = bodies(&agent.unwrap().path());
        for (at, (format, now)) in bodies.iter().enumerate() {
            for (other, before) in &bodies[at.saturating_sub(2)..(at + 3).min(bodies.len())] {
                if format == other {
                    same(*format, before, now);
                    pairs += 1;
                }
            }
        }
    }
    assert!(pairs > 100, "only {pairs} pairs");
}

fn bodies(folder: &Path) -> Vec<(Format, Bytes)> {
    let number = |number: usize| -> PathBuf { folder.join(format!("{number:03}.json")) };
    let files = (1..).map(number).take_while(|file| file.exists());
    files
        .filter_map(|file| {
            let body = Bytes::from(std::fs::read(file).unwrap());
            let value: Value = serde_json::from_slice(&body).unwrap();
            if value.get("input").is_some() {
                return Some((Format::OpenaiResponses, body));
            }
            if value.get("contents").is_some() {
                return Some((Format::Gemini, body));
            }
            value.get("messages")?;
            let anthropic = value.get("max_tokens").is_some() && value.get("system").is_some();
            let format = if anthropic {
                Format::AnthropicMessages
            } else {
                Format::OpenaiChat
            };
            Some((format, body))
        })
        .collect()
}

fn chat(heads: &[&str], history: &[&str]) -> Bytes {
    let head = heads
        .iter()
        .map(|text| json!({"role": "system", "content": text}));
    let roles = ["user", "assistant"].into_iter().cycle();
    let history = roles
        .zip(history)
        .map(|(role, text)| json!({"role": role, "content": text}));
    Bytes::from(json!({"messages": head.chain(history).collect::<Vec<_>>()}).to_string())
}

#[test]
fn other_formats_read_the_same_after_any_other_body() {
    let gemini = [
        r#"{"contents":[{"role":"user","parts":[{"text":"q"}]}],"systemInstruction":{"parts":[{"text":"s"}]}}"#,
        r#"{"system_instruction":{"parts":{"text":"s"}},"contents":[{"parts":[{"text":"q"}]},{"role":"model","parts":[{"functionCall":{"name":"f","args":{}},"thoughtSignature":"x"}]}]}"#,
        r#"{"cachedContent":"cachedContents/a","contents":[{"role":"user","parts":{"text":"q"}},{"role":"user","parts":[]}]}"#,
        r#"{"cachedContent":"cachedContents/a","systemInstruction":{"parts":[{"text":"s"}]},"contents":[{"role":"user","parts":[{"text":"q"}]}]}"#,
        r#"{"tools":[{"functionDeclarations":[{"name":"f"}]},{"googleSearch":{}}],"systemInstruction":null,"contents":[]}"#,
        r#"{"tools":{"functionDeclarations":{"name":"f"}},"contents":[{"role":"user","parts":[{"text":"q"}]}]}"#,
    ];
    let ollama = [
        r#"{"model":"m","messages":[{"role":"system","content":"s"},{"role":"user","content":"q","images":["aa"]}],"options":{"num_ctx":1}}"#,
        r#"{"model":"m","messages":[{"role":"user","content":"q","images":["aa"]},{"role":"assistant","content":"","tool_calls":[{"function":{"name":"f","arguments":{"a":1}}}]},{"role":"tool","tool_name":"f","content":"r"}],"think":true}"#,
        r#"{"model":"m","prompt":"p","system":"s","context":[1,2]}"#,
    ];
    for (format, bodies) in [(Format::Gemini, &gemini[..]), (Format::Ollama, &ollama)] {
        for before in bodies {
            for now in bodies {
                same(format, &Bytes::from(*before), &Bytes::from(*now));
            }
        }
    }
}

#[test]
fn a_head_of_more_or_fewer_messages_shifts_the_rest() {
    let history = ["q", "a", "q2", "a2", "q3"];
    let heads: [&[&str]; 4] = [&[], &["one"], &["one", "two"], &["zero", "one", "two"]];
    for before in heads {
        for now in heads {
            same(Format::OpenaiChat, &chat(before, &history), &chat(now, &history));
        }
    }
}

#[test]
fn a_shifted_history_is_taken_over() {
    // Marks that only a taken-over item can have: the known request is tampered with.
    let mut known = read(
        Format::OpenaiChat,
        &chat(&["one"], &["q", "a", "q2"]),
        false,
        None,
    );
    known.history[0].calls = 7;
    let now = read(
        Format::OpenaiChat,
        &chat(&["two", "three"], &["q", "a", "q2"]),
        false,
        Some(&known),
    );
    assert_eq!(now.history[0].calls, 7);
    assert_eq!(now.history[0].message, 2);
}

#[test]
fn a_marker_that_was_taken_over_keeps_its_lifetime() {
    let body = |more: &str| {
        Bytes::from(format!(
            r#"{{"system":"s","messages":[{{"role":"user","content":[{{"type":"text","text":"q","cache_control":{{"type":"ephemeral","ttl":"1h"}}}}]}}{more}]}}"#
        ))
    };
    let more = r#",{"role":"assistant","content":"a"},{"role":"user","content":"q2"}"#;
    same(Format::AnthropicMessages, &body(""), &body(more));
    same(Format::AnthropicMessages, &body(more), &body(""));
}

#[test]
fn bytes_that_are_no_text_are_found_around_what_is_taken_over() {
    let before = chat(&["one"], &["q", "a"]);
    let known = read(Format::OpenaiChat, &before, false, None);
    for needle in [&b"{\"messages"[..], b"\"q2\""] {
        let mut now = chat(&["one"], &["q", "a", "q2"]).to_vec();
        let at = memchr::memmem::find(&now, needle).unwrap() + 2;
        now[at] = 0xff;
        let context = Context::default();
        assert!(parse(Format::OpenaiChat, &Bytes::from(now), &context, Some(&known)).is_err());
    }
}
