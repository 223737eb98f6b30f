//! The process's life: bind, serve, drain.
//!
//! Draining goes outside in: readiness is taken back and no connection is accepted any more, running
//! exchanges get the grace period, connections that are left are cut, which cancels their upstream requests,
//! and the admin listener goes last.

use std::{
    convert::Infallible,
    fmt, io,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
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
    config::{Config, ConfigError},
    metrics::{Metrics, MetricsError},
    proxy::{
        Proxy,
        admin::{self, Admin},
        exchange, upstream,
    },
};

/// How long exchanges may still write down what happened after their connections were cut.
const LAST_WRITES: Duration = Duration::from_secs(2);

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
}

/// Why nothing serves.
#[derive(Debug)]
pub enum StartError {
    /// The configuration cannot be used.
    Config(ConfigError),
    /// An address cannot be listened on: the key, the address and why.
    Listen(&'static str, SocketAddr, io::Error),
    /// The metrics contradict each other.
    Metrics(MetricsError),
}

impl Server {
    /// Binds both listeners and serves; when this returns, both accept.
    ///
    /// # Errors
    /// An address is taken, or a file that the configuration names cannot be used.
    pub async fn start(config: Config) -> Result<Running, StartError> {
        let client = upstream::Client::new(&config).map_err(StartError::Config)?;
        let metrics = Arc::new(Metrics::new(config.models.clone()).map_err(StartError::Metrics)?);
        let (listener, proxy_addr) = bind("listen", config.listen).await?;
        let (admin_listener, admin_addr) = bind("admin", config.admin).await?;
        let proxy = Arc::new(Proxy {
            config,
            address: proxy_addr,
            client,
            metrics: Arc::clone(&metrics),
            requests: AtomicU64::new(0),
            exchanges: TaskTracker::new(),
            session_key: std::hash::RandomState::new(),
        });
        let stop = CancellationToken::new();
        let admin = Admin {
            metrics,
            ready: Arc::new(AtomicBool::new(true)),
        };
        let served = tokio::spawn(life(proxy, listener, admin, admin_listener, stop.clone()));
        Ok(Running {
            proxy_addr,
            admin_addr,
            stop,
            served,
        })
    }
}

impl Running {
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
    let graceful = GracefulShutdown::new();
    let mut connections = JoinSet::new();
    tokio::select! {
        () = accept(&proxy, listener, &graceful, &mut connections) => {}
        () = stop.cancelled() => {}
    }
    admin.ready.store(false, Ordering::Release);
    tracing::info!(event = "draining", exchanges = proxy.exchanges.len());
    if timeout(proxy.config.drain_grace, graceful.shutdown())
        .await
        .is_err()
    {
        tracing::warn!(event = "grace_over", exchanges = proxy.exchanges.len());
    }
    connections.shutdown().await;
    proxy.exchanges.close();
    let _ = timeout(LAST_WRITES, proxy.exchanges.wait()).await;
    admin_stop.cancel();
    let _ = timeout(LAST_WRITES, admin_served).await;
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
        .serve_connection(TokioIo::new(stream), service)
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
            Self::Metrics(error) => write!(f, "metrics: {error}"),
        }
    }
}

impl std::error::Error for StartError {}
