//! Inkfast's own recording: a line an exchange, in the order in which they ended, as `audit::recording` writes them.

use std::collections::BTreeMap;
use std::io::BufRead;
use std::sync::Arc;

use base64::{Engine, engine::general_purpose::STANDARD};
use bytes::Bytes;
use serde::Deserialize;

use super::entry::{self, Reason, reason};
use super::lines::Lines;
use super::packed;
use crate::audit::exchange::{Answer, Exchange, Skipped, Source};
use crate::audit::recording::VERSION;
use crate::wire::format::Format;

/// Lines of one conversation end in order; those of others that ran beside it are this many bytes away at most.
const ROOM: usize = 8 << 20;

/// Whether a file that starts so is a recording of ours, of whatever version.
pub fn looks_like(first: &[u8]) -> bool {
    packed::beginning(first)
        .trim_ascii_start()
        .starts_with(b"{\"inkfast_recording\":")
}

/// The exchanges of a recording.
pub fn read(
    file: Arc<str>,
    input: impl BufRead + Send + 'static,
) -> impl Iterator<Item = Result<Exchange, Skipped>> {
    let lines = Lines::new(packed::unpack(input));
    entry::exchanges_within(ROOM, file, lines, |line: Vec<u8>, source: &Source| {
        read_line(&line, source).map(|exchange| vec![exchange])
    })
}

fn read_line(line: &[u8], source: &Source) -> Result<Exchange, Reason> {
    let line: Line = serde_json::from_slice(line).map_err(|_| reason::MALFORMED)?;
    if line.inkfast_recording > VERSION {
        return Err(reason::NEWER_VERSION);
    }
    let body = bytes(line.body, line.body_base64)?.ok_or(reason::NO_BODY)?;
    let answer = bytes(line.answer, line.answer_base64)?;
    // An answer that is not all there says nothing of what was said.
    let answer = answer.filter(|_| !line.answer_truncated).unwrap_or_default();
    Ok(Exchange {
        at_ms: line.at_ms,
        host: line.host.or(line.upstream),
        path: line.path,
        format: line.format,
        model: line.model,
        headers: entry::headers(line.headers),
        sent: bytes(line.sent, line.sent_base64)?,
        by_proxy: line.by_proxy,
        answer: Some(Answer {
            // No answer at all is one that was not good.
            status: Some(line.status.unwrap_or(NO_ANSWER)),
            ended_ms: line.ended_ms,
            headers: entry::headers(line.answer_headers),
            ..entry::answer(answer)
        }),
        ..entry::exchange(source, body)
    })
}

/// Stands for the status of an answer that did not come: no provider has it.
const NO_ANSWER: u16 = 599;

fn bytes(text: Option<String>, encoded: Option<String>) -> Result<Option<Bytes>, Reason> {
    match (text, encoded) {
        (Some(text), _) => Ok(Some(text.into())),
        (None, Some(encoded)) => {
            let bytes = STANDARD.decode(encoded).map_err(|_| reason::MALFORMED)?;
            Ok(Some(bytes.into()))
        }
        (None, None) => Ok(None),
    }
}

/// A line; members that are not known are passed over.
#[derive(Deserialize)]
struct Line {
    inkfast_recording: u32,
    at_ms: Option<u64>,
    upstream: Option<String>,
    host: Option<String>,
    model: Option<String>,
    format: Option<Format>,
    path: Option<String>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    body: Option<String>,
    body_base64: Option<String>,
    sent: Option<String>,
    sent_base64: Option<String>,
    by_proxy: Option<String>,
    status: Option<u16>,
    ended_ms: Option<u64>,
    #[serde(default)]
    answer_headers: BTreeMap<String, String>,
    answer: Option<String>,
    answer_base64: Option<String>,
    #[serde(default)]
    answer_truncated: bool,
}
