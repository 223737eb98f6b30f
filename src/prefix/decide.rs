//! The decision: what a request continues, which head and nodes go out with it, and both verdicts.
//!
//! Pure. The caller looks the past up and passes the time, which matters to re-baselining only.

use std::sync::Arc;

use super::choose::{Choice, choose};
use super::digest::Digest;
use super::item::{FrozenBlock, Request, Role};
use super::judgement::{received_verdict, sent_verdict};
use super::past::{Node, Past};
use super::place::{self, Found};
use super::plan::{NewNode, Outcome, Plan, Reason};
use super::policy::{Mode, Mutant, Policy};
use super::rerender::rerender;
use super::verdict::{Cause, Class, Verdict};
use crate::prompt::{self, Group};

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
    // A request that is seen again is not compacted once more, whatever its verdict compares it with.
    let whole = choice.shared == choice.path.items.len();
    let compaction = plan.received.class == Class::Compaction && !whole;
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
    plan.anew = rerender(request, &choice.path, &plan.nodes, policy);
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
    if request.held > 0 {
        plan.nodes = place::on_path(request, &choice.path, choice.shared, choice.answer_at, past);
        plan.nodes.retain(|node| (node.position as usize) < request.held);
    }
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
        compared: None,
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
        compared: Some(choice.against.request),
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
        if self.moves() && !self.holds_nodes(plan) {
            return self.thaw(plan, Outcome::Rebaseline(Reason::Model));
        }
        let (Some(effective), Some(wanted)) = (self.effective(plan), self.request.head.texts()) else {
            return self.opaque(plan);
        };
        let group = prompt::group_for(&effective, &wanted);
        let changed = !self.holds_nodes(plan) && (!plan.nodes.is_empty() || group.is_some());
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

    /// Another model reads a part of the head at another place than the one before.
    fn moves(&self) -> bool {
        let path = &self.choice.path;
        let own = self.request.head.blocks.first().map(|block| &block.frozen);
        let [baseline, before] = [&path.baseline, &path.head].map(|head| head.blocks.first());
        let stands = |block: Option<&FrozenBlock>| block.is_some_and(|block| !block.is_message());
        let gone = self.request.names.head.is_none() && stands(baseline);
        gone || self.request.model != path.model && stands(own) && !stands(before)
    }

    /// Nodes that the provider holds stand whatever head goes out, and would speak against another one.
    fn holds_nodes(&self, plan: &Plan) -> bool {
        let held = self.request.held as u32;
        plan.nodes.iter().any(|node| node.position < held)
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
        // What is only observed goes out as it is written, too.
        let rewritten = || self.request.head.freeze() != *self.choice.path.baseline;
        if !same || plan.outcome == Outcome::Observed && rewritten() {
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
        let sent = self.written();
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
            Found::Nowhere if bound || self.holds_nodes(plan) => plan.outcome = Outcome::Deferred,
            Found::Nowhere => self.thaw(plan, Outcome::PassedThrough),
        }
    }

    /// How many items stand as they were sent, or as an upstream wrote them behind.
    fn written(&self) -> usize {
        let choice = self.choice;
        let sent = place::standing(&choice.path, choice.shared, choice.answer_at);
        let is_said = |index: &usize| {
            let item = self.request.history.get(*index);
            item.is_some_and(|item| item.mark.role == Role::Assistant)
        };
        let answer = choice.answer_at.filter(|at| *at >= sent);
        answer.map_or(sent, |at| {
            (at..).take_while(is_said).last().map_or(at, |last| last + 1)
        })
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
