//! What Inkfast would send: two bodies of one conversation through the pure core, with a ledger in memory.

use bytes::Bytes;

use super::ask::Asker;
use crate::{
    ledger::{MemoryLedger, Outcome},
    prefix::{
        self, Keys, Plan, Request, Scope, apply, decide,
        guard::{self, Departure},
        item::AnswerMark,
        keys,
        policy::{Policy, Row},
        record,
    },
    route::Route,
    wire::{body::Context, format::Format, plan_edits::PlanEdits},
};

/// The second of two bodies as it leaves for `route` with the update carried by `row`; `said` answered the first one.
///
/// # Errors
/// What is in the way; none of it can be for the probe's own bodies.
pub fn updated(
    asker: &Asker,
    route: &Route,
    row: Row,
    [first, second]: [&Bytes; 2],
    said: &str,
) -> Result<Bytes, String> {
    let format = asker.shape.format;
    let mut core = Core {
        ledger: MemoryLedger::new(),
        scope: Scope::new("probe", format.as_str(), None),
        format,
        attribution: route.attribution,
        model: asker.path_model.as_deref(),
        instructions_lead: asker.instructions_lead,
        policy: Policy {
            rows: vec![row],
            ..route.policy.clone()
        },
    };
    core.answered(first, said)?;
    let planned = core.plan(second)?;
    if !matches!(planned.plan.outcome, prefix::Outcome::Node(_)) {
        return Err(format!("the row has no place in it ({:?})", planned.plan.outcome));
    }
    planned.leave()
}

struct Core<'a> {
    ledger: MemoryLedger,
    scope: Scope,
    format: Format,
    attribution: bool,
    /// As the path names it.
    model: Option<&'a str>,
    instructions_lead: bool,
    policy: Policy,
}

struct Planned {
    request: Request,
    keys: Keys,
    plan: Plan,
    lowered: PlanEdits,
}

/// Any time does: nothing in these two requests is old.
const NOW_MS: u64 = 1;

impl Core<'_> {
    /// The first request, which leaves as it is, and its answer.
    fn answered(&mut self, body: &Bytes, said: &str) -> Result<(), String> {
        let Planned {
            request,
            keys,
            plan,
            lowered,
        } = self.plan(body)?;
        let sent = record::sent(
            &request,
            (self.scope, &keys),
            &plan,
            (lowered.head, lowered.nodes),
            NOW_MS,
        );
        let failed = |error: crate::ledger::LedgerError| error.to_string();
        let seq = self.ledger.append(self.scope, sent).map_err(failed)?;
        self.ledger
            .settle(seq, Outcome::Committed, NOW_MS)
            .map_err(failed)?;
        match AnswerMark::of(said, &[] as &[&str]) {
            Some(mark) => self.ledger.answer(seq, mark, NOW_MS).map_err(failed),
            None => Ok(()),
        }
    }

    fn plan(&mut self, body: &Bytes) -> Result<Planned, String> {
        let lead = |_: &str| self.instructions_lead;
        let context = Context {
            attribution: self.attribution,
            model: self.model,
            instructions_lead: Some(&lead),
            ..Context::default()
        };
        let wire = self.format.wire();
        let request = wire
            .parse(body, &context, None)
            .map_err(|fault| fault.as_str().to_owned())?;
        let keys = keys(&request, self.scope);
        let past = self
            .ledger
            .past(self.scope, &keys)
            .map_err(|error| error.to_string())?;
        let plan = decide(&request, keys.request, &past, &self.policy, NOW_MS);
        let lowered = wire
            .edits(&request, &plan, self.policy.text)
            .map_err(|_| "edits that overlap")?;
        Ok(Planned {
            request,
            keys,
            plan,
            lowered,
        })
    }
}

impl Planned {
    fn leave(&self) -> Result<Bytes, String> {
        let rope = apply(&self.request.body, &self.lowered.edits);
        guard::check(&Departure {
            request: &self.request,
            parent: self
                .plan
                .parent
                .as_deref()
                .map(|parent| (parent, self.plan.shared)),
            frozen: self.plan.keeps_prefix(),
            head: &self.lowered.head,
            nodes: &self.lowered.nodes,
            edits: &self.lowered.edits,
            rope: &rope,
        })
        .map_err(|violation| violation.as_str().to_owned())?;
        Ok(rope.concat())
    }
}
