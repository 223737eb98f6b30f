//! What the fuzz targets check, and the test that runs over their committed seeds.
//!
//! Requests: every body that can be read is given a frozen head and a node by every row of the route table that finds
//! a place, and a few bodies in a row go through the whole core as one conversation; what leaves is read again and must
//! hold the client's items, the frozen head and the nodes, and nothing else. Answers: a stream gives the same parts
//! however it is cut.

mod alone;
mod leaves;
mod routes;
mod streams;
mod talk;

use bytes::Bytes;
use inkfast::wire::format::Format;

pub use streams::{array, eventstream, ndjson, sse};

/// Between the bodies of one conversation: a byte that stands in no JSON text.
const SEPARATOR: u8 = 0x1e;

/// More bodies in a row than this show nothing new.
const MAX_BODIES: usize = 5;

/// Bodies of one conversation in this format, one behind another.
pub fn requests(format: &str, input: &[u8]) {
    let format: Format = format.parse().expect("a target's name is a format's");
    let bodies: Vec<Bytes> = input
        .split(|byte| *byte == SEPARATOR)
        .take(MAX_BODIES)
        .map(Bytes::copy_from_slice)
        .collect();
    alone::check(format, &bodies);
    talk::check(format, &bodies);
}
