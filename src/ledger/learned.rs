//! What routes refused: small notes, read with the policy and written after a resend that worked.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::error::{LedgerError, Result};
use super::record;

/// A row of a route's table that the upstream refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Learned {
    /// The row, by its place in the route's list.
    pub row: u32,
    /// When it was refused, in milliseconds since the epoch.
    pub at_ms: u64,
    /// Until when this is believed.
    pub until_ms: u64,
}

/// The notes of all routes.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Routes(BTreeMap<String, Vec<Learned>>);

impl Routes {
    /// The notes of one route, by row.
    pub fn of(&self, route: &str) -> Vec<Learned> {
        self.0.get(route).cloned().unwrap_or_default()
    }

    /// Adds a note, or replaces the one on the same row.
    pub fn learn(&mut self, route: &str, learned: Learned) {
        let notes = self.0.entry(route.to_owned()).or_default();
        notes.retain(|note| note.row != learned.row);
        notes.push(learned);
        notes.sort_by_key(|note| note.row);
    }

    /// Removes the notes of one route.
    pub fn forget(&mut self, route: &str) {
        self.0.remove(route);
    }

    /// The stored form.
    pub fn encode(&self) -> Result<Vec<u8>> {
        postcard::to_allocvec(self).map_err(|_| LedgerError::corrupt("notes that cannot be written"))
    }

    /// Reads the stored form.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        record::decode(bytes)
    }
}
