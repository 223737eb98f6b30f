//! Cuts a stream into lines of bounded length. Blank ones are passed over.

use std::io::{BufRead, Read};

use super::entry::{MAX_ENTRY, Reason, reason};

/// The lines of a stream.
pub struct Lines<R> {
    input: R,
    ended: bool,
}

impl<R: BufRead> Lines<R> {
    /// The lines of `input`.
    pub fn new(input: R) -> Self {
        Self { input, ended: false }
    }

    fn line(&mut self) -> Result<Option<Vec<u8>>, Reason> {
        let mut line = Vec::new();
        let mut bounded = (&mut self.input).take(MAX_ENTRY as u64 + 1);
        bounded
            .read_until(b'\n', &mut line)
            .map_err(|_| reason::UNREADABLE)?;
        if line.len() > MAX_ENTRY && !line.ends_with(b"\n") {
            self.input.skip_until(b'\n').map_err(|_| reason::UNREADABLE)?;
            return Err(reason::TOO_LARGE);
        }
        Ok((!line.is_empty()).then_some(line))
    }
}

impl<R: BufRead> Iterator for Lines<R> {
    type Item = Result<Vec<u8>, Reason>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.ended {
            match self.line() {
                Ok(Some(line)) if line.trim_ascii().is_empty() => {}
                Ok(Some(line)) => return Some(Ok(line)),
                Ok(None) => self.ended = true,
                Err(why) => {
                    self.ended = why == reason::UNREADABLE;
                    return Some(Err(why));
                }
            }
        }
        None
    }
}
