//! The prefix algebra: what was sent, what a request continues, what goes out.
//!
//! Rules of this folder: no IO, no clock, no randomness, no provider names, no JSON. A [`Request`] comes in with
//! byte ranges and digests, a [`Past`] comes from the ledger, a plan goes out; `wire` lowers it to bytes.

pub mod choose;
pub mod compare;
pub mod decide;
pub mod digest;
pub mod edit;
pub mod guard;
pub mod item;
pub mod judgement;
pub mod keys;
pub mod past;
pub mod place;
pub mod plan;
pub mod policy;
pub mod provider_held;
pub mod record;
pub mod rerender;
pub mod verdict;

pub use decide::decide;
pub use edit::{Edit, Edits, Rope, apply};
pub use item::Request;
pub use keys::{Keys, Scope, keys};
pub use past::{Past, Path};
pub use plan::{NewNode, Outcome, Plan};
pub use policy::Policy;
pub use verdict::{By, Cause, Change, Class, Part, Remedy, Verdict};
