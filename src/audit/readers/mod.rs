//! One reader a recording format: bytes in, [`Exchange`](super::Exchange)s out, in the order in which they were sent.
//!
//! Each has `looks_like`, which judges a file by its first bytes, and `read`, which streams it. No reader holds more than one
//! entry and a bounded stretch of them that puts late ones in order; none fails on what it cannot read: that is
//! [`Skipped`](super::Skipped), with one of the names in [`reason`].

pub mod bedrock_logs;
pub mod bodies;
pub mod flows;
pub mod folder;
pub mod har;
pub mod langfuse;
pub mod litellm;
pub mod otel;
pub mod recording;

mod attributes;
mod entry;
mod frames;
mod in_order;
mod lines;
mod messages;
mod packed;
mod splice;
mod tnetstring;
mod values;

pub use entry::reason;
