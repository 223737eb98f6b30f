//! How many bytes live conversations carry that a later node replaced: the price of appending, for a gauge.

use std::sync::{Mutex, PoisonError};

use hashlink::LruCache;

use crate::prefix::past::Seq;

/// More conversations are not alive at once, for this gauge.
const LIVE: usize = 4096;

/// Bytes by conversation.
pub struct Superseded(Mutex<LruCache<Seq, u64>>);

impl Superseded {
    /// No conversation yet.
    pub fn new() -> Self {
        Self(Mutex::new(LruCache::new(LIVE)))
    }

    /// The last request of a conversation carried so much: what all carry now, none while none ever did.
    pub fn note(&self, lineage: Seq, bytes: u64) -> Option<u64> {
        let mut live = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if bytes > 0 || live.contains_key(&lineage) {
            live.insert(lineage, bytes);
        }
        (!live.is_empty()).then(|| live.iter().map(|(_, bytes)| bytes).sum())
    }
}

impl Default for Superseded {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conversations_are_added_up_and_what_was_folded_is_gone() {
        let superseded = Superseded::new();
        assert_eq!(superseded.note(1, 0), None);
        assert_eq!(superseded.note(1, 5), Some(5));
        assert_eq!(superseded.note(2, 7), Some(12));
        assert_eq!(superseded.note(1, 0), Some(7));
    }
}
