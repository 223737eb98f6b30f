//! The paths that went out last, for the time in which the ledger does not answer.
//!
//! A conversation that holds nodes, or thinking that is bound to the form in which it went out, cannot go on without
//! its path. What is kept here is enough to send it again and to add nothing to it; the ledger alone is durable.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hashlink::LruCache;

use crate::prefix::{Keys, digest::Digest, past::Path};

/// More paths are not kept: the last few turns of some hundred conversations.
const KEPT: usize = 1024;

/// Paths by the key of their last item, and by that of their response.
pub struct Recent(Mutex<LruCache<Digest, Arc<Path>>>);

impl Recent {
    /// Nothing yet.
    pub fn new() -> Self {
        Self(Mutex::new(LruCache::new(KEPT)))
    }

    /// The request of these keys went out as `path` and got `response`; no path where it can go on without.
    pub fn keep(&self, keys: &Keys, response: Option<Digest>, path: Option<Path>) {
        let path = path.map(Arc::new);
        for key in keys.chains.first().copied().into_iter().chain(response) {
            match &path {
                Some(path) => self.locked().insert(key, Arc::clone(path)),
                None => self.locked().remove(&key),
            };
        }
    }

    /// The longest path that a request of these keys could continue.
    pub fn find(&self, keys: &Keys) -> Option<Arc<Path>> {
        let mut kept = self.locked();
        if let Some(response) = keys.response {
            return kept.get(&response).cloned();
        }
        keys.chains.iter().find_map(|chain| kept.get(chain).cloned())
    }

    /// The lock is held for one call.
    fn locked(&self) -> MutexGuard<'_, LruCache<Digest, Arc<Path>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for Recent {
    fn default() -> Self {
        Self::new()
    }
}
