//! The thin shell around the pure core: everything that waits, reads or writes.
//!
//! `server` takes connections and drains them, `exchange` is the life of one request and names its phases in
//! order; `target` and `headers` are pure and say where a request goes and what of its head goes along.

pub mod admin;
pub mod encoding;
pub mod exchange;
pub mod headers;
pub mod line;
pub mod observe;
pub mod receive;
pub mod relay;
pub mod server;
pub mod target;
pub mod upstream;

use std::{hash::RandomState, net::SocketAddr, sync::Arc, sync::atomic::AtomicU64};

use tokio_util::task::TaskTracker;

use crate::{config::Config, metrics::Metrics};

/// What all requests of a process share.
pub struct Proxy {
    config: Config,
    /// Where clients reach us.
    address: SocketAddr,
    client: upstream::Client,
    metrics: Arc<Metrics>,
    /// How many requests there were.
    requests: AtomicU64,
    /// Running exchanges; some outlive their connection.
    exchanges: TaskTracker,
    /// Random in each process, so that a session's digest in a log cannot be looked up.
    session_key: RandomState,
}
