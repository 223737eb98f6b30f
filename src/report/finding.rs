//! A verdict that names a cause, with all that is known of it.

use std::sync::Arc;

use super::kind::Kind;
use crate::audit::{Judged, Observation, Side, Source};
use crate::prefix::{Cause, Verdict};
use crate::route::loss::Loss;
use crate::wire::format::Format;

/// Which of the two bodies a verdict is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Leg {
    /// What left.
    Sent,
    /// What the client sent.
    Received,
}

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// A gate names it.
    Error,
    /// What left broke its prefix.
    Warning,
    /// What left did not lose sent bytes by it.
    Note,
}

/// A break, or something that is none and has a name all the same. Of a request whose body left otherwise than it came,
/// the finding on the client's is told only where there is none on what left.
#[derive(Clone, Debug)]
pub struct Finding {
    /// What it is about.
    pub leg: Leg,
    /// The request's number in the audit.
    pub number: u64,
    /// What the request continues.
    pub continues: Option<u64>,
    /// Where the request stands.
    pub source: Source,
    /// When it was sent, in milliseconds since the epoch.
    pub at_ms: Option<u64>,
    /// The conversation.
    pub conversation: u64,
    /// The wire format.
    pub format: Format,
    /// The model.
    pub model: Option<Arc<str>>,
    /// The verdict.
    pub verdict: Verdict,
    /// Both sides of the first changed item.
    pub before: Option<Side>,
    /// The later one.
    pub after: Option<Side>,
    /// What was lost.
    pub loss: Loss,
    /// A gate names it.
    pub gated: bool,
}

impl Finding {
    /// The finding of a request, if there is one.
    pub(super) fn of(seen: &Observation) -> Option<Self> {
        let sent = is_finding(&seen.sent.verdict).then_some((Leg::Sent, &seen.sent));
        let received = is_finding(&seen.received.verdict).then_some((Leg::Received, &seen.received));
        let (leg, judged) = sent.or(received)?;
        Some(Self::on(leg, judged, seen))
    }

    fn on(leg: Leg, judged: &Judged, seen: &Observation) -> Self {
        Self {
            leg,
            number: seen.number,
            continues: seen.continues,
            source: seen.source.clone(),
            at_ms: seen.at_ms,
            conversation: seen.conversation,
            format: seen.format,
            model: seen.model.clone(),
            verdict: judged.verdict.clone(),
            before: judged.before.clone(),
            after: judged.after.clone(),
            loss: judged.loss,
            gated: false,
        }
    }

    /// How bad it is.
    pub fn level(&self) -> Level {
        match self.leg {
            _ if self.gated => Level::Error,
            Leg::Sent if self.verdict.is_break() => Level::Warning,
            _ => Level::Note,
        }
    }

    /// What is alike in other requests, recordings and runs.
    pub fn kind(&self) -> Kind {
        Kind::of(&self.verdict, self.format)
    }

    /// Breaks of what left, then breaks of the client's, then the rest; most bytes lost first.
    pub(super) fn rank(&self) -> (bool, bool, Leg, u64, u64) {
        let lost = u64::MAX - self.loss.bytes;
        (!self.gated, !self.verdict.is_break(), self.leg, lost, self.number)
    }
}

/// A verdict that is told. A branch and an earlier end are what users do; what they change of the history is no finding.
pub(super) fn is_finding(verdict: &Verdict) -> bool {
    verdict.is_break() || verdict.cause != Cause::None
}

impl Leg {
    /// As printed.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Sent => "sent",
            Self::Received => "received",
        }
    }
}

impl Level {
    /// As printed, and as SARIF names it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Note => "note",
        }
    }
}
