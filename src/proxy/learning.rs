//! What answers teach about a route: the shell around [`crate::route::evidence`], with its memory.
//!
//! Suspicions are counted in memory, for the routes and conversations that were used last, and a restart forgets them:
//! until there are enough, nothing depends on them. What they add up to is a note in the ledger, which stays.

use std::sync::{Mutex, PoisonError};

use hashlink::LruCache;
use tokio::time::timeout;

use crate::{
    ledger::Learned,
    prefix::{
        item::{Kind, Role},
        past::{Path, Seq},
        policy::Carrier,
    },
    proxy::{Proxy, depart::Planned, now_ms, report, rewrite::Prompt},
    route::{
        self, Finding,
        evidence::{Evidence, Found},
        warmth::{Continuation, Known},
    },
    wire::usage::Usage,
};

/// Requests that may still be continued.
const REQUESTS: usize = 8192;
/// Routes in use.
const ROUTES: usize = 512;

/// What answers showed so far.
pub struct Learning(Mutex<Memory>);

struct Memory {
    answered: LruCache<Seq, Known>,
    routes: LruCache<String, Evidence>,
}

impl Learning {
    /// Nothing yet.
    pub fn new() -> Self {
        Self(Mutex::new(Memory {
            answered: LruCache::new(REQUESTS),
            routes: LruCache::new(ROUTES),
        }))
    }

    /// Weighs the counts of an answer to a prompt that is on record as `seq`.
    pub fn weigh(&self, prompt: &Prompt, planned: &Planned, seq: Option<Seq>, usage: &Usage) -> Found {
        let mut memory = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let facts = &prompt.route.cache;
        let parent = extended(planned);
        let before = parent.and_then(|parent| memory.answered.get(&parent.seq).copied());
        let bytes = report::sent_bytes(prompt, planned);
        let known = Known::of(usage, (bytes, prompt.now_ms), facts, before.as_ref());
        if let Some(seq) = seq {
            memory.answered.insert(seq, known);
        }
        let Some(parent) = parent else {
            return Found::default();
        };
        let seen = continuation(prompt, planned, parent, (before, bytes, usage));
        let row = planned.plan.new_node.as_ref();
        let row = row.map(|node| route::row_name(&node.spot.row));
        let route = memory.routes.entry(prompt.route_key.clone());
        let evidence = route.or_insert_with(Evidence::default);
        evidence.weigh(row.as_deref(), &seen, facts)
    }
}

impl Default for Learning {
    fn default() -> Self {
        Self::new()
    }
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

/// The request whose whole prefix, as it was sent and taken, stands in this one.
fn extended(planned: &Planned) -> Option<&Path> {
    let sent = &planned.plan.sent;
    let parent = planned.plan.parent.as_deref().filter(|_| sent.is_intact())?;
    parent.is_committed().then_some(parent)
}

fn continuation(
    prompt: &Prompt,
    planned: &Planned,
    parent: &Path,
    (before, bytes, usage): (Option<Known>, u64, &Usage),
) -> Continuation {
    let operator = planned
        .lowered
        .new_node
        .as_ref()
        .filter(|node| matches!(node.carrier, Carrier::System | Carrier::Developer));
    let last = prompt.request.history.last();
    let head = planned.lowered.head.blocks.iter().map(|block| block.len);
    let tools = prompt.request.tools.iter().map(|tool| tool.mark.len);
    let sent_ms = before.map_or(parent.at_ms, |before| before.sent_ms);
    Continuation {
        usage: *usage,
        before,
        idle_ms: prompt.now_ms.saturating_sub(sent_ms),
        bytes,
        front: head.chain(tools).map(u64::from).sum(),
        marked: prompt.request.marker_ttl.is_some() && parent.marker_ttl.is_some(),
        marker_ttl: parent.marker_ttl,
        // User text is taken as it stands everywhere; only an operator's message is moved or left out.
        node: operator.map_or(0, |node| node.bytes.len() as u64),
        speaks: last.is_some_and(|item| item.mark.role == Role::User && item.mark.kind == Kind::Content),
    }
}
