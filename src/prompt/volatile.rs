//! Changes that say nothing new: a clock that ticked, a date that turned, an identifier drawn afresh.
//!
//! A change counts only if *every* difference is of a known kind; one changed word makes it an edit. What a token is
//! depends on both texts: a nonce may happen to be all digits in one of them.

use super::derive::normal;
use super::span::{Span, full_blocks};
use super::token::{Kind, Token, tokens};

/// The kind of a volatile span.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum VolatileKind {
    /// A clock time.
    Time,
    /// A date, a weekday or a month.
    Date,
    /// A UUID.
    Uuid,
    /// A decimal number, with or without a short unit.
    Counter,
    /// A random-looking token.
    Nonce,
}

/// The kind and span of the first difference, if all differences are of known kinds; `None` also if there is none.
/// White space at line ends does not count.
pub fn volatile_kind(old: &str, new: &str) -> Option<(VolatileKind, Span)> {
    let (old, new) = (old.trim_end(), new.trim_end());
    let (old_tokens, new_tokens) = (tokens(old), tokens(new));
    if old_tokens.len() != new_tokens.len() {
        return None;
    }
    let mut first = None;
    for (a, b) in old_tokens.iter().zip(&new_tokens) {
        let (old_text, new_text) = (&old[a.range.clone()], &new[b.range.clone()]);
        if old_text == new_text
            || (a.kind == Kind::Space && b.kind == Kind::Space && same_space(old_text, new_text))
        {
            continue;
        }
        let dotted = old[..a.range.start].ends_with('.');
        let kind = kind_of_change(a, old_text, b, new_text, dotted)?;
        first.get_or_insert((
            kind,
            Span {
                old: a.range.clone(),
                new: b.range.clone(),
            },
        ));
    }
    first
}

/// As [`volatile_kind()`] over all blocks, with the index in `new` of the first that differs.
pub fn volatile_change(old: &[String], new: &[String]) -> Option<(usize, VolatileKind, Span)> {
    if full_blocks(old).count() != full_blocks(new).count() {
        return None;
    }
    let mut first = None;
    for ((_, a), (index, b)) in full_blocks(old).zip(full_blocks(new)) {
        if normal(a) != normal(b) {
            let (kind, span) = volatile_kind(a, b)?;
            first.get_or_insert((index, kind, span));
        }
    }
    first
}

pub(super) fn kind_of_change(
    a: &Token,
    old: &str,
    b: &Token,
    new: &str,
    dotted: bool,
) -> Option<VolatileKind> {
    match (a.kind, b.kind) {
        (Kind::Time, Kind::Time) => Some(VolatileKind::Time),
        (Kind::Date, Kind::Date) => Some(VolatileKind::Date),
        (Kind::Uuid, Kind::Uuid) => Some(VolatileKind::Uuid),
        (Kind::Number, Kind::Number) => Some(VolatileKind::Counter),
        (Kind::Word | Kind::Number, Kind::Word | Kind::Number) if same_unit(old, new) => {
            Some(VolatileKind::Counter)
        }
        (Kind::Word | Kind::Number, Kind::Word | Kind::Number) if is_nonce(old, new, dotted) => {
            Some(VolatileKind::Nonce)
        }
        _ => None,
    }
}

/// `12ms` and `9ms`: a number and one to three letters that stay.
fn same_unit(old: &str, new: &str) -> bool {
    let unit = |text: &'_ str| -> Option<String> {
        let unit = text.trim_start_matches(|c: char| c.is_ascii_digit());
        let is_unit = unit.len() < text.len() && (1..=3).contains(&unit.len());
        (is_unit && unit.bytes().all(|byte| byte.is_ascii_alphabetic())).then(|| unit.to_owned())
    };
    unit(old).is_some() && unit(old) == unit(new)
}

/// Hexadecimal of five and more digits (three behind a dot, where versions carry a build), or eight and more letters
/// and digits that change places often. Both sides must be as long, and a letter and a digit must be in them: words
/// and plain numbers are none, nor are names like `sha256`.
fn is_nonce(old: &str, new: &str, dotted: bool) -> bool {
    let both = [old, new];
    let digits = |text: &str| text.bytes().filter(u8::is_ascii_digit).count();
    let letters = |text: &str| text.bytes().filter(u8::is_ascii_alphabetic).count();
    let mixed = both.iter().any(|text| digits(text) > 0) && both.iter().any(|text| letters(text) > 0);
    let hex = both
        .iter()
        .all(|text| text.bytes().all(|byte| byte.is_ascii_hexdigit()));
    let random = both
        .iter()
        .all(|text| text.is_ascii() && digits(text) >= 3 && turns(text) >= 3);
    let least = if hex && dotted {
        3
    } else if hex {
        5
    } else {
        8
    };
    old.len() == new.len() && old.len() >= least && mixed && (hex || random)
}

/// How often a letter follows a digit or a digit a letter.
fn turns(text: &str) -> usize {
    text.as_bytes()
        .windows(2)
        .filter(|pair| pair[0].is_ascii_digit() != pair[1].is_ascii_digit())
        .count()
}

/// Whether two runs of white space differ at line ends only.
fn same_space(old: &str, new: &str) -> bool {
    let lines = |text: &str| text.matches('\n').count();
    let indent = |text: &'_ str| text.rfind('\n').map(|at| text[at..].to_owned());
    lines(old) == lines(new) && indent(old).is_some() && indent(old) == indent(new)
}

#[cfg(test)]
mod tests {
    use super::VolatileKind::{Counter, Date, Nonce, Time, Uuid};
    use super::*;

    #[test]
    fn kinds_of_realistic_heads() {
        let table = [
            (
                "Be brief. Today is Monday, time 10:00:01.",
                "Be brief. Today is Monday, time 10:00:02.",
                Some(Time),
            ),
            (
                "now: Tuesday, March 3, 2026, 9:59 AM\n/repo",
                "now: Tuesday, March 3, 2026, 10:00 AM\n/repo",
                Some(Time),
            ),
            (
                "<date>2026-11-30</date> 23:59",
                "<date>2026-12-01</date> 00:01",
                Some(Date),
            ),
            (
                "Stamp 2026-11-30T10:00:01Z",
                "Stamp 2026-11-30T10:00:02Z",
                Some(Time),
            ),
            (
                "Stamp 2026-11-30T10:00:01Z",
                "Stamp 2026-12-01T10:00:02Z",
                Some(Date),
            ),
            ("Today is Monday", "Today is Wednesday", Some(Date)),
            (
                "id 123e4567-e89b-12d3-a456-426614174000;",
                "id 00000000-e89b-12d3-a456-426614174fff;",
                Some(Uuid),
            ),
            (
                "v=2.1.177.0a1; cch=1a2b3;",
                "v=2.1.177.0a1; cch=9f0e1;",
                Some(Nonce),
            ),
            (
                "v=2.1.177.fa6; cch=1a2b3;",
                "v=2.1.177.233; cch=90001;",
                Some(Nonce),
            ),
            ("request k3j9x2mq8", "request zz81p0a7b", Some(Nonce)),
            ("Turn 9 of 50", "Turn 10 of 50", Some(Counter)),
            ("Free: 12GB, 48%", "Free: 9GB, 51%", Some(Counter)),
            ("time 10:00:01  \r\nrest\n", "time 10:00:02\nrest", Some(Time)),
            ("- [ ] task", "- [x] task", None),
            ("search on", "search off", None),
            ("10:00 Plan mode", "10:01 Build mode", None),
            ("model gpt-4", "model gpt-5", None),
            ("use sha256", "use sha512", None),
            ("use python3", "use python4", None),
            ("a facade", "a decade", None),
            ("same 10:00", "same 10:00", None),
            ("  10:00", " 10:01", None),
            ("10:00", "10:01 and more", None),
            ("", "10:00", None),
        ];
        for (old, new, want) in table {
            assert_eq!(
                volatile_kind(old, new).map(|(kind, _)| kind),
                want,
                "{old:?} -> {new:?}"
            );
        }
    }

    #[test]
    fn the_span_is_that_of_the_first_change() {
        let (old, new) = ("é at 9:59 on Monday", "é at 10:00 on Tuesday");
        let (_, span) = volatile_kind(old, new).expect("volatile");
        assert_eq!((&old[span.old], &new[span.new]), ("9:59", "10:00"));
    }

    #[test]
    fn blocks_count_together() {
        let list = |blocks: &[&str]| -> Vec<String> { blocks.iter().map(|b| (*b).to_owned()).collect() };
        let kind = |old: &[&str], new: &[&str]| {
            volatile_change(&list(old), &list(new)).map(|(block, kind, _)| (block, kind))
        };
        assert_eq!(
            kind(&["a", "10:00", "x 1"], &["a ", "10:01", "x 2"]),
            Some((1, Time))
        );
        assert_eq!(kind(&["10:00", "on"], &["10:01", "off"]), None);
        assert_eq!(kind(&["10:00"], &["10:01", "more"]), None);
        assert_eq!(kind(&["a"], &["a\n"]), None);
    }
}
