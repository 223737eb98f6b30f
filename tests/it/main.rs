//! The integration tests, in one binary: one link instead of a dozen.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "a test fails by panicking, and its name is its documentation"
)]

mod config;
mod dashboards;
mod demo;
mod encoding;
mod import_rules;
mod metrics;
mod observe;
mod prompt;
mod proxy;
mod sim;
mod support;
