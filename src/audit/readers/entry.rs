//! What the readers share: why entries are skipped, how their exchanges are numbered, times, headers, addresses.

use std::sync::Arc;

use bytes::Bytes;
use hyper::{
    HeaderMap,
    header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderName, HeaderValue},
};
use time::{OffsetDateTime, format_description::well_known::Rfc3339};

use super::in_order::InOrder;
use crate::audit::exchange::{Answer, Exchange, Skipped, Source};
use crate::wire::{Call, format::Format};

/// Bytes of one entry; a larger one is skipped.
pub const MAX_ENTRY: usize = 64 << 20;

/// Why an entry was skipped: one of the names in [`reason`].
pub type Reason = &'static str;

/// The names.
pub mod reason {
    /// It is not what its format says.
    pub const MALFORMED: &str = "malformed";
    /// The recording ends in it.
    pub const TRUNCATED: &str = "truncated";
    /// It is over the size limit.
    pub const TOO_LARGE: &str = "too_large";
    /// The recording could not be read on.
    pub const UNREADABLE: &str = "unreadable";
    /// It is no request for an answer to a prompt.
    pub const NOT_A_PROMPT: &str = "not_a_prompt";
    /// Its body was not recorded.
    pub const NO_BODY: &str = "no_body";
    /// Its body was recorded in another file.
    pub const BODY_ELSEWHERE: &str = "body_elsewhere";
    /// Its content was redacted or shortened when it was recorded.
    pub const ABRIDGED: &str = "abridged";
    /// A newer version of Inkfast wrote it.
    pub const NEWER_VERSION: &str = "newer_version";
    /// It was sent before exchanges that were given out already.
    pub const OUT_OF_ORDER: &str = "out_of_order";
}

/// Reads entries one by one, numbers them, and gives their exchanges in the order in which they were sent.
pub fn exchanges<E>(
    file: Arc<str>,
    entries: impl Iterator<Item = Result<E, Reason>>,
    read: impl Fn(E, &Source) -> Result<Vec<Exchange>, Reason>,
) -> impl Iterator<Item = Result<Exchange, Skipped>> {
    InOrder::new(found(file, entries, read))
}

/// The same, where entries are at most so many bytes out of order.
pub fn exchanges_within<E>(
    bytes: usize,
    file: Arc<str>,
    entries: impl Iterator<Item = Result<E, Reason>>,
    read: impl Fn(E, &Source) -> Result<Vec<Exchange>, Reason>,
) -> impl Iterator<Item = Result<Exchange, Skipped>> {
    InOrder::within(bytes, found(file, entries, read))
}

fn found<E>(
    file: Arc<str>,
    entries: impl Iterator<Item = Result<E, Reason>>,
    read: impl Fn(E, &Source) -> Result<Vec<Exchange>, Reason>,
) -> impl Iterator<Item = Result<Exchange, Skipped>> {
    entries.zip(1..).flat_map(move |(entry, number)| {
        let source = Source {
            file: file.clone(),
            number,
        };
        match entry.and_then(|entry| read(entry, &source)) {
            Ok(exchanges) => exchanges.into_iter().map(Ok).collect(),
            Err(reason) => vec![Err(Skipped { source, reason })],
        }
    })
}

/// An exchange of which only the place and the body are known.
pub fn exchange(source: &Source, body: Bytes) -> Exchange {
    Exchange {
        source: source.clone(),
        at_ms: None,
        host: None,
        path: None,
        format: None,
        model: None,
        headers: HeaderMap::new(),
        body,
        sent: None,
        by_proxy: None,
        answer: None,
    }
}

/// An answer that a recording holds only because it was a good one.
pub fn answer(body: Bytes) -> Answer {
    Answer {
        body,
        ..Answer::default()
    }
}

/// An answer that came as these events, written as the stream of them.
pub fn stream<'a>(events: impl IntoIterator<Item = &'a str>) -> Answer {
    let mut body = Vec::new();
    for event in events {
        for line in event.lines() {
            body.extend_from_slice(b"data: ");
            body.extend_from_slice(line.as_bytes());
            body.push(b'\n');
        }
        body.push(b'\n');
    }
    let kind = HeaderValue::from_static("text/event-stream");
    Answer {
        headers: HeaderMap::from_iter([(CONTENT_TYPE, kind)]),
        ..answer(body.into())
    }
}

/// Whether a path, with its query or not, is one that prompts are sent to.
pub fn takes_prompts(path: &str) -> bool {
    let path = path.split_once('?').map_or(path, |(path, _)| path);
    let mut calls = Format::ALL
        .iter()
        .filter_map(|format| format.wire().matches(path));
    calls.any(|call| call != Call::Other)
}

/// Headers by name and value; what is no header is left out.
pub fn headers<N: AsRef<[u8]>, V: AsRef<[u8]>>(lines: impl IntoIterator<Item = (N, V)>) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in lines {
        // Browsers record the fields of HTTP/2 that are no headers, `:path` among them.
        let name = HeaderName::from_bytes(name.as_ref());
        if let (Ok(name), Ok(value)) = (name, HeaderValue::from_bytes(value.as_ref())) {
            // Over 32,768 lines the map is full.
            let _ = headers.try_append(name, value);
        }
    }
    headers
}

/// The same without the encoding of a body that was recorded decoded.
pub fn decoded(mut headers: HeaderMap) -> HeaderMap {
    headers.remove(CONTENT_ENCODING);
    headers
}

/// The host and the path with its query of an address.
pub fn address(url: &str) -> Option<(&str, &str)> {
    let (_, rest) = url.split_once("://")?;
    let at = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(at);
    let path = path.split_once('#').map_or(path, |(path, _)| path);
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    Some((host, if path.is_empty() { "/" } else { path }))
}

/// The name of the upstream that a library or a convention knows by this one.
pub fn upstream(provider: &str) -> &str {
    match provider {
        "aws.bedrock" | "bedrock_converse" => "bedrock",
        "gcp.gemini" | "gcp.gen_ai" => "gemini",
        "gcp.vertex_ai" | "vertex_ai" => "vertex",
        "azure.ai.openai" => "azure",
        "mistral_ai" => "mistral",
        "x_ai" => "xai",
        other => other,
    }
}

/// Milliseconds since the epoch of a date and time of day as RFC 3339 has it; with a space between them and without a zone,
/// which then is UTC, too.
pub fn time_of(text: &str) -> Option<u64> {
    let (date, time) = text.trim().split_at_checked(10)?;
    let time = time.strip_prefix(['T', 't', ' '])?;
    let zone = if time.contains(['Z', 'z', '+', '-']) {
        ""
    } else {
        "Z"
    };
    let moment = OffsetDateTime::parse(&format!("{date}T{time}{zone}"), &Rfc3339).ok()?;
    u64::try_from(moment.unix_timestamp_nanos() / 1_000_000).ok()
}

/// Milliseconds since the epoch of seconds since then.
pub fn time_of_seconds(seconds: f64) -> Option<u64> {
    // The bound is the year 33658.
    (seconds > 0.0 && seconds < 1e12).then_some((seconds * 1000.0) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        for (text, ms) in [
            ("1970-01-01T00:00:01Z", Some(1000)),
            ("1970-01-01T01:00:01.2345+01:00", Some(1234)),
            ("1970-01-01 00:00:01.963000", Some(1963)),
            ("1970-01-01T00:00:01", Some(1000)),
            ("1969-12-31T00:00:00Z", None),
            ("1970-13-01T00:00:01Z", None),
            ("", None),
            ("größer als zehn", None),
        ] {
            assert_eq!(time_of(text), ms, "{text}");
        }
    }

    #[test]
    fn addresses() {
        for (url, parts) in [
            ("https://h.example/v1/x?y=1#z", Some(("h.example", "/v1/x?y=1"))),
            ("http://127.0.0.1:9/v1", Some(("127.0.0.1:9", "/v1"))),
            ("https://user@h", Some(("h", "/"))),
            ("h.example/v1", None),
        ] {
            assert_eq!(address(url), parts, "{url}");
        }
    }

    #[test]
    fn prompts_by_path() {
        assert!(takes_prompts("/v1/messages?beta=true") && takes_prompts("/openai/v1/chat/completions"));
        assert!(!takes_prompts("/v1/models") && !takes_prompts("/messages.js"));
    }
}
