//! WebSocket mode of the Responses API: frames in, the same events out, one lane after the other or side by side.
//!
//! A `response.create` frame goes through the provider like a request with the method [`METHOD`]; lanes (`stream_id`) are
//! worked off in order, each at its own pace. No extension is negotiated.

use std::time::{Duration, Instant};

use bytes::Bytes;
use hyper::body::Incoming as Body;
use hyper::header::{CONNECTION, HeaderValue, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, UPGRADE};
use hyper::upgrade::OnUpgrade;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};

use super::Config;
use super::exchange::Incoming;
use super::json::Json;
use super::recording_socket::Heard;
use super::refusal::Refusal;
use super::responses::Lane;
use super::server::{Answered, Shared, next_number, parsed};

mod connection;
mod lane;
mod steer;

/// The method of a `response.create` frame in [`Recorded`](super::Recorded).
pub(super) const METHOD: &str = "WS";
/// Of a `response.steer` frame, which is recorded but is no request of its own.
const STEER: &str = "STEER";
/// Of the request that the provider makes of steered input.
pub(super) const SUCCESSOR: &str = "SUCCESSOR";

/// Asks for an upgrade that this provider grants.
pub(super) fn is_wanted(request: &Request<Body>, config: &Config) -> bool {
    let upgrade = request.headers().get(UPGRADE).and_then(|v| v.to_str().ok());
    request.method() == Method::GET
        && upgrade.is_some_and(|value| value.eq_ignore_ascii_case("websocket"))
        && request.headers().contains_key(SEC_WEBSOCKET_KEY)
        && request.uri().path().ends_with("/responses")
        && !config.socket.refuse
}

/// Answers the handshake and serves the connection once it is over.
pub(super) fn open(mut request: Request<Body>, shared: Shared, heard: &Heard) -> Answered {
    let raw = heard.take_headers();
    heard.close();
    let target = request.uri().path_and_query();
    let number = shared.state().memory.connect();
    let opening = Opening {
        number,
        at: shared.config.clock.now(),
        target: target.map_or_else(String::new, ToString::to_string),
        headers: raw.unwrap_or_else(|| parsed(request.headers())),
        shared,
    };
    let key = request.headers().get(SEC_WEBSOCKET_KEY);
    let key = derive_accept_key(key.map_or(b"", HeaderValue::as_bytes));
    tokio::spawn(serve(hyper::upgrade::on(&mut request), opening));
    let mut response = Response::new(super::server::empty());
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let headers = response.headers_mut();
    headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
    if let Ok(key) = HeaderValue::try_from(key) {
        headers.insert(SEC_WEBSOCKET_ACCEPT, key);
    }
    response
}

async fn serve(upgrade: OnUpgrade, opening: Opening) {
    let Ok(upgraded) = upgrade.await else { return };
    // Frames hold whole conversations with their images.
    let config = WebSocketConfig::default()
        .max_message_size(None)
        .max_frame_size(None);
    let io = TokioIo::new(upgraded);
    let socket = WebSocketStream::from_raw_socket(io, Role::Server, Some(config)).await;
    let (shared, number) = (opening.shared.clone(), opening.number);
    connection::run(socket, opening).await;
    shared.state().memory.close(number);
}

/// What all frames of a connection share.
#[derive(Clone, Debug)]
struct Opening {
    shared: Shared,
    /// Unique in this provider.
    number: u64,
    /// On the provider's clock.
    at: Duration,
    target: String,
    headers: Vec<(String, String)>,
}

impl Opening {
    /// A frame as a request.
    fn incoming(&self, method: &str, body: Bytes, stream: Option<String>) -> Incoming {
        Incoming {
            number: next_number(&self.shared),
            arrived: Instant::now(),
            method: method.to_owned(),
            target: self.target.clone(),
            headers: self.headers.clone(),
            plain: Some(body.clone()),
            body,
            lane: Some(Lane {
                connection: self.number,
                stream,
            }),
            refusal: None,
        }
    }
}

/// `stream_id` of a frame.
fn stream_of(frame: &Json) -> Option<String> {
    frame.str("stream_id").map(str::to_owned)
}

/// An error as an event; `body` is that of the same refusal over HTTP.
fn error_event(status: u16, mut body: Value, stream: Option<&str>) -> Value {
    body["type"] = json!("error");
    body["status"] = json!(status);
    if let Some(stream) = stream {
        body["stream_id"] = json!(stream);
    }
    body
}

fn refusal_event(refusal: &Refusal, stream: Option<&str>) -> Value {
    let body = refusal.body(super::Format::OpenAiResponses);
    error_event(refusal.status, body, stream)
}
