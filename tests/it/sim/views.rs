//! What a model would see: later system messages in place, hoisted, dropped; reminders; what is recorded of a request.

use inkfast::sim::{Config, Format, LaterSystem, Operator, Provider};
use serde_json::{Value, json};

use super::*;

fn with(later_system: LaterSystem) -> Provider {
    Provider::start(Config {
        later_system,
        ..Config::default()
    })
    .unwrap()
}

/// A head of 1,100 tokens, a user message of 102, and on the second turn an answer, a system message and a question.
fn turns(second: bool) -> Value {
    let mut messages = vec![
        json!({"role": "system", "content": words(1098)}),
        json!({"role": "user", "content": words(100)}),
    ];
    if second {
        messages.push(json!({"role": "assistant", "content": "abcd"}));
        messages.push(json!({"role": "system", "content": "now be long"}));
        messages.push(json!({"role": "user", "content": "go"}));
    }
    chat_body("gpt-4o", json!(messages))
}

/// Total, cached and possible tokens of the second turn.
fn second_turn(provider: &Provider) -> (u64, u64, usize) {
    chat_usage(provider, &turns(false));
    let (total, cached) = chat_usage(provider, &turns(true));
    (total, cached, provider.recorded()[1].reach.possible)
}

fn operator(provider: &Provider) -> Operator {
    let body = turns(true).to_string();
    provider
        .effective_prompt(Format::OpenAiChat, body.as_bytes())
        .unwrap()
}

#[test]
fn in_place_keeps_the_prefix() {
    let provider = with(LaterSystem::InPlace);
    // 1,202 before; then 3 for the answer, 2 + 3 for the system message, 3 for the question.
    assert_eq!(second_turn(&provider), (1213, 1152, 1202));
    let seen = operator(&provider);
    assert_eq!(
        (seen.head, seen.later),
        (vec![words(1098)], vec!["now be long".to_owned()])
    );
    assert_eq!(provider.recorded()[1].operator, Some(operator(&provider)));
}

#[test]
fn hoisting_breaks_it() {
    let provider = with(LaterSystem::Hoist);
    // The head's 1,100 stay; the next token is another role.
    assert_eq!(second_turn(&provider), (1213, 1024, 1100));
    let seen = operator(&provider);
    assert_eq!(seen.head, [words(1098), "now be long".to_owned()]);
    assert!(seen.later.is_empty());
    assert_eq!(seen.latest(), "now be long");
}

#[test]
fn dropping_loses_it() {
    let provider = with(LaterSystem::Drop);
    assert_eq!(second_turn(&provider), (1208, 1152, 1202));
    assert!(!operator(&provider).all().contains("now be long"));
}

#[test]
fn reminders_in_user_text_count_as_operator_text() {
    let mut body = conversation(json!([
        {"role": "user", "content": [
            block("<system-reminder>\nfirst\n</system-reminder> hello <system-update>second</system-update>"),
            block("a plain <b>text</b>"),
        ]},
        {"role": "assistant", "content": "<system-reminder>not mine</system-reminder>"},
        {"role": "user", "content": "<system-reminder>open"},
        {"role": "system", "content": "third"},
    ]));
    body["system"] = json!([block("head"), block("more")]);
    let provider = start();
    let seen = provider.effective_prompt(Format::AnthropicMessages, body.to_string().as_bytes());
    let seen = seen.unwrap();
    assert_eq!(seen.head, ["head\nmore"]);
    assert_eq!(seen.later, ["first", "second", "third"]);
    assert_eq!(seen.latest(), "third");
    assert_eq!(provider.effective_prompt(Format::AnthropicMessages, b"{}"), None);
}

#[test]
fn the_attribution_block_is_prompt_unless_stripped() {
    let total = |strip_attribution| {
        let provider = Provider::start(Config {
            strip_attribution,
            ..Config::default()
        })
        .unwrap();
        let mut body = user(json!("abcd"));
        body["system"] = json!([block("x-anthropic-billing-header: abc;"), block("abcd")]);
        usage(&provider, &body).0
    };
    // System, text and one token, user, text and one token; the block itself is 1 + 8.
    assert_eq!(total(true), 6);
    assert_eq!(total(false), 15);
}

#[test]
fn requests_are_recorded_as_received() {
    let provider = start();
    let body = b"{ \"model\":\"gpt-4o\",\n \"messages\":[{\"role\":\"user\",\"content\":\"\\u00fc\"}] }";
    let headers = "X-Second: 2\r\nx-first: 1\r\nX-SECOND: 3\r\nsession_id: s\r\n";
    send(
        &provider,
        "/base/v1/chat/completions?beta=true&x=%2F",
        headers,
        body,
    );
    let record = &provider.recorded()[0];
    assert_eq!(record.body.as_ref(), body);
    assert_eq!((record.method.as_str(), record.status), ("POST", 200));
    assert_eq!(record.target, "/base/v1/chat/completions?beta=true&x=%2F");
    let names: Vec<&str> = record.headers.iter().map(|(name, _)| name.as_str()).collect();
    let wanted = [
        "Host",
        "X-Second",
        "x-first",
        "X-SECOND",
        "session_id",
        "Content-Length",
        "Connection",
    ];
    assert_eq!(names, wanted);
    assert_eq!(record.header("x-second"), Some("2"));
}

#[tokio::test]
async fn encoded_bodies_are_understood_and_kept() {
    use async_compression::tokio::write::{GzipEncoder, ZstdEncoder};
    use tokio::io::AsyncWriteExt;
    let plain = turns(false).to_string();
    let mut gzip = GzipEncoder::new(Vec::new());
    gzip.write_all(plain.as_bytes()).await.unwrap();
    gzip.shutdown().await.unwrap();
    let mut zstd = ZstdEncoder::new(Vec::new());
    zstd.write_all(plain.as_bytes()).await.unwrap();
    zstd.shutdown().await.unwrap();
    let provider = start();
    for (name, body) in [("gzip", gzip.into_inner()), ("zstd", zstd.into_inner())] {
        let headers = format!("Content-Encoding: {name}\r\n");
        let reply = send(&provider, "/v1/chat/completions", &headers, &body);
        assert_eq!(reply.json()["usage"]["prompt_tokens"], 1202, "{name}");
        assert_eq!(provider.recorded().last().unwrap().body.as_ref(), body);
        let half = &body[..body.len() / 2];
        assert_eq!(
            send(&provider, "/v1/chat/completions", &headers, half).status,
            400
        );
    }
}
