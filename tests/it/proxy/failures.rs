//! What a client is told when the upstream cannot answer.

use std::net::TcpListener;

use hyper::Version;
use inkfast::config::PartialUpstream;
use rcgen::{CertifiedKey, generate_simple_self_signed};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{ServerConfig, crypto::ring, pki_types::PrivateKeyDer},
};

use crate::support::*;

/// An address where nothing listens.
fn nobody() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    format!("http://{}", listener.local_addr().unwrap())
}

#[tokio::test]
async fn an_unreachable_upstream_is_told_in_each_formats_shape() {
    let proxy = start(partial(&nobody())).await;
    let table = [
        (
            "POST /v1/chat/completions",
            "/error/message",
            "/error/code",
            "upstream_refused",
        ),
        (
            "POST /v1/responses",
            "/error/message",
            "/error/code",
            "upstream_refused",
        ),
        ("POST /v1/messages", "/error/message", "/type", "error"),
        (
            "POST /v1beta/models/m:generateContent",
            "/error/message",
            "/error/status",
            "UNAVAILABLE",
        ),
        ("POST /api/chat", "/error", "/none", ""),
    ];
    for (first, message, other, value) in table {
        let answer = request(proxy.proxy_addr, first, &[], "{}").await;
        assert_eq!(status_of(&answer), 502, "{answer}");
        assert!(answer.contains("x-inkfast-error: upstream_refused"), "{answer}");
        let body: serde_json::Value = serde_json::from_str(body_of(&answer)).unwrap();
        let message = body.pointer(message).unwrap().as_str().unwrap();
        assert!(
            message.contains("refused") && message.contains("127.0.0.1:"),
            "{message}"
        );
        assert_eq!(
            body.pointer(other).and_then(|value| value.as_str()).unwrap_or(""),
            value,
            "{body}"
        );
    }
    let answer = request(proxy.proxy_addr, "POST /v1/messages", &[], "{}").await;
    assert!(
        body_of(&answer).contains(r#""type":"api_error""#) && body_of(&answer).contains("`anthropic`"),
        "{answer}"
    );
}

#[tokio::test]
async fn a_name_that_does_not_resolve() {
    // A label of more than 63 letters is refused by the resolver itself; nothing leaves this machine.
    let proxy = start(partial(&format!("http://{}.invalid", "x".repeat(64)))).await;
    assert_failure(&proxy, 502, "upstream_dns", "could not be resolved").await;
}

#[tokio::test]
async fn an_upstream_that_speaks_no_http() {
    let upstream = raw_upstream("SSH-2.0-OpenSSH_9.9\r\n").await;
    let proxy = start(partial(&format!("http://{upstream}"))).await;
    assert_failure(&proxy, 502, "upstream_not_http", "not valid HTTP").await;
}

#[tokio::test]
async fn an_upstream_that_hangs_up() {
    let upstream = raw_upstream("").await;
    let proxy = start(partial(&format!("http://{upstream}"))).await;
    assert_failure(&proxy, 502, "upstream_closed", "closed the connection").await;
}

#[tokio::test]
async fn an_upstream_that_never_answers() {
    let upstream = Upstream::start(|_| std::future::pending()).await;
    let proxy = start(partial_with(&upstream.url(), "idle_timeout = \"200ms\"")).await;
    assert_failure(&proxy, 504, "upstream_silent", "did not answer in time").await;
}

#[tokio::test]
async fn tls_where_there_is_none() {
    let upstream = Upstream::plain().await;
    let proxy = start(partial(&upstream.url().replace("http:", "https:"))).await;
    assert_failure(&proxy, 502, "upstream_tls", "no secure connection").await;
}

#[tokio::test]
async fn a_certificate_that_nobody_vouches_for() {
    let (upstream, _) = tls_upstream().await;
    let proxy = start(partial(&format!("https://localhost:{}", upstream.address.port()))).await;
    assert_failure(&proxy, 502, "upstream_tls", "extra_ca").await;
    assert!(upstream.seen().is_empty());
}

#[tokio::test]
async fn a_certificate_of_the_extra_authority_and_http2() {
    let (upstream, authority) = tls_upstream().await;
    let mut partial = partial(&format!("https://localhost:{}", upstream.address.port()));
    partial.extra_ca = Some(authority.path().into());
    let proxy = start(partial).await;
    for _ in 0..3 {
        assert_eq!(
            status_of(&request(proxy.proxy_addr, "POST /v1/messages", &["X-Case: 1"], "{ }").await),
            200
        );
    }
    let seen = upstream.seen();
    assert_eq!((seen.len(), upstream.connections()), (3, 1));
    assert_eq!(
        (seen[0].head.version, seen[0].body.as_ref()),
        (Version::HTTP_2, &b"{ }"[..])
    );
    assert_eq!(
        seen[0].head.uri.authority().unwrap().as_str(),
        format!("localhost:{}", upstream.address.port())
    );
    assert!(!seen[0].head.headers.contains_key("host"));
}

#[tokio::test]
async fn other_hosts_are_refused() {
    let upstream = Upstream::plain().await;
    let proxy = proxy_to(&upstream).await;
    let answer = request(proxy.proxy_addr, "GET http://example.com/v1/models", &[], "").await;
    assert_eq!(status_of(&answer), 421);
    assert!(body_of(&answer).contains("base URL"), "{answer}");
    let answer = request(proxy.proxy_addr, "CONNECT example.com:443", &[], "").await;
    assert_eq!(status_of(&answer), 421);
    assert!(upstream.seen().is_empty());
    let own = format!("GET http://{}/v1/models", proxy.proxy_addr);
    assert_eq!(status_of(&request(proxy.proxy_addr, &own, &[], "").await), 200);
}

#[tokio::test]
async fn one_upstream_that_is_down_leaves_the_others_alone() {
    let upstream = Upstream::plain().await;
    let mut partial = partial(&upstream.url());
    partial.upstreams.insert(
        "down".into(),
        PartialUpstream {
            url: nobody(),
            acts_as: None,
            ..PartialUpstream::default()
        },
    );
    let proxy = start(partial).await;
    assert_eq!(
        status_of(&request(proxy.proxy_addr, "GET /down/v1/models", &[], "").await),
        502
    );
    assert_eq!(
        status_of(&request(proxy.proxy_addr, "GET /v1/models", &[], "").await),
        200
    );
}

async fn assert_failure(proxy: &inkfast::proxy::server::Running, status: u16, label: &str, words: &str) {
    let lines = ["Authorization: Bearer sk-secret"];
    let answer = request(
        proxy.proxy_addr,
        "POST /v1/chat/completions?key=secret",
        &lines,
        "{\"p\":\"secret\"}",
    )
    .await;
    assert_eq!(status_of(&answer), status, "{answer}");
    assert!(answer.contains(&format!("x-inkfast-error: {label}")), "{answer}");
    assert!(
        body_of(&answer).contains(words) && !answer.contains("secret"),
        "{answer}"
    );
    assert!(metrics(proxy).await.contains(&format!("outcome=\"{label}\"")));
}

/// An upstream behind TLS with HTTP/2, and the certificate to trust.
async fn tls_upstream() -> (Upstream, tempfile::NamedTempFile) {
    let CertifiedKey { cert, signing_key } = generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let authority = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(authority.path(), cert.pem()).unwrap();
    let key = PrivateKeyDer::Pkcs8(signing_key.serialize_der().into());
    let mut config = ServerConfig::builder_with_provider(ring::default_provider().into())
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![cert.der().clone()], key)
        .unwrap();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let tls = TlsAcceptor::from(std::sync::Arc::new(config));
    (
        Upstream::with_tls(Some(tls), |_| async { whole("{}") }).await,
        authority,
    )
}
