//! Earlier prompts of a key and model, to say what a cache without limits could have served.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use super::record::Reach;

/// Prompts that were answered, by scope, oldest first.
#[derive(Debug, Default)]
pub(super) struct History {
    scopes: HashMap<u64, VecDeque<Sent>>,
}

#[derive(Debug)]
struct Sent {
    number: u64,
    tokens: Arc<[u32]>,
}

impl History {
    /// Compares a prompt with the earlier ones of its scope, then remembers it.
    pub(super) fn reach(&mut self, number: u64, scope: u64, tokens: &[u32]) -> Reach {
        let earlier = self.scopes.entry(scope).or_default();
        let reaches = earlier.iter().map(|sent| sent.reach(tokens));
        // Of equals, `max_by_key` takes the last: the latest request.
        let best = reaches.max_by_key(|reach| reach.possible);
        earlier.push_back(Sent {
            number,
            tokens: tokens.into(),
        });
        if earlier.len() > REMEMBERED {
            earlier.pop_front();
        }
        best.filter(|reach| reach.possible > 0).unwrap_or_default()
    }
}

impl Sent {
    fn reach(&self, tokens: &[u32]) -> Reach {
        let pairs = self.tokens.iter().zip(tokens);
        Reach {
            possible: pairs.take_while(|(a, b)| a == b).count(),
            previous: Some(self.number),
            previous_total: self.tokens.len(),
        }
    }
}

/// Prompts kept per scope.
const REMEMBERED: usize = 256;
