//! What is told of an audit: one model, many forms.
//!
//! A [`Report`] is filled from observations and written as text, JSON, JUnit, SARIF, Markdown, HTML or a badge. It holds no
//! prompt text unless the observations do. Its memory is bounded: everything is counted, and details are kept of the worst
//! conversations and findings, with the number of those that were left out.
//!
//! Rules of this folder: what is not known is none in the model and never a zero in a form; a name off a wire is made
//! visible and escaped by the form that writes it.

mod badge;
mod baseline;
mod causes;
mod conversation;
mod escape;
mod figures;
mod finding;
mod form;
mod gates;
mod html;
mod intake;
mod json;
mod junit;
mod kind;
mod markdown;
mod sarif;
mod sum;
mod text;
mod totals;
mod volatile;
mod words;

use std::collections::BTreeMap;
use std::io::{self, Write};

pub use baseline::{Baseline, BaselineError};
pub use causes::{UnknownCause, cause, causes};
pub use conversation::{Cached, Conversation, Turn};
pub use finding::{Finding, Leg, Level};
pub use form::{Form, UnknownForm};
pub use gates::{BadRatio, GateResult, Gates, ratio};
pub use kind::{Found, Kind};
pub use sum::Sum;
pub use totals::{Agreement, LeftOut, Prefix, Shares, Tally, Totals};
pub use volatile::VolatileSpan;

use crate::prefix::Cause;

/// How much is kept, and how it is shown.
#[derive(Clone, Debug)]
pub struct ReportOptions {
    /// What a report of text is headed by: `inkfast audit`, `inkfast run`.
    pub title: String,
    /// Colour in text: only where a terminal reads it.
    pub colour: bool,
    /// What a million input tokens cost the user, in their own money; costs are shown in it. Without it they are shown in
    /// units of it.
    pub base_price: Option<f64>,
    /// Conversations that are kept with their details: the worst, at least so many and at most twice as many.
    pub conversations: usize,
    /// Findings that are kept with their details, in the same way.
    pub findings: usize,
    /// Requests, of all conversations together, that are kept with their strips, in the same way.
    pub turns: usize,
    /// Kinds of findings that are told apart.
    pub kinds: usize,
}

impl Default for ReportOptions {
    fn default() -> Self {
        Self {
            title: "inkfast audit".to_owned(),
            colour: false,
            base_price: None,
            conversations: 2_000,
            findings: 1_000,
            turns: 10_000,
            kinds: 10_000,
        }
    }
}

/// All that is told of an audit.
#[derive(Clone, Debug, Default)]
pub struct Report {
    options: ReportOptions,
    totals: Totals,
    sent: BTreeMap<&'static str, Tally>,
    received: BTreeMap<&'static str, Tally>,
    misses: BTreeMap<&'static str, u64>,
    diagnostics: BTreeMap<(&'static str, &'static str), Agreement>,
    volatile: Vec<VolatileSpan>,
    conversations: BTreeMap<u64, Conversation>,
    turns: usize,
    findings: Vec<Finding>,
    kinds: BTreeMap<Kind, Found>,
    gates: Vec<GateResult>,
    left_out: LeftOut,
}

impl Report {
    /// An empty report.
    pub fn new(options: ReportOptions) -> Self {
        Self {
            options,
            ..Self::default()
        }
    }

    /// Judges the report and keeps the results and what they name, for the forms. Whether every gate passed.
    pub fn conclude(&mut self, gates: &Gates) -> bool {
        self.gates = gates.judge(self);
        for finding in &mut self.findings {
            finding.gated = gates.names(finding);
        }
        for one in self.conversations.values_mut() {
            for turn in &mut one.turns {
                turn.gated = gates.names_sent(&turn.sent, one.format);
            }
        }
        self.gates.iter().all(|gate| gate.passed == Some(true))
    }

    /// Adds a span of a head that keeps changing.
    pub fn volatile(&mut self, span: VolatileSpan) {
        self.volatile.push(span);
    }

    /// Writes the report.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn write(&self, form: Form, to: &mut dyn Write) -> io::Result<()> {
        match form {
            Form::Text => text::write(self, to),
            Form::Json => json::write(self, to),
            Form::Junit => junit::write(self, to),
            Form::Sarif => sarif::write(self, to),
            Form::Markdown => markdown::write(self, to),
            Form::Html => html::write(self, to),
            Form::Badge => badge::write(self, to),
        }
    }

    /// The counts.
    pub fn totals(&self) -> &Totals {
        &self.totals
    }

    /// The results of the gates, if any judged it.
    pub fn gates(&self) -> &[GateResult] {
        &self.gates
    }

    /// The kept conversations, the worst first: most bytes lost, then most breaks.
    pub fn conversations(&self) -> Vec<&Conversation> {
        let mut all: Vec<_> = self.conversations.values().collect();
        all.sort_by_key(|one| one.rank());
        all
    }

    /// The kept findings, the worst first.
    pub fn findings(&self) -> Vec<&Finding> {
        let mut all: Vec<_> = self.findings.iter().collect();
        all.sort_by_key(|one| one.rank());
        all
    }

    /// The causes on one leg, the costliest first.
    pub fn causes(&self, leg: Leg) -> Vec<(Cause, &Tally)> {
        let tallies = match leg {
            Leg::Sent => &self.sent,
            Leg::Received => &self.received,
        };
        let mut all: Vec<_> = tallies
            .values()
            .filter_map(|tally| Some((tally.cause?, tally)))
            .collect();
        all.sort_by_key(|(_, tally)| (u64::MAX - tally.bytes, u64::MAX - tally.count));
        all
    }

    /// Something between changed a body, so that what left is not what the client sent.
    fn is_edited(&self) -> bool {
        self.totals.edited > 0
    }
}
