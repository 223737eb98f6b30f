//! What crosses the proxy, to the byte.

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::{Request, Response, StatusCode, Version};
use hyper_util::rt::{TokioExecutor, TokioIo};

use crate::support::*;

const ODD: &[u8] =
    b"\xEF\xBB\xBF { \"z\" : 1e400,\r\n\t\"a\":\"\\ud83d \\/ \\u00e9 \xc3\xa9 \xff\", \"a\": -0.0 }\n\n";

#[tokio::test]
async fn bodies_arrive_as_they_were_sent() {
    let upstream = Upstream::plain().await;
    let proxy = proxy_to(&upstream).await;
    for path in [
        "/v1/chat/completions",
        "/v1/messages",
        "/v1/messages/count_tokens",
        "/v1/unknown",
    ] {
        request(
            proxy.proxy_addr,
            &format!("POST {path}"),
            &["content-type: application/json"],
            ODD,
        )
        .await;
    }
    let seen = upstream.seen();
    assert_eq!(seen.len(), 4);
    seen.iter()
        .for_each(|one| assert_eq!(one.body, ODD, "{}", one.head.uri));
    assert_eq!(seen[0].head.headers["content-length"], ODD.len().to_string());
}

#[tokio::test]
async fn encoded_bodies_stay_encoded() {
    let upstream = Upstream::plain().await;
    let proxy = proxy_to(&upstream).await;
    let cut_gzip = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xab\xae";
    for encoding in ["gzip", "zstd", "unheard-of"] {
        let header = format!("Content-Encoding: {encoding}");
        request(
            proxy.proxy_addr,
            "POST /v1/chat/completions",
            &[&header],
            cut_gzip,
        )
        .await;
    }
    for (one, encoding) in upstream.seen().iter().zip(["gzip", "zstd", "unheard-of"]) {
        assert_eq!(
            (one.body.as_ref(), &one.head.headers["content-encoding"]),
            (&cut_gzip[..], &encoding.parse().unwrap())
        );
    }
}

#[tokio::test]
async fn a_chunked_upload_is_sent_with_its_length() {
    let upstream = Upstream::plain().await;
    let proxy = proxy_to(&upstream).await;
    let body = "5\r\nhello\r\n6;ext=1\r\n world\r\n0\r\n\r\n";
    let answer = raw(
        proxy.proxy_addr,
        format!("POST /v1/messages HTTP/1.1\r\nhost: x\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n{body}"),
    )
    .await;
    assert_eq!(status_of(&answer), 200);
    let one = upstream.seen().pop().unwrap();
    assert_eq!(
        (one.body.as_ref(), &one.head.headers["content-length"]),
        (&b"hello world"[..], &"11".parse().unwrap())
    );
    assert!(!one.head.headers.contains_key("transfer-encoding"));
}

#[tokio::test]
async fn a_request_without_a_body_gets_none() {
    let upstream = Upstream::plain().await;
    let proxy = proxy_to(&upstream).await;
    request(proxy.proxy_addr, "GET /v1/models", &[], "").await;
    request(proxy.proxy_addr, "POST /v1/x", &["Content-Length: 0"], "").await;
    let seen = upstream.seen();
    assert!(!seen[0].head.headers.contains_key("content-length"));
    assert!(!seen[0].head.headers.contains_key("transfer-encoding"));
    assert_eq!(seen[1].head.headers["content-length"], "0");
}

#[tokio::test]
async fn headers_keep_spelling_order_duplicates_and_underscores() {
    let upstream = Upstream::plain().await;
    let proxy = proxy_to(&upstream).await;
    let lines = [
        "X-oDD-Case: a  b",
        "session_id: s_1",
        "anthropic-beta: one",
        "anthropic-beta: two,three",
        "ACCEPT: */*",
    ];
    request(proxy.proxy_addr, "GET /v1/models", &lines, "").await;
    let raw = upstream.raw();
    let sent: Vec<_> = raw.lines().skip(1).filter(|line| !line.is_empty()).collect();
    assert_eq!(sent[..5], lines, "{raw}");
    assert_eq!(sent[5..], [format!("Host: {}", upstream.address)], "{raw}");
}

#[tokio::test]
async fn hop_by_hop_headers_stop_here() {
    let upstream = Upstream::start(|_| async {
        let mut answer = whole("{}");
        for (name, value) in [
            ("keep-alive", "timeout=5"),
            ("proxy-authenticate", "x"),
            ("x-end", "1"),
            ("x-end", "2"),
        ] {
            answer.headers_mut().append(name, value.parse().unwrap());
        }
        answer
    })
    .await;
    let proxy = proxy_to(&upstream).await;
    let lines = [
        "Connection: X-Hop",
        "X-Hop: 1",
        "Keep-Alive: 5",
        "Proxy-Authorization: s",
        "TE: trailers, gzip",
        "Upgrade: websocket",
        "Trailer: x",
        "X-End: 1",
    ];
    let answer = request(proxy.proxy_addr, "GET /v1/models", &lines, "")
        .await
        .to_lowercase();
    let head = upstream.only().head;
    let mut names: Vec<_> = head.headers.keys().map(ToString::to_string).collect();
    names.sort();
    assert_eq!(names, ["host", "te", "x-end"]);
    assert_eq!(head.headers["te"], "trailers");
    assert!(
        !answer.contains("timeout=5") && !answer.contains("proxy-authenticate"),
        "{answer}"
    );
    assert!(answer.contains("x-end: 1\r\nx-end: 2"), "{answer}");
}

#[tokio::test]
async fn query_and_percent_encoding_stay() {
    let upstream = Upstream::plain().await;
    let proxy = proxy_to(&upstream).await;
    let target = "/v1/a%2Fb//c/./..%2f;p=1/%e4%BD?x=%20+&&empty=&beta=true&u={}|~'()";
    request(proxy.proxy_addr, &format!("GET {target}"), &[], "").await;
    request(proxy.proxy_addr, &format!("GET /openai{target}"), &[], "").await;
    let raw = upstream.raw();
    assert_eq!(
        raw.matches(&format!("GET {target} HTTP/1.1\r\n")).count(),
        2,
        "{raw}"
    );
}

#[tokio::test]
async fn what_the_upstream_says_passes_as_it_is() {
    let upstream = Upstream::start(|seen| async move {
        let mut answer = whole(seen.body);
        *answer.status_mut() = StatusCode::from_u16(529).unwrap();
        answer
            .headers_mut()
            .insert("content-encoding", "gzip".parse().unwrap());
        answer.headers_mut().insert("retry-after", "3".parse().unwrap());
        answer
    })
    .await;
    let proxy = proxy_to(&upstream).await;
    let answer = request(proxy.proxy_addr, "POST /v1/messages", &[], "not gzip <html>").await;
    assert_eq!((status_of(&answer), body_of(&answer)), (529, "not gzip <html>"));
    assert!(
        answer.contains("content-encoding: gzip") && answer.contains("retry-after: 3"),
        "{answer}"
    );
    assert!(
        answer.contains("content-length: 15") && !answer.contains("transfer-encoding"),
        "{answer}"
    );
    assert!(!answer.contains("x-inkfast"), "{answer}");
}

#[tokio::test]
async fn the_spelling_of_answers_stays_too() {
    let upstream =
        raw_upstream("HTTP/1.1 299 Very Fine\r\nX-Request-ID: 7\r\nContent-Length: 2\r\n\r\nok").await;
    let proxy = start(partial(&format!("http://{upstream}"))).await;
    let answer = request(proxy.proxy_addr, "GET /v1/models", &[], "").await;
    assert!(answer.starts_with("HTTP/1.1 299 Very Fine\r\n"), "{answer}");
    assert!(answer.contains("\r\nX-Request-ID: 7\r\n"), "{answer}");
}

#[tokio::test]
async fn a_head_request_has_no_body() {
    let upstream = Upstream::plain().await;
    let proxy = proxy_to(&upstream).await;
    let answer = request(proxy.proxy_addr, "HEAD /", &[], "").await;
    assert_eq!((status_of(&answer), body_of(&answer)), (200, ""));
    assert_eq!(upstream.only().head.method, "HEAD");
}

#[tokio::test]
async fn trailers_of_an_answer_arrive() {
    let upstream = raw_upstream(
        "HTTP/1.1 200 OK\r\nTrailer: x-sum\r\nTransfer-Encoding: chunked\r\n\r\n4\r\ndata\r\n0\r\nx-sum: 9\r\n\r\n",
    )
    .await;
    let proxy = start(partial(&format!("http://{upstream}"))).await;
    let (status, version, body) = http2(&proxy, "/v1/models", "").await;
    assert_eq!((status, version), (StatusCode::OK, Version::HTTP_2));
    assert_eq!(body.trailers().unwrap()["x-sum"], "9");
    assert_eq!(body.to_bytes(), "data");
    let answer = request(proxy.proxy_addr, "GET /v1/models", &["TE: trailers"], "").await;
    assert!(
        answer.ends_with("4\r\ndata\r\n0\r\nx-sum: 9\r\n\r\n"),
        "{answer:?}"
    );
}

#[tokio::test]
async fn http2_without_tls_on_the_same_port() {
    let upstream = Upstream::plain().await;
    let proxy = proxy_to(&upstream).await;
    let (status, version, body) = http2(&proxy, "/v1/chat/completions", "{ }").await;
    assert_eq!(
        (status, version, body.to_bytes()),
        (StatusCode::OK, Version::HTTP_2, Bytes::from("{}"))
    );
    let one = upstream.only();
    assert_eq!(
        (one.body.as_ref(), one.head.uri.path()),
        (&b"{ }"[..], "/v1/chat/completions")
    );
    assert_eq!(one.head.headers["host"], upstream.address.to_string());
}

#[tokio::test]
async fn a_body_over_the_limit_streams_through() {
    const SIZE: usize = 200 << 20;
    let upstream = Upstream::start(|seen| async move {
        let sum = seen.body.iter().fold(0_u64, |sum, byte| {
            sum.wrapping_mul(31).wrapping_add(u64::from(*byte))
        });
        whole(format!("{} {sum}", seen.body.len()))
    })
    .await;
    let proxy = proxy_to(&upstream).await;
    let body: Vec<u8> = (0..SIZE).map(|at| (at / 7 % 251) as u8).collect();
    let sum = body.iter().fold(0_u64, |sum, byte| {
        sum.wrapping_mul(31).wrapping_add(u64::from(*byte))
    });
    let answer = request(proxy.proxy_addr, "POST /v1/chat/completions", &[], &body).await;
    assert_eq!(body_of(&answer), format!("{SIZE} {sum}"));
    assert_eq!(upstream.only().head.headers["content-length"], SIZE.to_string());
    assert!(
        metrics(&proxy)
            .await
            .contains(r#"inkfast_passthrough_total{reason="oversize"} 1"#)
    );
}

#[tokio::test]
async fn a_body_that_turns_out_to_be_over_the_limit_loses_nothing() {
    let upstream = Upstream::start(|seen| async move { whole(seen.body) }).await;
    let proxy = start(partial_with(&upstream.url(), "max_body = \"8B\"")).await;
    let body = "5\r\nhello\r\n6\r\n world\r\n3\r\n!!!\r\n0\r\n\r\n";
    let head =
        "POST /v1/messages HTTP/1.1\r\nhost: x\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n";
    let answer = raw(proxy.proxy_addr, format!("{head}{body}")).await;
    assert!(answer.contains("hello world!!!"), "{answer}");
    assert_eq!(upstream.only().body, "hello world!!!");
}

async fn http2(
    proxy: &inkfast::proxy::server::Running,
    path: &str,
    body: &'static str,
) -> (StatusCode, Version, http_body_util::Collected<Bytes>) {
    let stream = tokio::net::TcpStream::connect(proxy.proxy_addr).await.unwrap();
    let (mut client, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream))
            .await
            .unwrap();
    tokio::spawn(connection);
    let uri = format!("http://{}{path}", proxy.proxy_addr);
    let request = Request::post(uri).body(Full::new(Bytes::from(body))).unwrap();
    let response: Response<_> = client.send_request(request).await.unwrap();
    (
        response.status(),
        response.version(),
        response.into_body().collect().await.unwrap(),
    )
}
