//! A stack of decoders, polled over the chunks that are at hand instead of a socket.

use std::{
    io,
    pin::Pin,
    sync::mpsc::{self, Sender, TryRecvError},
    task::{Context, Poll, Waker, ready},
};

use async_compression::{
    tokio::bufread::{BrotliDecoder, DeflateDecoder, GzipDecoder, ZlibDecoder, ZstdDecoder},
    zstd::DParameter,
};
use bytes::Bytes;
use futures_util::stream;
use tokio::io::{AsyncBufRead, AsyncRead, AsyncReadExt, BufReader, ReadBuf};
use tokio_util::io::StreamReader;

/// More encodings on top of each other than anybody sends on purpose.
const MAX_CODINGS: usize = 4;
/// The largest window that a zstd frame of the content coding may ask for: 8 MiB (RFC 9659, section 3).
const ZSTD_WINDOW_LOG: u32 = 23;
const STEP: usize = 16 << 10;

/// A content coding of RFC 9110, section 8.4.1, or RFC 7932 and RFC 9659.
#[derive(Clone, Copy)]
pub(super) enum Coding {
    Gzip,
    Zstd,
    Brotli,
    Deflate,
}

/// The encodings in the order in which they were applied, `identity` left out; `None` if one is unknown.
pub(super) fn codings(content_encoding: &str) -> Option<Vec<Coding>> {
    let names = content_encoding.split(',').map(str::trim);
    let names = names.filter(|name| !name.is_empty() && !name.eq_ignore_ascii_case("identity"));
    let codings = names
        .map(|name| match name.to_ascii_lowercase().as_str() {
            "gzip" | "x-gzip" => Some(Coding::Gzip),
            "zstd" => Some(Coding::Zstd),
            "br" => Some(Coding::Brotli),
            "deflate" => Some(Coding::Deflate),
            _ => None,
        })
        .collect::<Option<Vec<_>>>()?;
    Some(codings).filter(|codings| codings.len() <= MAX_CODINGS)
}

type Source = Box<dyn AsyncBufRead + Send + Unpin>;

/// A stack of decoders over the chunks that were sent to it.
pub(super) struct Input {
    chunks: Option<Sender<Bytes>>,
    decoded: Source,
    step: Box<[u8]>,
}

impl Input {
    /// Decoders for `codings`, none of which gives more than `max_bytes` and one: where a layer in between is cut
    /// by that, the layer above it finds it truncated.
    pub(super) fn new(codings: &[Coding], max_bytes: usize) -> Self {
        let (sender, chunks) = mpsc::channel::<Bytes>();
        let chunks = stream::poll_fn(move |_| match chunks.try_recv() {
            Ok(chunk) => Poll::Ready(Some(io::Result::Ok(chunk))),
            Err(TryRecvError::Empty) => Poll::Pending,
            Err(TryRecvError::Disconnected) => Poll::Ready(None),
        });
        let encoded: Source = Box::new(StreamReader::new(chunks));
        Self {
            chunks: Some(sender),
            decoded: codings.iter().rev().fold(encoded, |encoded, coding| {
                let layer = undo(encoded, coding).take((max_bytes as u64).saturating_add(1));
                Box::new(BufReader::new(layer))
            }),
            step: vec![0; STEP].into(),
        }
    }

    /// Adds encoded bytes.
    pub(super) fn send(&self, chunk: Bytes) {
        if let Some(chunks) = &self.chunks {
            // The receiver lives in `decoded`, beside the sender.
            chunks.send(chunk).ok();
        }
    }

    /// No more encoded bytes will come.
    pub(super) fn close(&mut self) {
        self.chunks = None;
    }

    /// The next decoded bytes, none of them at the end; pending where more chunks are needed.
    pub(super) fn read(&mut self) -> Poll<io::Result<&[u8]>> {
        let mut buffer = ReadBuf::new(&mut self.step);
        let mut context = Context::from_waker(Waker::noop());
        ready!(Pin::new(&mut self.decoded).poll_read(&mut context, &mut buffer))?;
        let filled = buffer.filled().len();
        Poll::Ready(Ok(&self.step[..filled]))
    }
}

/// Puts the decoder of one encoding on top. Several gzip members or zstd frames in a row are one body.
fn undo(encoded: Source, coding: &Coding) -> Box<dyn AsyncRead + Send + Unpin> {
    match coding {
        Coding::Gzip => {
            let mut decoder = GzipDecoder::new(encoded);
            decoder.multiple_members(true);
            Box::new(decoder)
        }
        Coding::Zstd => {
            let window = DParameter::window_log_max(ZSTD_WINDOW_LOG);
            let mut decoder = ZstdDecoder::with_params(encoded, &[window]);
            decoder.multiple_members(true);
            Box::new(decoder)
        }
        Coding::Brotli => Box::new(BrotliDecoder::new(encoded)),
        Coding::Deflate => Box::new(Deflate::Unseen(Some(encoded))),
    }
}

/// `deflate` means the zlib format (RFC 9110, section 8.4.1.2), but some senders leave its two headers out.
enum Deflate {
    Unseen(Option<Source>),
    Zlib(ZlibDecoder<Source>),
    Raw(DeflateDecoder<Source>),
}

impl AsyncRead for Deflate {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if let Self::Unseen(encoded) = &mut *self {
            let first = match encoded {
                Some(encoded) => ready!(Pin::new(encoded).poll_fill_buf(cx))?.first().copied(),
                None => None,
            };
            let Some((first, encoded)) = first.zip(encoded.take()) else {
                return Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into()));
            };
            // The method in a zlib header's first byte is 8. A raw stream cannot start like that, unless with a
            // stored block whose padding is not zero.
            *self = if first & 0x0f == 8 {
                Self::Zlib(ZlibDecoder::new(encoded))
            } else {
                Self::Raw(DeflateDecoder::new(encoded))
            };
        }
        let read = match &mut *self {
            Self::Zlib(decoder) => Pin::new(decoder).poll_read(cx, buf),
            Self::Raw(decoder) => Pin::new(decoder).poll_read(cx, buf),
            Self::Unseen(_) => Poll::Ready(Ok(())),
        };
        // The decoders below say "other" where they get no further for want of input.
        read.map_err(|error| match error.kind() {
            io::ErrorKind::Other => io::ErrorKind::UnexpectedEof.into(),
            _ => error,
        })
    }
}
