//! Finds the statements (see `change.rs`) that tell how a prompt changed. Each names a passage by what stayed of it, and
//! none repeats an old value: quoting that makes small models answer with it.
//!
//! Every delta is applied to the old text as a reader would before it is handed out. Where that does not give the new
//! text (lines without a name, lines moved, separators alone changed), there is no delta.

use std::collections::HashSet;
use std::ops::Range;

use similar::{Algorithm, DiffTag, capture_diff_slices};

use super::change::{Change, How, applied};
use super::page::{Name, Page, first_words, label};
use super::span::changed_span;

/// The statements that turn `old` into `new`, paragraphs without a newline at the end; `None` where names do not do.
/// Neither text has white space at line ends.
pub(super) fn delta(old: &str, new: &str) -> Option<String> {
    let (old_page, new_page) = (Page::of(old), Page::of(new));
    let hunks = hunks(&old_page, &new_page);
    if hunks.is_empty() || hunks.len() > MAX_HUNKS || moves_lines(&old_page, &new_page, &hunks) {
        return None;
    }
    let mut writer = Writer {
        old: &old_page,
        new: &new_page,
        changes: Vec::new(),
    };
    for (old, new) in hunks {
        writer.hunk(old, new)?;
    }
    let changes = writer.changes;
    applied(&old_page, &changes)
        .into_iter()
        .eq(new.split('\n'))
        .then(|| changes.iter().map(Change::text).collect::<Vec<_>>().join("\n\n"))
}

/// Finds the statements for each hunk. A method returns `None` if a line that it needs cannot be named.
struct Writer<'a> {
    old: &'a Page<'a>,
    new: &'a Page<'a>,
    changes: Vec<Change<'a>>,
}

impl<'a> Writer<'a> {
    fn hunk(&mut self, old: Range<usize>, new: Range<usize>) -> Option<()> {
        if old.is_empty() {
            return self.added(old.start, new);
        }
        if new.is_empty() {
            return self.gone(old);
        }
        let pairs = self.pairs(&old, &new);
        let first = pairs.first().map(|(_, at, _)| *at);
        match first {
            None => return self.rewritten(old, new),
            Some(first) if first == new.start => {}
            // What is new before the first pair has no line to stand behind.
            Some(_) if old.start == 0 => return self.rewritten(old, new),
            Some(first) => self.push_after(old.start - 1, new.start..first)?,
        }
        let mut done = old.start;
        let ends: Vec<usize> = pairs
            .iter()
            .skip(1)
            .map(|(_, at, _)| *at)
            .chain([new.end])
            .collect();
        for ((line, at, name), end) in pairs.into_iter().zip(ends) {
            self.gone(done..line)?;
            let quoted = self.quoted(at..end, false);
            self.changes.push(Change {
                lines: line..line + 1,
                how: How::Reads(name),
                new: quoted,
            });
            done = line + 1;
        }
        self.gone(done..old.end)
    }

    /// Old lines and the new ones that took their places, in order, each with a name of what stayed.
    fn pairs(&self, old: &Range<usize>, new: &Range<usize>) -> Vec<(usize, usize, Name)> {
        let (mut pairs, mut next) = (Vec::new(), new.start);
        if old.len() * new.len() > MAX_PAIRINGS {
            return pairs;
        }
        for line in old.clone() {
            let named = (next..new.end).find_map(|at| self.stable_name(line, at).map(|name| (at, name)));
            if let Some((at, name)) = named {
                pairs.push((line, at, name));
                next = at + 1;
            }
        }
        pairs
    }

    /// The name of an old line by what is left of it in a new one: its label or first words, else its last words.
    fn stable_name(&self, line: usize, at: usize) -> Option<Name> {
        let (old, new) = (self.old.lines[line].text, self.new.lines[at].text);
        let span = changed_span(old, new)?;
        let start = old[..span.old.start].trim();
        let end = old[span.old.end..].trim_matches(|c: char| !c.is_alphanumeric());
        let end = if end.len() > LONG_PIECE {
            last_words(end, 6)
        } else {
            end
        };
        let short = if start.len() > LONG_PIECE {
            first_words(start, 6)
        } else {
            start
        };
        self.old
            .name(line, &[label(start).unwrap_or_default(), short, end, start])
    }

    /// New lines before the old line `at`. The side is taken that leaves the separators of the other lines alone.
    fn added(&mut self, at: usize, new: Range<usize>) -> Option<()> {
        let next = self.old.lines.get(at).map(|line| &line.gap);
        let next_now = self.new.lines.get(new.end).map(|line| &line.gap);
        if at > 0 && next == next_now && self.push_after(at - 1, new.clone()).is_some() {
            return Some(());
        }
        self.push_before(at, new)
    }

    /// Old lines in which nothing stayed: told by their neighbours, so that no old word is repeated.
    fn rewritten(&mut self, old: Range<usize>, new: Range<usize>) -> Option<()> {
        let end = old.end;
        let before = self.neighbour(old.start.checked_sub(1));
        let after = self.neighbour(Some(end).filter(|line| *line < self.old.lines.len()));
        match (before, after) {
            (Some(None), Some(None)) => None,
            (Some(from), Some(to)) => {
                let quoted = self.quoted(new, false);
                self.changes.push(Change {
                    lines: old,
                    how: How::Between(from, to),
                    new: quoted,
                });
                Some(())
            }
            (Some(Some(_)), None) => {
                self.push_after(old.start - 1, new)?;
                self.gone(old)
            }
            _ => {
                self.gone(old)?;
                self.push_before(end, new)
            }
        }
    }

    /// The name of the line next to a passage, or that there is no such line; `None` if it has no name.
    fn neighbour(&self, line: Option<usize>) -> Option<Option<Name>> {
        match line {
            Some(line) => self.old.own_name(line).map(Some),
            None => Some(None),
        }
    }

    fn gone(&mut self, lines: Range<usize>) -> Option<()> {
        if lines.is_empty() {
            return Some(());
        }
        let first = self.old.own_name(lines.start)?;
        let last = if lines.len() > 1 {
            Some(self.old.own_name(lines.end - 1)?)
        } else {
            None
        };
        self.changes.push(Change {
            lines,
            how: How::Gone(first, last),
            new: Vec::new(),
        });
        Some(())
    }

    fn push_after(&mut self, line: usize, new: Range<usize>) -> Option<()> {
        let how = How::After(self.old.own_name(line)?);
        self.changes.push(Change {
            lines: line + 1..line + 1,
            how,
            new: self.quoted(new, true),
        });
        Some(())
    }

    fn push_before(&mut self, line: usize, new: Range<usize>) -> Option<()> {
        let behind = self.new.lines.get(new.end)?.gap.iter().copied();
        let quoted = self
            .quoted(new.clone(), false)
            .into_iter()
            .chain(behind)
            .collect();
        let name = self.old.lines.get(line).and_then(|_| self.old.own_name(line))?;
        self.changes.push(Change {
            lines: line..line + 1,
            how: How::Before(name),
            new: quoted,
        });
        Some(())
    }

    /// New lines with the separators between them, and those in front if `whole`.
    fn quoted(&self, new: Range<usize>, whole: bool) -> Vec<&'a str> {
        let start = new.start;
        let mut quoted = Vec::new();
        for at in new {
            if at > start || whole {
                quoted.extend(&self.new.lines[at].gap);
            }
            quoted.push(self.new.lines[at].text);
        }
        quoted
    }
}

/// Old and new lines that differ, each pair of ranges between two lines that stay.
type Hunk = (Range<usize>, Range<usize>);

fn hunks(old: &Page<'_>, new: &Page<'_>) -> Vec<Hunk> {
    let mut hunks: Vec<Hunk> = Vec::new();
    for op in capture_diff_slices(Algorithm::Myers, &texts(old), &texts(new)) {
        let (tag, old, new) = op.as_tag_tuple();
        match hunks.last_mut() {
            _ if tag == DiffTag::Equal => {}
            Some(last) if last.0.end == old.start && last.1.end == new.start => {
                (last.0.end, last.1.end) = (old.end, new.end)
            }
            _ => hunks.push((old, new)),
        }
    }
    hunks
}

fn texts<'a>(page: &Page<'a>) -> Vec<&'a str> {
    page.lines.iter().map(|line| line.text).collect()
}

/// Whether a line that went came back somewhere else: names cannot tell such a move.
fn moves_lines(old: &Page<'_>, new: &Page<'_>, hunks: &[Hunk]) -> bool {
    let gone: HashSet<&str> = hunks
        .iter()
        .flat_map(|(lines, _)| &old.lines[lines.clone()])
        .map(|line| line.text)
        .collect();
    let mut come = hunks.iter().flat_map(|(_, lines)| &new.lines[lines.clone()]);
    come.any(|line| gone.contains(line.text))
}

/// The end of a text with at most so many words.
fn last_words(text: &str, words: usize) -> &str {
    let starts = text
        .char_indices()
        .rev()
        .filter(|(_, c)| c.is_whitespace())
        .map(|(at, c)| at + c.len_utf8());
    starts.take(words).last().map_or(text, |at| &text[at..])
}

/// Passages that differ, at most: with more, the whole text is shorter to read.
const MAX_HUNKS: usize = 64;

/// Old times new lines of one passage among which pairs are looked for, at most.
const MAX_PAIRINGS: usize = 1024;

/// What stayed of a line is cut to its outer words from this length on, in bytes.
const LONG_PIECE: usize = 60;

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &str = "You are a coding agent.\nCurrent date: 2026-11-30\n\n## Tasks\n- [ ] 1 add flag\n- [ ] 2 write docs\n\n\
                       ## Rules\n- run the tests\n\n---\n\nPlan mode is on.\nDo not edit.";

    fn told(edit: &[(&str, &str)]) -> Option<String> {
        let new = edit
            .iter()
            .fold(OLD.to_owned(), |text, (from, to)| text.replace(from, to));
        delta(OLD, &new)
    }

    #[test]
    fn statements() {
        let table: [(&[(&str, &str)], &str); 8] = [
            (
                &[("11-30", "12-01")],
                "The line with \"Current date:\" now reads:\n> Current date: 2026-12-01",
            ),
            (
                &[("[ ] 1", "[x] 1")],
                "The line with \"1 add flag\" now reads:\n> - [x] 1 add flag",
            ),
            (
                &[("\n- [ ] 2 write docs", "")],
                "The line with \"- [ ] 2 write docs\" no longer applies.",
            ),
            (
                &[("docs", "docs\n- [ ] 3 ship")],
                "After the line with \"- [ ] 2 write docs\", this is added:\n> - [ ] 3 ship",
            ),
            (
                &[("\n\n---\n\nPlan mode is on.\nDo not edit.", "")],
                "The lines from the one with \"Plan mode is\" to the one with \"Do not edit.\" no longer apply.",
            ),
            (
                &[("- run the tests", "* ask first\n* then act")],
                "Between the line with \"## Rules\" and the line with \"Plan mode is\", this now stands:\n\
                 > * ask first\n> * then act",
            ),
            (
                &[("You are", "Intro.\n\nYou are")],
                "Before the line with \"You are a\", this is added:\n> Intro.\n>",
            ),
            (
                &[("11-30", "12-01"), ("\nDo not edit.", "")],
                "The line with \"Current date:\" now reads:\n> Current date: 2026-12-01\n\n\
                 The line with \"Do not edit.\" no longer applies.",
            ),
        ];
        for (edit, want) in table {
            assert_eq!(told(edit).as_deref(), Some(want), "{edit:?}");
        }
    }

    #[test]
    fn what_names_cannot_tell() {
        assert_eq!(delta("a 1\nb 2", "b 2\na 1"), None, "a move");
        assert_eq!(delta("a 1\nb 2", "a 1\n\nb 2"), None, "separators alone");
        assert_eq!(delta("same 1\nsame 1", "same 1\nsame 2"), None, "no name");
        assert_eq!(delta("old", "new"), None, "nothing stayed");
        assert_eq!(delta("same", "same"), None, "no change");
    }
}
