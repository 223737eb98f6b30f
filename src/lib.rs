//! skeleton
pub mod ledger;
pub mod prefix;
pub mod prompt;
pub mod proxy;
pub mod wire;
