//! A strict JSON scanner that yields byte ranges and builds nothing.
//!
//! The body was checked to be UTF-8 before. Containers are walked with [`Cursor::pass`], [`Cursor::key`] and
//! [`Cursor::element`]; what nobody looks into is skipped by [`Cursor::value`], without recursion and so at any
//! depth. On the way the cursor notes whether it saw anything that is not in normal form (white space between
//! tokens, an escape that could be shorter, a number with a fraction or exponent): see [`Cursor::loose`].

use std::ops::Range;

/// Why a body cannot be read. Every fault means passthrough.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Not JSON, or not the JSON that the format wants at this place.
    Syntax,
    /// A member that matters stands twice.
    DuplicateKey,
    /// A member's name is written with escapes.
    EscapedKey,
    /// JSON, but not of a shape that this format has.
    Shape,
    /// A body of another API, on a path that takes several.
    Foreign,
}

impl Fault {
    /// Low-cardinality label.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Syntax => "invalid_json",
            Self::DuplicateKey => "duplicate_key",
            Self::EscapedKey => "escaped_key",
            Self::Shape => "unknown_shape",
            Self::Foreign => "foreign_body",
        }
    }
}

/// A position in a JSON text.
pub struct Cursor<'a> {
    src: &'a [u8],
    pos: usize,
    /// Something that is not in normal form was passed since this was last cleared.
    pub loose: bool,
    /// Deepest nesting of the values skipped since this was last cleared.
    pub depth: usize,
}

impl<'a> Cursor<'a> {
    /// A cursor over `src`, starting at `pos`.
    pub fn new(src: &'a [u8], pos: usize) -> Self {
        Self {
            src,
            pos,
            loose: false,
            depth: 0,
        }
    }

    /// The offset of the next byte.
    pub fn pos(&self) -> usize {
        self.pos
    }

    /// The bytes of a range.
    pub fn slice(&self, range: &Range<usize>) -> &'a [u8] {
        &self.src[range.clone()]
    }

    /// Moves on to `pos`, over bytes that are known.
    pub fn jump(&mut self, pos: usize) {
        self.pos = pos;
    }

    /// The next byte that is no white space.
    pub fn peek(&mut self) -> Result<u8, Fault> {
        let start = self.pos;
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.src.get(self.pos) {
            self.pos += 1;
        }
        self.loose |= self.pos != start;
        self.src.get(self.pos).copied().ok_or(Fault::Syntax)
    }

    /// The next member's name (without quotes) with the cursor before its value; none behind the last member,
    /// the closing brace passed. `first` is true before the first call and kept by the cursor.
    pub fn key(&mut self, first: &mut bool) -> Result<Option<Range<usize>>, Fault> {
        if !self.separator(first, b'}')? {
            return Ok(None);
        }
        let token = self.string()?;
        let name = token.start + 1..token.end - 1;
        if self.slice(&name).contains(&b'\\') {
            return Err(Fault::EscapedKey);
        }
        self.pass(b':')?;
        self.peek()?;
        Ok(Some(name))
    }

    /// Whether another array element follows, with the cursor before it; false behind the closing bracket.
    pub fn element(&mut self, first: &mut bool) -> Result<bool, Fault> {
        let more = self.separator(first, b']')?;
        if more {
            self.peek()?;
        }
        Ok(more)
    }

    /// Skips one value of any kind and depth, and gives its range.
    pub fn value(&mut self) -> Result<Range<usize>, Fault> {
        self.peek()?;
        let start = self.pos;
        // One entry per open container: is it an object?
        let mut open: Vec<bool> = Vec::new();
        loop {
            match self.peek()? {
                container @ (b'{' | b'[') => {
                    self.pos += 1;
                    let object = container == b'{';
                    open.push(object);
                    self.depth = self.depth.max(open.len());
                    if self.peek()? != close_of(object) {
                        self.name_if(object)?;
                        continue;
                    }
                }
                b'"' => self.string().map(drop)?,
                b'-' | b'0'..=b'9' => self.number()?,
                _ => self.literal()?,
            }
            if !self.close_or_comma(&mut open)? {
                return Ok(start..self.pos);
            }
        }
    }

    /// One string token, quotes included.
    pub fn string(&mut self) -> Result<Range<usize>, Fault> {
        self.pass(b'"')?;
        let start = self.pos - 1;
        loop {
            let block = self.pos;
            let mut found = ends(&self.src[block..]);
            self.pos += BLOCK;
            while found != 0 {
                let stop = block + found.trailing_zeros() as usize;
                match self.src.get(stop) {
                    Some(b'"') => {
                        self.pos = stop + 1;
                        return Ok(start..self.pos);
                    }
                    Some(b'\\') => {
                        let end = self.escape(stop + 1)?;
                        // What the escape is made of ends nothing.
                        found = found
                            .checked_shr((end - block) as u32)
                            .map_or(0, |rest| rest << (end - block));
                        self.pos = self.pos.max(end);
                    }
                    // A control character, or the end.
                    _ => return Err(Fault::Syntax),
                }
            }
        }
    }

    /// Makes sure that nothing but white space is left.
    pub fn end(&mut self) -> Result<(), Fault> {
        match self.peek() {
            Err(_) => Ok(()),
            Ok(_) => Err(Fault::Syntax),
        }
    }

    /// Behind a finished value: closes every container that ends here. False when the outermost value ended.
    fn close_or_comma(&mut self, open: &mut Vec<bool>) -> Result<bool, Fault> {
        // A container that was found empty still stands on `open`, the cursor at its closing byte.
        while let Some(object) = open.last().copied() {
            match self.peek()? {
                b',' => {
                    self.pos += 1;
                    self.peek()?;
                    self.name_if(object)?;
                    return Ok(true);
                }
                byte if byte == close_of(object) => {
                    self.pos += 1;
                    open.pop();
                }
                _ => return Err(Fault::Syntax),
            }
        }
        Ok(false)
    }

    fn name_if(&mut self, object: bool) -> Result<(), Fault> {
        if object {
            self.string()?;
            self.pass(b':')?;
        }
        Ok(())
    }

    fn separator(&mut self, first: &mut bool, close: u8) -> Result<bool, Fault> {
        let next = self.peek()?;
        if next == close {
            self.pos += 1;
            return Ok(false);
        }
        if !std::mem::replace(first, false) {
            self.pass(b',')?;
            self.peek()?;
        }
        Ok(true)
    }

    /// Passes `byte`.
    pub fn pass(&mut self, byte: u8) -> Result<(), Fault> {
        if self.peek()? != byte {
            return Err(Fault::Syntax);
        }
        self.pos += 1;
        Ok(())
    }

    /// The end of an escape whose backslash stands before `at`.
    #[inline]
    fn escape(&mut self, at: usize) -> Result<usize, Fault> {
        match self.src.get(at) {
            Some(b'n' | b'"' | b'\\' | b't' | b'r' | b'b' | b'f') => Ok(at + 1),
            Some(b'/') => {
                self.loose = true;
                Ok(at + 1)
            }
            Some(b'u') => {
                let hex = self.src.get(at + 1..at + 5).ok_or(Fault::Syntax)?;
                if !hex.iter().all(u8::is_ascii_hexdigit) {
                    return Err(Fault::Syntax);
                }
                self.loose |= !is_shortest_unicode(hex);
                Ok(at + 5)
            }
            _ => Err(Fault::Syntax),
        }
    }

    fn number(&mut self) -> Result<(), Fault> {
        let start = self.pos;
        self.pos += usize::from(self.src[self.pos] == b'-');
        let digits = self.digits()?;
        if digits > 1 && self.src[self.pos - digits] == b'0' {
            return Err(Fault::Syntax);
        }
        let mut plain = self.src[start..self.pos] != *b"-0";
        if self.src.get(self.pos) == Some(&b'.') {
            self.pos += 1;
            self.digits()?;
            plain = false;
        }
        if let Some(b'e' | b'E') = self.src.get(self.pos) {
            self.pos += 1;
            self.pos += usize::from(matches!(self.src.get(self.pos), Some(b'+' | b'-')));
            self.digits()?;
            plain = false;
        }
        self.loose |= !plain;
        Ok(())
    }

    fn digits(&mut self) -> Result<usize, Fault> {
        let count = self.src[self.pos..]
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .count();
        self.pos += count;
        if count == 0 { Err(Fault::Syntax) } else { Ok(count) }
    }

    fn literal(&mut self) -> Result<(), Fault> {
        for word in [&b"true"[..], b"false", b"null"] {
            if self.src[self.pos..].starts_with(word) {
                self.pos += word.len();
                return Ok(());
            }
        }
        Err(Fault::Syntax)
    }
}

/// Bytes of a string that are looked at in one go.
const BLOCK: usize = 64;

/// Where quotes, backslashes and control characters stand in the first [`BLOCK`] bytes, one bit each. Behind the end
/// of the text stand control characters.
fn ends(bytes: &[u8]) -> u64 {
    let mut padded = [0; BLOCK];
    let block = match bytes.first_chunk::<BLOCK>() {
        Some(block) => block,
        None => {
            padded[..bytes.len()].copy_from_slice(bytes);
            &padded
        }
    };
    let marks = block.map(|byte| u8::from(byte == b'"') | u8::from(byte == b'\\') | u8::from(byte < 0x20));
    let words = marks.as_chunks::<8>().0.iter().enumerate();
    words.fold(0, |bits, (index, word)| {
        // Gathers the lowest bit of each byte in the highest byte.
        let byte = u64::from_le_bytes(*word).wrapping_mul(0x0102_0408_1020_4080) >> 56;
        bits | byte << (8 * index)
    })
}

fn close_of(object: bool) -> u8 {
    if object { b'}' } else { b']' }
}

/// A control character without an escape of its own, in lower case, is all that needs `\u`.
fn is_shortest_unicode(hex: &[u8]) -> bool {
    matches!(hex, [b'0', b'0', b'0' | b'1', last]
        if last.is_ascii_digit() || last.is_ascii_lowercase())
        && !matches!(hex, b"0008" | b"0009" | b"000a" | b"000c" | b"000d")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::value::RawValue;

    use super::*;

    fn accepts(text: &str) -> bool {
        let mut cursor = Cursor::new(text.as_bytes(), 0);
        cursor.value().and_then(|_| cursor.end()).is_ok()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        /// The scanner accepts what serde_json accepts, no more and no less.
        #[test]
        fn agrees_with_serde_json(text in r#"[\[\]{}:, \\"a0-9eE.+u/ntrfls-]{0,24}"#) {
            prop_assert_eq!(accepts(&text), serde_json::from_str::<&RawValue>(&text).is_ok());
        }

        #[test]
        fn agrees_on_near_valid_texts(seed in "[a-z\\\\\"/]{0,8}", number in "-?[0-9]{1,3}(\\.[0-9]{1,2})?([eE][+-]?[0-9]{1,2})?", cut in 0usize..60) {
            let text = format!(r#"{{"k":[{number},"{seed}",{{}},[],null,true],"b": {{"x":"\u00e9"}} }}"#);
            let text: String = text.chars().take(text.chars().count().saturating_sub(cut / 3)).collect();
            prop_assert_eq!(accepts(&text), serde_json::from_str::<&RawValue>(&text).is_ok());
        }
    }

    #[test]
    fn depth_is_no_limit() {
        let text = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        let mut cursor = Cursor::new(text.as_bytes(), 0);
        assert_eq!(cursor.value(), Ok(0..text.len()));
        assert_eq!(cursor.depth, 100_000);
    }

    #[test]
    fn normal_form_is_noticed() {
        let loose = |text: &str| {
            let mut cursor = Cursor::new(text.as_bytes(), 0);
            cursor.value().unwrap();
            cursor.loose
        };
        for normal in [r#"{"a":[1,-2,"x\n\u0001é"]}"#, "[]", "0", r#""\"\\""#] {
            assert!(!loose(normal), "{normal}");
        }
        for text in [
            r#"{"a": 1}"#,
            "1.0",
            "1e2",
            "-0",
            r#""\/""#,
            r#""\u00e9""#,
            r#""\u000A""#,
            r#""\u000a""#,
            "[1 ]",
        ] {
            assert!(loose(text), "{text}");
        }
    }
}
