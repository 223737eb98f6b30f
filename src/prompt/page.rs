//! A prompt as a reader sees it: lines that hold text, the separators between them, headings and their sections;
//! and names, the short texts by which exactly one line is found.
//!
//! A separator is an empty line or a rule (`---`). A heading is one to six `#` and a space, outside of fenced code. Its
//! section ends before the next heading of its level or a higher one, or at a rule.

use std::fmt;
use std::ops::Range;

/// A text, cut into lines. The text has no white space at line ends.
pub(super) struct Page<'a> {
    text: &'a str,
    pub lines: Vec<Line<'a>>,
}

/// A line that holds text.
pub(super) struct Line<'a> {
    pub text: &'a str,
    /// The separators right before it.
    pub gap: Vec<&'a str>,
    /// The level of a heading.
    level: Option<usize>,
    start: usize,
}

/// What finds one line of a page: a text that occurs once on it, or once in the section that `under` leads to.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Name {
    text: String,
    /// Headings from the nearest to the one that occurs once on the page.
    under: Vec<String>,
}

impl<'a> Page<'a> {
    /// The lines of a text.
    pub fn of(text: &'a str) -> Self {
        let (mut lines, mut gap, mut start, mut fenced) = (Vec::new(), Vec::new(), 0, false);
        for text in text.split('\n') {
            if is_separator(text) {
                gap.push(text);
            } else {
                let fence = text.trim_start().starts_with("```") || text.trim_start().starts_with("~~~");
                fenced ^= fence;
                let level = if fenced || fence {
                    None
                } else {
                    heading_level(text)
                };
                lines.push(Line {
                    text,
                    gap: std::mem::take(&mut gap),
                    level,
                    start,
                });
            }
            start += text.len() + 1;
        }
        Self { text, lines }
    }

    /// The first of the `candidates`, all parts of the line, that names it; with its heading path if none does without.
    pub fn name(&self, line: usize, candidates: &[&str]) -> Option<Name> {
        let fit = || candidates.iter().copied().filter(|text| is_fit(text));
        if let Some(text) = fit().find(|text| occurs_once(self.text, text)) {
            return Some(Name {
                text: text.to_owned(),
                under: Vec::new(),
            });
        }
        let headings = self.headings_of(line);
        let section = self.text_of(self.section(*headings.first()?));
        let text = fit().find(|text| occurs_once(section, text))?.to_owned();
        Some(Name {
            text,
            under: self.path(&headings)?,
        })
    }

    /// The name of a line by its own text: its label, the words that it starts with, or all of it.
    pub fn own_name(&self, line: usize) -> Option<Name> {
        let Line { text, level, .. } = &self.lines[line];
        let text = text.trim_start();
        if level.is_some() {
            return self.name(line, &[text]);
        }
        let label = label(text).unwrap_or_default();
        self.name(line, &[label, first_words(text, 3), first_words(text, 6), text])
    }

    /// The headings that a line stands under, from the nearest.
    fn headings_of(&self, line: usize) -> Vec<usize> {
        let mut headings = Vec::new();
        let mut below = self.lines[line].level.unwrap_or(usize::MAX);
        for at in (0..line).rev() {
            if self.starts_part(at + 1) {
                break;
            }
            if let Some(level) = self.lines[at].level.filter(|level| *level < below) {
                headings.push(at);
                below = level;
            }
        }
        headings
    }

    fn section(&self, heading: usize) -> Range<usize> {
        let level = self.lines[heading].level;
        let ends =
            |at: &usize| self.starts_part(*at) || self.lines[*at].level.is_some_and(|l| Some(l) <= level);
        heading
            ..(heading + 1..self.lines.len())
                .find(ends)
                .unwrap_or(self.lines.len())
    }

    /// The shortest path of headings, from the nearest, that leads to one section only.
    fn path(&self, headings: &[usize]) -> Option<Vec<String>> {
        let only = |heading: usize, within: Range<usize>| {
            let text = self.lines[heading].text;
            let same = |line: &&Line| line.level.is_some() && line.text == text;
            is_fit(text) && self.lines[within].iter().filter(same).count() == 1
        };
        let top = headings
            .iter()
            .position(|heading| only(*heading, 0..self.lines.len()))?;
        let nested = headings[..=top]
            .windows(2)
            .all(|pair| only(pair[0], self.section(pair[1])));
        nested.then(|| {
            headings[..=top]
                .iter()
                .map(|heading| self.lines[*heading].text.to_owned())
                .collect()
        })
    }

    fn starts_part(&self, line: usize) -> bool {
        self.lines[line].gap.contains(&RULE)
    }

    fn text_of(&self, lines: Range<usize>) -> &'a str {
        let end = self
            .lines
            .get(lines.end)
            .map_or(self.text.len(), |line| line.start);
        &self.text[self.lines[lines.start].start..end]
    }
}

/// `"text"`, then ` under "heading"` for each heading of the path.
impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.text)?;
        self.under
            .iter()
            .try_for_each(|heading| write!(f, " under \"{heading}\""))
    }
}

/// The start of a line up to its first colon or equals sign, that included.
pub(super) fn label(line: &str) -> Option<&str> {
    line.find([':', '=']).map(|at| &line[..=at])
}

/// The start of a line with at most so many words.
pub(super) fn first_words(line: &str, words: usize) -> &str {
    let ends = line
        .char_indices()
        .filter(|(at, c)| c.is_whitespace() && !line[..*at].ends_with(char::is_whitespace));
    let end = ends.map(|(at, _)| at).filter(|at| *at > 0).nth(words - 1);
    &line[..end.unwrap_or(line.len())]
}

/// The longest text that may serve as a name, in bytes.
const MAX_NAME: usize = 120;

/// What parts the blocks of a prompt, and the parts of a text.
const RULE: &str = "---";

fn is_separator(line: &str) -> bool {
    line.is_empty() || line == RULE
}

fn heading_level(line: &str) -> Option<usize> {
    let level = line.bytes().take_while(|byte| *byte == b'#').count();
    ((1..=6).contains(&level) && line[level..].starts_with(' ')).then_some(level)
}

/// Whether a text can stand between quotes as a name and say something: the closing quote must be the first that a
/// space or a comma follows.
fn is_fit(text: &str) -> bool {
    let quotable = !text.contains("\" ") && !text.contains("\",") && text.trim() == text;
    (2..=MAX_NAME).contains(&text.len()) && quotable && text.contains(char::is_alphanumeric)
}

fn occurs_once(text: &str, part: &str) -> bool {
    let Some(first) = text.find(part) else {
        return false;
    };
    let next = first + part.chars().next().map_or(1, char::len_utf8);
    !text[next..].contains(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str =
        "Date: 1\n\n# Go\n\n## Rules\n- test\n- lint it\n\n# Rust\n\n## Rules\n- test\n\n---\n\nmode on";

    fn own(text: &str, line: usize) -> Option<String> {
        Page::of(text).own_name(line).map(|name| name.to_string())
    }

    #[test]
    fn a_name_occurs_once_or_has_a_path() {
        assert_eq!(own(TEXT, 0).as_deref(), Some(r#""Date:""#));
        assert_eq!(own(TEXT, 1).as_deref(), Some(r##""# Go""##));
        assert_eq!(own(TEXT, 2).as_deref(), Some(r###""## Rules" under "# Go""###));
        assert_eq!(
            own(TEXT, 3).as_deref(),
            Some(r###""- test" under "## Rules" under "# Go""###)
        );
        assert_eq!(
            own(TEXT, 7).as_deref(),
            Some(r###""- test" under "## Rules" under "# Rust""###)
        );
        assert_eq!(own(TEXT, 8).as_deref(), Some(r#""mode on""#));
    }

    #[test]
    fn what_cannot_be_told_apart_has_no_name() {
        assert_eq!(own("same\nsame", 1), None);
        assert_eq!(own("# A\nx1\n# A\nx1", 1), None);
        assert_eq!(own("aaa\nb", 1), None);
        assert_eq!(own("say \"a\" under \"b\"", 0).as_deref(), None);
        assert_eq!(own("aaa", 0).as_deref(), Some("\"aaa\""));
        assert_eq!(own("aa aaa", 0).as_deref(), Some("\"aa aaa\""));
    }

    #[test]
    fn code_has_no_headings_and_rules_end_sections() {
        let page = Page::of("# A\n```\n# not\n```\nx\n---\ny");
        assert_eq!(page.section(0), 0..5);
        assert_eq!(page.headings_of(4), [0]);
        assert_eq!(page.headings_of(5), [] as [usize; 0]);
        assert_eq!(page.lines[2].level, None);
    }
}
