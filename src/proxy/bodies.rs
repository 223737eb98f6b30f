//! The last bodies of live conversations, within a budget of bytes: the next body is compared with them first, so that
//! reading it costs what is new in it.
//!
//! A body that is found here is a guess. Nothing is checked: the parser takes over only what stands in both.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use hashlink::LruCache;

use crate::prefix::{
    Request, Scope,
    digest::{Digest, Hasher},
    item::{Hints, Item, Message},
};

/// Bodies by conversation, the one that was not used for longest going first.
pub struct Bodies {
    budget: usize,
    kept: Mutex<Kept>,
}

struct Kept {
    by_key: LruCache<Digest, Arc<Request>>,
    bytes: usize,
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
        let by_key = LruCache::new_unbounded();
        Self {
            budget,
            kept: Mutex::new(Kept { by_key, bytes: 0 }),
        }
    }

    /// The last body, if it is kept.
    pub fn last(&self, key: &Digest) -> Option<Arc<Request>> {
        self.locked(|kept| kept.by_key.get(key).cloned())
    }

    /// Keeps a body in the place of the last one.
    pub fn keep(&self, key: Digest, request: Arc<Request>) {
        let size = size(&request);
        if size > self.budget {
            return;
        }
        self.locked(|kept| {
            kept.bytes += size;
            if let Some(old) = kept.by_key.insert(key, request) {
                kept.bytes -= self::size(&old);
            }
            while kept.bytes > self.budget
                && let Some((_, oldest)) = kept.by_key.remove_lru()
            {
                kept.bytes -= self::size(&oldest);
            }
        });
    }

    /// The lock is held for one look or one insertion.
    fn locked<T>(&self, work: impl FnOnce(&mut Kept) -> T) -> T {
        work(&mut self.kept.lock().unwrap_or_else(PoisonError::into_inner))
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
        for name in [1, 2] {
            bodies.keep(digest(name), one.clone());
        }
        bodies.keep(digest(1), one.clone());
        assert!(bodies.last(&digest(1)).is_some());
        bodies.keep(digest(3), one.clone());
        assert!(bodies.last(&digest(2)).is_none());
        assert!(bodies.last(&digest(1)).is_some() && bodies.last(&digest(3)).is_some());
        bodies.keep(digest(4), request(&"x".repeat(40_000)));
        assert!(bodies.last(&digest(4)).is_none() && bodies.last(&digest(3)).is_some());
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
