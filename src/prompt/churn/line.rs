//! Two lines: whether they are one that changed, and where they differ.

use std::ops::Range;

use super::super::span::changed_span;
use super::super::token::{Kind, Token, tokens};
use super::super::volatile::kind_of_change;
use super::kind::{ChurnKind, of_text};

pub(super) type Difference = (ChurnKind, Range<usize>, Range<usize>, String);

/// The differences of two lines, each with the text in front of it, what moves in that text masked.
pub(super) fn differences(old: &str, new: &str) -> Vec<Difference> {
    let (a, b) = (tokens(old), tokens(new));
    let pairs = || a.iter().zip(&b);
    let kind = |(a, b): (&Token, &Token)| {
        let (was, is) = (&old[a.range.clone()], &new[b.range.clone()]);
        let dotted = old[..a.range.start].ends_with('.');
        kind_of_change(a, was, b, is, dotted).map(|kind| {
            let front = &new[..b.range.start];
            let git = of_text(front, [was, is]) == ChurnKind::Git && was.len().min(is.len()) >= 7;
            if git { ChurnKind::Git } else { kind.into() }
        })
    };
    let differs = |(a, b): &(&Token, &Token)| old[a.range.clone()] != new[b.range.clone()];
    let kinds: Option<Vec<ChurnKind>> = pairs().filter(differs).map(kind).collect();
    if let Some(kinds) = kinds.filter(|_| a.len() == b.len()) {
        let moved: Vec<Range<usize>> = pairs().filter(differs).map(|(_, b)| b.range.clone()).collect();
        let front = |b: &Token| masked(&new[..b.range.start], &moved);
        let found = pairs().filter(differs).zip(kinds);
        return found
            .map(|((a, b), kind)| (kind, a.range.clone(), b.range.clone(), front(b)))
            .collect();
    }
    let Some(span) = changed_span(old, new) else {
        return Vec::new();
    };
    let (wide_old, wide_new) = (word_around(old, &span.old), word_around(new, &span.new));
    let wide = of_text(
        &new[..wide_new.start],
        [&old[wide_old.clone()], &new[wide_new.clone()]],
    );
    let (before, after) = if wide == ChurnKind::Text {
        (span.old, span.new)
    } else {
        (wide_old, wide_new)
    };
    let front = masked(&new[..after.start], &[]);
    vec![(wide, before, after, front)]
}

/// A text without what moves by its nature, or moved.
pub(super) fn masked(text: &str, moved: &[Range<usize>]) -> String {
    let moves = |token: &Token| {
        let volatile = matches!(token.kind, Kind::Time | Kind::Date | Kind::Uuid | Kind::Number);
        volatile || moved.contains(&token.range)
    };
    let tokens = tokens(text);
    let parts = tokens.iter().map(|token| {
        if moves(token) {
            "\0"
        } else {
            &text[token.range.clone()]
        }
    });
    parts.collect()
}

/// The span with the words that it cuts, up to white space, quotes and tags.
fn word_around(text: &str, span: &Range<usize>) -> Range<usize> {
    let ends = |c: char| c.is_whitespace() || "\"'`<>(),;".contains(c);
    let start = text[..span.start]
        .rfind(ends)
        .map_or(0, |at| at + text[at..].chars().next().map_or(1, char::len_utf8));
    let end = text[span.end..].find(ends).map_or(text.len(), |at| span.end + at);
    start..end
}

/// Two lines may be one that changed: half of the longer one stands.
pub(super) fn likeness(old: &str, new: &str) -> bool {
    let [front, back] = common(old, new);
    (front + back) * 2 >= old.len().max(new.len())
}

/// Bytes that two texts start and end with; together no more than the shorter one.
pub(super) fn common(old: &str, new: &str) -> [usize; 2] {
    let front: usize = old
        .chars()
        .zip(new.chars())
        .take_while(|(a, b)| a == b)
        .map(|(c, _)| c.len_utf8())
        .sum();
    let (old, new) = (&old[front..], &new[front..]);
    let ends = old
        .chars()
        .rev()
        .zip(new.chars().rev())
        .take_while(|(a, b)| a == b);
    [front, ends.map(|(c, _)| c.len_utf8()).sum()]
}

/// How the lines of one list begin.
pub(super) fn bullet(line: &str) -> String {
    let indent = line.len() - line.trim_start().len();
    let sign = line
        .trim_start()
        .chars()
        .next()
        .filter(|c| "-*+#<•|".contains(*c) || c.is_ascii_digit());
    let sign = sign.map(|c| if c.is_ascii_digit() { '1' } else { c });
    // What opens something is not of the list below it.
    let opens = line.ends_with(':');
    format!("{indent}{sign:?}{opens}")
}
