//! skeleton
pub mod prefix;
pub mod prompt;
