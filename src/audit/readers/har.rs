//! HAR 1.2, as browsers, mitmproxy and Charles export it: one JSON document whose `log.entries` are read one by one.
//!
//! Bodies stand in it decoded, as text, so nothing of a content encoding is left; what is no text is base64. Frames of
//! WebSockets are in `_webSocketMessages`, by Chromium's example (w3c.github.io/web-performance, HAR; mitmproxy 11 and 12).

use std::borrow::Cow;
use std::fmt;
use std::io::BufRead;
use std::sync::Arc;

use base64::{Engine, engine::general_purpose::STANDARD};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use serde::Deserialize;
use serde::de::{self, Deserializer, Visitor};

use super::entry::{self, Reason, reason};
use super::frames::{self, Frame};
use super::packed;
use super::values::Values;
use crate::audit::exchange::{Answer, Exchange, Skipped, Source};

/// Whether a file that starts so is a HAR.
pub fn looks_like(first: &[u8]) -> bool {
    let first = packed::beginning(first);
    let text = first
        .strip_prefix(b"\xef\xbb\xbf")
        .unwrap_or(&first)
        .trim_ascii_start();
    let inside = text.strip_prefix(b"{").map(<[u8]>::trim_ascii_start);
    let holds = |name: &[u8]| memchr::memmem::find(&first, name).is_some();
    inside.is_some_and(|inside| inside.starts_with(b"\"log\""))
        && [&b"\"entries\""[..], b"\"creator\"", b"\"version\""]
            .into_iter()
            .any(holds)
}

/// The exchanges of a HAR.
pub fn read(
    file: Arc<str>,
    input: impl BufRead + Send + 'static,
) -> impl Iterator<Item = Result<Exchange, Skipped>> {
    let entries = Values::new(packed::unpack(input), &[&["log"], &["entries"]]);
    entry::exchanges(file, entries, |bytes: Vec<u8>, source: &Source| {
        read_entry(&bytes, source)
    })
}

fn read_entry(bytes: &[u8], source: &Source) -> Result<Vec<Exchange>, Reason> {
    let entry: Entry = serde_json::from_slice(bytes).map_err(|_| reason::MALFORMED)?;
    let request = entry.request;
    let (host, path) = entry::address(&request.url).ok_or(reason::NOT_A_PROMPT)?;
    if !entry::takes_prompts(path) {
        return Err(reason::NOT_A_PROMPT);
    }
    let at_ms = entry.started.as_deref().and_then(entry::time_of);
    let known = Exchange {
        at_ms,
        host: Some(host.to_owned()),
        path: Some(path.to_owned()),
        headers: entry::decoded(headers(&request.headers)),
        ..entry::exchange(source, bytes::Bytes::new())
    };
    if let Some(messages) = entry.messages {
        let found = frames::exchanges(messages.into_iter().filter_map(Message::frame), &known);
        return if found.is_empty() {
            Err(reason::NOT_A_PROMPT)
        } else {
            Ok(found)
        };
    }
    if request.method != "POST" {
        return Err(reason::NOT_A_PROMPT);
    }
    let body = request.body.and_then(Body::bytes).ok_or(reason::NO_BODY)?;
    let ended_ms = at_ms.zip(entry.time).and_then(|(at_ms, time)| {
        // The bound is a year.
        (0.0..4e10).contains(&time).then(|| at_ms + time as u64)
    });
    let answer = entry.response.and_then(|response| response.answer(ended_ms));
    Ok(vec![Exchange {
        body: body.into(),
        answer,
        ..known
    }])
}

#[derive(Deserialize)]
struct Entry<'a> {
    #[serde(rename = "startedDateTime")]
    started: Option<String>,
    /// Milliseconds from the start of the request to the end of the answer.
    time: Option<f64>,
    #[serde(borrow)]
    request: Request<'a>,
    #[serde(borrow)]
    response: Option<Response<'a>>,
    #[serde(rename = "_webSocketMessages")]
    messages: Option<Vec<Message>>,
}

#[derive(Deserialize)]
struct Request<'a> {
    method: String,
    url: String,
    #[serde(borrow, default)]
    headers: Vec<Header<'a>>,
    #[serde(borrow, rename = "postData")]
    body: Option<Body<'a>>,
}

#[derive(Deserialize)]
struct Response<'a> {
    status: Option<i32>,
    #[serde(borrow, default)]
    headers: Vec<Header<'a>>,
    #[serde(borrow)]
    content: Option<Body<'a>>,
}

#[derive(Deserialize)]
struct Header<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow)]
    value: Cow<'a, str>,
}

/// A body, of either direction. The standard names an encoding for answers only; some exports give requests one, too.
#[derive(Deserialize)]
struct Body<'a> {
    #[serde(rename = "mimeType")]
    kind: Option<String>,
    #[serde(borrow)]
    text: Option<Text<'a>>,
    #[serde(alias = "_encoding")]
    encoding: Option<String>,
}

#[derive(Deserialize)]
struct Message {
    #[serde(rename = "type")]
    kind: String,
    /// Seconds since the epoch.
    time: Option<f64>,
    opcode: Option<u8>,
    data: Option<String>,
}

impl Response<'_> {
    /// None where the request was aborted or blocked, which is recorded as the status 0.
    fn answer(self, ended_ms: Option<u64>) -> Option<Answer> {
        let status = self
            .status
            .and_then(|status| u16::try_from(status).ok())
            .filter(|status| *status > 0)?;
        let mut headers = entry::decoded(headers(&self.headers));
        let kind = self.content.as_ref().and_then(|content| content.kind.as_deref());
        if let Some(Ok(kind)) = kind.map(HeaderValue::from_str) {
            headers.entry(CONTENT_TYPE).or_insert(kind);
        }
        Some(Answer {
            status: Some(status),
            ended_ms,
            headers,
            ..entry::answer(self.content.and_then(Body::bytes).unwrap_or_default().into())
        })
    }
}

impl Body<'_> {
    fn bytes(self) -> Option<Vec<u8>> {
        let text = self.text?.0;
        match self.encoding.as_deref() {
            Some("base64") => STANDARD.decode(text.trim_ascii()).ok(),
            _ => Some(text.into_owned()),
        }
    }
}

impl Message {
    /// None where it is no text.
    fn frame(self) -> Option<Frame> {
        (self.opcode.unwrap_or(1) == 1).then_some(())?;
        Some(Frame {
            from_client: self.kind == "send",
            at_ms: self.time.and_then(entry::time_of_seconds),
            text: self.data?,
        })
    }
}

/// A text by its bytes. mitmproxy writes bytes that are no text as the lone surrogates that Python escapes them to.
struct Text<'a>(Cow<'a, [u8]>);

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        struct Bytes;
        impl<'de> Visitor<'de> for Bytes {
            type Value = Text<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_borrowed_bytes<E: de::Error>(self, bytes: &'de [u8]) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Borrowed(bytes)))
            }

            fn visit_bytes<E: de::Error>(self, bytes: &[u8]) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Owned(unescaped(bytes))))
            }
        }
        input.deserialize_bytes(Bytes)
    }
}

/// Turns U+DC80 to U+DCFF, encoded as if they were characters, into the bytes that they stand for.
fn unescaped(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some(at) = memchr::memchr(0xed, rest) {
        out.extend_from_slice(&rest[..at]);
        rest = &rest[at..];
        match *rest {
            [_, high @ 0xb2..=0xb3, low @ 0x80..=0xbf, ..] => {
                out.push((high & 3) << 6 | low & 0x3f);
                rest = &rest[3..];
            }
            _ => {
                out.push(0xed);
                rest = &rest[1..];
            }
        }
    }
    out.extend_from_slice(rest);
    out
}

fn headers(list: &[Header<'_>]) -> hyper::HeaderMap {
    entry::headers(
        list.iter()
            .map(|header| (header.name.as_bytes(), header.value.as_bytes())),
    )
}
