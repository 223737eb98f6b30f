//! For the summary of a CI job: Markdown tables, well under the mebibyte that such summaries may have.

use std::io::{self, Write};

use super::{
    Report,
    escape::Cell,
    figures::{bytes, clipped, cost, cost_sum, cost_unit, count, counted, percent, sum},
    finding::{Finding, Leg},
    words::{advice, title},
};

/// Rows of a table, at most.
const ROWS: usize = 50;
/// Characters of a name in a cell.
const WIDTH: usize = 80;

/// Writes the report.
pub fn write(report: &Report, to: &mut dyn Write) -> io::Result<()> {
    let totals = &report.totals;
    writeln!(to, "## {}\n", Cell(&report.options.title))?;
    writeln!(
        to,
        "{} in {}, **{}**. Kept {} of the bytes sent before; cache reads {} of the input tokens.\n",
        counted(totals.requests, "request", "requests"),
        counted(totals.conversations, "conversation", "conversations"),
        counted(totals.sent.breaks, "break", "breaks"),
        percent(totals.sent.ratio()),
        percent(totals.cached.hit_ratio()),
    )?;
    gates(report, to)?;
    causes(report, to)?;
    findings(report, to)?;
    conversations(report, to)?;
    others(report, to)
}

fn gates(report: &Report, to: &mut dyn Write) -> io::Result<()> {
    if report.gates.is_empty() {
        return Ok(());
    }
    writeln!(to, "| Gate | Result | Why |\n| --- | --- | --- |")?;
    for gate in &report.gates {
        let result = match gate.passed {
            Some(true) => "pass",
            Some(false) => "**FAIL**",
            None => "**FAIL**: unknown",
        };
        writeln!(to, "| --{} | {result} | {} |", gate.name, Cell(&gate.why))?;
    }
    writeln!(to)
}

fn causes(report: &Report, to: &mut dyn Write) -> io::Result<()> {
    let legs = [(Leg::Sent, "what left"), (Leg::Received, "what clients sent")];
    for (leg, what) in legs.into_iter().take(if report.is_edited() { 2 } else { 1 }) {
        let all = report.causes(leg);
        if all.is_empty() {
            continue;
        }
        writeln!(to, "### Causes, in {what}\n")?;
        writeln!(
            to,
            "| Cause | Count | Breaks | Lost | Tokens | Cost | What to do |"
        )?;
        writeln!(to, "| --- | ---: | ---: | ---: | ---: | ---: | --- |")?;
        for (cause, tally) in all {
            writeln!(
                to,
                "| {} | {} | {} | {} | {} | {} | {} |",
                cause.as_str(),
                tally.count,
                tally.breaks,
                bytes(tally.bytes),
                sum(&tally.tokens),
                cost_sum(&tally.cost, &report.options),
                Cell(advice(cause))
            )?;
        }
        writeln!(to, "\nCosts are {}.\n", cost_unit(&report.options))?;
    }
    Ok(())
}

fn findings(report: &Report, to: &mut dyn Write) -> io::Result<()> {
    let all = report.findings();
    if all.is_empty() {
        return Ok(());
    }
    writeln!(to, "### The worst\n")?;
    writeln!(
        to,
        "| Verdict | Where | Request | Lost | Tokens | Cost | What it is |"
    )?;
    writeln!(to, "| --- | --- | --- | ---: | ---: | ---: | --- |")?;
    for one in all.iter().take(ROWS) {
        finding(report, one, to)?;
    }
    more(
        all.len().saturating_sub(ROWS) as u64 + report.left_out.findings,
        to,
    )
}

fn finding(report: &Report, one: &Finding, to: &mut dyn Write) -> io::Result<()> {
    let place = format!("{}:{}", one.source.file, one.source.number);
    let item = clipped(one.verdict.item.as_deref().unwrap_or("-"), WIDTH);
    writeln!(
        to,
        "| {}{}/{} | {} | {} | {} | {} | {} | {} |",
        if one.gated { "**gate** " } else { "" },
        one.verdict.class.as_str(),
        one.verdict.cause.as_str(),
        Cell(&item),
        Cell(&clipped(&place, WIDTH)),
        bytes(one.loss.bytes),
        count(one.loss.tokens),
        cost(one.loss.cost, &report.options),
        title(one.verdict.cause)
    )
}

fn conversations(report: &Report, to: &mut dyn Write) -> io::Result<()> {
    let all = report.conversations();
    if all.is_empty() {
        return Ok(());
    }
    writeln!(to, "### Conversations\n")?;
    writeln!(
        to,
        "| Conversation | Model | Format | Requests | Breaks | Lost | Cache reads |"
    )?;
    writeln!(to, "| --- | --- | --- | ---: | ---: | ---: | ---: |")?;
    for one in all.iter().take(ROWS) {
        writeln!(
            to,
            "| {} | {} | {} | {} | {} | {} | {} |",
            one.id,
            Cell(&clipped(one.model.as_deref().unwrap_or("-"), WIDTH)),
            one.format,
            one.requests,
            one.breaks,
            bytes(one.lost),
            percent(one.cached.hit_ratio())
        )?;
    }
    more(
        report
            .totals
            .conversations
            .saturating_sub(all.len().min(ROWS) as u64),
        to,
    )
}

/// What was not read, what the provider missed, which parts of heads keep changing.
fn others(report: &Report, to: &mut dyn Write) -> io::Result<()> {
    for (reason, count) in &report.totals.skipped {
        writeln!(to, "- skipped as {}: {count}", Cell(reason))?;
    }
    for (miss, count) in &report.misses {
        writeln!(
            to,
            "- the provider's cache missed an intact prefix, {}: {count}",
            Cell(miss)
        )?;
    }
    for span in report.volatile.iter().take(ROWS) {
        writeln!(
            to,
            "- conversation {}, {}: a {} changed in {} of {} requests. {}",
            span.conversation,
            Cell(&span.block),
            span.kind,
            span.changes,
            span.requests,
            Cell(&span.advice)
        )?;
    }
    Ok(())
}

fn more(count: u64, to: &mut dyn Write) -> io::Result<()> {
    if count > 0 {
        writeln!(to, "\nand {count} more.")?;
    }
    writeln!(to)
}
