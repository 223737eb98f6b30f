//! The process's life: bind, serve, drain.
//!
//! Draining goes outside in: readiness is taken back and no connection is accepted any more, running
//! exchanges get the grace period, connections that are left are cut, which cancels their upstream requests,
//! and the admin listener goes last.

use std::{
    convert::Infallible,
    fmt,
    fs::File,
    io,
    net::SocketAddr,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
        mpsc::Sender,
    },
    time::Duration,
};

use hyper::service::service_fn;
use hyper_util::{
    rt::{TokioExecutor, TokioIo},
    server::{conn::auto, graceful::GracefulShutdown},
};
use tokio::{
    net::{TcpListener, TcpStream},
    task::{JoinHandle, JoinSet},
    time::{sleep, timeout},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    bodies::Bodies,
    config::{self, Config, ConfigError, UpdateText},
    ledger::{Ledger, LedgerError},
    metrics::{DroppedRecords, Metrics, MetricsError},
    prefix::digest::namespace,
    prefix::policy::{Mode, Mutant, TextMode},
    proxy::{
        Proxy,
        admin::{self, Admin},
        credentials::Chain,
        exchange,
        learning::Learning,
        line::Summary,
        now_ms,
        recent::Recent,
        recorder::Recorder,
        superseded::Superseded,
        tenant::Tenants,
        upstream,
    },
    route::{self, Table},
};

/// How long exchanges may still write down what happened after their connections were cut.
const LAST_WRITES: Duration = Duration::from_secs(2);
const PRUNED_EVERY: Duration = Duration::from_secs(3600);
const DAY_MS: u64 = 24 * 3600 * 1000;

/// A way to start.
pub struct Server;

/// A proxy that serves. Dropping it lets it serve on.
pub struct Running {
    /// Where agents connect.
    pub proxy_addr: SocketAddr,
    /// Where metrics and health are.
    pub admin_addr: SocketAddr,
    stop: CancellationToken,
    served: JoinHandle<()>,
    dropped: Option<DroppedRecords>,
}

/// Why nothing serves.
#[derive(Debug)]
pub enum StartError {
    /// The configuration cannot be used.
    Config(ConfigError),
    /// An address cannot be listened on: the key, the address and why.
    Listen(&'static str, SocketAddr, io::Error),
    /// The state cannot be used.
    State(LedgerError),
    /// The metrics contradict each other.
    Metrics(MetricsError),
}

impl Server {
    /// Opens the ledger that `config` names, binds both listeners and serves; when this returns, both accept.
    ///
    /// # Errors
    /// An address is taken, or a file that the configuration names cannot be used.
    pub async fn start(config: Config) -> Result<Running, StartError> {
        Self::start_recording(config, None).await
    }

    /// The same, with exchanges recorded into `recording` whatever file `config` names for that.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub async fn start_recording(config: Config, recording: Option<File>) -> Result<Running, StartError> {
        let ledger = match config.state.file().map_err(StartError::Config)? {
            None => Ledger::memory(),
            Some(path) => tokio::task::spawn_blocking(move || Ledger::open(&path))
                .await
                .unwrap_or(Err(LedgerError::Closed))
                .map_err(StartError::State)?,
        };
        Self::start_all(config, (ledger, recording), None, None).await
    }

    /// Serves over this ledger, which it closes in the end. `tap` is told how each request ended; `mutant` is a
    /// test-only fault in the planner.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub async fn start_with(
        config: Config,
        ledger: Ledger,
        tap: Option<Sender<Summary>>,
        mutant: Option<Mutant>,
    ) -> Result<Running, StartError> {
        Self::start_all(config, (ledger, None), tap, mutant).await
    }

    async fn start_all(
        config: Config,
        (ledger, recording): (Ledger, Option<File>),
        tap: Option<Sender<Summary>>,
        mutant: Option<Mutant>,
    ) -> Result<Running, StartError> {
        let client = upstream::Client::new(&config).map_err(StartError::Config)?;
        let metrics = Arc::new(Metrics::new(config.models.clone()).map_err(StartError::Metrics)?);
        let routes = routes(&config).map_err(StartError::Config)?;
        let recorder = recorder(&config, recording, &metrics)?;
        let (listener, address) = bind("listen", config.listen).await?;
        let (admin_listener, admin_addr) = bind("admin", config.admin).await?;
        let secret = match ledger.secret().await {
            Ok(secret) => secret,
            // One person's proxy goes on without: the key tells tenants apart, and hides what item ids stand for.
            Err(_) if address.ip().is_loopback() => [0; 32],
            Err(error) => return Err(StartError::State(error)),
        };
        let proxy = Arc::new(Proxy {
            tenants: tenants(secret, address),
            item_ids: namespace(&secret),
            bodies: Bodies::new(config.kept_bodies),
            superseded: Superseded::new(),
            learning: Learning::new(),
            recent: Recent::new(),
            config,
            address,
            client,
            metrics: Arc::clone(&metrics),
            credentials: Chain::of_user(),
            ledger: ledger.clone(),
            routes,
            requests: AtomicU64::new(0),
            exchanges: TaskTracker::new(),
            sockets: TaskTracker::new(),
            draining: CancellationToken::new(),
            recorder,
            tap,
            mutant,
        });
        let dropped = proxy.recorder.as_ref().map(Recorder::dropped);
        let stop = CancellationToken::new();
        let admin = Admin {
            metrics,
            ledger,
            ready: Arc::new(AtomicBool::new(true)),
        };
        let served = tokio::spawn(life(proxy, listener, admin, admin_listener, stop.clone()));
        Ok(Running {
            proxy_addr: address,
            admin_addr,
            stop,
            served,
            dropped,
        })
    }
}

/// The table of routes of a configuration: the built-in one with the user's own rows and prices in front.
///
/// # Errors
/// A file of its own cannot be read.
pub fn routes(config: &Config) -> Result<Table, ConfigError> {
    let named = |key: &str, reason: &dyn fmt::Display| ConfigError(format!("{key}: {reason}"));
    let mut table = Table::built_in().map_err(|error| named("routes", &error))?;
    for (key, path) in [("routes", &config.routes), ("prices", &config.prices)] {
        let Some(path) = path else { continue };
        let at = |reason: &dyn fmt::Display| named(key, &format!("{}: {reason}", path.display()));
        let text = std::fs::read_to_string(path).map_err(|error| at(&error))?;
        table = table.with(&text).map_err(|error| at(&error))?;
    }
    Ok(table)
}

/// What records, if that is asked for.
fn recorder(config: &Config, given: Option<File>, metrics: &Metrics) -> Result<Option<Recorder>, StartError> {
    let failed = |error: io::Error| {
        let path = config.record.as_deref().unwrap_or(Path::new("")).display();
        StartError::Config(ConfigError(format!("record: {path}: {error}")))
    };
    let named = || config.record.as_deref().map(Recorder::open).transpose();
    let Some(file) = given.map_or_else(named, |file| Ok(Some(file))).map_err(failed)? else {
        return Ok(None);
    };
    let dropped = metrics.recording().map_err(StartError::Metrics)?;
    Recorder::start(file, dropped).map(Some).map_err(failed)
}

/// A loopback listener serves one person; the state is local in every form that there is.
fn tenants(secret: [u8; 32], address: SocketAddr) -> Tenants {
    if address.ip().is_loopback() {
        Tenants::one_person()
    } else {
        Tenants::many(secret)
    }
}

impl Proxy {
    /// What the user chose, over the table of routes.
    pub(super) fn choice(&self) -> route::Choice {
        route::Choice {
            mode: match self.config.mode {
                config::Mode::InHistory => Mode::InHistory,
                config::Mode::Observe => Mode::Observe,
            },
            // `auto` leaves it to the table, whose own default it is.
            text: match self.config.update_text {
                UpdateText::Auto => None,
                UpdateText::Full => Some(TextMode::Full),
                UpdateText::Delta => Some(TextMode::Delta),
            },
            loopback: self.tenants.is_one_person(),
        }
    }
}

impl Running {
    /// The count of what the recording lacks, if there is one; it goes on until the proxy has shut down.
    pub fn dropped_records(&self) -> Option<DroppedRecords> {
        self.dropped.clone()
    }

    /// Drains and returns when all is done, which the grace period bounds.
    pub async fn shutdown(self) {
        self.stop.cancel();
        if let Err(error) = self.served.await {
            tracing::error!(%error, "the server failed");
        }
    }
}

async fn life(
    proxy: Arc<Proxy>,
    listener: TcpListener,
    admin: Admin,
    admin_listener: TcpListener,
    stop: CancellationToken,
) {
    let admin_stop = CancellationToken::new();
    let admin_served = tokio::spawn(admin::serve(admin.clone(), admin_listener, admin_stop.clone()));
    let pruned = tokio::spawn(prune(Arc::clone(&proxy)));
    let graceful = GracefulShutdown::new();
    let mut connections = JoinSet::new();
    tokio::select! {
        () = accept(&proxy, listener, &graceful, &mut connections) => {}
        () = stop.cancelled() => {}
    }
    admin.ready.store(false, Ordering::Release);
    tracing::info!(event = "draining", exchanges = proxy.exchanges.len());
    proxy.draining.cancel();
    proxy.sockets.close();
    let drained = async { tokio::join!(graceful.shutdown(), proxy.sockets.wait()) };
    if timeout(proxy.config.drain_grace, drained).await.is_err() {
        tracing::warn!(event = "grace_over", exchanges = proxy.exchanges.len());
    }
    connections.shutdown().await;
    proxy.exchanges.close();
    let _ = timeout(LAST_WRITES, proxy.exchanges.wait()).await;
    if let Some(recorder) = &proxy.recorder {
        recorder.flush().await;
    }
    pruned.abort();
    let _ = timeout(LAST_WRITES, proxy.ledger.close()).await;
    admin_stop.cancel();
    let _ = timeout(LAST_WRITES, admin_served).await;
}

/// Forgets conversations that were not used for the retention time, now and then.
async fn prune(proxy: Arc<Proxy>) {
    let retention_ms = u64::from(proxy.config.retention_days) * DAY_MS;
    loop {
        match proxy.ledger.prune(now_ms(), retention_ms, u64::MAX).await {
            Ok(0) => {}
            Ok(removed) => tracing::info!(event = "pruned", lineages = removed),
            Err(error) => tracing::warn!(event = "state_error", error = error.label()),
        }
        sleep(PRUNED_EVERY).await;
    }
}

async fn accept(
    proxy: &Arc<Proxy>,
    listener: TcpListener,
    graceful: &GracefulShutdown,
    connections: &mut JoinSet<()>,
) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => serve(proxy, stream, graceful, connections),
            Err(error) => {
                // Out of file descriptors, most often: accepting again at once would only burn the processor.
                tracing::warn!(%error, "a connection could not be accepted");
                sleep(Duration::from_millis(100)).await;
            }
        }
        while connections.try_join_next().is_some() {}
    }
}

fn serve(proxy: &Arc<Proxy>, stream: TcpStream, graceful: &GracefulShutdown, connections: &mut JoinSet<()>) {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "a connection was gone at once");
    }
    let mut protocols = auto::Builder::new(TokioExecutor::new());
    protocols.http1().preserve_header_case(true);
    let proxy = Arc::clone(proxy);
    let service = service_fn(move |request| {
        let proxy = Arc::clone(&proxy);
        async move { Ok::<_, Infallible>(exchange::answer(proxy, request).await) }
    });
    let connection = protocols
        .serve_connection_with_upgrades(TokioIo::new(stream), service)
        .into_owned();
    let connection = graceful.watch(connection);
    connections.spawn(async move {
        if let Err(error) = connection.await {
            tracing::debug!(error, "a client's connection ended badly");
        }
    });
}

async fn bind(key: &'static str, address: SocketAddr) -> Result<(TcpListener, SocketAddr), StartError> {
    let failed = |error| StartError::Listen(key, address, error);
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    let bound = listener.local_addr().map_err(failed)?;
    Ok((listener, bound))
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Config(error) => write!(f, "{error}"),
            Self::Listen(key, address, error) => write!(f, "{key}: cannot listen on {address}: {error}"),
            Self::State(error) => write!(f, "state: {error}"),
            Self::Metrics(error) => write!(f, "metrics: {error}"),
        }
    }
}

impl std::error::Error for StartError {}
