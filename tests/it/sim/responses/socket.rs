//! WebSocket mode: handshake, frames, lanes and limits.

use std::time::Duration;

use super::*;
use futures_util::{SinkExt, StreamExt};
use inkfast::sim::{Answer, Clock, Delivery, Socket};
use tokio::net::TcpStream as AsyncSocket;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::{WebSocketStream, client_async};

pub struct Client(WebSocketStream<AsyncSocket>);

impl Client {
    pub async fn open(provider: &Provider) -> Self {
        let url = format!("ws://{}/v1/responses", provider.addr());
        let mut request = url.into_client_request().unwrap();
        let headers = request.headers_mut();
        headers.insert("authorization", "Bearer k".parse().unwrap());
        headers.insert("sec-websocket-extensions", "permessage-deflate".parse().unwrap());
        let socket = AsyncSocket::connect(provider.addr()).await.unwrap();
        let (socket, response) = client_async(request, socket).await.unwrap();
        assert_eq!(response.status(), 101);
        assert!(!response.headers().contains_key("sec-websocket-extensions"));
        Self(socket)
    }

    pub async fn send(&mut self, frame: &Value) {
        self.0.send(Message::text(frame.to_string())).await.unwrap();
    }

    /// The next event; none once the connection has ended.
    pub async fn next(&mut self) -> Option<Value> {
        let next = tokio::time::timeout(Duration::from_secs(10), self.0.next());
        match next.await.expect("an event within ten seconds")?.ok()? {
            Message::Text(text) => Some(serde_json::from_str(&text).unwrap()),
            Message::Close(_) => None,
            other => panic!("{other:?}"),
        }
    }

    /// Events up to the end of a response, or an error.
    pub async fn events(&mut self) -> Vec<Value> {
        let mut events = Vec::new();
        while let Some(event) = self.next().await {
            let ends = event["type"] == "response.completed" || event["type"] == "error";
            events.push(event);
            if ends {
                break;
            }
        }
        events
    }

    /// Sends a frame and returns the last event: the response, or the error.
    pub async fn ask(&mut self, frame: &Value) -> Value {
        self.send(frame).await;
        let last = self.events().await.pop().expect("an answer");
        match last.get("response") {
            Some(response) => response.clone(),
            None => last,
        }
    }
}

pub fn create(input: Value) -> Value {
    let body = request(NEW, input);
    with(&body, "type", json!("response.create"))
}

#[tokio::test]
async fn frames_are_the_events_of_a_stream() {
    let provider = start();
    let mut client = Client::open(&provider).await;
    client.send(&create(json!("hi"))).await;
    let frames = client.events().await;
    let streamed = with(&request(NEW, json!("hi")), "stream", json!(true));
    let reply = responses(&provider, &streamed);
    let text = reply.text().replace("sim00000001", "sim00000000");
    let data = text.lines().filter_map(|line| line.strip_prefix("data: "));
    let events: Vec<Value> = data.map(|data| serde_json::from_str(data).unwrap()).collect();
    assert_eq!(frames, events);

    let recorded = &provider.recorded()[0];
    assert_eq!(
        (recorded.method.as_str(), recorded.target.as_str()),
        ("WS", "/v1/responses")
    );
    assert_eq!(recorded.body, create(json!("hi")).to_string());
    assert_eq!(recorded.header("Authorization"), Some("Bearer k"));
    assert_eq!(recorded.usage.unwrap().total, 3);
    assert_eq!(recorded.delivery, Delivery::Sent);
}

#[tokio::test]
async fn the_cache_is_the_same_as_over_http() {
    let provider = start();
    let input = list([says("user", &words(1998))]);
    response(&provider, &request(NEW, input.clone()));
    let mut client = Client::open(&provider).await;
    let answer = client.ask(&create(input)).await;
    assert_eq!(usage_of_response(&answer), (2000, 2000, 0));
}

#[tokio::test]
async fn a_lane_remembers_its_latest_response_only() {
    let provider = start();
    let mut client = Client::open(&provider).await;
    let unstored = |input: &str| with(&create(json!(input)), "store", json!(false));
    let after = |frame: Value, previous: &Value| with(&frame, "previous_response_id", previous["id"].clone());
    let first = client.ask(&unstored("1")).await;
    let second = client.ask(&after(unstored("2"), &first)).await;
    let total = |response: &Value| usage_of_response(response).0;
    assert!(
        total(&second) > total(&first) + 3,
        "the first answer stands between them"
    );
    let lost = client.ask(&after(unstored("3"), &first)).await;
    assert_eq!(lost["type"], "error");
    assert_eq!(lost["status"], 400);
    assert_eq!(lost["error"]["code"], "previous_response_not_found");
    // Another lane may go on from it, another connection not.
    let forked = with(&after(unstored("4"), &second), "stream_id", json!("fork"));
    let forked = client.ask(&forked).await;
    assert_eq!(forked["status"], "completed");
    let mut other = Client::open(&provider).await;
    let lost = other.ask(&after(unstored("5"), &second)).await;
    assert_eq!(lost["error"]["code"], "previous_response_not_found");
    assert_eq!(provider.recorded()[2].status, 400);
}

#[tokio::test]
async fn a_response_without_generation_prepares_state() {
    let provider = start();
    provider.push(Answer::text("abcd"));
    let mut client = Client::open(&provider).await;
    let silent = with(&create(json!("1")), "generate", json!(false));
    let silent = client.ask(&silent).await;
    assert_eq!(
        (&silent["output"], &silent["usage"]["output_tokens"]),
        (&json!([]), &json!(0))
    );
    let next = with(&create(json!("2")), "previous_response_id", silent["id"].clone());
    let next = client.ask(&next).await;
    assert_eq!(usage_of_response(&next).0, 6);
    assert_eq!(
        next["output"][0]["content"][0]["text"], "abcd",
        "the script waited"
    );
}

#[tokio::test]
async fn lanes_run_side_by_side_and_each_in_order() {
    let provider = start();
    for text in ["a slow answer in pieces", "then", "quick"] {
        let pause = if text.starts_with("a slow") { 50 } else { 0 };
        provider.push(Answer::text(text).paced(Duration::from_millis(pause)));
    }
    let mut client = Client::open(&provider).await;
    for lane in ["a", "a", "b"] {
        client
            .send(&with(&create(json!(lane)), "stream_id", json!(lane)))
            .await;
        // The script is used up in the order in which lanes begin.
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let mut ends = Vec::new();
    while ends.len() < 3 {
        let event = client.next().await.unwrap();
        assert!(event["stream_id"].is_string(), "{event}");
        if event["type"] == "response.completed" {
            ends.push(event["stream_id"].as_str().unwrap().to_owned());
        }
    }
    assert_eq!(ends, ["b", "a", "a"]);
}

#[tokio::test]
async fn too_many_in_flight() {
    let provider = start();
    for _ in 0..16 {
        provider.push(Answer::text("a").after(Duration::from_secs(60)));
    }
    let mut client = Client::open(&provider).await;
    for i in 0..17 {
        let lane = format!("lane{i}");
        client
            .send(&with(&create(json!("a")), "stream_id", json!(lane)))
            .await;
    }
    let refused = client.next().await.unwrap();
    assert_eq!(refused["error"]["code"], "websocket_stream_limit_reached");
    assert_eq!(refused["stream_id"], "lane16");
}

#[tokio::test]
async fn other_frames_are_errors() {
    let provider = start();
    let mut client = Client::open(&provider).await;
    for frame in ["{\"type\":\"response.append\"}", "[]", "not json"] {
        client.0.send(Message::text(frame)).await.unwrap();
        let event = client.next().await.unwrap();
        assert_eq!(
            (&event["type"], &event["error"]["param"]),
            (&json!("error"), &json!("type"))
        );
    }
    let refused = client.ask(&create(list([call("1")]))).await;
    assert_eq!(refused["error"]["type"], "invalid_request_error");
    provider.push(Answer::error(503, "later"));
    let refused = client
        .ask(&with(&create(json!("a")), "stream_id", json!("x")))
        .await;
    assert_eq!(refused["error"]["message"], "later");
    assert_eq!(
        (&refused["status"], &refused["stream_id"]),
        (&json!(503), &json!("x"))
    );
    assert_eq!(client.ask(&create(json!("a"))).await["status"], "completed");
    assert_eq!(provider.recorded().len(), 3, "only requests are recorded");
}

fn limited(socket: Socket, clock: Clock) -> Provider {
    Provider::start(Config {
        socket,
        clock,
        ..Config::default()
    })
    .unwrap()
}

async fn is_at_its_limit(client: &mut Client) {
    let event = client.next().await.unwrap();
    assert_eq!(event["type"], "error");
    assert_eq!(event["error"]["code"], "websocket_connection_limit_reached");
    assert_eq!(client.next().await, None);
}

#[tokio::test]
async fn a_connection_takes_so_many_frames() {
    let limit = Socket {
        max_frames: Some(1),
        ..Socket::default()
    };
    let provider = limited(limit, Clock::real());
    let mut client = Client::open(&provider).await;
    client.ask(&create(json!("a"))).await;
    client.send(&create(json!("b"))).await;
    is_at_its_limit(&mut client).await;
    let recorded = provider.recorded();
    assert_eq!((recorded.len(), recorded[1].status), (2, 400));
    let mut client = Client::open(&provider).await;
    assert_eq!(client.ask(&create(json!("b"))).await["status"], "completed");
}

#[tokio::test]
async fn a_connection_lives_so_long() {
    let limit = Socket {
        max_age: Some(Duration::from_secs(3600)),
        ..Socket::default()
    };
    let clock = Clock::manual();
    let provider = limited(limit, clock.clone());
    let mut client = Client::open(&provider).await;
    clock.advance(Duration::from_secs(3599));
    assert_eq!(client.ask(&create(json!("a"))).await["status"], "completed");
    clock.advance(Duration::from_secs(1));
    is_at_its_limit(&mut client).await;
}

#[tokio::test]
async fn a_refused_upgrade_is_426() {
    let refuse = Socket {
        refuse: true,
        ..Socket::default()
    };
    let provider = limited(refuse, Clock::real());
    let socket = AsyncSocket::connect(provider.addr()).await.unwrap();
    let url = format!("ws://{}/v1/responses", provider.addr());
    let refused = client_async(url, socket).await.unwrap_err().to_string();
    assert!(refused.contains("426"), "{refused}");
    let recorded = provider.recorded();
    assert_eq!((recorded[0].method.as_str(), recorded[0].status), ("GET", 426));
    response(&provider, &request(NEW, json!("over http")));
}

#[tokio::test]
async fn a_cut_ends_the_connection() {
    let provider = start();
    provider.push(Answer::text("a").cut_after(1000));
    let mut client = Client::open(&provider).await;
    client.send(&create(json!("a"))).await;
    let events = client.events().await;
    assert!(
        events.iter().all(|e| e["type"] != "response.completed"),
        "{events:?}"
    );
    assert_eq!(provider.recorded()[0].delivery, Delivery::Cut);
}
