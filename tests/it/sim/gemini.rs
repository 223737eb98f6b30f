//! Gemini and Vertex: paths, both spellings, refusals, signatures, implicit and explicit caches, the two streams.

use std::time::Duration;

use inkfast::sim::{Answer, Clock, Config, Format, Provider};
use serde_json::{Value, json};

use super::*;

const FLASH: &str = "gemini-2.5-flash";
const SIGNING: &str = "gemini-3.1-pro";

fn ask(provider: &Provider, model: &str, verb: &str, body: &Value) -> Reply {
    let path = format!("/v1beta/models/{model}:{verb}");
    send(
        provider,
        &path,
        "x-goog-api-key: k\r\n",
        body.to_string().as_bytes(),
    )
}

fn says(role: &str, text: &str) -> Value {
    json!({"role": role, "parts": [{"text": text}]})
}

fn call(name: &str) -> Value {
    json!({"functionCall": {"name": name, "args": {}}})
}

fn response(name: &str) -> Value {
    json!({"functionResponse": {"name": name, "response": {"ok": true}}})
}

fn with(role: &str, parts: &[Value]) -> Value {
    json!({"role": role, "parts": parts})
}

/// Status and message of an error; none if it was answered.
fn refusal(model: &str, contents: &[Value]) -> Option<(u16, String)> {
    let provider = start();
    let reply = ask(
        &provider,
        model,
        "generateContent",
        &json!({"contents": contents}),
    );
    if reply.status == 200 {
        return None;
    }
    let error = reply.json()["error"].clone();
    assert_eq!(error["code"], reply.status);
    assert_eq!(error["status"], "INVALID_ARGUMENT");
    Some((reply.status, error["message"].as_str().unwrap().to_owned()))
}

fn assert_refused(contents: &[Value], text: &str) {
    let (status, message) = refusal(FLASH, contents).unwrap_or_else(|| panic!("accepted, wanted: {text}"));
    assert_eq!(status, 400);
    assert!(message.contains(text), "{message}\nwanted: {text}");
}

#[test]
fn roles_are_user_model_and_function() {
    for role in ["user", "model", "function"] {
        assert_eq!(
            refusal(FLASH, &[says("user", "x"), says(role, "y")]),
            None,
            "{role}"
        );
    }
    assert_eq!(refusal(FLASH, &[json!({"parts": [{"text": "x"}]})]), None);
    for role in ["system", "assistant", "developer"] {
        let contents = [says("user", "x"), says(role, "y")];
        assert_refused(&contents, "Please use a valid role: user, model.");
    }
    assert_refused(&[], "contents is not specified");
    assert_refused(&[with("user", &[])], "contents[0].parts");
}

#[test]
fn responses_follow_their_calls_in_equal_number() {
    let calls = || with("model", &[call("a"), call("b")]);
    let both = [response("a"), response("b")];
    assert_eq!(
        refusal(FLASH, &[says("user", "x"), calls(), with("user", &both)]),
        None
    );
    // A text behind the responses is taken; one content later they would come too late.
    let and_text = [response("a"), response("b"), json!({"text": "note"})];
    assert_eq!(
        refusal(FLASH, &[says("user", "x"), calls(), with("user", &and_text)]),
        None
    );
    let unequal = "the number of function response parts is equal to the number of function call parts";
    assert_refused(&[says("user", "x"), calls(), with("user", &both[..1])], unequal);
    assert_refused(
        &[
            says("user", "x"),
            calls(),
            says("user", "note"),
            with("user", &both),
        ],
        unequal,
    );
    assert_refused(&[says("user", "x"), calls()], unequal);
    assert_refused(
        &[says("user", "x"), with("user", &both)],
        "function response turn comes immediately after a function call turn",
    );
}

#[test]
fn a_step_may_come_back_in_several_contents() {
    let provider = start();
    let mut contents = tool_loop(&provider);
    let parts = contents[1]["parts"].as_array().unwrap().clone();
    let pieces = parts.iter().map(|part| with("model", std::slice::from_ref(part)));
    contents.splice(1..2, pieces);
    assert_eq!(answered(&provider, &contents), Ok(()));

    let both = contents.pop().unwrap();
    contents.push(with("user", &[response("a")]));
    let unequal = answered(&provider, &contents).unwrap_err();
    assert!(
        unequal.contains("equal to the number of function call parts"),
        "{unequal}"
    );
    *contents.last_mut().unwrap() = both;
    contents[1]["parts"][0]
        .as_object_mut()
        .unwrap()
        .remove("thoughtSignature");
    let missing = answered(&provider, &contents).unwrap_err();
    assert!(missing.contains("missing a thought_signature"), "{missing}");
}

/// A first call on a model that signs, as the client sends it back with its result.
fn tool_loop(provider: &Provider) -> Vec<Value> {
    provider.push(Answer::call("i1", "a", json!({"n": 1})).and_call("i2", "b", json!({})));
    let body = json!({"contents": [says("user", "x")]});
    let answer = ask(provider, SIGNING, "generateContent", &body).json();
    let content = answer["candidates"][0]["content"].clone();
    assert!(content["parts"][0]["thoughtSignature"].is_string(), "{content}");
    assert!(content["parts"][1].get("thoughtSignature").is_none(), "{content}");
    let results = with("user", &[response("a"), response("b")]);
    vec![says("user", "x"), content, results]
}

fn answered(provider: &Provider, contents: &[Value]) -> Result<(), String> {
    let reply = ask(
        provider,
        SIGNING,
        "generateContent",
        &json!({"contents": contents}),
    );
    match reply.status {
        200 => Ok(()),
        _ => Err(reply.message()),
    }
}

#[test]
fn signatures_of_the_current_turn_come_back() {
    let provider = start();
    let contents = tool_loop(&provider);
    assert_eq!(answered(&provider, &contents), Ok(()));

    let mut bare = contents.clone();
    bare[1]["parts"][0]
        .as_object_mut()
        .unwrap()
        .remove("thoughtSignature");
    let missing = answered(&provider, &bare).unwrap_err();
    assert!(missing.contains("missing a thought_signature"), "{missing}");
    assert!(missing.contains("contents[1].parts[0]"), "{missing}");
    // Once the user has spoken, the turn is an earlier one.
    bare.extend([says("model", "done"), says("user", "next")]);
    assert_eq!(answered(&provider, &bare), Ok(()));
    // A text beside the results is the user speaking, too.
    bare.truncate(3);
    bare[2]["parts"]
        .as_array_mut()
        .unwrap()
        .push(json!({"text": "note"}));
    assert_eq!(answered(&provider, &bare), Ok(()));
}

#[test]
fn a_signature_belongs_to_its_call() {
    let provider = start();
    let contents = tool_loop(&provider);
    let mut changed = contents.clone();
    changed[1]["parts"][0]["functionCall"]["args"]["n"] = json!(2);
    let invalid = Err("Thought signature is not valid.".to_owned());
    assert_eq!(answered(&provider, &changed), invalid);
    // What stands in front does not matter.
    let mut edited = contents.clone();
    edited[0] = says("user", "y");
    assert_eq!(answered(&provider, &edited), Ok(()));

    let strict = Provider::start(Config {
        accept_foreign_thinking: false,
        ..Config::default()
    })
    .unwrap();
    assert_eq!(answered(&strict, &tool_loop(&strict)), Ok(()));
    let mut broken = tool_loop(&strict);
    let signature = broken[1]["parts"][0]["thoughtSignature"]
        .as_str()
        .unwrap()
        .to_owned();
    broken[1]["parts"][0]["thoughtSignature"] = json!(signature.replace(&signature[5..6], "~"));
    assert_eq!(answered(&strict, &broken), invalid);
}

/// promptTokenCount, cachedContentTokenCount (none where it is left out)
fn counts(reply: &Reply) -> (u64, Option<u64>) {
    assert_eq!(reply.status, 200, "{}", reply.text());
    let usage = &reply.json()["usageMetadata"];
    let count = |key: &str| usage[key].as_u64();
    let output = count("candidatesTokenCount").unwrap() + count("thoughtsTokenCount").unwrap_or(0);
    let prompt = count("promptTokenCount").unwrap();
    assert_eq!(count("totalTokenCount"), Some(prompt + output));
    (prompt, count("cachedContentTokenCount"))
}

#[test]
fn both_spellings_are_one_prompt() {
    let provider = start();
    let camel = json!({
        "systemInstruction": {"parts": [{"text": words(3000)}]},
        "contents": [says("user", "abcd")],
        "tools": [{"functionDeclarations": [{"name": "f"}]}],
    });
    let snake = json!({
        "system_instruction": {"parts": {"text": words(3000)}},
        "contents": [says("user", "abcd")],
        "tools": [{"function_declarations": [{"name": "f"}]}],
    });
    // Tool 3 + 1 + schema 1; head 1 + 1 + 3,000; content 3.
    assert_eq!(
        counts(&ask(&provider, FLASH, "generateContent", &camel)),
        (3010, None)
    );
    assert_eq!(
        counts(&ask(&provider, FLASH, "generateContent", &snake)),
        (3010, Some(3010))
    );
    let records = provider.recorded();
    assert_eq!(records[1].operator.as_ref().unwrap().head, [words(3000)]);
    let seen = provider.effective_prompt(Format::Gemini, snake.to_string().as_bytes());
    assert_eq!(seen.unwrap().latest(), words(3000));
}

#[test]
fn minimum_by_generation() {
    for (model, minimum) in [(FLASH, 2_048), ("gemini-3.8-flash", 4_096)] {
        let provider = start();
        let of = |tokens: usize| json!({"contents": [says("user", &words(tokens - 2))]});
        let twice = |body: &Value| {
            ask(&provider, model, "generateContent", body);
            counts(&ask(&provider, model, "generateContent", body)).1
        };
        assert_eq!(twice(&of(minimum - 1)), None, "{model}");
        assert_eq!(twice(&of(minimum)), Some(minimum as u64), "{model}");
        let longer = ask(&provider, model, "generateContent", &of(minimum + 3));
        assert_eq!(counts(&longer).1, Some(minimum as u64), "{model}");
    }
    let provider = start();
    let body = json!({"contents": [says("user", &words(9000))]});
    ask(&provider, "gemini-2.0-flash", "generateContent", &body);
    assert_eq!(
        counts(&ask(&provider, "gemini-2.0-flash", "generateContent", &body)).1,
        None
    );
}

fn streamed(provider: &Provider, query: &str) -> (Reply, Answer) {
    let answer =
        Answer::text("I will read two files, one after the other.").with_thinking("let me see first");
    let answer = answer.and_call("i", "read", json!({"path": "src/ü.rs"}));
    provider.push(answer.clone());
    let verb = format!("streamGenerateContent{query}");
    let body = json!({"contents": [says("user", "x")]});
    (ask(provider, SIGNING, &verb, &body), answer)
}

fn assert_chunks(chunks: &[Value], answer: &Answer) {
    let parts: Vec<&Value> = chunks
        .iter()
        .map(|c| &c["candidates"][0]["content"]["parts"][0])
        .collect();
    let joined = |thought: bool| -> String {
        let some = parts.iter().filter(|p| (p["thought"] == true) == thought);
        some.filter_map(|p| p["text"].as_str()).collect()
    };
    assert_eq!(joined(true), *answer.thinking.as_ref().unwrap());
    assert_eq!(joined(false), *answer.text.as_ref().unwrap());
    let (last, others) = chunks.split_last().unwrap();
    assert!(others.len() > 3);
    assert_eq!(last["candidates"][0]["finishReason"], "STOP");
    assert_eq!(parts.last().unwrap()["functionCall"]["args"]["path"], "src/ü.rs");
    let outputs: Vec<u64> = chunks
        .iter()
        .map(|c| c["usageMetadata"]["totalTokenCount"].as_u64().unwrap())
        .collect();
    assert!(outputs.is_sorted() && outputs[0] < outputs[outputs.len() - 1]);
    assert_eq!(last["usageMetadata"]["promptTokenCount"], 3);
    assert_eq!(last["usageMetadata"]["thoughtsTokenCount"], 4);
}

#[test]
fn a_stream_is_events_or_an_array() {
    let provider = start();
    let (reply, answer) = streamed(&provider, "?alt=sse");
    assert!(reply.head.contains("text/event-stream"), "{}", reply.head);
    let text = reply.text();
    let data = text.split("\n\n").filter(|event| !event.is_empty());
    let chunks: Vec<Value> = data
        .map(|event| serde_json::from_str(event.strip_prefix("data: ").unwrap()).unwrap())
        .collect();
    assert_chunks(&chunks, &answer);

    let (reply, answer) = streamed(&provider, "?key=k");
    assert!(reply.head.contains("application/json"), "{}", reply.head);
    assert!(reply.head.contains("chunked"), "it goes out in pieces");
    assert_chunks(reply.json().as_array().unwrap(), &answer);
    let usage = provider.recorded()[1].usage.unwrap();
    assert_eq!(usage.output, 4 + 11 + count_of(&answer));
}

/// Tokens of the answer's call.
fn count_of(answer: &Answer) -> usize {
    let (_, name, arguments) = &answer.tool_calls[0];
    inkfast::sim::count(name) + inkfast::sim::count(&arguments.to_string())
}

#[test]
fn a_stream_may_fail_in_the_middle() {
    let provider = start();
    provider.push(Answer::text("many words that never arrive").failing("UNAVAILABLE", "gone"));
    let body = json!({"contents": [says("user", "x")]});
    let reply = ask(&provider, FLASH, "streamGenerateContent", &body);
    let chunks = reply.json();
    let chunks = chunks.as_array().unwrap();
    assert_eq!(chunks[chunks.len() - 1]["error"]["status"], "UNAVAILABLE");
    assert!(chunks[0]["candidates"].is_array());
}

#[test]
fn tokens_are_counted_with_and_without_the_request_around() {
    let provider = start();
    let plain = json!({"contents": [says("user", "abcd")]});
    assert_eq!(
        ask(&provider, FLASH, "countTokens", &plain).json(),
        json!({"totalTokens": 3})
    );
    let whole = json!({"generateContentRequest": {
        "model": format!("models/{FLASH}"),
        "systemInstruction": {"parts": [{"text": "abcd"}]},
        "contents": [says("user", "abcd")],
    }});
    assert_eq!(
        ask(&provider, FLASH, "countTokens", &whole).json(),
        json!({"totalTokens": 6})
    );
    assert_eq!(provider.recorded()[1].usage, None);
}

fn hold(provider: &Provider, path: &str, body: &Value) -> Reply {
    send(
        provider,
        path,
        "x-goog-api-key: k\r\n",
        body.to_string().as_bytes(),
    )
}

#[test]
fn explicit_caches_lead_the_prompt() {
    let clock = Clock::manual();
    let provider = Provider::start(Config {
        clock: clock.clone(),
        ..Config::default()
    })
    .unwrap();
    let content = json!({
        "model": format!("models/{FLASH}"),
        "ttl": "300s",
        "systemInstruction": {"parts": [{"text": words(2998)}]},
        "contents": [says("user", "abcd")],
    });
    let made = hold(&provider, "/v1beta/cachedContents", &content).json();
    assert_eq!(made["usageMetadata"]["totalTokenCount"], 3003);
    let name = made["name"].as_str().unwrap();
    assert!(name.starts_with("cachedContents/"), "{name}");

    let mut body = json!({"cachedContent": name, "contents": [says("model", "abcd"), says("user", "abcd")]});
    // Read at the first use, and it counts as prompt.
    assert_eq!(
        counts(&ask(&provider, FLASH, "generateContent", &body)),
        (3009, Some(3003))
    );
    let operator = provider.recorded()[1].operator.clone().unwrap();
    assert_eq!(operator.head, [words(2998)]);

    let other = ask(&provider, "gemini-2.5-pro", "generateContent", &body);
    assert_eq!(other.status, 400);
    assert!(other.message().contains("has to be the same"));
    let path = format!("/v1beta/models/{FLASH}:generateContent?key=else");
    let stranger = send(&provider, &path, "", body.to_string().as_bytes());
    assert_eq!(
        (stranger.status, stranger.json()["error"]["status"].clone()),
        (403, json!("PERMISSION_DENIED"))
    );

    for (key, value) in [
        ("systemInstruction", json!({"parts": [{"text": "x"}]})),
        ("tools", json!([{"googleSearch": {}}])),
        ("tool_config", json!({"function_calling_config": {"mode": "ANY"}})),
    ] {
        let mut own = body.clone();
        own[key] = value;
        let reply = ask(&provider, FLASH, "generateContent", &own);
        assert_eq!(reply.status, 400, "{key}");
        let wanted = "CachedContent can not be used with GenerateContent request setting system_instruction, tools or tool_config";
        assert!(reply.message().starts_with(wanted), "{}", reply.message());
    }

    clock.advance(Duration::from_secs(300));
    assert_eq!(ask(&provider, FLASH, "generateContent", &body).status, 403);
    body["cachedContent"] = json!("cachedContents/none");
    assert_eq!(ask(&provider, FLASH, "generateContent", &body).status, 403);
}

#[test]
fn a_short_content_is_not_held() {
    let provider = start();
    let content = json!({"model": format!("models/{FLASH}"), "contents": [says("user", "abcd")]});
    let path = "/v1/projects/p/locations/l/cachedContents";
    let reply = hold(&provider, path, &content);
    assert_eq!(reply.status, 400);
    assert!(reply.message().contains("too small"), "{}", reply.message());
    let provider = Provider::start(Config {
        minimum: Some(3),
        ..Config::default()
    })
    .unwrap();
    let made = hold(&provider, path, &content).json();
    assert!(
        made["name"]
            .as_str()
            .unwrap()
            .starts_with("projects/p/locations/l/cachedContents/")
    );
}
