//! Inkfast keeps the prompts that an agent has already sent as they were sent, so that the provider's prefix
//! cache keeps serving them.
//!
//! Every request has one life, in `proxy::exchange`: receive, decode, parse, look up, decide, apply, guard,
//! record, send, observe. The middle of it is pure: bytes in, bytes out, no clock and no socket; the two ends
//! are the thin shell of this crate. A request that needs no change leaves as the very bytes that came in,
//! and whatever goes wrong in the middle, the upstream's own answer still reaches the client.
//!
//! Layout, low to high; a module may use those above it in this list:
//!
//! - [`prompt`]: what a system prompt is: blocks, what is in force, how an edit is told
//! - [`prefix`]: what was sent, what a request continues, what goes out; the verdicts
//! - [`wire`]: one file per wire format: items of a request, edits of its bytes, usage of a response
//! - [`route`]: facts about providers, from a table
//! - [`encoding`], [`identity`], [`bodies`]: content encodings undone; who a client says that it is; the last bodies
//! - [`ledger`]: what was sent, kept in memory or SQLite
//! - [`config`], [`metrics`]: parsed once; every metric name and label in one place
//! - [`audit`], [`report`]: recorded traffic judged, and what is told of it
//! - [`error`] and [`proxy`]: listeners, the life of a request, the upstream client, the admin port
//! - [`cli`]: the command line
//!
//! [`sim`], the simulated provider of the demo and the tests, stands alone.

#![forbid(unsafe_code)]

pub mod audit;
pub mod bodies;
pub mod cli;
pub mod config;
pub mod encoding;
pub mod error;
pub mod identity;
pub mod ledger;
pub mod metrics;
pub mod prefix;
pub mod prompt;
pub mod proxy;
pub mod report;
pub mod route;
pub mod sim;
pub mod wire;
