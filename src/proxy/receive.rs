//! The first phase: the client's body, in one piece if it is within the limit.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::{StreamExt, TryStreamExt, stream};
use http_body_util::{BodyExt, BodyStream, Full, StreamBody};
use hyper::body::{Body, Frame, Incoming};
use tokio::time::timeout;

use crate::{error::RequestError, proxy::upstream::OutgoingBody};

/// A body as it came.
pub enum Received {
    /// All of it.
    Whole(Bytes),
    /// More than the limit: what was read until that was known, and the rest, still to come.
    Oversize {
        /// What was read.
        read: Bytes,
        /// What was not.
        rest: Incoming,
    },
}

/// Reads `body` up to `limit` bytes.
///
/// # Errors
/// The body broke off, or nothing came for `idle`.
pub async fn receive(mut body: Incoming, limit: usize, idle: Duration) -> Result<Received, RequestError> {
    let announced = body
        .size_hint()
        .exact()
        .map_or(0, |length| usize::try_from(length).unwrap_or(usize::MAX));
    if announced > limit {
        return Ok(Received::Oversize {
            read: Bytes::new(),
            rest: body,
        });
    }
    let mut read = BytesMut::with_capacity(announced);
    while let Some(frame) = timeout(idle, body.frame())
        .await
        .map_err(|_| RequestError::ClientSilent)?
    {
        let frame = frame.map_err(|_| RequestError::ClientBody)?;
        read.extend_from_slice(frame.data_ref().map_or(&[], Bytes::as_ref));
        if read.len() > limit {
            return Ok(Received::Oversize {
                read: read.freeze(),
                rest: body,
            });
        }
    }
    Ok(Received::Whole(read.freeze()))
}

impl Received {
    /// The length, if it is known.
    pub fn length(&self) -> Option<u64> {
        match self {
            Self::Whole(body) => Some(body.len() as u64),
            Self::Oversize { .. } => None,
        }
    }

    /// The same bytes as a body.
    pub fn into_body(self) -> OutgoingBody {
        match self {
            Self::Whole(body) => Full::new(body).map_err(|never| match never {}).boxed_unsync(),
            Self::Oversize { read, rest } => joined(read, rest),
        }
    }
}

/// What was read of a body, and the rest of it, as one body again.
pub fn joined(read: Bytes, rest: Incoming) -> OutgoingBody {
    let read = stream::iter((!read.is_empty()).then(|| Ok(Frame::data(read))));
    let rest = TryStreamExt::map_err(BodyStream::new(rest), Into::into);
    BodyExt::boxed_unsync(StreamBody::new(read.chain(rest)))
}
