//! Sizes and spans of time as people write them: `64MiB`, `250ms`, `10m`.

use std::{str::FromStr, time::Duration};

use serde::Deserialize;

/// A size in bytes.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(try_from = "String")]
pub struct Size(pub usize);

/// A span of time.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(try_from = "String")]
pub struct Span(pub Duration);

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        scaled(
            text,
            &[("B", 1), ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30)],
        )
        .and_then(|bytes| usize::try_from(bytes).ok())
        .map(Self)
        .ok_or_else(|| format!("`{text}` is not a size: a whole number and B, KiB, MiB or GiB, like `64MiB`"))
    }
}

impl FromStr for Span {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        scaled(text, &[("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000)])
            .map(|millis| Self(Duration::from_millis(millis)))
            .ok_or_else(|| {
                format!("`{text}` is not a span of time: a whole number and ms, s, m or h, like `30s`")
            })
    }
}

impl TryFrom<String> for Size {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl TryFrom<String> for Span {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

fn scaled(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let text = text.trim();
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let unit = text[digits..].trim();
    let (_, factor) = units.iter().find(|(name, _)| *name == unit)?;
    text[..digits].parse::<u64>().ok()?.checked_mul(*factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_people_write() {
        assert_eq!("64MiB".parse(), Ok(Size(64 << 20)));
        assert_eq!("0 B".parse(), Ok(Size(0)));
        assert_eq!("250ms".parse(), Ok(Span(Duration::from_millis(250))));
        assert_eq!("10m".parse(), Ok(Span(Duration::from_secs(600))));
    }

    #[test]
    fn refuses_what_it_cannot_mean() {
        for text in [
            "",
            "64",
            "MiB",
            "64MB",
            "-1B",
            "1.5MiB",
            "99999999999999999999B",
            "18446744073709551615GiB",
        ] {
            assert!(text.parse::<Size>().is_err(), "{text}");
        }
        assert!("10".parse::<Span>().is_err());
        assert!("10min".parse::<Span>().is_err());
    }
}
