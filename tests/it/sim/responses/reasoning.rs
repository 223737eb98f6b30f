//! Reasoning items: what they are bound to, and when they are forgotten.

use super::*;
use inkfast::sim::Answer;

/// Head, question and what the model answered to them, with reasoning in front.
fn answered(provider: &Provider, model: &str) -> Vec<Value> {
    provider.push(Answer::text("abcd").with_thinking("efghijkl"));
    let mut items = vec![says("developer", "rule"), says("user", "1")];
    let body = with(&request(model, items.clone().into()), "instructions", json!("be"));
    let response = response(provider, &body);
    items.extend(response["output"].as_array().unwrap().iter().cloned());
    items
}

fn removed(provider: &Provider, items: &[Value]) -> Value {
    let body = request(NEW, items.to_vec().into());
    response(provider, &body)["input_transformations"].clone()
}

#[test]
fn an_appended_item_keeps_it() {
    let provider = start();
    let mut items = answered(&provider, NEW);
    items.extend([says("developer", "more"), says("user", "2")]);
    assert_eq!(removed(&provider, &items), json!([]));
    // 3 each for head, question, answer, appended and last item, 4 for the reasoning.
    assert_eq!(provider.recorded()[1].usage.unwrap().total, 15 + 4);
}

#[test]
fn a_changed_prefix_drops_it_without_an_error() {
    let provider = start();
    let mut items = answered(&provider, NEW);
    items.push(says("user", "2"));
    let id = items[2]["id"].clone();
    for (at, item) in [(0, says("developer", "other")), (1, says("user", "9"))] {
        let mut edited = items.clone();
        edited[at] = item;
        let gone = json!({"id": id, "action": "removed", "reason": "prefix_mismatch", "type": "reasoning"});
        assert_eq!(removed(&provider, &edited), json!([gone]));
    }
    assert_eq!(provider.recorded()[2].usage.unwrap().total, 12);
    let mut inserted = items.clone();
    inserted.insert(1, says("developer", "new"));
    assert_eq!(removed(&provider, &inserted).as_array().unwrap().len(), 1);
}

#[test]
fn instructions_and_effort_do_not_bind_it() {
    let provider = start();
    let mut items = answered(&provider, NEW);
    items.push(says("user", "2"));
    let body = with(&request(NEW, items.into()), "instructions", json!("other"));
    let body = with(&body, "reasoning", json!({"effort": "high"}));
    assert_eq!(response(&provider, &body)["input_transformations"], json!([]));
    let tools = with(&body, "tools", json!([{"type": "web_search"}]));
    assert_eq!(
        response(&provider, &tools)["input_transformations"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
}

#[test]
fn before_6_2_nothing_is_bound() {
    let provider = start();
    let mut items = answered(&provider, MIDDLE);
    items[0] = says("developer", "other");
    items.push(says("user", "2"));
    let kept = response(&provider, &request(MIDDLE, items.into()));
    assert!(kept.get("input_transformations").is_none());
    // 4 for the head, whose text is 2 now.
    assert_eq!(usage_of_response(&kept).0, 4 + 3 + 4 + 3 + 3);
}

#[test]
fn a_chain_with_other_tools_drops_it() {
    let provider = start();
    provider.push(Answer::text("abcd").with_thinking("efgh"));
    let first = response(&provider, &request(NEW, json!("1")));
    let next = with(
        &request(NEW, json!("2")),
        "previous_response_id",
        first["id"].clone(),
    );
    assert_eq!(response(&provider, &next)["input_transformations"], json!([]));
    let next = with(&next, "tools", json!([{"type": "web_search"}]));
    let dropped = &response(&provider, &next)["input_transformations"];
    assert_eq!(dropped[0]["id"], first["output"][0]["id"]);
}

#[test]
fn altered_content_is_refused_and_foreign_content_as_configured() {
    let provider = start();
    let items = answered(&provider, MIDDLE);
    let with_content = |content: String| {
        let mut items = items.clone();
        items[2]["encrypted_content"] = json!(content);
        request(MIDDLE, items.into())
    };
    let content = items[2]["encrypted_content"].as_str().unwrap();
    let (signature, _) = content.split_once('.').unwrap();
    let altered = with_content(format!("{signature}.AAAA"));
    let reply = responses(&provider, &altered);
    assert_eq!(reply.status, 400);
    assert_eq!(reply.json()["error"]["code"], "invalid_encrypted_content");
    let foreign = with_content("gAAAAAB".to_owned());
    assert_eq!(responses(&provider, &foreign).status, 200);
    let config = Config {
        accept_foreign_thinking: false,
        ..Config::default()
    };
    let strict = Provider::start(config).unwrap();
    assert_eq!(responses(&strict, &foreign).status, 400);
}

#[test]
fn old_reasoning_is_forgotten_where_the_context_is_the_current_turn() {
    let provider = start();
    let mut items = answered(&provider, OLD);
    items.push(says("user", "2"));
    let total = |context: Option<&str>, model: &str| {
        let mut body = request(model, items.clone().into());
        if let Some(context) = context {
            body["reasoning"] = json!({"context": context});
        }
        counted(&provider, &body).0
    };
    assert_eq!(total(None, OLD), 12);
    assert_eq!(total(Some("all_turns"), OLD), 16);
    assert_eq!(total(None, "gpt-5.6"), 16);
    assert_eq!(total(Some("current_turn"), NEW), 12);
}
