//! The integration tests, in one binary.

mod prompt;
//! skeleton
mod encoding;
mod observe;
