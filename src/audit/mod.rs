//! Recorded traffic, judged as the proxy would have judged it: no key, no network, nothing is sent.
//!
//! A reader per recording format gives [`Exchange`]s in the order in which they were sent; what it cannot read is
//! [`Skipped`], with a reason. The [`Auditor`] walks them through the same parsing, look-up and comparison as the proxy's,
//! in observe mode, and makes an [`Observation`] of each. What is told of them is the business of `report`.

mod answers;
mod auditor;
mod changed_item;
mod churning;
pub mod exchange;
pub mod observation;
mod open;
mod prompt;
pub mod readers;
pub mod recording;
pub mod sniff;
mod strip;
mod walk;

pub use auditor::{Auditor, Options};
pub use churning::Churning;
pub use exchange::{Answer, Exchange, Skipped, Source};
pub use observation::{Judged, Observation, Segment, Share, Side};
pub use open::{AuditError, Exchanges, open, read};
