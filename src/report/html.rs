//! For a browser: one file that needs nothing else, no script in it, light and dark.
//!
//! The policy in its head forbids everything but its own style, so that a prompt that got through as markup could not do
//! anything either. Every text off a wire goes through [`Markup`].

mod chart;
mod strip;

use std::collections::HashMap;
use std::io::{self, Write};

use super::{
    Report,
    conversation::{Conversation, Turn},
    escape::Markup,
    figures::{bytes, cost, cost_sum, cost_unit, count, counted, moment, percent, sum},
    finding::{Finding, Leg},
    words::{advice, miss_advice, remedy, title},
};
use crate::audit::Side;

const STYLE: &str = include_str!("html/style.css");

/// Writes the report.
pub fn write(report: &Report, to: &mut dyn Write) -> io::Result<()> {
    let name = Markup(&report.options.title);
    writeln!(
        to,
        r#"<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>{name}</title>
<style>{STYLE}</style>
</head>
<body>
<main>
<h1>{name}</h1>"#
    )?;
    summary(report, to)?;
    gates(report, to)?;
    causes(report, to)?;
    provider(report, to)?;
    volatile(report, to)?;
    findings(report, to)?;
    conversations(report, to)?;
    writeln!(to, "</main>\n</body>\n</html>")
}

fn summary(report: &Report, to: &mut dyn Write) -> io::Result<()> {
    let totals = &report.totals;
    let shares = &totals.shares;
    writeln!(to, r#"<dl class="figures">"#)?;
    for (name, value) in [
        ("requests", totals.requests.to_string()),
        ("conversations", totals.conversations.to_string()),
        ("breaks", totals.sent.breaks.to_string()),
        ("kept of what was sent before", known(totals.sent.ratio())),
        ("read from the cache", known(totals.cached.hit_ratio())),
        ("lost", bytes(totals.sent.lost)),
    ] {
        writeln!(to, "<div><dt>{name}</dt><dd>{value}</dd></div>")?;
    }
    writeln!(to, "</dl>")?;
    writeln!(
        to,
        r#"<p class="key">{} <span class="seg stable"></span> stood, {} <span class="seg new"></span> new,
{} <span class="seg broken"></span> sent before and to be read again, {} <span class="seg node"></span> added by the proxy</p>"#,
        bytes(shares.stable),
        bytes(shares.new),
        bytes(shares.broken),
        bytes(shares.node)
    )?;
    if report.is_edited() {
        writeln!(
            to,
            "<p>As clients sent them, {} of the bytes would have been kept, with {}.</p>",
            known(totals.received.ratio()),
            counted(totals.received.breaks, "break", "breaks")
        )?;
    }
    for (reason, count) in &totals.skipped {
        writeln!(to, "<p>Skipped as {}: {count}</p>", Markup(reason))?;
    }
    Ok(())
}

/// A ratio, in words where it is not known.
fn known(ratio: Option<f64>) -> String {
    ratio.map_or_else(|| "unknown".to_owned(), |ratio| percent(Some(ratio)))
}

fn gates(report: &Report, to: &mut dyn Write) -> io::Result<()> {
    if report.gates.is_empty() {
        return Ok(());
    }
    writeln!(to, r#"<h2>Gates</h2><ul class="gates">"#)?;
    for gate in &report.gates {
        let (class, word) = match gate.passed {
            Some(true) => ("pass", "pass"),
            Some(false) => ("fail", "fail"),
            None => ("fail", "unknown"),
        };
        let why = Markup(&gate.why);
        writeln!(
            to,
            r#"<li class="{class}"><b>{word}</b> --{}: {why}</li>"#,
            gate.name
        )?;
    }
    writeln!(to, "</ul>")
}

fn causes(report: &Report, to: &mut dyn Write) -> io::Result<()> {
    let legs = [(Leg::Sent, "what left"), (Leg::Received, "what clients sent")];
    for (leg, what) in legs.into_iter().take(if report.is_edited() { 2 } else { 1 }) {
        let all = report.causes(leg);
        if all.is_empty() {
            continue;
        }
        writeln!(
            to,
            "<h2>Causes, in {what}</h2>\n<table><thead><tr><th>cause</th><th>count</th><th>breaks</th><th>lost</th>\
             <th>tokens</th><th>cost</th><th>what to do</th></tr></thead><tbody>"
        )?;
        for (cause, tally) in all {
            writeln!(
                to,
                "<tr><td>{}<br><small>{}</small></td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
                cause.as_str(),
                Markup(title(cause)),
                tally.count,
                tally.breaks,
                bytes(tally.bytes),
                sum(&tally.tokens),
                cost_sum(&tally.cost, &report.options),
                Markup(advice(cause))
            )?;
        }
        writeln!(
            to,
            "</tbody></table>\n<p><small>Costs are {}.</small></p>",
            cost_unit(&report.options)
        )?;
    }
    Ok(())
}

fn provider(report: &Report, to: &mut dyn Write) -> io::Result<()> {
    if report.misses.is_empty() && report.diagnostics.is_empty() {
        return Ok(());
    }
    writeln!(to, "<h2>The provider's cache</h2><ul>")?;
    for (miss, count) in &report.misses {
        let advice = Markup(miss_advice(miss));
        writeln!(
            to,
            "<li>{count} of an intact prefix missed, {}: {advice}</li>",
            Markup(miss)
        )?;
    }
    for ((source, cause), agreement) in &report.diagnostics {
        writeln!(
            to,
            "<li>{} says {}: {} agree with our verdict, {} do not, {} cannot be compared</li>",
            Markup(source),
            Markup(cause),
            agreement.yes,
            agreement.no,
            agreement.unknown
        )?;
    }
    writeln!(to, "</ul>")
}

fn volatile(report: &Report, to: &mut dyn Write) -> io::Result<()> {
    if report.volatile.is_empty() {
        return Ok(());
    }
    writeln!(to, "<h2>Parts of heads that keep changing</h2><ul>")?;
    for span in report.volatile.iter().take(100) {
        writeln!(
            to,
            "<li>conversation {}, {}: {} changed in {} of {} requests. {}</li>",
            span.conversation,
            Markup(&span.block),
            span.kind,
            span.changes,
            span.requests,
            Markup(&span.advice)
        )?;
    }
    writeln!(to, "</ul>")
}

fn findings(report: &Report, to: &mut dyn Write) -> io::Result<()> {
    let all = report.findings();
    if all.is_empty() {
        return writeln!(to, "<p>No break.</p>");
    }
    writeln!(to, "<h2>The worst</h2>")?;
    for one in all.iter().take(200) {
        finding(report, one, to)?;
    }
    let more = all.len().saturating_sub(200) as u64 + report.left_out.findings;
    if more > 0 {
        writeln!(to, "<p>and {more} more.</p>")?;
    }
    Ok(())
}

fn finding(report: &Report, one: &Finding, to: &mut dyn Write) -> io::Result<()> {
    let cause = one.verdict.cause;
    writeln!(
        to,
        r#"<article class="finding {}"><h3>{} at {}</h3>
<p>request {} of conversation {}, {}:{}, {}<br>lost {} of {}, {} tokens, cost {}</p>
<p>{}. {} {}</p>"#,
        one.level().as_str(),
        Markup(&format!("{}/{}", one.verdict.class.as_str(), cause.as_str())),
        Markup(one.verdict.item.as_deref().unwrap_or("-")),
        one.number,
        one.conversation,
        Markup(&one.source.file),
        one.source.number,
        moment(one.at_ms),
        bytes(one.loss.bytes),
        bytes(one.verdict.before),
        count(one.loss.tokens),
        cost(one.loss.cost, &report.options),
        Markup(title(cause)),
        Markup(advice(cause)),
        remedy(cause.remedy())
    )?;
    writeln!(to, r#"<div class="sides">"#)?;
    side("before", one.before.as_ref(), to)?;
    side("after", one.after.as_ref(), to)?;
    writeln!(to, "</div></article>")
}

fn side(name: &str, side: Option<&Side>, to: &mut dyn Write) -> io::Result<()> {
    let Some(side) = side else {
        return Ok(());
    };
    writeln!(
        to,
        r#"<figure class="{name}"><figcaption>{name}: {} at byte {}, {} of the item from there on</figcaption>"#,
        side.id,
        side.offset,
        bytes(side.bytes)
    )?;
    if let Some((text, at)) = &side.window {
        let end = usize::try_from(side.bytes).map_or(text.len(), |bytes| at.saturating_add(bytes));
        let (front, rest) = text.split_at_checked(*at).unwrap_or((text, ""));
        let end = (0..=end.min(text.len()).saturating_sub(front.len()))
            .rev()
            .find(|end| rest.is_char_boundary(*end));
        let (differs, behind) = rest.split_at(end.unwrap_or(0));
        let [front, differs, behind] = [front, differs, behind].map(Markup);
        writeln!(to, "<pre>{front}<mark>{differs}</mark>{behind}</pre>")?;
    }
    writeln!(to, "</figure>")
}

fn conversations(report: &Report, to: &mut dyn Write) -> io::Result<()> {
    let findings: HashMap<u64, &Finding> = report.findings.iter().map(|one| (one.number, one)).collect();
    let all = report.conversations();
    if !all.is_empty() {
        writeln!(to, "<h2>Conversations</h2>")?;
    }
    for (place, one) in all.iter().enumerate() {
        conversation(one, place == 0, &findings, to)?;
    }
    let more = report.totals.conversations.saturating_sub(all.len() as u64);
    if more > 0 {
        writeln!(
            to,
            "<p>and {}, none worse.</p>",
            counted(more, "more conversation", "more conversations")
        )?;
    }
    Ok(())
}

fn conversation(
    one: &Conversation,
    open: bool,
    findings: &HashMap<u64, &Finding>,
    to: &mut dyn Write,
) -> io::Result<()> {
    writeln!(
        to,
        r#"<details{}><summary>Conversation {}: {}, {}, {}, lost {}, read from the cache {}</summary>"#,
        if open { " open" } else { "" },
        one.id,
        Markup(one.model.as_deref().unwrap_or("no model")),
        counted(one.requests, "request", "requests"),
        counted(one.breaks, "break", "breaks"),
        bytes(one.lost),
        known(one.cached.hit_ratio())
    )?;
    chart::write(one, to)?;
    if one.turns_left_out > 0 {
        writeln!(
            to,
            "<p>{} earlier are not shown.</p>",
            counted(one.turns_left_out, "request", "requests")
        )?;
    }
    let widest = one.turns.iter().map(Turn::bytes).max().unwrap_or(0);
    writeln!(to, r#"<ol class="turns">"#)?;
    for turn in &one.turns {
        writeln!(
            to,
            r#"<li id="request-{}"><span class="number">{}</span>"#,
            turn.number, turn.number
        )?;
        strip::write(turn, widest, to)?;
        let told = findings.get(&turn.number).map_or_else(
            || turn.sent.class.as_str().to_owned(),
            |finding| finding.verdict.to_string(),
        );
        writeln!(to, r#"<span class="told">{}</span></li>"#, Markup(&told))?;
    }
    writeln!(to, "</ol></details>")
}
