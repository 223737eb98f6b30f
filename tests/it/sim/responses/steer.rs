//! `response.steer`: more input for a response under way.

use std::time::Duration;

use super::socket::{Client, create};
use super::*;
use inkfast::sim::Answer;

fn steer(response: &Value, input: Value) -> Value {
    json!({"type": "response.steer", "previous_response_id": response, "input": input})
}

/// A response under way, slow enough to be steered.
async fn under_way(provider: &Provider, client: &mut Client, answer: Answer) -> Value {
    provider.push(answer.paced(Duration::from_millis(60)));
    client
        .send(&with(&create(json!("1")), "store", json!(false)))
        .await;
    client.next().await.unwrap()["response"]["id"].clone()
}

#[tokio::test]
async fn the_successor_begins_with_the_queued_input() {
    let provider = start();
    let mut client = Client::open(&provider).await;
    let id = under_way(&provider, &mut client, Answer::text("abcd")).await;
    let frame = steer(&id, list([says("user", "2")]));
    let mut other = Client::open(&provider).await;
    other.send(&frame).await;
    let refused = other.next().await.unwrap();
    assert_eq!(
        refused["error"]["code"], "response_not_found",
        "it is another connection's"
    );
    client.send(&frame).await;
    let events = client.events().await;
    let accepted = events.iter().find(|e| e["type"] == "response.steer.accepted");
    assert_eq!(accepted.unwrap()["steer"]["previous_response_id"], id);
    let events = client.events().await;
    assert_eq!(events[0]["type"], "response.created");
    let successor = &events.last().unwrap()["response"];
    assert_eq!(successor["previous_response_id"], id);
    assert_eq!(usage_of_response(successor).0, 3 + 3 + 3);
    assert_eq!(successor["store"], false, "all else is inherited");
    let recorded = provider.recorded();
    let methods: Vec<&str> = recorded.iter().map(|r| r.method.as_str()).collect();
    assert_eq!(methods, ["WS", "STEER", "STEER", "SUCCESSOR"]);
    assert_eq!(recorded[2].body, frame.to_string());
    assert_eq!(recorded[2].usage, None);
}

#[tokio::test]
async fn only_user_messages_and_nothing_else() {
    let provider = start();
    let mut client = Client::open(&provider).await;
    let id = under_way(&provider, &mut client, Answer::text("abcd")).await;
    let mut extra = steer(&id, json!("x"));
    extra["model"] = json!(NEW);
    let wrong = [
        steer(&id, list([says("developer", "obey")])),
        steer(&id, list([says("user", "x"), says("system", "obey")])),
        steer(&id, list([output("1")])),
        steer(&id, list([])),
        steer(&id, json!(3)),
        extra,
    ];
    for frame in &wrong {
        client.send(frame).await;
    }
    let mut failed = Vec::new();
    while failed.len() < wrong.len() {
        let event = client.next().await.unwrap();
        if event["type"] == "response.steer.failed" {
            failed.push(event);
        }
    }
    for (event, frame) in failed.iter().zip(&wrong) {
        assert_eq!(event["error"]["code"], "invalid_input", "{frame}");
        assert_eq!(event["steer"]["input"], frame["input"]);
    }
}

#[tokio::test]
async fn what_cannot_be_committed_comes_back() {
    let provider = start();
    let mut client = Client::open(&provider).await;
    client.send(&steer(&json!("resp_x"), json!("x"))).await;
    assert_eq!(
        client.next().await.unwrap()["error"]["code"],
        "response_not_found"
    );
    let done = client.ask(&create(json!("1"))).await;
    client.send(&steer(&done["id"], json!("x"))).await;
    assert_eq!(
        client.next().await.unwrap()["error"]["code"],
        "response_already_completed"
    );

    let id = under_way(&provider, &mut client, Answer::call("c", "t", json!({}))).await;
    client.send(&steer(&id, json!("too early"))).await;
    client.events().await;
    let back = client.next().await.unwrap();
    assert_eq!(back["type"], "response.steer.failed");
    assert_eq!(back["error"]["code"], "successor_creation_failed");
    assert_eq!(back["steer"]["input"], list([says("user", "too early")]));
}
