//! The reader of an answer: usage, what the vendor says of its cache, and what was said, from the side copy.

use bytes::Bytes;
use hyper::{HeaderMap, header::CONTENT_TYPE};

use crate::{
    encoding::{self, SideDecoder},
    proxy::{observe::Observer, recorder::AnswerCopy},
    wire::{
        Framing,
        answer::{Reader, Reading},
        format::Format,
    },
};

/// Reads one answer; an answer in a form that is not known gives nothing.
pub struct AnswerReader {
    input: Option<(SideDecoder, Reader)>,
    copy: Option<AnswerCopy>,
}

/// Finds the chunk with which a stream of events says that it is whole.
#[derive(Clone, Copy)]
pub struct LastEvent(Option<Format>);

impl AnswerReader {
    /// A reader for an answer with these headers; `format` is none where it is not to be read.
    pub fn new(format: Option<Format>, headers: &HeaderMap) -> Self {
        let decoder = SideDecoder::new(&encoding::of_headers(headers));
        let input = format
            .zip(decoder)
            .map(|(format, decoder)| (decoder, Reader::new(format, framing(format, headers))));
        Self { input, copy: None }
    }

    /// The same, that also keeps a copy of the answer as it came.
    pub fn copying(self) -> Self {
        Self {
            copy: Some(AnswerCopy::default()),
            ..self
        }
    }
}

impl Observer for AnswerReader {
    type Seen = (Option<Reading>, Option<AnswerCopy>);

    fn push(&mut self, chunk: &Bytes) {
        if let Some(copy) = &mut self.copy {
            copy.push(chunk);
        }
        if let Some((decoder, reader)) = &mut self.input {
            decoder.push(chunk.clone(), |bytes| reader.push(bytes));
        }
    }

    fn finish(mut self, complete: bool) -> Self::Seen {
        if let Some(copy) = self.copy.as_mut().filter(|_| !complete) {
            copy.cut();
        }
        let reading = self.input.map(|(decoder, reader)| {
            let mut reading = reader.finish();
            if !complete || decoder.failed() {
                reading.answer = None;
            }
            reading
        });
        (reading, self.copy)
    }
}

impl LastEvent {
    /// For an answer with these headers. An encoded one is not looked into; its end is its last event.
    pub fn new(format: Option<Format>, headers: &HeaderMap) -> Self {
        let plain = encoding::of_headers(headers).is_empty();
        Self(format.filter(|format| plain && framing(*format, headers) != Framing::Body))
    }

    /// Whether the last event is in this chunk.
    pub fn is_in(self, chunk: &[u8]) -> bool {
        self.0.is_some_and(|format| format.wire().is_last(chunk))
    }
}

fn framing(format: Format, headers: &HeaderMap) -> Framing {
    let kind = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let kind = kind.and_then(|kind| kind.split(';').next()).unwrap_or_default();
    format.wire().framing(&kind.trim().to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_event_is_not_mistaken_for_text_about_it() {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, "text/event-stream; charset=utf-8".parse().unwrap());
        let is = |format, chunk: &str| LastEvent::new(Some(format), &headers).is_in(chunk.as_bytes());
        let (chat, messages) = (Format::OpenaiChat, Format::AnthropicMessages);
        assert!(is(chat, "data: [DONE]\n\n") && is(chat, "data: {}\n\ndata: [DONE]\n\n"));
        assert!(!is(chat, "data: {\"content\":\"\\ndata: [DONE]\"}\n\n"));
        assert!(is(
            messages,
            "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"
        ));
        assert!(!is(
            messages,
            "data: {\"text\":\"\\\"type\\\":\\\"message_stop\\\"\"}\n\n"
        ));
        assert!(!LastEvent::new(Some(chat), &HeaderMap::new()).is_in(b"data: [DONE]\n\n"));
    }
}
