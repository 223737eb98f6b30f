//! WebSocket mode through the proxy, against the simulated provider: frames are rewritten as bodies are, everything else
//! goes on as it came.

use std::net::SocketAddr;
use std::sync::mpsc::Receiver;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use inkfast::ledger::Ledger;
use inkfast::proxy::line::Summary;
use inkfast::proxy::server::Running;
use inkfast::sim::{Config, LaterSystem, Provider, Recorded, Socket};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, frame::coding::CloseCode};
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{WebSocketStream, accept_async, client_async};

use crate::rewrite::{ask, prompt, proxy};

pub struct Line {
    provider: Provider,
    proxy: Running,
    tap: Receiver<Summary>,
}

impl Line {
    async fn new(config: Config, ledger: Ledger) -> Self {
        let provider = Provider::start(config).unwrap();
        let (proxy, tap) = proxy(&provider.url(), "", ledger).await;
        Self { provider, proxy, tap }
    }

    async fn memory() -> Self {
        Self::new(Config::default(), Ledger::memory()).await
    }

    pub async fn open(&self) -> Client {
        let client = Client::open(self.proxy.proxy_addr).await.unwrap();
        let handshake = self.told();
        assert_eq!((handshake.status, handshake.outcome), (Some(101), "ok"));
        client
    }

    fn told(&self) -> Summary {
        self.tap.recv_timeout(Duration::from_secs(5)).unwrap()
    }

    /// The frames that the provider took as prompts.
    fn frames(&self) -> Vec<Value> {
        let of_socket = |recorded: &Recorded| recorded.method == "WS";
        let recorded = self.provider.recorded().into_iter().filter(of_socket);
        recorded
            .map(|recorded| serde_json::from_slice(&recorded.body).unwrap())
            .collect()
    }
}

pub struct Client(WebSocketStream<TcpStream>);

impl Client {
    pub async fn open(to: SocketAddr) -> Result<Self, Error> {
        let mut request = format!("ws://{to}/v1/responses").into_client_request().unwrap();
        let headers = request.headers_mut();
        headers.insert("authorization", "Bearer k".parse().unwrap());
        headers.insert("sec-websocket-extensions", "permessage-deflate".parse().unwrap());
        let (socket, response) = client_async(request, TcpStream::connect(to).await.unwrap()).await?;
        assert!(!response.headers().contains_key("sec-websocket-extensions"));
        Ok(Self(socket))
    }

    pub async fn send(&mut self, frame: impl ToString) {
        self.0.send(Message::text(frame.to_string())).await.unwrap();
    }

    async fn next(&mut self) -> Message {
        let next = tokio::time::timeout(Duration::from_secs(10), self.0.next());
        next.await.expect("a frame within ten seconds").unwrap().unwrap()
    }

    /// The events of one answer.
    pub async fn answer(&mut self) -> Vec<Value> {
        let mut events: Vec<Value> = Vec::new();
        loop {
            let text = self.next().await.into_text().unwrap();
            events.push(serde_json::from_str(&text).unwrap());
            let kind = &events[events.len() - 1]["type"];
            if kind == "response.completed" || kind == "error" {
                return events;
            }
        }
    }

    /// The response to a frame.
    pub async fn ask(&mut self, frame: &Value) -> Value {
        self.send(frame).await;
        let last = self.answer().await.pop().unwrap();
        assert_eq!(last["type"], "response.completed", "{last}");
        last["response"].clone()
    }
}

fn user(text: &str) -> Value {
    json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]})
}

fn create(mode: &str, input: &[Value]) -> Value {
    json!({"type": "response.create", "model": "gpt-5.5", "instructions": prompt(mode), "input": input})
}

fn updates(frame: &Value) -> Vec<&Value> {
    let items = frame["input"].as_array().unwrap().iter();
    items.filter(|item| item["role"] == "developer").collect()
}

/// Three turns that send all their items, the second and the third under another mode.
async fn three_turns(line: &Line) -> Vec<Value> {
    let mut client = line.open().await;
    let (mut input, mut usages) = (vec![user("one")], Vec::new());
    for (turn, mode) in [(2, "plan"), (3, "build"), (4, "review")] {
        let response = client.ask(&create(mode, &input)).await;
        usages.push(response["usage"].clone());
        input.extend(response["output"].as_array().unwrap().clone());
        input.push(user(&format!("turn {turn}")));
    }
    usages
}

#[tokio::test]
async fn an_edit_of_the_instructions_becomes_an_item() {
    let line = Line::memory().await;
    let usages = three_turns(&line).await;
    let frames = line.frames();
    assert_eq!(
        frames
            .iter()
            .map(|frame| updates(frame).len())
            .collect::<Vec<_>>(),
        [0, 1, 2]
    );
    for (before, after) in frames.iter().zip(&frames[1..]) {
        assert_eq!(before["instructions"], after["instructions"]);
        let sent = before["input"].as_array().unwrap();
        assert_eq!(after["input"].as_array().unwrap()[..sent.len()], sent[..]);
    }
    for usage in &usages {
        let told = line.told();
        let counted = told.usage.expect("the counts of the last event");
        assert_eq!(counted.input_total, usage["input_tokens"].as_u64());
        assert_eq!(
            counted.cache_read,
            usage["input_tokens_details"]["cached_tokens"].as_u64()
        );
        assert_eq!(
            (told.format, told.call, told.outcome),
            ("openai_responses", "messages", "ok")
        );
        assert_eq!(told.status, None);
    }
    let operator = line.provider.recorded().last().unwrap().operator.clone().unwrap();
    assert!(operator.latest().contains("review"), "{operator:?}");
}

#[tokio::test]
async fn a_delta_carries_the_update_and_nothing_that_the_provider_holds() {
    let line = Line::memory().await;
    let mut client = line.open().await;
    let first = client.ask(&create("plan", &[user("one")])).await;
    let mut delta = create("build", &[user("two")]);
    delta["previous_response_id"] = first["id"].clone();
    let second = client.ask(&delta).await;
    let mut same = create("build", &[user("three")]);
    same["previous_response_id"] = second["id"].clone();
    client.ask(&same).await;
    let frames = line.frames();
    assert_eq!(
        frames
            .iter()
            .map(|frame| updates(frame).len())
            .collect::<Vec<_>>(),
        [0, 1, 0]
    );
    assert_eq!(frames[1]["input"].as_array().unwrap().len(), 2);
    assert_eq!(frames[2]["instructions"], frames[0]["instructions"]);
}

#[tokio::test]
async fn what_needs_no_change_leaves_as_it_came() {
    let line = Line::memory().await;
    let mut client = line.open().await;
    let odd = "{ \"input\" : \"caf\\u00e9\",\t\"type\":\"response.create\", \"model\":\"gpt-5.5\" }";
    client.send(odd).await;
    client.answer().await;
    let recorded = line.provider.recorded();
    assert_eq!(recorded.last().unwrap().body, odd.as_bytes());
}

#[tokio::test]
async fn steering_is_never_touched() {
    let line = Line::memory().await;
    let mut client = line.open().await;
    let first = client.ask(&create("plan", &[user("one")])).await;
    let steer = format!(
        "{{ \"type\":\"response.steer\",  \"previous_response_id\":{}, \"input\":[{}] }}",
        first["id"],
        user("stop that")
    );
    client.send(&steer).await;
    let answered = client.next().await.into_text().unwrap();
    assert!(answered.contains("steer"), "{answered}");
    let steered = line
        .provider
        .recorded()
        .into_iter()
        .find(|recorded| recorded.method == "STEER");
    assert_eq!(steered.unwrap().body, steer.as_bytes());
}

#[tokio::test]
async fn lanes_are_told_apart() {
    let line = Line::memory().await;
    let mut client = line.open().await;
    let mut ask = async |lane: &str, mode: &str, input: &[Value]| {
        let mut frame = create(mode, input);
        frame["stream_id"] = json!(lane);
        let response = client.ask(&frame).await;
        [input, response["output"].as_array().unwrap()].concat()
    };
    let mut left = ask("left", "plan", &[user("on the left")]).await;
    let mut right = ask("right", "plan", &[user("on the right")]).await;
    left.push(user("left again"));
    right.push(user("right again"));
    ask("left", "build", &left).await;
    ask("right", "plan", &right).await;
    let frames = line.frames();
    assert_eq!(
        frames
            .iter()
            .map(|frame| updates(frame).len())
            .collect::<Vec<_>>(),
        [0, 0, 1, 0]
    );
    assert!(line.frames().iter().all(|frame| frame["stream_id"].is_string()));
}

#[tokio::test]
async fn a_conversation_goes_on_over_http() {
    let line = Line::memory().await;
    let mut client = line.open().await;
    let first = client.ask(&create("plan", &[user("one")])).await;
    let mut body = create(
        "build",
        &[
            &[user("one")],
            first["output"].as_array().unwrap().as_slice(),
            &[user("two")],
        ]
        .concat(),
    );
    body.as_object_mut().unwrap().remove("type");
    let (status, _) = ask(line.proxy.proxy_addr, "/v1/responses", &[], body.to_string()).await;
    assert_eq!(status, 200);
    let last = line.provider.recorded().pop().unwrap();
    let sent: Value = serde_json::from_slice(&last.body).unwrap();
    assert_eq!(updates(&sent).len(), 1);
    assert_eq!(sent["instructions"], json!(prompt("plan")));
}

#[tokio::test]
async fn a_refused_handshake_is_the_clients_to_see() {
    let config = Config {
        socket: Socket {
            refuse: true,
            ..Socket::default()
        },
        ..Config::default()
    };
    let line = Line::new(config, Ledger::memory()).await;
    match Client::open(line.proxy.proxy_addr).await {
        Err(Error::Http(response)) => assert_eq!(response.status(), 426),
        other => panic!("{:?}", other.map(|_| ())),
    }
    assert_eq!(
        (line.told().status, line.provider.recorded().len()),
        (Some(426), 1)
    );
}

#[tokio::test]
async fn a_refused_update_goes_by_the_next_row_unseen_by_the_client() {
    let config = Config {
        later_system: LaterSystem::Strict { status: 400 },
        ..Config::default()
    };
    let line = Line::new(config, Ledger::memory()).await;
    let mut client = line.open().await;
    let first = client.ask(&create("plan", &[user("one")])).await;
    let items = [
        &[user("one")],
        first["output"].as_array().unwrap().as_slice(),
        &[user("two")],
    ]
    .concat();
    let second = client.ask(&create("build", &items)).await;
    assert_eq!(second["status"], "completed");
    let frames = line.frames();
    let last = &frames[frames.len() - 1];
    assert!(
        updates(last).is_empty() && last.to_string().contains("system-reminder"),
        "{last}"
    );
    let recorded = line.provider.recorded();
    let operator = recorded.last().unwrap().operator.clone().unwrap();
    assert!(operator.latest().contains("build"), "{operator:?}");
}

#[tokio::test]
async fn limits_and_errors_of_the_provider_reach_the_client() {
    let config = Config {
        socket: Socket {
            max_frames: Some(1),
            ..Socket::default()
        },
        ..Config::default()
    };
    let line = Line::new(config, Ledger::memory()).await;
    let mut client = line.open().await;
    client.ask(&create("plan", &[user("one")])).await;
    client.send(create("plan", &[user("two")])).await;
    let error = client.answer().await.pop().unwrap();
    assert!(
        error.to_string().contains("websocket_connection_limit_reached"),
        "{error}"
    );
    assert!(client.next().await.is_close());
    assert_eq!(line.told().outcome, "ok");
    assert_eq!(line.told().outcome, "client_error");

    let line = Line::memory().await;
    let mut client = line.open().await;
    let mut unknown = create("plan", &[user("one")]);
    unknown["previous_response_id"] = json!("resp_nobody");
    client.send(unknown).await;
    let error = client.answer().await.pop().unwrap();
    assert!(
        error.to_string().contains("previous_response_not_found"),
        "{error}"
    );
    client.ask(&create("plan", &[user("one")])).await;
}

/// A socket that says what it is told, and closes with a code of its own.
async fn echo() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let mut socket = accept_async(stream).await.unwrap();
            while let Some(Ok(message)) = socket.next().await {
                let close = CloseFrame {
                    code: CloseCode::Library(4002),
                    reason: "enough".into(),
                };
                let answer = match message {
                    Message::Text(text) if text.as_str() == "close" => Message::Close(Some(close)),
                    Message::Ping(_) | Message::Pong(_) | Message::Close(_) => continue,
                    other => other,
                };
                let _ = socket.send(answer).await;
            }
        }
    });
    address
}

#[tokio::test]
async fn other_frames_and_closes_pass_both_ways() {
    let (proxy, _tap) = proxy(&format!("http://{}", echo().await), "", Ledger::memory()).await;
    let mut client = Client::open(proxy.proxy_addr).await.unwrap();
    for frame in [
        Message::text("not json"),
        Message::text("{\"type\":\"response.append\"}"),
        Message::Binary(vec![0, 1, 255].into()),
    ] {
        client.0.send(frame.clone()).await.unwrap();
        assert_eq!(client.next().await, frame);
    }
    client.send("close").await;
    match client.next().await {
        Message::Close(Some(close)) => {
            assert_eq!(
                (close.code, close.reason.as_str()),
                (CloseCode::Library(4002), "enough")
            );
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_process_that_ends_says_so() {
    let line = Line::memory().await;
    let mut client = line.open().await;
    client.ask(&create("plan", &[user("one")])).await;
    let shutdown = tokio::spawn(line.proxy.shutdown());
    match client.next().await {
        Message::Close(Some(close)) => assert_eq!(close.code, CloseCode::Away),
        other => panic!("{other:?}"),
    }
    drop(client);
    tokio::time::timeout(Duration::from_secs(10), shutdown)
        .await
        .unwrap()
        .unwrap();
}
