//! One exchange as a line of Inkfast's own recording: what is written and, above all, what is not.
//!
//! Pure: an exchange in, bytes out. Headers go by a list of names that hold no secret, everything else is left out;
//! query values that look like credentials are masked. Bodies hold prompts, and stand as they were. The format is described in
//! `docs/recording.md`; what reads it back is one of this module's readers.

use std::borrow::Cow;
use std::collections::BTreeMap;

use base64::{Engine, engine::general_purpose::STANDARD};
use hyper::HeaderMap;
use serde::Serialize;

use crate::{identity, wire::format::Format};

/// The version that lines are written in.
pub const VERSION: u32 = 1;

/// Stands in for the value of a query's credential.
pub const MASKED: &str = "masked";

/// One exchange that ended.
#[derive(Clone, Debug)]
pub struct Line<'a> {
    /// When the request was sent, in milliseconds since the epoch.
    pub at_ms: u64,
    /// The upstream's name in the configuration.
    pub upstream: &'a str,
    /// The provider's host: that of the upstream, or the one that a gateway acts as.
    pub host: &'a str,
    /// The model behind the name that the request has for it, where the configuration tells of another.
    pub model: Option<&'a str>,
    /// The wire format.
    pub format: Format,
    /// The request was a frame of a WebSocket.
    pub websocket: bool,
    /// The request's method.
    pub method: &'a str,
    /// Path and query at the upstream.
    pub path: &'a str,
    /// All headers of the client.
    pub headers: &'a HeaderMap,
    /// The client's body, in its content encoding.
    pub body: &'a [u8],
    /// The body that left, without content encoding; none where it is the client's.
    pub sent: Option<&'a [u8]>,
    /// The cause of the sent verdict, where that is the proxy's own.
    pub by_proxy: Option<&'a str>,
    /// The status of the answer; none where none came.
    pub status: Option<u16>,
    /// When the answer ended, in milliseconds since the epoch.
    pub ended_ms: u64,
    /// All headers of the answer.
    pub answer_headers: &'a HeaderMap,
    /// The answer's body, in its content encoding; none where it was too long or did not come.
    pub answer: Option<&'a [u8]>,
    /// The answer's body was longer than what `answer` has.
    pub answer_truncated: bool,
}

impl Line<'_> {
    /// The line, with its line feed.
    ///
    /// # Errors
    /// None that a caller could cause: memory is written to.
    pub fn to_bytes(&self) -> serde_json::Result<Vec<u8>> {
        let (body, sent) = (Text::of(self.body), self.sent.map(Text::of));
        let answer = self.answer.map(Text::of);
        let written = Written {
            inkfast_recording: VERSION,
            at_ms: self.at_ms,
            upstream: self.upstream,
            host: self.host,
            model: self.model,
            format: self.format,
            transport: self.websocket.then_some("websocket"),
            method: self.method,
            path: &masked(self.path),
            headers: kept(self.headers, |name| {
                REQUEST_HEADERS.contains(&name) || identity::names_anyone(name)
            }),
            body: body.plain(),
            body_base64: body.encoded(),
            sent: sent.as_ref().and_then(Text::plain),
            sent_base64: sent.as_ref().and_then(Text::encoded),
            by_proxy: self.by_proxy,
            status: self.status,
            ended_ms: self.ended_ms,
            answer_headers: kept(self.answer_headers, |name| ANSWER_HEADERS.contains(&name)),
            answer: answer.as_ref().and_then(Text::plain),
            answer_base64: answer.as_ref().and_then(Text::encoded),
            answer_truncated: self.answer_truncated,
        };
        let room = self.body.len() + self.sent.map_or(0, <[u8]>::len) + self.answer.map_or(0, <[u8]>::len);
        let mut line = Vec::with_capacity(room + room / 4 + 1024);
        serde_json::to_writer(&mut line, &written)?;
        line.push(b'\n');
        Ok(line)
    }
}

/// Headers that say how a request is read, or what its prompt counts as.
const REQUEST_HEADERS: &[&str] = &[
    "anthropic-beta",
    "anthropic-version",
    "content-encoding",
    "content-type",
    "openai-beta",
    "user-agent",
];

/// Headers that say how an answer is read.
const ANSWER_HEADERS: &[&str] = &["content-encoding", "content-type"];

/// Query parameters whose name has one of these in it are credentials: Google's `key` and `access_token`, the signatures of
/// links that are signed beforehand.
const CREDENTIALS: &[&str] = &[
    "auth",
    "credential",
    "key",
    "passw",
    "secret",
    "session",
    "sig",
    "token",
];

/// A line as JSON has it, in this order.
#[derive(Serialize)]
struct Written<'a> {
    inkfast_recording: u32,
    at_ms: u64,
    upstream: &'a str,
    host: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<&'a str>,
    format: Format,
    #[serde(skip_serializing_if = "Option::is_none")]
    transport: Option<&'static str>,
    method: &'a str,
    path: &'a str,
    headers: BTreeMap<&'a str, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    body: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    body_base64: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sent: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sent_base64: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    by_proxy: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    ended_ms: u64,
    answer_headers: BTreeMap<&'a str, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    answer: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    answer_base64: Option<&'a str>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    answer_truncated: bool,
}

/// Bytes as JSON can hold them.
enum Text<'a> {
    Plain(&'a str),
    Encoded(String),
}

impl<'a> Text<'a> {
    fn of(bytes: &'a [u8]) -> Self {
        match std::str::from_utf8(bytes) {
            Ok(text) => Self::Plain(text),
            Err(_) => Self::Encoded(STANDARD.encode(bytes)),
        }
    }

    fn plain(&self) -> Option<&'a str> {
        match self {
            Self::Plain(text) => Some(text),
            Self::Encoded(_) => None,
        }
    }

    fn encoded(&self) -> Option<&str> {
        match self {
            Self::Plain(_) => None,
            Self::Encoded(text) => Some(text),
        }
    }
}

/// The headers whose names `keep` takes; lines of one name are joined, as HTTP has it. A value that is no text is left out.
fn kept(headers: &HeaderMap, keep: impl Fn(&str) -> bool) -> BTreeMap<&str, String> {
    let mut kept = BTreeMap::<&str, String>::new();
    for (name, value) in headers {
        let Some(value) = value.to_str().ok().filter(|_| keep(name.as_str())) else {
            continue;
        };
        kept.entry(name.as_str())
            .and_modify(|before| *before = format!("{before}, {value}"))
            .or_insert_with(|| value.to_owned());
    }
    kept
}

/// The path with the values of its query's credentials masked.
fn masked(path: &str) -> Cow<'_, str> {
    let Some((path, query)) = path.split_once('?') else {
        return Cow::Borrowed(path);
    };
    let pairs: Vec<_> = query.split('&').map(masked_pair).collect();
    Cow::Owned(format!("{path}?{}", pairs.join("&")))
}

fn masked_pair(pair: &str) -> Cow<'_, str> {
    let Some((name, _)) = pair.split_once('=') else {
        return Cow::Borrowed(pair);
    };
    // A name in percent encoding is not worth decoding: no client writes one, and a masked value loses nothing.
    let lower = name.to_ascii_lowercase();
    let secret = lower.contains('%') || CREDENTIALS.iter().any(|part| lower.contains(part));
    if secret {
        Cow::Owned(format!("{name}={MASKED}"))
    } else {
        Cow::Borrowed(pair)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::header::{HeaderName, HeaderValue};

    fn map(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut map = HeaderMap::new();
        for (name, value) in pairs {
            map.append(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        map
    }

    fn line<'a>(headers: &'a HeaderMap, path: &'a str, body: &'a [u8]) -> Line<'a> {
        Line {
            at_ms: 1,
            upstream: "gemini",
            host: "generativelanguage.googleapis.com",
            model: None,
            format: Format::Gemini,
            websocket: false,
            method: "POST",
            path,
            headers,
            body,
            sent: None,
            by_proxy: None,
            status: None,
            ended_ms: 2,
            answer_headers: headers,
            answer: None,
            answer_truncated: false,
        }
    }

    #[test]
    fn a_line_says_what_is_known_and_nothing_more() {
        let headers = map(&[("content-type", "application/json")]);
        let line = line(
            &headers,
            "/v1beta/models/m:generateContent",
            b"{\"a\":\"\xc3\xb6\n\"}",
        );
        assert_eq!(
            String::from_utf8(line.to_bytes().unwrap()).unwrap(),
            concat!(
                r#"{"inkfast_recording":1,"at_ms":1,"upstream":"gemini","host":"generativelanguage.googleapis.com","#,
                r#""format":"gemini","method":"POST","path":"/v1beta/models/m:generateContent","#,
                r#""headers":{"content-type":"application/json"},"body":"{\"a\":\"ö\n\"}","ended_ms":2,"#,
                r#""answer_headers":{"content-type":"application/json"}}"#,
                "\n"
            )
            .replace("ö\n", "ö\\n")
        );
    }

    #[test]
    fn bytes_that_are_no_text_stand_in_base64() {
        let headers = HeaderMap::new();
        let line = Line {
            sent: Some(b"\xff"),
            answer: Some(b"\x00\xff"),
            ..line(&headers, "/", b"\x1f\x8b")
        };
        let text = String::from_utf8(line.to_bytes().unwrap()).unwrap();
        for part in [
            r#""body_base64":"H4s=""#,
            r#""sent_base64":"/w==""#,
            r#""answer_base64":"AP8=""#,
        ] {
            assert!(text.contains(part), "{text}");
        }
        assert!(!text.contains(r#""body":"#), "{text}");
    }

    #[test]
    fn only_listed_headers_are_written() {
        let headers = map(&[
            ("authorization", "Bearer dummy-1"),
            ("x-api-key", "dummy-2"),
            ("cookie", "a=dummy-3"),
            ("x-amz-security-token", "dummy-4"),
            ("x-unheard-of", "dummy-5"),
            ("anthropic-beta", "a"),
            ("anthropic-beta", "b"),
            ("x-session-id", "s"),
        ]);
        let text = String::from_utf8(line(&headers, "/", b"{}").to_bytes().unwrap()).unwrap();
        assert!(!text.contains("dummy"), "{text}");
        assert!(
            text.contains(r#"{"anthropic-beta":"a, b","x-session-id":"s"}"#),
            "{text}"
        );
    }

    #[test]
    fn credentials_of_a_query_are_masked() {
        for (path, written) in [
            ("/a", "/a"),
            ("/a?alt=sse&key=AIza", "/a?alt=sse&key=masked"),
            ("/a?KEY=x&beta=true&x", "/a?KEY=masked&beta=true&x"),
            ("/a?access_token=x", "/a?access_token=masked"),
            ("/a?X-Amz-Signature=x", "/a?X-Amz-Signature=masked"),
            ("/a?k%65y=x", "/a?k%65y=masked"),
            ("/a?api-version=2", "/a?api-version=2"),
        ] {
            assert_eq!(masked(path), written);
        }
    }
}
