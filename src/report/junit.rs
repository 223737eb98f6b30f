//! For a CI server: JUnit's XML. A suite for the gates, and one for each conversation with a case for each request that
//! continues another. What fails is what a gate names; other findings are told in the case's output.

use std::collections::HashMap;
use std::io::{self, Write};

use super::{
    Report,
    conversation::{Conversation, Turn},
    escape::Markup,
    figures::{bytes, cost, count, moment},
    finding::{Finding, is_finding},
    gates::GateResult,
    words::{advice, remedy, title},
};

/// Writes the report.
pub fn write(report: &Report, to: &mut dyn Write) -> io::Result<()> {
    let findings: HashMap<u64, &Finding> = report.findings.iter().map(|one| (one.number, one)).collect();
    let conversations = report.conversations();
    let cases = conversations.iter().flat_map(|one| judged(one));
    let tests = report.gates.len() + cases.clone().count();
    let failed = failures(cases) + report.gates.iter().filter(|gate| fails(gate)).count();
    writeln!(to, r#"<?xml version="1.0" encoding="UTF-8"?>"#)?;
    writeln!(
        to,
        r#"<testsuites name="{}" tests="{tests}" failures="{failed}" errors="0">"#,
        Markup(&report.options.title)
    )?;
    gates(&report.gates, to)?;
    for one in conversations {
        suite(report, one, &findings, to)?;
    }
    writeln!(to, "</testsuites>")
}

/// The requests of a conversation that are cases.
fn judged(conversation: &Conversation) -> impl Iterator<Item = &Turn> + Clone {
    conversation.turns.iter().filter(|turn| turn.continues.is_some())
}

fn failures<'a>(turns: impl Iterator<Item = &'a Turn>) -> usize {
    turns.filter(|turn| turn.gated).count()
}

fn fails(gate: &GateResult) -> bool {
    gate.passed != Some(true)
}

fn gates(gates: &[GateResult], to: &mut dyn Write) -> io::Result<()> {
    if gates.is_empty() {
        return Ok(());
    }
    let failed = gates.iter().filter(|gate| fails(gate)).count();
    writeln!(
        to,
        r#"  <testsuite name="gates" tests="{}" failures="{failed}" errors="0" skipped="0">"#,
        gates.len()
    )?;
    for gate in gates {
        write!(
            to,
            r#"    <testcase name="--{}" classname="gates" time="0""#,
            gate.name
        )?;
        if fails(gate) {
            let why = Markup(&gate.why);
            let kind = if gate.passed.is_none() {
                "unknown"
            } else {
                "failed"
            };
            writeln!(
                to,
                ">\n      <failure message=\"{why}\" type=\"{kind}\">{why}</failure>\n    </testcase>"
            )?;
        } else {
            writeln!(to, "/>")?;
        }
    }
    writeln!(to, "  </testsuite>")
}

fn suite(
    report: &Report,
    one: &Conversation,
    findings: &HashMap<u64, &Finding>,
    to: &mut dyn Write,
) -> io::Result<()> {
    let failed = failures(judged(one));
    let model = one.model.as_deref().unwrap_or("-");
    let name = format!("conversation {} ({model}, {})", one.id, one.format);
    write!(
        to,
        r#"  <testsuite name="{}" tests="{}" failures="{failed}" errors="0" skipped="0""#,
        Markup(&name),
        judged(one).count()
    )?;
    if one.first_ms.is_some() {
        write!(
            to,
            r#" timestamp="{}""#,
            moment(one.first_ms).trim_end_matches('Z')
        )?;
    }
    writeln!(to, ">")?;
    properties(one, to)?;
    for turn in judged(one) {
        case(report, turn, findings.get(&turn.number).copied(), to)?;
    }
    writeln!(to, "  </testsuite>")
}

fn properties(one: &Conversation, to: &mut dyn Write) -> io::Result<()> {
    let ratio = one
        .cached
        .hit_ratio()
        .map_or("unknown".to_owned(), |ratio| format!("{ratio:.4}"));
    writeln!(to, "    <properties>")?;
    for (name, value) in [
        ("upstream", one.upstream.to_string()),
        ("requests", one.requests.to_string()),
        ("breaks", one.breaks.to_string()),
        ("bytes_lost", one.lost.to_string()),
        ("cache_hit_ratio", ratio),
        ("requests_left_out", one.turns_left_out.to_string()),
    ] {
        writeln!(
            to,
            r#"      <property name="{name}" value="{}"/>"#,
            Markup(&value)
        )?;
    }
    writeln!(to, "    </properties>")
}

fn case(report: &Report, turn: &Turn, finding: Option<&Finding>, to: &mut dyn Write) -> io::Result<()> {
    write!(
        to,
        r#"    <testcase name="request {}" classname="{}" time="0""#,
        turn.number,
        Markup(&turn.source.file)
    )?;
    // Where the details of a finding were left out, its verdict is known all the same.
    let (verdict, text) = match finding {
        Some(finding) => (&finding.verdict, told(report, finding)),
        None if is_finding(&turn.sent) => (&turn.sent, title(turn.sent.cause).to_owned()),
        None => return writeln!(to, "/>"),
    };
    let (cause, verdict) = (verdict.cause.as_str(), verdict.to_string());
    writeln!(to, ">")?;
    if turn.gated {
        let (verdict, text) = (Markup(&verdict), Markup(&text));
        writeln!(
            to,
            "      <failure message=\"{verdict}\" type=\"{cause}\">{text}</failure>"
        )?;
    } else {
        writeln!(
            to,
            "      <system-out>{}</system-out>",
            Markup(&format!("{verdict}\n{text}"))
        )?;
    }
    writeln!(to, "    </testcase>")
}

/// A finding in words.
fn told(report: &Report, one: &Finding) -> String {
    let cause = one.verdict.cause;
    format!(
        "{}. {} {}\n{} {}, {}:{}; lost {}, {} tokens, cost {}",
        title(cause),
        advice(cause),
        remedy(cause.remedy()),
        one.leg.as_str(),
        one.verdict.item.as_deref().unwrap_or("-"),
        one.source.file,
        one.source.number,
        bytes(one.loss.bytes),
        count(one.loss.tokens),
        cost(one.loss.cost, &report.options)
    )
}
