//! What each host of Chat Completions does its own way.

use inkfast::sim::{Answer, Config, Dialect, Provider};
use serde_json::{Value, json};

use super::*;

fn of(dialect: Dialect) -> Provider {
    Provider::start(Config {
        dialect,
        ..Config::default()
    })
    .unwrap()
}

fn body(tokens: usize) -> Value {
    chat_body(
        "some-model",
        json!([{"role": "user", "content": words(tokens - 2)}]),
    )
}

/// The answer to a question that was asked before.
fn second(provider: &Provider, tokens: usize) -> Value {
    chat(provider, &body(tokens));
    provider.push(Answer::text("sure").with_thinking("let me see first"));
    chat(provider, &body(tokens)).json()
}

/// The chunks of a stream of the same, usage not asked for.
fn chunks(provider: &Provider, tokens: usize) -> Vec<Value> {
    let mut body = body(tokens);
    body["stream"] = json!(true);
    let text = chat(provider, &body).text();
    let data = text.lines().filter_map(|line| line.strip_prefix("data: "));
    data.filter(|data| *data != "[DONE]")
        .map(|data| serde_json::from_str(data).unwrap())
        .collect()
}

fn cached(answer: &Value) -> Option<u64> {
    answer["usage"]["prompt_tokens_details"]["cached_tokens"].as_u64()
}

#[test]
fn deepseek_tells_hits_and_misses() {
    let provider = of(Dialect::DeepSeek);
    let answer = second(&provider, 200);
    let usage = &answer["usage"];
    assert_eq!(usage["prompt_tokens"], 200);
    assert_eq!(
        (
            &usage["prompt_cache_hit_tokens"],
            &usage["prompt_cache_miss_tokens"]
        ),
        (&json!(192), &json!(8))
    );
    assert_eq!(
        answer["choices"][0]["message"]["reasoning_content"],
        "let me see first"
    );
    // What comes back of it is prompt.
    let mut with = body(200);
    let said = json!({"role": "assistant", "content": "sure", "reasoning_content": "let me see first"});
    with["messages"].as_array_mut().unwrap().push(said);
    assert_eq!(chat_usage(&provider, &with).0, 200 + 3 + 5);
}

#[test]
fn openrouter_comments_and_charges() {
    let provider = of(Dialect::OpenRouter);
    let answer = second(&provider, 1200);
    assert_eq!(cached(&answer), Some(1152));
    let fresh = 1200 - 1152 + answer["usage"]["completion_tokens"].as_u64().unwrap();
    let cost = answer["usage"]["cost"].as_f64().unwrap();
    assert!((cost - (fresh as f64 + 115.2) / 1e6).abs() < 1e-12, "{cost}");
    assert_eq!(answer["usage"]["is_byok"], false);
    let mut streamed = body(1200);
    streamed["stream"] = json!(true);
    assert!(
        chat(&provider, &streamed)
            .text()
            .starts_with(": OPENROUTER PROCESSING\n\n")
    );
    let chunks = chunks(&provider, 1200);
    assert_eq!(
        cached(chunks.last().unwrap()),
        Some(1152),
        "told without being asked"
    );
}

#[test]
fn mistral_tells_usage_where_it_finishes() {
    let provider = of(Dialect::Mistral);
    second(&provider, 1200);
    let chunks = chunks(&provider, 1200);
    let (last, others) = chunks.split_last().unwrap();
    assert_eq!(last["choices"][0]["finish_reason"], "stop");
    assert_eq!(cached(last), Some(1152));
    assert!(others.iter().all(|chunk| chunk.get("usage").is_none()));
}

#[test]
fn mistral_streams_a_call_whole() {
    for (dialect, pieces) in [(Dialect::Mistral, 1), (Dialect::OpenAi, 3)] {
        let provider = of(dialect);
        provider.push(Answer::call("call00001", "look", json!({"path": "src/lib.rs"})));
        let calls: Vec<Value> = chunks(&provider, 1200)
            .iter()
            .filter_map(|chunk| chunk["choices"][0]["delta"].get("tool_calls").cloned())
            .collect();
        assert_eq!(calls.len(), pieces, "{calls:?}");
        let arguments: String = calls
            .iter()
            .map(|call| call[0]["function"]["arguments"].as_str().unwrap())
            .collect();
        assert_eq!(arguments, r#"{"path":"src/lib.rs"}"#);
    }
}

#[test]
fn groq_has_a_place_of_its_own() {
    let provider = of(Dialect::Groq);
    let answer = second(&provider, 1200);
    assert!(answer["x_groq"]["id"].is_string());
    assert_eq!(cached(&answer), Some(1152));
    let chunks = chunks(&provider, 1200);
    let last = chunks.last().unwrap();
    assert_eq!(last["choices"][0]["finish_reason"], "stop");
    assert_eq!(cached(&last["x_groq"]), Some(1152));
    assert!(last.get("usage").is_none());
}

#[test]
fn vllm_tells_nothing_of_the_cache() {
    let provider = of(Dialect::Vllm);
    let answer = second(&provider, 200);
    let usage = answer["usage"].as_object().unwrap();
    assert_eq!(usage["prompt_tokens_details"], Value::Null);
    assert_eq!(usage["prompt_tokens"], 200);
    assert_eq!(
        provider.recorded()[1].usage.unwrap().cached,
        192,
        "whole blocks of 16"
    );
}

#[test]
fn sglang_leaves_a_zero_out() {
    let provider = of(Dialect::Sglang);
    let first = chat(&provider, &body(50)).json();
    assert!(first["usage"].get("prompt_tokens_details").is_none());
    assert_eq!(cached(&second(&provider, 50)), Some(50));
}

#[test]
fn llama_cpp_has_timings() {
    let provider = of(Dialect::LlamaCpp);
    chat(&provider, &body(50));
    let answer = second(&provider, 60);
    let timings = &answer["timings"];
    assert_eq!(
        (&timings["cache_n"], &timings["prompt_n"]),
        (&json!(60), &json!(0))
    );
    let chunks = chunks(&provider, 65);
    let (last, others) = chunks.split_last().unwrap();
    assert_eq!(
        (&last["timings"]["cache_n"], &last["timings"]["prompt_n"]),
        (&json!(60), &json!(5))
    );
    assert!(others.iter().all(|chunk| chunk.get("timings").is_none()));
}

#[test]
fn xai_caches_in_blocks_and_copilot_opens_with_its_filters() {
    let answer = second(&of(Dialect::Xai), 200);
    assert_eq!(cached(&answer), Some(128));
    assert_eq!(
        answer["choices"][0]["message"]["reasoning_content"],
        "let me see first"
    );
    let chunks = chunks(&of(Dialect::Copilot), 200);
    assert_eq!(chunks[0]["choices"], json!([]));
    assert!(chunks[0]["prompt_filter_results"].is_array());
}

#[test]
fn only_openai_has_none_of_it() {
    let answer = second(&of(Dialect::OpenAi), 1200).to_string();
    for key in [
        "reasoning_content",
        "prompt_cache_hit_tokens",
        "cost",
        "x_groq",
        "timings",
    ] {
        assert!(!answer.contains(key), "{key}");
    }
}
