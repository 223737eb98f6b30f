//! Under which rows a step is listed.
//!
//! A common key may be known to thousands of lineages. Each key is therefore listed once for all and once more for
//! the step's head, its session and both, so that those that suit a request best are a look-up away.

use super::store::KeyRow;
use crate::prefix::digest::{Digest, Hasher};
use crate::prefix::past::{Path, Seq};

/// The facet that every key has.
pub const ANY: u64 = 0;

/// Where a step's keys lie.
pub struct Listing {
    lineage: Seq,
    seq: Seq,
    facets: Vec<u64>,
}

impl Listing {
    /// Of a step with this head and session.
    pub fn new(lineage: Seq, seq: Seq, head: Digest, session: Option<Digest>) -> Self {
        Self {
            lineage,
            seq,
            facets: facets(head, session),
        }
    }

    /// Of a path.
    pub fn of(path: &Path) -> Self {
        Self::new(path.lineage, path.seq, path.head.digest, path.hints.session)
    }

    /// The rows that list the step under `key`.
    pub fn rows(&self, key: Digest) -> impl Iterator<Item = KeyRow> {
        let row = move |facet: &u64| KeyRow {
            key,
            facet: *facet,
            lineage: self.lineage,
            seq: self.seq,
        };
        self.facets.iter().map(row)
    }
}

/// What a key is narrowed to for this head and session, best first; the last one, [`ANY`], takes all.
pub fn facets(head: Digest, session: Option<Digest>) -> Vec<u64> {
    match session {
        Some(session) => vec![facet(&[head, session]), facet(&[head]), facet(&[session]), ANY],
        None => vec![facet(&[head]), ANY],
    }
}

/// Half a digest: two that are equal by chance only put a lineage too far in front.
fn facet(parts: &[Digest]) -> u64 {
    let mut hasher = Hasher::new("inkfast facet v1");
    for part in parts {
        hasher.part(&part.0);
    }
    let [a, b, c, d, e, f, g, h, ..] = hasher.finish().0;
    u64::from_le_bytes([a, b, c, d, e, f, g, h])
}
