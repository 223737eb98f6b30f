//! Bodies in a row as one conversation, through look-up, decision, edits and guard, on a ledger in memory. The answer to
//! each is what the next one holds in its place.

use bytes::Bytes;
use inkfast::ledger::{MemoryLedger, Outcome as Ended};
use inkfast::prefix::guard::{self, Departure};
use inkfast::prefix::item::{Mark, Request, Role, prompt_digest};
use inkfast::prefix::keys::response_key;
use inkfast::prefix::past::{Seq, Slot};
use inkfast::prefix::{NewNode, Outcome, Plan, Scope, apply, decide, keys, provider_held, record};
use inkfast::prompt::derive;
use inkfast::wire::format::Format;
use inkfast::wire::plan_edits::PlanEdits;

use super::leaves;
use super::routes::{self, Place};

/// When all this happens.
const NOW_MS: u64 = 1_800_000_000_000;

/// Sends `bodies` to every destination of the format.
pub fn check(format: Format, bodies: &[Bytes]) {
    for place in routes::places(format) {
        let requests: Vec<Request> = bodies
            .iter()
            .filter_map(|body| routes::read(place, body, None))
            .collect();
        let mut talk = Talk {
            place,
            scope: Scope::new(place.to.host, format.as_str(), None),
            ledger: MemoryLedger::new(),
            sent: Vec::new(),
        };
        for (index, request) in requests.iter().enumerate() {
            if !request.server_state {
                talk.exchange(request, requests.get(index + 1));
            }
        }
    }
}

struct Talk {
    place: &'static Place,
    scope: Scope,
    ledger: MemoryLedger,
    sent: Vec<Sent>,
}

/// A request as it left.
struct Sent {
    seq: Seq,
    held: usize,
    items: Vec<Mark>,
}

impl Talk {
    fn exchange(&mut self, own: &Request, next: Option<&Request>) {
        let known_by = keys(own, self.scope);
        let mut past = self.ledger.past(self.scope, &known_by).expect("memory");
        provider_held::unfold(own, &mut past);
        let (request, keys) = provider_held::behind(own, &known_by, self.scope, &past)
            .unwrap_or_else(|| (own.clone(), known_by));
        let policy = &self.place.route.policy;
        let plan = decide(&request, keys.request, &past, policy, NOW_MS);
        let lowered = self.place.to.format.wire().edits(&request, &plan, policy.text);
        let lowered = lowered.expect("the edits are disjoint");
        let rope = apply(&request.body, &lowered.edits);
        let guarded = guard::check(&Departure {
            request: &request,
            parent: plan.parent.as_deref().map(|parent| (parent, plan.shared)),
            frozen: plan.keeps_prefix(),
            head: &lowered.head,
            nodes: &lowered.nodes,
            edits: &lowered.edits,
            rope: &rope,
        });
        assert_eq!(guarded, Ok(()), "the guard stops no sound plan");
        assert!(
            plan.parent.is_some() || lowered.edits.is_empty(),
            "what continues nothing is untouched"
        );
        let out = leaves::check(self.place, &request, &lowered, &rope.concat());
        effective(&request, &plan, &lowered);
        self.extends(&request, &plan, &lowered, &out);
        let going = (lowered.head, lowered.nodes);
        let sent = record::sent(&request, (self.scope, &keys), &plan, going, NOW_MS);
        let seq = self.ledger.append(self.scope, sent).expect("memory");
        self.sent.push(Sent {
            seq,
            held: request.held,
            items: out.history.iter().map(|item| item.mark).collect(),
        });
        self.answer(seq, own, next);
    }

    /// What the next request holds behind the items of this one, or names as the response to it.
    fn answer(&mut self, seq: Seq, own: &Request, next: Option<&Request>) {
        self.ledger.settle(seq, Ended::Committed, NOW_MS).expect("memory");
        let Some(next) = next else { return };
        let said = next.history.get(own.history.len());
        if let Some(answer) = said
            .filter(|item| item.mark.role == Role::Assistant)
            .and_then(|item| item.answer)
        {
            self.ledger.answer(seq, answer, NOW_MS).expect("memory");
        }
        if let Some(response) = next.continues {
            let key = response_key(self.scope, response);
            self.ledger.respond(seq, key).expect("memory");
        }
    }

    /// Where the client only appended, what leaves only extends what left.
    fn extends(&self, request: &Request, plan: &Plan, lowered: &PlanEdits, out: &Request) {
        let Some(path) = plan.parent.as_deref().filter(|_| plan.keeps_prefix()) else {
            return;
        };
        let Some(before) = self.sent.iter().find(|sent| sent.seq == path.seq) else {
            return;
        };
        let same = |(stored, goes): (&std::sync::Arc<_>, &std::sync::Arc<_>)| stored == goes;
        let all = path.nodes.len() <= lowered.nodes.len() && path.nodes.iter().zip(&lowered.nodes).all(same);
        if plan.shared < path.items.len() || !all || request.held > 0 || before.held > 0 {
            return;
        }
        let own = request.history[..plan.shared]
            .iter()
            .map(|item| item.mark.canonical);
        if !own.eq(path.items.iter().map(|mark| mark.canonical)) {
            return;
        }
        // An update behind a text that was sent already goes on behind that text, inside its message.
        let behind = |node: &NewNode| node.spot.slot == Slot::Trail && node.spot.position == path.items.len();
        let fixed = before.items.len() - usize::from(plan.new_node.as_ref().is_some_and(behind));
        let marks = out.history.iter().map(|item| item.mark.canonical);
        let stands = before.items[..fixed]
            .iter()
            .zip(marks)
            .all(|(before, now)| before.canonical == now);
        assert!(
            stands && before.items.len() <= out.history.len(),
            "what leaves extends what left: {}",
            request.body.escape_ascii()
        );
    }
}

/// The head that goes out and the nodes amount to the head that the client sent.
fn effective(request: &Request, plan: &Plan, lowered: &PlanEdits) {
    let says = matches!(plan.outcome, Outcome::Kept | Outcome::Node(_)) && plan.parent.is_some();
    let (Some(head), Some(wanted)) = (lowered.head.texts(), request.head.texts()) else {
        return;
    };
    let entries: Vec<_> = lowered
        .nodes
        .iter()
        .flat_map(|node| node.entries.clone())
        .collect();
    assert!(
        !says || prompt_digest(&derive(&head, &entries)) == prompt_digest(&wanted),
        "what is in force is what the client sent: {}",
        request.body.escape_ascii()
    );
}
