//! Bedrock's model invocation logs: one JSON record a line, or as S3 delivers them, gzipped.
//!
//! A record has the request's body as `input.inputBodyJson` and the answer's as `output.outputBodyJson`; that of a stream is the
//! answer put together, or the array of its events. Bodies over 100 KB are delivered apart and only named here; they are
//! looked for where a copy of the bucket has them, in the folder `data` beside the log (docs.aws.amazon.com, Bedrock user guide, "Monitor model invocation", 2026-11-30).

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::entry::{self, MAX_ENTRY, Reason, reason};
use super::packed;
use super::splice;
use super::values::Values;
use crate::audit::exchange::{Answer, Exchange, Skipped, Source};
use crate::wire::{format::Format, usage::Counts, usage::Usage};

/// Whether a file that starts so is such a log.
pub fn looks_like(first: &[u8]) -> bool {
    memchr::memmem::find(&packed::beginning(first), b"\"ModelInvocationLog\"").is_some()
}

/// The exchanges of a log.
pub fn read(
    file: Arc<str>,
    input: impl BufRead + Send + 'static,
) -> impl Iterator<Item = Result<Exchange, Skipped>> {
    let records = Values::new(packed::unpack(input), &[]);
    entry::exchanges(file, records, |bytes: Vec<u8>, source: &Source| {
        read_record(&bytes, source)
    })
}

fn read_record(bytes: &[u8], source: &Source) -> Result<Vec<Exchange>, Reason> {
    let record: Record = serde_json::from_slice(bytes).map_err(|_| reason::MALFORMED)?;
    let input = record.input.unwrap_or_default();
    let body = match (splice::some(input.body), &input.elsewhere) {
        (Some(body), _) => splice::unquoted(body),
        (None, Some(place)) => beside(&source.file, place).ok_or(reason::BODY_ELSEWHERE)?.into(),
        (None, None) => return Err(reason::NO_BODY),
    };
    let format = match record.operation.as_str() {
        "Converse" | "ConverseStream" => Format::BedrockConverse,
        _ => splice::format_of(&body).ok_or(reason::NOT_A_PROMPT)?,
    };
    let answer = record.error.is_none().then(|| {
        let output = record.output.unwrap_or_default();
        Answer {
            usage: usage(&input, &output),
            ..output
                .body
                .map_or_else(|| entry::answer("".into()), |body| answer(body, format))
        }
    });
    Ok(vec![Exchange {
        at_ms: record.timestamp.as_deref().and_then(entry::time_of),
        host: Some("bedrock".to_owned()),
        format: Some(format),
        model: record.model.filter(|model| !model.is_empty()),
        answer,
        ..entry::exchange(source, body.into_owned().into())
    }])
}

#[derive(Deserialize)]
struct Record<'a> {
    timestamp: Option<String>,
    #[serde(default)]
    operation: String,
    #[serde(rename = "modelId")]
    model: Option<String>,
    #[serde(borrow)]
    input: Option<Input<'a>>,
    #[serde(borrow)]
    output: Option<Output<'a>>,
    #[serde(rename = "errorCode")]
    error: Option<String>,
}

#[derive(Default, Deserialize)]
struct Input<'a> {
    #[serde(borrow, rename = "inputBodyJson")]
    body: Option<&'a RawValue>,
    #[serde(rename = "inputBodyS3Path")]
    elsewhere: Option<String>,
    #[serde(borrow, rename = "inputTokenCount")]
    tokens: Option<&'a RawValue>,
    #[serde(borrow, rename = "cacheReadInputTokenCount")]
    read: Option<&'a RawValue>,
    #[serde(borrow, rename = "cacheWriteInputTokenCount")]
    written: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
struct Output<'a> {
    #[serde(borrow, rename = "outputBodyJson")]
    body: Option<&'a RawValue>,
    #[serde(borrow, rename = "outputTokenCount")]
    tokens: Option<&'a RawValue>,
}

/// A body that was delivered apart, from the copy of it below the log's folder.
fn beside(log: &str, place: &str) -> Option<String> {
    let name = place.rsplit('/').next().filter(|name| !name.starts_with('.'))?;
    let data = Path::new(log).parent()?.join("data").join(name);
    let input = packed::unpack(BufReader::new(File::open(data).ok()?));
    let mut body = String::new();
    input.take(MAX_ENTRY as u64 + 1).read_to_string(&mut body).ok()?;
    (body.len() <= MAX_ENTRY).then_some(body)
}

/// The counts beside the bodies go by Converse's rule: what the cache gave is not in the count of the input.
fn usage(input: &Input<'_>, output: &Output<'_>) -> Option<Usage> {
    let mut counts = Counts::default();
    for (name, count) in [
        ("usage.inputTokens", input.tokens),
        ("usage.cacheReadInputTokens", input.read),
        ("usage.cacheWriteInputTokens", input.written),
        ("usage.outputTokens", output.tokens),
    ] {
        if let Some(count) = count {
            counts.merge(name, count);
        }
    }
    counts.usage(Format::BedrockConverse)
}

/// An array is the events of a stream. Those of Converse stand under their names.
fn answer(body: &RawValue, format: Format) -> Answer {
    let Ok(events) = serde_json::from_str::<Vec<&RawValue>>(body.get()) else {
        return entry::answer(body.get().to_owned().into());
    };
    entry::stream(events.into_iter().map(|event| {
        let named = splice::members(event.get()).filter(|_| format == Format::BedrockConverse);
        match named.as_deref() {
            Some([(_, inner)]) => inner.get(),
            _ => event.get(),
        }
    }))
}
