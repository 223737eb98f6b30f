//! Responses of the OpenAI Chat Completions API and of what is compatible with it.
//!
//! Of several choices only the first is read: it is the one that agents carry on.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::wire::answer::{Draft, field};

/// A body, or a chunk of a stream, which has the same shape with `delta` for `message`.
#[derive(Deserialize)]
struct Completion<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    model: Option<&'a RawValue>,
    #[serde(borrow)]
    choices: Option<&'a RawValue>,
    #[serde(borrow)]
    usage: Option<&'a RawValue>,
    #[serde(borrow)]
    timings: Option<&'a RawValue>,
    #[serde(borrow)]
    x_groq: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

/// Where Groq tells the usage of a stream that did not ask for it (the types of its own client, `ChatCompletionChunk`).
#[derive(Deserialize)]
struct Groq<'a> {
    #[serde(borrow)]
    usage: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Choice<'a> {
    index: Option<u64>,
    #[serde(borrow)]
    message: Option<Message<'a>>,
    #[serde(borrow)]
    delta: Option<Message<'a>>,
    #[serde(borrow)]
    finish_reason: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    #[serde(borrow)]
    tool_calls: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Call<'a> {
    index: Option<u64>,
    #[serde(borrow)]
    id: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Part<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<&'a RawValue>,
    #[serde(borrow)]
    text: Option<&'a RawValue>,
}

/// Reads one event of a stream. `[DONE]` ends it, as a finish reason does: some servers leave one of them out.
pub(super) fn event(draft: &mut Draft, data: &[u8]) {
    if data.trim_ascii() == b"[DONE]" {
        return draft.end();
    }
    let Some(choice) = envelope(draft, data) else {
        return;
    };
    if let Some(delta) = &choice.delta {
        message(draft, delta);
    }
}

/// Reads a whole body.
pub(super) fn body(draft: &mut Draft, data: &[u8]) {
    let Some(choice) = envelope(draft, data) else {
        return;
    };
    if let Some(whole) = &choice.message {
        message(draft, whole);
        draft.end();
    }
}

/// Takes what stands around the answer and gives the first choice, if it is in here.
fn envelope<'a>(draft: &mut Draft, data: &'a [u8]) -> Option<Choice<'a>> {
    let Ok(completion) = serde_json::from_slice::<Completion>(data) else {
        draft.doubt();
        return None;
    };
    let groq = field::parse::<Groq<'_>>(completion.x_groq).and_then(|groq| groq.usage);
    for (path, value) in [
        ("usage", groq),
        ("usage", completion.usage),
        ("timings", completion.timings),
    ] {
        if let Some(value) = value {
            draft.counts.merge(path, value);
        }
    }
    let reading = &mut draft.reading;
    reading.errored |= completion.error.is_some();
    reading.id = reading.id.take().or_else(|| field::name(completion.id));
    reading.model = reading.model.take().or_else(|| field::name(completion.model));
    let choices = serde_json::from_str::<Vec<Choice>>(completion.choices?.get());
    let Ok(choices) = choices else {
        draft.doubt();
        return None;
    };
    let first = choices
        .into_iter()
        .find(|choice| choice.index.unwrap_or(0) == 0)?;
    if let Some(reason) = field::label(first.finish_reason) {
        draft.reading.errored |= reason == "error";
        draft.reading.stop = Some(reason);
        draft.end();
    }
    Some(first)
}

fn message(draft: &mut Draft, message: &Message<'_>) {
    if let Some(content) = message.content {
        text(draft, content);
    }
    let Some(calls) = message.tool_calls else {
        return;
    };
    let Ok(calls) = serde_json::from_str::<Vec<Call>>(calls.get()) else {
        return draft.doubt();
    };
    // Only the first piece of a call has its id; later ones have none or an empty string.
    for call in calls {
        if let Some(id) = field::name(call.id) {
            draft.call(call.index, id);
        }
    }
}

/// Content is a string or a list of parts, of which those with text count.
fn text(draft: &mut Draft, content: &RawValue) {
    if let Ok(text) = serde_json::from_str::<String>(content.get()) {
        return draft.text(&text);
    }
    let Ok(parts) = serde_json::from_str::<Vec<Part>>(content.get()) else {
        return draft.doubt();
    };
    for part in parts {
        if field::label(part.kind).as_deref() == Some("text") {
            match field::parse::<String>(part.text) {
                Some(text) => draft.text(&text),
                None => draft.doubt(),
            }
        }
    }
}
