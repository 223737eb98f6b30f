//! Cuts a stream of JSON into the values that hold one entry each: the lines of JSONL, the elements of an array, the
//! elements of arrays below certain members of one large document. Only one value is held at a time.
//!
//! What stands around the entries is read leniently. Each entry is cut where its brackets close; what it says is for who asked.

use std::io::{BufRead, ErrorKind};

use memchr::memchr3;

use super::entry::{MAX_ENTRY, Reason, reason};

/// More brackets than any recording nests.
const MAX_DEPTH: usize = 512;

/// The names that lead to the entries, level by level; arrays on the way are gone through. Without names an entry is a
/// value of the stream, or an element of one that is an array.
pub type Path = &'static [&'static [&'static str]];

/// The entries of a stream.
pub struct Values<R> {
    input: R,
    path: Path,
    /// The open values around the next entry, each with the names that were found so far.
    around: Vec<(Around, usize)>,
    /// The byte that was taken last ended a line, or none was taken yet.
    line_start: bool,
    ended: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum Around {
    Array,
    Object,
}

impl<R: BufRead> Values<R> {
    /// The entries below `path`.
    pub fn new(mut input: R, path: Path) -> Self {
        if input
            .fill_buf()
            .is_ok_and(|buffer| buffer.starts_with(b"\xef\xbb\xbf"))
        {
            input.consume(3);
        }
        Self {
            input,
            path,
            around: Vec::new(),
            line_start: true,
            ended: false,
        }
    }

    /// The next entry; none where the stream ends between two.
    fn entry(&mut self) -> Result<Option<Vec<u8>>, Reason> {
        loop {
            let Some(byte) = self.between()? else {
                let whole = self.around.is_empty();
                return if whole { Ok(None) } else { Err(reason::TRUNCATED) };
            };
            let found = match self.around.last() {
                None => Some(0),
                Some((Around::Array, _)) if byte == b']' => self.close(),
                Some((Around::Object, _)) if byte == b'}' => self.close(),
                Some(&(Around::Array, found)) => Some(found),
                Some(&(Around::Object, found)) => self.member(found)?,
            };
            let Some(found) = found else { continue };
            match self.peek()? {
                Some(b'[') if self.around.len() < MAX_DEPTH => self.open(Around::Array, found),
                Some(b'{') if found < self.path.len() => self.open(Around::Object, found),
                Some(_) if found == self.path.len() => return self.cut().map(Some),
                _ => self.skip()?,
            }
        }
    }

    fn open(&mut self, around: Around, found: usize) {
        self.take(1);
        self.around.push((around, found));
    }

    fn close(&mut self) -> Option<usize> {
        self.take(1);
        self.around.pop();
        None
    }

    /// The next member of an object on the way: how far it leads; none where it leads nowhere and was passed over.
    fn member(&mut self, found: usize) -> Result<Option<usize>, Reason> {
        let mut name = Copy::default();
        if self.peek()? != Some(b'"') {
            return Err(reason::MALFORMED);
        }
        self.string(&mut name)?;
        if self.between()? != Some(b':') {
            return Err(reason::MALFORMED);
        }
        self.take(1);
        self.between()?;
        let name = name
            .bytes
            .get(1..name.bytes.len().saturating_sub(1))
            .unwrap_or_default();
        if self.path[found].iter().any(|wanted| wanted.as_bytes() == name) {
            return Ok(Some(found + 1));
        }
        self.skip()?;
        Ok(None)
    }

    fn cut(&mut self) -> Result<Vec<u8>, Reason> {
        let mut copy = Copy::default();
        self.value(&mut copy)?;
        if copy.over {
            Err(reason::TOO_LARGE)
        } else {
            Ok(copy.bytes)
        }
    }

    fn skip(&mut self) -> Result<(), Reason> {
        self.value(&mut Copy {
            over: true,
            ..Copy::default()
        })
    }

    /// Takes one value. Its brackets, commas and colons are checked as they come, so that a line that was cut short ends
    /// where the next one starts.
    fn value(&mut self, copy: &mut Copy) -> Result<(), Reason> {
        let mut open: Vec<u8> = Vec::new();
        let mut next = Next::Value;
        loop {
            let Some(byte) = self.space(copy)? else {
                return Err(reason::TRUNCATED);
            };
            next = match (next, byte) {
                (Next::Value | Next::FirstElement, b'{' | b'[') if open.len() < MAX_DEPTH => {
                    open.push(byte);
                    self.one(copy, byte);
                    if byte == b'{' {
                        Next::FirstMember
                    } else {
                        Next::FirstElement
                    }
                }
                (Next::FirstElement, b']') | (Next::FirstMember, b'}') | (Next::Comma, b']' | b'}') => {
                    if open.pop().map(|open| open + 2) != Some(byte) {
                        return Err(reason::MALFORMED);
                    }
                    self.one(copy, byte);
                    Next::Comma
                }
                (Next::FirstMember | Next::Member, b'"') => {
                    self.string(copy)?;
                    Next::Colon
                }
                (Next::Value | Next::FirstElement, b'"') => {
                    self.string(copy)?;
                    Next::Comma
                }
                (Next::Value | Next::FirstElement, _) => {
                    self.scalar(copy)?;
                    Next::Comma
                }
                (Next::Colon, b':') => {
                    self.one(copy, byte);
                    Next::Value
                }
                (Next::Comma, b',') => {
                    self.one(copy, byte);
                    if open.last() == Some(&b'{') {
                        Next::Member
                    } else {
                        Next::Value
                    }
                }
                _ => return Err(reason::MALFORMED),
            };
            if open.is_empty() {
                return Ok(());
            }
        }
    }

    /// Takes a string with its quotes. A line cannot end in one.
    fn string(&mut self, copy: &mut Copy) -> Result<(), Reason> {
        self.one(copy, b'"');
        loop {
            let buffer = fill(&mut self.input)?;
            if buffer.is_empty() {
                return Err(reason::TRUNCATED);
            }
            let Some(at) = memchr3(b'"', b'\\', b'\n', buffer) else {
                copy.push(buffer);
                let all = buffer.len();
                self.take(all);
                continue;
            };
            let byte = buffer[at];
            copy.push(&buffer[..at]);
            self.take(at);
            if byte == b'\n' {
                return Err(reason::MALFORMED);
            }
            self.one(copy, byte);
            if byte == b'"' {
                return Ok(());
            }
            let escaped = self.peek()?.ok_or(reason::TRUNCATED)?;
            if escaped == b'\n' {
                return Err(reason::MALFORMED);
            }
            self.one(copy, escaped);
        }
    }

    /// Takes a number, `true`, `false` or `null`.
    fn scalar(&mut self, copy: &mut Copy) -> Result<(), Reason> {
        let mut some = false;
        while let Some(byte) = self.peek()?
            && (byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
        {
            self.one(copy, byte);
            some = true;
        }
        if some { Ok(()) } else { Err(reason::MALFORMED) }
    }

    /// Takes white space, and copies it.
    fn space(&mut self, copy: &mut Copy) -> Result<Option<u8>, Reason> {
        while let Some(byte) = self.peek()? {
            if !byte.is_ascii_whitespace() {
                return Ok(Some(byte));
            }
            self.one(copy, byte);
            self.line_start = byte == b'\n';
        }
        Ok(None)
    }

    /// Passes over what stands between two entries.
    fn between(&mut self) -> Result<Option<u8>, Reason> {
        while let Some(byte) = self.peek()? {
            let comma = byte == b',' && !self.around.is_empty();
            if !byte.is_ascii_whitespace() && !comma {
                return Ok(Some(byte));
            }
            self.take(1);
            self.line_start = byte == b'\n';
        }
        Ok(None)
    }

    /// Goes to the next line that may start an entry, which is one that opens a value at its very start.
    fn recover(&mut self) -> Result<(), Reason> {
        self.around.clear();
        while let Some(byte) = self.peek()? {
            if self.line_start && matches!(byte, b'{' | b'[') {
                break;
            }
            self.take(1);
            self.line_start = byte == b'\n';
        }
        Ok(())
    }

    fn peek(&mut self) -> Result<Option<u8>, Reason> {
        Ok(fill(&mut self.input)?.first().copied())
    }

    fn one(&mut self, copy: &mut Copy, byte: u8) {
        copy.push(&[byte]);
        self.take(1);
    }

    fn take(&mut self, bytes: usize) {
        self.input.consume(bytes);
        self.line_start &= bytes == 0;
    }
}

impl<R: BufRead> Iterator for Values<R> {
    type Item = Result<Vec<u8>, Reason>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let entry = self.entry();
        self.ended = match &entry {
            Ok(found) => found.is_none(),
            Err(reason::TOO_LARGE) => false,
            Err(reason::MALFORMED) => self.recover().is_err(),
            Err(_) => true,
        };
        entry.transpose()
    }
}

/// What may come next in a value.
#[derive(Clone, Copy)]
enum Next {
    Value,
    FirstElement,
    FirstMember,
    Member,
    Colon,
    Comma,
}

/// What was taken, up to the limit.
#[derive(Default)]
struct Copy {
    bytes: Vec<u8>,
    over: bool,
}

impl Copy {
    fn push(&mut self, bytes: &[u8]) {
        if self.over {
            return;
        }
        if self.bytes.len() + bytes.len() > MAX_ENTRY {
            *self = Self {
                over: true,
                ..Self::default()
            };
            return;
        }
        self.bytes.extend_from_slice(bytes);
    }
}

/// Whether the first thing in a document is an object whose first member is `name`.
pub fn starts_with_member(input: &mut impl BufRead, name: &str) -> bool {
    let first = input.fill_buf().unwrap_or_default();
    let inside = first
        .trim_ascii_start()
        .strip_prefix(b"{")
        .unwrap_or_default()
        .trim_ascii_start();
    inside
        .strip_prefix(b"\"")
        .and_then(|inside| inside.strip_prefix(name.as_bytes()))
        .is_some_and(|rest| rest.starts_with(b"\""))
}

/// The bytes at hand; empty at the end.
pub fn fill(input: &mut impl BufRead) -> Result<&[u8], Reason> {
    // A borrow that is returned lives on in both arms, so what is there is asked for twice.
    while let Err(error) = input.fill_buf() {
        if error.kind() != ErrorKind::Interrupted {
            return Err(reason::UNREADABLE);
        }
    }
    input.fill_buf().map_err(|_| reason::UNREADABLE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::BufReader;

    fn all(text: &str, path: Path) -> Vec<Result<String, Reason>> {
        let whole = cut(text, path, 1 << 16);
        for size in [1, 3] {
            assert_eq!(cut(text, path, size), whole);
        }
        whole
    }

    fn cut(text: &str, path: Path, size: usize) -> Vec<Result<String, Reason>> {
        let input = BufReader::with_capacity(size, text.as_bytes());
        Values::new(input, path)
            .map(|value| value.map(|bytes| String::from_utf8(bytes).unwrap()))
            .collect()
    }

    fn good(values: &[&str]) -> Vec<Result<String, Reason>> {
        values.iter().map(|value| Ok((*value).to_owned())).collect()
    }

    #[test]
    fn lines_arrays_and_pretty_documents() {
        assert_eq!(
            all("{\"a\":1}\n\n{\"b\":[{}]} 7", &[]),
            good(&["{\"a\":1}", "{\"b\":[{}]}", "7"])
        );
        assert_eq!(
            all("[{\"a\":\"]\\\"\"}, {}]\n[]", &[]),
            good(&["{\"a\":\"]\\\"\"}", "{}"])
        );
        assert_eq!(
            all("{\n  \"a\": {}\n}\n{\n}", &[]),
            good(&["{\n  \"a\": {}\n}", "{\n}"])
        );
    }

    #[test]
    fn below_a_path() {
        let har = r#"{"x":[{"entries":[1]}],"log":{"a":{"entries":[2]},"entries":[{"n":1},{"n":2}],"b":0}}"#;
        assert_eq!(
            all(har, &[&["log"], &["entries"]]),
            good(&[r#"{"n":1}"#, r#"{"n":2}"#])
        );
        let spans = r#"{"s":[{"t":[{"u":[1,2]},{"v":[3]}]},{"t":[{"u":[]}]}]}"#;
        assert_eq!(all(spans, &[&["s"], &["t"], &["u", "v"]]), good(&["1", "2", "3"]));
    }

    #[test]
    fn a_broken_line_ends_where_the_next_one_starts() {
        for broken in [
            "{\"a\":\"cut",
            "{\"a\":1,",
            "{\"a\"",
            "{\"a\":[}",
            "%",
            "{\"a\":1}}",
        ] {
            let text = format!("{{}}\n{broken}\n{{\"b\":2}}\n");
            let values = all(&text, &[]);
            assert_eq!(values.first(), Some(&Ok("{}".to_owned())), "{broken}");
            assert_eq!(
                values.last(),
                Some(&Ok("{\"b\":2}".to_owned())),
                "{broken}: {values:?}"
            );
            assert!(values.contains(&Err(reason::MALFORMED)), "{broken}");
        }
        assert_eq!(all("{\"a\":[1", &[]), [Err(reason::TRUNCATED)]);
        assert_eq!(
            all("{\"a\":[1", &[&["a"]]),
            [Ok("1".to_owned()), Err(reason::TRUNCATED)]
        );
    }

    #[test]
    fn an_entry_over_the_limit_is_passed_over() {
        let long = format!("{{\"a\":\"{}\"}}", "x".repeat(MAX_ENTRY));
        assert_eq!(
            cut(&format!("{long}\n{{}}"), &[], 1 << 16),
            [Err(reason::TOO_LARGE), Ok("{}".to_owned())]
        );
    }
}
