//! The life of one request: receive, decode, parse, look up, decide, apply, guard, record, send, observe.
//!
//! It runs in a task of its own and the client's connection only reads what it yields. A client that goes
//! away closes that channel, which cancels the upstream request here, at a place that we choose; what must
//! still be written down is written.

use std::{
    hash::BuildHasher,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::{
    Request, Response, StatusCode,
    body::Incoming,
    http::{request, response},
};
use tokio::sync::oneshot;

use crate::{
    error::RequestError,
    proxy::{
        Proxy, headers,
        line::RequestLine,
        observe::{Observer, SideCopy},
        receive::{Received, receive},
        relay::{self, End},
        target::{self, Call, Format, Target},
        upstream::OutgoingBody,
    },
};

/// A response on its way to the client.
pub type Reply = Response<OutgoingBody>;

/// Answers one request, whatever happens.
pub async fn answer(proxy: Arc<Proxy>, request: Request<Incoming>) -> Reply {
    let (reply, answer) = oneshot::channel();
    proxy.exchanges.spawn(run(Arc::clone(&proxy), request, reply));
    // The sender is gone without a word only if the task panicked.
    answer
        .await
        .unwrap_or_else(|_| own_answer(&RequestError::Internal, Format::Other))
}

async fn run(proxy: Arc<Proxy>, request: Request<Incoming>, mut reply: oneshot::Sender<Reply>) {
    let session =
        headers::session_hint(request.headers()).map(|hint| proxy.session_key.hash_one(hint.as_bytes()));
    let mut line = RequestLine::new(proxy.requests.fetch_add(1, Ordering::Relaxed) + 1, session);
    match open(&proxy, request, &mut reply, &mut line).await {
        Ok(response) => observe(&proxy, response, reply, line).await,
        Err(error) => {
            line.status = Some(error.status());
            let answer = own_answer(&error, line.format);
            line.close(error.label(), &proxy.metrics);
            let _ = reply.send(answer);
        }
    }
}

/// Everything up to the head of the upstream's answer.
async fn open(
    proxy: &Proxy,
    request: Request<Incoming>,
    reply: &mut oneshot::Sender<Reply>,
    line: &mut RequestLine,
) -> Result<Response<Incoming>, RequestError> {
    let (head, body) = request.into_parts();
    let target =
        target::resolve(&proxy.config.upstreams, proxy.address, &head).map_err(RequestError::Target)?;
    line.set_target(&target);
    let received = receive(body, proxy.config.max_body, proxy.config.idle_timeout).await?;
    line.received_bytes = received.length();
    let outgoing = plan_outgoing(proxy, &target, received);
    line.sent_bytes = outgoing.length;
    let response = send(proxy, target, head, outgoing, reply).await?;
    line.status = Some(response.status());
    line.head_after = Some(line.started.elapsed());
    Ok(response)
}

/// A body that is ready to leave.
struct Outgoing {
    body: OutgoingBody,
    /// Its length, if it is known.
    length: Option<u64>,
}

/// Why a body leaves as it came.
#[derive(Clone, Copy)]
enum Passthrough {
    /// It is over the limit.
    Oversize,
    /// The path carries no prompt, or one in a format that is not understood.
    NoCall,
    /// Nothing is planned yet.
    Unplanned,
}

/// From the client's body to the one that leaves: decode, parse, look up, decide, apply, guard, record.
fn plan_outgoing(proxy: &Proxy, target: &Target<'_>, received: Received) -> Outgoing {
    let reason = match (&received, target.call) {
        (Received::Oversize { .. }, _) => Passthrough::Oversize,
        (Received::Whole(_), Call::Other) => Passthrough::NoCall,
        (Received::Whole(_), _) => Passthrough::Unplanned,
    };
    proxy.metrics.record_passthrough(reason.as_str());
    Outgoing {
        length: received.length(),
        body: received.into_body(),
    }
}

/// Sends the request and waits for the head of the answer, for as long as the client does.
async fn send(
    proxy: &Proxy,
    target: Target<'_>,
    head: request::Parts,
    outgoing: Outgoing,
    reply: &mut oneshot::Sender<Reply>,
) -> Result<Response<Incoming>, RequestError> {
    let mut request = Request::new(outgoing.body);
    *request.method_mut() = head.method;
    *request.uri_mut() = target.uri;
    *request.headers_mut() = headers::to_upstream(&head.headers, outgoing.length);
    // The spelling of the header names is in there.
    *request.extensions_mut() = head.extensions;
    tokio::select! {
        answer = proxy.client.send(request) => answer.map_err(|failure| RequestError::Upstream {
            name: target.upstream.name.clone(),
            host: target.upstream.authority.to_string(),
            failure,
        }),
        () = reply.closed() => Err(RequestError::ClientLeft),
    }
}

/// How long the end of an answer is held back for its reader.
const READER_PATIENCE: Duration = Duration::from_millis(50);

/// Streams the answer to the client with a copy to the side, and puts on record how it went before the client
/// has the end.
async fn observe(
    proxy: &Proxy,
    response: Response<Incoming>,
    reply: oneshot::Sender<Reply>,
    mut line: RequestLine,
) {
    let (head, from) = response.into_parts();
    let status = head.status;
    let (frames, body) = relay::body();
    let mut side = SideCopy::start(Unread);
    let _ = reply.send(downstream(head, body));
    let mut relayed = relay::relay(from, frames, &mut side, proxy.config.idle_timeout).await;
    line.answer_bytes = Some(relayed.bytes);
    line.first_byte_after = relayed.first_byte.map(|first| first.duration_since(line.started));
    if !side.settle(READER_PATIENCE).await {
        relayed.tail.release().await;
    }
    let _seen = side.finish().await;
    line.close(outcome(relayed.end, status), &proxy.metrics);
    relayed.tail.release().await;
}

fn outcome(end: End, status: StatusCode) -> &'static str {
    match end {
        End::ClientLeft => "client_left",
        End::UpstreamBroke => "upstream_broke",
        End::UpstreamSilent => "upstream_silent",
        End::Complete if status.is_client_error() => "client_error",
        End::Complete if status.is_server_error() => "server_error",
        End::Complete => "ok",
    }
}

/// The place of the reader that finds usage and the answer's digest.
struct Unread;

impl Observer for Unread {
    type Seen = ();

    fn push(&mut self, _: &Bytes) {}

    fn finish(self, _: bool) {}
}

fn downstream(head: response::Parts, body: OutgoingBody) -> Reply {
    let mut response = Response::new(body);
    *response.status_mut() = head.status;
    *response.headers_mut() = headers::to_downstream(&head.headers);
    // The spelling of the header names and the reason phrase are in there.
    *response.extensions_mut() = head.extensions;
    response
}

fn own_answer(error: &RequestError, format: Format) -> Reply {
    error
        .response(format)
        .map(|body| body.map_err(|never| match never {}).boxed_unsync())
}

impl Passthrough {
    fn as_str(self) -> &'static str {
        match self {
            Self::Oversize => "oversize",
            Self::NoCall => "no_call",
            Self::Unplanned => "unplanned",
        }
    }
}
