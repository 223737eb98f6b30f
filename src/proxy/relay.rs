//! The last phase: the upstream's body, frame by frame as it comes, to whoever still reads it.

use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::stream;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::{Body, Frame};
use tokio::{sync::mpsc, time::timeout};

use crate::proxy::{
    observe::SideCopy,
    upstream::{BoxError, OutgoingBody},
};

/// The sending end of a response's body.
pub type Frames = mpsc::Sender<Result<Frame<Bytes>, BoxError>>;

/// How a response ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// All of it was sent.
    Complete,
    /// The client went away.
    ClientLeft,
    /// The upstream broke off.
    UpstreamBroke,
    /// The upstream sent nothing more for the idle timeout.
    UpstreamSilent,
}

/// A body, and the end that feeds it. It holds one frame at most, so that the client's pace is the
/// upstream's.
pub fn body() -> (Frames, OutgoingBody) {
    let (frames, mut queue) = mpsc::channel(1);
    let body = StreamBody::new(stream::poll_fn(move |context| queue.poll_recv(context)));
    (frames, BodyExt::boxed_unsync(body))
}

/// A response on its way. What means its end is held back until that is on record: a client that has it sends its next
/// request.
pub struct Relay {
    from: OutgoingBody,
    to: Option<Frames>,
    idle: Duration,
    held: Option<Frame<Bytes>>,
    /// Body bytes of the upstream so far.
    pub bytes: u64,
    /// When the first of them came.
    pub first_byte: Option<Instant>,
    /// How it ended, once it did.
    pub end: Option<End>,
}

impl Relay {
    /// Nothing was sent yet.
    pub fn new(from: OutgoingBody, to: Frames, idle: Duration) -> Self {
        Self {
            from,
            to: Some(to),
            idle,
            held: None,
            bytes: 0,
            first_byte: None,
            end: None,
        }
    }

    /// Sends frames on until the end, until nobody reads them any more, or until a chunk that `is_last` says is the
    /// last that counts. That chunk, or the last frame of all, is held back.
    pub async fn run<S: Send + 'static>(&mut self, side: &mut SideCopy<S>, is_last: impl Fn(&[u8]) -> bool) {
        while let Some(to) = self.to.as_ref().filter(|_| self.end.is_none()) {
            let next = tokio::select! {
                next = timeout(self.idle, self.from.frame()) => next,
                () = to.closed() => { self.end = Some(End::ClientLeft); break }
            };
            let frame = match next {
                Ok(Some(Ok(frame))) => frame,
                Ok(None) => {
                    self.end = Some(End::Complete);
                    break;
                }
                Ok(Some(Err(error))) => {
                    self.end = Some(broken(to, error, End::UpstreamBroke).await);
                    break;
                }
                Err(silence) => {
                    self.end = Some(broken(to, silence.into(), End::UpstreamSilent).await);
                    break;
                }
            };
            let mut last = false;
            if let Some(data) = frame.data_ref() {
                self.first_byte.get_or_insert_with(Instant::now);
                self.bytes += data.len() as u64;
                side.push(data);
                last = is_last(data);
            }
            if self.from.is_end_stream() {
                self.end = Some(End::Complete);
            }
            if last || self.end.is_some() {
                self.held = Some(frame);
                break;
            }
            if to.send(Ok(frame)).await.is_err() {
                self.end = Some(End::ClientLeft);
            }
        }
        if self.end.is_some_and(|end| end != End::Complete) {
            side.cut();
        }
    }

    /// Lets the client have what was held back.
    pub async fn release(&mut self) {
        if let (Some(to), Some(held)) = (&self.to, self.held.take()) {
            // A client that left needs no end.
            let _ = to.send(Ok(held)).await;
        }
    }
}

/// An error instead of a frame makes the server cut the client's connection, as the upstream's was cut.
async fn broken(to: &Frames, error: BoxError, end: End) -> End {
    let _ = to.send(Err(error)).await;
    end
}
