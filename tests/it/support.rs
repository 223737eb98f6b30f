//! A proxy in process, an upstream that records what it gets to the byte, and clients that send exactly what
//! a test says.

use std::{
    future::Future,
    io,
    net::SocketAddr,
    pin::Pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use futures_util::stream;
use http_body_util::{BodyExt, Full, StreamBody, combinators::UnsyncBoxBody};
use hyper::{
    Request, Response,
    body::{Frame, Incoming},
    http::request::Parts,
    service::service_fn,
};
use hyper_util::{
    rt::{TokioExecutor, TokioIo},
    server::conn::auto,
};
use inkfast::{
    config::{Config, Partial, PartialUpstream, State},
    proxy::server::{Running, Server},
};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf},
    net::{TcpListener, TcpStream},
    sync::mpsc,
};
use tokio_rustls::TlsAcceptor;

pub type AnswerBody = UnsyncBoxBody<Bytes, io::Error>;
pub type Answer = Response<AnswerBody>;

/// A request as the upstream got it.
#[derive(Clone)]
pub struct Seen {
    pub head: Parts,
    pub body: Bytes,
}

/// An upstream on a free port.
pub struct Upstream {
    pub address: SocketAddr,
    seen: Arc<Mutex<Vec<Seen>>>,
    raw: Arc<Mutex<Vec<u8>>>,
    connections: Arc<AtomicUsize>,
}

impl Upstream {
    /// Answers each request, read to its end, with what `answer` makes of it.
    pub async fn start<F, A>(answer: F) -> Self
    where
        F: Fn(Seen) -> A + Clone + Send + 'static,
        A: Future<Output = Answer> + Send + 'static,
    {
        Self::with_tls(None, answer).await
    }

    /// The same behind TLS.
    pub async fn with_tls<F, A>(tls: Option<TlsAcceptor>, answer: F) -> Self
    where
        F: Fn(Seen) -> A + Clone + Send + 'static,
        A: Future<Output = Answer> + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let upstream = Self {
            address: listener.local_addr().unwrap(),
            seen: Arc::default(),
            raw: Arc::default(),
            connections: Arc::default(),
        };
        let connections = Arc::clone(&upstream.connections);
        let (seen, raw) = (Arc::clone(&upstream.seen), Arc::clone(&upstream.raw));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                connections.fetch_add(1, Ordering::SeqCst);
                let (seen, answer, tls) = (Arc::clone(&seen), answer.clone(), tls.clone());
                let recorded = Recorded {
                    stream,
                    raw: Arc::clone(&raw),
                };
                tokio::spawn(async move {
                    match tls {
                        None => serve(recorded, seen, answer).await,
                        Some(tls) => {
                            if let Ok(stream) = tls.accept(recorded).await {
                                serve(stream, seen, answer).await;
                            }
                        }
                    }
                });
            }
        });
        upstream
    }

    /// Answers everything with 200 and `{}`.
    pub async fn plain() -> Self {
        Self::start(|_| async { whole("{}") }).await
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    /// The only request so far.
    pub fn only(&self) -> Seen {
        let mut seen = self.seen();
        assert_eq!(seen.len(), 1, "requests that reached the upstream");
        seen.remove(0)
    }

    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    /// Every byte that came, of all connections.
    pub fn raw(&self) -> String {
        String::from_utf8_lossy(&self.raw.lock().unwrap()).into_owned()
    }
}

async fn serve<S, F, A>(stream: S, seen: Arc<Mutex<Vec<Seen>>>, answer: F)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    F: Fn(Seen) -> A + Clone + Send + 'static,
    A: Future<Output = Answer> + Send + 'static,
{
    let service = service_fn(move |request: Request<Incoming>| {
        let (seen, answer) = (Arc::clone(&seen), answer.clone());
        async move {
            let (head, body) = request.into_parts();
            let body = body.collect().await?.to_bytes();
            let one = Seen { head, body };
            seen.lock().unwrap().push(one.clone());
            Ok::<_, hyper::Error>(answer(one).await)
        }
    });
    let mut protocols = auto::Builder::new(TokioExecutor::new());
    protocols.http1().preserve_header_case(true);
    let _ = protocols.serve_connection(TokioIo::new(stream), service).await;
}

/// A body in one piece.
pub fn whole(body: impl Into<Bytes>) -> Answer {
    Response::new(
        Full::new(body.into())
            .map_err(|never| match never {})
            .boxed_unsync(),
    )
}

type Feed = mpsc::Sender<Result<Frame<Bytes>, io::Error>>;

/// A body that the test feeds; `gone` turns true when the upstream's server drops it, finished or not.
pub struct Fed {
    feed: Mutex<Option<Feed>>,
    pub gone: Flag,
    body: Mutex<Option<AnswerBody>>,
}

impl Fed {
    pub fn new() -> Arc<Self> {
        let (feed, mut queue) = mpsc::channel(16);
        let gone = Flag::default();
        let guard = gone.on_drop();
        let body = StreamBody::new(stream::poll_fn(move |context| {
            let _alive = &guard;
            queue.poll_recv(context)
        }));
        Arc::new(Self {
            feed: Mutex::new(Some(feed)),
            gone,
            body: Mutex::new(Some(BodyExt::boxed_unsync(body))),
        })
    }

    pub async fn send(&self, data: &'static str) {
        self.frame(Frame::data(Bytes::from_static(data.as_bytes()))).await;
    }

    pub async fn frame(&self, frame: Frame<Bytes>) {
        let feed = self.feed.lock().unwrap().clone().expect("not ended");
        feed.send(Ok(frame)).await.unwrap();
    }

    /// The body ends here.
    pub fn end(&self) {
        self.feed.lock().unwrap().take();
    }

    /// The one response with this body.
    pub fn answer(&self) -> Answer {
        Response::new(self.body.lock().unwrap().take().expect("one answer"))
    }
}

/// An upstream that reads one request's head, says `answer` and hangs up, on each connection.
pub async fn raw_upstream(answer: &'static str) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut some = [0; 65536];
                let _ = stream.read(&mut some).await;
                let _ = stream.write_all(answer.as_bytes()).await;
            });
        }
    });
    address
}

/// Something that happens once.
#[derive(Clone, Default)]
pub struct Flag(Arc<AtomicBool>);

pub struct SetOnDrop(Flag);

impl Flag {
    pub fn on_drop(&self) -> SetOnDrop {
        SetOnDrop(self.clone())
    }

    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}

impl Drop for SetOnDrop {
    fn drop(&mut self) {
        self.0.0.store(true, Ordering::SeqCst);
    }
}

/// Waits until `condition` holds; fails after five seconds.
pub async fn eventually(what: &str, condition: impl Fn() -> bool) {
    for _ in 0..500 {
        if condition() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("never: {what}");
}

/// A configuration on free ports whose upstreams openai, anthropic, gemini and ollama are all at `url`.
pub fn partial(url: &str) -> Partial {
    let given = PartialUpstream {
        url: url.into(),
        acts_as: None,
        ..PartialUpstream::default()
    };
    let names = ["openai", "anthropic", "gemini", "ollama"];
    Partial {
        listen: Some(SocketAddr::from(([127, 0, 0, 1], 0))),
        admin: Some(SocketAddr::from(([127, 0, 0, 1], 0))),
        state: Some(State::Memory),
        upstreams: names
            .into_iter()
            .map(|name| (name.into(), given.clone()))
            .collect(),
        ..Partial::default()
    }
}

/// The same with more keys.
pub fn partial_with(url: &str, keys: &str) -> Partial {
    keys.parse::<Partial>().unwrap().overlaid_by(partial(url))
}

pub async fn start(partial: Partial) -> Running {
    Server::start(Config::new(partial).unwrap()).await.unwrap()
}

pub async fn proxy_to(upstream: &Upstream) -> Running {
    start(partial(&upstream.url())).await
}

/// Sends exactly `bytes` on a connection of its own and returns all that comes until the other side closes
/// it.
pub async fn raw(to: SocketAddr, bytes: impl AsRef<[u8]>) -> String {
    let mut stream = TcpStream::connect(to).await.unwrap();
    stream.write_all(bytes.as_ref()).await.unwrap();
    let mut answer = Vec::new();
    tokio::time::timeout(Duration::from_secs(20), stream.read_to_end(&mut answer))
        .await
        .expect("an end")
        .unwrap();
    String::from_utf8_lossy(&answer).into_owned()
}

/// A request that closes its connection: `lines` are header lines without the final empty one.
pub async fn request(to: SocketAddr, first: &str, lines: &[&str], body: impl AsRef<[u8]>) -> String {
    let mut bytes = format!("{first} HTTP/1.1\r\nHost: {to}\r\nConnection: close\r\n").into_bytes();
    lines
        .iter()
        .for_each(|line| bytes.extend_from_slice(format!("{line}\r\n").as_bytes()));
    if !body.as_ref().is_empty() {
        bytes.extend_from_slice(format!("Content-Length: {}\r\n", body.as_ref().len()).as_bytes());
    }
    bytes.extend_from_slice(b"\r\n");
    bytes.extend_from_slice(body.as_ref());
    raw(to, bytes).await
}

pub fn status_of(answer: &str) -> u16 {
    answer
        .split(' ')
        .nth(1)
        .and_then(|code| code.parse().ok())
        .unwrap_or_else(|| panic!("no answer: {answer:?}"))
}

pub fn body_of(answer: &str) -> &str {
    answer.split_once("\r\n\r\n").expect("a head").1
}

pub async fn metrics(proxy: &Running) -> String {
    body_of(&request(proxy.admin_addr, "GET /metrics", &[], "").await).to_owned()
}

/// A stream that keeps what is read from it.
struct Recorded {
    stream: TcpStream,
    raw: Arc<Mutex<Vec<u8>>>,
}

impl AsyncRead for Recorded {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = into.filled().len();
        let polled = Pin::new(&mut self.stream).poll_read(context, into);
        self.raw
            .lock()
            .unwrap()
            .extend_from_slice(&into.filled()[before..]);
        polled
    }
}

impl AsyncWrite for Recorded {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        from: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, from)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
