//! skeleton
pub mod prefix;
pub mod prompt;
pub mod wire;
