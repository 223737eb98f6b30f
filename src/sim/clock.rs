//! The provider's time: real, or moved by hand so that a test of a lifetime does not sleep.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Time since the clock was made. Clones share it, so a test keeps one and hands the other to [`Config`](super::Config).
#[derive(Clone, Debug)]
pub struct Clock {
    started: Option<Instant>,
    moved_ms: Arc<AtomicU64>,
}

impl Clock {
    /// Runs with the machine's monotonic clock.
    pub fn real() -> Self {
        Self {
            started: Some(Instant::now()),
            moved_ms: Arc::default(),
        }
    }

    /// Stands still until [`advance`](Self::advance).
    pub fn manual() -> Self {
        Self {
            started: None,
            moved_ms: Arc::default(),
        }
    }

    /// Moves the clock forward, in whole milliseconds.
    pub fn advance(&self, by: Duration) {
        let ms = u64::try_from(by.as_millis()).unwrap_or(u64::MAX);
        self.moved_ms.fetch_add(ms, Ordering::SeqCst);
    }

    /// Time since the start.
    pub fn now(&self) -> Duration {
        let ran = self.started.map_or(Duration::ZERO, |s| s.elapsed());
        ran + Duration::from_millis(self.moved_ms.load(Ordering::SeqCst))
    }
}

impl Default for Clock {
    fn default() -> Self {
        Self::real()
    }
}
