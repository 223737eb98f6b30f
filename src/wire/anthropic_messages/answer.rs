//! Responses of the Anthropic Messages API and of what is compatible with it.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::wire::answer::{Draft, field};

/// An event of a stream; which members it has hangs on its type.
#[derive(Deserialize)]
struct Event<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<&'a RawValue>,
    #[serde(borrow)]
    message: Option<&'a RawValue>,
    #[serde(borrow)]
    content_block: Option<&'a RawValue>,
    #[serde(borrow)]
    delta: Option<&'a RawValue>,
    #[serde(borrow)]
    usage: Option<&'a RawValue>,
    #[serde(borrow)]
    input_transformations: Option<&'a RawValue>,
    #[serde(borrow)]
    context_management: Option<&'a RawValue>,
}

/// A whole message, its start in a stream, or the delta that ends it.
#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<&'a RawValue>,
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    model: Option<&'a RawValue>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    #[serde(borrow)]
    stop_reason: Option<&'a RawValue>,
    #[serde(borrow)]
    usage: Option<&'a RawValue>,
    #[serde(borrow)]
    diagnostics: Option<&'a RawValue>,
    #[serde(borrow)]
    input_transformations: Option<&'a RawValue>,
    #[serde(borrow)]
    context_management: Option<&'a RawValue>,
}

/// A content block, or a delta of one.
#[derive(Deserialize)]
struct Block<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<&'a RawValue>,
    #[serde(borrow)]
    text: Option<&'a RawValue>,
    #[serde(borrow)]
    id: Option<&'a RawValue>,
}

/// Reads one event of a stream. Blocks come one after the other, so their pieces are joined as they come.
pub(super) fn event(draft: &mut Draft, data: &[u8]) {
    let Ok(event) = serde_json::from_slice::<Event>(data) else {
        return draft.doubt();
    };
    let kind = field::label(event.kind).unwrap_or_default();
    match kind.as_str() {
        "message_start" => envelope_of(draft, event.message),
        "content_block_start" => block_of(draft, event.content_block),
        "content_block_delta" => block_of(draft, event.delta),
        "message_delta" => {
            if let Some(usage) = event.usage {
                draft.counts.merge("usage", usage);
            }
            let transformations = event.input_transformations;
            draft.reading.diagnostics.merge(None, transformations);
            draft.reading.diagnostics.merge_edits(event.context_management);
            envelope_of(draft, event.delta);
        }
        "message_stop" => draft.end(),
        "error" => draft.reading.errored = true,
        _ => {}
    }
}

/// Reads a whole body.
pub(super) fn body(draft: &mut Draft, data: &[u8]) {
    let Ok(message) = serde_json::from_slice::<Message>(data) else {
        return draft.doubt();
    };
    draft.reading.errored |= field::label(message.kind).as_deref() == Some("error");
    envelope(draft, &message);
    let Some(content) = message.content else {
        return;
    };
    match serde_json::from_str::<Vec<Block>>(content.get()) {
        Ok(blocks) => blocks.iter().for_each(|part| block(draft, part)),
        Err(_) => draft.doubt(),
    }
    draft.end();
}

fn envelope_of(draft: &mut Draft, message: Option<&RawValue>) {
    if let Some(message) = field::parse::<Message>(message) {
        envelope(draft, &message);
    }
}

/// Takes what stands around the answer.
fn envelope(draft: &mut Draft, message: &Message<'_>) {
    if let Some(usage) = message.usage {
        draft.counts.merge("usage", usage);
    }
    let reading = &mut draft.reading;
    reading
        .diagnostics
        .merge(message.diagnostics, message.input_transformations);
    reading.diagnostics.merge_edits(message.context_management);
    reading.id = reading.id.take().or_else(|| field::name(message.id));
    reading.model = reading.model.take().or_else(|| field::name(message.model));
    // A start may carry an empty string; only a real reason ends the answer.
    if let Some(reason) = field::label(message.stop_reason) {
        reading.stop = Some(reason);
        draft.end();
    }
}

fn block_of(draft: &mut Draft, raw: Option<&RawValue>) {
    match field::parse::<Block>(raw) {
        Some(part) => block(draft, &part),
        None => draft.doubt(),
    }
}

/// A block or delta that is neither text nor a call is no part of the answer.
fn block(draft: &mut Draft, block: &Block<'_>) {
    let kind = field::label(block.kind).unwrap_or_default();
    if matches!(kind.as_str(), "text" | "text_delta") {
        match (block.text, field::parse::<String>(block.text)) {
            (_, Some(text)) => draft.text(&text),
            (None, None) => {}
            (Some(_), None) => draft.doubt(),
        }
    } else if kind == "tool_use" {
        match field::name(block.id) {
            Some(id) => draft.call(None, id),
            None => draft.doubt(),
        }
    }
}
