//! OpenAI Responses: what is read of a request and of its answer, and what becomes of edits.

mod answers;
mod chain;
mod compaction;
mod parse;
mod proxy;
mod talk;
mod turns;

use bytes::Bytes;
use inkfast::prefix::Request;
use inkfast::wire::body::Context;
use inkfast::wire::format::Format;
use inkfast::wire::scan::Fault;
use serde_json::Value;

/// Reads a body as it is read where instructions lead, or do not.
pub fn read(body: impl Into<Bytes>, lead: bool) -> Result<Request, Fault> {
    read_after(body, lead, None)
}

pub fn read_after(body: impl Into<Bytes>, lead: bool, known: Option<&Request>) -> Result<Request, Fault> {
    let leads = |_: &str| lead;
    let context = Context {
        instructions_lead: Some(&leads),
        ..Context::default()
    };
    crate::harness::parse(Format::OpenaiResponses, &body.into(), &context, known)
}

pub fn bytes(value: &Value) -> Bytes {
    Bytes::from(value.to_string())
}
