//! The side copy of a response: chunks go to an observer in a task of its own and never hold the stream up.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use tokio::{sync::mpsc, task::JoinHandle, time::timeout};

/// Chunks that may wait for the observer; with one more, observing ends and the response goes on.
const QUEUE: usize = 1024;

/// Reads a response, chunk by chunk, and says at the end what it saw. It may take its time: it runs beside
/// the stream.
pub trait Observer: Send + 'static {
    /// What it saw.
    type Seen: Send + 'static;

    /// The next chunk, as it came off the wire.
    fn push(&mut self, chunk: &Bytes);

    /// The end. `complete` is false if chunks are missing: dropped here, or never sent by the upstream.
    fn finish(self, complete: bool) -> Self::Seen;
}

/// A response that is being observed.
pub struct SideCopy<Seen> {
    chunks: Option<mpsc::Sender<Bytes>>,
    complete: Arc<AtomicBool>,
    observing: Option<JoinHandle<Seen>>,
    seen: Option<Seen>,
}

impl<Seen: Send + 'static> SideCopy<Seen> {
    /// Starts `observer`.
    pub fn start<O: Observer<Seen = Seen>>(mut observer: O) -> Self {
        let (chunks, mut queue) = mpsc::channel::<Bytes>(QUEUE);
        let complete = Arc::new(AtomicBool::new(true));
        let told = Arc::clone(&complete);
        let observing = tokio::spawn(async move {
            while let Some(chunk) = queue.recv().await {
                observer.push(&chunk);
            }
            observer.finish(told.load(Ordering::Acquire))
        });
        Self {
            chunks: Some(chunks),
            complete,
            observing: Some(observing),
            seen: None,
        }
    }

    /// A copy that has come to its end: what it is given is dropped.
    pub fn over() -> Self {
        Self {
            chunks: None,
            complete: Arc::default(),
            observing: None,
            seen: None,
        }
    }

    /// Copies a chunk, or gives up on the rest if the observer is too far behind.
    pub fn push(&mut self, chunk: &Bytes) {
        if self
            .chunks
            .as_ref()
            .is_some_and(|chunks| chunks.try_send(chunk.clone()).is_err())
        {
            self.cut();
        }
    }

    /// The copy ends here though the response should have gone on.
    pub fn cut(&mut self) {
        self.complete.store(false, Ordering::Release);
        self.chunks = None;
    }

    /// No chunk will follow: gives the observer `patience` to come to its end, and tells whether it did.
    pub async fn settle(&mut self, patience: Duration) -> bool {
        self.chunks = None;
        if let Some(observing) = &mut self.observing
            && let Ok(end) = timeout(patience, observing).await
        {
            self.observing = None;
            self.seen = end.ok();
        }
        self.observing.is_none()
    }

    /// What was seen; `None` if the observer failed.
    pub async fn finish(mut self) -> Option<Seen> {
        self.chunks = None;
        match self.observing {
            Some(observing) => observing.await.ok(),
            None => self.seen,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Slow(Duration, usize);

    impl Observer for Slow {
        type Seen = (usize, bool);

        fn push(&mut self, chunk: &Bytes) {
            std::thread::sleep(self.0);
            self.1 += chunk.len();
        }

        fn finish(self, complete: bool) -> Self::Seen {
            (self.1, complete)
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_slow_observer_holds_nothing_up() {
        let mut side = SideCopy::start(Slow(Duration::from_millis(200), 0));
        let start = std::time::Instant::now();
        side.push(&Bytes::from_static(b"one"));
        assert!(!side.settle(Duration::from_millis(10)).await);
        assert!(start.elapsed() < Duration::from_millis(150));
        assert_eq!(side.finish().await, Some((3, true)));
    }

    #[tokio::test]
    async fn an_observer_that_falls_behind_is_told() {
        let mut side = SideCopy::start(Slow(Duration::ZERO, 0));
        // One thread: the observer cannot run before the first await.
        (0..QUEUE + 1).for_each(|_| side.push(&Bytes::from_static(b"x")));
        assert_eq!(side.finish().await, Some((QUEUE, false)));
    }
}
