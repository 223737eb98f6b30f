//! The prefix cache: what a request reads, and what it writes once its answer begins.
//!
//! Entries are digests of token prefixes within a scope (format, API key, model, and OpenAI's routing key). The
//! cache rules differ only in which positions are looked at and which are written:
//!
//! - Anthropic: looks at each marker and up to 19 positions before it; writes at markers, with their lifetime;
//! - OpenAI before GPT-5.6 and all that caches by itself: looks at and writes every so many tokens from the minimum on;
//! - GPT-5.6 and later: looks at the ends of eligible messages and marked parts; writes at the last eligible one and at
//!   marked ones.

use std::collections::HashMap;
use std::time::Duration;

use super::Config;
use super::prompt::Prompt;
use super::render::{End, Rendered};
use super::rules::{self, Places};
use super::tokens::chain;

/// Entries of all scopes.
#[derive(Debug, Default)]
pub(super) struct Cache {
    entries: HashMap<(u64, u64), Entry>,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    ttl: Duration,
    used: Duration,
}

/// What a request reads and will write. Nothing is readable by others before [`Cache::commit`].
#[derive(Clone, Debug, Default)]
pub(super) struct Lookup {
    /// Tokens read.
    pub(super) read: usize,
    /// Tokens written for five minutes (Anthropic), or written at all (GPT-5.6 and later).
    pub(super) written: usize,
    /// Tokens written for an hour (Anthropic).
    pub(super) written_1h: usize,
    writes: Vec<(u64, u64, Duration)>,
}

/// A place in the prompt: tokens in front, their digest, and the lifetime of what is written there.
#[derive(Clone, Copy, Debug)]
struct Place {
    tokens: usize,
    digest: u64,
    ttl: Duration,
}

/// The positions that a request looks at and those that it writes, both in the order of the prompt.
#[derive(Debug, Default)]
struct Plan {
    looks: Vec<Place>,
    writes: Vec<Place>,
}

impl Cache {
    /// Looks a prompt up and refreshes the entry that it reads; marked ones follow with the commit.
    pub(super) fn look_up(
        &mut self,
        scope: u64,
        prompt: &Prompt,
        rendered: &Rendered,
        config: &Config,
    ) -> Lookup {
        let now = config.clock.now();
        let plan = plan(prompt, rendered, config);
        let read = plan.looks.iter().rev().find(|p| self.is_live(scope, p, now));
        let read = read.copied();
        // Content that the client holds is read whatever else is.
        let reached = read.map_or(0, |p| p.tokens).max(prompt.cache.held);
        if let Some(place) = &read {
            self.refresh(scope, place, now);
        }
        let mut lookup = Lookup {
            read: reached,
            ..Lookup::default()
        };
        // Each write is billed from the place before it.
        let mut from = reached;
        for place in &plan.writes {
            let new = place.tokens.saturating_sub(from);
            from = from.max(place.tokens);
            match place.ttl == rules::ONE_HOUR {
                true => lookup.written_1h += new,
                false => lookup.written += new,
            }
            lookup.writes.push((scope, place.digest, place.ttl));
        }
        lookup
    }

    /// Makes the writes readable: the first byte of the answer leaves now. An entry that lives keeps its lifetime.
    pub(super) fn commit(&mut self, lookup: &Lookup, now: Duration) {
        for &(scope, digest, ttl) in &lookup.writes {
            let entry = self.entries.entry((scope, digest));
            let entry = entry.or_insert(Entry { ttl, used: now });
            // What is already cached is read, not written: another marker does not change its lifetime.
            if !entry.lives(now) {
                entry.ttl = ttl;
            }
            entry.used = now;
        }
    }

    fn is_live(&self, scope: u64, place: &Place, now: Duration) -> bool {
        let entry = self.entries.get(&(scope, place.digest));
        entry.is_some_and(|e| e.lives(now))
    }

    fn refresh(&mut self, scope: u64, place: &Place, now: Duration) {
        if let Some(entry) = self.entries.get_mut(&(scope, place.digest))
            && entry.lives(now)
        {
            entry.used = now;
        }
    }
}

impl Entry {
    fn lives(&self, now: Duration) -> bool {
        now.saturating_sub(self.used) < self.ttl
    }
}

fn plan(prompt: &Prompt, rendered: &Rendered, config: &Config) -> Plan {
    let habit = rules::habit(prompt.format, &prompt.model, config.dialect);
    let minimum = config.minimum.unwrap_or(habit.minimum);
    let ttl = prompt.cache.ttl.unwrap_or(habit.ttl);
    let mut plan = match habit.places {
        Places::Markers => at_markers(prompt, &rendered.ends),
        Places::Ends => at_message_ends(prompt, &rendered.ends, ttl),
        Places::Steps(step) => at_steps(&rendered.tokens, step, ttl),
    };
    plan.looks.retain(|p| p.tokens >= minimum);
    plan.writes.retain(|p| p.tokens >= minimum);
    plan
}

fn at_markers(prompt: &Prompt, ends: &[End]) -> Plan {
    let marked = marked(prompt, ends);
    let mut looked = vec![false; ends.len()];
    for &(at, _) in &marked {
        let first = (at + 1).saturating_sub(rules::LOOK_BACK);
        looked[first..=at].fill(true);
    }
    let looks = ends.iter().zip(looked).filter(|(_, looked)| *looked);
    Plan {
        looks: looks.map(|(end, _)| place(end, Duration::ZERO)).collect(),
        writes: marked.iter().map(|&(at, ttl)| place(&ends[at], ttl)).collect(),
    }
}

/// Marked positions with their lifetimes; the automatic one goes on the last block that can carry it.
fn marked(prompt: &Prompt, ends: &[End]) -> Vec<(usize, Duration)> {
    let mut marked: Vec<_> = ends
        .iter()
        .enumerate()
        .filter_map(|(at, end)| Some((at, end.marker?)))
        .collect();
    let last = ends.iter().rposition(|end| end.cacheable);
    if let (Some(ttl), Some(last)) = (prompt.cache.automatic, last)
        && ends[last].marker.is_none()
    {
        marked.push((last, ttl));
    }
    marked
}

fn at_steps(tokens: &[u32], step: usize, ttl: Duration) -> Plan {
    let mut digest = 0;
    let mut places = Vec::new();
    for (i, token) in tokens.iter().enumerate() {
        digest = chain(digest, *token);
        if (i + 1) % step == 0 {
            let tokens = i + 1;
            places.push(Place { tokens, digest, ttl });
        }
    }
    Plan {
        looks: places.clone(),
        writes: places,
    }
}

fn at_message_ends(prompt: &Prompt, ends: &[End], ttl: Duration) -> Plan {
    let implicit: Vec<&End> = match prompt.cache.explicit_only {
        true => Vec::new(),
        false => ends.iter().filter(|e| e.eligible).collect(),
    };
    let explicit: Vec<Place> = ends.iter().filter_map(|e| Some(place(e, e.marker?))).collect();
    let recent = implicit.len().saturating_sub(rules::EARLIER_ENDS + 1);
    // The end of the leading operator block stays in reach however long the history is.
    let led = !prompt.head.is_empty();
    let mut looks: Vec<Place> = implicit
        .iter()
        .enumerate()
        .filter(|(i, _)| (led && *i == 0) || *i >= recent)
        .map(|(_, end)| place(end, ttl))
        .collect();
    looks.extend(&explicit);
    looks.sort_by_key(|p| p.tokens);
    let mut writes: Vec<Place> = implicit.last().map(|end| place(end, ttl)).into_iter().collect();
    let free = rules::MARKERS - writes.len();
    // The implicit one takes a slot; the latest marked parts get the others.
    writes.extend(explicit.iter().rev().take(free));
    writes.sort_by_key(|p| p.tokens);
    Plan { looks, writes }
}

fn place(end: &End, ttl: Duration) -> Place {
    Place {
        tokens: end.tokens,
        digest: end.digest,
        ttl,
    }
}
