//! Splits a stream of `application/vnd.amazon.eventstream` into its messages, whatever the reads cut it into.
//!
//! A message is its length, the length of its headers and a CRC of those two, the headers, the payload, and a CRC of
//! all that (the AWS SDKs' event stream specification). Nothing fails. A message over the size limit, and one whose
//! headers cannot be read, is counted and skipped. Behind a wrong checksum no length can be trusted: the reading ends
//! there.

use std::borrow::Cow;

use base64::{Engine, engine::general_purpose::STANDARD};
use crc32fast::Hasher;
use serde::Deserialize;

/// What AWS allows a whole message to have: a payload of 24 MiB, headers of 128 KiB, and lengths and checksums.
pub const LARGEST_MESSAGE: usize = (24 << 20) + (128 << 10) + OVERHEAD;

/// Two lengths and their checksum.
const PRELUDE: usize = 12;
const CHECKSUM: usize = 4;
const OVERHEAD: usize = PRELUDE + CHECKSUM;

/// One message of the stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Event<'a> {
    /// `:event-type`: the name of the event.
    pub event_type: Option<&'a str>,
    /// `:message-type`: `event`, `exception` or `error`.
    pub message_type: Option<&'a str>,
    /// `:exception-type`: the name of a modelled exception.
    pub exception_type: Option<&'a str>,
    /// `:content-type` of the payload.
    pub content_type: Option<&'a str>,
    /// The payload.
    pub payload: &'a [u8],
}

/// An incremental parser. The messages that it gives out do not depend on how the stream is cut into pushes.
#[derive(Debug)]
pub struct EventStreamParser {
    max_message: usize,
    /// The start of the message that is not yet complete; of one that is skipped, of its last checksum.
    held: Vec<u8>,
    oversize: Option<Oversize>,
    skipped: u64,
    broken: bool,
}

/// A message that is skipped: its checksum so far, and how many bytes that still takes.
#[derive(Debug)]
struct Oversize {
    hasher: Hasher,
    left: usize,
}

impl EventStreamParser {
    /// A parser that skips messages of more than `max_message` bytes and so holds about that much.
    pub fn new(max_message: usize) -> Self {
        Self {
            max_message,
            held: Vec::new(),
            oversize: None,
            skipped: 0,
            broken: false,
        }
    }

    /// Takes the next bytes of the stream and calls `on_event` for every message that they complete.
    pub fn push(&mut self, mut bytes: &[u8], mut on_event: impl FnMut(Event<'_>)) {
        while !bytes.is_empty() && !self.broken {
            bytes = self.take(bytes, &mut on_event);
        }
    }

    /// Ends the stream. A message that is not complete cannot be checked and is counted.
    pub fn finish(&mut self) {
        if !self.held.is_empty() || self.oversize.is_some() {
            self.skipped += 1;
        }
        self.held.clear();
        self.oversize = None;
    }

    /// How many messages were over the size limit, not readable, broken off or damaged.
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// Whether a checksum or a length was wrong: what came behind it was not read.
    pub fn is_broken(&self) -> bool {
        self.broken
    }

    /// Takes bytes up to the next decision, and returns the others.
    fn take<'b>(&mut self, bytes: &'b [u8], on_event: &mut impl FnMut(Event<'_>)) -> &'b [u8] {
        if let Some(oversize) = self.oversize.as_mut().filter(|oversize| oversize.left > 0) {
            let (part, rest) = bytes.split_at(bytes.len().min(oversize.left));
            oversize.hasher.update(part);
            oversize.left -= part.len();
            return rest;
        }
        let wanted = match &self.oversize {
            Some(_) => CHECKSUM,
            None if self.held.len() < PRELUDE => PRELUDE,
            None => number(&self.held[..4]),
        };
        let (part, rest) = bytes.split_at(bytes.len().min(wanted.saturating_sub(self.held.len())));
        self.held.extend_from_slice(part);
        if self.held.len() == wanted {
            self.decide(on_event);
        }
        rest
    }

    /// What is held is a whole prelude, message or last checksum.
    fn decide(&mut self, on_event: &mut impl FnMut(Event<'_>)) {
        if let Some(oversize) = self.oversize.take() {
            self.broken = oversize.hasher.finalize() as usize != number(&self.held);
            self.skipped += 1;
        } else if self.held.len() == PRELUDE {
            match whole_length(&self.held) {
                None => {
                    self.broken = true;
                    self.skipped += 1;
                }
                Some(whole) if whole > self.max_message => {
                    let mut hasher = Hasher::new();
                    hasher.update(&self.held);
                    let left = whole - OVERHEAD;
                    self.oversize = Some(Oversize { hasher, left });
                }
                Some(_) => return,
            }
        } else {
            let (message, checksum) = self.held.split_at(self.held.len() - CHECKSUM);
            self.broken = crc32fast::hash(message) as usize != number(checksum);
            match read(message).filter(|_| !self.broken) {
                Some(event) => on_event(event),
                None => self.skipped += 1,
            }
        }
        self.held.clear();
    }
}

/// The JSON inside a `chunk` event of InvokeModelWithResponseStream: its payload is `{"bytes":"<base64>"}`.
pub fn chunk(payload: &[u8]) -> Option<Vec<u8>> {
    #[derive(Deserialize)]
    struct Chunk<'a> {
        #[serde(borrow)]
        bytes: Cow<'a, str>,
    }
    let chunk: Chunk<'_> = serde_json::from_slice(payload).ok()?;
    STANDARD.decode(chunk.bytes.as_bytes()).ok()
}

/// The length that a sound prelude gives the message.
fn whole_length(prelude: &[u8]) -> Option<usize> {
    let (whole, headers) = (number(&prelude[..4]), number(&prelude[4..8]));
    let sound = crc32fast::hash(&prelude[..8]) as usize == number(&prelude[8..]);
    (sound && headers <= whole.checked_sub(OVERHEAD)?).then_some(whole)
}

/// A message without its last checksum.
fn read(message: &[u8]) -> Option<Event<'_>> {
    let (mut headers, payload) = message[PRELUDE..].split_at_checked(number(&message[4..8]))?;
    let mut event = Event {
        payload,
        ..Event::default()
    };
    while !headers.is_empty() {
        let (name, value) = header(&mut headers)?;
        let field = match name {
            b":event-type" => &mut event.event_type,
            b":message-type" => &mut event.message_type,
            b":exception-type" => &mut event.exception_type,
            b":content-type" => &mut event.content_type,
            _ => continue,
        };
        *field = value.and_then(|value| str::from_utf8(value).ok());
    }
    Some(event)
}

/// Takes the next header: its name and, where it is a string, its value.
fn header<'a>(bytes: &mut &'a [u8]) -> Option<(&'a [u8], Option<&'a [u8]>)> {
    let length = number(taken(bytes, 1)?);
    let name = taken(bytes, length)?;
    let kind = number(taken(bytes, 1)?);
    let length = match kind {
        // True and false.
        0 | 1 => 0,
        // Integers of one to eight bytes, a byte string and a string, a time, a UUID.
        2 => 1,
        3 => 2,
        4 => 4,
        5 | 8 => 8,
        6 | 7 => number(taken(bytes, 2)?),
        9 => 16,
        _ => return None,
    };
    let value = taken(bytes, length)?;
    Some((name, (kind == 7).then_some(value)))
}

fn taken<'a>(bytes: &mut &'a [u8], length: usize) -> Option<&'a [u8]> {
    let (taken, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some(taken)
}

/// A big-endian number of at most four bytes.
fn number(bytes: &[u8]) -> usize {
    bytes
        .iter()
        .fold(0, |number, byte| number << 8 | usize::from(*byte))
}
