//! The thin shell around the pure core: everything that waits, reads or writes.
//!
//! `server` takes connections and drains them, `exchange` is the life of one request and names its phases in order:
//! `receive`, `rewrite` (decode, parse, look up), `attempt` (decide, apply, guard, record), `refusal` (send, and send
//! again), `relay` and `observe` with its reader `answer`. `step` is the ledger's side of one request, `recent`
//! what stands in for a ledger that does not answer, `learning` what answers teach about a route, `signing` with its
//! `credentials` what replaces a signature, `report` what is said and counted,
//! `recorder` what of it goes into a file. `target`, `headers` and
//! `tenant` are pure and say where a request goes, what of its head goes along, and whose it is. `websocket` does for
//! the frames of a WebSocket what `exchange` does for requests.

pub mod admin;
pub mod answer;
pub mod attempt;
pub mod credentials;
pub mod exchange;
pub mod headers;
pub mod learning;
pub mod line;
pub mod observe;
pub mod receive;
pub mod recent;
pub mod recorder;
pub mod refusal;
pub mod relay;
pub mod report;
pub mod rewrite;
pub mod server;
pub mod signing;
pub mod step;
pub mod superseded;
pub mod target;
pub mod tenant;
pub mod upstream;
pub mod websocket;

use std::{
    net::SocketAddr,
    sync::{Arc, atomic::AtomicU64, mpsc::Sender},
    time::{SystemTime, UNIX_EPOCH},
};

use tokio_util::{sync::CancellationToken, task::TaskTracker};
use uuid::Uuid;

use crate::{config::Config, ledger::Ledger, metrics::Metrics, prefix::policy::Mutant, route};

/// What all requests of a process share.
pub struct Proxy {
    config: Config,
    /// Where clients reach us.
    address: SocketAddr,
    client: upstream::Client,
    metrics: Arc<Metrics>,
    /// The user's own, for upstreams whose requests are signed anew.
    credentials: credentials::Chain,
    /// What was sent.
    ledger: Ledger,
    /// What providers take.
    routes: route::Table,
    /// The last bodies of live conversations.
    bodies: crate::bodies::Bodies,
    superseded: superseded::Superseded,
    /// What answers teach about routes.
    learning: learning::Learning,
    /// What went out last.
    recent: recent::Recent,
    tenants: tenant::Tenants,
    /// The namespace of the ids by which logs name items.
    item_ids: Uuid,
    /// How many requests there were.
    requests: AtomicU64,
    /// Running exchanges, some of which outlive their connection, and their writes.
    exchanges: TaskTracker,
    /// Open WebSockets.
    sockets: TaskTracker,
    /// No connection is accepted any more.
    draining: CancellationToken,
    /// Where exchanges are recorded, if that was asked for.
    recorder: Option<recorder::Recorder>,
    /// Who else is told how requests ended.
    tap: Option<Sender<line::Summary>>,
    /// A test-only fault in the planner.
    mutant: Option<Mutant>,
}

/// Milliseconds since the epoch.
pub fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
