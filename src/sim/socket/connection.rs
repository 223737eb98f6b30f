//! One connection: reads frames, hands them to their lanes, writes what the lanes answer, and ends at its limits.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures_util::{SinkExt, StreamExt};
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::sync::mpsc::{Sender, channel};
use tokio::task::JoinSet;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;

use super::lane::{Job, work};
use super::{METHOD, Opening, refusal_event, steer, stream_of};
use crate::sim::delivery::Watch;
use crate::sim::json::Json;
use crate::sim::record::Delivery;
use crate::sim::refusal::Refusal;

type Socket = WebSocketStream<TokioIo<Upgraded>>;

/// What a lane has for its connection.
#[derive(Debug)]
pub(super) enum Order {
    Send(String),
    /// Break off as scripted.
    Cut,
}

/// Named lanes of one connection, and requests in flight on all of them.
const LANES: usize = 32;
const IN_FLIGHT: usize = 16;
/// Events that wait for the socket, before a lane waits too.
const OUTBOX: usize = 64;
/// How often the age of a connection is looked at.
const TICK: Duration = Duration::from_millis(10);

/// Until the client leaves, a limit is reached, or an answer is cut. Whatever a lane still does ends with it.
pub(super) async fn run(mut socket: Socket, opening: Opening) {
    let (orders, mut outbox) = channel(OUTBOX);
    let mut connection = Connection::new(opening, orders);
    let mut ticks = tokio::time::interval(TICK);
    loop {
        tokio::select! {
            // What is decided goes out before more is read.
            biased;
            order = outbox.recv() => match order {
                Some(Order::Send(text)) => if socket.send(Message::text(text)).await.is_err() { return },
                Some(Order::Cut) | None => return,
            },
            message = socket.next() => match message {
                Some(Ok(Message::Text(text))) => connection.frame(Bytes::from(text)),
                Some(Ok(Message::Binary(bytes))) => connection.frame(bytes),
                // The library answers pings.
                Some(Ok(_)) => {}
                Some(Err(_)) | None => return,
            },
            _ = ticks.tick() => {}
        }
        let over = connection.is_over();
        for text in connection.said.drain(..) {
            if socket.send(Message::text(text)).await.is_err() {
                return;
            }
        }
        if over {
            // The client may have left already.
            let _ = socket.close(None).await;
            return;
        }
    }
}

struct Connection {
    opening: Opening,
    /// `response.create` frames so far.
    frames: usize,
    over: bool,
    lanes: HashMap<Option<String>, Sender<Job>>,
    workers: JoinSet<()>,
    in_flight: Arc<AtomicUsize>,
    orders: Sender<Order>,
    /// Events of the connection's own, for the loop to send.
    said: Vec<String>,
}

impl Connection {
    fn new(opening: Opening, orders: Sender<Order>) -> Self {
        Self {
            opening,
            frames: 0,
            over: false,
            lanes: HashMap::new(),
            workers: JoinSet::new(),
            in_flight: Arc::default(),
            orders,
            said: Vec::new(),
        }
    }

    fn frame(&mut self, bytes: Bytes) {
        let frame = Json::parse(&bytes).unwrap_or(Json::Null);
        match frame.str("type") {
            Some("response.create") => self.create(bytes, &frame),
            Some("response.steer") => {
                let event = steer::steer(&self.opening, bytes, &frame);
                self.say(&event);
            }
            other => {
                let text = format!(
                    "Invalid value: '{}'. Supported values are: 'response.create' and 'response.steer'.",
                    other.unwrap_or_default()
                );
                let refusal = Refusal::new(text).param("type").code("invalid_value");
                self.say(&refusal_event(&refusal, stream_of(&frame).as_deref()));
            }
        }
    }

    fn create(&mut self, bytes: Bytes, frame: &Json) {
        self.frames += 1;
        let stream = stream_of(frame);
        let mut incoming = self.opening.incoming(METHOD, bytes, stream.clone());
        let most = self.opening.shared.config.socket.max_frames;
        if most.is_some_and(|most| self.frames > most) {
            self.over = true;
            incoming.refusal = Some(connection_limit());
        } else if self.is_full(&stream) {
            incoming.refusal = Some(stream_limit());
        }
        if let Some(refusal) = &incoming.refusal {
            self.say(&refusal_event(refusal, stream.as_deref()));
            let (shared, number) = (&self.opening.shared, incoming.number);
            shared.state().exchange(incoming, &shared.config);
            Watch::new(shared.clone(), number).end(Delivery::Sent);
            return;
        }
        self.in_flight.fetch_add(1, Ordering::SeqCst);
        // The lane lives as long as its sender and has room for all that is in flight: this cannot fail.
        let _ = self.lane(stream).try_send(Job { incoming });
    }

    fn is_full(&self, stream: &Option<String>) -> bool {
        let named = self.lanes.keys().flatten().count();
        let opens = stream.is_some() && !self.lanes.contains_key(stream);
        (opens && named >= LANES) || self.in_flight.load(Ordering::SeqCst) >= IN_FLIGHT
    }

    fn lane(&mut self, stream: Option<String>) -> &Sender<Job> {
        self.lanes.entry(stream).or_insert_with(|| {
            let (sender, jobs) = channel(IN_FLIGHT);
            let worker = work(
                jobs,
                self.opening.clone(),
                self.orders.clone(),
                self.in_flight.clone(),
            );
            self.workers.spawn(worker);
            sender
        })
    }

    fn is_over(&mut self) -> bool {
        let config = &self.opening.shared.config;
        let age = config.clock.now().saturating_sub(self.opening.at);
        if !self.over && config.socket.max_age.is_some_and(|most| age >= most) {
            self.over = true;
            self.say(&refusal_event(&connection_limit(), None));
        }
        self.over
    }

    fn say(&mut self, event: &Value) {
        self.said.push(event.to_string());
    }
}

fn connection_limit() -> Refusal {
    Refusal::new("This connection has reached its limit. Open a new one to continue.")
        .code("websocket_connection_limit_reached")
}

fn stream_limit() -> Refusal {
    Refusal::new("Too many lanes, or too many responses in flight, on this connection.")
        .code("websocket_stream_limit_reached")
}
