//! Bodies of requests and nothing else: one a line, or one after another, in the order in which they were sent.

use std::io::BufRead;
use std::sync::Arc;

use super::entry::{self, Reason};
use super::packed;
use super::values::Values;
use crate::audit::exchange::{Exchange, Skipped, Source};
use crate::audit::sniff;

/// Whether a file that starts so holds bodies.
pub fn looks_like(first: &[u8]) -> bool {
    let first = packed::beginning(first);
    let names = sniff::members(&first);
    let has = |name: &str| names.contains(&name);
    ["messages", "contents"].into_iter().any(has) || has("model") && has("input")
}

/// The exchanges of a file of bodies.
pub fn read(
    file: Arc<str>,
    input: impl BufRead + Send + 'static,
) -> impl Iterator<Item = Result<Exchange, Skipped>> {
    let values = Values::new(packed::unpack(input), &[]);
    // Nothing says a time: they stay as they stand.
    values
        .zip(1..)
        .map(move |(value, number): (Result<Vec<u8>, Reason>, u64)| {
            let source = Source {
                file: Arc::clone(&file),
                number,
            };
            match value {
                Ok(body) => Ok(entry::exchange(&source, body.into())),
                Err(reason) => Err(Skipped { source, reason }),
            }
        })
}
