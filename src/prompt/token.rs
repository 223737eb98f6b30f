//! Cuts text into tokens: words, numbers, clock times, dates and UUIDs, each whole; white space; single signs.
//!
//! Forms known: times `9:05`, `10:00:01.250`, `5 PM`, with `AM`/`PM`, `Z`, `UTC`, `GMT` or an offset; dates `2026-11-30`,
//! `30/11/2026`, `30.11.2026`, and in English words (`Mon`, `March 3, 2026`, `Tuesday, 3rd of March 2026`). An RFC 3339
//! stamp is a date, a `T` and a time. A number glued to a word by `-` or `.` is part of a name (`gpt-5`).

use std::ops::Range;

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// White space, as long as it goes.
    Space,
    /// One character that is neither white space nor part of a word.
    Sign,
    /// Letters and digits; a number that is part of a name.
    Word,
    /// Decimal digits alone.
    Number,
    /// A clock time, with its half of the day and its zone.
    Time,
    /// A date, or a part of one in words.
    Date,
    /// Eight, four, four, four and twelve hexadecimal digits.
    Uuid,
}

/// A token and its place in the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Token {
    pub kind: Kind,
    pub range: Range<usize>,
}

/// The tokens of a text; together they cover it without gaps.
pub(super) fn tokens(text: &str) -> Vec<Token> {
    let mut tokens: Vec<Token> = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let (kind, end) = next(text, at, &tokens);
        tokens.push(Token { kind, range: at..end });
        at = end;
    }
    tokens
}

fn next(text: &str, at: usize, before: &[Token]) -> (Kind, usize) {
    let bytes = text.as_bytes();
    if before.last().is_some_and(|t| t.kind == Kind::Date)
        && bytes[at] == b'T'
        && time(bytes, at + 1).is_some()
    {
        return (Kind::Sign, at + 1);
    }
    if let Some(end) = uuid(bytes, at) {
        return (Kind::Uuid, end);
    }
    if let Some(end) = numeric_date(bytes, at).or_else(|| worded_date(bytes, at)) {
        return (Kind::Date, end);
    }
    if let Some(end) = time(bytes, at) {
        return (Kind::Time, end);
    }
    let run = |of: fn(char) -> bool| at + text[at..].find(|c| !of(c)).unwrap_or(text.len() - at);
    let word = run(char::is_alphanumeric);
    if word > at {
        let number = bytes[at..word].iter().all(u8::is_ascii_digit) && !in_name(text, before);
        return (if number { Kind::Number } else { Kind::Word }, word);
    }
    let space = run(char::is_whitespace);
    if space > at {
        return (Kind::Space, space);
    }
    (
        Kind::Sign,
        at + text[at..].chars().next().map_or(1, char::len_utf8),
    )
}

fn in_name(text: &str, before: &[Token]) -> bool {
    let [.., word, sign] = before else {
        return false;
    };
    word.kind == Kind::Word && matches!(&text[sign.range.clone()], "-" | ".")
}

fn uuid(bytes: &[u8], at: usize) -> Option<usize> {
    let mut end = at;
    for (group, length) in [8, 4, 4, 4, 12].into_iter().enumerate() {
        if group > 0 {
            end = sign(bytes, end, b"-")?;
        }
        let digits = bytes.get(end..end + length)?;
        if !digits.iter().all(u8::is_ascii_hexdigit) {
            return None;
        }
        end += length;
    }
    ends_word(bytes, end)
}

/// `y-m-d`, or day and month in either order before the year, with one and the same sign between.
fn numeric_date(bytes: &[u8], at: usize) -> Option<usize> {
    let (first, end) = number(bytes, at, 4)?;
    let between = sign(bytes, end, b"-/.").map(|_| [bytes[end]])?;
    let (second, end) = number(bytes, end + 1, 2)?;
    let end = sign(bytes, end, &between)?;
    let (third, end) = number(bytes, end, 4)?;
    let year_first = is_year(first) && is_in(second, 12) && is_in(third, 31);
    let year_last = is_in(first, 31) && is_in(second, 31) && is_year(third);
    let stamp = bytes.get(end) == Some(&b'T') && time(bytes, end + 1).is_some();
    if !(year_first || year_last) {
        return None;
    }
    if stamp { Some(end) } else { ends_word(bytes, end) }
}

/// A weekday, a day and month with or without a year, or both.
fn worded_date(bytes: &[u8], at: usize) -> Option<usize> {
    let Some(end) = name(bytes, at, &WEEKDAYS) else {
        return day_and_month(bytes, at);
    };
    gap(bytes, end)
        .and_then(|next| day_and_month(bytes, next))
        .or(Some(end))
}

fn day_and_month(bytes: &[u8], at: usize) -> Option<usize> {
    let end = match name(bytes, at, &MONTHS) {
        Some(month) => gap(bytes, month)
            .and_then(|next| day(bytes, next))
            .unwrap_or(month),
        None => {
            let next = gap(bytes, day(bytes, at)?)?;
            let next = if bytes[next..].starts_with(b"of ") {
                next + 3
            } else {
                next
            };
            name(bytes, next, &MONTHS)?
        }
    };
    gap(bytes, end).and_then(|next| year(bytes, next)).or(Some(end))
}

fn day(bytes: &[u8], at: usize) -> Option<usize> {
    let (value, end) = number(bytes, at, 2)?;
    let suffix = [b"st", b"nd", b"rd", b"th"]
        .into_iter()
        .any(|suffix| bytes[end..].starts_with(suffix));
    let end = ends_word(bytes, if suffix { end + 2 } else { end })?;
    (is_in(value, 31) && bytes.get(end) != Some(&b':')).then_some(end)
}

fn year(bytes: &[u8], at: usize) -> Option<usize> {
    let (value, end) = number(bytes, at, 4)?;
    if is_year(value) {
        ends_word(bytes, end)
    } else {
        None
    }
}

/// What may stand between the parts of a date in words: up to two of space, comma, full stop and hyphen.
fn gap(bytes: &[u8], at: usize) -> Option<usize> {
    let length = bytes[at..]
        .iter()
        .take(2)
        .take_while(|byte| b" ,.-".contains(byte))
        .count();
    (length > 0).then_some(at + length)
}

fn name(bytes: &[u8], at: usize, names: &[&str]) -> Option<usize> {
    let length = bytes[at..]
        .iter()
        .take_while(|byte| byte.is_ascii_alphabetic())
        .count();
    let word = &bytes[at..at + length];
    let known = names
        .iter()
        .any(|name| name.as_bytes() == word || (length == 3 && name.as_bytes().starts_with(word)));
    if known {
        ends_word(bytes, at + length)
    } else {
        None
    }
}

fn time(bytes: &[u8], at: usize) -> Option<usize> {
    let (hour, end) = number(bytes, at, 2)?;
    if hour > 23 {
        return None;
    }
    let Some(minutes) = minutes(bytes, end) else {
        return half(bytes, end);
    };
    let end = match minutes_and_fraction(bytes, minutes) {
        Some(seconds) => seconds,
        None => minutes,
    };
    let end = half(bytes, end).unwrap_or(end);
    zone(bytes, end).or_else(|| ends_word(bytes, end))
}

fn minutes(bytes: &[u8], at: usize) -> Option<usize> {
    let (value, end) = number(bytes, sign(bytes, at, b":")?, 2)?;
    (value < 60 && end == at + 3).then_some(end)
}

fn minutes_and_fraction(bytes: &[u8], at: usize) -> Option<usize> {
    let end = minutes(bytes, at)?;
    Some(
        sign(bytes, end, b".,")
            .and_then(|next| number(bytes, next, 9))
            .map_or(end, |(_, end)| end),
    )
}

/// `AM` or `PM`; the space before it may be the narrow one that JavaScript puts there.
fn half(bytes: &[u8], at: usize) -> Option<usize> {
    let rest = &bytes[at..];
    let space = [" ".as_bytes(), "\u{202f}".as_bytes()]
        .into_iter()
        .find(|space| rest.starts_with(space));
    let at = at + space.map_or(0, <[u8]>::len);
    let known = |half: &&&[u8]| {
        bytes[at..].len() >= half.len() && bytes[at..at + half.len()].eq_ignore_ascii_case(half)
    };
    let halves: [&[u8]; 4] = [b"a.m.", b"p.m.", b"am", b"pm"];
    halves
        .iter()
        .find(known)
        .and_then(|half| ends_word(bytes, at + half.len()))
}

fn zone(bytes: &[u8], at: usize) -> Option<usize> {
    let next = sign(bytes, at, b" ").unwrap_or(at);
    if let Some(zone) = ["Z", "UTC", "GMT"]
        .iter()
        .find(|zone| bytes[next..].starts_with(zone.as_bytes()))
    {
        let end = next + zone.len();
        return offset(bytes, end).or_else(|| ends_word(bytes, end));
    }
    offset(bytes, next)
}

fn offset(bytes: &[u8], at: usize) -> Option<usize> {
    let at = sign(bytes, at, b"+-")?;
    let (hours, end) = number(bytes, at, 4)?;
    if let Some(end) = minutes(bytes, end) {
        return ends_word(bytes, end);
    }
    if hours <= 1400 && end == at + 4 {
        ends_word(bytes, end)
    } else {
        None
    }
}

/// A number of at most `digits` digits, and its end.
fn number(bytes: &[u8], at: usize, digits: usize) -> Option<(u32, usize)> {
    let length = bytes
        .get(at..)?
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    let value = bytes[at..at + length]
        .iter()
        .take(9)
        .fold(0, |n, digit| n * 10 + u32::from(digit - b'0'));
    (length > 0 && length <= digits).then_some((value, at + length))
}

fn sign(bytes: &[u8], at: usize, signs: &[u8]) -> Option<usize> {
    bytes.get(at).filter(|byte| signs.contains(byte)).map(|_| at + 1)
}

/// `at`, unless a word goes on there. Bytes over 127 may be letters.
fn ends_word(bytes: &[u8], at: usize) -> Option<usize> {
    let goes_on = bytes
        .get(at)
        .is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte > 127);
    (!goes_on).then_some(at)
}

fn is_in(value: u32, last: u32) -> bool {
    (1..=last).contains(&value)
}

fn is_year(value: u32) -> bool {
    (1900..2200).contains(&value)
}

const WEEKDAYS: [&str; 7] = [
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
    "Sunday",
];

const MONTHS: [&str; 13] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
    "Sept",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn of_kind(kind: Kind, text: &str) -> Vec<&str> {
        tokens(text)
            .into_iter()
            .filter(|t| t.kind == kind)
            .map(|t| &text[t.range])
            .collect()
    }

    #[test]
    fn times_are_whole() {
        let table: [(&str, &[&str]); 12] = [
            ("at 10:00:01 now", &["10:00:01"]),
            ("9:05", &["9:05"]),
            ("10:00:01.250Z", &["10:00:01.250Z"]),
            ("10:00 AM.", &["10:00 AM"]),
            ("10:00\u{202f}PM", &["10:00\u{202f}PM"]),
            ("5 PM and 6am", &["5 PM", "6am"]),
            ("10:00:01 UTC+02:00", &["10:00:01 UTC+02:00"]),
            ("10:00:01 GMT-0500 (EST)", &["10:00:01 GMT-0500"]),
            ("2026-11-30T10:00:01+01:00", &["10:00:01+01:00"]),
            ("main.rs:10:2 and 16:9", &[]),
            ("25:00 10:61", &[]),
            ("10:00x", &[]),
        ];
        for (text, want) in table {
            assert_eq!(of_kind(Kind::Time, text), want, "{text}");
        }
    }

    #[test]
    fn dates_are_whole() {
        let table: [(&str, &[&str]); 13] = [
            ("on 2026-11-30.", &["2026-11-30"]),
            ("2026-11-30T10:00:01Z", &["2026-11-30"]),
            ("30/11/2026, 11/30/2026", &["30/11/2026", "11/30/2026"]),
            ("30.11.2026", &["30.11.2026"]),
            ("Tuesday, March 3, 2026, 10:00:01 AM", &["Tuesday, March 3, 2026"]),
            ("Mon Nov 30 10:00:01 2026", &["Mon Nov 30"]),
            ("3rd of March 2026", &["3rd of March 2026"]),
            ("Mon, 30 Nov 2026", &["Mon, 30 Nov 2026"]),
            ("Today is Monday, time 10:00", &["Monday"]),
            ("November 2026", &["November 2026"]),
            ("version 2.1.37 of 1/2/3", &[]),
            ("they may march; Mondays", &[]),
            ("2026-13-40", &[]),
        ];
        for (text, want) in table {
            assert_eq!(of_kind(Kind::Date, text), want, "{text}");
        }
    }

    #[test]
    fn numbers_in_names_are_words() {
        assert_eq!(
            of_kind(Kind::Number, "gpt-5 v2.1 python3 turn 12 (7) 1.5"),
            ["12", "7", "1", "5"]
        );
    }

    #[test]
    fn any_text_is_covered_without_gaps() {
        for text in [
            "",
            "a b",
            "é—10:00",
            "日本 5 PM",
            "\u{202f}",
            "1-",
            "12:",
            "2026-11-",
            "5 ",
            "Mon ",
        ] {
            let ends: Vec<usize> = tokens(text).iter().map(|t| t.range.end).collect();
            let starts: Vec<usize> = tokens(text).iter().map(|t| t.range.start).skip(1).collect();
            assert_eq!(ends.last().copied().unwrap_or(0), text.len(), "{text}");
            assert_eq!(starts, ends[..ends.len().saturating_sub(1)], "{text}");
        }
    }
}
