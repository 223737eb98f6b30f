//! A response body that goes out piece by piece, with pauses, and may break off.

use std::collections::VecDeque;
use std::io;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::{Stream, unfold};
use hyper::body::Frame;

use super::record::Delivery;
use super::server::Shared;

/// The body of an answer. Once it ends, breaks or is dropped, the record of its request says which.
pub(super) fn stream(
    pieces: Vec<Bytes>,
    pause: Duration,
    cut: Option<usize>,
    watch: Watch,
) -> impl Stream<Item = io::Result<Frame<Bytes>>> {
    let sender = Sender {
        pieces: pieces.into(),
        pause,
        left: cut,
        first: true,
        watch,
    };
    unfold(Some(sender), |sender| async move {
        let (frame, sender) = sender?.next().await?;
        Some((frame, sender))
    })
}

/// Notes the end of an exchange in its record; dropped early, it notes that the client went away.
#[derive(Debug)]
pub(super) struct Watch {
    shared: Shared,
    number: u64,
    ended: bool,
}

impl Watch {
    pub(super) fn new(shared: Shared, number: u64) -> Self {
        Self {
            shared,
            number,
            ended: false,
        }
    }

    pub(super) fn end(&mut self, delivery: Delivery) {
        if std::mem::replace(&mut self.ended, true) {
            return;
        }
        let mut state = self.shared.state();
        let number = self.number;
        if let Some(record) = state.records.iter_mut().find(|r| r.number == number) {
            record.delivery = delivery;
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.end(Delivery::Abandoned);
    }
}

/// Enough for a loopback socket to take what is left.
const FLUSH: Duration = Duration::from_millis(10);

struct Sender {
    pieces: VecDeque<Bytes>,
    pause: Duration,
    left: Option<usize>,
    first: bool,
    watch: Watch,
}

impl Sender {
    /// The next piece and what is left to do; an error breaks the connection.
    async fn next(mut self) -> Option<(io::Result<Frame<Bytes>>, Option<Self>)> {
        if !std::mem::replace(&mut self.first, false) && !self.pause.is_zero() {
            tokio::time::sleep(self.pause).await;
        }
        if self.left == Some(0) {
            // The server drops what it has not flushed when a body fails; a pause lets it flush.
            tokio::time::sleep(FLUSH).await;
            self.watch.end(Delivery::Cut);
            return Some((Err(io::Error::other("cut as scripted")), None));
        }
        let Some(mut piece) = self.pieces.pop_front() else {
            self.watch.end(Delivery::Sent);
            return None;
        };
        if let Some(left) = &mut self.left {
            piece.truncate(*left);
            *left -= piece.len();
        } else if self.pieces.is_empty() {
            // With a Content-Length the server asks for nothing more behind the last piece.
            self.watch.end(Delivery::Sent);
        }
        Some((Ok(Frame::data(piece)), Some(self)))
    }
}
