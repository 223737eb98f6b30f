//! Responses of `generateContent`, whole or in chunks of the same shape.
//!
//! Of several candidates only the first is read: it is the one that agents carry on.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::wire::answer::{Draft, field};
use crate::wire::call;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Chunk<'a> {
    #[serde(borrow)]
    candidates: Option<&'a RawValue>,
    #[serde(borrow)]
    usage_metadata: Option<&'a RawValue>,
    #[serde(borrow)]
    response_id: Option<&'a RawValue>,
    #[serde(borrow)]
    model_version: Option<&'a RawValue>,
    #[serde(borrow)]
    prompt_feedback: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Candidate<'a> {
    index: Option<u64>,
    #[serde(borrow)]
    content: Option<Content<'a>>,
    #[serde(borrow)]
    finish_reason: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Content<'a> {
    #[serde(borrow)]
    parts: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Part<'a> {
    thought: Option<bool>,
    #[serde(borrow)]
    text: Option<&'a RawValue>,
    #[serde(borrow)]
    function_call: Option<&'a RawValue>,
}

/// A call whose arguments come in pieces.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Piece<'a> {
    #[serde(borrow)]
    partial_args: Option<&'a RawValue>,
    #[serde(borrow)]
    will_continue: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Feedback<'a> {
    #[serde(borrow)]
    block_reason: Option<&'a RawValue>,
}

/// Reads one chunk, or the whole answer.
pub(super) fn chunk(draft: &mut Draft, data: &[u8]) {
    let Ok(chunk) = serde_json::from_slice::<Chunk>(data) else {
        return draft.doubt();
    };
    if let Some(usage) = chunk.usage_metadata {
        draft.counts.merge("usageMetadata", usage);
    }
    let reading = &mut draft.reading;
    reading.errored |= chunk.error.is_some();
    reading.id = reading.id.take().or_else(|| field::name(chunk.response_id));
    reading.model = reading.model.take().or_else(|| field::name(chunk.model_version));
    // A prompt that is blocked has no candidates.
    if let Some(feedback) = field::parse::<Feedback>(chunk.prompt_feedback) {
        reading.stop = field::label(feedback.block_reason).or(reading.stop.take());
    }
    if let Some(candidates) = chunk.candidates {
        candidate(draft, candidates);
    }
}

fn candidate(draft: &mut Draft, candidates: &RawValue) {
    let Ok(candidates) = serde_json::from_str::<Vec<Candidate>>(candidates.get()) else {
        return draft.doubt();
    };
    let Some(first) = candidates
        .into_iter()
        .find(|candidate| candidate.index.unwrap_or(0) == 0)
    else {
        return;
    };
    if let Some(parts) = first.content.and_then(|content| content.parts) {
        said(draft, parts);
    }
    // Chunks in the middle have none, or the default of the enumeration.
    let reason = field::label(first.finish_reason).filter(|reason| reason != "FINISH_REASON_UNSPECIFIED");
    if let Some(reason) = reason {
        draft.reading.stop = Some(reason);
        draft.end();
    }
}

fn said(draft: &mut Draft, parts: &RawValue) {
    let Ok(parts) = serde_json::from_str::<Vec<Part>>(parts.get()) else {
        return draft.doubt();
    };
    for part in parts.iter().filter(|part| part.thought != Some(true)) {
        if let Some(call) = part.function_call {
            match whole(call) {
                Some(name) => draft.call(None, name),
                None => draft.doubt(),
            }
        } else if let Some(text) = part.text {
            match field::parse::<String>(Some(text)) {
                Some(text) => draft.text(&text),
                None => draft.doubt(),
            }
        }
    }
}

/// What a call is known by, if all of it is here.
fn whole(call: &RawValue) -> Option<String> {
    let piece: Piece<'_> = field::parse(Some(call))?;
    let all = piece.partial_args.is_none() && piece.will_continue.is_none_or(|more| more.get() == "false");
    call::name_of(call.get().as_bytes()).filter(|_| all)
}
