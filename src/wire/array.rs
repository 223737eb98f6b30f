//! Splits a JSON array that is streamed into its elements, whatever the reads cut it into.
//!
//! Only strings and the depth of brackets are followed; whether an element is sound JSON is its reader's to say. A
//! body that is one object instead of an array, as an error is, is given out as one element. Nothing fails: a body that
//! is neither, an element over the size limit and one that the stream breaks off in are counted and skipped, and what
//! stands behind the end of the array is ignored.

use memchr::memchr2;

/// An incremental parser. The elements that it gives out do not depend on how the stream is cut into pushes.
#[derive(Debug)]
pub struct ArrayParser {
    max_element: usize,
    place: Place,
    /// The element that is not yet ended; empty while one is skipped.
    element: Vec<u8>,
    /// Brackets of the element that are open.
    depth: usize,
    string: Text,
    skipping: bool,
    skipped: u64,
}

/// Where in the body the next byte stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Before,
    Between,
    /// In an element of the array.
    Element,
    /// In the object that stands instead of the array.
    Alone,
    Behind,
}

/// Whether the next byte of an element belongs to a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Text {
    Outside,
    Inside,
    Escaped,
}

impl ArrayParser {
    /// A parser that skips elements of more than `max_element` bytes and so holds about that much.
    pub fn new(max_element: usize) -> Self {
        Self {
            max_element,
            place: Place::Before,
            element: Vec::new(),
            depth: 0,
            string: Text::Outside,
            skipping: false,
            skipped: 0,
        }
    }

    /// Takes the next bytes of the body and calls `on_element` for every element that they complete.
    pub fn push(&mut self, mut bytes: &[u8], mut on_element: impl FnMut(&[u8])) {
        while !bytes.is_empty() {
            bytes = match self.place {
                Place::Before => self.open(bytes),
                Place::Between => self.next(bytes),
                Place::Element | Place::Alone => self.inside(bytes, &mut on_element),
                Place::Behind => return,
            };
        }
    }

    /// Ends the body. An element that lacks its end cannot be read and is counted.
    pub fn finish(&mut self) {
        if matches!(self.place, Place::Element | Place::Alone) {
            self.skipped += 1;
        }
        self.place = Place::Behind;
        self.element.clear();
    }

    /// How many elements were over the size limit or broken off, and whether the body was neither array nor object.
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    fn open<'b>(&mut self, bytes: &'b [u8]) -> &'b [u8] {
        let bytes = bytes.trim_ascii_start();
        match bytes.first() {
            None => bytes,
            Some(b'[') => {
                self.place = Place::Between;
                &bytes[1..]
            }
            Some(b'{') => {
                self.place = Place::Alone;
                bytes
            }
            Some(_) => {
                self.place = Place::Behind;
                self.skipped += 1;
                bytes
            }
        }
    }

    /// Finds the start of the next element. A bracket that closes nothing is passed over like a comma.
    fn next<'b>(&mut self, bytes: &'b [u8]) -> &'b [u8] {
        let between = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b',' | b'}');
        let bytes = &bytes[bytes.iter().take_while(|byte| between(byte)).count()..];
        self.place = match bytes.first() {
            None => Place::Between,
            Some(b']') => Place::Behind,
            Some(_) => Place::Element,
        };
        bytes
    }

    fn inside<'b>(&mut self, bytes: &'b [u8], on_element: &mut impl FnMut(&[u8])) -> &'b [u8] {
        let end = self.end(bytes);
        let (part, rest) = bytes.split_at(end.unwrap_or(bytes.len()));
        let fits = self.fits(part.len());
        if end.is_none() {
            if fits {
                self.element.extend_from_slice(part);
            }
            return rest;
        }
        if !fits {
            self.skipped += 1;
        } else if self.element.is_empty() {
            on_element(part);
        } else {
            self.element.extend_from_slice(part);
            on_element(&self.element);
        }
        self.element.clear();
        self.skipping = false;
        self.place = if self.place == Place::Alone {
            Place::Behind
        } else {
            Place::Between
        };
        rest
    }

    /// How many of `bytes` the element still has, if it ends in them.
    fn end(&mut self, bytes: &[u8]) -> Option<usize> {
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            match self.string {
                Text::Escaped => self.string = Text::Inside,
                Text::Inside => {
                    at += memchr2(b'"', b'\\', &bytes[at..])?;
                    if bytes[at] == b'\\' {
                        self.string = Text::Escaped;
                    } else {
                        self.string = Text::Outside;
                        if self.depth == 0 {
                            return Some(at + 1);
                        }
                    }
                }
                Text::Outside => match byte {
                    b'"' => self.string = Text::Inside,
                    b'{' | b'[' => self.depth += 1,
                    b'}' | b']' if self.depth > 0 => {
                        self.depth -= 1;
                        if self.depth == 0 {
                            return Some(at + 1);
                        }
                    }
                    b',' | b'}' | b']' if self.depth == 0 => return Some(at),
                    _ if self.depth == 0 && byte.is_ascii_whitespace() => return Some(at),
                    _ => {}
                },
            }
            at += 1;
        }
        None
    }

    /// Whether the element is within the limit with `more` bytes. It only grows, so the outcome is the same wherever
    /// the reads cut it.
    fn fits(&mut self, more: usize) -> bool {
        if !self.skipping && self.element.len() + more > self.max_element {
            self.skipping = true;
            self.element.clear();
        }
        !self.skipping
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(max_element: usize, body: &str) -> (Vec<String>, u64) {
        let mut parser = ArrayParser::new(max_element);
        let mut elements = Vec::new();
        parser.push(body.as_bytes(), |element| {
            elements.push(String::from_utf8_lossy(element).into_owned());
        });
        parser.finish();
        (elements, parser.skipped())
    }

    fn check(body: &str, elements: &[&str], skipped: u64) {
        let elements = elements.iter().map(|element| (*element).to_owned()).collect();
        assert_eq!(parse(1 << 20, body), (elements, skipped), "{body:?}");
    }

    #[test]
    fn elements_of_every_kind() {
        check(
            "[{\"a\":[1,{}]}\n,\r\n{\"b\":2}]\n",
            &["{\"a\":[1,{}]}", "{\"b\":2}"],
            0,
        );
        check(
            " [ 1,null ,\"x\",[2],-3e4]",
            &["1", "null", "\"x\"", "[2]", "-3e4"],
            0,
        );
        check("[]", &[], 0);
        check("", &[], 0);
    }

    #[test]
    fn strings_hide_brackets_commas_and_quotes() {
        let tricky = r#"{"t":"]},[{ \" \\","k\"}":"\\\\"}"#;
        check(&format!("[{tricky},{tricky}]"), &[tricky, tricky], 0);
    }

    #[test]
    fn an_object_instead_of_the_array_is_one_element() {
        check(
            "\n{\"error\":{\"code\":400}}\n[1]",
            &["{\"error\":{\"code\":400}}"],
            0,
        );
    }

    #[test]
    fn what_is_no_json_is_counted_and_ends() {
        check("<html>[1]</html>", &[], 1);
        check("[1}}},2]]]3", &["1", "2"], 0);
        check("[{\"a\":1},{\"b\":", &["{\"a\":1}"], 1);
        check("[{\"a\":1},", &["{\"a\":1}"], 0);
    }

    #[test]
    fn an_element_over_the_limit_is_skipped_to_its_end() {
        let body = format!("[12345678,\"{}\",{{\"a\":[123]}},9]", "]".repeat(50));
        assert_eq!(parse(8, &body), (vec!["12345678".to_owned(), "9".to_owned()], 2));
    }
}
