//! Splits a byte stream of server-sent events into events, whatever the reads cut it into.
//!
//! Follows the event stream format of the WHATWG HTML standard (section 9.2), with one difference: an event
//! that the stream ends in without its blank line is given out by [`SseParser::finish`], because some servers
//! close that way. Fields other than `event` and `data` are of no use here and dropped. Nothing fails: what is
//! no event is ignored, and an event over the size limit is counted and skipped up to its blank line.

use memchr::memchr2;

const BOM: &[u8] = b"\xef\xbb\xbf";

/// One event of the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event<'a> {
    /// The value of the last `event` field, if there was one that is not empty.
    pub event: Option<&'a str>,
    /// The values of the `data` fields, joined by line feeds.
    pub data: &'a [u8],
}

/// An incremental parser. The events that it gives out do not depend on how the stream is cut into pushes.
#[derive(Debug)]
pub struct SseParser {
    max_event: usize,
    /// The line that is not yet ended; of a skipped event at most one byte of it.
    line: Vec<u8>,
    name: String,
    data: Vec<u8>,
    has_data: bool,
    after_cr: bool,
    at_start: bool,
    skipping: bool,
    skipped: u64,
}

impl SseParser {
    /// A parser that skips events of more than about `max_event` bytes and so holds a small multiple of that.
    pub fn new(max_event: usize) -> Self {
        Self {
            max_event,
            line: Vec::new(),
            name: String::new(),
            data: Vec::new(),
            has_data: false,
            after_cr: false,
            at_start: true,
            skipping: false,
            skipped: 0,
        }
    }

    /// Takes the next bytes of the stream and calls `on_event` for every event that they complete.
    pub fn push(&mut self, mut bytes: &[u8], mut on_event: impl FnMut(Event<'_>)) {
        while !bytes.is_empty() {
            if std::mem::take(&mut self.after_cr) && bytes[0] == b'\n' {
                bytes = &bytes[1..];
                continue;
            }
            let Some(end) = memchr2(b'\n', b'\r', bytes) else {
                self.hold(bytes);
                return;
            };
            self.after_cr = bytes[end] == b'\r';
            self.end_line(&bytes[..end], &mut on_event);
            bytes = &bytes[end + 1..];
        }
    }

    /// Ends the stream: gives out the event that lacks its blank line, if there is one.
    pub fn finish(&mut self, mut on_event: impl FnMut(Event<'_>)) {
        self.end_line(b"", &mut on_event);
        self.dispatch(&mut on_event);
    }

    /// How many events were over the size limit.
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// Keeps the start of a line whose end is still to come.
    fn hold(&mut self, part: &[u8]) {
        self.check_size(part.len());
        if !self.skipping {
            self.line.extend_from_slice(part);
        } else if self.line.is_empty() {
            // One byte is enough to tell the line from the blank one that ends the event.
            self.line.extend_from_slice(&part[..1]);
        }
    }

    fn end_line(&mut self, rest: &[u8], on_event: &mut impl FnMut(Event<'_>)) {
        self.check_size(rest.len());
        let mut held = std::mem::take(&mut self.line);
        if held.is_empty() {
            self.line_complete(rest, on_event);
        } else {
            if !self.skipping {
                held.extend_from_slice(rest);
            }
            self.line_complete(&held, on_event);
            held.clear();
            self.line = held;
        }
    }

    fn line_complete(&mut self, mut line: &[u8], on_event: &mut impl FnMut(Event<'_>)) {
        if std::mem::take(&mut self.at_start) {
            line = line.strip_prefix(BOM).unwrap_or(line);
        }
        if line.is_empty() {
            self.dispatch(on_event);
        } else if !self.skipping {
            self.field(line);
        }
    }

    /// A line without a colon is a field with an empty value; one that starts with it is a comment.
    fn field(&mut self, line: &[u8]) {
        let colon = memchr::memchr(b':', line).unwrap_or(line.len());
        let value = line.get(colon + 1..).unwrap_or_default();
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match &line[..colon] {
            b"data" => {
                if self.has_data {
                    self.data.push(b'\n');
                }
                self.has_data = true;
                self.data.extend_from_slice(value);
            }
            b"event" => self.name = String::from_utf8_lossy(value).into_owned(),
            _ => {}
        }
    }

    fn dispatch(&mut self, on_event: &mut impl FnMut(Event<'_>)) {
        if self.skipping {
            self.skipped += 1;
        } else if self.has_data {
            on_event(Event {
                event: Some(self.name.as_str()).filter(|name| !name.is_empty()),
                data: &self.data,
            });
        }
        self.reset_event();
        self.skipping = false;
    }

    /// Starts to skip once the event with `more` bytes of the current line is too large. The sum only grows
    /// within an event, so the outcome is the same wherever the reads cut the line.
    fn check_size(&mut self, more: usize) {
        if !self.skipping && self.data.len() + self.line.len() + more > self.max_event {
            self.skipping = true;
            self.line.clear();
            self.reset_event();
        }
    }

    fn reset_event(&mut self) {
        self.name.clear();
        self.data.clear();
        self.has_data = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Events as `name|data`, and the number that was skipped.
    fn parse(max_event: usize, stream: &str) -> (Vec<String>, u64) {
        let mut parser = SseParser::new(max_event);
        let mut events = Vec::new();
        let mut keep = |event: Event<'_>| {
            let data = String::from_utf8_lossy(event.data);
            events.push(format!("{}|{data}", event.event.unwrap_or("-")));
        };
        parser.push(stream.as_bytes(), &mut keep);
        parser.finish(&mut keep);
        (events, parser.skipped())
    }

    fn check(stream: &str, events: &[&str]) {
        let found = parse(1 << 20, stream);
        assert_eq!(found.0, events, "{stream:?}");
        assert_eq!(found.1, 0);
    }

    #[test]
    fn line_ends_fields_and_comments() {
        check(
            "data: a\n\ndata: b\r\n\r\ndata: c\r\rdata: d\n\r",
            &["-|a", "-|b", "-|c", "-|d"],
        );
        check("event: x\ndata: a\ndata:b\ndata:  c\n\n", &["x|a\nb\n c"]);
        check("event: x\r\ndata: a\r\ndata: b\r\n\r\n", &["x|a\nb"]);
        check(": ping\n\n:\n\nevent: lost\n\ndata: a\n\n", &["-|a"]);
        check(
            "data\n\ndata:\ndata\n\nid: 7\nretry: 1\nother\n\n",
            &["-|", "-|\n"],
        );
        check("\u{feff}data: a\n\n\u{feff}data: b\n\n", &["-|a"]);
    }

    #[test]
    fn the_last_event_needs_no_blank_line() {
        check("data: a\n\ndata: [DONE]", &["-|a", "-|[DONE]"]);
        check("event: x\ndata: a\n", &["x|a"]);
        check("event: x", &[]);
    }

    #[test]
    fn an_event_over_the_limit_is_skipped_to_its_end() {
        let long = "y".repeat(40);
        let stream = format!("data: a\n\nevent: x\ndata: {long}\ndata: z\n\ndata: b\n\n");
        assert_eq!(
            parse(32, &stream),
            (vec!["-|a".to_owned(), "-|b".to_owned()], 1)
        );
        let many = format!("{}\ndata: b\n\n", "data: 12345\n".repeat(9));
        assert_eq!(parse(32, &many), (vec!["-|b".to_owned()], 1));
        assert_eq!(parse(32, &format!("data: {long}")), (vec![], 1));
    }
}
