//! skeleton
mod sim;
