//! Digests of items and chains: the only file that names the hash function.
//!
//! Every digest is BLAKE3 with a domain string and length-prefixed parts, cut to 128 bits. The newtypes keep
//! the forms apart: a [`Wire`] digest is of the bytes as they stand, a [`Canonical`] digest of the normal form,
//! a [`Chain`] digest of an item with everything before it. No digest is ever sent upstream.

use std::fmt;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// 128 bits of BLAKE3.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize)]
pub struct Digest(pub [u8; 16]);

/// Digest of an item's bytes as they stand, cache markers masked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Wire(pub Digest);

/// Digest of an item in normal form: what the provider's cache can tell apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Canonical(pub Digest);

/// Digest of a history item and all history items before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Chain(pub Digest);

/// A running hash over length-prefixed parts.
///
/// Parts are gathered first: BLAKE3 hashes the chunks of one buffer side by side, but those of parts that come bit by
/// bit one after another. What is large fills the hash's lanes anyway and is not copied.
pub struct Hasher {
    gathered: Vec<u8>,
    running: Option<Box<blake3::Hasher>>,
}

/// The most bytes that are gathered.
const GATHERED: usize = 16 << 10;

impl Hasher {
    /// Starts a hash in `domain`: equal parts in two domains never have equal digests.
    pub fn new(domain: &str) -> Self {
        Self::over(None, domain)
    }

    /// Starts a keyed hash, for values that a reader of the ledger must not be able to guess.
    pub fn keyed(key: &[u8; 32], domain: &str) -> Self {
        Self::over(Some(Box::new(blake3::Hasher::new_keyed(key))), domain)
    }

    fn over(running: Option<Box<blake3::Hasher>>, domain: &str) -> Self {
        let gathered = Vec::with_capacity(128);
        let mut hasher = Self { gathered, running };
        hasher.part(domain.as_bytes());
        hasher
    }

    /// Adds one part; its length is hashed with it, so `ab` + `c` is not `a` + `bc`.
    pub fn part(&mut self, bytes: &[u8]) -> &mut Self {
        self.pieces(&[bytes])
    }

    /// Adds one part that lies in several pieces; equal to the part of their concatenation.
    pub fn pieces(&mut self, pieces: &[&[u8]]) -> &mut Self {
        let length: usize = pieces.iter().map(|piece| piece.len()).sum();
        self.gathered.reserve(length.min(GATHERED) + 8);
        self.update(&(length as u64).to_le_bytes());
        pieces.iter().for_each(|piece| self.update(piece));
        self
    }

    /// The first 128 bits.
    pub fn finish(&self) -> Digest {
        match &self.running {
            None => cut(blake3::hash(&self.gathered)),
            Some(running) => cut(running.clone().update(&self.gathered).finalize()),
        }
    }

    fn update(&mut self, bytes: &[u8]) {
        if self.gathered.len() + bytes.len() <= GATHERED {
            return self.gathered.extend_from_slice(bytes);
        }
        let running = self.running.get_or_insert_with(Box::default);
        running.update(&self.gathered).update(bytes);
        self.gathered.clear();
    }
}

impl Digest {
    /// Digest of one byte string in `domain`.
    pub fn of(domain: &str, bytes: &[u8]) -> Self {
        Hasher::new(domain).part(bytes).finish()
    }

    /// Keyed digest of one byte string in `domain`.
    pub fn keyed(key: &[u8; 32], domain: &str, bytes: &[u8]) -> Self {
        Hasher::keyed(key, domain).part(bytes).finish()
    }

    /// Digest of at most three digests in a domain of at most 16 bytes: all fits into one block of the hash, so that
    /// the many keys of a request cost little. How many there are is fixed by the domain.
    pub fn of_few<const N: usize>(domain: &'static str, digests: [Self; N]) -> Self {
        const { assert!(N <= 3, "one block holds the domain and three digests") };
        debug_assert!(domain.len() <= 16);
        let mut block = [[0; 16]; 4];
        block[0]
            .iter_mut()
            .zip(domain.bytes())
            .for_each(|(to, from)| *to = from);
        block[1..]
            .iter_mut()
            .zip(digests)
            .for_each(|(to, from)| *to = from.0);
        cut(blake3::hash(block.as_flattened()))
    }

    /// Digest of a list of digests, in order.
    pub fn of_all<'a>(domain: &str, digests: impl IntoIterator<Item = &'a Digest>) -> Self {
        let mut hasher = Hasher::new(domain);
        for digest in digests {
            hasher.update(&digest.0);
        }
        hasher.finish()
    }
}

impl Chain {
    /// The chain of no item.
    pub const EMPTY: Self = Self(Digest([0; 16]));

    /// This chain with one more item.
    pub fn then(self, item: Canonical) -> Self {
        Self(Digest::of_few("inkfast chain v1", [self.0, item.0]))
    }
}

/// The first 128 bits of a hash.
fn cut(hash: blake3::Hash) -> Digest {
    let mut first = [0; 16];
    first.copy_from_slice(&hash.as_bytes()[..16]);
    Digest(first)
}

/// The namespace of a ledger's item ids: from its own key, so that a short secret cannot be guessed from its id.
pub fn namespace(key: &[u8; 32]) -> Uuid {
    Uuid::new_v5(
        &Uuid::NAMESPACE_OID,
        &Digest::keyed(key, "inkfast item ids v1", b"").0,
    )
}

/// The id that people see for an item: UUIDv5 over its kind and canonical digest, within `namespace`.
pub fn item_id(namespace: &Uuid, kind: &str, canonical: Canonical) -> Uuid {
    let mut name = Vec::with_capacity(kind.len() + 17);
    name.extend_from_slice(kind.as_bytes());
    name.push(0);
    name.extend_from_slice(&canonical.0.0);
    Uuid::new_v5(namespace, &name)
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_not_ambiguous() {
        let two = |a: &[u8], b: &[u8]| Hasher::new("t").part(a).part(b).finish();
        assert_ne!(two(b"ab", b"c"), two(b"a", b"bc"));
        assert_ne!(Digest::of("t", b"x"), Digest::of("u", b"x"));
        assert_eq!(
            Hasher::new("t").pieces(&[b"ab", b"c"]).finish(),
            Hasher::new("t").part(b"abc").finish()
        );
    }

    #[test]
    fn a_key_changes_every_digest() {
        assert_ne!(
            Digest::keyed(&[1; 32], "t", b"x"),
            Digest::keyed(&[2; 32], "t", b"x")
        );
    }
}
