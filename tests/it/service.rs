//! Whole conversations through the service in process: over a ledger that fails, stalls or dies at each write, in
//! front of an upstream that looks into the ledger when the first byte of a body arrives.
//!
//! `agent` makes the conversations, `upstream` is what they are sent to, `check` says what must hold of each request,
//! `run` puts them together.

mod agent;
mod check;
mod faults;
mod leaks;
mod outage;
mod run;
mod upstream;
mod usage;
