//! The admin listener: metrics and health.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use axum::{
    Router,
    extract::State,
    http::{StatusCode, header::CONTENT_TYPE},
    response::IntoResponse,
    routing::get,
};
use tokio::{net::TcpListener, time::timeout};
use tokio_util::sync::CancellationToken;

use crate::{ledger::Ledger, metrics::Metrics};

/// How long a scrape waits for the state; then the numbers are those of the last scrape.
const PATIENCE: Duration = Duration::from_millis(250);

/// What the admin side knows.
#[derive(Clone)]
pub struct Admin {
    /// What `/metrics` shows.
    pub metrics: Arc<Metrics>,
    /// What is asked how much it holds.
    pub ledger: Ledger,
    /// Whether new requests are welcome.
    pub ready: Arc<AtomicBool>,
}

/// Serves `/metrics`, `/healthz` and `/readyz` until `stop`.
pub async fn serve(admin: Admin, listener: TcpListener, stop: CancellationToken) {
    let routes = Router::new()
        .route("/metrics", get(metrics))
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(ready))
        .with_state(admin);
    let served = axum::serve(listener, routes)
        .with_graceful_shutdown(stop.cancelled_owned())
        .await;
    if let Err(error) = served {
        tracing::error!(%error, "the admin listener failed");
    }
}

async fn metrics(State(admin): State<Admin>) -> impl IntoResponse {
    if let Ok(Ok(stats)) = timeout(PATIENCE, admin.ledger.stats()).await {
        let number = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
        admin
            .metrics
            .record_ledger(number(stats.lineages), number(stats.items), number(stats.bytes));
    }
    match admin.metrics.encode() {
        Ok(text) => (
            StatusCode::OK,
            [(CONTENT_TYPE, "text/plain; version=0.0.4")],
            text,
        ),
        Err(error) => (
            StatusCode::INTERNAL_SERVER_ERROR,
            [(CONTENT_TYPE, "text/plain")],
            format!("{error}\n"),
        ),
    }
}

async fn ready(State(admin): State<Admin>) -> impl IntoResponse {
    if admin.ready.load(Ordering::Acquire) {
        (StatusCode::OK, "ready\n")
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, "draining\n")
    }
}
