//! Typed netstrings (tnetstrings.org, with mitmproxy's `;` for text): `SIZE:BYTES` and a letter for the type. Read where
//! they lie: a list's elements and an object's members are looked up on demand.

use std::io::BufRead;

use super::entry::{MAX_ENTRY, Reason, reason};
use super::values::fill;

/// Digits of a length.
const MAX_DIGITS: usize = 12;

/// One value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Net<'a> {
    kind: u8,
    bytes: &'a [u8],
}

impl<'a> Net<'a> {
    /// The first value of `bytes`, and what stands behind it.
    pub fn split(bytes: &'a [u8]) -> Option<(Self, &'a [u8])> {
        let colon = bytes.iter().take(MAX_DIGITS + 1).position(|byte| *byte == b':')?;
        let (size, rest) = (length(&bytes[..colon])?, &bytes[colon + 1..]);
        let (bytes, rest) = rest.split_at_checked(size)?;
        let (kind, rest) = rest.split_first()?;
        Some((Self { kind: *kind, bytes }, rest))
    }

    /// A member of an object.
    pub fn get(self, name: &str) -> Option<Self> {
        let mut rest = (self.kind == b'}').then_some(self.bytes)?;
        loop {
            let (key, behind) = Net::split(rest)?;
            let (value, behind) = Net::split(behind)?;
            if key.bytes == name.as_bytes() {
                return Some(value);
            }
            rest = behind;
        }
    }

    /// The elements of a list, up to one that is none.
    pub fn elements(self) -> impl Iterator<Item = Net<'a>> {
        let mut rest = if self.kind == b']' { self.bytes } else { b"" };
        std::iter::from_fn(move || {
            let (element, behind) = Net::split(rest)?;
            rest = behind;
            Some(element)
        })
    }

    /// Bytes or text.
    pub fn bytes(self) -> Option<&'a [u8]> {
        matches!(self.kind, b',' | b';').then_some(self.bytes)
    }

    /// Text.
    pub fn text(self) -> Option<&'a str> {
        std::str::from_utf8(self.bytes()?).ok()
    }

    /// A number of either kind.
    pub fn number(self) -> Option<f64> {
        let text = matches!(self.kind, b'#' | b'^').then_some(self.bytes)?;
        std::str::from_utf8(text)
            .ok()?
            .parse()
            .ok()
            .filter(|number: &f64| number.is_finite())
    }

    /// True or false.
    pub fn truth(self) -> Option<bool> {
        (self.kind == b'!').then_some(self.bytes == b"true")
    }
}

/// The values of a stream, each with its letter and no length: what [`entry`] reads.
pub struct Nets<R> {
    input: R,
    ended: bool,
}

/// The value that an item of [`Nets`] is.
pub fn entry(bytes: &[u8]) -> Option<Net<'_>> {
    let (kind, bytes) = bytes.split_last()?;
    Some(Net { kind: *kind, bytes })
}

impl<R: BufRead> Nets<R> {
    /// The values of `input`.
    pub fn new(input: R) -> Self {
        Self { input, ended: false }
    }

    /// The next value; none at the end.
    fn value(&mut self) -> Result<Option<Vec<u8>>, Reason> {
        let mut digits = Vec::new();
        loop {
            let Some(byte) = fill(&mut self.input)?.first().copied() else {
                return if digits.is_empty() {
                    Ok(None)
                } else {
                    Err(reason::TRUNCATED)
                };
            };
            self.input.consume(1);
            match byte {
                b':' => break,
                b'0'..=b'9' if digits.len() < MAX_DIGITS => digits.push(byte),
                _ => return Err(reason::MALFORMED),
            }
        }
        let size = length(&digits).ok_or(reason::MALFORMED)?;
        let (mut left, over) = (size + 1, size > MAX_ENTRY);
        let mut value = Vec::new();
        while left > 0 {
            let buffer = fill(&mut self.input)?;
            if buffer.is_empty() {
                return Err(reason::TRUNCATED);
            }
            let taken = buffer.len().min(left);
            if !over {
                value.extend_from_slice(&buffer[..taken]);
            }
            self.input.consume(taken);
            left -= taken;
        }
        if over {
            Err(reason::TOO_LARGE)
        } else {
            Ok(Some(value))
        }
    }
}

impl<R: BufRead> Iterator for Nets<R> {
    type Item = Result<Vec<u8>, Reason>;

    /// Where a length is wrong, nothing tells where the next value starts.
    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let value = self.value();
        self.ended = !matches!(value, Ok(Some(_)) | Err(reason::TOO_LARGE));
        value.transpose()
    }
}

fn length(digits: &[u8]) -> Option<usize> {
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(digits).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_every_kind() {
        let body = b"4:text;3:\xc3\xa4!;5:bytes;3:a:b,1:n;4:-1.5^1:b;4:true!1:l;7:1:1#0:~]";
        let text = [format!("{}:", body.len()).as_bytes(), body, b"}"].concat();
        let (object, rest) = Net::split(&text).unwrap();
        assert!(rest.is_empty());
        let get = |name| object.get(name).unwrap();
        assert_eq!(get("text").text(), Some("ä!"));
        assert_eq!(get("bytes").bytes(), Some(&b"a:b"[..]));
        assert_eq!(get("n").number(), Some(-1.5));
        assert_eq!(get("b").truth(), Some(true));
        assert_eq!(
            get("l").elements().map(Net::number).collect::<Vec<_>>(),
            [Some(1.0), None]
        );
        assert_eq!(object.get("none"), None);
    }

    #[test]
    fn streams_end_where_they_cannot_be_read() {
        let all = |text: &str| {
            let nets = Nets::new(std::io::Cursor::new(text.as_bytes().to_vec()));
            nets.map(|net| net.map(|bytes| String::from_utf8(bytes).unwrap()))
                .collect::<Vec<_>>()
        };
        assert_eq!(all("1:a,0:~"), [Ok("a,".to_owned()), Ok("~".to_owned())]);
        assert_eq!(all("1:a,5:b"), [Ok("a,".to_owned()), Err(reason::TRUNCATED)]);
        assert_eq!(all("1:a,x"), [Ok("a,".to_owned()), Err(reason::MALFORMED)]);
        assert_eq!(all("999999999999:"), [Err(reason::TRUNCATED)]);
    }
}
