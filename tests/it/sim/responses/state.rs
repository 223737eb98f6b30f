//! State that the server holds: earlier responses, conversations, references and compactions.

use super::*;
use inkfast::sim::{Answer, Format};

fn chained(model: &str, previous: &Value, input: Value) -> Value {
    with(
        &request(model, input),
        "previous_response_id",
        previous["id"].clone(),
    )
}

#[test]
fn a_chained_request_is_the_same_prompt_as_the_whole_one() {
    let provider = start();
    let first = request(NEW, list([says("user", &words(1998))]));
    let tools = json!([{"type": "function", "name": "t", "parameters": {"type": "object"}}]);
    let first = with(&first, "tools", tools.clone());
    provider.push(Answer::call("c1", "t", json!({"x": 1})).with_thinking("hm, let me look"));
    let answered = response(&provider, &first);
    let kinds: Vec<&Value> = answered["output"]
        .as_array()
        .unwrap()
        .iter()
        .map(|i| &i["type"])
        .collect();
    assert_eq!(kinds, ["reasoning", "function_call"]);

    let next = with(
        &chained(NEW, &answered, list([output("c1")])),
        "tools",
        tools.clone(),
    );
    let chained = response(&provider, &next);
    let mut whole = first["input"].as_array().unwrap().clone();
    whole.extend(answered["output"].as_array().unwrap().iter().cloned());
    whole.push(output("c1"));
    let resent = response(&provider, &with(&request(NEW, whole.into()), "tools", tools));
    let (total, cached, _) = usage_of_response(&chained);
    assert!(cached >= 2000 && total > cached);
    assert_eq!(usage_of_response(&resent), (total, total, 0));
    assert_eq!(chained["previous_response_id"], answered["id"]);
    assert_eq!(chained["input_transformations"], json!([]));
}

#[test]
fn instructions_are_not_carried_over() {
    let provider = start();
    let first = with(&request(MIDDLE, json!("abcd")), "instructions", json!("efgh"));
    let first = response(&provider, &first);
    assert_eq!(usage_of_response(&first).0, 6);
    let answer = first["output"][0]["content"][0]["text"].as_str().unwrap();
    let said = inkfast::sim::count(answer) as u64;
    let body = chained(MIDDLE, &first, json!("ijkl"));
    assert_eq!(counted(&provider, &body).0, 3 + 2 + said + 3);
    let seen = provider.effective_prompt(Format::OpenAiResponses, body.to_string().as_bytes());
    assert_eq!(seen.unwrap().head.len(), 0);
}

#[test]
fn what_is_not_stored_is_not_found() {
    let provider = start();
    let kept = response(&provider, &request(NEW, json!("a")));
    let dropped = response(&provider, &with(&request(NEW, json!("a")), "store", json!(false)));
    assert_eq!(responses(&provider, &chained(NEW, &kept, json!("b"))).status, 200);
    let reply = responses(&provider, &chained(NEW, &dropped, json!("b")));
    assert_eq!(reply.status, 400);
    let error = &reply.json()["error"];
    assert_eq!(error["code"], "previous_response_not_found");
    assert_eq!(error["param"], "previous_response_id");
    assert!(
        provider
            .effective_prompt(
                Format::OpenAiResponses,
                chained(NEW, &dropped, json!("b")).to_string().as_bytes()
            )
            .is_none()
    );
}

#[test]
fn a_chain_needs_its_outputs_too() {
    let provider = start();
    provider.push(Answer::call("c1", "t", json!({})));
    let first = response(&provider, &request(NEW, json!("a")));
    let reply = responses(&provider, &chained(NEW, &first, json!("b")));
    assert_eq!(reply.status, 400);
    assert!(
        reply
            .message()
            .contains("No tool output found for function call c1")
    );
    assert_eq!(
        responses(&provider, &chained(NEW, &first, list([output("c1")]))).status,
        200
    );
}

#[test]
fn a_conversation_grows_by_request_and_answer() {
    let provider = start();
    let ask = |conversation: Value, text: &str| {
        provider.push(Answer::text("abcd"));
        let body = with(&request(NEW, json!(text)), "conversation", conversation);
        response(&provider, &body)
    };
    assert_eq!(usage_of_response(&ask(json!("conv_1"), "1")).0, 3);
    let second = ask(json!({"id": "conv_1"}), "2");
    assert_eq!(usage_of_response(&second).0, 3 + 3 + 3);
    assert_eq!(second["conversation"], json!({"id": "conv_1"}));
    assert_eq!(usage_of_response(&ask(json!("conv_1"), "3")).0, 15);
    assert_eq!(usage_of_response(&ask(json!("conv_2"), "4")).0, 3);
    let both = with(
        &chained(NEW, &second, json!("b")),
        "conversation",
        json!("conv_1"),
    );
    let reply = responses(&provider, &both);
    assert_eq!(reply.json()["error"]["code"], "mutually_exclusive_parameters");
}

#[test]
fn references_stand_for_stored_items() {
    let provider = start();
    provider.push(Answer::text("abcd"));
    let first = response(&provider, &request(NEW, json!("1")));
    let item = |id: &Value| json!({"type": "item_reference", "id": id});
    let body = request(NEW, list([item(&first["output"][0]["id"]), says("user", "2")]));
    assert_eq!(counted(&provider, &body).0, 3 + 3);
    let unknown = responses(&provider, &request(NEW, list([item(&json!("msg_x"))])));
    assert_eq!((unknown.status, unknown.message().contains("msg_x")), (404, true));
}

#[test]
fn compact_keeps_the_words_of_the_user() {
    let provider = start();
    provider.push(Answer::text("they agreed"));
    let input = list([
        says("developer", "rule"),
        says("user", "one"),
        says("assistant", "yes"),
        json!({"role": "user", "content": [{"type": "input_text", "text": "two"}]}),
    ]);
    let reply = post(
        &provider,
        "/v1/responses/compact",
        &with(&request(NEW, input), "stream", json!(true)),
    );
    let window = reply.json();
    assert_eq!(window["object"], "response.compaction");
    assert_eq!(window["usage"]["input_tokens"], 12);
    let output = window["output"].as_array().unwrap();
    assert_eq!(output.len(), 3);
    assert_eq!(
        output[0]["content"][0],
        json!({"type": "input_text", "text": "one"})
    );
    assert_eq!(output[1]["content"][0]["text"], "two");
    assert_eq!(output[2]["type"], "compaction");
    // The window is a valid input, without the operator's words.
    let mut items = output.clone();
    items.push(says("user", "three"));
    let body = request(NEW, items.into());
    assert_eq!(responses(&provider, &body).status, 200);
    assert_eq!(provider.recorded()[1].operator.as_ref().unwrap().all(), "");
}

#[test]
fn compaction_reads_the_same_prefix() {
    let provider = start();
    let input = list([says("developer", "rule"), says("user", &words(1998))]);
    response(&provider, &request(NEW, input.clone()));
    let window = post(&provider, "/v1/responses/compact", &request(NEW, input)).json();
    assert_eq!(usage_of_response(&window), (2003, 2003, 0));
}

#[test]
fn a_trigger_makes_a_compaction_item() {
    let provider = start();
    let input = list([
        says("developer", "r"),
        says("user", "a"),
        json!({"type": "compaction_trigger"}),
    ]);
    let compacted = response(&provider, &request(NEW, input));
    let output = compacted["output"].as_array().unwrap();
    assert_eq!(output.len(), 1);
    assert_eq!(output[0]["type"], "compaction");
    // From here on the response stands for the user's words and the compaction.
    let body = chained(NEW, &compacted, json!("b"));
    assert_eq!(responses(&provider, &body).status, 200);
    assert_eq!(provider.recorded()[1].operator.as_ref().unwrap().all(), "");
    let by_hand = request(
        NEW,
        list([says("user", "a"), output[0].clone(), says("user", "b")]),
    );
    assert_eq!(
        counted(&provider, &by_hand).0,
        provider.recorded()[1].usage.unwrap().total as u64
    );
}

#[test]
fn diagnostics_compare_with_an_earlier_response() {
    let provider = start();
    let body = with(
        &request(NEW, list([says("user", &words(1998))])),
        "store",
        json!(false),
    );
    let first = response(&provider, &body);
    let compared = |body: &Value, id: Value| {
        let body = with(
            body,
            "prompt_cache_options",
            json!({"comparison_response_id": id}),
        );
        response(&provider, &body)["prompt_cache_diagnostics"].clone()
    };
    let id = first["id"].clone();
    let mut longer = body.clone();
    longer["input"].as_array_mut().unwrap().push(says("user", "b"));
    assert_eq!(compared(&longer, id.clone()), json!({"type": "cache_hit"}));
    assert_eq!(
        compared(&body, json!("resp_x")),
        json!({"type": "comparison_response_not_found"})
    );
    let miss = |key: &str, value: Value| compared(&with(&body, key, value), id.clone());
    let other = format!("{}zzzz", words(1000));
    let edited = miss("input", list([says("user", &other)]));
    assert_eq!(
        edited,
        json!({"type": "cache_miss", "reason": "input_changed", "cache_missed_tokens": 1,
            "comparison_reusable_tokens": 1002})
    );
    for (key, value, reason) in [
        ("model", json!("gpt-6.3"), "model_changed"),
        ("prompt_cache_key", json!("k"), "prompt_cache_key_changed"),
        ("tools", json!([{"type": "web_search"}]), "tools_changed"),
        ("text", json!({"verbosity": "low"}), "verbosity_changed"),
        (
            "text",
            json!({"format": {"type": "json_object"}}),
            "text_format_changed",
        ),
        ("reasoning", json!({"effort": "low"}), "reasoning_effort_changed"),
        ("service_tier", json!("flex"), "service_tier_changed"),
    ] {
        assert_eq!(miss(key, value)["reason"], reason);
    }
    let short = response(&provider, &request(NEW, json!("a")));
    assert_eq!(
        compared(&request(NEW, json!("a")), short["id"].clone()),
        json!({"type": "unavailable"}),
        "too short to be cached"
    );
    assert!(first.get("prompt_cache_diagnostics").is_none());
}
