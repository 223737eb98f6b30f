//! Which items of two sequences are the same item: an alignment that survives insertions, removals and moves.
//!
//! What both share in front and at the end is paired first, and then what occurs once on either side, in the longest order
//! that both have; from each pair the equal neighbours are taken along. That costs a sort of what is between, however
//! little the two have in common.

use std::collections::HashMap;
use std::ops::Range;

use crate::prefix::digest::Digest;

/// For each item of `old` its place in `new`; places rise, and none is given twice.
pub fn align(old: &[Digest], new: &[Digest]) -> Vec<Option<usize>> {
    let front = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let (old_rest, new_rest) = (&old[front..], &new[front..]);
    let ends = old_rest.iter().rev().zip(new_rest.iter().rev());
    let back = ends.take_while(|(a, b)| a == b).count();
    let mut pairs = vec![None; old.len()];
    (0..front).for_each(|place| pairs[place] = Some(place));
    (1..=back).for_each(|from_end| pairs[old.len() - from_end] = Some(new.len() - from_end));
    let (old_end, new_end) = (old.len() - back, new.len() - back);
    let anchors = rising(&unique_pairs(&old[front..old_end], &new[front..new_end]));
    let mut floor = (front, front);
    for (at, anchor) in anchors.iter().enumerate() {
        let (a, b) = (anchor.0 + front, anchor.1 + front);
        if pairs[a].is_some() || b < floor.1 {
            continue;
        }
        let ceiling = anchors
            .get(at + 1)
            .map_or((old_end, new_end), |next| (next.0 + front, next.1 + front));
        let before = (1..)
            .take_while(|n| a >= floor.0 + n && b >= floor.1 + n && old[a - n] == new[b - n])
            .count();
        let behind = (0..)
            .take_while(|n| a + n < ceiling.0 && b + n < ceiling.1 && old[a + n] == new[b + n])
            .count();
        (a - before..a + behind).for_each(|place| pairs[place] = Some(b + place - a));
        floor = (a + behind, b + behind);
    }
    pairs
}

/// Between which items of `new` stands what took the place of `old[at]`, which has no pair: the items behind the last
/// paired one in front of it, up to the next paired one behind it. With it the first of the unpaired old items.
pub fn gap(pairs: &[Option<usize>], at: usize, new_len: usize) -> (Range<usize>, Range<usize>) {
    let start = pairs[..at]
        .iter()
        .rposition(Option::is_some)
        .map_or(0, |place| place + 1);
    let end = pairs[at..]
        .iter()
        .position(Option::is_some)
        .map_or(pairs.len(), |place| at + place);
    let new_start = start
        .checked_sub(1)
        .and_then(|place| pairs[place])
        .map_or(0, |place| place + 1);
    let new_end = pairs.get(end).copied().flatten().unwrap_or(new_len);
    (start..end, new_start..new_end.max(new_start))
}

/// The places of what occurs once in both, in the order of `old`.
fn unique_pairs(old: &[Digest], new: &[Digest]) -> Vec<(usize, usize)> {
    let (old_places, new_places) = (once(old), once(new));
    let both = old.iter().enumerate().filter_map(|(place, digest)| {
        let here = old_places.get(digest).copied().flatten()?;
        let there = new_places.get(digest).copied().flatten()?;
        (here == place).then_some((place, there))
    });
    both.collect()
}

/// Where each item stands; none where it stands twice.
fn once(items: &[Digest]) -> HashMap<Digest, Option<usize>> {
    let mut places = HashMap::with_capacity(items.len());
    for (place, digest) in items.iter().enumerate() {
        places
            .entry(*digest)
            .and_modify(|known| *known = None)
            .or_insert(Some(place));
    }
    places
}

/// The longest run of pairs, not of neighbours, whose second places rise as their first do.
fn rising(pairs: &[(usize, usize)]) -> Vec<(usize, usize)> {
    // tails[n]: the pair with the smallest second place that ends a run of n + 1.
    let (mut tails, mut before): (Vec<usize>, Vec<Option<usize>>) = (Vec::new(), Vec::new());
    for (index, pair) in pairs.iter().enumerate() {
        let length = tails.partition_point(|tail| pairs[*tail].1 < pair.1);
        before.push(length.checked_sub(1).map(|shorter| tails[shorter]));
        tails.truncate(tails.len().max(length));
        match tails.get_mut(length) {
            Some(tail) => *tail = index,
            None => tails.push(index),
        }
    }
    let mut run: Vec<(usize, usize)> = std::iter::successors(tails.last().copied(), |at| before[*at])
        .map(|at| pairs[at])
        .collect();
    run.reverse();
    run
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn digests(text: &str) -> Vec<Digest> {
        text.bytes().map(|byte| Digest([byte; 16])).collect()
    }

    fn places(old: &str, new: &str) -> Vec<Option<usize>> {
        align(&digests(old), &digests(new))
    }

    #[test]
    fn insertions_removals_and_moves() {
        let some = |places: &[usize]| places.iter().copied().map(Some).collect::<Vec<_>>();
        assert_eq!(places("abc", "abcd"), some(&[0, 1, 2]));
        assert_eq!(places("abc", "xabyc"), some(&[1, 2, 4]));
        assert_eq!(places("abc", "ac"), [Some(0), None, Some(1)]);
        assert_eq!(places("abcd", "aXcdY"), [Some(0), None, Some(2), Some(3)]);
        // What stands twice goes with its neighbours.
        assert_eq!(places("okbok", "xokbyok"), some(&[1, 2, 3, 5, 6]));
        let moved = places("abcd", "acdb");
        assert_eq!(moved, [Some(0), None, Some(1), Some(2)]);
        assert_eq!(gap(&moved, 1, 4), (1..2, 1..1));
        assert_eq!(gap(&places("abcd", "aXYd"), 2, 4), (1..3, 1..3));
        assert_eq!(places("", "a"), []);
    }

    proptest! {
        #[test]
        fn pairs_are_equal_items_in_rising_places(old in "[a-f]{0,24}", new in "[a-f]{0,24}") {
            let (a, b) = (digests(&old), digests(&new));
            let mut last = None;
            for (place, pair) in align(&a, &b).into_iter().enumerate() {
                let Some(pair) = pair else { continue };
                prop_assert_eq!(a[place], b[pair]);
                prop_assert!(last.is_none_or(|last| last < pair));
                last = Some(pair);
            }
        }

        #[test]
        fn of_items_that_occur_once_the_longest_order_stands(old in Just((0u8..40).collect::<Vec<_>>()).prop_shuffle(), drop in 0usize..20) {
            let new: Vec<Digest> = (0u8..40).skip(drop).map(|byte| Digest([byte; 16])).collect();
            let old: Vec<Digest> = old.into_iter().map(|byte| Digest([byte; 16])).collect();
            let found = align(&old, &new).into_iter().flatten().count();
            prop_assert!(found * found >= new.len().min(20) / 2, "{found}");
        }
    }

    #[test]
    fn thousands_of_items_cost_no_square() {
        let many = |from: u32| -> Vec<Digest> {
            (from..from + 200_000)
                .map(|n| Digest(u128::from(n).to_le_bytes()))
                .collect()
        };
        let started = std::time::Instant::now();
        assert_eq!(align(&many(0), &many(1_000_000)).iter().flatten().count(), 0);
        assert_eq!(align(&many(0), &many(100_000)).iter().flatten().count(), 100_000);
        assert!(started.elapsed().as_secs() < 20);
    }
}
