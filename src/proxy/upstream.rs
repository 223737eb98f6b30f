//! The client for all upstreams: TLS, connection reuse, time limits, and what a failure means.
//!
//! HTTP/1.1 or HTTP/2 is settled by ALPN. The library tries a request again only when its pooled connection
//! turned out to be closed before a byte of it was written; nothing else is ever repeated.

use std::{error::Error as StdError, io, path::Path, sync::Arc, time::Duration};

use bytes::Bytes;
use http_body_util::combinators::UnsyncBoxBody;
use hyper::{Request, Response, body::Incoming};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::{
    client::legacy::{
        self,
        connect::{HttpConnector, capture_connection},
    },
    rt::{TokioExecutor, TokioTimer},
};
use rustls::{
    ClientConfig, RootCertStore,
    crypto::CryptoProvider,
    pki_types::{CertificateDer, pem::PemObject},
};
use rustls_platform_verifier::Verifier;
use tokio::time::{sleep, timeout};

use crate::{
    config::{Config, ConfigError},
    error::Failure,
};

/// A request's body on its way out.
pub type OutgoingBody = UnsyncBoxBody<Bytes, BoxError>;

/// Any error of a body.
pub type BoxError = Box<dyn StdError + Send + Sync>;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const POOL_IDLE: Duration = Duration::from_secs(90);
/// An HTTP/2 connection with open requests is pinged this often, so that one that died unseen is noticed.
const HTTP2_PING: Duration = Duration::from_secs(30);

/// The client for all upstreams.
pub struct Client {
    inner: legacy::Client<HttpsConnector<HttpConnector>, OutgoingBody>,
    /// For connections that are to become WebSockets: those are HTTP/1.1's.
    http1: legacy::Client<HttpsConnector<HttpConnector>, OutgoingBody>,
    idle_timeout: Duration,
}

impl Client {
    /// A client with the platform's certificate authorities and those of `config.extra_ca`.
    ///
    /// # Errors
    /// `extra_ca` cannot be read or holds no certificate.
    pub fn new(config: &Config) -> Result<Self, ConfigError> {
        let mut http = HttpConnector::new();
        http.enforce_http(false);
        http.set_nodelay(true);
        http.set_keepalive(Some(Duration::from_secs(60)));
        let tls = tls(config.extra_ca.as_deref())?;
        let connector = || {
            HttpsConnectorBuilder::new()
                .with_tls_config(tls.clone())
                .https_or_http()
        };
        let http1 = legacy::Client::builder(TokioExecutor::new())
            .http1_preserve_header_case(true)
            .pool_max_idle_per_host(0)
            .build(connector().enable_http1().wrap_connector(http.clone()));
        let inner = legacy::Client::builder(TokioExecutor::new())
            .timer(TokioTimer::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(POOL_IDLE)
            .http1_preserve_header_case(true)
            .http2_keep_alive_interval(HTTP2_PING)
            .http2_adaptive_window(true)
            .build(connector().enable_all_versions().wrap_connector(http));
        Ok(Self {
            inner,
            http1,
            idle_timeout: config.idle_timeout,
        })
    }

    /// Sends one request and waits for the head of its answer. Dropping the future cancels the request.
    ///
    /// # Errors
    /// There is no answer; what failed.
    pub async fn send(&self, request: Request<OutgoingBody>) -> Result<Response<Incoming>, Failure> {
        self.send_by(&self.inner, request).await
    }

    /// As [`send`](Self::send), by a connection of its own that may become something else than HTTP.
    ///
    /// # Errors
    /// There is no answer; what failed.
    pub async fn open(&self, request: Request<OutgoingBody>) -> Result<Response<Incoming>, Failure> {
        self.send_by(&self.http1, request).await
    }

    async fn send_by(
        &self,
        client: &legacy::Client<HttpsConnector<HttpConnector>, OutgoingBody>,
        mut request: Request<OutgoingBody>,
    ) -> Result<Response<Incoming>, Failure> {
        let mut connection = capture_connection(&mut request);
        let mut answer = client.request(request);
        tokio::select! {
            answer = &mut answer => return answer.map_err(|error| failure_of(&error)),
            _ = connection.wait_for_connection_metadata() => {}
            () = sleep(CONNECT_TIMEOUT) => return Err(Failure::ConnectTimeout),
        }
        match timeout(self.idle_timeout, answer).await {
            Ok(answer) => answer.map_err(|error| failure_of(&error)),
            Err(_) => Err(Failure::Silent),
        }
    }
}

/// Ring is named here because a second crypto provider in the build would make rustls' own choice a panic.
fn tls(extra_ca: Option<&Path>) -> Result<ClientConfig, ConfigError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let extra = extra_ca.map(certificates).transpose()?.unwrap_or_default();
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| ConfigError(format!("TLS: {error}")))?;
    Ok(match platform_verifier(extra, provider) {
        Ok(verifier) => builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier))
            .with_no_client_auth(),
        Err(error) => {
            // A machine without certificates can still serve local models over plain HTTP.
            tracing::warn!(%error, "no certificate authorities: requests to https upstreams will fail");
            builder
                .with_root_certificates(RootCertStore::empty())
                .with_no_client_auth()
        }
    })
}

fn platform_verifier(
    extra: Vec<CertificateDer<'static>>,
    provider: Arc<CryptoProvider>,
) -> Result<Verifier, rustls::Error> {
    if extra.is_empty() {
        Verifier::new(provider)
    } else {
        Verifier::new_with_extra_roots(extra, provider)
    }
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, ConfigError> {
    let named = |reason: &str| ConfigError(format!("extra_ca: {}: {reason}", path.display()));
    let read = CertificateDer::pem_file_iter(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    match read {
        Ok(found) if found.is_empty() => Err(named("holds no PEM certificate")),
        Ok(found) => Ok(found),
        Err(error) => Err(named(&error.to_string())),
    }
}

fn failure_of(error: &legacy::Error) -> Failure {
    for cause in causes(error) {
        if let Some(tls) = cause.downcast_ref::<rustls::Error>() {
            return Failure::Tls(tls.to_string());
        }
        if let Some(http) = cause
            .downcast_ref::<hyper::Error>()
            .filter(|http| http.is_parse())
        {
            tracing::debug!(%http, "an upstream's answer was no HTTP");
            return Failure::NotHttp;
        }
        // The resolver's error type is private to the library; its message is all there is.
        if error.is_connect() && cause.to_string().starts_with("dns error") {
            return Failure::Dns;
        }
        if cause
            .downcast_ref::<io::Error>()
            .is_some_and(|io| io.kind() == io::ErrorKind::ConnectionRefused)
        {
            return Failure::Refused;
        }
    }
    if error.is_connect() {
        Failure::Unreachable
    } else {
        Failure::Closed
    }
}

/// An error and what caused it, outermost first. An `io::Error` hides the error that it wraps from `source`.
fn causes<'a>(error: &'a (dyn StdError + 'static)) -> impl Iterator<Item = &'a (dyn StdError + 'static)> {
    std::iter::successors(Some(error), |&error| {
        match error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
            Some(wrapped) => Some(wrapped as &(dyn StdError + 'static)),
            None => error.source(),
        }
    })
}
