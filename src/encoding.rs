//! Content encodings: request bodies decoded whole and within limits, responses decoded on the side as they arrive.
//!
//! No wait happens in here: the decoders are polled over memory, so both halves are plain functions that do as much as
//! the bytes at hand allow. What is forwarded is never touched by this module; its output is only read, or sent in
//! place of an edited body.

mod stack;

use std::{fmt, io, task::Poll};

use bytes::Bytes;
use hyper::{HeaderMap, header::CONTENT_ENCODING};

use stack::{Input, codings};

/// Up to this many decoded bytes any ratio is harmless, and short repetitive bodies do reach high ones.
const RATIO_FREE: usize = 1 << 20;
/// Decoded bytes of one response after which the side copy is given up.
const MAX_SIDE: usize = 64 << 20;

/// How far a body may grow when decoded.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Decoded bytes.
    pub max_bytes: usize,
    /// Decoded bytes for each encoded byte; bodies under 1 MiB decoded are free of it.
    pub max_ratio: usize,
}

/// Why a body was not decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecodeError {
    /// An encoding that is not known here, or too many of them.
    Unknown,
    /// It decodes to more than [`Limits::max_bytes`].
    TooLarge,
    /// It grows by more than [`Limits::max_ratio`].
    Ratio,
    /// It ends too early.
    Truncated,
    /// It is not what its encoding says.
    Corrupt,
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unknown => "unknown content encoding",
            Self::TooLarge => "decoded body over the size limit",
            Self::Ratio => "decoded body over the ratio limit",
            Self::Truncated => "encoded body ends too early",
            Self::Corrupt => "encoded body is corrupt",
        })
    }
}

impl std::error::Error for DecodeError {}

impl From<io::Error> for DecodeError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => Self::Truncated,
            _ => Self::Corrupt,
        }
    }
}

/// The encodings of a body: every `Content-Encoding` line, joined by commas; empty where there is none.
pub fn of_headers(headers: &HeaderMap) -> String {
    let lines = headers.get_all(CONTENT_ENCODING).iter();
    // A value that is no text names no encoding that is known, which is what the comma-less rest then says.
    let names: Vec<_> = lines
        .map(|line| String::from_utf8_lossy(line.as_bytes()).into_owned())
        .collect();
    names.join(",")
}

/// Undoes the encodings that a `Content-Encoding` value lists (several field lines joined by commas); an empty
/// value and `identity` give the body itself. Work and memory are bounded by
/// `limits`; large bodies belong off the I/O threads.
pub fn decode(body: &Bytes, content_encoding: &str, limits: Limits) -> Result<Bytes, DecodeError> {
    let codings = codings(content_encoding).ok_or(DecodeError::Unknown)?;
    if codings.is_empty() {
        return Ok(body.clone());
    }
    let mut input = Input::new(&codings, limits.max_bytes);
    input.send(body.clone());
    input.close();
    let ratio_limit = body.len().saturating_mul(limits.max_ratio).max(RATIO_FREE);
    let mut decoded = Vec::new();
    // Never pending: the whole input is there.
    while let Poll::Ready(step) = input.read()? {
        if step.is_empty() {
            break;
        }
        if decoded.len() + step.len() > limits.max_bytes {
            return Err(DecodeError::TooLarge);
        }
        if decoded.len() + step.len() > ratio_limit {
            return Err(DecodeError::Ratio);
        }
        decoded.extend_from_slice(step);
    }
    Ok(decoded.into())
}

/// Decodes the side copy of a response while it arrives. A response that fails to decode, or grows too large, gives
/// no more bytes; nobody but the reader of the side copy notices.
pub struct SideDecoder(State);

enum State {
    Plain,
    Decoding {
        input: Input,
        room: usize,
    },
    /// What comes now is not decoded any more.
    Over {
        failed: bool,
    },
}

impl SideDecoder {
    /// A decoder for the encodings of a `Content-Encoding` value; `None` if one of them is unknown.
    pub fn new(content_encoding: &str) -> Option<Self> {
        let codings = codings(content_encoding)?;
        if codings.is_empty() {
            return Some(Self(State::Plain));
        }
        let input = Input::new(&codings, MAX_SIDE);
        Some(Self(State::Decoding {
            input,
            room: MAX_SIDE,
        }))
    }

    /// Takes the next bytes of the response and calls `on_decoded` with all that they decode to, in small pieces: an
    /// event that the server flushed comes out at once.
    pub fn push(&mut self, chunk: Bytes, mut on_decoded: impl FnMut(&[u8])) {
        match &mut self.0 {
            State::Plain => on_decoded(&chunk),
            State::Over { .. } => {}
            State::Decoding { input, room } => {
                input.send(chunk);
                if let Some(failed) = drain(input, room, on_decoded) {
                    self.0 = State::Over { failed };
                }
            }
        }
    }

    /// Whether the side copy was given up.
    pub fn failed(&self) -> bool {
        matches!(self.0, State::Over { failed: true })
    }
}

/// Hands out what can be decoded now and takes it from `room`. Tells whether that failed once it is over.
fn drain(input: &mut Input, room: &mut usize, mut on_decoded: impl FnMut(&[u8])) -> Option<bool> {
    while let Poll::Ready(step) = input.read() {
        match step {
            Ok([]) => return Some(false),
            Ok(step) if step.len() <= *room => {
                *room -= step.len();
                on_decoded(step);
            }
            _ => return Some(true),
        }
    }
    None
}
