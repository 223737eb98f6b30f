//! The socket side: a loopback listener on a thread of its own, HTTP/1.1 and h2c.
//!
//! A thread of its own lets synchronous code use the provider, and a test that blocks its runtime does not stall it.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use std::{io, thread};

use async_compression::tokio::bufread::{BrotliDecoder, GzipDecoder, ZlibDecoder, ZstdDecoder};
use bytes::Bytes;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Empty, StreamBody};
use hyper::body::Incoming as Body;
use hyper::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode, Version};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use super::delivery::{self, Watch};
use super::exchange::{Incoming, Outgoing, State};
use super::recording_socket::{Heard, Tap};
use super::{Config, socket};

/// State and configuration, shared by all connections.
#[derive(Clone, Debug)]
pub(super) struct Shared {
    pub(super) config: Arc<Config>,
    state: Arc<Mutex<State>>,
}

impl Shared {
    pub(super) fn new(config: Config) -> Self {
        Self {
            config: Arc::new(config),
            state: Arc::default(),
        }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The listening thread; it ends when this is dropped.
#[derive(Debug)]
pub(super) struct Server {
    pub(super) addr: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Server {
    pub(super) fn start(shared: Shared) -> io::Result<Self> {
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0))?;
        listener.set_nonblocking(true)?;
        let addr = listener.local_addr()?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let (stop, stopped) = oneshot::channel();
        let thread = thread::Builder::new()
            .name("sim-provider".to_owned())
            .spawn(move || runtime.block_on(serve(listener, shared, stopped)))?;
        Ok(Self {
            addr,
            stop: Some(stop),
            thread: Some(thread),
        })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic of the thread has been printed already.
            let _ = thread.join();
        }
    }
}

async fn serve(listener: std::net::TcpListener, shared: Shared, stopped: oneshot::Receiver<()>) {
    let Ok(listener) = TcpListener::from_std(listener) else {
        return;
    };
    let mut connections = JoinSet::new();
    let accept = async {
        loop {
            if let Ok((socket, _)) = listener.accept().await {
                connections.spawn(connection(socket, shared.clone()));
            }
            while connections.try_join_next().is_some() {}
        }
    };
    tokio::select! {
        () = accept => {}
        _ = stopped => {}
    }
}

async fn connection(socket: TcpStream, shared: Shared) {
    let _ = socket.set_nodelay(true);
    let heard = Heard::default();
    let io = TokioIo::new(Tap {
        socket,
        heard: heard.clone(),
    });
    let service = service_fn(move |request| respond(request, shared.clone(), heard.clone()));
    let builder = auto::Builder::new(TokioExecutor::new());
    // A client that breaks the connection is no fault of the provider.
    let _ = builder.serve_connection_with_upgrades(io, service).await;
}

/// An answer on its way out.
pub(super) type Answered = Response<UnsyncBoxBody<Bytes, io::Error>>;

async fn respond(request: Request<Body>, shared: Shared, heard: Heard) -> Result<Answered, hyper::Error> {
    if socket::is_wanted(&request, &shared.config) {
        return Ok(socket::open(request, shared, &heard));
    }
    let arrived = Instant::now();
    let number = next_number(&shared);
    let incoming = receive(request, number, arrived, &heard).await?;
    let outgoing = shared.state().exchange(incoming, &shared.config);
    // Made before the wait, so that a client that leaves during it is noticed too.
    let watch = Watch::new(shared.clone(), number);
    tokio::time::sleep(outgoing.manner.delay).await;
    // Other requests read the entries from the status line on, not before.
    shared.state().commit(&outgoing.lookup, &shared.config);
    Ok(response(outgoing, watch))
}

pub(super) fn next_number(shared: &Shared) -> u64 {
    let mut state = shared.state();
    state.arrivals += 1;
    state.arrivals - 1
}

async fn receive(
    request: Request<Body>,
    number: u64,
    arrived: Instant,
    heard: &Heard,
) -> Result<Incoming, hyper::Error> {
    let (head, body) = request.into_parts();
    let body = body.collect().await?.to_bytes();
    let raw = heard.take_headers().filter(|_| head.version < Version::HTTP_2);
    let encoding = head.headers.get("content-encoding");
    let encoding = encoding.and_then(|v| v.to_str().ok()).unwrap_or_default();
    let target = head.uri.path_and_query();
    Ok(Incoming {
        number,
        arrived,
        method: head.method.to_string(),
        target: target.map_or_else(|| head.uri.to_string(), ToString::to_string),
        plain: decompress(encoding, &body).await,
        headers: raw.unwrap_or_else(|| parsed(&head.headers)),
        body,
        lane: None,
        refusal: None,
    })
}

/// The headers as the HTTP library has them.
pub(super) fn parsed(headers: &HeaderMap) -> Vec<(String, String)> {
    let text = |v: &HeaderValue| String::from_utf8_lossy(v.as_bytes()).into_owned();
    headers.iter().map(|(n, v)| (n.to_string(), text(v))).collect()
}

/// The body without its content encoding; none if that is unknown or the data is broken.
async fn decompress(encoding: &str, body: &Bytes) -> Option<Bytes> {
    match encoding.trim().to_ascii_lowercase().as_str() {
        "" | "identity" => Some(body.clone()),
        "gzip" => read_all(GzipDecoder::new(body.as_ref())).await,
        "zstd" => read_all(ZstdDecoder::new(body.as_ref())).await,
        "br" => read_all(BrotliDecoder::new(body.as_ref())).await,
        "deflate" => read_all(ZlibDecoder::new(body.as_ref())).await,
        _ => None,
    }
}

async fn read_all(mut decoder: impl AsyncRead + Unpin) -> Option<Bytes> {
    let mut plain = Vec::new();
    decoder.read_to_end(&mut plain).await.ok()?;
    Some(plain.into())
}

/// No body.
pub(super) fn empty() -> UnsyncBoxBody<Bytes, io::Error> {
    Empty::new().map_err(|never| match never {}).boxed_unsync()
}

fn response(outgoing: Outgoing, watch: Watch) -> Answered {
    let manner = outgoing.manner;
    let length: usize = outgoing.pieces.iter().map(Bytes::len).sum();
    let whole = outgoing.content_type == "application/json";
    let body = delivery::stream(outgoing.pieces, manner.chunk_delay, manner.cut, watch);
    let mut response = Response::new(BodyExt::boxed_unsync(StreamBody::new(body)));
    *response.status_mut() = StatusCode::from_u16(outgoing.status).unwrap_or(StatusCode::OK);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(outgoing.content_type));
    // A real stream has no length; a plain answer has one, also when it is cut short.
    if whole {
        headers.insert(CONTENT_LENGTH, HeaderValue::from(length));
    }
    for (name, value) in &manner.headers {
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
            headers.insert(name, value);
        }
    }
    response
}
