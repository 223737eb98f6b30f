//! Splits a stream of newline-delimited JSON into lines, whatever the reads cut it into.
//!
//! A line ends in a line feed, with or without a carriage return in front of it; the last one may lack its end, and
//! [`LineParser::finish`] gives it out. Blank lines are dropped. Nothing fails: whether a line is JSON is its reader's
//! to say, and a line over the size limit is counted and skipped.

use memchr::memchr;

/// An incremental parser. The lines that it gives out do not depend on how the stream is cut into pushes.
#[derive(Debug)]
pub struct LineParser {
    max_line: usize,
    /// The line that is not yet ended; empty while one is skipped.
    line: Vec<u8>,
    skipping: bool,
    skipped: u64,
}

impl LineParser {
    /// A parser that skips lines of more than `max_line` bytes and so holds about that much.
    pub fn new(max_line: usize) -> Self {
        Self {
            max_line,
            line: Vec::new(),
            skipping: false,
            skipped: 0,
        }
    }

    /// Takes the next bytes of the stream and calls `on_line` for every line that they complete, without its end.
    pub fn push(&mut self, mut bytes: &[u8], mut on_line: impl FnMut(&[u8])) {
        while let Some(end) = memchr(b'\n', bytes) {
            self.end_line(&bytes[..end], &mut on_line);
            bytes = &bytes[end + 1..];
        }
        if self.fits(bytes) {
            self.line.extend_from_slice(bytes);
        }
    }

    /// Ends the stream: gives out the line that lacks its end, if there is one.
    pub fn finish(&mut self, mut on_line: impl FnMut(&[u8])) {
        self.end_line(b"", &mut on_line);
    }

    /// How many lines were over the size limit.
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    fn end_line(&mut self, rest: &[u8], on_line: &mut impl FnMut(&[u8])) {
        if !self.fits(rest) {
            self.skipping = false;
            self.skipped += 1;
        } else if self.line.is_empty() {
            give(rest, on_line);
        } else {
            self.line.extend_from_slice(rest);
            give(&self.line, on_line);
            self.line.clear();
        }
    }

    /// Whether the line is within the limit with `more`. It only grows, so the outcome is the same wherever the reads
    /// cut it.
    fn fits(&mut self, more: &[u8]) -> bool {
        if !self.skipping && self.line.len() + more.len() > self.max_line {
            self.skipping = true;
            self.line.clear();
        }
        !self.skipping
    }
}

fn give(line: &[u8], on_line: &mut impl FnMut(&[u8])) {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    if !line.trim_ascii().is_empty() {
        on_line(line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(max_line: usize, stream: &str) -> (Vec<String>, u64) {
        let mut parser = LineParser::new(max_line);
        let mut lines = Vec::new();
        let mut keep = |line: &[u8]| lines.push(String::from_utf8_lossy(line).into_owned());
        parser.push(stream.as_bytes(), &mut keep);
        parser.finish(&mut keep);
        (lines, parser.skipped())
    }

    #[test]
    fn ends_of_lines() {
        for (stream, lines) in [
            (
                "{\"a\":1}\n{\"b\":2}\r\n\n \n[3]",
                &["{\"a\":1}", "{\"b\":2}", "[3]"][..],
            ),
            ("1\r2\n", &["1\r2"]),
            ("\n\r\n", &[]),
            ("", &[]),
        ] {
            let lines = lines.iter().map(|line| (*line).to_owned()).collect();
            assert_eq!(parse(100, stream), (lines, 0), "{stream:?}");
        }
    }

    #[test]
    fn a_line_over_the_limit_is_skipped_to_its_end() {
        let stream = format!("12345678\n{}\n9\n{}", "x".repeat(9), "y".repeat(20));
        assert_eq!(
            parse(8, &stream),
            (vec!["12345678".to_owned(), "9".to_owned()], 2)
        );
    }
}
