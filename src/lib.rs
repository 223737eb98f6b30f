//! skeleton
pub mod sim;
