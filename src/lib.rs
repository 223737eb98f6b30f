//! skeleton
pub mod ledger;
pub mod prefix;
pub mod prompt;
pub mod wire;
