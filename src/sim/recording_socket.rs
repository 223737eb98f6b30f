//! A socket that keeps what it read, because an HTTP library does not keep the case and order of header names.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// What one connection read since the last request was taken from it.
#[derive(Clone, Debug, Default)]
pub(super) struct Heard(Arc<Mutex<Ear>>);

#[derive(Debug, Default)]
struct Ear {
    bytes: Vec<u8>,
    closed: bool,
}

impl Heard {
    /// The header lines of the HTTP/1.1 request that has just been read whole; none if it does not look like one.
    pub(super) fn take_headers(&self) -> Option<Vec<(String, String)>> {
        let bytes = std::mem::take(&mut self.ear().bytes);
        let end = bytes.windows(4).position(|w| w == b"\r\n\r\n")?;
        let head = String::from_utf8_lossy(&bytes[..end]);
        let lines = head.split("\r\n").skip(1);
        let header = |line: &str| {
            let (name, value) = line.split_once(':')?;
            Some((name.to_owned(), value.trim().to_owned()))
        };
        lines.map(header).collect()
    }

    /// Keeps nothing more: the connection has left HTTP.
    pub(super) fn close(&self) {
        self.ear().closed = true;
    }

    fn ear(&self) -> MutexGuard<'_, Ear> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The socket itself.
#[derive(Debug)]
pub(super) struct Tap {
    pub(super) socket: TcpStream,
    pub(super) heard: Heard,
}

impl AsyncRead for Tap {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let read = Pin::new(&mut self.socket).poll_read(cx, buf);
        let mut ear = self.heard.ear();
        if !ear.closed {
            ear.bytes.extend_from_slice(&buf.filled()[before..]);
        }
        drop(ear);
        read
    }
}

impl AsyncWrite for Tap {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.socket).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(cx)
    }
}
