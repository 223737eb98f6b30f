//! The decision: what a request continues, which head and nodes go out with it, and both verdicts.
//!
//! Pure. The caller looks the past up and passes the time, which matters to re-baselining only.

use std::sync::Arc;

use super::carry;
use super::choose::{Choice, choose};
use super::digest::Digest;
use super::item::{FrozenHead, Request, Role};
use super::past::{Node, Past, Path, Slot};
use super::place::{self, Found, Spot};
use super::policy::{Mode, Mutant, Policy};
use super::verdict::{Cause, Class, Element, Verdict, View, compare};
use crate::prompt::{self, Group, GroupKind};

/// What goes out, and what is to be said about it.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The path that is continued.
    pub parent: Option<Arc<Path>>,
    /// How many leading client items are shared with it.
    pub shared: usize,
    /// The request carries on the answer to the parent.
    pub carries: bool,
    /// The mode of the conversation.
    pub mode: Mode,
    /// The head that goes out; the client's own where it is none.
    pub baseline: Option<Arc<FrozenHead>>,
    /// Stored nodes, in order.
    pub nodes: Vec<Arc<Node>>,
    /// Stored nodes that this model cannot take as they are: their places in `nodes`, and what goes out instead.
    pub anew: Vec<(usize, NewNode)>,
    /// The node to be made.
    pub new_node: Option<NewNode>,
    /// What was decided about a changed head.
    pub outcome: Outcome,
    /// What the client did to its own prefix.
    pub received: Verdict,
    /// What leaves.
    pub sent: Verdict,
    /// The head differs in white space only, which is no change.
    pub whitespace: bool,
    /// A test-only fault for `wire` to commit.
    pub mutant: Option<Mutant>,
    /// When the decision was made; only that test-only fault looks at it.
    pub now_ms: u64,
}

/// A node that does not exist yet: `wire` renders it.
#[derive(Clone, Debug)]
pub struct NewNode {
    /// Where it goes and how it travels.
    pub spot: Spot,
    /// What it does to the prompt.
    pub group: Group,
    /// The prompt in force before it.
    pub effective: Vec<String>,
    /// The prompt in force with it.
    pub wanted: Vec<String>,
    /// Bytes of delta texts since the last full text on the path.
    pub deltas: usize,
    /// The role that the frozen head was written in, if it has one.
    pub head_role: Option<String>,
}

/// What was decided about the head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is as it was, or nothing was known of it.
    Kept,
    /// Its change goes out as a node.
    Node(GroupKind),
    /// Its change waits for the next user turn.
    Deferred,
    /// Its change goes out as the client wrote it, for want of a place.
    PassedThrough,
    /// The client replaced its history; the head comes with it.
    Adopted,
    /// The prompt was folded into the head.
    Rebaseline(Reason),
    /// Observe mode: nothing is ever changed.
    Observed,
}

/// Why a prompt was folded into the head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The tools in front of it changed, so nothing behind them could be read from a cache.
    Tools,
    /// The cache has expired.
    Expired,
    /// Superseded text had cost more than the fold.
    Economics,
    /// A secret was removed from the head.
    Secret,
}

/// Decides on `request`, whose key is `key`, with what is known of its past.
pub fn decide(request: &Request, key: Digest, past: &Past, policy: &Policy, now_ms: u64) -> Plan {
    let choice = if request.server_state {
        None
    } else {
        choose(request, key, past, policy)
    };
    let Some(choice) = choice else {
        return root(policy, now_ms);
    };
    let mut plan = continued(request, &choice, policy, now_ms);
    let compaction = plan.received.class == Class::Compaction;
    plan.nodes = place::on_path(request, &choice.path, choice.shared, choice.answer_at, past);
    if policy.mutant == Some(Mutant::ForgetNode) {
        plan.nodes.pop();
    }
    let head = Head {
        request,
        choice: &choice,
        policy,
        now_ms,
        compaction,
    };
    head.decide(&mut plan);
    plan.anew = carry::rerender(request, &choice.path, &plan.nodes, policy);
    plan.sent = sent_verdict(request, &choice, &plan);
    plan
}

/// The plan by which the client's own bytes go out, because for `cause` what was decided cannot.
pub fn own(request: &Request, key: Digest, past: &Past, policy: &Policy, now_ms: u64, cause: Cause) -> Plan {
    let Some(choice) = choose(request, key, past, policy) else {
        return root(policy, now_ms);
    };
    let mut plan = Plan {
        baseline: None,
        outcome: Outcome::PassedThrough,
        ..continued(request, &choice, policy, now_ms)
    };
    plan.sent = sent_verdict(request, &choice, &plan);
    if plan.sent.cause == Cause::NoSlot || plan.sent.is_break() && !plan.received.is_break() {
        plan.sent.cause = cause;
    }
    plan
}

/// A request that continues nothing: its own bytes, its head frozen.
fn root(policy: &Policy, now_ms: u64) -> Plan {
    Plan {
        parent: None,
        shared: 0,
        carries: false,
        mode: policy.mode,
        baseline: None,
        nodes: Vec::new(),
        anew: Vec::new(),
        new_node: None,
        outcome: if policy.mode == Mode::Observe {
            Outcome::Observed
        } else {
            Outcome::Kept
        },
        received: Verdict::new_lineage(),
        sent: Verdict::new_lineage(),
        whitespace: false,
        mutant: policy.mutant,
        now_ms,
    }
}

fn continued(request: &Request, choice: &Choice, policy: &Policy, now_ms: u64) -> Plan {
    let path = &choice.path;
    let next_speaks = request
        .history
        .get(choice.shared)
        .is_some_and(|item| item.mark.role == Role::Assistant);
    let carries = choice.answer_at.is_some() || choice.shared == path.items.len() && next_speaks;
    let received = received_verdict(request, choice, carries);
    Plan {
        parent: Some(path.clone()),
        shared: choice.shared,
        carries,
        mode: path.mode,
        baseline: Some(path.baseline.clone()),
        received: received.clone(),
        sent: received,
        ..root(policy, now_ms)
    }
}

/// The decision about the head of one request.
struct Head<'a> {
    request: &'a Request,
    choice: &'a Choice,
    policy: &'a Policy,
    now_ms: u64,
    compaction: bool,
}

impl Head<'_> {
    fn decide(&self, plan: &mut Plan) {
        let path = &self.choice.path;
        let observed = plan.mode == Mode::Observe || self.policy.mode == Mode::Observe;
        if observed && path.nodes.is_empty() && path.baseline.digest == path.head.digest {
            return self.thaw(plan, Outcome::Observed);
        }
        if self.compaction {
            return self.thaw(plan, Outcome::Adopted);
        }
        let (Some(effective), Some(wanted)) = (self.effective(plan), self.request.head.texts()) else {
            return self.opaque(plan);
        };
        let group = prompt::group_for(&effective, &wanted);
        let changed = !plan.nodes.is_empty() || group.is_some();
        if changed && let Some(reason) = self.fold(&effective, &wanted, plan) {
            return self.thaw(plan, Outcome::Rebaseline(reason));
        }
        match group {
            None => plan.whitespace = effective != wanted,
            Some(group) => self.update(plan, group, effective, wanted, observed),
        }
    }

    fn effective(&self, plan: &Plan) -> Option<Vec<String>> {
        let nodes = if self.policy.mutant == Some(Mutant::CompareWithFirst) {
            &[][..]
        } else {
            &plan.nodes
        };
        place::effective(&self.choice.path, nodes)
    }

    /// A head that is not all text is frozen while it is the same, and passes when it is not.
    fn opaque(&self, plan: &mut Plan) {
        if self.request.head.digest != self.choice.path.baseline.digest || !plan.nodes.is_empty() {
            self.thaw(plan, Outcome::PassedThrough);
        }
    }

    /// The client's own head goes out and is frozen from here on.
    fn thaw(&self, plan: &mut Plan, outcome: Outcome) {
        let same = self.request.head.digest == self.choice.path.baseline.digest && plan.nodes.is_empty();
        plan.outcome = match outcome {
            Outcome::Adopted if same => Outcome::Kept,
            outcome => outcome,
        };
        if !same || self.compaction {
            plan.baseline = None;
        }
        plan.nodes.clear();
    }

    /// Why the prompt may be folded into the head: it costs nothing, or pays.
    fn fold(&self, effective: &[String], wanted: &[String], plan: &Plan) -> Option<Reason> {
        let path = &self.choice.path;
        let tools = self.request.tools.iter().map(|tool| tool.mark.canonical);
        if !tools.eq(path.tools.iter().map(|tool| tool.canonical)) {
            return Some(Reason::Tools);
        }
        if prompt::removes_secret(effective, wanted) {
            return Some(Reason::Secret);
        }
        let bound = self.policy.binds_thinking && self.request.signed_thinking;
        if bound || path.at_ms == 0 {
            return None;
        }
        let idle_s = self.now_ms.saturating_sub(path.at_ms) / 1000;
        let lifetime = self
            .policy
            .cache_ttl
            .map(|ttl| ttl.max(path.marker_ttl.unwrap_or(0)));
        if lifetime.is_some_and(|ttl| idle_s > 2 * u64::from(ttl)) {
            return Some(Reason::Expired);
        }
        self.pays(plan).then_some(Reason::Economics)
    }

    /// Whether carrying the superseded text has cost more than reading the history once without the cache would.
    fn pays(&self, plan: &Plan) -> bool {
        let Some((cached, uncached)) = self.policy.prices else {
            return false;
        };
        let history: u64 = self
            .request
            .history
            .iter()
            .map(|item| u64::from(item.mark.len))
            .sum();
        let head: u64 = self
            .request
            .head
            .blocks
            .iter()
            .map(|block| u64::from(block.frozen.len))
            .sum();
        let carried = self.choice.path.superseded_carried as f64 * cached;
        plan.nodes.len() > 1 && carried > (head + history) as f64 * (uncached - cached)
    }

    fn update(
        &self,
        plan: &mut Plan,
        group: Group,
        effective: Vec<String>,
        wanted: Vec<String>,
        observed: bool,
    ) {
        let volatile = prompt::volatile_change(&effective, &wanted).is_some();
        let sent = place::standing(&self.choice.path, self.choice.shared, self.choice.answer_at);
        let found = if observed {
            Found::Nowhere
        } else {
            place::place(self.request, sent, self.policy, volatile)
        };
        let bound = self.policy.binds_thinking && self.request.signed_thinking;
        match found {
            Found::Spot(spot) => {
                plan.outcome = Outcome::Node(group.kind);
                let head_role = self.head_role();
                let deltas = deltas(&plan.nodes);
                plan.new_node = Some(NewNode {
                    spot,
                    group,
                    effective,
                    wanted,
                    deltas,
                    head_role,
                });
            }
            Found::Wait => plan.outcome = Outcome::Deferred,
            Found::Nowhere if bound => plan.outcome = Outcome::Deferred,
            Found::Nowhere => self.thaw(plan, Outcome::PassedThrough),
        }
    }

    fn head_role(&self) -> Option<String> {
        let frozen = self.choice.path.baseline.blocks.first().map(|block| &block.role);
        let own = self.request.head.blocks.first().map(|block| &block.frozen.role);
        frozen.or(own).filter(|role| !role.is_empty()).cloned()
    }
}

/// Bytes of delta texts since the last full text.
fn deltas(nodes: &[Arc<Node>]) -> usize {
    let since_full = nodes
        .iter()
        .rev()
        .take_while(|node| node.rendering == prompt::Rendering::Delta);
    since_full.map(|node| node.bytes.len()).sum()
}

fn received_verdict(request: &Request, choice: &Choice, carried_on: bool) -> Verdict {
    let before = path_view(&choice.against, &choice.against.head, &[]);
    compare(
        &before,
        &request_view(request, None, &[], None),
        request.names,
        carried_on,
    )
}

fn sent_verdict(request: &Request, choice: &Choice, plan: &Plan) -> Verdict {
    let path = &choice.path;
    let against = if Arc::ptr_eq(&choice.path, &choice.against) {
        path
    } else {
        &choice.against
    };
    let before = path_view(against, &against.baseline, &against.nodes);
    let after = request_view(
        request,
        plan.baseline.as_deref(),
        &plan.nodes,
        plan.new_node.as_ref(),
    );
    let mut verdict = compare(&before, &after, request.names, plan.carries);
    let head_changed = matches!(
        verdict.cause,
        Cause::SystemChanged | Cause::SystemVolatile(_) | Cause::SystemReordered
    );
    // Nodes that this very decision took off the path look like items that the client left out.
    let folded = verdict.class == Class::Compaction && plan.received.class != Class::Compaction;
    let ours = match plan.outcome {
        Outcome::PassedThrough => Some(Cause::NoSlot),
        Outcome::Rebaseline(Reason::Tools) if folded => Some(plan.received.cause),
        Outcome::Rebaseline(Reason::Tools) => None,
        Outcome::Rebaseline(_) => Some(Cause::Rebaseline),
        _ => None,
    };
    if let Some(cause) = ours.filter(|_| head_changed || folded) {
        verdict.cause = cause;
        verdict.class = if folded { Class::Rewrite } else { verdict.class };
    }
    verdict
}

fn path_view<'a>(path: &'a Path, head: &FrozenHead, nodes: &[Arc<Node>]) -> View<'a> {
    let items = path
        .items
        .iter()
        .enumerate()
        .map(|(index, mark)| Element::item(index, mark));
    View {
        model: path.model.as_deref(),
        params: &path.params,
        tools: path.tools.iter().collect(),
        head: head
            .blocks
            .iter()
            .map(|block| (block.canonical, block.wire, block.len))
            .collect(),
        head_texts: head.texts(),
        head_messages: path
            .head
            .blocks
            .iter()
            .filter(|block| !block.role.is_empty())
            .count(),
        head_string: head.blocks.len() == 1 && head.blocks[0].string.is_some(),
        marks: path.items.iter().map(|mark| mark.opens).collect(),
        history: interleave(items, nodes, None),
    }
}

fn request_view<'a>(
    request: &'a Request,
    baseline: Option<&FrozenHead>,
    nodes: &[Arc<Node>],
    new: Option<&NewNode>,
) -> View<'a> {
    let own;
    let head = match baseline {
        Some(frozen) => frozen,
        None => {
            own = request.head.freeze();
            &own
        }
    };
    let items = request
        .history
        .iter()
        .enumerate()
        .map(|(index, item)| Element::item(index, &item.mark));
    View {
        model: request.model.as_deref(),
        params: &request.params,
        tools: request.tools.iter().map(|tool| &tool.mark).collect(),
        head: head
            .blocks
            .iter()
            .map(|block| (block.canonical, block.wire, block.len))
            .collect(),
        head_texts: head.texts(),
        head_messages: request
            .head
            .blocks
            .iter()
            .filter(|block| !block.frozen.role.is_empty())
            .count(),
        head_string: head.blocks.len() == 1 && head.blocks[0].string.is_some(),
        marks: request.history.iter().map(|item| item.mark.opens).collect(),
        history: interleave(items, nodes, new),
    }
}

fn interleave(
    items: impl Iterator<Item = Element>,
    nodes: &[Arc<Node>],
    new: Option<&NewNode>,
) -> Vec<Element> {
    let stored = nodes
        .iter()
        .map(|node| Element::node(node.position as usize, node.digest, node.bytes.len()));
    let fresh = new.map(|node| Element::node(node.spot.position, Digest::default(), 0));
    let mut out = Vec::with_capacity(nodes.len() + 1);
    let mut waiting = stored.chain(fresh).peekable();
    for (count, item) in items.enumerate() {
        while let Some(node) = waiting.next_if(|node| node.index <= count) {
            out.push(node);
        }
        out.push(item);
    }
    out.extend(waiting);
    out
}

impl Plan {
    /// The path's head and nodes go out again as they are.
    pub fn keeps_prefix(&self) -> bool {
        self.parent.is_some() && self.baseline.is_some() && self.anew.is_empty()
    }

    /// Something goes out that must be on disk before: a node, or another head for a known conversation.
    pub fn is_durable(&self) -> bool {
        let new_head = self.parent.is_some() && self.baseline.is_none();
        self.new_node.is_some() || !self.anew.is_empty() || new_head
    }
}

impl NewNode {
    /// The node as it is stored, with its rendered bytes.
    pub fn store(
        &self,
        bytes: bytes::Bytes,
        rendering: prompt::Rendering,
        holder: Option<super::past::Holder>,
    ) -> Node {
        Node {
            position: self.spot.position as u32,
            slot: self.spot.slot,
            carrier: self.spot.row.carrier,
            placement: self.spot.row.placement,
            digest: Digest::of("inkfast node v1", &bytes),
            bytes,
            holder,
            kind: self.group.kind,
            entries: self.group.entries.clone(),
            rendering,
            effective: place::digest_of(&prompt::derive(&self.effective, &self.group.entries)),
        }
    }

    /// Whether it is spliced into an item of the client's.
    pub fn is_inside(&self) -> bool {
        matches!(self.spot.slot, Slot::Lead | Slot::Trail)
    }
}

impl Outcome {
    /// As printed in the log line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Kept | Self::Observed => "-",
            Self::Node(GroupKind::Append) => "append",
            Self::Node(GroupKind::Replace) => "replace",
            Self::Node(GroupKind::Removal) => "removal",
            Self::Deferred => "deferred",
            Self::PassedThrough => "no_slot",
            Self::Adopted => "adopted",
            Self::Rebaseline(reason) => reason.printed(),
        }
    }
}

impl Reason {
    /// As a metric label.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Expired => "expired",
            Self::Economics => "economics",
            Self::Secret => "secret",
        }
    }

    fn printed(self) -> &'static str {
        match self {
            Self::Tools => "rebaseline(tools)",
            Self::Expired => "rebaseline(expired)",
            Self::Economics => "rebaseline(economics)",
            Self::Secret => "rebaseline(secret)",
        }
    }
}
