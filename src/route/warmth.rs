//! What the token counts of an answer tell of a prefix that was sent before: whether the cache still had it, why not,
//! and whether an update in it was moved to the front or left out on the way.
//!
//! Pure, and careful: one suspicion is no finding. An upstream that moves operator messages to the front loses its cache
//! whenever a new one comes, and only then, so requests with a new one are held against those without. A row is given up
//! after [`ENOUGH`] suspicions with no sign of the contrary between them; what that takes away is the next row's to
//! give, so a wrong finding costs little.

use super::Finding;
use crate::wire::usage::Usage;

/// So many suspicions in a row are a finding.
pub const ENOUGH: u8 = 3;

/// Where no lifetime is documented, a prefix that was sent longer ago is not expected in the cache.
const LIFETIME_MS: u64 = 300_000;
/// A prompt of so many tokens is cached wherever anything is.
const SURELY_CACHED: u64 = 2048;
/// A history of fewer tokens does not show beside the head in front of it.
const HISTORY: f64 = 1024.0;
/// An update of fewer tokens does not show in the length of a prompt.
const SHOWS: f64 = 64.0;
/// Text has at least so many bytes to the token: a prompt that seems to have fewer holds what we did not see.
const LEAST_BYTES_PER_TOKEN: f64 = 3.0;

/// What is documented of a route's cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Lifetime of an entry, in seconds.
    pub ttl: Option<u32>,
    /// Shortest prefix that is cached, in tokens.
    pub minimum: Option<u64>,
    /// Only what ends at an explicit marker is cached.
    pub at_markers: bool,
    /// There is a cache.
    pub documented: bool,
}

/// What is kept of a request that was answered, for the one that continues it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Known {
    /// When it was sent, in milliseconds since the epoch.
    pub sent_ms: u64,
    /// Bytes of its items.
    pub bytes: u64,
    /// All its tokens.
    pub input_total: Option<u64>,
    /// How many of them the cache should have now; zero where nothing tells.
    pub cached: u64,
}

/// A request whose sent prefix extends that of an earlier one, with the counts of its answer.
#[derive(Clone, Copy, Debug, Default)]
pub struct Continuation {
    /// The counts.
    pub usage: Usage,
    /// What is known of the request that it continues.
    pub before: Option<Known>,
    /// Milliseconds between the two.
    pub idle_ms: u64,
    /// Bytes of its items, a new update included.
    pub bytes: u64,
    /// Bytes of the tools and the head among them.
    pub front: u64,
    /// Both carry explicit cache markers.
    pub marked: bool,
    /// Longest lifetime among the earlier one's markers, in seconds.
    pub marker_ttl: Option<u32>,
    /// Bytes of a new update of the operator's role; zero where there is none.
    pub node: u64,
    /// The user speaks at its end, and not a tool: templates may drop old thinking there.
    pub speaks: bool,
}

/// Why a cache did not serve an intact prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Miss {
    /// It came after the documented lifetime.
    TtlExpired,
    /// It is too short to be cached.
    BelowMinimum,
    /// The route caches at markers, and there was none.
    NoBreakpoint,
    /// An update in it was moved to the front.
    HoistedDownstream,
    /// Another machine, or a full cache: nothing that the request could do.
    RoutingOrEviction,
}

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

/// Whether the cache served an intact prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Warmth {
    Served,
    Missed(Miss),
    Unknown,
}

impl Evidence {
    /// Weighs one more request; `row` names the row of its new update.
    pub fn weigh(&mut self, row: Option<&str>, seen: &Continuation, facts: &Facts) -> Found {
        let warmth = warmth(seen, facts);
        let miss = if let Warmth::Missed(miss) = warmth { Some(miss) } else { None };
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

    /// Whether the row is to be given up; then it begins anew, for the day on which it is believed again.
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
    let (alike, unlike) = (others[usize::from(seen.speaks)], others[usize::from(!seen.speaks)]);
    let telling = match (alike, unlike) {
        (Some(served), _) => served,
        // Nothing ever went without a new update: what is documented stands for it.
        (None, None) => facts.documented,
        // What was dropped because the user spoke would leave a part to be read.
        (None, Some(_)) => facts.documented && seen.usage.cache_read == Some(0),
    };
    (missed && telling).then_some(Finding::Hoisted)
}

impl Known {
    /// What is to be kept of a request with these counts; `before` is what was kept of the one that it extends.
    pub fn of(usage: &Usage, (bytes, sent_ms): (u64, u64), facts: &Facts, before: Option<&Self>) -> Self {
        let told = usage
            .cache_read
            .map(|read| read.saturating_add(usage.cache_write.unwrap_or(0)));
        let all = usage
            .input_total
            .filter(|total| facts.documented && !facts.at_markers && *total >= SURELY_CACHED);
        let now = told.map_or(0, |told| told.max(all.unwrap_or(0)));
        Self {
            sent_ms,
            bytes,
            input_total: usage.input_total,
            cached: now.max(before.map_or(0, |before| before.cached)),
        }
    }
}

fn warmth(seen: &Continuation, facts: &Facts) -> Warmth {
    let expected = seen.before.map_or(0, |before| before.cached);
    let Some(read) = seen.usage.cache_read else {
        return Warmth::Unknown;
    };
    if read > 0 && !is_far_below(read, expected, seen) {
        return Warmth::Served;
    }
    let sizes = facts.minimum.zip(seen.usage.input_total);
    let short = sizes.is_some_and(|(minimum, total)| total < minimum);
    let late = lifetime_ms(seen, facts).is_some_and(|lifetime| seen.idle_ms > lifetime);
    match read {
        0 if facts.at_markers && !seen.marked => Warmth::Missed(Miss::NoBreakpoint),
        0 if short => Warmth::Missed(Miss::BelowMinimum),
        _ if late && (expected > 0 || seen.before.is_none()) => Warmth::Missed(Miss::TtlExpired),
        _ if expected > 0 => Warmth::Missed(Miss::RoutingOrEviction),
        _ => Warmth::Unknown,
    }
}

/// Less than half was read of what the cache should have, or no more than the tools and the head.
fn is_far_below(read: u64, expected: u64, seen: &Continuation) -> bool {
    let front = seen.front as f64 / per_token(seen) * 1.1 + 128.0;
    let front_only = read as f64 <= front && expected as f64 >= front + HISTORY;
    read.saturating_mul(2) < expected || front_only
}

/// Bytes to the token, by this very prompt.
fn per_token(seen: &Continuation) -> f64 {
    let total = seen.usage.input_total.unwrap_or_default().max(1);
    (seen.bytes as f64 / total as f64).max(LEAST_BYTES_PER_TOKEN)
}

/// The documented lifetime of what the earlier request left in the cache.
fn lifetime_ms(seen: &Continuation, facts: &Facts) -> Option<u64> {
    let seconds = facts.ttl.map(|ttl| ttl.max(seen.marker_ttl.unwrap_or(0)))?;
    Some(u64::from(seconds) * 1000)
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

impl Miss {
    /// As a metric label.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::TtlExpired => "ttl_expired",
            Self::BelowMinimum => "below_minimum",
            Self::NoBreakpoint => "no_breakpoint",
            Self::HoistedDownstream => "hoisted_downstream",
            Self::RoutingOrEviction => "routing_or_eviction",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FACTS: Facts = Facts {
        ttl: None,
        minimum: Some(1024),
        at_markers: false,
        documented: true,
    };
    const ROW: Option<&str> = Some("system/before_user_run/after_results");

    /// A request of 4500 tokens behind one of 4000 that is in the cache, 4 bytes to the token; 200 tokens of it are a
    /// new update. The head has 2000.
    fn seen(read: u64) -> Continuation {
        Continuation {
            usage: Usage {
                input_total: Some(4500),
                cache_read: Some(read),
                ..Usage::default()
            },
            before: Some(Known {
                sent_ms: 0,
                bytes: 16_000,
                input_total: Some(4000),
                cached: 3968,
            }),
            idle_ms: 20_000,
            bytes: 18_000,
            front: 8_000,
            node: 800,
            speaks: true,
            ..Continuation::default()
        }
    }

    fn plain(read: u64) -> Continuation {
        Continuation { node: 0, ..seen(read) }
    }

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
            ("nothing read, others in loops only", seen(0), FACTS, yes, None, hoisted),
            ("the head read, others in loops only", seen(2100), FACTS, yes, None, None),
            ("no others, no documented cache", seen(0), quiet, None, None, None),
            ("others served, no documented cache", seen(0), quiet, None, yes, hoisted),
            ("no new update", plain(0), FACTS, None, yes, None),
            ("a count that is missing", unknown(seen(0)), FACTS, None, yes, None),
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
    fn misses_and_their_causes() {
        let marked = |marked, marker_ttl| Continuation {
            marked,
            marker_ttl,
            idle_ms: 400_000,
            ..plain(0)
        };
        let messages = Facts {
            ttl: Some(300),
            at_markers: true,
            ..FACTS
        };
        let mut short = plain(0);
        short.usage.input_total = Some(900);
        for (seen, facts, expected) in [
            (plain(3968), FACTS, None),
            (plain(0), FACTS, Some(Miss::RoutingOrEviction)),
            (plain(1024), FACTS, Some(Miss::RoutingOrEviction)),
            (short, FACTS, Some(Miss::BelowMinimum)),
            (marked(false, None), messages, Some(Miss::NoBreakpoint)),
            (marked(true, Some(300)), messages, Some(Miss::TtlExpired)),
            (marked(true, Some(3600)), messages, Some(Miss::RoutingOrEviction)),
            (seen(0), FACTS, Some(Miss::RoutingOrEviction)),
        ] {
            let found = Evidence::default().weigh(ROW, &seen, &facts);
            assert_eq!(found.miss, expected, "{seen:?}");
        }
        let mut evidence = Evidence::default();
        evidence.weigh(ROW, &seen(0), &FACTS);
        let again = evidence.weigh(ROW, &seen(0), &FACTS);
        assert_eq!(again.miss, Some(Miss::HoistedDownstream));
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
    fn what_is_in_the_cache_is_what_was_read_and_written() {
        let usage = |total, read, write| Usage {
            input_total: Some(total),
            cache_read: read,
            cache_write: write,
            output: None,
        };
        let known = |usage, facts: &Facts| Known::of(&usage, (1, 1), facts, None).cached;
        let messages = Facts {
            at_markers: true,
            ..FACTS
        };
        assert_eq!(known(usage(5000, Some(0), None), &FACTS), 5000);
        assert_eq!(known(usage(2000, Some(0), None), &FACTS), 0);
        assert_eq!(known(usage(2000, Some(1024), None), &FACTS), 1024);
        assert_eq!(known(usage(5000, None, None), &FACTS), 0);
        assert_eq!(known(usage(5000, Some(10), Some(30)), &messages), 40);
        assert_eq!(known(usage(5000, Some(0), Some(0)), &messages), 0);
        let before = Known {
            cached: 7,
            ..Known::default()
        };
        let now = Known::of(&usage(2000, Some(0), None), (1, 1), &FACTS, Some(&before));
        assert_eq!(now.cached, 7, "it was there once");
    }
}
