//! One binary for all integration tests.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "a test fails by panicking, and its name is its documentation"
)]

mod config;
mod metrics;
mod proxy;
mod support;
