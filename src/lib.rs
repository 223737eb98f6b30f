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
//! - [`config`]: arguments and file, parsed once into values that cannot be wrong
//! - [`metrics`]: every metric name and label, in one place
//! - [`error`] and [`proxy`]: listeners, the life of a request, the upstream client, the admin port, and the one
//!   answer to each thing that can go wrong
//! - [`cli`]: the command line

#![forbid(unsafe_code)]

pub mod cli;
pub mod config;
pub mod error;
pub mod metrics;
pub mod proxy;
