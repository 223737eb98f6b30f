//! An upstream in front of the simulated provider: it looks into the ledger when the first byte of a body arrives,
//! before it reads on.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use bytes::{Bytes, BytesMut};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use inkfast::ledger::MemoryLedger;
use rusqlite::{Connection, OpenFlags};
use tokio::net::TcpListener;

use crate::support::{body_of, request, status_of};

/// Where a test looks to see what is on record: beside the proxy, not through it.
#[derive(Clone)]
pub enum Peek {
    Memory(Arc<Mutex<MemoryLedger>>),
    File(PathBuf),
}

/// What was on record at one moment.
#[derive(Clone, Debug, Default)]
pub struct Stored {
    /// Bytes in which a node must be found.
    pub blobs: Vec<Vec<u8>>,
}

/// A request as it came.
#[derive(Clone)]
pub struct Arrival {
    /// What was on record when its first byte was there.
    pub stored: Stored,
    pub body: Bytes,
    pub status: u16,
}

/// The upstream; it serves for as long as its runtime.
pub struct Front {
    pub address: SocketAddr,
    arrivals: Arc<Mutex<Vec<Arrival>>>,
}

impl Front {
    /// Passes everything on to `provider`.
    pub async fn start(provider: SocketAddr, peek: Peek) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let arrivals: Arc<Mutex<Vec<Arrival>>> = Arc::default();
        let kept = Arc::clone(&arrivals);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (kept, peek) = (Arc::clone(&kept), peek.clone());
                let service = service_fn(move |request| {
                    let (kept, peek) = (Arc::clone(&kept), peek.clone());
                    async move {
                        let (arrival, answer) = pass(request, &peek, provider).await;
                        kept.lock().unwrap().push(arrival);
                        Ok::<_, Infallible>(answer)
                    }
                });
                let http = hyper::server::conn::http1::Builder::new();
                tokio::spawn(http.serve_connection(TokioIo::new(stream), service));
            }
        });
        Self { address, arrivals }
    }

    pub fn arrivals(&self) -> Vec<Arrival> {
        self.arrivals.lock().unwrap().clone()
    }
}

async fn pass(
    incoming: Request<Incoming>,
    peek: &Peek,
    provider: SocketAddr,
) -> (Arrival, Response<Full<Bytes>>) {
    let path = incoming.uri().path().to_owned();
    let (mut from, mut body) = (incoming.into_body(), BytesMut::new());
    let mut stored = None;
    while let Some(Ok(frame)) = from.frame().await {
        stored.get_or_insert_with(|| peek.look());
        body.extend_from_slice(frame.data_ref().unwrap());
    }
    let body = body.freeze();
    let answer = request(provider, &format!("POST {path}"), &[], &body).await;
    let status = status_of(&answer);
    let reply = Response::builder()
        .status(status)
        .header("content-type", "application/json")
        .body(Full::from(body_of(&answer).to_owned()))
        .unwrap();
    let stored = stored.unwrap_or_default();
    (Arrival { stored, body, status }, reply)
}

impl Peek {
    pub fn look(&self) -> Stored {
        let blobs = match self {
            Self::Memory(ledger) => vec![ledger.lock().unwrap().to_bytes().unwrap()],
            Self::File(path) => blobs_of_live_steps(path),
        };
        Stored { blobs }
    }

    /// How many requests are on record.
    pub fn steps(&self) -> i64 {
        match self {
            Self::Memory(_) => 0,
            Self::File(path) => open(path)
                .query_row("SELECT count(*) FROM steps", [], |row| row.get(0))
                .unwrap(),
        }
    }
}

/// A second connection, as another process would have it.
fn open(path: &PathBuf) -> Connection {
    Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap()
}

/// The blobs that the record of a request names which was not rolled back.
fn blobs_of_live_steps(path: &PathBuf) -> Vec<Vec<u8>> {
    let file = open(path);
    let bytes = |sql: &str| -> Vec<(Vec<u8>, Vec<u8>)> {
        let mut statement = file.prepare(sql).unwrap();
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)));
        rows.unwrap().map(Result::unwrap).collect()
    };
    let records = bytes("SELECT r.record, x'' FROM records r JOIN steps s USING (seq) WHERE s.state <> 2");
    let named = |digest: &[u8]| {
        let mut records = records.iter();
        records.any(|(record, _)| record.windows(digest.len()).any(|window| window == digest))
    };
    let blobs = bytes("SELECT digest, bytes FROM blobs");
    blobs
        .into_iter()
        .filter(|(digest, _)| named(digest))
        .map(|(_, blob)| blob)
        .collect()
}
