//! Through the proxy: what reaches the upstream, what the client gets, and what is said of it.

use hyper::header::CONTENT_TYPE;
use inkfast::ledger::Ledger;
use inkfast::sim::{self, Provider};

use super::answers::{converse, event};
use super::*;
use crate::rewrite::{ask, proxy};
use crate::support::{Upstream, request, whole};

fn keys(url: &str) -> String {
    format!("[upstreams.bedrock]\nurl = \"{url}\"\nacts_as = \"{HOST}\"\n")
}

#[tokio::test]
async fn a_stream_is_forwarded_as_it_comes_and_read_on_the_side() {
    let upstream = Upstream::start(|_| async {
        let mut answer = whole(converse().concat());
        answer.headers_mut().insert(
            CONTENT_TYPE,
            "application/vnd.amazon.eventstream".parse().unwrap(),
        );
        answer
    })
    .await;
    let (running, tap) = proxy(&upstream.url(), &keys(&upstream.url()), Ledger::memory()).await;
    let path = "/model/us.anthropic.claude-opus-5-v1%3A0/converse-stream";
    let body = body(json!([text(&prompt("plan"))]), &[user(json!([text("one")]))]);
    let answer = request(running.proxy_addr, &format!("POST {path}"), &[], &body).await;
    // The text form of the answer is lossy, and so compared with its like.
    let whole = String::from_utf8_lossy(&converse().concat()).into_owned();
    assert!(answer.ends_with(&whole), "{answer}");
    assert_eq!(upstream.only().body, body);
    assert_eq!(upstream.only().head.uri.path(), path);
    let summary = tap.recv_timeout(std::time::Duration::from_secs(5)).unwrap();
    assert_eq!(
        (summary.format, summary.call, summary.passthrough),
        ("bedrock_converse", "messages", None)
    );
    assert_eq!(summary.usage.unwrap().cache_read, Some(4000));
}

#[tokio::test]
async fn a_model_that_refuses_the_message_gets_the_block() {
    let upstream = Upstream::start(|seen| async move {
        let refuses = count(&seen.body, r#""role":"system""#) > 0;
        let mut answer = if refuses {
            whole(r#"{"message":"1 validation error detected: Value 'system' at 'messages.4.member.role' failed to satisfy constraint: Member must satisfy enum value set: [user, assistant]"}"#)
        } else {
            whole(r#"{"output":{"message":{"role":"assistant","content":[{"text":"ok"}]}},"stopReason":"end_turn","usage":{"inputTokens":1,"outputTokens":1,"totalTokens":2}}"#)
        };
        if refuses {
            *answer.status_mut() = hyper::StatusCode::BAD_REQUEST;
            answer.headers_mut().insert("x-amzn-errortype", "ValidationException".parse().unwrap());
        }
        answer
    })
    .await;
    let (running, tap) = proxy(&upstream.url(), &keys(&upstream.url()), Ledger::memory()).await;
    let path = "/bedrock/model/us.anthropic.claude-opus-5-v1%3A0/converse";
    let one = [user(json!([text("one")]))];
    let two = [
        one[0].clone(),
        assistant(json!([text("ok")])),
        user(json!([text("two"), marker()])),
    ];
    for (mode, messages) in [("plan", &one[..]), ("act", &two[..])] {
        let sent = body(json!([text(&prompt(mode))]), messages);
        assert_eq!(ask(running.proxy_addr, path, &[], &sent).await.0, 200);
    }
    tap.recv_timeout(std::time::Duration::from_secs(5)).unwrap();
    let second = tap.recv_timeout(std::time::Duration::from_secs(5)).unwrap();
    assert_eq!(second.prefix.as_ref().unwrap().sent, "extend/none", "{second:?}");
    let bodies: Vec<Bytes> = upstream.seen().iter().map(|seen| seen.body.clone()).collect();
    assert_eq!(bodies.len(), 3);
    assert_eq!(count(&bodies[1], r#""role":"system""#), 1);
    assert_eq!(count(&bodies[2], "<system-reminder>"), 1);
    assert_eq!(count(&bodies[2], r#""role":"user""#), 2);
}

#[tokio::test]
async fn another_models_body_passes_with_a_reason() {
    let upstream = Upstream::plain().await;
    let (running, tap) = proxy(&upstream.url(), &keys(&upstream.url()), Ledger::memory()).await;
    let body = r#"{"inputText": "one"}"#;
    assert_eq!(
        ask(
            running.proxy_addr,
            "/model/amazon.titan-text-v1/invoke",
            &[],
            body
        )
        .await
        .0,
        200
    );
    assert_eq!(upstream.only().body, body);
    let summary = tap.recv_timeout(std::time::Duration::from_secs(5)).unwrap();
    assert_eq!(summary.passthrough, Some("foreign_body"));
}

#[tokio::test]
async fn invoke_streams_are_read_too() {
    let upstream = Upstream::start(|_| async {
        let start = r#"{"type":"message_start","message":{"id":"m","usage":{"input_tokens":4,"cache_read_input_tokens":6,"output_tokens":1}}}"#;
        let payload = format!(r#"{{"bytes":"{}"}}"#, base64::Engine::encode(&base64::engine::general_purpose::STANDARD, start));
        let mut answer = whole(event("chunk", payload));
        answer
            .headers_mut()
            .insert(CONTENT_TYPE, "application/vnd.amazon.eventstream".parse().unwrap());
        answer
    })
    .await;
    let (running, tap) = proxy(&upstream.url(), &keys(&upstream.url()), Ledger::memory()).await;
    let body = r#"{"anthropic_version":"bedrock-2023-05-31","max_tokens":9,"messages":[{"role":"user","content":"q"}]}"#;
    let path = "POST /model/anthropic.claude-opus-5-v1%3A0/invoke-with-response-stream";
    request(running.proxy_addr, path, &[], body).await;
    let summary = tap.recv_timeout(std::time::Duration::from_secs(5)).unwrap();
    assert_eq!(
        (summary.format, summary.passthrough),
        ("anthropic_messages", None)
    );
    let usage = summary.usage.unwrap();
    assert_eq!((usage.input_total, usage.cache_read), (Some(10), Some(6)));
}

/// Against a provider that checks the order of roles and keeps a cache of its own: every edited body is taken, and the
/// prefix is read from the cache.
#[tokio::test]
async fn edits_are_taken_and_the_cache_holds() {
    for (model, cached) in [
        ("us.anthropic.claude-opus-5-v1%3A0", true),
        ("meta.llama3-v1%3A0", false),
    ] {
        let provider = Provider::start(sim::Config::default()).unwrap();
        let (running, tap) = proxy(&provider.url(), &keys(&provider.url()), Ledger::memory()).await;
        let path = format!("/bedrock/model/{model}/converse");
        let mut history = vec![user(json!([text(&"Read this. ".repeat(2000))]))];
        for (turn, mode) in ["plan", "act", "plan", "act"].into_iter().enumerate() {
            let mut asked = history.clone();
            asked.last_mut().unwrap()["content"]
                .as_array_mut()
                .unwrap()
                .push(marker());
            let sent = body(json!([text(&prompt(mode))]), &asked);
            let (status, answer) = ask(running.proxy_addr, &path, &["Authorization: Bearer k"], &sent).await;
            assert_eq!(status, 200, "{answer}");
            let answer: Value = serde_json::from_str(&answer).unwrap();
            let summary = tap.recv_timeout(std::time::Duration::from_secs(5)).unwrap();
            let prefix = summary.prefix.unwrap();
            assert_eq!(prefix.nodes, turn, "{prefix:?}");
            if turn > 0 {
                assert_eq!(prefix.sent, "extend/none");
                let read = summary.usage.unwrap().cache_read;
                assert!(
                    !cached || read.is_some_and(|read| read > 2000),
                    "{read:?} at {turn}"
                );
            }
            history.push(answer["output"]["message"].clone());
            history.push(user(json!([text(&format!("And part {turn}?"))])));
        }
        assert_eq!(provider.recorded().len(), 4);
    }
}
