//! Which bytes of heads keep changing, conversation by conversation. Bounded: the conversations that went on last.

use hashlink::LruCache;

use crate::prefix::{Path, Request};
use crate::prompt::{Churn, ChurnSpan};

/// Conversations whose heads are followed.
const CONVERSATIONS: usize = 4096;
/// Bytes of heads that are kept of those that change.
const MAX_BYTES: usize = 16 << 20;

/// The heads of all conversations.
pub struct Heads {
    by_conversation: LruCache<u64, Followed>,
    bytes: usize,
}

struct Followed {
    churn: Churn,
    bytes: usize,
}

/// A span of a conversation's head that keeps changing.
#[derive(Clone, Debug)]
pub struct Churning {
    /// The conversation.
    pub conversation: u64,
    /// The span.
    pub span: ChurnSpan,
    /// What it is known by; only where content was asked for.
    pub label: Option<String>,
}

impl Heads {
    /// None yet.
    pub fn new() -> Self {
        Self {
            by_conversation: LruCache::new(CONVERSATIONS),
            bytes: 0,
        }
    }

    /// Takes the next request of a conversation, which continues `parent`. Heads that never change are not followed.
    pub fn see(&mut self, conversation: u64, parent: Option<&Path>, request: &Request) {
        let changed = parent.filter(|parent| parent.head.digest != request.head.digest);
        let followed = self.by_conversation.contains_key(&conversation);
        if !followed && changed.is_none() {
            return;
        }
        let Some(now) = request.head.texts() else { return };
        if let Some(followed) = self.by_conversation.get_mut(&conversation) {
            return followed.churn.see(&now);
        }
        if let Some(before) = changed.and_then(|parent| parent.head.texts()) {
            self.follow(conversation, &before, &now);
        }
    }

    fn follow(&mut self, conversation: u64, before: &[String], now: &[String]) {
        let bytes = now.iter().map(String::len).sum();
        if bytes > MAX_BYTES {
            return;
        }
        let mut churn = Churn::default();
        churn.see(before);
        churn.see(now);
        self.bytes += bytes;
        if let Some(old) = self
            .by_conversation
            .insert(conversation, Followed { churn, bytes })
        {
            self.bytes -= old.bytes;
        }
        while self.bytes > MAX_BYTES
            && let Some((_, oldest)) = self.by_conversation.remove_lru()
        {
            self.bytes -= oldest.bytes;
        }
    }

    /// All spans that changed, by conversation.
    pub fn spans(&self, show_content: bool) -> Vec<Churning> {
        let mut all: Vec<_> = self.by_conversation.iter().collect();
        all.sort_unstable_by_key(|(conversation, _)| **conversation);
        let spans = all.into_iter().flat_map(|(conversation, followed)| {
            followed.churn.spans().into_iter().map(|span| Churning {
                conversation: *conversation,
                label: show_content
                    .then(|| followed.churn.label(&span))
                    .flatten()
                    .map(str::to_owned),
                span,
            })
        });
        spans.collect()
    }
}
