//! One request and its answer, as a recording holds them.

use std::sync::Arc;

use bytes::Bytes;
use hyper::HeaderMap;

use crate::wire::{format::Format, usage::Usage};

/// Where something stands in a recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The file, as it was named on the command line or found below a folder that was.
    pub file: Arc<str>,
    /// The exchange's number in it, from 1: entries, lines or numbered bodies, whatever the format counts.
    pub number: u64,
}

/// One request and its answer. What a recording does not say is none, and never a guess.
#[derive(Clone, Debug)]
pub struct Exchange {
    /// Where it stands.
    pub source: Source,
    /// When the request was sent, in milliseconds since the epoch.
    pub at_ms: Option<u64>,
    /// The host that it was sent to, or the name of an upstream.
    pub host: Option<String>,
    /// The path with its query.
    pub path: Option<String>,
    /// The wire format, where the recording says it; else path and body tell.
    pub format: Option<Format>,
    /// The model, where only the recording says it.
    pub model: Option<String>,
    /// The request's headers, secrets or not; nothing of them but digests is kept.
    pub headers: HeaderMap,
    /// The request's body as the client sent it, in the encoding that the headers name.
    pub body: Bytes,
    /// The body that left, where a proxy between changed it.
    pub sent: Option<Bytes>,
    /// The cause that the proxy itself gave for a break (`no_slot`, `refused`, `guard`, `rebaseline`,
    /// `unknown_history`), where it recorded one.
    pub by_proxy: Option<String>,
    /// The answer.
    pub answer: Option<Answer>,
}

/// An answer.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    /// The status; none where the recording holds good answers only.
    pub status: Option<u16>,
    /// When it ended, in milliseconds since the epoch.
    pub ended_ms: Option<u64>,
    /// Its headers.
    pub headers: HeaderMap,
    /// Its body, in the encoding that the headers name; empty where only counts were recorded.
    pub body: Bytes,
    /// Token counts that stand beside the body.
    pub usage: Option<Usage>,
}

/// What was not read, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// Where it stands.
    pub source: Source,
    /// Why: a closed set of names, as in `inkfast_passthrough_total`.
    pub reason: &'static str,
}
