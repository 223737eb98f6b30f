//! Where two texts differ: the one span in each that holds every difference, cut at whole tokens.

use std::ops::Range;

use super::derive::{Sameness, is_blank, normal, same_prompt};
use super::token::{Token, tokens};

/// A byte range in an old text and the range that took its place in the new one. Either may be empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// Bytes of the old text.
    pub old: Range<usize>,
    /// Bytes of the new text.
    pub new: Range<usize>,
}

/// The span outside of which two texts are equal; `None` if all of them is. It is the shortest one that cuts no
/// token, so a clock that ticked is covered whole.
pub fn changed_span(old: &str, new: &str) -> Option<Span> {
    if old == new {
        return None;
    }
    let (old_tokens, new_tokens) = (tokens(old), tokens(new));
    let mut start = common_start(old, new);
    while let Some(earlier) = cut(&old_tokens, start)
        .or_else(|| cut(&new_tokens, start))
        .map(|token| token.start)
    {
        start = earlier;
    }
    let mut end = common_end(&old[start..], &new[start..]);
    loop {
        let (old_end, new_end) = (old.len() - end, new.len() - end);
        let short = |token: Range<usize>, at: usize| token.end - at;
        let old_cut = cut(&old_tokens, old_end).map(|token| short(token, old_end));
        let Some(more) = old_cut.or_else(|| cut(&new_tokens, new_end).map(|token| short(token, new_end)))
        else {
            return Some(Span {
                old: start..old_end,
                new: start..new_end,
            });
        };
        end -= more;
    }
}

/// The first block that differs in more than white space, and where. The index counts all blocks of `new`, or of
/// `old` for a block that only `old` has; a block that one side lacks is an empty range there.
pub fn first_change(old: &[String], new: &[String]) -> Option<(usize, Span)> {
    if same_prompt(old, new) != Sameness::Different {
        return None;
    }
    let (mut old, mut new) = (full_blocks(old), full_blocks(new));
    loop {
        return match (old.next(), new.next()) {
            (Some((_, a)), Some((_, b))) if normal(a) == normal(b) => continue,
            (Some((_, a)), Some((index, b))) => changed_span(a, b).map(|span| (index, span)),
            (Some((index, a)), None) => Some((
                index,
                Span {
                    old: 0..a.len(),
                    new: 0..0,
                },
            )),
            (None, Some((index, b))) => Some((
                index,
                Span {
                    old: 0..0,
                    new: 0..b.len(),
                },
            )),
            (None, None) => None,
        };
    }
}

/// The blocks that hold more than white space, with their places.
pub(super) fn full_blocks(blocks: &[String]) -> impl Iterator<Item = (usize, &String)> {
    blocks.iter().enumerate().filter(|(_, block)| !is_blank(block))
}

/// Bytes that both texts start with, to a character boundary.
fn common_start(a: &str, b: &str) -> usize {
    let same = a.char_indices().zip(b.chars()).find(|((_, a), b)| a != b);
    same.map_or(a.len().min(b.len()), |((at, _), _)| at)
}

/// Bytes that both texts end with, to a character boundary.
fn common_end(a: &str, b: &str) -> usize {
    let same = a.chars().rev().zip(b.chars().rev()).take_while(|(a, b)| a == b);
    same.map(|(c, _)| c.len_utf8()).sum()
}

/// The token that `at` lies inside of.
fn cut(tokens: &[Token], at: usize) -> Option<Range<usize>> {
    let next = tokens.partition_point(|token| token.range.end <= at);
    tokens
        .get(next)
        .map(|token| token.range.clone())
        .filter(|range| range.start < at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts<'a>(old: &'a str, new: &'a str) -> Option<(&'a str, &'a str)> {
        changed_span(old, new).map(|span| (&old[span.old], &new[span.new]))
    }

    #[test]
    fn spans_are_short_and_whole() {
        let table = [
            ("same", "same", None),
            (
                "at 10:00:01 UTC.",
                "at 10:00:02 UTC.",
                Some(("10:00:01 UTC", "10:00:02 UTC")),
            ),
            ("10:00", "10:00:05", Some(("10:00", "10:00:05"))),
            (
                "on 2026-11-30!",
                "on 2026-12-01!",
                Some(("2026-11-30", "2026-12-01")),
            ),
            ("a word", "a words", Some(("word", "words"))),
            ("a", "a b", Some(("", " b"))),
            ("a b c", "a c", Some(("b ", ""))),
            ("aa", "aaa", Some(("aa", "aaa"))),
            ("- [ ] x", "- [x] x", Some((" ", "x"))),
            ("prüfen", "prägen", Some(("prüfen", "prägen"))),
            ("日 x", "月 x", Some(("日", "月"))),
            ("", "a", Some(("", "a"))),
            ("one 1 two", "one 2 two three", Some(("1 two", "2 two three"))),
        ];
        for (old, new, want) in table {
            assert_eq!(parts(old, new), want, "{old:?} {new:?}");
        }
    }

    #[test]
    fn the_first_block_that_differs() {
        let list = |blocks: &[&str]| -> Vec<String> { blocks.iter().map(|b| (*b).to_owned()).collect() };
        let at = |old: &[&str], new: &[&str]| {
            first_change(&list(old), &list(new)).map(|(block, s)| (block, s.old, s.new))
        };
        assert_eq!(at(&["a", "b"], &["a\n", "c"]), Some((1, 0..1, 0..1)));
        assert_eq!(at(&["a"], &["a", "", "new"]), Some((2, 0..0, 0..3)));
        assert_eq!(at(&["a", "old"], &["a"]), Some((1, 0..3, 0..0)));
        assert_eq!(at(&["a", " "], &["a\r\n"]), None);
    }
}
