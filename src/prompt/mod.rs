//! The algebra of system prompts: which prompt is in force, what an edit of it is, and how the edit is told.
//!
//! Rules of this module:
//!
//! 1. Pure: no IO, clock, randomness, async or JSON. The same arguments give the same bytes, on any machine.
//! 2. A prompt is an ordered list of text blocks. Nothing here knows a provider, a role or a place in a request.
//! 3. White space at line ends, the style of line ends, final newlines and blank blocks are never an edit; all
//!    else is, the order of the blocks included.
//! 4. What is in force is [`derive()`]d from a baseline and entries; no rendered text is ever read back.
//! 5. A rendered text holds facts only: nothing that differs between two sends of the same edit.

mod alike;
mod change;
mod churn;
mod delta;
mod derive;
mod page;
mod secret;
mod sentinel;
mod span;
mod token;
mod update;
mod volatile;

pub use alike::{Sketch, alike, likeness};
pub use churn::{Churn, ChurnKind, ChurnSpan, merged as merged_churn};
pub use derive::{
    Entry, Group, GroupKind, Mode, Sameness, derive, group_for, joined, normal_blocks, same_prompt,
};
pub use secret::removes_secret;
pub use sentinel::{looks_like_sentinel, wrap};
pub use span::{Span, changed_span, first_change};
pub use update::{Rendering, TextMode, Update, render};
pub use volatile::{VolatileKind, volatile_change, volatile_kind};
