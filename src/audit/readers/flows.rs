//! mitmproxy's flow files: one typed netstring a flow, as `mitmdump -w` and "save" write them.
//!
//! The names that are read have stood since version 4 of the file format (mitmproxy 4); version 21 is that of mitmproxy 11
//! and 12. Messages of WebSockets stand in the flow of their upgrade since version 12 (mitmproxy 7). Bodies are as they
//! were on the wire, in the encoding that the headers name.

use std::io::BufRead;
use std::sync::Arc;

use bytes::Bytes;
use hyper::{HeaderMap, header::HOST};

use super::entry::{self, Reason, reason};
use super::frames::{self, Frame};
use super::tnetstring::{self, Net, Nets};
use crate::audit::exchange::{Answer, Exchange, Skipped, Source};

/// Whether a file that starts so has flows: an object whose first name is text.
pub fn looks_like(first: &[u8]) -> bool {
    let digits = |bytes: &[u8]| bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let outer = digits(first);
    let inner = first.get(outer + 1..).unwrap_or_default();
    let count = digits(inner);
    let size = std::str::from_utf8(&inner[..count])
        .ok()
        .and_then(|size| size.parse::<usize>().ok());
    let name = size
        .filter(|size| *size < 64)
        .and_then(|size| inner.get(count + 1..count + 2 + size));
    let named = name.and_then(<[u8]>::split_last).is_some_and(|(kind, name)| {
        matches!(kind, b',' | b';') && name.iter().all(|byte| byte.is_ascii_lowercase() || *byte == b'_')
    });
    (1..=12).contains(&outer) && first.get(outer) == Some(&b':') && inner.get(count) == Some(&b':') && named
}

/// The exchanges of a flow file.
pub fn read(
    file: Arc<str>,
    input: impl BufRead + Send + 'static,
) -> impl Iterator<Item = Result<Exchange, Skipped>> {
    entry::exchanges(file, Nets::new(input), |bytes: Vec<u8>, source: &Source| {
        read_flow(tnetstring::entry(&bytes).ok_or(reason::MALFORMED)?, source)
    })
}

fn read_flow(flow: Net<'_>, source: &Source) -> Result<Vec<Exchange>, Reason> {
    let kind = flow.get("type").and_then(Net::text).ok_or(reason::MALFORMED)?;
    if kind != "http" {
        return Err(reason::NOT_A_PROMPT);
    }
    let request = flow.get("request").ok_or(reason::MALFORMED)?;
    let text = |name| request.get(name).and_then(Net::text);
    let path = text("path").ok_or(reason::MALFORMED)?;
    if !entry::takes_prompts(path) {
        return Err(reason::NOT_A_PROMPT);
    }
    let headers = headers(request);
    let named = headers.get(HOST).and_then(|host| host.to_str().ok());
    let host = named
        .or(text("authority").filter(|host| !host.is_empty()))
        .or(text("host"));
    let known = Exchange {
        at_ms: time(request, "timestamp_start"),
        host: host.map(str::to_owned),
        path: Some(path.to_owned()),
        ..entry::exchange(source, Bytes::new())
    };
    if let Some(messages) = flow.get("websocket").and_then(|socket| socket.get("messages")) {
        let found = frames::exchanges(
            messages.elements().filter_map(frame),
            &Exchange { headers, ..known },
        );
        return if found.is_empty() {
            Err(reason::NOT_A_PROMPT)
        } else {
            Ok(found)
        };
    }
    if text("method") != Some("POST") {
        return Err(reason::NOT_A_PROMPT);
    }
    let body = request
        .get("content")
        .and_then(Net::bytes)
        .ok_or(reason::NO_BODY)?;
    Ok(vec![Exchange {
        headers,
        body: Bytes::copy_from_slice(body),
        answer: flow.get("response").and_then(answer),
        ..known
    }])
}

/// None where there is none: the place of a flow that failed is empty.
fn answer(response: Net<'_>) -> Option<Answer> {
    let status = response.get("status_code")?.number()?;
    let body = response.get("content").and_then(Net::bytes).unwrap_or_default();
    Some(Answer {
        status: (100.0..1000.0).contains(&status).then_some(status as u16),
        ended_ms: time(response, "timestamp_end"),
        headers: headers(response),
        ..entry::answer(Bytes::copy_from_slice(body))
    })
}

fn headers(message: Net<'_>) -> HeaderMap {
    let lines = message.get("headers").into_iter().flat_map(Net::elements);
    entry::headers(lines.filter_map(|line| {
        let mut line = line.elements();
        Some((line.next()?.bytes()?, line.next()?.bytes()?))
    }))
}

/// A message: its opcode, whether the client sent it, its content, when, whether it was held back.
fn frame(message: Net<'_>) -> Option<Frame> {
    let mut parts = message.elements();
    let text = parts.next()?.number()? == 1.0;
    let from_client = parts.next()?.truth()?;
    let content = parts.next()?.text();
    let at_ms = parts
        .next()
        .and_then(Net::number)
        .and_then(entry::time_of_seconds);
    let dropped = parts.next().and_then(Net::truth).unwrap_or(false);
    Some(Frame {
        from_client,
        at_ms,
        text: content.filter(|_| text && !dropped)?.to_owned(),
    })
}

fn time(message: Net<'_>, name: &str) -> Option<u64> {
    entry::time_of_seconds(message.get(name)?.number()?)
}
