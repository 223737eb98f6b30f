//! Responses of Converse, and the events of ConverseStream, which are told apart by what they hold.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::wire::answer::{Draft, field};

/// How the headers of the `metadata` event open: it has the usage and is the last that a stream has. No payload holds
/// these bytes, because JSON escapes control characters.
const METADATA: &[u8] = b"\x0b:event-type\x07\x00\x08metadata";
/// What stands in front of a message's headers: two lengths and their checksum.
const PRELUDE: usize = 12;

/// A whole body.
#[derive(Deserialize)]
struct Response<'a> {
    #[serde(borrow)]
    output: Option<&'a RawValue>,
    #[serde(borrow, rename = "stopReason")]
    stop: Option<&'a RawValue>,
    #[serde(borrow)]
    usage: Option<&'a RawValue>,
    /// What an error's body has instead.
    #[serde(borrow)]
    message: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Output<'a> {
    #[serde(borrow)]
    message: Content<'a>,
}

/// A message, or a block that has blocks of its own.
#[derive(Deserialize)]
struct Content<'a> {
    #[serde(borrow)]
    content: Vec<Block<'a>>,
}

/// The payload of an event; which members it has hangs on its type.
#[derive(Deserialize)]
struct Event<'a> {
    #[serde(borrow)]
    start: Option<&'a RawValue>,
    #[serde(borrow)]
    delta: Option<&'a RawValue>,
    #[serde(borrow, rename = "stopReason")]
    stop: Option<&'a RawValue>,
    #[serde(borrow)]
    usage: Option<&'a RawValue>,
}

/// A content block, its start, or a delta of it.
#[derive(Deserialize)]
struct Block<'a> {
    #[serde(borrow)]
    text: Option<&'a RawValue>,
    #[serde(borrow, rename = "toolUse")]
    call: Option<&'a RawValue>,
    #[serde(borrow, rename = "citationsContent")]
    cited: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Call<'a> {
    #[serde(borrow, rename = "toolUseId")]
    id: Option<&'a RawValue>,
    #[serde(borrow, rename = "type")]
    kind: Option<&'a RawValue>,
}

/// Reads one event of a stream. Blocks come one after the other, so their pieces are joined as they come.
pub(super) fn event(draft: &mut Draft, data: &[u8]) {
    let Ok(event) = serde_json::from_slice::<Event>(data) else {
        return draft.doubt();
    };
    around(draft, event.stop, event.usage);
    if let Some(start) = parsed::<Block>(draft, event.start) {
        block(draft, &start);
    }
    // The pieces of a call's input have no id.
    if let Some(delta) = parsed::<Block>(draft, event.delta) {
        text(draft, delta.text);
    }
}

/// Reads a whole body.
pub(super) fn body(draft: &mut Draft, data: &[u8]) {
    let Ok(response) = serde_json::from_slice::<Response>(data) else {
        return draft.doubt();
    };
    let error = response.message.or(response.error);
    draft.reading.errored |= response.output.is_none() && error.is_some();
    around(draft, response.stop, response.usage);
    if let Some(output) = parsed::<Output>(draft, response.output) {
        let blocks = output.message.content.iter();
        blocks.for_each(|part| block(draft, part));
    }
}

/// Whether a chunk ends where the event with the usage ends.
pub(super) fn ends_with_metadata(chunk: &[u8]) -> bool {
    let headers = memchr::memmem::rfind(chunk, METADATA);
    let message = headers
        .and_then(|headers| headers.checked_sub(PRELUDE))
        .map(|start| &chunk[start..]);
    let length = message.and_then(|message| message.first_chunk());
    message
        .zip(length)
        .is_some_and(|(message, length)| message.len() == u32::from_be_bytes(*length) as usize)
}

/// Takes what stands around the answer.
fn around(draft: &mut Draft, stop: Option<&RawValue>, usage: Option<&RawValue>) {
    if let Some(usage) = usage {
        draft.counts.merge("usage", usage);
    }
    if let Some(reason) = field::label(stop) {
        draft.reading.stop = Some(reason);
        draft.end();
    }
}

/// A block that is neither text nor a call is no part of the answer.
fn block(draft: &mut Draft, block: &Block<'_>) {
    text(draft, block.text);
    if let Some(cited) = parsed::<Content>(draft, block.cited) {
        cited.content.iter().for_each(|part| text(draft, part.text));
    }
    // Tools that the provider runs itself do not count.
    let call = parsed::<Call>(draft, block.call);
    let own = |call: &Call<'_>| field::label(call.kind).as_deref() != Some("server_tool_use");
    if let Some(call) = call.filter(own) {
        match field::name(call.id) {
            Some(id) => draft.call(None, id),
            None => draft.doubt(),
        }
    }
}

fn text(draft: &mut Draft, raw: Option<&RawValue>) {
    if let Some(text) = parsed::<String>(draft, raw) {
        draft.text(&text);
    }
}

/// A member that may be missing, or null as its encoder may write that; of another shape it is in doubt.
fn parsed<'a, T: Deserialize<'a>>(draft: &mut Draft, raw: Option<&'a RawValue>) -> Option<T> {
    let value = serde_json::from_str::<Option<T>>(raw?.get());
    value.unwrap_or_else(|_| {
        draft.doubt();
        None
    })
}
