//! The last phase: the upstream's body, frame by frame as it comes, to whoever still reads it.

use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::stream;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::{Body, Frame, Incoming};
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

/// What became of a response.
pub struct Relayed {
    /// How it ended.
    pub end: End,
    /// Body bytes of the upstream.
    pub bytes: u64,
    /// When the first of them came.
    pub first_byte: Option<Instant>,
    /// What the client still waits for.
    pub tail: Tail,
}

/// The end of a response, held back until what it means is on record: a client that has it sends its next
/// request.
pub struct Tail {
    to: Option<Frames>,
    last: Option<Frame<Bytes>>,
}

/// A body, and the end that feeds it. It holds one frame at most, so that the client's pace is the
/// upstream's.
pub fn body() -> (Frames, OutgoingBody) {
    let (frames, mut queue) = mpsc::channel(1);
    let body = StreamBody::new(stream::poll_fn(move |context| queue.poll_recv(context)));
    (frames, BodyExt::boxed_unsync(body))
}

/// Sends `from` on until its end, which is left in the tail, or until nobody reads it any more. Returning
/// drops `from`, which cancels an unfinished response.
pub async fn relay<S: Send + 'static>(
    mut from: Incoming,
    to: Frames,
    side: &mut SideCopy<S>,
    idle: Duration,
) -> Relayed {
    let (mut bytes, mut first_byte, mut last) = (0, None, None);
    let end = loop {
        let next = tokio::select! {
            next = timeout(idle, from.frame()) => next,
            () = to.closed() => break End::ClientLeft,
        };
        let frame = match next {
            Ok(Some(Ok(frame))) => frame,
            Ok(None) => break End::Complete,
            Ok(Some(Err(error))) => break broken(&to, error.into(), End::UpstreamBroke).await,
            Err(silence) => break broken(&to, silence.into(), End::UpstreamSilent).await,
        };
        if let Some(data) = frame.data_ref() {
            first_byte.get_or_insert_with(Instant::now);
            bytes += data.len() as u64;
            side.push(data);
        }
        if from.is_end_stream() {
            last = Some(frame);
            break End::Complete;
        }
        if to.send(Ok(frame)).await.is_err() {
            break End::ClientLeft;
        }
    };
    if end != End::Complete {
        side.cut();
    }
    Relayed {
        end,
        bytes,
        first_byte,
        tail: Tail { to: Some(to), last },
    }
}

impl Tail {
    /// Lets the client have the end. The second time it does nothing.
    pub async fn release(&mut self) {
        if let (Some(to), Some(last)) = (self.to.take(), self.last.take()) {
            // A client that left needs no end.
            let _ = to.send(Ok(last)).await;
        }
    }
}

/// An error instead of a frame makes the server cut the client's connection, as the upstream's was cut.
async fn broken(to: &Frames, error: BoxError, end: End) -> End {
    let _ = to.send(Err(error)).await;
    end
}
