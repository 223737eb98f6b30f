//! skeleton
pub mod prefix;
pub mod prompt;
pub mod proxy;
pub mod route;
pub mod wire;
