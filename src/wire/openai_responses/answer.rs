//! Answers of the OpenAI Responses API: a body, or the events of a stream or a socket, which carry the same objects.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::kinds;
use crate::wire::answer::{Draft, field};

/// An event; which members it has hangs on its type.
#[derive(Deserialize)]
struct Event<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<&'a RawValue>,
    #[serde(borrow)]
    response: Option<&'a RawValue>,
    #[serde(borrow)]
    item: Option<&'a RawValue>,
    output_index: Option<u64>,
}

/// A response, or the result of a compaction.
#[derive(Deserialize)]
struct Response<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    model: Option<&'a RawValue>,
    #[serde(borrow)]
    object: Option<&'a RawValue>,
    #[serde(borrow)]
    status: Option<&'a RawValue>,
    #[serde(borrow)]
    incomplete_details: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
    #[serde(borrow)]
    output: Option<&'a RawValue>,
    #[serde(borrow)]
    usage: Option<&'a RawValue>,
    #[serde(borrow)]
    prompt_cache_diagnostics: Option<&'a RawValue>,
    #[serde(borrow)]
    input_transformations: Option<&'a RawValue>,
}

/// An item of the output, or a part of its content.
#[derive(Deserialize)]
struct Item<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<&'a RawValue>,
    #[serde(borrow)]
    call_id: Option<&'a RawValue>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    #[serde(borrow)]
    text: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Incomplete<'a> {
    #[serde(borrow)]
    reason: Option<&'a RawValue>,
}

/// Reads one event. Items are taken when they are done; the last event has them all once more, or none.
pub(super) fn event(draft: &mut Draft, data: &[u8]) {
    if data.trim_ascii() == b"[DONE]" {
        return;
    }
    let Ok(event) = serde_json::from_slice::<Event>(data) else {
        return draft.doubt();
    };
    let kind = field::label(event.kind).unwrap_or_default();
    match kind.as_str() {
        "response.output_item.done" => match field::parse::<Item>(event.item) {
            Some(done) => item(draft, &done, event.output_index),
            None => draft.doubt(),
        },
        "response.created" | "response.in_progress" | "response.queued" => {
            envelope_of(draft, event.response);
        }
        "response.completed" | "response.incomplete" => {
            let output = envelope_of(draft, event.response);
            if draft.is_silent() {
                items(draft, output);
            }
            draft.end();
        }
        "response.failed" | "response.cancelled" | "error" => {
            envelope_of(draft, event.response);
            draft.reading.errored = true;
        }
        _ => {}
    }
}

/// Reads a whole body.
pub(super) fn body(draft: &mut Draft, data: &[u8]) {
    let Ok(response) = serde_json::from_slice::<Response>(data) else {
        return draft.doubt();
    };
    envelope(draft, &response);
    let status = field::label(response.status).unwrap_or_default();
    draft.reading.errored |= matches!(status.as_str(), "failed" | "cancelled");
    // What runs in the background is not answered yet; look-alikes may leave the status out.
    let open = matches!(status.as_str(), "queued" | "in_progress");
    let is_answer = field::label(response.object).is_none_or(|object| object == "response");
    if is_answer && !open && response.output.is_some() {
        items(draft, response.output);
        draft.end();
    }
}

/// Whether a chunk of a stream, or a frame, is the event that ends it, and all of that event: it is read before the
/// client has it. Inside an event's texts quotes are escaped.
pub(super) fn is_last(chunk: &[u8]) -> bool {
    const LAST: [&str; 3] = ["response.completed", "response.incomplete", "response.failed"];
    let framed = chunk.ends_with(b"\n\n") || chunk.ends_with(b"\n\r\n");
    if !framed && !chunk.starts_with(b"{") {
        return false;
    }
    let has = |needle: &str| memchr::memmem::find(chunk, needle.as_bytes()).is_some();
    let named = |name: &str| {
        let line = format!("event: {name}");
        chunk.starts_with(line.as_bytes()) || has(&format!("\n{line}"))
    };
    let is = |name: &str| has(&format!("\"type\":\"{name}\"")) || framed && named(name);
    let failed = chunk.starts_with(b"{\"type\":\"error\"") || framed && named("error");
    failed || LAST.into_iter().any(is)
}

fn envelope_of<'a>(draft: &mut Draft, response: Option<&'a RawValue>) -> Option<&'a RawValue> {
    let response = field::parse::<Response>(response)?;
    envelope(draft, &response);
    response.output
}

/// Takes what stands around the answer.
fn envelope(draft: &mut Draft, response: &Response<'_>) {
    if let Some(usage) = response.usage {
        draft.counts.merge("usage", usage);
    }
    let reading = &mut draft.reading;
    let found = &mut reading.diagnostics;
    found.merge(None, response.input_transformations);
    found.merge_comparison(response.prompt_cache_diagnostics);
    reading.errored |= response.error.is_some();
    reading.id = reading.id.take().or_else(|| field::name(response.id));
    reading.model = reading.model.take().or_else(|| field::name(response.model));
    let incomplete = field::parse::<Incomplete>(response.incomplete_details);
    let reason = incomplete.and_then(|details| field::label(details.reason));
    let stop = reason.or_else(|| field::label(response.status));
    reading.stop = stop.or(reading.stop.take());
}

fn items(draft: &mut Draft, output: Option<&RawValue>) {
    let Some(output) = output else { return };
    match serde_json::from_str::<Vec<Item>>(output.get()) {
        Ok(items) => (0..)
            .zip(&items)
            .for_each(|(index, one)| item(draft, one, Some(index))),
        Err(_) => draft.doubt(),
    }
}

/// An item that is neither a message nor a call to the client is no part of the answer.
fn item(draft: &mut Draft, item: &Item<'_>, index: Option<u64>) {
    let kind = field::label(item.kind).unwrap_or_default();
    if kinds::is_client_call(&kind) {
        match field::name(item.call_id) {
            Some(id) => draft.call(index, id),
            None => draft.doubt(),
        }
    }
    if kind == "message" {
        match field::parse::<Vec<Item>>(item.content) {
            Some(parts) => parts.iter().for_each(|part| text(draft, part)),
            None => draft.doubt(),
        }
    }
}

fn text(draft: &mut Draft, part: &Item<'_>) {
    if field::label(part.kind).as_deref() == Some("output_text") {
        match field::parse::<String>(part.text) {
            Some(text) => draft.text(&text),
            None => draft.doubt(),
        }
    }
}
