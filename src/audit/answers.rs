//! What a recorded answer says: its counts, its id, and the mark by which a later request shows that it carries it on.

use bytes::Bytes;
use hyper::header::CONTENT_TYPE;

use super::{exchange::Answer, prompt};
use crate::{
    encoding,
    ledger::Outcome,
    prefix::item::AnswerMark,
    wire::{
        Framing,
        answer::{Reader, Reading},
        format::Format,
    },
};

/// Reads an answer of this format; nothing where there is no body, or one that cannot be decoded.
pub fn read(format: Format, answer: &Answer) -> Reading {
    let encoding = encoding::of_headers(&answer.headers);
    // Recorders write bodies down decoded, and the headers as they came.
    let body = prompt::decoded(&answer.body, &encoding).unwrap_or_else(|_| answer.body.clone());
    if body.is_empty() {
        return Reading::default();
    }
    let mut reader = Reader::new(format, framing(format, answer, &body));
    reader.push(&body);
    reader.finish()
}

/// How a request ended that was answered so.
pub fn outcome(answer: Option<&Answer>) -> Outcome {
    match answer.and_then(|answer| answer.status) {
        None | Some(200..=299) => Outcome::Committed,
        Some(400 | 404 | 413 | 422) => Outcome::RolledBack,
        Some(_) => Outcome::Failed,
    }
}

/// What was said, if all of it is known.
pub fn mark(reading: &Reading) -> Option<AnswerMark> {
    let answer = reading.answer.as_ref().filter(|answer| answer.complete)?;
    AnswerMark::of(&answer.text, &answer.call_ids)
}

/// How the body is cut into parts: by its content type, or where that is not recorded by how it opens.
fn framing(format: Format, answer: &Answer, body: &Bytes) -> Framing {
    let kind = answer
        .headers
        .get(CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok());
    if let Some(kind) = kind.and_then(|kind| kind.split(';').next()) {
        return format.wire().framing(&kind.trim().to_ascii_lowercase());
    }
    let opening = body.trim_ascii_start();
    let events = [&b"data:"[..], b"event:", b"id:", b":"];
    if events.iter().any(|name| opening.starts_with(name)) {
        return Framing::Events;
    }
    let lines = format == Format::Ollama && memchr::memchr(b'\n', body.trim_ascii()).is_some();
    if lines {
        Framing::Lines
    } else {
        format.wire().framing("application/json")
    }
}
