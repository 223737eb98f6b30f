//! Whether updates are moved to the front on a route, or left out: weighed over its requests.
//!
//! Pure, and careful: one suspicion is no finding. An upstream that moves operator messages to the front loses its cache
//! whenever a new one comes, and only then, so requests with a new one are held against those without. One that leaves
//! them out counts fewer tokens than were sent. A row is given up after [`ENOUGH`] suspicions with no sign of the
//! contrary between them; the next row does what it did, so a wrong finding costs little.

use super::Finding;
use super::warmth::{Continuation, Facts, Miss, Warmth, per_token, warmth};

/// So many suspicions in a row are a finding.
pub const ENOUGH: u8 = 3;

/// Where no lifetime is documented, a prefix that was sent longer ago is not expected in the cache.
const LIFETIME_MS: u64 = 300_000;
/// An update of fewer tokens does not show in the length of a prompt.
const SHOWS: f64 = 64.0;

/// What was found about one request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// Why the cache did not serve it; none where it did, or where that is not known.
    pub miss: Option<Miss>,
    /// The row of its new update is to be given up.
    pub finding: Option<Finding>,
}

/// What a route's requests showed so far.
#[derive(Clone, Debug, Default)]
pub struct Evidence {
    row: String,
    hoisted: u8,
    dropped: u8,
    /// Whether the last request without a new update was served: one in a tool loop, one where the user spoke.
    others: [Option<bool>; 2],
}

impl Evidence {
    /// Weighs one more request; `row` names the row of its new update.
    pub fn weigh(&mut self, row: Option<&str>, seen: &Continuation, facts: &Facts) -> Found {
        let warmth = warmth(seen, facts);
        let miss = if let Warmth::Missed(miss) = warmth {
            Some(miss)
        } else {
            None
        };
        let Some(row) = row.filter(|_| seen.node > 0) else {
            let others = &mut self.others[usize::from(seen.speaks)];
            match warmth {
                Warmth::Served => *others = Some(true),
                Warmth::Missed(Miss::RoutingOrEviction) => *others = Some(false),
                Warmth::Missed(_) | Warmth::Unknown => {}
            }
            return Found { miss, finding: None };
        };
        let suspicion = suspicion(seen, facts, self.others);
        self.count(row, suspicion);
        // The first time it may as well be an eviction.
        let again = suspicion == Some(Finding::Hoisted) && self.hoisted > 1;
        let hoisted = again.then_some(Miss::HoistedDownstream);
        if warmth == Warmth::Served {
            self.hoisted = 0;
        }
        if is_left_out(seen) == Some(false) {
            self.dropped = 0;
        }
        Found {
            miss: hoisted.or(miss),
            finding: suspicion.filter(|_| self.is_enough()),
        }
    }

    fn count(&mut self, row: &str, suspicion: Option<Finding>) {
        if self.row != row {
            (self.row, self.hoisted, self.dropped) = (row.to_owned(), 0, 0);
        }
        match suspicion {
            Some(Finding::Hoisted) => self.hoisted += 1,
            Some(Finding::Dropped) => self.dropped += 1,
            _ => {}
        }
    }

    /// Whether the row is to be given up; then it begins anew, for the day on which it is tried again.
    fn is_enough(&mut self) -> bool {
        let enough = self.hoisted.max(self.dropped) >= ENOUGH;
        if enough {
            (self.hoisted, self.dropped) = (0, 0);
        }
        enough
    }
}

/// What one request with a new update lets suspect. `others` tells whether the last request without one was served: in
/// a tool loop, and where the user spoke.
pub fn suspicion(seen: &Continuation, facts: &Facts, others: [Option<bool>; 2]) -> Option<Finding> {
    if seen.node == 0 {
        return None;
    }
    if is_left_out(seen) == Some(true) {
        return Some(Finding::Dropped);
    }
    // Markers lengthen the lifetime of some entries; the shortest one counts here.
    let lifetime = facts.ttl.map_or(LIFETIME_MS, |ttl| u64::from(ttl) * 1000);
    let missed = warmth(seen, facts) == Warmth::Missed(Miss::RoutingOrEviction) && seen.idle_ms <= lifetime;
    let (alike, unlike) = (
        others[usize::from(seen.speaks)],
        others[usize::from(!seen.speaks)],
    );
    let telling = match (alike, unlike) {
        (Some(served), _) => served,
        // Nothing ever went without a new update: what is documented stands for it.
        (None, None) => facts.documented,
        // What was dropped because the user spoke would leave a part to be read.
        (None, Some(_)) => facts.documented && seen.usage.cache_read == Some(0),
    };
    (missed && telling).then_some(Finding::Hoisted)
}

/// Whether the prompt is shorter than with the new update, and about as long as without; none where its length does not
/// tell: the update is small beside what else is new, or the rest did not grow as its bytes say.
fn is_left_out(seen: &Continuation) -> Option<bool> {
    let before = seen.before?;
    let (total, total_before) = (seen.usage.input_total?, before.input_total?);
    let rest = seen.bytes.checked_sub(seen.node)?.checked_sub(before.bytes)?;
    let (node, rest) = (seen.node as f64 / per_token(seen), rest as f64 / per_token(seen));
    let grown = total as f64 - total_before as f64;
    match grown {
        _ if node < SHOWS || grown < rest / 2.0 => None,
        _ if grown < (rest + node) / 2.0 => Some(true),
        _ if grown >= rest + node / 2.0 => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::warmth::Known;
    use super::super::warmth::tests::{FACTS, plain, seen};
    use super::*;

    const ROW: Option<&str> = Some("system/before_user_run/after_results");

    #[test]
    fn what_is_suspected_of_one_request() {
        let unknown = |mut seen: Continuation| {
            seen.usage.cache_read = None;
            seen
        };
        let late = |seen| Continuation {
            idle_ms: 300_001,
            ..seen
        };
        let cold = |mut seen: Continuation| {
            seen.before = seen.before.map(|before| Known { cached: 0, ..before });
            seen
        };
        let quiet = Facts {
            documented: false,
            ..FACTS
        };
        let hoisted = Some(Finding::Hoisted);
        let (yes, no) = (Some(true), Some(false));
        for (name, seen, facts, loops, turns, expected) in [
            ("nothing read, others served", seen(0), FACTS, None, yes, hoisted),
            ("a part of the head read", seen(1024), FACTS, None, yes, hoisted),
            ("the head read", seen(2100), FACTS, None, yes, hoisted),
            ("served", seen(3968), FACTS, None, yes, None),
            ("most of it served", seen(2560), FACTS, None, yes, None),
            ("nothing read, others neither", seen(0), FACTS, yes, no, None),
            ("nothing read, no others", seen(0), FACTS, None, None, hoisted),
            ("the head read, no others", seen(2100), FACTS, None, None, hoisted),
            (
                "nothing read, others in loops only",
                seen(0),
                FACTS,
                yes,
                None,
                hoisted,
            ),
            (
                "the head read, others in loops only",
                seen(2100),
                FACTS,
                yes,
                None,
                None,
            ),
            ("no others, no documented cache", seen(0), quiet, None, None, None),
            (
                "others served, no documented cache",
                seen(0),
                quiet,
                None,
                yes,
                hoisted,
            ),
            ("no new update", plain(0), FACTS, None, yes, None),
            (
                "a count that is missing",
                unknown(seen(0)),
                FACTS,
                None,
                yes,
                None,
            ),
            ("after the lifetime", late(seen(0)), FACTS, None, yes, None),
            ("nothing was in the cache", cold(seen(0)), FACTS, None, yes, None),
        ] {
            assert_eq!(suspicion(&seen, &facts, [loops, turns]), expected, "{name}");
        }
    }

    #[test]
    fn what_the_length_of_a_prompt_tells() {
        // Behind 4000 tokens, an update of 400 and others of 100.
        let grown = |tokens: u64, node: u64, rest: u64| {
            let mut seen = seen(3968);
            seen.usage.input_total = Some(4000 + tokens);
            Continuation {
                node,
                bytes: 16_000 + rest + node,
                ..seen
            }
        };
        for (name, seen, expected) in [
            ("all there", grown(500, 1600, 400), Some(false)),
            ("without the update", grown(100, 1600, 400), Some(true)),
            ("a little more than without", grown(180, 1600, 400), Some(true)),
            ("between", grown(270, 1600, 400), None),
            ("old thinking is gone, too", grown(20, 1600, 400), None),
            ("a small update", grown(10, 160, 40), None),
            ("much else is new", grown(2000, 1600, 8000), None),
        ] {
            assert_eq!(is_left_out(&seen), expected, "{name}");
        }
        let mut shrunk = grown(0, 1600, 400);
        shrunk.usage.input_total = Some(300);
        assert_eq!(is_left_out(&shrunk), None, "counts without the cached part");
    }

    #[test]
    fn three_in_a_row_are_a_finding_and_one_served_is_none() {
        let weigh = |reads: &[Continuation]| {
            let mut evidence = Evidence::default();
            let found = reads.iter().map(|seen| evidence.weigh(ROW, seen, &FACTS).finding);
            found.collect::<Vec<_>>()
        };
        let hoisted = Some(Finding::Hoisted);
        // Requests that only carry an old update are served by an upstream that moves it, too.
        let (miss, hit, kept) = (seen(0), seen(3968), plain(3968));
        assert_eq!(
            weigh(&[miss, kept, miss, kept, miss]),
            [None, None, None, None, hoisted]
        );
        assert_eq!(weigh(&[miss, miss, hit, miss, miss]), [None; 5]);
        assert_eq!(weigh(&[miss, miss, miss, miss]), [None, None, hoisted, None]);
        assert_eq!(weigh(&[miss, miss, plain(0), miss, miss]), [None; 5]);
    }

    #[test]
    fn a_miss_is_said_to_be_moved_only_when_it_comes_again() {
        let mut evidence = Evidence::default();
        let miss = |evidence: &mut Evidence| evidence.weigh(ROW, &seen(0), &FACTS).miss;
        assert_eq!(miss(&mut evidence), Some(Miss::RoutingOrEviction));
        assert_eq!(miss(&mut evidence), Some(Miss::HoistedDownstream));
    }
}
