//! What the token counts of an answer tell of a prefix that was sent before: whether the cache still had it, and why not.
//!
//! Pure. A count that is missing tells nothing, and a miss has a cause only where it is plain.

use crate::wire::usage::Usage;

/// A prompt of so many tokens is cached wherever anything is.
const SURELY_CACHED: u64 = 2048;
/// A history of fewer tokens does not show beside the head in front of it.
const HISTORY: f64 = 1024.0;
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
    /// The model leaves the thinking of earlier turns out where the user speaks again.
    pub forgets_thinking: bool,
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
    /// When its answer began, in milliseconds since the epoch: from then on the cache can serve it.
    pub begun_ms: Option<u64>,
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
    /// The earlier prompt ended in a turn with thinking, and the user spoke since.
    pub leaves_thinking: bool,
    /// It was sent before the earlier one's answer began.
    pub in_flight: bool,
    /// The last entry that the earlier one left is further back than any of its markers looks.
    pub out_of_reach: bool,
    /// The provider says that it cleared a part of the history itself.
    pub server_edited: bool,
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
    /// The last entry is further back than a marker looks.
    LookbackExceeded,
    /// The entry was not readable yet: it was sent before the earlier one's answer began.
    InFlight,
    /// The provider cleared a part of the history itself.
    ServerContextEdit,
    /// The model's template leaves the thinking of earlier turns out where the user speaks again.
    ThinkingNotKept,
    /// An update in it was moved to the front.
    HoistedDownstream,
    /// Another machine, or a full cache: nothing that the request could do.
    RoutingOrEviction,
}

/// Whether the cache served an intact prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Warmth {
    /// It did, for the better part.
    Served,
    /// It did not, for this reason.
    Missed(Miss),
    /// The counts do not tell.
    Unknown,
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
            begun_ms: None,
        }
    }
}

/// Whether the cache served the prefix that `seen` continues.
pub fn warmth(seen: &Continuation, facts: &Facts) -> Warmth {
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
    let known = expected > 0;
    match read {
        _ if seen.server_edited && known => Warmth::Missed(Miss::ServerContextEdit),
        0 if facts.at_markers && !seen.marked => Warmth::Missed(Miss::NoBreakpoint),
        0 if short => Warmth::Missed(Miss::BelowMinimum),
        _ if seen.in_flight && known => Warmth::Missed(Miss::InFlight),
        _ if late && (known || seen.before.is_none()) => Warmth::Missed(Miss::TtlExpired),
        _ if seen.out_of_reach && known => Warmth::Missed(Miss::LookbackExceeded),
        _ if facts.forgets_thinking && seen.leaves_thinking && known => Warmth::Missed(Miss::ThinkingNotKept),
        _ if known => Warmth::Missed(Miss::RoutingOrEviction),
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
pub fn per_token(seen: &Continuation) -> f64 {
    let total = seen.usage.input_total.unwrap_or_default().max(1);
    (seen.bytes as f64 / total as f64).max(LEAST_BYTES_PER_TOKEN)
}

/// The documented lifetime of what the earlier request left in the cache.
fn lifetime_ms(seen: &Continuation, facts: &Facts) -> Option<u64> {
    let seconds = facts.ttl.map(|ttl| ttl.max(seen.marker_ttl.unwrap_or(0)))?;
    Some(u64::from(seconds) * 1000)
}

impl Miss {
    /// Every cause once.
    pub const ALL: [Self; 9] = [
        Self::TtlExpired,
        Self::BelowMinimum,
        Self::NoBreakpoint,
        Self::LookbackExceeded,
        Self::InFlight,
        Self::ServerContextEdit,
        Self::ThinkingNotKept,
        Self::HoistedDownstream,
        Self::RoutingOrEviction,
    ];

    /// As a metric label.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::TtlExpired => "ttl_expired",
            Self::BelowMinimum => "below_minimum",
            Self::NoBreakpoint => "no_breakpoint",
            Self::LookbackExceeded => "lookback_exceeded",
            Self::InFlight => "in_flight",
            Self::ServerContextEdit => "server_context_edit",
            Self::ThinkingNotKept => "thinking_not_kept",
            Self::HoistedDownstream => "hoisted_downstream",
            Self::RoutingOrEviction => "routing_or_eviction",
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A route that documents a cache.
    pub(in crate::route) const FACTS: Facts = Facts {
        ttl: None,
        minimum: Some(1024),
        at_markers: false,
        documented: true,
        forgets_thinking: false,
    };

    /// A request of 4500 tokens behind one of 4000 that is in the cache, 4 bytes to the token; 200 tokens of it are a
    /// new update. The head has 2000.
    pub(in crate::route) fn seen(read: u64) -> Continuation {
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
                begun_ms: None,
            }),
            idle_ms: 20_000,
            bytes: 18_000,
            front: 8_000,
            node: 800,
            speaks: true,
            ..Continuation::default()
        }
    }

    /// The same without the update.
    pub(in crate::route) fn plain(read: u64) -> Continuation {
        Continuation {
            node: 0,
            ..seen(read)
        }
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
        ] {
            let expected = expected.map_or(Warmth::Served, Warmth::Missed);
            assert_eq!(warmth(&seen, &facts), expected, "{seen:?}");
        }
        let mut unknown = plain(0);
        unknown.usage.cache_read = None;
        assert_eq!(warmth(&unknown, &FACTS), Warmth::Unknown);
    }

    #[test]
    fn causes_that_the_requests_tell() {
        let forgets = Facts {
            forgets_thinking: true,
            ..FACTS
        };
        let with = |change: fn(&mut Continuation), read| {
            let mut seen = plain(read);
            change(&mut seen);
            seen
        };
        for (change, facts, expected) in [
            (
                (|seen| seen.in_flight = true) as fn(&mut Continuation),
                FACTS,
                Miss::InFlight,
            ),
            (|seen| seen.out_of_reach = true, FACTS, Miss::LookbackExceeded),
            (|seen| seen.server_edited = true, FACTS, Miss::ServerContextEdit),
            (|seen| seen.leaves_thinking = true, forgets, Miss::ThinkingNotKept),
            (|seen| seen.leaves_thinking = true, FACTS, Miss::RoutingOrEviction),
        ] {
            let missed = Warmth::Missed(expected);
            assert_eq!(warmth(&with(change, 0), &facts), missed, "{expected:?}");
            assert_eq!(
                warmth(&with(change, 3968), &facts),
                Warmth::Served,
                "{expected:?}"
            );
            let mut unknown = with(change, 0);
            unknown.before = unknown.before.map(|before| Known { cached: 0, ..before });
            assert_eq!(
                warmth(&unknown, &facts),
                Warmth::Unknown,
                "{expected:?}: nothing was expected"
            );
        }
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
