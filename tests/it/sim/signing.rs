//! AWS signatures over what arrived. The vectors were made by botocore 1.44.8's `SigV4Auth`, for the host and body below.

use inkfast::sim::{AwsKey, Config, Provider};
use serde_json::json;

use super::*;

fn keyed() -> Provider {
    Provider::start(Config {
        aws: Some(AwsKey {
            id: "AKIDEXAMPLE".to_owned(),
            secret: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY".to_owned(),
        }),
        ..Config::default()
    })
    .unwrap()
}

const PATH: &str = "/model/anthropic.claude-opus-4-8-v1%3A0/converse";
const BODY: &str = r#"{"messages":[{"role":"user","content":[{"text":"abcd"}]}]}"#;
const SIGNATURE: &str = "ebae1f258266671e796d88578ec380f82417d8de8b8bb14657e70b58fe8c80c3";
const WITH_TOKEN: &str = "811fdcbfb8154c8d3a479745d43d7525127aa679480f8a131e3329f7a64d6d0c";

fn signed(key: &str, names: &str, signature: &str) -> String {
    format!(
        "Content-Type: application/json\r\nX-Amz-Date: 20261130T120000Z\r\nAuthorization: AWS4-HMAC-SHA256 \
         Credential={key}/20261130/us-east-1/bedrock/aws4_request, SignedHeaders={names}, Signature={signature}\r\n"
    )
}

const NAMES: &str = "content-type;host;x-amz-date";

/// Status, and the kind of the error.
fn answered(provider: &Provider, path: &str, headers: &str, body: &str) -> (u16, Option<String>) {
    let reply = send(provider, path, headers, body.as_bytes());
    let kind = reply
        .head
        .lines()
        .find_map(|line| line.strip_prefix("x-amzn-errortype: "));
    (reply.status, kind.map(str::to_owned))
}

fn denied(kind: &str) -> (u16, Option<String>) {
    (403, Some(kind.to_owned()))
}

#[test]
fn what_was_signed_is_taken_and_nothing_else() {
    let provider = keyed();
    let good = signed("AKIDEXAMPLE", NAMES, SIGNATURE);
    assert_eq!(answered(&provider, PATH, &good, BODY), (200, None));

    let token = format!(
        "X-Amz-Security-Token: session-token\r\n{}",
        signed(
            "AKIDEXAMPLE",
            &format!("{NAMES};x-amz-security-token"),
            WITH_TOKEN
        )
    );
    assert_eq!(answered(&provider, PATH, &token, BODY), (200, None));

    let mismatch = denied("InvalidSignatureException");
    let edited = BODY.replace("abcd", "abce");
    assert_eq!(answered(&provider, PATH, &good, &edited), mismatch);
    let spaced = format!("{BODY} ");
    assert_eq!(answered(&provider, PATH, &good, &spaced), mismatch);
    // The same model, but other bytes in the path.
    let path = PATH.replace("%3A", ":");
    assert_eq!(answered(&provider, &path, &good, BODY), mismatch);
    assert_eq!(answered(&provider, &format!("{PATH}?x=1"), &good, BODY), mismatch);
    let later = good.replace("T120000Z", "T120001Z");
    assert_eq!(answered(&provider, PATH, &later, BODY), mismatch);
    let other_type = good.replace("application/json", "application/xml");
    assert_eq!(answered(&provider, PATH, &other_type, BODY), mismatch);
    let other_token = token.replace("session-token\r\n", "session-taken\r\n");
    assert_eq!(answered(&provider, PATH, &other_token, BODY), mismatch);
    let unsigned_host = signed("AKIDEXAMPLE", "content-type;x-amz-date", SIGNATURE);
    assert_eq!(answered(&provider, PATH, &unsigned_host, BODY), mismatch);
}

#[test]
fn other_keys_and_none() {
    let provider = keyed();
    let stranger = signed("AKIDSTRANGER", NAMES, SIGNATURE);
    assert_eq!(
        answered(&provider, PATH, &stranger, BODY),
        denied("UnrecognizedClientException")
    );
    assert_eq!(
        answered(&provider, PATH, "Authorization: AWS4-HMAC-SHA256 x\r\n", BODY),
        denied("IncompleteSignatureException")
    );
    assert_eq!(
        answered(&provider, PATH, "", BODY),
        denied("MissingAuthenticationTokenException")
    );
    assert_eq!(
        answered(&provider, PATH, "Authorization: Bearer b\r\n", BODY),
        (200, None)
    );
    // Only Bedrock's paths are signed.
    let body = json!({"model": "gpt-4o", "messages": [{"role": "user", "content": "x"}]}).to_string();
    assert_eq!(
        answered(&provider, "/v1/chat/completions", "", &body),
        (200, None)
    );
    assert_eq!(
        answered(&start(), PATH, "", BODY),
        (200, None),
        "no key, no check"
    );
}

#[test]
fn signed_requests_of_one_key_share_a_cache() {
    let provider = keyed();
    let good = signed("AKIDEXAMPLE", NAMES, SIGNATURE);
    let token = format!(
        "X-Amz-Security-Token: session-token\r\n{}",
        signed(
            "AKIDEXAMPLE",
            &format!("{NAMES};x-amz-security-token"),
            WITH_TOKEN
        )
    );
    answered(&provider, PATH, &good, BODY);
    answered(&provider, PATH, &token, BODY);
    assert_eq!(provider.recorded()[1].reach.previous, Some(0));
}
