//! skeleton

pub mod prompt;
