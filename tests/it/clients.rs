//! Official SDKs and real agents through the built binary, against the simulated provider.
//!
//! `tests/run` installs them at pinned versions and says where they are; their scripts are in `tests/clients`.

mod agents;
mod checks;
mod npm;
pub mod process;
mod pypi;
pub mod script;
mod sdk;
