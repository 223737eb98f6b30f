//! Streams: a parser gives the same parts whether the bytes come at once or one by one.

use inkfast::wire::answer::Reader;
use inkfast::wire::array::ArrayParser;
use inkfast::wire::eventstream::EventStreamParser;
use inkfast::wire::format::Format;
use inkfast::wire::ndjson::LineParser;
use inkfast::wire::sse::SseParser;
use serde_json::value::RawValue;

/// Parts larger than this are skipped.
const MAX: usize = 512;

/// Server-sent events, and all readers of answers behind them.
pub fn sse(stream: &[u8]) {
    same(stream, |pieces| {
        let (mut parser, mut parts) = (SseParser::new(MAX), Vec::new());
        for piece in pieces {
            parser.push(piece, |event| {
                parts.push(format!("{:?} {:?}", event.event, event.data))
            });
        }
        parser.finish(|event| parts.push(format!("{:?} {:?}", event.event, event.data)));
        (parts, parser.skipped())
    });
    answers(stream, "text/event-stream");
}

/// Lines.
pub fn ndjson(stream: &[u8]) {
    same(stream, |pieces| {
        let (mut parser, mut parts) = (LineParser::new(MAX), Vec::new());
        for piece in pieces {
            parser.push(piece, |line| parts.push(line.to_vec()));
        }
        parser.finish(|line| parts.push(line.to_vec()));
        (parts, parser.skipped())
    });
    answers(stream, "application/x-ndjson");
}

/// The elements of an array; of one that is sound, those that another reader finds.
pub fn array(stream: &[u8]) {
    let read = |pieces: Vec<&[u8]>| {
        let (mut parser, mut parts) = (ArrayParser::new(MAX), Vec::new());
        for piece in pieces {
            parser.push(piece, |element| parts.push(element.to_vec()));
        }
        parser.finish();
        (parts, parser.skipped())
    };
    same(stream, read);
    if let Ok(elements) = serde_json::from_slice::<Vec<&RawValue>>(stream) {
        let elements = elements.iter().map(|element| element.get().as_bytes());
        let (small, large): (Vec<_>, Vec<_>) = elements.partition(|element| element.len() <= MAX);
        let (parts, skipped) = read(vec![stream]);
        assert_eq!(
            (parts, skipped),
            (
                small.iter().map(|part| part.to_vec()).collect(),
                large.len() as u64
            )
        );
    }
    answers(stream, "application/json");
}

/// AWS messages. Most of what a fuzzer makes has a wrong checksum, so the one that belongs there is put in as well.
pub fn eventstream(stream: &[u8]) {
    for stream in [stream.to_vec(), framed(stream)] {
        same(&stream, |pieces| {
            let (mut parser, mut parts) = (EventStreamParser::new(MAX), Vec::new());
            for piece in pieces {
                parser.push(piece, |event| parts.push(format!("{event:?}")));
            }
            parser.finish();
            (parts, parser.skipped())
        });
        answers(&stream, "application/vnd.amazon.eventstream");
    }
}

fn same<T: PartialEq + std::fmt::Debug>(stream: &[u8], read: impl Fn(Vec<&[u8]>) -> T) {
    assert_eq!(read(vec![stream]), read(stream.chunks(1).collect()));
}

/// No stream makes a reader of answers fail, and none reads otherwise in pieces.
fn answers(stream: &[u8], content_type: &str) {
    for format in Format::ALL {
        let read = |size: usize| {
            let mut reader = Reader::new(format, format.wire().framing(content_type));
            stream.chunks(size).for_each(|piece| reader.push(piece));
            reader.finish()
        };
        assert_eq!(read(stream.len().max(1)), read(7));
        format.wire().is_last(stream);
    }
}

/// A sound message around these bytes: the first says how many of them are headers.
fn framed(bytes: &[u8]) -> Vec<u8> {
    let (front, rest) = bytes.split_at(bytes.len().min(1));
    let headers = rest.len().min(front.first().copied().unwrap_or(0).into());
    let total = (rest.len() + 16) as u32;
    let mut message = [total.to_be_bytes(), (headers as u32).to_be_bytes()].concat();
    message.extend(crc32(&message).to_be_bytes());
    message.extend_from_slice(rest);
    message.extend(crc32(&message).to_be_bytes());
    message
}

/// Bit by bit, so that it is not the parser's own.
fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0u32, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            (crc >> 1) ^ (0xEDB8_8320 * (crc & 1))
        })
    })
}
