//! Responses whole and streamed.

use super::*;
use inkfast::sim::{Answer, Delivery};

/// `event:` names and `data:` objects of a stream.
fn events(reply: &Reply) -> Vec<(String, Value)> {
    let text = reply.text();
    let blocks = text.split_terminator("\n\n");
    let parsed = blocks.map(|block| {
        let (name, data) = block.split_once('\n').unwrap();
        let data = data.strip_prefix("data: ").unwrap();
        let name = name.strip_prefix("event: ").unwrap();
        (name.to_owned(), serde_json::from_str(data).unwrap())
    });
    parsed.collect()
}

fn scripted(provider: &Provider) {
    let answer = Answer::call("id1", "read", json!({"path": "src/ü.rs", "n": [1, 2]}));
    let answer = answer.and_call("id2", "patch", json!("*** Begin"));
    provider.push(Answer {
        text: Some("I will read two files.".to_owned()),
        ..answer.with_thinking("let me see first")
    });
}

fn body() -> Value {
    let tools = json!([
        {"type": "function", "name": "read", "parameters": {}},
        {"type": "custom", "name": "patch"},
    ]);
    with(&request(NEW, json!("hi")), "tools", tools)
}

#[test]
fn a_stream_builds_the_same_response() {
    let provider = start();
    scripted(&provider);
    let mut whole = response(&provider, &body());
    scripted(&provider);
    let reply = responses(&provider, &with(&body(), "stream", json!(true)));
    assert!(reply.head.contains("text/event-stream"));
    let events = events(&reply);
    for (i, (name, data)) in events.iter().enumerate() {
        assert_eq!(
            (&data["type"], &data["sequence_number"]),
            (&json!(name), &json!(i))
        );
    }
    let of = |kind: &'static str| {
        events
            .iter()
            .filter(move |(name, _)| name == kind)
            .map(|(_, data)| data)
    };
    let joined = |kind: &'static str| of(kind).filter_map(|e| e["delta"].as_str()).collect::<String>();
    assert_eq!(events[0].0, "response.created");
    assert_eq!(events[0].1["response"]["output"], json!([]));
    assert_eq!(events[0].1["response"]["status"], "in_progress");
    assert_eq!(events[1].0, "response.in_progress");
    assert_eq!(
        joined("response.reasoning_summary_text.delta"),
        "let me see first"
    );
    assert_eq!(joined("response.output_text.delta"), "I will read two files.");
    assert_eq!(
        joined("response.function_call_arguments.delta"),
        whole["output"][2]["arguments"].as_str().unwrap()
    );
    assert_eq!(joined("response.custom_tool_call_input.delta"), "*** Begin");
    assert_eq!(whole["output"][3]["input"], "*** Begin");
    let opened: Vec<&Value> = of("response.output_item.added").map(|e| &e["item"]).collect();
    assert_eq!(opened[0]["encrypted_content"], "");
    assert_eq!(opened[2]["arguments"], "");
    let done: Vec<Value> = of("response.output_item.done")
        .map(|e| e["item"].clone())
        .collect();
    let (name, last) = events.last().unwrap();
    assert_eq!(name, "response.completed");
    assert_eq!(last["response"]["output"], Value::from(done));
    // Ids apart, it is the response that came whole.
    let mut streamed = last["response"].clone();
    for response in [&mut whole, &mut streamed] {
        response["id"] = Value::Null;
        for item in response["output"].as_array_mut().unwrap() {
            item["id"] = Value::Null;
        }
    }
    assert_eq!(whole, streamed);
    assert_eq!(whole["usage"]["output_tokens_details"]["reasoning_tokens"], 4);
    assert_eq!(whole["status"], "completed");
}

#[test]
fn fields_of_the_request_come_back() {
    let provider = start();
    let sent = with(&body(), "instructions", json!("be"));
    let sent = with(&sent, "prompt_cache_key", json!("thread"));
    let echoed = response(&provider, &sent);
    for key in ["instructions", "prompt_cache_key", "tools", "model"] {
        assert_eq!(echoed[key], sent[key], "{key}");
    }
    assert_eq!(echoed["store"], true);
}

#[test]
fn default_answers_call_what_the_client_runs() {
    let provider = start();
    let tools = json!([
        {"type": "web_search"},
        {"type": "function", "name": "read",
            "parameters": {"properties": {"p": {"type": "integer"}}, "required": ["p"]}},
    ]);
    let body = with(&request(NEW, json!("go [tools:1]")), "tools", tools);
    let first = response(&provider, &body);
    let call = &first["output"][0];
    assert_eq!(
        (&call["name"], &call["arguments"]),
        (&json!("read"), &json!(r#"{"p":1}"#))
    );
    let answer = json!({"type": "function_call_output", "call_id": call["call_id"], "output": "o"});
    let next = with(
        &body,
        "input",
        list([says("user", "go [tools:1]"), call.clone(), answer]),
    );
    let last = response(&provider, &next);
    let text = last["output"][0]["content"][0]["text"].as_str().unwrap();
    assert!(text.starts_with("Done after 1 tool rounds"), "{text}");
}

#[test]
fn errors_and_cuts() {
    let provider = start();
    provider.push(Answer::error(429, "slow down").with_header("Retry-After", "1"));
    let reply = responses(&provider, &body());
    assert_eq!((reply.status, reply.message().as_str()), (429, "slow down"));
    assert!(reply.head.to_ascii_lowercase().contains("retry-after: 1"));
    provider.push(Answer::text("a long enough text").cut_after(200));
    let reply = responses(&provider, &with(&body(), "stream", json!(true)));
    assert_eq!(reply.body.len(), 200);
    assert_eq!(provider.recorded()[1].delivery, Delivery::Cut);
    provider.push(Answer::raw("data: broken"));
    assert_eq!(responses(&provider, &body()).text(), "data: broken");
}
