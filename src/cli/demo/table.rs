//! The printed table: a row a turn, both ways side by side, and what it comes to.

use super::{
    side::Played,
    stage::Seen,
    tally::{Tokens, is_good},
};
use crate::sim::Format;

/// The rows so far, summed up.
pub struct Table {
    format: Format,
    straight: Sum,
    through: Sum,
    nodes: usize,
}

#[derive(Default)]
struct Sum {
    tokens: Tokens,
    refused: usize,
}

/// How the numbers are counted, for under the tables.
pub const LEGEND: &str = "\
input     tokens of the whole prompt, as the provider counts them; through Inkfast with the added nodes
cached    of these, read from its cache
possible  tokens of the request that this one continues on its branch, as far as the provider's rules let them be read
          (OpenAI: in steps of 128 from 1024 on; Anthropic: from 512 on): every byte of it cached, if none is rewritten
hit       cached of possible; where an abandoned branch left more in the cache than possible, the rest does not count
break     straight: what the agent did to its prefix; through: what left, against what left before. An edit that only
          moves the clock may wait inside a tool loop for the user's next turn
400       the provider refused thinking that is bound to another prefix; the agent dropped all of it and tried again
nodes     messages that Inkfast added to tell an edit of the system prompt
";

impl Table {
    /// An empty table.
    pub fn new(format: Format) -> Self {
        Self {
            format,
            straight: Sum::default(),
            through: Sum::default(),
            nodes: 0,
        }
    }

    /// Title and column names.
    pub fn header(&self, model: &str) -> String {
        let numbers = format!("{:>7} {:>7} {:>8} {:>4}", "input", "cached", "possible", "hit");
        format!(
            "\n{}, {model}\n\n{:<36}{:<60}{}\n{:>3} {:<31} {numbers}  {:<30} {numbers}  {:<16} {:>5}\n",
            name(self.format),
            "",
            "straight",
            "through Inkfast",
            "",
            "request",
            "break",
            "break",
            "nodes"
        )
    }

    /// Adds a turn, played straight and through Inkfast, and returns its row.
    pub fn row(&mut self, number: usize, what: &str, played: &[Played; 2], seen: &Seen) -> String {
        let [straight, through] = played;
        self.straight.add(straight);
        self.through.add(through);
        self.nodes += usize::from(seen.node);
        let sent = match (short(&seen.sent), seen.waits) {
            ("", true) => "(edit waits)",
            (sent, _) => sent,
        };
        let row = format!(
            "{number:>3} {what:<31} {}  {:<30} {}  {:<16} {:>5}",
            numbers(&straight.tokens),
            remark(short(&seen.received), straight.refused),
            numbers(&through.tokens),
            remark(sent, through.refused),
            if seen.node { "1" } else { "" },
        );
        format!("{}\n", row.trim_end())
    }

    /// The row of sums, and the lines that say what it comes to.
    pub fn totals(&self) -> String {
        let (straight, through) = (&self.straight, &self.through);
        format!(
            "    {:<31} {}  {:<30} {}  {:<16} {:>5}\n\n{}",
            "all",
            numbers(&straight.tokens),
            refusals(straight.refused),
            numbers(&through.tokens),
            refusals(through.refused),
            self.nodes,
            self.summary()
        )
    }

    /// Whether Inkfast did its job.
    pub fn is_good(&self) -> bool {
        is_good(&self.straight.tokens, &self.through.tokens)
    }

    fn summary(&self) -> String {
        let of = |tokens: &Tokens| match tokens.ratio() {
            Some(ratio) => format!(
                "cached {:.3} of possible {} tokens",
                floored(ratio, 1e3),
                tokens.possible
            ),
            None => "nothing could be cached yet".to_owned(),
        };
        let (straight, through) = (&self.straight.tokens, &self.through.tokens);
        let verdict = match self.is_good() {
            true => String::new(),
            false => format!(
                "{}: FAILED: through Inkfast at least 0.95, and straight under half of it\n",
                name(self.format)
            ),
        };
        format!(
            "{name}: in-history: {}; straight: {}\n\
             {name}: not cached: {} of {} tokens; straight: {} of {}\n{verdict}",
            of(through),
            of(straight),
            through.input - through.cached,
            through.input,
            straight.input - straight.cached,
            straight.input,
            name = name(self.format),
        )
    }
}

impl Sum {
    fn add(&mut self, played: &Played) {
        self.tokens += played.tokens;
        self.refused += played.refused;
    }
}

/// A verdict like `rewrite/system_changed@system[1]` in one word: its cause, else its class; empty where all stands.
fn short(verdict: &str) -> &str {
    let verdict = verdict.split('@').next().unwrap_or_default();
    match verdict.split_once('/') {
        Some(("extend", "none")) => "",
        Some((class, "none")) => class,
        Some((_, cause)) => cause,
        None => verdict,
    }
}

fn remark(verdict: &str, refused: usize) -> String {
    match refused {
        0 => verdict.to_owned(),
        _ => format!("{verdict}, 400 thinking"),
    }
}

fn refusals(refused: usize) -> String {
    match refused {
        0 => String::new(),
        _ => format!("{refused} times 400 thinking"),
    }
}

fn numbers(tokens: &Tokens) -> String {
    let ratio = tokens.ratio();
    let ratio = ratio.map_or_else(|| "-".to_owned(), |ratio| format!("{:.2}", floored(ratio, 100.0)));
    format!(
        "{:>7} {:>7} {:>8} {ratio:>4}",
        tokens.input, tokens.cached, tokens.possible
    )
}

/// Cut off rather than rounded, so that 1.00 is all.
fn floored(ratio: f64, steps: f64) -> f64 {
    (ratio * steps).floor() / steps
}

fn name(format: Format) -> &'static str {
    match format {
        Format::OpenAiChat => "openai_chat",
        _ => "anthropic_messages",
    }
}
