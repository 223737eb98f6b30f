//! For a person at a terminal: a line for each conversation, the worst findings, the gates. At most 100 columns.

use std::io::{self, Write};

use super::{
    Report,
    conversation::Conversation,
    figures::{bytes, clipped, cost, cost_sum, cost_unit, count, counted, moment, percent, sum},
    finding::{Finding, Leg, Level},
    words::{advice, miss_advice, remedy, title},
};

/// Conversations and findings that are shown; other forms have more.
const SHOWN: usize = 20;
const WIDTH: usize = 100;

pub fn write(report: &Report, to: &mut dyn Write) -> io::Result<()> {
    let page = &mut Page {
        to,
        colour: report.options.colour,
    };
    summary(report, page)?;
    if report.totals.requests > 0 {
        conversations(report, page)?;
        findings(report, page)?;
        provider(report, page)?;
        volatile(report, page)?;
    }
    gates(report, page)
}

struct Page<'a> {
    to: &'a mut dyn Write,
    colour: bool,
}

/// The few colours there are, by what they say.
#[derive(Clone, Copy)]
enum Tone {
    Heading,
    Good,
    Bad,
    Warn,
}

impl Page<'_> {
    /// A line; what is longer than the page is cut.
    fn line(&mut self, line: &str) -> io::Result<()> {
        let line: String = line.trim_end().chars().take(WIDTH).collect();
        writeln!(self.to, "{line}")
    }

    /// A line that begins with a toned word or is all toned.
    fn toned(&mut self, tone: Tone, word: &str, rest: &str) -> io::Result<()> {
        let room = WIDTH.saturating_sub(word.chars().count());
        let rest: String = rest.trim_end().chars().take(room).collect();
        let code = match tone {
            _ if !self.colour => return writeln!(self.to, "{word}{rest}"),
            Tone::Heading => "1",
            Tone::Good => "32",
            Tone::Bad => "31",
            Tone::Warn => "33",
        };
        writeln!(self.to, "\u{1b}[{code}m{word}\u{1b}[0m{rest}")
    }

    /// A paragraph, broken between words.
    fn wrapped(&mut self, indent: usize, text: &str) -> io::Result<()> {
        let mut line = " ".repeat(indent);
        for word in text.split_whitespace() {
            if line.chars().count() + word.chars().count() >= WIDTH && line.len() > indent {
                self.line(&line)?;
                line = " ".repeat(indent);
            }
            if line.len() > indent {
                line.push(' ');
            }
            line.push_str(word);
        }
        self.line(&line)
    }

    fn heading(&mut self, text: &str) -> io::Result<()> {
        self.line("")?;
        self.toned(Tone::Heading, text, "")
    }
}

fn summary(report: &Report, page: &mut Page) -> io::Result<()> {
    let totals = &report.totals;
    let what = format!(
        ": {} in {}, {}",
        counted(totals.requests, "request", "requests"),
        counted(totals.conversations, "conversation", "conversations"),
        counted(totals.sent.breaks, "break", "breaks"),
    );
    page.toned(Tone::Heading, &report.options.title, &what)?;
    if !totals.skipped.is_empty() {
        let all: u64 = totals.skipped.values().sum();
        let reasons: Vec<_> = totals
            .skipped
            .iter()
            .map(|(reason, count)| format!("{reason} {count}"))
            .collect();
        page.wrapped(0, &format!("skipped {all}: {}", reasons.join(", ")))?;
    }
    if totals.requests == 0 {
        return page.line("No request of a known chat format was found: there is nothing to judge.");
    }
    let prefix = &totals.sent;
    page.line(&match prefix.ratio() {
        None => "No request continues another: how much of a prefix is kept is not known.".to_owned(),
        ratio => format!(
            "kept {} of the bytes sent before ({} of {})",
            percent(ratio),
            bytes(prefix.kept),
            bytes(prefix.before)
        ),
    })?;
    if report.is_edited() {
        page.line(&format!(
            "as clients sent them it would have been {}, with {}",
            percent(totals.received.ratio()),
            counted(totals.received.breaks, "break", "breaks")
        ))?;
    }
    let cached = &totals.cached;
    page.line(&match cached.hit_ratio() {
        None => "cache reads: not known, as no answer told".to_owned(),
        ratio => format!(
            "cache reads: {} of the input tokens of {}{}",
            percent(ratio),
            counted(cached.counted, "answer", "answers"),
            match cached.uncounted {
                0 => String::new(),
                others => format!("; {others} did not tell"),
            }
        ),
    })
}

fn conversations(report: &Report, page: &mut Page) -> io::Result<()> {
    let all = report.conversations();
    page.heading(
        "CONVERSATION  MODEL                       FORMAT              REQ  BREAKS      LOST  HITS    NODES",
    )?;
    for one in all.iter().take(SHOWN) {
        page.line(&conversation(one))?;
    }
    let more = report.totals.conversations - all.len().min(SHOWN) as u64;
    if more > 0 {
        page.line(&format!(
            "and {}, none worse than these",
            counted(more, "more conversation", "more conversations")
        ))?;
    }
    Ok(())
}

fn conversation(one: &Conversation) -> String {
    format!(
        "{:<13} {:<27} {:<18} {:>4}  {:>6}  {:>8}  {:<7} {}",
        format!("#{}", one.id),
        clipped(one.model.as_deref().unwrap_or("-"), 27),
        one.format.as_str(),
        count(Some(one.requests)),
        count(Some(one.breaks)),
        bytes(one.lost),
        percent(one.cached.hit_ratio()),
        one.nodes
    )
}

fn findings(report: &Report, page: &mut Page) -> io::Result<()> {
    let all = report.findings();
    if all.is_empty() {
        page.line("")?;
        return page.toned(Tone::Good, "No break.", "");
    }
    causes(report, page, Leg::Sent, "CAUSES, in what left")?;
    if report.is_edited() {
        causes(report, page, Leg::Received, "CAUSES, in what clients sent")?;
    }
    page.heading("THE WORST")?;
    for one in all.iter().take(SHOWN) {
        finding(report, one, page)?;
    }
    let more = all.len().saturating_sub(SHOWN) as u64 + report.left_out.findings;
    if more > 0 {
        page.line(&format!(
            "and {more} more; the JSON and HTML reports show the worst of them"
        ))?;
    }
    Ok(())
}

fn causes(report: &Report, page: &mut Page, leg: Leg, heading: &str) -> io::Result<()> {
    let all = report.causes(leg);
    if all.is_empty() {
        return Ok(());
    }
    page.heading(&format!(
        "{heading:<34} COUNT  BREAKS      LOST   TOKENS      COST  REMEDY"
    ))?;
    for (cause, tally) in all {
        page.line(&format!(
            "{:<34} {:>5}  {:>6}  {:>8}  {:>7}  {:>8}  {}",
            cause.as_str(),
            count(Some(tally.count)),
            count(Some(tally.breaks)),
            bytes(tally.bytes),
            sum(&tally.tokens),
            cost_sum(&tally.cost, &report.options),
            cause.remedy().as_str()
        ))?;
    }
    page.line(&format!("costs are {}", cost_unit(&report.options)))
}

fn finding(report: &Report, one: &Finding, page: &mut Page) -> io::Result<()> {
    let cause = one.verdict.cause;
    let place = clipped(one.verdict.item.as_deref().unwrap_or("-"), 40);
    let tone = match one.level() {
        Level::Error => Tone::Bad,
        Level::Warning => Tone::Warn,
        Level::Note => Tone::Good,
    };
    let word = match (one.leg, one.level()) {
        (_, Level::Error) => "FAIL",
        (_, Level::Warning) => "break",
        (Leg::Received, Level::Note) if one.verdict.is_break() => "repaired",
        (_, Level::Note) => "note",
    };
    let rest = format!(" {}/{} at {place}", one.verdict.class.as_str(), cause.as_str());
    page.toned(tone, word, &rest)?;
    let file = clipped(&one.source.file, 40);
    page.line(&format!(
        "    request {} of conversation #{}, {file}:{}, {}",
        one.number,
        one.conversation,
        one.source.number,
        moment(one.at_ms)
    ))?;
    if one.verdict.is_break() {
        page.line(&format!(
            "    lost {} of {}, {} tokens, cost {}",
            bytes(one.loss.bytes),
            bytes(one.verdict.before),
            count(one.loss.tokens),
            cost(one.loss.cost, &report.options)
        ))?;
    }
    sides(one, page)?;
    page.wrapped(
        4,
        &format!("{}. {} {}", title(cause), advice(cause), remedy(cause.remedy())),
    )
}

fn sides(one: &Finding, page: &mut Page) -> io::Result<()> {
    for (sign, side) in [("-", &one.before), ("+", &one.after)] {
        let Some(side) = side else { continue };
        let text = side
            .window
            .as_ref()
            .map_or_else(String::new, |(text, _)| format!("  {}", clipped(text, 90)));
        page.line(&format!("    {sign} {} at byte {}", side.id, side.offset))?;
        if !text.is_empty() {
            page.line(&format!("    {sign}{text}"))?;
        }
    }
    Ok(())
}

fn provider(report: &Report, page: &mut Page) -> io::Result<()> {
    if !report.misses.is_empty() {
        page.heading("MISSES on an intact prefix")?;
        for (cause, times) in &report.misses {
            page.line(&format!("{times:>6} {cause}"))?;
            page.wrapped(7, miss_advice(cause))?;
        }
    }
    if !report.diagnostics.is_empty() {
        page.heading("THE VENDOR'S OWN FINDINGS, beside ours")?;
        for ((source, cause), one) in &report.diagnostics {
            page.line(&format!(
                "{:<50} agree {}, differ {}, not comparable {}",
                format!("{source}: {cause}"),
                one.yes,
                one.no,
                one.unknown
            ))?;
        }
    }
    Ok(())
}

fn volatile(report: &Report, page: &mut Page) -> io::Result<()> {
    if report.volatile.is_empty() {
        return Ok(());
    }
    page.heading("VOLATILE SPANS of heads")?;
    for one in &report.volatile {
        page.line(&format!(
            "#{} {} {}: changed in {} of {} requests",
            one.conversation,
            clipped(&one.block, 40),
            one.kind,
            one.changes,
            one.requests
        ))?;
        page.wrapped(4, &one.advice)?;
    }
    Ok(())
}

fn gates(report: &Report, page: &mut Page) -> io::Result<()> {
    if report.gates.is_empty() {
        return Ok(());
    }
    page.heading("GATES")?;
    for gate in &report.gates {
        let (tone, word) = match gate.passed {
            Some(true) => (Tone::Good, "pass"),
            Some(false) => (Tone::Bad, "FAIL"),
            None => (Tone::Bad, "FAIL, unknown"),
        };
        page.toned(tone, word, &format!("  --{}", gate.name))?;
        page.wrapped(4, &super::figures::visible(&gate.why))?;
    }
    Ok(())
}
