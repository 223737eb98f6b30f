//! The admin listener: metrics and health.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use axum::{
    Router,
    extract::State,
    http::{StatusCode, header::CONTENT_TYPE},
    response::IntoResponse,
    routing::get,
};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::metrics::Metrics;

/// What the admin side knows.
#[derive(Clone)]
pub struct Admin {
    /// What `/metrics` shows.
    pub metrics: Arc<Metrics>,
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
