//! The last bodies of live conversations, within a budget of bytes: the next body is compared with them first, so that
//! reading it costs what is new in it, and a break can be told from both bodies.
//!
//! A body that is found by its conversation is a guess. Nothing is checked: the parser takes over only what stands in
//! both. One that is found by the key of its request is that request's.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use hashlink::LruCache;

use crate::prefix::{
    Request, Scope,
    digest::{Digest, Hasher},
    item::{Hints, Item, Message},
};

/// Bodies by request, the one that was not used for longest going first.
pub struct Bodies {
    budget: usize,
    kept: Mutex<Kept>,
}

struct Kept {
    by_request: LruCache<Digest, Body>,
    /// The last request of each conversation.
    last: HashMap<Digest, Digest>,
    bytes: usize,
}

struct Body {
    place: Digest,
    request: Arc<Request>,
}

/// A conversation without a session is known by so many first bytes of its bodies.
const OPENING: usize = 1024;

/// Where the last body of the conversation would be.
pub fn key(scope: Scope, hints: &Hints, body: &Bytes) -> Digest {
    let mut hasher = Hasher::new("inkfast body v1");
    hasher.part(&scope.0.0);
    match hints.session {
        Some(session) => hasher
            .part(&session.0)
            .part(hints.agent.as_ref().map_or(&[], |agent| &agent.0)),
        None => hasher.part(&body[..body.len().min(OPENING)]),
    };
    hasher.finish()
}

impl Bodies {
    /// Nothing yet, and never more than `budget` bytes.
    pub fn new(budget: usize) -> Self {
        let kept = Kept {
            by_request: LruCache::new_unbounded(),
            last: HashMap::new(),
            bytes: 0,
        };
        Self {
            budget,
            kept: Mutex::new(kept),
        }
    }

    /// The last body at a place, if it is kept.
    pub fn last(&self, place: &Digest) -> Option<Arc<Request>> {
        self.locked(|kept| {
            let key = kept.last.get(place)?;
            kept.by_request.get(key).map(|body| Arc::clone(&body.request))
        })
    }

    /// The body of the request of this key, if it is kept.
    pub fn of_request(&self, key: &Digest) -> Option<Arc<Request>> {
        self.locked(|kept| kept.by_request.get(key).map(|body| Arc::clone(&body.request)))
    }

    /// Keeps the body of the request of this key as the last one at a place.
    pub fn keep(&self, place: Digest, key: Digest, request: Arc<Request>) {
        let size = size(&request);
        if size > self.budget {
            return;
        }
        self.locked(|kept| {
            kept.forget(&key);
            kept.bytes += size;
            kept.by_request.insert(key, Body { place, request });
            kept.last.insert(place, key);
            while kept.bytes > self.budget
                && let Some((oldest, _)) = kept.by_request.iter().next()
            {
                let oldest = *oldest;
                kept.forget(&oldest);
            }
        });
    }

    /// The conversation went on behind the request of this key: nothing will be compared with it any more, unless it is
    /// the last one at its place.
    pub fn passed(&self, key: &Digest) {
        self.locked(|kept| {
            let body = kept.by_request.get(key);
            if body.is_some_and(|body| kept.last.get(&body.place) != Some(key)) {
                kept.forget(key);
            }
        });
    }

    /// The lock is held for one look or one insertion.
    fn locked<T>(&self, work: impl FnOnce(&mut Kept) -> T) -> T {
        work(&mut self.kept.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Kept {
    fn forget(&mut self, key: &Digest) {
        let Some(body) = self.by_request.remove(key) else {
            return;
        };
        self.bytes -= size(&body.request);
        if self.last.get(&body.place) == Some(key) {
            self.last.remove(&body.place);
        }
    }
}

/// What keeping a request costs: its body, its tables and the copies of its head.
fn size(request: &Request) -> usize {
    let head: usize = request
        .head
        .blocks
        .iter()
        .map(|block| 2 * block.frozen.bytes.len())
        .sum();
    let tables = request.history.len() * (size_of::<Item>() + size_of::<Digest>())
        + request.layout.messages.len() * size_of::<Message>()
        + request.tools.len() * 256;
    size_of::<Request>() + request.body.len() + tables + head
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{body::Context, format::Format};

    fn request(text: &str) -> Arc<Request> {
        let body = format!(r#"{{"messages":[{{"role":"user","content":"{text}"}}]}}"#);
        Arc::new(
            Format::OpenaiChat
                .wire()
                .parse(&Bytes::from(body), &Context::default(), None)
                .unwrap(),
        )
    }

    fn digest(name: u8) -> Digest {
        Digest([name; 16])
    }

    #[test]
    fn the_oldest_goes_when_the_budget_is_spent() {
        let one = request(&"x".repeat(10_000));
        let bodies = Bodies::new(2 * size(&one) + 100);
        let keep =
            |name, request: &Arc<Request>| bodies.keep(digest(name), digest(10 + name), request.clone());
        [1, 2, 1].into_iter().for_each(|name| keep(name, &one));
        assert!(bodies.last(&digest(1)).is_some());
        keep(3, &one);
        assert!(bodies.last(&digest(2)).is_none() && bodies.of_request(&digest(12)).is_none());
        assert!(bodies.last(&digest(1)).is_some() && bodies.last(&digest(3)).is_some());
        keep(4, &request(&"x".repeat(40_000)));
        assert!(bodies.last(&digest(4)).is_none() && bodies.last(&digest(3)).is_some());
    }

    #[test]
    fn conversations_at_one_place_are_told_apart_by_their_requests() {
        let [one, two] = ["one", "two"].map(request);
        let bodies = Bodies::new(1 << 20);
        bodies.keep(digest(1), digest(11), one.clone());
        bodies.keep(digest(1), digest(12), two.clone());
        let is = |found: Option<Arc<Request>>, wanted: &Arc<Request>| {
            found.is_some_and(|found| Arc::ptr_eq(&found, wanted))
        };
        assert!(is(bodies.of_request(&digest(11)), &one) && is(bodies.last(&digest(1)), &two));
        bodies.passed(&digest(12));
        assert!(is(bodies.last(&digest(1)), &two), "the last one stays");
        bodies.passed(&digest(11));
        assert!(bodies.of_request(&digest(11)).is_none());
    }

    #[test]
    fn a_session_or_the_opening_names_a_conversation() {
        let scope = Scope::new("u", "f", None);
        let with = |session: Option<u8>, agent: Option<u8>, body: &'static str| {
            let hints = Hints {
                session: session.map(digest),
                agent: agent.map(digest),
                ..Hints::default()
            };
            key(scope, &hints, &Bytes::from_static(body.as_bytes()))
        };
        assert_eq!(with(Some(1), None, "a"), with(Some(1), None, "b"));
        assert_ne!(with(Some(1), None, "a"), with(Some(1), Some(2), "a"));
        assert_ne!(with(None, None, "a"), with(None, None, "b"));
        assert_ne!(with(Some(1), None, "a"), with(None, None, "a"));
    }
}
