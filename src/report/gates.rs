//! What a report must be like for a run to be good.
//!
//! A gate whose figure is unknown has not passed. A baseline forgives the kinds of findings that are in it, and fails on
//! any new kind of break.

use std::fmt;

use super::{
    Report,
    baseline::Baseline,
    figures::{counted, percent},
    finding::{Finding, Leg, is_finding},
    kind::Kind,
};
use crate::prefix::{Cause, Verdict};
use crate::wire::format::Format;

/// The most kinds that a result names.
const NAMED: usize = 5;

/// What is asked of a report.
#[derive(Clone, Debug, Default)]
pub struct Gates {
    /// The least share of bytes sent before that must have been kept, over the verdicts on what left.
    pub fail_under: Option<f64>,
    /// Causes that must not be found in what left.
    pub fail_on: Vec<Cause>,
    /// What was found before and is forgiven.
    pub baseline: Option<Baseline>,
}

/// How one gate came out.
#[derive(Clone, Debug, PartialEq)]
pub struct GateResult {
    /// The flag that asks for it, without its dashes.
    pub name: &'static str,
    /// None where its figure is unknown, which is a failure.
    pub passed: Option<bool>,
    /// What was measured: a ratio, or a count.
    pub figure: Option<f64>,
    /// In words.
    pub why: String,
}

impl Gates {
    /// The result of each gate that was asked for.
    pub fn judge(&self, report: &Report) -> Vec<GateResult> {
        let under = self.fail_under.map(|least| fail_under(least, report));
        let on = (!self.fail_on.is_empty()).then(|| self.fail_on(report));
        let new = self.baseline.as_ref().map(|old| new_kinds(old, report));
        under.into_iter().chain(on).chain(new).collect()
    }

    /// Whether a gate fails because of this very finding.
    pub fn names(&self, finding: &Finding) -> bool {
        finding.leg == Leg::Sent && self.names_sent(&finding.verdict, finding.format)
    }

    /// Whether a gate fails because of this verdict on what left.
    pub(super) fn names_sent(&self, verdict: &Verdict, format: Format) -> bool {
        if !is_finding(verdict) {
            return false;
        }
        let kind = Kind::of(verdict, format);
        let new = self.baseline.as_ref().map(|old| !old.has(&kind));
        let listed = self.lists(&kind.cause);
        (listed && new != Some(false)) || (new == Some(true) && verdict.is_break())
    }

    fn lists(&self, name: &str) -> bool {
        self.fail_on.iter().any(|cause| cause.as_str() == name)
    }

    fn fail_on(&self, report: &Report) -> GateResult {
        let name = "fail-on";
        let listed = || report.kinds.iter().filter(|(kind, _)| self.lists(&kind.cause));
        let counts: u64 = report
            .sent
            .iter()
            .filter(|(cause, _)| self.lists(cause))
            .map(|(_, tally)| tally.count)
            .sum();
        let Some(old) = &self.baseline else {
            let found: Vec<&Kind> = listed().map(|(kind, _)| kind).collect();
            return none_of(
                name,
                report,
                counts,
                &found,
                ["finding", "findings"],
                "of the named causes",
            );
        };
        let new: Vec<_> = listed().filter(|(kind, _)| !old.has(kind)).collect();
        let kinds: Vec<&Kind> = new.iter().map(|(kind, _)| *kind).collect();
        let count = new.iter().map(|(_, found)| found.count).sum();
        // Kinds that were one too many could be new ones.
        if count == 0 && counts > 0 && report.left_out.kinds > 0 {
            return unknown(name, too_many_kinds(report));
        }
        none_of(
            name,
            report,
            count,
            &kinds,
            ["finding", "findings"],
            "of the named causes that the baseline has not",
        )
    }
}

fn fail_under(least: f64, report: &Report) -> GateResult {
    let name = "fail-under";
    let Some(ratio) = report.totals.sent.ratio() else {
        return unknown(
            name,
            "no request continues another, so nothing could be kept".to_owned(),
        );
    };
    let passed = ratio >= least;
    let verb = if passed { "kept" } else { "only kept" };
    GateResult {
        name,
        passed: Some(passed),
        figure: Some(ratio),
        why: format!(
            "{verb} {} of the bytes sent before; {} are asked for",
            percent(Some(ratio)),
            percent(Some(least))
        ),
    }
}

fn new_kinds(old: &Baseline, report: &Report) -> GateResult {
    let name = "baseline";
    let new: Vec<&Kind> = report
        .kinds
        .iter()
        .filter(|(kind, found)| found.breaks > 0 && !old.has(kind))
        .map(|(kind, _)| kind)
        .collect();
    if new.is_empty() && report.left_out.kinds > 0 {
        return unknown(name, too_many_kinds(report));
    }
    let what = if old.is_whole() {
        "of breaks that the baseline has not"
    } else {
        "of breaks that the baseline, which is not whole, has not"
    };
    none_of(name, report, new.len() as u64, &new, ["kind", "kinds"], what)
}

/// A gate that wants a count to be zero.
fn none_of(
    name: &'static str,
    report: &Report,
    count: u64,
    kinds: &[&Kind],
    [one, many]: [&str; 2],
    what: &str,
) -> GateResult {
    if report.totals.requests == 0 {
        return unknown(name, "no request was read".to_owned());
    }
    let shown: Vec<String> = kinds.iter().take(NAMED).map(ToString::to_string).collect();
    let more = kinds.len() - shown.len();
    let named = match (shown.is_empty(), more) {
        (true, _) => String::new(),
        (false, 0) => format!(": {}", shown.join(", ")),
        (false, more) => format!(": {} and {more} more kinds", shown.join(", ")),
    };
    GateResult {
        name,
        passed: Some(count == 0),
        figure: Some(count as f64),
        why: format!("{} {what}{named}", counted(count, one, many)),
    }
}

fn too_many_kinds(report: &Report) -> String {
    format!(
        "{} findings are of kinds that were one too many to tell apart",
        report.left_out.kinds
    )
}

fn unknown(name: &'static str, why: String) -> GateResult {
    GateResult {
        name,
        passed: None,
        figure: None,
        why,
    }
}

/// A share between 0 and 1; made to be a parser of one argument.
///
/// # Errors
/// It is no such number.
pub fn ratio(text: &str) -> Result<f64, BadRatio> {
    text.trim()
        .parse()
        .ok()
        .filter(|ratio| (0.0..=1.0).contains(ratio))
        .ok_or(BadRatio)
}

/// No number between 0 and 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadRatio;

impl fmt::Display for BadRatio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("expected a number from 0 to 1, as 0.95")
    }
}

impl std::error::Error for BadRatio {}
