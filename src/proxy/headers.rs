//! Which headers cross the proxy: all but those that belong to one connection. Pure.
//!
//! Values, duplicates, the order of names and underscores in them stay. The spelling of names travels beside
//! the map, in the message's extensions, where hyper keeps it.

use hyper::{
    HeaderMap,
    header::{
        AUTHORIZATION, CONNECTION, CONTENT_ENCODING, CONTENT_LENGTH, EXPECT, HOST, HeaderName, HeaderValue,
        TE, TRAILER, TRANSFER_ENCODING, UPGRADE,
    },
};

/// Headers for the upstream, whose body has `length` bytes; `None` where only the client's own header can
/// tell, if it has one. `decoded` says that the body's encoding was undone. The host is the client library's to add,
/// since HTTP/2 has it elsewhere.
pub fn to_upstream(headers: &HeaderMap, length: Option<u64>, decoded: bool) -> HeaderMap {
    let mut kept = end_to_end(headers, |name| {
        !([HOST, EXPECT, TRAILER].contains(name) || decoded && name == CONTENT_ENCODING)
    });
    if let (Some(length), Some(value)) = (length, kept.get_mut(CONTENT_LENGTH)) {
        *value = HeaderValue::from(length);
    }
    if headers.get_all(TE).iter().any(accepts_trailers) {
        kept.insert(TE, HeaderValue::from_static("trailers"));
    }
    kept
}

/// Headers for the client. Unlike a request's, the trailers of an answer are sent on, so it may announce
/// them.
pub fn to_downstream(headers: &HeaderMap) -> HeaderMap {
    end_to_end(headers, |_| true)
}

/// Whether a digest or a signature covers the body, so that no byte of it may change.
pub fn is_signed(headers: &HeaderMap) -> bool {
    has_digest(headers)
        || headers.contains_key(SIGNED_DIGEST)
        || headers.get_all(AUTHORIZATION).iter().any(is_aws_signature)
}

/// Whether a digest covers the body that is no part of a signature.
pub fn has_digest(headers: &HeaderMap) -> bool {
    DIGESTS.iter().any(|name| headers.contains_key(*name))
}

/// Whether an `Authorization` is an AWS signature.
pub fn is_aws_signature(value: &HeaderValue) -> bool {
    value.as_bytes().starts_with(b"AWS4-")
}

/// The headers without those of an AWS signature.
pub fn without_signature(headers: &HeaderMap) -> HeaderMap {
    let of_signature = ["x-amz-date", "x-amz-security-token", SIGNED_DIGEST];
    kept(headers, |name| {
        name != AUTHORIZATION && !of_signature.contains(&name.as_str())
    })
}

/// RFC 1864, RFC 3230, RFC 9530.
const DIGESTS: &[&str] = &["content-md5", "digest", "content-digest"];
/// The AWS signature's own.
const SIGNED_DIGEST: &str = "x-amz-content-sha256";

fn end_to_end(headers: &HeaderMap, also: impl Fn(&HeaderName) -> bool) -> HeaderMap {
    let named_by_connection: Vec<&str> = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(str::trim)
        .collect();
    kept(headers, |name| {
        let named = || {
            named_by_connection
                .iter()
                .any(|named| named.eq_ignore_ascii_case(name.as_str()))
        };
        !is_hop_by_hop(name) && !named() && also(name)
    })
}

/// Copies instead of removing, because removal from a map changes the order of what is left.
fn kept(headers: &HeaderMap, keep: impl Fn(&HeaderName) -> bool) -> HeaderMap {
    let mut kept = HeaderMap::with_capacity(headers.len());
    for (name, value) in headers.iter().filter(|(name, _)| keep(name)) {
        kept.append(name.clone(), value.clone());
    }
    kept
}

/// RFC 9110 section 7.6.1, and `Proxy-*`, which is between a client and its proxy.
fn is_hop_by_hop(name: &HeaderName) -> bool {
    [CONNECTION, TE, TRANSFER_ENCODING, UPGRADE].contains(name)
        || name.as_str() == "keep-alive"
        || name.as_str().starts_with("proxy-")
}

fn accepts_trailers(value: &HeaderValue) -> bool {
    value.to_str().is_ok_and(|value| {
        value
            .split(',')
            .any(|one| one.trim().eq_ignore_ascii_case("trailers"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs
            .iter()
            .map(|(n, v)| (HeaderName::from_static(n), HeaderValue::from_static(v)))
            .fold(HeaderMap::new(), |mut map, (name, value)| {
                map.append(name, value);
                map
            })
    }

    fn list(map: &HeaderMap) -> Vec<(&str, &str)> {
        map.iter()
            .map(|(name, value)| (name.as_str(), value.to_str().unwrap()))
            .collect()
    }

    #[test]
    fn keeps_values_duplicates_order_and_underscores() {
        let pairs = [
            ("session_id", "1"),
            ("anthropic-beta", "a"),
            ("anthropic-beta", "b,c"),
            ("accept", "*/*"),
        ];
        assert_eq!(list(&to_upstream(&map(&pairs), None, false)), pairs);
        assert_eq!(list(&to_downstream(&map(&pairs))), pairs);
    }

    #[test]
    fn strips_what_belongs_to_the_connection() {
        let pairs = [
            ("host", "h"),
            ("connection", "close, X-Hop"),
            ("x-hop", "1"),
            ("keep-alive", "5"),
            ("proxy-authorization", "s"),
            ("te", "gzip, trailers"),
            ("trailer", "x"),
            ("transfer-encoding", "chunked"),
            ("upgrade", "h2c"),
            ("expect", "100-continue"),
            ("x-end", "2"),
        ];
        assert_eq!(
            list(&to_upstream(&map(&pairs), None, false)),
            [("x-end", "2"), ("te", "trailers")]
        );
    }

    #[test]
    fn a_decoded_body_has_no_encoding() {
        let pairs = [("content-encoding", "gzip"), ("x", "1")];
        assert_eq!(list(&to_upstream(&map(&pairs), None, true)), [("x", "1")]);
        assert_eq!(list(&to_upstream(&map(&pairs), None, false)), pairs);
    }

    #[test]
    fn a_digest_or_a_signature_pins_the_body() {
        for pair in [
            ("content-md5", "x"),
            ("digest", "x"),
            ("content-digest", "x"),
            ("x-amz-content-sha256", "x"),
            ("authorization", "AWS4-HMAC-SHA256 Credential=x"),
        ] {
            assert!(is_signed(&map(&[pair])), "{pair:?}");
        }
        assert!(!is_signed(&map(&[("authorization", "Bearer AWS4")])));
    }

    #[test]
    fn the_length_is_of_what_is_sent() {
        let pairs = [("content-length", "5"), ("x", "1")];
        assert_eq!(
            list(&to_upstream(&map(&pairs), Some(7), false)),
            [("content-length", "7"), ("x", "1")]
        );
        assert_eq!(list(&to_upstream(&map(&pairs), None, false)), pairs);
        assert_eq!(
            list(&to_upstream(&map(&[("x", "1")]), Some(7), false)),
            [("x", "1")]
        );
    }
}
