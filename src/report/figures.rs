//! Numbers as people read them. What is unknown is `-`.

use time::OffsetDateTime;

use super::{ReportOptions, sum::Sum};

/// What stands for an unknown figure.
pub const UNKNOWN: &str = "-";

/// A share with one digit behind the point, rounded down, so that only all of it is `100 %`.
pub fn percent(ratio: Option<f64>) -> String {
    ratio.map_or_else(
        || UNKNOWN.to_owned(),
        |ratio| {
            // The bit more undoes what the multiplication took: 0.29 is 29 %.
            let tenths = (ratio * 1000.0 + 1e-9).floor();
            if tenths % 10.0 == 0.0 {
                format!("{:.0} %", tenths / 10.0)
            } else {
                format!("{:.1} %", tenths / 10.0)
            }
        },
    )
}

/// Bytes in units of 1000.
pub fn bytes(count: u64) -> String {
    scaled(count, &["B", "kB", "MB", "GB", "TB", "PB", "EB"], " ")
}

/// A count in units of 1000.
pub fn count(count: Option<u64>) -> String {
    count.map_or_else(
        || UNKNOWN.to_owned(),
        |count| scaled(count, &["", "k", "M", "G", "T", "P", "E"], ""),
    )
}

/// A sum of counts; a `+` says that there is more, which is not known.
pub fn sum(sum: &Sum<u64>) -> String {
    format!("{}{}", count(sum.figure()), more(sum.figure(), sum.unknown()))
}

/// A cost, in the user's money or in units of the price of a million input tokens.
pub fn cost(cost: Option<f64>, options: &ReportOptions) -> String {
    cost.map_or_else(
        || UNKNOWN.to_owned(),
        |cost| short(cost * options.base_price.unwrap_or(1.0)),
    )
}

/// A sum of costs.
pub fn cost_sum(sum: &Sum<f64>, options: &ReportOptions) -> String {
    format!(
        "{}{}",
        cost(sum.figure(), options),
        more(sum.figure(), sum.unknown())
    )
}

/// The unit of costs, in words.
pub fn cost_unit(options: &ReportOptions) -> &'static str {
    match options.base_price {
        Some(_) => "in the money of the base price that was given",
        None => "in prices of a million input tokens",
    }
}

/// A moment, to the second, in UTC.
pub fn moment(at_ms: Option<u64>) -> String {
    let parsed = at_ms
        .and_then(|ms| i64::try_from(ms / 1000).ok())
        .and_then(|seconds| OffsetDateTime::from_unix_timestamp(seconds).ok());
    parsed.map_or_else(
        || UNKNOWN.to_owned(),
        |at| {
            format!(
                "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z",
                at.year(),
                u8::from(at.month()),
                at.day(),
                at.hour(),
                at.minute(),
                at.second()
            )
        },
    )
}

/// `1 request`, `2 requests`.
pub fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// A text off a wire on one line: what is no printable character, or turns the direction of a line, is written as an
/// escape.
pub fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for one in text.chars() {
        if is_hidden(one) {
            shown.extend(one.escape_unicode());
        } else {
            shown.push(one);
        }
    }
    shown
}

/// A control character, one that turns the direction of a line, or one that has no width.
pub fn is_hidden(one: char) -> bool {
    one.is_control()
        || matches!(one, '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{fff9}'..='\u{ffff}' | '\u{e0000}'..='\u{e007f}')
}

/// At most `width` characters of a visible text; the middle gives way, for its ends tell most.
pub fn clipped(text: &str, width: usize) -> String {
    let shown = visible(text);
    let all: Vec<char> = shown.chars().collect();
    if all.len() <= width {
        return shown;
    }
    let front = width.saturating_sub(1) / 2;
    let back = width.saturating_sub(1) - front;
    let back = all.iter().skip(all.len() - back);
    all.iter().take(front).chain(['…'].iter()).chain(back).collect()
}

fn more<T>(figure: Option<T>, unknown: u64) -> &'static str {
    if figure.is_some() && unknown > 0 { "+" } else { "" }
}

fn scaled(count: u64, units: &[&str], space: &str) -> String {
    let mut value = count as f64;
    let mut units = units.iter();
    let mut unit = units.next().copied().unwrap_or("");
    // What would be rounded to 1000 is 1 of the next.
    while value
        >= if unit.is_empty() || unit == "B" {
            1000.0
        } else {
            999.95
        }
    {
        let Some(next) = units.next() else { break };
        (value, unit) = (value / 1000.0, next);
    }
    let shown = format!("{value:.1}");
    format!("{}{space}{unit}", shown.strip_suffix(".0").unwrap_or(&shown))
}

/// Three digits that count.
fn short(value: f64) -> String {
    let size = value.abs();
    match size {
        _ if size == 0.0 => "0".to_owned(),
        _ if size >= 100.0 => format!("{value:.0}"),
        _ if size >= 1.0 => format!("{value:.2}"),
        _ if size >= 0.001 => format!("{value:.4}"),
        _ => format!("{value:.1e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        assert_eq!(
            [0.29, 0.99999, 1.0, 0.0].map(|one| percent(Some(one))),
            ["29 %", "99.9 %", "100 %", "0 %"]
        );
        assert_eq!(
            [0, 999, 1000, 1500, 999_999].map(bytes),
            ["0 B", "999 B", "1 kB", "1.5 kB", "1 MB"]
        );
        assert_eq!([None, Some(12_345)].map(count), ["-", "12.3k"]);
        assert_eq!(moment(Some(1_700_000_000_123)), "2023-11-14T22:13:20Z");
        assert_eq!([moment(None), moment(Some(u64::MAX))], ["-", "-"]);
    }

    #[test]
    fn names_off_a_wire() {
        assert_eq!(visible("a\u{1b}[31m\u{202e}b"), "a\\u{1b}[31m\\u{202e}b");
        assert_eq!(clipped("abcdefghij", 5), "ab…ij");
        assert_eq!(clipped("äöü", 3), "äöü");
    }
}
