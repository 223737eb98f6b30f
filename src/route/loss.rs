//! What a break lost: bytes, tokens, money, by the route's cache rules. Unknown stays unknown.
//!
//! A cache holds what was sent before up to its last entry; it still serves the longest entry in front of the first
//! change that the new request looks at. The difference is lost. Where entries are, and which are looked at, hangs on the
//! route: anywhere, at explicit markers with a look-back, or at the ends of messages.

use std::collections::HashSet;

use super::Price;
use crate::wire::places::Place;

/// What was lost.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Loss {
    /// Bytes of the prefix, in normal form, that the cache held and could not serve any more.
    pub bytes: u64,
    /// As tokens, by the bytes per token that this very conversation was measured at.
    pub tokens: Option<u64>,
    /// What reading them again cost more than reading them from the cache, in units of the user's own base price for a
    /// million input tokens.
    pub cost: Option<f64>,
}

/// What is documented of where a route's cache has its entries.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Facts {
    /// Where entries are.
    pub entries: Entries,
    /// Places that are looked at from each marker or end on, itself included; none where nothing limits it.
    pub look_back: Option<u32>,
    /// Entries end at multiples of so many tokens.
    pub granularity: Option<u64>,
    /// Shortest prefix that is cached, in tokens.
    pub minimum: Option<u64>,
}

/// Where a cache has entries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Entries {
    /// Anywhere, by itself.
    #[default]
    Anywhere,
    /// At explicit markers only.
    Markers,
    /// At the last end of a message that a request has, and at explicit markers.
    Ends,
}

/// A break, as values.
#[derive(Clone, Copy, Debug, Default)]
pub struct Broken<'a> {
    /// Bytes of the earlier prompt, in normal form.
    pub before: u64,
    /// The entries in it, front to back: its own ([`written`]) and those of requests that it continues.
    pub entries: &'a [Entry],
    /// The later prompt, front to back.
    pub after: &'a [Place],
    /// Bytes that both start with.
    pub kept: u64,
    /// Bytes to the token; none where no answer counted.
    pub per_token: Option<f64>,
    /// The tokens that the earlier answer says were read and written; none where it does not say both.
    pub told: Option<u64>,
}

/// An entry of the cache, at the end of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    /// The item's number in the prompt, from 0.
    pub at: u32,
    /// Bytes in front of its end, in normal form.
    pub bytes: u64,
}

/// What a break lost.
pub fn loss(broken: &Broken<'_>, facts: &Facts, price: Option<&Price>) -> Loss {
    // Nothing was read or written: nothing was there to lose.
    if broken.told == Some(0) && facts.entries != Entries::Anywhere {
        return broken.worth(0, price);
    }
    let kept = broken.kept.min(broken.before);
    let (held, served) = if facts.entries == Entries::Anywhere {
        (broken.cached(broken.before, facts), broken.cached(kept, facts))
    } else {
        let looked = looked(broken.after, facts);
        let long = |entry: &&Entry| entry.bytes <= broken.before && broken.is_long(entry.bytes, facts);
        let entries = || broken.entries.iter().filter(long);
        let found = entries().filter(|entry| entry.bytes <= kept && looked.contains(&entry.at));
        let furthest = |entry: &Entry| entry.bytes;
        (
            entries().map(furthest).max().unwrap_or(0),
            found.map(furthest).max().unwrap_or(0),
        )
    };
    broken.worth(held.saturating_sub(served), price)
}

/// The entries that a request writes.
pub fn written(places: &[Place], facts: &Facts) -> Vec<Entry> {
    let last_end = places.iter().rposition(|place| place.ends);
    let mut bytes = 0;
    let ends = places.iter().enumerate().map(|(at, place)| {
        bytes += place.bytes;
        let writes = match facts.entries {
            Entries::Anywhere => false,
            Entries::Markers => place.marker,
            Entries::Ends => place.marker || Some(at) == last_end,
        };
        writes.then_some(Entry { at: at as u32, bytes })
    });
    ends.flatten().collect()
}

/// The numbers of the items at whose ends a request looks for entries.
pub fn looked(places: &[Place], facts: &Facts) -> HashSet<u32> {
    let within = facts.look_back.map_or(usize::MAX, |within| within as usize);
    let numbers = |fits: fn(&Place) -> bool| {
        let places = places.iter().enumerate().filter(move |(_, place)| fits(place));
        places.map(|(at, _)| at).collect::<Vec<usize>>()
    };
    let marked = numbers(|place| place.marker);
    let looked: Vec<usize> = match facts.entries {
        Entries::Anywhere => (0..places.len()).collect(),
        Entries::Markers => {
            let back = |at: usize| (at + 1).saturating_sub(within)..=at;
            marked.into_iter().flat_map(back).collect()
        }
        Entries::Ends => {
            let ends = numbers(|place| place.ends);
            let recent = ends.len().saturating_sub(within);
            // The end of the head stays in reach however long the history is.
            let head = ends.first().copied();
            ends[recent..].iter().copied().chain(head).chain(marked).collect()
        }
    };
    looked.into_iter().map(|at| at as u32).collect()
}

impl Broken<'_> {
    /// What is cached of so many bytes where entries are anywhere.
    fn cached(&self, bytes: u64, facts: &Facts) -> u64 {
        if !self.is_long(bytes, facts) {
            return 0;
        }
        match self.per_token.zip(facts.granularity) {
            Some((per_token, step)) if step > 1 => {
                let step = step as f64 * per_token;
                (((bytes as f64 / step).floor() * step) as u64).min(bytes)
            }
            _ => bytes,
        }
    }

    /// Nothing shorter than the minimum is cached. Without counts it is not known how long that is.
    fn is_long(&self, bytes: u64, facts: &Facts) -> bool {
        let tokens = self.per_token.map(|per_token| bytes as f64 / per_token);
        tokens
            .zip(facts.minimum)
            .is_none_or(|(tokens, minimum)| tokens >= minimum as f64)
    }

    fn worth(&self, bytes: u64, price: Option<&Price>) -> Loss {
        let per_token = self.per_token.filter(|per_token| *per_token > 0.0);
        let tokens = per_token.map(|per_token| (bytes as f64 / per_token).round() as u64);
        Loss {
            bytes,
            tokens,
            cost: tokens.zip(price).and_then(|(tokens, price)| price.lost(tokens)),
        }
    }
}

#[cfg(test)]
#[path = "loss/tests.rs"]
mod tests;
