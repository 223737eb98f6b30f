//! One message of an AWS event stream (`application/vnd.amazon.eventstream`).
//!
//! Layout, all numbers big-endian: total length, header length, CRC32 of these eight bytes; headers (name length, name, type 7,
//! value length, value); payload; CRC32 of everything in front. Source: the Smithy specification "Amazon Event Stream".

use bytes::Bytes;
use serde_json::Value;

/// An event of a stream.
pub(super) fn event(name: &str, payload: &Value) -> Bytes {
    message(
        &[
            (":event-type", name),
            (":content-type", "application/json"),
            (":message-type", "event"),
        ],
        payload,
    )
}

/// An error inside a stream that began well.
pub(super) fn exception(name: &str, payload: &Value) -> Bytes {
    message(
        &[
            (":exception-type", name),
            (":content-type", "application/json"),
            (":message-type", "exception"),
        ],
        payload,
    )
}

const PRELUDE: usize = 12;
const CHECKSUM: usize = 4;
/// A header value of type string.
const STRING: u8 = 7;

fn message(headers: &[(&str, &str)], payload: &Value) -> Bytes {
    let headers: Vec<u8> = headers
        .iter()
        .flat_map(|(name, value)| header(name, value))
        .collect();
    let payload = payload.to_string();
    let total = PRELUDE + headers.len() + payload.len() + CHECKSUM;
    let mut out = Vec::with_capacity(total);
    out.extend(length(total));
    out.extend(length(headers.len()));
    out.extend(crc32fast::hash(&out).to_be_bytes());
    out.extend(headers);
    out.extend(payload.as_bytes());
    out.extend(crc32fast::hash(&out).to_be_bytes());
    out.into()
}

fn header(name: &str, value: &str) -> Vec<u8> {
    let mut out = vec![u8::try_from(name.len()).unwrap_or(u8::MAX)];
    out.extend(name.as_bytes());
    out.push(STRING);
    out.extend(u16::try_from(value.len()).unwrap_or(u16::MAX).to_be_bytes());
    out.extend(value.as_bytes());
    out
}

fn length(bytes: usize) -> [u8; 4] {
    u32::try_from(bytes).unwrap_or(u32::MAX).to_be_bytes()
}
