//! When things happen: streaming, leaving, limits, drain.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

use crate::support::*;

/// An upstream that answers everything with `fed`.
async fn fed_upstream(fed: &Arc<Fed>) -> Upstream {
    let fed = Arc::clone(fed);
    Upstream::start(move |_| {
        let fed = Arc::clone(&fed);
        async move { fed.answer() }
    })
    .await
}

/// A client that asked, and read up to the end of `until`.
async fn client_that_read(to: std::net::SocketAddr, until: &str) -> TcpStream {
    let mut stream = TcpStream::connect(to).await.unwrap();
    let ask = "POST /v1/messages HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 2\r\n\r\n{}";
    stream.write_all(ask.as_bytes()).await.unwrap();
    read_until(&mut stream, until).await;
    stream
}

async fn read_until(stream: &mut TcpStream, until: &str) {
    let mut read = String::new();
    while !read.contains(until) {
        let mut some = [0; 4096];
        let count = timeout(Duration::from_secs(5), stream.read(&mut some))
            .await
            .expect("no delay")
            .unwrap();
        assert_ne!(count, 0, "the end came after {read:?}");
        read.push_str(std::str::from_utf8(&some[..count]).unwrap());
    }
}

#[tokio::test]
async fn a_chunk_arrives_while_the_upstream_holds_the_rest() {
    let fed = Fed::new();
    let proxy = proxy_to(&fed_upstream(&fed).await).await;
    fed.send("event: one\n\n").await;
    let mut stream = client_that_read(proxy.proxy_addr, "event: one\n\n").await;
    fed.send("event: two\n\n").await;
    read_until(&mut stream, "event: two\n\n").await;
}

#[tokio::test]
async fn a_client_that_leaves_in_mid_stream_cancels_the_upstream_request() {
    let fed = Fed::new();
    let proxy = proxy_to(&fed_upstream(&fed).await).await;
    fed.send("one").await;
    drop(client_that_read(proxy.proxy_addr, "one").await);
    eventually("the upstream sees the client go", || fed.gone.is_set()).await;
    assert_outcome(&proxy, "client_left").await;
}

#[tokio::test]
async fn a_client_that_leaves_before_the_answer_cancels_the_upstream_request() {
    let (asked, gone) = (Flag::default(), Flag::default());
    let (told, guard) = (asked.clone(), gone.clone());
    let upstream = Upstream::start(move |_| {
        let (told, guard) = (told.on_drop(), guard.on_drop());
        async move {
            drop(told);
            let _guard = guard;
            std::future::pending().await
        }
    })
    .await;
    let proxy = proxy_to(&upstream).await;
    let stream = client_that_read(proxy.proxy_addr, "").await;
    eventually("the upstream is asked", || asked.is_set()).await;
    assert!(!gone.is_set());
    drop(stream);
    eventually("the upstream sees the client go", || gone.is_set()).await;
    assert_outcome(&proxy, "client_left").await;
}

#[tokio::test]
async fn continue_is_said_before_the_body_comes() {
    let upstream = Upstream::plain().await;
    let proxy = proxy_to(&upstream).await;
    let mut stream = TcpStream::connect(proxy.proxy_addr).await.unwrap();
    let head = "POST /v1/messages HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-length: 5\r\n\r\n";
    stream.write_all(head.as_bytes()).await.unwrap();
    read_until(&mut stream, "HTTP/1.1 100 Continue\r\n\r\n").await;
    stream.write_all(b"hello").await.unwrap();
    read_until(&mut stream, "HTTP/1.1 200 OK\r\n").await;
    let one = upstream.only();
    assert_eq!(one.body, "hello");
    assert!(!one.head.headers.contains_key("expect"));
}

#[tokio::test]
async fn an_upstream_that_breaks_off_breaks_the_answer_off() {
    let upstream = raw_upstream("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n").await;
    let proxy = start(partial(&format!("http://{upstream}"))).await;
    let answer = request(proxy.proxy_addr, "POST /v1/messages", &[], "{}").await;
    assert!(answer.ends_with("3\r\none\r\n"), "no made-up end: {answer:?}");
    assert_outcome(&proxy, "upstream_broke").await;
}

#[tokio::test]
async fn an_upstream_that_falls_silent_is_given_up() {
    let fed = Fed::new();
    let upstream = fed_upstream(&fed).await;
    let proxy = start(partial_with(&upstream.url(), "idle_timeout = \"200ms\"")).await;
    fed.send("one").await;
    let answer = request(proxy.proxy_addr, "POST /v1/messages", &[], "{}").await;
    assert!(answer.ends_with("3\r\none\r\n"), "{answer:?}");
    eventually("the upstream request is cancelled", || fed.gone.is_set()).await;
    assert_outcome(&proxy, "upstream_silent").await;
}

#[tokio::test]
async fn connections_to_the_upstream_are_reused() {
    let upstream = Upstream::plain().await;
    let proxy = proxy_to(&upstream).await;
    for _ in 0..5 {
        request(proxy.proxy_addr, "POST /v1/messages", &[], "{}").await;
    }
    assert_eq!((upstream.seen().len(), upstream.connections()), (5, 1));
}

#[tokio::test]
async fn a_connection_that_the_upstream_closed_is_not_used_again() {
    let upstream = raw_upstream("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").await;
    let proxy = start(partial(&format!("http://{upstream}"))).await;
    for _ in 0..5 {
        let answer = request(proxy.proxy_addr, "POST /v1/messages", &[], "{}").await;
        assert_eq!((status_of(&answer), body_of(&answer)), (200, "ok"));
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn a_drain_lets_a_running_stream_finish() {
    let fed = Fed::new();
    let proxy = proxy_to(&fed_upstream(&fed).await).await;
    let (address, admin) = (proxy.proxy_addr, proxy.admin_addr);
    fed.send("one").await;
    let mut stream = client_that_read(address, "one").await;
    let _silent = TcpStream::connect(address).await.unwrap();
    let drained = tokio::spawn(proxy.shutdown());
    let start = Instant::now();
    while TcpStream::connect(address).await.is_ok() {
        assert!(
            start.elapsed() < Duration::from_secs(5),
            "new connections are still taken"
        );
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(status_of(&request(admin, "GET /readyz", &[], "").await), 503);
    assert_eq!(status_of(&request(admin, "GET /healthz", &[], "").await), 200);
    fed.send("two").await;
    read_until(&mut stream, "two").await;
    assert!(!drained.is_finished());
    fed.end();
    read_until(&mut stream, "0\r\n\r\n").await;
    timeout(Duration::from_secs(5), drained)
        .await
        .expect("drained")
        .unwrap();
}

#[tokio::test]
async fn a_stream_that_outlives_the_grace_is_cut() {
    let fed = Fed::new();
    let upstream = fed_upstream(&fed).await;
    let proxy = start(partial_with(&upstream.url(), "drain_grace = \"100ms\"")).await;
    fed.send("one").await;
    let mut stream = client_that_read(proxy.proxy_addr, "one").await;
    timeout(Duration::from_secs(5), proxy.shutdown())
        .await
        .expect("the grace is over");
    eventually("the upstream request is cancelled", || fed.gone.is_set()).await;
    let mut rest = Vec::new();
    let _ = stream.read_to_end(&mut rest).await;
    assert!(!rest.ends_with(b"0\r\n\r\n"), "no made-up end");
}

async fn assert_outcome(proxy: &inkfast::proxy::server::Running, outcome: &str) {
    let needle = format!(r#"outcome="{outcome}""#);
    for _ in 0..200 {
        if metrics(proxy).await.contains(&needle) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("never counted: {outcome}");
}
