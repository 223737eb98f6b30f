//! The statements of a delta: their layout, and what they do to a text.
//!
//! Layout, one statement a paragraph; all names refer to the old text, and all statements hold at once:
//!
//! ```text
//! The line with NAME now reads:                                    + quoted lines
//! The line with NAME no longer applies.
//! The lines from the one with NAME to the one with NAME no longer apply.
//! After the line with NAME, this is added:                         + quoted lines
//! Before the line with NAME, this is added:                        + quoted lines
//! Between the line with NAME and the line with NAME, this now stands:  + quoted lines
//! Behind the line with NAME, to the end, this now stands:          + quoted lines
//! Before the line with NAME, from the start, this now stands:      + quoted lines
//! ```
//!
//! A quoted line starts with `> ` (an empty one is `>`), no other line does. NAME is `"text"`, and ` under "heading"` for
//! each heading of its path, see `page.rs`. The separators before a passage stay before what takes its place; what is
//! added after a line brings those before it, what is added before a line those behind it; where a passage goes, the
//! longest of the separators around it stays, of equal ones the first, and at the top those that stood there.

use std::ops::Range;

use super::page::{Name, Page};

/// One statement about the old page.
pub(super) struct Change<'a> {
    /// The old lines that it takes away or stands at.
    pub lines: Range<usize>,
    pub how: How,
    /// What is quoted: lines and separators.
    pub new: Vec<&'a str>,
}

/// What a statement says of its lines.
pub(super) enum How {
    /// One line has a new text, and maybe more lines behind it.
    Reads(Name),
    /// One line is no more, or all from one to another.
    Gone(Name, Option<Name>),
    /// Lines are new behind a line.
    After(Name),
    /// Lines are new before a line.
    Before(Name),
    /// The passage between two lines was written anew; at an end of the text there is no line.
    Between(Option<Name>, Option<Name>),
}

impl Change<'_> {
    /// The statement and what it quotes.
    pub fn text(&self) -> String {
        let statement = match &self.how {
            How::Reads(name) => format!("The line with {name} now reads:"),
            How::Gone(name, None) => format!("The line with {name} no longer applies."),
            How::Gone(from, Some(to)) => {
                format!("The lines from the one with {from} to the one with {to} no longer apply.")
            }
            How::After(name) => format!("After the line with {name}, this is added:"),
            How::Before(name) => format!("Before the line with {name}, this is added:"),
            How::Between(Some(from), Some(to)) => {
                format!("Between the line with {from} and the line with {to}, this now stands:")
            }
            How::Between(Some(from), None) => {
                format!("Behind the line with {from}, to the end, this now stands:")
            }
            How::Between(None, Some(to)) => {
                format!("Before the line with {to}, from the start, this now stands:")
            }
            How::Between(None, None) => "This now stands:".to_owned(),
        };
        let quoted = self.new.iter().map(|line| {
            if line.is_empty() {
                "\n>".into()
            } else {
                format!("\n> {line}")
            }
        });
        statement + &quoted.collect::<String>()
    }
}

/// The lines, separators included, of the old page with the changes made.
pub(super) fn applied<'a>(old: &'a Page<'a>, changes: &'a [Change<'a>]) -> Vec<&'a str> {
    let mut page = Rewrite {
        top: old.lines.first().map_or(&[], |line| &line.gap),
        carried: &[],
        out: Vec::new(),
    };
    let mut changes = changes.iter().peekable();
    let mut at = 0;
    loop {
        let line = old.lines.get(at);
        let gap = line.map_or(&[] as &[&str], |line| &line.gap);
        let Some(change) = changes.next_if(|change| change.lines.start == at) else {
            let Some(line) = line else { return page.out };
            page.passage(gap, &[line.text]);
            at += 1;
            continue;
        };
        match change.how {
            How::After(_) => page.out.extend(&change.new),
            How::Gone(..) => old.lines[change.lines.clone()]
                .iter()
                .for_each(|line| page.carry(&line.gap)),
            How::Reads(_) | How::Between(..) => page.passage(gap, &change.new),
            How::Before(_) => {
                page.passage(gap, &change.new);
                page.out.extend(line.map(|line| line.text));
            }
        }
        at = change.lines.end;
    }
}

/// A page as it is written anew.
struct Rewrite<'a> {
    /// The separators in front of everything.
    top: &'a [&'a str],
    /// The longest separators around the passages that went since the last line.
    carried: &'a [&'a str],
    out: Vec<&'a str>,
}

impl<'a> Rewrite<'a> {
    fn passage(&mut self, gap: &'a [&'a str], lines: &[&'a str]) {
        self.carry(gap);
        self.out.extend(if self.out.is_empty() {
            self.top
        } else {
            self.carried
        });
        self.out.extend(lines);
        self.carried = &[];
    }

    fn carry(&mut self, gap: &'a [&'a str]) {
        if gap.len() > self.carried.len() {
            self.carried = gap;
        }
    }
}
