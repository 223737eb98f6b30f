//! Responses of Ollama's own API: one object, or a line for each piece, the last one with `done`.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::wire::answer::{Draft, field};
use crate::wire::call;

#[derive(Deserialize)]
struct Line<'a> {
    #[serde(borrow)]
    model: Option<&'a RawValue>,
    #[serde(borrow)]
    message: Option<Message<'a>>,
    /// The text, where one prompt was completed.
    #[serde(borrow)]
    response: Option<&'a RawValue>,
    done: Option<bool>,
    #[serde(borrow)]
    done_reason: Option<&'a RawValue>,
    #[serde(borrow)]
    prompt_eval_count: Option<&'a RawValue>,
    #[serde(borrow)]
    eval_count: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
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
    #[serde(borrow)]
    function: &'a RawValue,
}

#[derive(Deserialize)]
struct Done {
    done: Option<bool>,
}

/// Reads one line, or the whole answer.
pub(super) fn line(draft: &mut Draft, data: &[u8]) {
    let Ok(line) = serde_json::from_slice::<Line>(data) else {
        return draft.doubt();
    };
    for (path, value) in [
        ("prompt_eval_count", line.prompt_eval_count),
        ("eval_count", line.eval_count),
    ] {
        if let Some(value) = value {
            draft.counts.merge(path, value);
        }
    }
    let reading = &mut draft.reading;
    reading.errored |= line.error.is_some();
    reading.model = reading.model.take().or_else(|| field::name(line.model));
    let message = line.message.as_ref();
    if let Some(text) = message.and_then(|message| message.content).or(line.response) {
        match field::parse::<String>(Some(text)) {
            Some(text) => draft.text(&text),
            None => draft.doubt(),
        }
    }
    if let Some(calls) = message.and_then(|message| message.tool_calls) {
        called(draft, calls);
    }
    if line.done == Some(true) {
        draft.reading.stop = field::label(line.done_reason);
        draft.end();
    }
}

fn called(draft: &mut Draft, calls: &RawValue) {
    let calls = field::parse::<Option<Vec<Call<'_>>>>(Some(calls));
    let Some(calls) = calls else {
        return draft.doubt();
    };
    for call in calls.into_iter().flatten() {
        match call::name_of(call.function.get().as_bytes()) {
            Some(name) => draft.call(None, name),
            None => draft.doubt(),
        }
    }
}

/// Whether the last line of the chunk is whole and says that the answer is. Arguments of a call may hold the same
/// words one level deeper.
pub(super) fn is_last(chunk: &[u8]) -> bool {
    let Some(lines) = chunk.strip_suffix(b"\n") else {
        return false;
    };
    let last = memchr::memrchr(b'\n', lines).map_or(lines, |at| &lines[at + 1..]);
    memchr::memmem::find(last, b"\"done\"").is_some()
        && serde_json::from_slice::<Done>(last).is_ok_and(|line| line.done == Some(true))
}
