//! What a scrape shows after a request.

use crate::support::*;

#[tokio::test]
async fn a_request_is_counted_by_upstream_format_and_outcome() {
    let upstream = Upstream::plain().await;
    let proxy = proxy_to(&upstream).await;
    request(proxy.proxy_addr, "POST /v1/chat/completions", &[], "{}").await;
    request(proxy.proxy_addr, "GET /v1/models", &["x-api-key: k"], "").await;
    let text = metrics(&proxy).await;
    for needle in [
        r#"inkfast_requests_total{format="openai_chat",outcome="ok",upstream="openai"} 1"#,
        r#"inkfast_requests_total{format="other",outcome="ok",upstream="anthropic"} 1"#,
        r#"inkfast_passthrough_total{reason="not_a_prompt"} 1"#,
        r#"inkfast_passthrough_total{reason="unknown_shape"} 1"#,
        r#"inkfast_request_duration_seconds_count{format="openai_chat",upstream="openai"} 1"#,
        r#"inkfast_time_to_first_byte_seconds_count{format="openai_chat",upstream="openai"} 1"#,
    ] {
        assert!(text.contains(needle), "{needle} is not in {text}");
    }
    assert!(
        !text.contains("inkfast_nodes_total"),
        "what never happened is absent: {text}"
    );
}

#[tokio::test]
async fn health_and_readiness() {
    let upstream = Upstream::plain().await;
    let proxy = proxy_to(&upstream).await;
    for path in ["/healthz", "/readyz"] {
        assert_eq!(
            status_of(&request(proxy.admin_addr, &format!("GET {path}"), &[], "").await),
            200
        );
    }
    assert_eq!(
        status_of(&request(proxy.admin_addr, "GET /nonsense", &[], "").await),
        404
    );
}
