//! The integration tests, in one binary: one link instead of a dozen.

// A test states what must hold; an unwrap that fails is a test that fails.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod dashboards;
mod encoding;
mod import_rules;
mod observe;
mod prompt;
