//! An open WebSocket: frames go on in order, unchanged but for prompts, which are rewritten as bodies are.

use std::{
    sync::{Arc, atomic::Ordering},
    time::{Duration, Instant},
};

use bytes::Bytes;
use futures_util::{
    SinkExt, StreamExt,
    stream::{SplitSink, SplitStream},
};
use http_body_util::BodyExt;
use hyper::{StatusCode, http::request};
use tokio::{
    sync::Mutex,
    time::{sleep, timeout},
};
use tokio_tungstenite::tungstenite::{
    Message, Utf8Bytes,
    protocol::{CloseFrame, frame::coding::CloseCode},
};

use crate::{
    proxy::{
        Proxy,
        attempt::{Attempt, Form},
        line::RequestLine,
        receive::Received,
        recorder::{self, Record},
        rewrite::{self, Passthrough},
        signing::Signing,
        target::{self, Format},
    },
    wire::{Call, format},
};

use super::{
    Socket,
    event::Event,
    flight::{Flight, Lanes},
};

/// How long a leg may take to close once the other has.
const CLOSING: Duration = Duration::from_secs(5);
/// How often a connection looks whether it may end because the process does.
const DRAIN_CHECK: Duration = Duration::from_millis(50);

/// One connection.
pub struct Session {
    proxy: Arc<Proxy>,
    /// The head of the request that opened it.
    head: request::Parts,
    /// The format of its prompts; none where nothing is read.
    format: Option<format::Format>,
    lanes: Lanes,
}

/// The sending half of a leg.
type Sending = Mutex<SplitSink<Socket, Message>>;

/// How a leg ended.
enum Ended {
    /// With a close frame, which the other leg got.
    Closed,
    /// Without one.
    Broke(&'static str),
}

impl Session {
    /// The session of a connection that `head` asked for.
    pub fn new(proxy: Arc<Proxy>, head: request::Parts) -> Self {
        let found =
            target::resolve(&proxy.config.upstreams, proxy.address, &head).map(|target| target.format);
        let format = match found {
            Ok(Format::Wire(format @ format::Format::OpenaiResponses)) => Some(format),
            _ => None,
        };
        Self {
            proxy,
            head,
            format,
            lanes: Lanes::default(),
        }
    }

    /// Carries frames both ways until a leg ends, then closes the other.
    pub async fn run(self, client: Socket, upstream: Socket) {
        let (to_client, from_client) = client.split();
        let (to_upstream, from_upstream) = upstream.split();
        let (to_client, to_upstream) = (Mutex::new(to_client), Mutex::new(to_upstream));
        let up = self.upward(from_client, &to_upstream);
        let down = self.downward(from_upstream, &to_client, &to_upstream);
        tokio::pin!(up, down);
        let outcome = tokio::select! {
            ended = &mut up => match ended {
                Ended::Closed => match timeout(CLOSING, &mut down).await {
                    Ok(Ended::Broke(why)) => why,
                    _ => "client_left",
                },
                Ended::Broke(why) => why,
            },
            ended = &mut down => match ended {
                Ended::Closed => {
                    // The client's own close ends its leg.
                    let _ = timeout(CLOSING, &mut up).await;
                    "upstream_broke"
                }
                Ended::Broke(why) => why,
            },
            () = self.drained() => {
                for leg in [&to_client, &to_upstream] {
                    let _ = timeout(CLOSING, send(leg, going_away())).await;
                }
                "client_left"
            }
        };
        for mut flight in self.lanes.drain() {
            flight.failed(&self.proxy, None, None);
            flight.end(&self.proxy, outcome).await;
        }
    }

    /// Frames of the client.
    async fn upward(&self, mut from: SplitStream<Socket>, to: &Sending) -> Ended {
        while let Some(message) = from.next().await {
            let message = match message {
                Ok(Message::Text(text)) => match self.leave(text).await {
                    Some(text) => Message::Text(text),
                    None => return Ended::Broke("internal"),
                },
                // Each leg answers its own.
                Ok(Message::Ping(_) | Message::Pong(_)) => continue,
                Ok(other) => other,
                Err(error) => {
                    tracing::debug!(%error, "a client's websocket ended badly");
                    return Ended::Broke("client_left");
                }
            };
            let closes = message.is_close();
            if send(to, message).await.is_err() {
                return Ended::Broke("upstream_broke");
            }
            if closes {
                return Ended::Closed;
            }
        }
        Ended::Broke("client_left")
    }

    /// Frames of the upstream.
    async fn downward(&self, mut from: SplitStream<Socket>, to: &Sending, back: &Sending) -> Ended {
        while let Some(message) = from.next().await {
            let message = match message {
                Ok(Message::Text(text)) => match self.arrive(text).await {
                    Arrived::Goes(text) => Message::Text(text),
                    Arrived::Again(text) => match send(back, Message::Text(text)).await {
                        Ok(()) => continue,
                        Err(()) => return Ended::Broke("upstream_broke"),
                    },
                },
                Ok(Message::Ping(_) | Message::Pong(_)) => continue,
                Ok(other) => other,
                Err(error) => {
                    tracing::debug!(%error, "an upstream's websocket ended badly");
                    return Ended::Broke("upstream_broke");
                }
            };
            let closes = message.is_close();
            if send(to, message).await.is_err() {
                return Ended::Broke("client_left");
            }
            if closes {
                return Ended::Closed;
            }
        }
        Ended::Broke("upstream_broke")
    }

    /// The process ends, and nothing is on its way.
    async fn drained(&self) {
        self.proxy.draining.cancelled().await;
        while !self.lanes.is_empty() {
            sleep(DRAIN_CHECK).await;
        }
    }

    /// A text of the client's as it leaves; none where its bytes are lost, which nothing can cause.
    async fn leave(&self, text: Utf8Bytes) -> Option<Utf8Bytes> {
        let event = Event::of(&text);
        let Some(format) = self.format.filter(|_| event.is_prompt()) else {
            return Some(text);
        };
        let lane = event.stream_id.map(|lane| lane.into_owned());
        let mut flight = self.depart(format, Bytes::from(text)).await?;
        let body = flight.attempt.take_body().collect().await.ok()?.to_bytes();
        self.lanes.push(lane, flight);
        Utf8Bytes::try_from(body).ok()
    }

    /// From the client's frame to the one that leaves.
    async fn depart(&self, format: format::Format, received: Bytes) -> Option<Flight> {
        let proxy = &self.proxy;
        let mut target = target::resolve(&proxy.config.upstreams, proxy.address, &self.head).ok()?;
        target.call = Call::Messages;
        let mut line = RequestLine::new(proxy.requests.fetch_add(1, Ordering::Relaxed) + 1);
        line.set_target(&target);
        line.received_bytes = Some(received.len() as u64);
        let started = Instant::now();
        let read = if received.len() > proxy.config.max_body {
            Err(Passthrough::Oversize)
        } else {
            rewrite::read(
                proxy,
                &target,
                (&self.head.headers, &Signing::Client),
                received.clone(),
            )
            .await
        };
        let (prompt, attempt) = match read {
            Ok(prompt) => {
                let prompt = Arc::new(prompt);
                let attempt = Attempt::new(proxy, &prompt, Form::Rows(0)).await;
                (Some(prompt), attempt)
            }
            Err(reason) => {
                line.passed_through(reason, &proxy.metrics);
                (None, Attempt::unread(Received::Whole(received)))
            }
        };
        line.rewrite = prompt.as_ref().map(|_| started.elapsed());
        let record = recorder::begin(proxy, (&target, &self.head), (prompt.as_deref(), &attempt));
        let record = record.map(Record::of_frame);
        Some(Flight::new(format, (prompt, record), attempt, line))
    }

    /// An event of the upstream's on its way to the client. The last of an answer waits until that is on record.
    async fn arrive(&self, text: Utf8Bytes) -> Arrived {
        let event = Event::of(&text);
        let lane = event.stream_id.as_deref();
        let Some(mut flight) = self.format.and_then(|_| self.lanes.take(lane)) else {
            return Arrived::Goes(text);
        };
        if event.is_error() && !flight.answered {
            let status = event.status.and_then(|status| StatusCode::from_u16(status).ok());
            if let Some(again) = self.again(&mut flight, (lane, status), &text).await {
                self.lanes.put_back(lane.map(str::to_owned), flight);
                return Arrived::Again(again);
            }
            flight.failed(&self.proxy, status, Some(&text));
            flight.end(&self.proxy, "client_error").await;
            return Arrived::Goes(text);
        }
        if !flight.answered {
            flight.trials.taken(&self.proxy, flight.prompt.as_ref()).await;
        }
        flight.event(&self.proxy, &text);
        if event.is_last() {
            let outcome = if event.is_error() { "server_error" } else { "ok" };
            flight.end(&self.proxy, outcome).await;
        } else {
            self.lanes.put_back(lane.map(str::to_owned), flight);
        }
        Arrived::Goes(text)
    }

    /// What is sent instead of a frame that was refused; none where the refusal is the client's answer, or where
    /// prompts behind it are on their way already.
    async fn again(
        &self,
        flight: &mut Flight,
        (lane, status): (Option<&str>, Option<StatusCode>),
        error: &str,
    ) -> Option<Utf8Bytes> {
        let refused =
            status.filter(|status| flight.attempt.may_be_refused(*status) && self.lanes.is_idle(lane));
        let (status, prompt) = refused.zip(flight.prompt.clone())?;
        let (trials, attempt) = (&mut flight.trials, &mut flight.attempt);
        let mut again = trials
            .again(&self.proxy, &prompt, attempt, (status, error))
            .await?;
        let body = again.take_body().collect().await.ok()?.to_bytes();
        flight.resend(again);
        Utf8Bytes::try_from(body).ok()
    }
}

/// What becomes of a text of the upstream's.
enum Arrived {
    /// It goes to the client.
    Goes(Utf8Bytes),
    /// It was a refusal of what we changed: this goes to the upstream.
    Again(Utf8Bytes),
}

async fn send(to: &Sending, message: Message) -> Result<(), ()> {
    to.lock().await.send(message).await.map_err(|error| {
        tracing::debug!(%error, "a frame could not be sent");
    })
}

fn going_away() -> Message {
    Message::Close(Some(CloseFrame {
        code: CloseCode::Away,
        reason: Utf8Bytes::from_static("the proxy ends"),
    }))
}
