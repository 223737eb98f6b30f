//! What was learned of routes: small notes, read with the policy, written where a row of the table turned out not to
//! work.
//!
//! A note names its row by what the row says and not by its place, so that it stands when the table changes. Notes that
//! named rows by number lie under another name in old ledgers and are not read: each would be learned again at the cost
//! of one refusal.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::error::{LedgerError, Result};
use super::record;
use crate::route::Finding;

/// Under which name the notes are stored.
pub const META: &str = "learned rows";
/// Version of the form that is written.
const VERSION: u8 = 1;
/// How long a note is believed.
const BELIEVED: Duration = Duration::from_secs(7 * 24 * 3600);

/// A row of a route's table that does not work there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Learned {
    /// The row's name: see [`row_name`](crate::route::row_name).
    pub row: String,
    /// What is wrong with it.
    pub finding: Finding,
    /// When that was found, in milliseconds since the epoch.
    pub at_ms: u64,
    /// Until when this is believed.
    pub until_ms: u64,
}

impl Learned {
    /// A note that is believed for seven days.
    pub fn new(row: String, finding: Finding, at_ms: u64) -> Self {
        let until_ms = at_ms.saturating_add(BELIEVED.as_millis() as u64);
        Self {
            row,
            finding,
            at_ms,
            until_ms,
        }
    }

    /// Whether it still counts.
    pub fn is_believed(&self, now_ms: u64) -> bool {
        self.until_ms > now_ms
    }
}

/// The notes of all routes.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Routes(BTreeMap<String, Vec<Learned>>);

impl Routes {
    /// The notes of one route, by row.
    pub fn of(&self, route: &str) -> Vec<Learned> {
        self.0.get(route).cloned().unwrap_or_default()
    }

    /// The notes of all routes, by name.
    pub fn all(self) -> Vec<(String, Vec<Learned>)> {
        self.0.into_iter().collect()
    }

    /// Adds a note, or replaces the one on the same row. What nobody believes any more goes.
    pub fn learn(&mut self, route: &str, learned: Learned) {
        self.0.retain(|_, notes| {
            notes.retain(|note| note.is_believed(learned.at_ms));
            !notes.is_empty()
        });
        let notes = self.0.entry(route.to_owned()).or_default();
        notes.retain(|note| note.row != learned.row);
        notes.push(learned);
        notes.sort_by(|a, b| a.row.cmp(&b.row));
    }

    /// Removes the notes of one route.
    pub fn forget(&mut self, route: &str) {
        self.0.remove(route);
    }

    /// The stored form.
    pub fn encode(&self) -> Result<Vec<u8>> {
        postcard::to_extend(self, vec![VERSION])
            .map_err(|_| LedgerError::corrupt("notes that cannot be written"))
    }

    /// Reads the stored form.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        match bytes.split_first() {
            Some((&VERSION, rest)) => record::decode(rest),
            Some((&version, _)) => Err(LedgerError::Version(version.into())),
            None => Err(LedgerError::corrupt("empty notes")),
        }
    }
}

#[cfg(test)]
#[allow(clippy::expect_used)]
mod tests {
    use super::*;
    use crate::ledger::{MemoryLedger, store::Store};

    /// One note as it was written before rows had names: row 1 of route "r".
    const OLD: &[u8] = &[1, 1, b'r', 1, 1, 10, 17];

    #[test]
    fn notes_of_an_old_ledger_are_left_alone() {
        let mut ledger = MemoryLedger::new();
        ledger.store.put_meta("learned", OLD).expect("memory");
        assert_eq!(ledger.learned("r"), Ok(Vec::new()));
        let note = Learned::new("row".to_owned(), Finding::Dropped, 5);
        assert_eq!(ledger.learn("r", note.clone()), Ok(()));
        assert_eq!(ledger.learned("r"), Ok(vec![note]));
        assert_eq!(ledger.store.meta("learned"), Ok(Some(OLD.to_vec())));
    }

    #[test]
    fn notes_of_a_later_version_are_refused() {
        assert!(matches!(
            Routes::decode(&[VERSION + 1, 0]),
            Err(LedgerError::Version(_))
        ));
        assert!(Routes::decode(&[]).is_err());
    }
}
