//! For programs, in the schema of `docs/report.schema.json`. The only form that can be a baseline.

mod written;

use std::io::{self, Write};

use super::{
    Report,
    conversation::{Cached, Conversation, Turn},
    finding::{Finding, Leg},
    totals::{Prefix, Tally},
    words::{advice, miss_advice},
};
use crate::audit::{Segment, Share, Side};
use written::{
    CauseRow, Causes, Diagnostic, Miss, Run, Skipped, Tokens, Tool, Volatile, Window, Written,
    WrittenConversation, WrittenFinding, WrittenGate, WrittenKind, WrittenLeftOut, WrittenPrefix,
    WrittenShares, WrittenSide, WrittenTotals, WrittenTurn,
};

/// The version of the schema: a member that changes its meaning or goes makes another one.
pub const VERSION: u32 = 1;

pub fn write(report: &Report, to: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *to, &Written::of(report))?;
    writeln!(to)
}

impl<'a> Written<'a> {
    fn of(report: &'a Report) -> Self {
        let rows = |leg| {
            report
                .causes(leg)
                .into_iter()
                .map(|(_, tally)| CauseRow::of(tally))
        };
        Self {
            schema: "inkfast.report",
            version: VERSION,
            tool: Tool {
                name: "inkfast",
                version: env!("CARGO_PKG_VERSION"),
            },
            base_price: report.options.base_price,
            totals: WrittenTotals::of(report),
            gates: gates(report),
            causes: Causes {
                sent: rows(Leg::Sent).collect(),
                received: rows(Leg::Received).collect(),
            },
            misses: misses(report),
            diagnostics: diagnostics(report),
            volatile: volatile(report),
            conversations: report.conversations().into_iter().map(conversation).collect(),
            findings: report.findings().into_iter().map(finding).collect(),
            kinds: kinds(report),
            left_out: WrittenLeftOut {
                conversations: report.left_out.conversations,
                findings: report.left_out.findings,
                turns: report.left_out.turns,
                kinds: report.left_out.kinds,
            },
        }
    }
}

impl WrittenTotals {
    fn of(report: &Report) -> Self {
        let totals = &report.totals;
        Self {
            requests: totals.requests,
            continued: totals.continued,
            failed: totals.failed,
            conversations: totals.conversations,
            skipped: totals
                .skipped
                .iter()
                .map(|(reason, count)| Skipped {
                    reason,
                    count: *count,
                })
                .collect(),
            sent: prefix(&totals.sent),
            received: prefix(&totals.received),
            shares: WrittenShares {
                stable: totals.shares.stable,
                new: totals.shares.new,
                broken: totals.shares.broken,
                node: totals.shares.node,
            },
            tokens: tokens(&totals.cached),
        }
    }
}

impl CauseRow {
    fn of(tally: &Tally) -> Self {
        let cause = tally.cause.unwrap_or(crate::prefix::Cause::None);
        Self {
            cause: cause.as_str(),
            count: tally.count,
            breaks: tally.breaks,
            bytes: tally.bytes,
            tokens: tally.tokens.figure(),
            tokens_unknown: tally.tokens.unknown(),
            cost: tally.cost.figure(),
            cost_unknown: tally.cost.unknown(),
            remedy: cause.remedy().as_str(),
            advice: advice(cause),
        }
    }
}

fn prefix(one: &Prefix) -> WrittenPrefix {
    WrittenPrefix {
        kept: one.kept,
        before: one.before,
        ratio: one.ratio(),
        breaks: one.breaks,
        lost: one.lost,
        classes: one.classes.clone(),
    }
}

fn tokens(cached: &Cached) -> Tokens {
    let told = |count| (cached.counted > 0).then_some(count);
    Tokens {
        cache_read: told(cached.read),
        cache_write: told(cached.write),
        uncached: told(cached.none),
        hit_ratio: cached.hit_ratio(),
        counted: cached.counted,
        uncounted: cached.uncounted,
    }
}

fn gates(report: &Report) -> Vec<WrittenGate<'_>> {
    let written = report.gates.iter().map(|gate| WrittenGate {
        name: gate.name,
        passed: gate.passed,
        figure: gate.figure,
        why: &gate.why,
    });
    written.collect()
}

fn misses(report: &Report) -> Vec<Miss> {
    let written = report.misses.iter().map(|(cause, count)| Miss {
        cause,
        count: *count,
        advice: miss_advice(cause),
    });
    written.collect()
}

fn diagnostics(report: &Report) -> Vec<Diagnostic> {
    let written = report
        .diagnostics
        .iter()
        .map(|((source, cause), agreement)| Diagnostic {
            source,
            cause,
            yes: agreement.yes,
            no: agreement.no,
            unknown: agreement.unknown,
        });
    written.collect()
}

fn volatile(report: &Report) -> Vec<Volatile<'_>> {
    let written = report.volatile.iter().map(|span| Volatile {
        conversation: span.conversation,
        kind: span.kind,
        block: &span.block,
        changes: span.changes,
        requests: span.requests,
        advice: &span.advice,
    });
    written.collect()
}

fn kinds(report: &Report) -> Vec<WrittenKind<'_>> {
    let written = report.kinds.iter().map(|(kind, found)| WrittenKind {
        cause: &kind.cause,
        item: &kind.item,
        format: &kind.format,
        count: found.count,
        breaks: found.breaks,
    });
    written.collect()
}

fn conversation(one: &Conversation) -> WrittenConversation<'_> {
    WrittenConversation {
        id: one.id,
        file: &one.source.file,
        upstream: Some(&*one.upstream).filter(|name| !name.is_empty()),
        format: one.format.as_str(),
        model: one.model.as_deref(),
        requests: one.requests,
        failed: one.failed,
        breaks: one.breaks,
        client_breaks: one.client_breaks,
        lost: one.lost,
        tokens: one.tokens.figure(),
        tokens_unknown: one.tokens.unknown(),
        cost: one.cost.figure(),
        cost_unknown: one.cost.unknown(),
        cache: tokens(&one.cached),
        nodes: one.nodes,
        first_ms: one.first_ms,
        last_ms: one.last_ms,
        turns: one.turns.iter().map(turn).collect(),
        turns_left_out: one.turns_left_out,
    }
}

fn turn(one: &Turn) -> WrittenTurn<'_> {
    WrittenTurn {
        request: one.number,
        number: one.source.number,
        continues: one.continues,
        at_ms: one.at_ms,
        received: one.received.to_string(),
        sent: one.sent.to_string(),
        hit_ratio: one.hit_ratio,
        failed: one.failed,
        strip: one.strip.iter().map(run).collect(),
    }
}

fn run(one: &Segment) -> Run<'_> {
    Run {
        share: share(one.share),
        bytes: one.bytes,
        item: &one.item,
    }
}

/// The name of a share, in every form.
pub fn share(share: Share) -> &'static str {
    match share {
        Share::Stable => "stable",
        Share::New => "new",
        Share::Broken => "broken",
        Share::Node => "node",
    }
}

fn finding(one: &Finding) -> WrittenFinding<'_> {
    let cause = one.verdict.cause;
    WrittenFinding {
        on: one.leg.as_str(),
        level: one.level().as_str(),
        gated: one.gated,
        request: one.number,
        continues: one.continues,
        conversation: one.conversation,
        file: &one.source.file,
        number: one.source.number,
        at_ms: one.at_ms,
        format: one.format.as_str(),
        model: one.model.as_deref(),
        class: one.verdict.class.as_str(),
        cause: cause.as_str(),
        item: one.verdict.item.as_deref(),
        kept: one.verdict.kept,
        before: one.verdict.before,
        old: one.before.as_ref().map(side),
        new: one.after.as_ref().map(side),
        bytes: one.loss.bytes,
        tokens: one.loss.tokens,
        cost: one.loss.cost,
        remedy: cause.remedy().as_str(),
        advice: advice(cause),
    }
}

fn side(one: &Side) -> WrittenSide<'_> {
    WrittenSide {
        id: one.id,
        offset: one.offset,
        bytes: one.bytes,
        window: one.window.as_ref().map(|(text, at)| Window { text, at: *at }),
    }
}
