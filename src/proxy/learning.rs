//! What answers teach about a route: the shell around [`crate::route::evidence`], with its memory.
//!
//! Suspicions are counted in memory, for the routes and conversations that were used last, and a restart forgets them:
//! until there are enough, nothing depends on them. What they add up to is a note in the ledger, which stays.

use std::sync::{Mutex, MutexGuard, PoisonError};

use hashlink::LruCache;
use tokio::time::timeout;

use crate::{
    ledger::Learned,
    prefix::{past::Seq, policy::Carrier},
    proxy::{Proxy, attempt::Planned, now_ms, rewrite::Prompt},
    route::{
        self, Finding,
        attribution::{Attribution, Parent, Turn},
        evidence::Found,
    },
    wire::{
        places::{Place, places},
        usage::Usage,
    },
};

/// Answers whose ids are kept, and routes that take no question.
const ASKED: usize = 4096;

/// What answers showed so far.
pub struct Learning {
    attribution: Mutex<Attribution>,
    asked: Mutex<Asked>,
}

/// What questions to vendors need.
struct Asked {
    responses: LruCache<Seq, String>,
    refused: LruCache<String, ()>,
}

/// What an answer says that bears on the cache.
#[derive(Clone, Copy, Debug)]
pub struct Told {
    /// The counts.
    pub usage: Usage,
    /// When it began, in milliseconds since the epoch.
    pub begun_ms: Option<u64>,
    /// The provider says that it cleared a part of the history itself.
    pub server_edited: bool,
}

impl Learning {
    /// Nothing yet.
    pub fn new() -> Self {
        Self {
            attribution: Mutex::default(),
            asked: Mutex::new(Asked {
                responses: LruCache::new(ASKED),
                refused: LruCache::new(ASKED),
            }),
        }
    }

    /// Remembers the id of the answer to a prompt that is on record as `seq`, where its vendor is asked.
    pub fn answered(&self, prompt: &Prompt, seq: Option<Seq>, id: Option<&str>) {
        if let Some((seq, id)) = seq.zip(id).filter(|_| prompt.asks.is_some()) {
            lock(&self.asked).responses.insert(seq, id.to_owned());
        }
    }

    /// The id of the answer to `seq`, unless the route takes no question.
    pub fn response_of(&self, seq: Seq, route_key: &str) -> Option<String> {
        let mut asked = lock(&self.asked);
        let refused = asked.refused.get(route_key).is_some();
        asked.responses.get(&seq).filter(|_| !refused).cloned()
    }

    /// The route took no question.
    pub fn ask_no_more(&self, route_key: &str) {
        lock(&self.asked).refused.insert(route_key.to_owned(), ());
    }

    /// Weighs what the answer to a prompt says that is on record as `seq`.
    pub fn weigh(&self, prompt: &Prompt, planned: &Planned, seq: Option<Seq>, told: &Told) -> Found {
        let parent = planned
            .plan
            .parent
            .as_deref()
            .filter(|parent| parent.is_committed());
        let row = planned.plan.new_node.as_ref();
        let row = row.map(|node| route::row_name(&node.spot.row));
        // User text is taken as it stands everywhere; only an operator's message is moved or left out.
        let operator = planned.lowered.new_node.as_ref();
        let operator = operator.filter(|node| matches!(node.carrier, Carrier::System | Carrier::Developer));
        let (places, front) = sent_places(prompt, planned);
        let turn = Turn {
            route: (&prompt.route, &prompt.route_key),
            seq,
            parent: parent.map(|parent| Parent {
                seq: parent.seq,
                at_ms: Some(parent.at_ms),
                marker_ttl: parent.marker_ttl,
            }),
            sent: planned.sent_verdict(),
            request: &prompt.request,
            places: &places,
            front,
            at_ms: Some(prompt.now_ms),
            begun_ms: told.begun_ms,
            usage: told.usage,
            server_edited: told.server_edited,
            update: operator.map(|node| node.bytes.len() as u64).zip(row.as_deref()),
        };
        lock(&self.attribution).see(&turn).found
    }
}

impl Default for Learning {
    fn default() -> Self {
        Self::new()
    }
}

/// Nothing panics while one is held; if something did, a map would still be whole.
fn lock<T>(held: &Mutex<T>) -> MutexGuard<'_, T> {
    held.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The items as they went out, and the bytes of the tools and the head among them.
fn sent_places(prompt: &Prompt, planned: &Planned) -> (Vec<Place>, u64) {
    let (request, lowered) = (&prompt.request, &planned.lowered);
    let own = places(request);
    let (tools, rest) = own.split_at(request.tools.len());
    let (own_head, history) = rest.split_at(request.head.blocks.len());
    // The markers go with the blocks' ordinals, those that are left over on the last.
    let last = lowered.head.blocks.len().saturating_sub(1);
    let head = lowered.head.blocks.iter().enumerate().map(|(at, block)| Place {
        bytes: u64::from(block.len),
        marker: own_head
            .iter()
            .enumerate()
            .any(|(own, place)| place.marker && own.min(last) == at),
        ends: at == last,
    });
    let mut sent: Vec<Place> = tools.iter().copied().chain(head).collect();
    let front = sent.iter().map(|place| place.bytes).sum();
    let node = |bytes: u64| Place {
        bytes,
        ..Place::default()
    };
    let mut nodes = planned.plan.nodes.iter().peekable();
    for (index, place) in history.iter().enumerate() {
        while let Some(stored) = nodes.next_if(|stored| stored.position as usize <= index) {
            sent.push(node(stored.bytes.len() as u64));
        }
        sent.push(*place);
    }
    sent.extend(nodes.map(|stored| node(stored.bytes.len() as u64)));
    let new = planned.lowered.new_node.as_ref();
    sent.extend(new.map(|new| node(new.bytes.len() as u64)));
    (sent, front)
}

/// Puts on record that a row does not work on the prompt's route.
pub async fn learn(proxy: &Proxy, prompt: &Prompt, row: String, finding: Finding) {
    let model = prompt.request.model.as_deref().unwrap_or_default();
    let unnamed = prompt.route_key.strip_suffix(model).unwrap_or_default();
    tracing::info!(
        event = "learned",
        route = format!("{unnamed}{}", proxy.metrics.model_label(model)),
        row,
        finding = finding.as_str()
    );
    let note = Learned::new(row, finding, now_ms());
    let learned = proxy.ledger.learn(&prompt.route_key, note);
    if !matches!(timeout(proxy.config.state_timeout, learned).await, Ok(Ok(()))) {
        tracing::warn!(event = "state_error", "what a route does was not learned");
    }
}
