//! The integration tests, in one binary: one link instead of a dozen.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // A test fails by panicking.

mod dashboards;
mod import_rules;
