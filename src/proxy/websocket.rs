//! WebSocket connections: both legs end here, and no extension is negotiated on either.
//!
//! Opening one is an HTTP exchange like any other: the client's handshake is made anew towards the upstream, and an
//! upstream that does not switch protocols answers the client itself, who may then fall back to HTTP. What goes over an
//! open connection is in `session`.

mod event;
mod flight;
mod session;

use std::sync::{Arc, atomic::Ordering};

use http_body_util::{BodyExt, Empty};
use hyper::{
    HeaderMap, Method, Request, Response, StatusCode, Version,
    body::Incoming,
    header::{
        CONNECTION, CONTENT_LENGTH, HeaderName, HeaderValue, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_EXTENSIONS,
        SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_VERSION, UPGRADE,
    },
    http::{request, response},
    upgrade::{self, OnUpgrade},
};
use hyper_util::rt::TokioIo;
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{
        handshake::{client::generate_key, derive_accept_key},
        protocol::{Role, WebSocketConfig},
    },
};

use crate::{
    error::{Failure, RequestError},
    proxy::{
        Proxy,
        exchange::{Reply, own_answer},
        headers,
        line::RequestLine,
        target::{self, Target},
    },
};

use session::Session;

/// One leg.
type Socket = WebSocketStream<TokioIo<upgrade::Upgraded>>;

/// Frames larger than this many limits of a body end the connection.
const LARGEST: usize = 4;

/// Whether a request asks for a WebSocket, in a way that can be answered with one.
pub fn is_asked<B>(request: &Request<B>) -> bool {
    let says = |name: HeaderName, word: &str| {
        let values = request.headers().get_all(name);
        let mut words = values
            .iter()
            .filter_map(|value| value.to_str().ok())
            .flat_map(|value| value.split(','));
        words.any(|said| said.trim().eq_ignore_ascii_case(word))
    };
    request.method() == Method::GET
        && request.version() == Version::HTTP_11
        && says(UPGRADE, "websocket")
        && says(CONNECTION, "upgrade")
        && says(SEC_WEBSOCKET_VERSION, "13")
        && request.headers().contains_key(SEC_WEBSOCKET_KEY)
}

/// Answers a request that asks for a WebSocket.
pub async fn open(proxy: Arc<Proxy>, mut request: Request<Incoming>) -> Reply {
    let client = upgrade::on(&mut request);
    let (head, _) = request.into_parts();
    let mut line = RequestLine::new(proxy.requests.fetch_add(1, Ordering::Relaxed) + 1);
    let opened = match target::resolve(&proxy.config.upstreams, proxy.address, &head) {
        Ok(target) => {
            line.set_target(&target);
            connect(&proxy, &target, &head).await
        }
        Err(reason) => Err(RequestError::Target(reason)),
    };
    let (answer, outcome) = match opened {
        Ok(response) if response.status() == StatusCode::SWITCHING_PROTOCOLS => {
            (switch(&proxy, head, client, response), "ok")
        }
        Ok(response) => (declined(response), "declined"),
        Err(error) => (own_answer(&error, line.format), error.label()),
    };
    line.status = Some(answer.status());
    line.close(outcome, &proxy.metrics, proxy.tap.as_ref());
    answer
}

/// Asks the upstream for a WebSocket.
async fn connect(
    proxy: &Proxy,
    target: &Target<'_>,
    head: &request::Parts,
) -> Result<Response<Incoming>, RequestError> {
    let key = generate_key();
    let mut request = Request::new(Empty::new().map_err(|never| match never {}).boxed_unsync());
    *request.uri_mut() = target.uri.clone();
    *request.headers_mut() = handshake(headers::to_upstream(&head.headers, None, false), &key);
    *request.extensions_mut() = head.extensions.clone();
    let failed = |failure| RequestError::Upstream {
        name: target.upstream.name.clone(),
        host: target.upstream.authority.to_string(),
        failure,
    };
    let response = proxy.client.open(request).await.map_err(failed)?;
    let accepted = response.headers().get(SEC_WEBSOCKET_ACCEPT);
    let sound =
        accepted.is_some_and(|accept| accept.as_bytes() == derive_accept_key(key.as_bytes()).as_bytes());
    if response.status() == StatusCode::SWITCHING_PROTOCOLS && !sound {
        return Err(failed(Failure::NotHttp));
    }
    Ok(response)
}

/// The client's headers with a handshake of our own. No extension: a compressed frame could not be read, and one that
/// both legs compress by themselves gains nothing on a loopback connection.
fn handshake(mut headers: HeaderMap, key: &str) -> HeaderMap {
    for name in [SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_EXTENSIONS, SEC_WEBSOCKET_VERSION] {
        headers.remove(name);
    }
    if let Ok(key) = HeaderValue::from_str(key) {
        headers.insert(SEC_WEBSOCKET_KEY, key);
    }
    headers.insert(SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13"));
    switching(headers)
}

fn switching(mut headers: HeaderMap) -> HeaderMap {
    headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
    headers
}

/// Switches the client's leg, too, and lets the two talk.
fn switch(
    proxy: &Arc<Proxy>,
    head: request::Parts,
    client: OnUpgrade,
    mut upstream: Response<Incoming>,
) -> Reply {
    let upgraded = upgrade::on(&mut upstream);
    let key = head.headers.get(SEC_WEBSOCKET_KEY);
    let accept = derive_accept_key(key.map_or(&[][..], HeaderValue::as_bytes));
    let mut headers = headers::to_downstream(upstream.headers());
    headers.remove(SEC_WEBSOCKET_EXTENSIONS);
    headers.remove(CONTENT_LENGTH);
    if let Ok(accept) = HeaderValue::from_str(&accept) {
        headers.insert(SEC_WEBSOCKET_ACCEPT, accept);
    }
    let mut answer = Response::new(Empty::new().map_err(|never| match never {}).boxed_unsync());
    *answer.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    *answer.headers_mut() = switching(headers);
    let session = Session::new(Arc::clone(proxy), head);
    let limit = proxy.config.max_body.saturating_mul(LARGEST);
    proxy.sockets.spawn(async move {
        let (Ok(client), Ok(upstream)) = tokio::join!(client, upgraded) else {
            tracing::debug!("a connection was gone before it was a websocket");
            return;
        };
        let client = socket(client, Role::Server, limit).await;
        let upstream = socket(upstream, Role::Client, limit).await;
        session.run(client, upstream).await;
    });
    answer
}

async fn socket(io: upgrade::Upgraded, role: Role, limit: usize) -> Socket {
    let config = WebSocketConfig::default()
        .max_message_size(Some(limit))
        .max_frame_size(Some(limit));
    WebSocketStream::from_raw_socket(TokioIo::new(io), role, Some(config)).await
}

/// The upstream's own answer.
fn declined(response: Response<Incoming>) -> Reply {
    let (head, body): (response::Parts, Incoming) = response.into_parts();
    let mut answer = Response::new(body.map_err(Into::into).boxed_unsync());
    *answer.status_mut() = head.status;
    *answer.headers_mut() = headers::to_downstream(&head.headers);
    *answer.extensions_mut() = head.extensions;
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_whole_handshake_asks_for_a_websocket() {
        let asks = |pairs: &[(&str, &str)]| {
            let request = pairs.iter().fold(Request::builder(), |request, (name, value)| {
                request.header(*name, *value)
            });
            is_asked(&request.body(()).unwrap())
        };
        let whole = [
            ("connection", "keep-alive, Upgrade"),
            ("upgrade", "WebSocket"),
            ("sec-websocket-version", "13"),
            ("sec-websocket-key", "k"),
        ];
        assert!(asks(&whole));
        for left_out in 0..whole.len() {
            let rest: Vec<_> = (0..whole.len())
                .filter(|at| *at != left_out)
                .map(|at| whole[at])
                .collect();
            assert!(!asks(&rest), "without {}", whole[left_out].0);
        }
    }

    #[test]
    fn no_extension_is_asked_for() {
        let mut headers = HeaderMap::new();
        headers.insert(
            SEC_WEBSOCKET_EXTENSIONS,
            HeaderValue::from_static("permessage-deflate"),
        );
        headers.insert(SEC_WEBSOCKET_KEY, HeaderValue::from_static("theirs"));
        let made = handshake(headers, "ours");
        assert!(!made.contains_key(SEC_WEBSOCKET_EXTENSIONS));
        assert_eq!(made[SEC_WEBSOCKET_KEY], "ours");
    }
}
