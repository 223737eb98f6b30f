//! Retention: whole lineages go, those unused for longest first and those with nodes last.

use super::book::Book;
use super::error::Result;
use super::store::{Lineage, Store};
use crate::prefix::past::Seq;

impl<S: Store> Book<S> {
    /// Removes at most `limit` lineages, and says how many: those unused for `retention_ms`, then, while more than
    /// `max_bytes` are in use, those unused for longest; those with nodes last.
    pub fn prune(&mut self, now_ms: u64, retention_ms: u64, max_bytes: u64, limit: usize) -> Result<usize> {
        let removed = self.write(false, |book| {
            let mut removed = 0;
            while removed < limit
                && let Some(lineage) = book.removable(now_ms.saturating_sub(retention_ms), max_bytes)?
            {
                book.remove(lineage)?;
                removed += 1;
            }
            Ok(removed)
        })?;
        if removed > 0 {
            self.store.shrink()?;
        }
        Ok(removed)
    }

    /// The next lineage to remove, if any must go.
    fn removable(&self, used_before: u64, max_bytes: u64) -> Result<Option<Seq>> {
        let plain = self.store.oldest(false)?;
        let noded = self.store.oldest(true)?;
        let is_expired = |lineage: &&Lineage| lineage.used_ms < used_before;
        if let Some(expired) = [&plain, &noded].into_iter().flatten().find(is_expired) {
            return Ok(Some(expired.lineage));
        }
        let over = self.store.bytes()? > max_bytes;
        Ok(plain.or(noded).filter(|_| over).map(|lineage| lineage.lineage))
    }

    fn remove(&mut self, lineage: Seq) -> Result<()> {
        for seq in self.store.steps(lineage)? {
            let step = self.known(seq)?;
            self.remove_keys(&step)?;
            for digest in self.loader().record(seq)?.blobs() {
                self.store.release_blob(digest, lineage)?;
            }
            self.caches.forget(seq);
        }
        self.store.remove_lineage(lineage)
    }
}
