//! What leaves: decide, apply, guard, record. An [`Attempt`] is one body that is ready to be sent.
//!
//! A plan that cannot be sent, because the last check stopped it or because its node is not on record, is made again
//! without the node.

use std::{
    pin::Pin,
    sync::{Arc, OnceLock},
    task::{Context, Poll},
    vec,
};

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::{Body, Frame, SizeHint};

use crate::{
    prefix::{
        Cause, Plan, Request, Rope, Verdict, apply, decide,
        decide::own,
        guard::{self, Departure},
        past::Sent,
        record::sent,
    },
    proxy::{
        Proxy,
        receive::Received,
        rewrite::{Passthrough, Prompt, off_thread},
        step::Step,
        upstream::{BoxError, OutgoingBody},
    },
    wire::{ask, drift, markers, plan_edits::PlanEdits},
};

/// One body that is ready to be sent.
pub struct Attempt {
    body: Content,
    /// How many, if that is known.
    pub length: Option<u64>,
    /// Its encoding was undone.
    pub decoded: bool,
    /// What is in it; none where it was not read.
    pub planned: Option<Arc<Planned>>,
    /// Why it is not what was decided first.
    pub passthrough: Option<Passthrough>,
    /// Its record.
    pub step: Step,
    /// The vendor is asked in it; what leaves where it takes no question.
    unasked: Option<Unasked>,
}

/// A body without the question: its pieces, and whether its encoding was undone.
struct Unasked {
    pieces: Vec<Bytes>,
    decoded: bool,
}

/// Tells the verdicts on what left from the bodies.
pub async fn explain(prompt: Option<&Prompt>, planned: Option<Arc<Planned>>) {
    if let Some((prompt, planned)) = prompt.zip(planned) {
        planned.explain(prompt).await;
    }
}

/// The bytes of a body.
enum Content {
    /// All of them.
    Pieces(Vec<Bytes>),
    /// More than were read.
    Stream(OutgoingBody),
}

/// A plan in bytes.
pub struct Planned {
    /// What was decided.
    pub plan: Plan,
    /// The edits of the body, with what goes out by them.
    pub lowered: PlanEdits,
    /// What the ledger is told of it.
    pub sent: Sent,
    /// The last check stopped what was decided first.
    second_best: bool,
    rope: Rope,
    /// The body that the verdicts compare with, where one of them may have more to say.
    before: Option<Arc<Request>>,
    /// Both verdicts, received and sent, once they were told from the bodies.
    told: OnceLock<(Verdict, Verdict)>,
}

/// How a prompt is to leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A changed head as a node, by the route's rows from this one on.
    Rows(usize),
    /// A changed head not as a node.
    NoNode,
    /// As the client's own bytes, for this cause.
    Own(Cause),
}

impl Attempt {
    /// A body that is sent as it came, unread.
    pub fn unread(received: Received) -> Self {
        Self {
            length: received.length(),
            body: match received {
                Received::Whole(whole) => Content::Pieces(vec![whole]),
                oversize @ Received::Oversize { .. } => Content::Stream(oversize.into_body()),
            },
            decoded: false,
            planned: None,
            passthrough: None,
            step: Step::unrecorded(),
            unasked: None,
        }
    }

    /// A prompt in this form, or in the next best where that cannot be.
    pub async fn new(proxy: &Arc<Proxy>, prompt: &Arc<Prompt>, form: Form) -> Self {
        let mut planned = checked(proxy, prompt, form).await;
        let (mut step, mut passthrough) = (Step::unrecorded(), prompt.doubt);
        let sent = planned.as_ref().ok().map(|planned| planned.sent.clone());
        if let Some(sent) = sent.filter(|_| !prompt.counts_only && prompt.doubt.is_none()) {
            match Step::append(proxy, prompt.scope, sent).await {
                Ok(recorded) => step = recorded,
                Err(reason) => {
                    passthrough = Some(reason);
                    if planned.as_ref().is_ok_and(Planned::has_new_node) {
                        planned = checked(proxy, prompt, Form::NoNode).await;
                    }
                    if let Ok(planned) = &planned {
                        step = Step::late(proxy, prompt.scope, planned.sent.clone());
                    }
                }
            }
        }
        let attempt = match planned {
            Ok(planned) => Self::ready(prompt, planned, (step, passthrough)).asking(proxy, prompt),
            Err(reason) => Self {
                passthrough: passthrough.or(Some(reason)),
                ..Self::unread(Received::Whole(prompt.received.clone()))
            },
        };
        if let Some(reason) = attempt.passthrough {
            proxy.metrics.record_passthrough(reason.as_str());
        }
        attempt
    }

    /// The bytes, if they are all here and were not taken.
    pub fn pieces(&self) -> Option<Vec<Bytes>> {
        match &self.body {
            Content::Pieces(pieces) => Some(pieces.clone()),
            Content::Stream(_) => None,
        }
    }

    /// The bytes, once.
    pub fn take_body(&mut self) -> OutgoingBody {
        match std::mem::replace(&mut self.body, Content::Pieces(Vec::new())) {
            Content::Pieces(pieces) => Pieces::body(pieces),
            Content::Stream(body) => body,
        }
    }

    fn ready(prompt: &Prompt, planned: Planned, (step, passthrough): (Step, Option<Passthrough>)) -> Self {
        let by_guard = planned.second_best.then_some(Passthrough::Guard);
        let edited = planned.is_edited();
        let (length, pieces) = if edited {
            (planned.rope.len as u64, planned.rope.pieces.clone())
        } else {
            (prompt.received.len() as u64, vec![prompt.received.clone()])
        };
        Self {
            body: Content::Pieces(pieces),
            length: Some(length),
            decoded: edited,
            planned: Some(Arc::new(planned)),
            passthrough: passthrough.or(by_guard).or(prompt.pinned),
            step,
            unasked: None,
        }
    }

    /// The same with a question to the vendor, where the user wants that and it can be asked.
    fn asking(mut self, proxy: &Proxy, prompt: &Prompt) -> Self {
        let parent = self
            .planned
            .as_ref()
            .and_then(|planned| planned.plan.parent.as_ref());
        let asked = prompt.asks.zip(parent).and_then(|(ask, parent)| {
            let id = proxy.learning.response_of(parent.seq, &prompt.route_key)?;
            // The client's bytes may be encoded; a question stands in the plain ones.
            let plain = if self.decoded {
                self.pieces()?
            } else {
                vec![prompt.request.body.clone()]
            };
            ask::asking(ask, &id, &prompt.request, &plain)
        });
        if let Some(asked) = asked {
            self.unasked = self.pieces().map(|pieces| Unasked {
                pieces,
                decoded: self.decoded,
            });
            self.decoded = true;
            self.put(asked);
        }
        self
    }

    /// Takes the question out again; false where there is none.
    pub fn stop_asking(&mut self) -> bool {
        let Some(unasked) = self.unasked.take() else {
            return false;
        };
        self.decoded = unasked.decoded;
        self.put(unasked.pieces);
        true
    }

    fn put(&mut self, pieces: Vec<Bytes>) {
        self.length = Some(pieces.iter().map(|piece| piece.len() as u64).sum());
        self.body = Content::Pieces(pieces);
    }
}

impl Planned {
    /// Whether any byte differs from the client's.
    pub fn is_edited(&self) -> bool {
        !self.lowered.edits.is_empty()
    }

    /// The bytes that left, if any of them differs.
    pub fn edited(&self) -> Option<&[Bytes]> {
        self.is_edited().then_some(&*self.rope.pieces)
    }

    /// What the client did to its own prefix, as precisely as is known by now.
    pub fn received(&self) -> &Verdict {
        self.told
            .get()
            .map_or(&self.plan.received, |(received, _)| received)
    }

    /// What left did to what left before, as precisely as is known by now.
    pub fn sent_verdict(&self) -> &Verdict {
        self.told.get().map_or(&self.plan.sent, |(_, sent)| sent)
    }

    /// Tells both verdicts from the bodies. Costs nothing where all stands.
    pub async fn explain(self: &Arc<Self>, prompt: &Prompt) {
        if self.told.get().is_some() || !self.is_worth_telling(prompt) {
            return;
        }
        let (planned, after, rules) = (
            Arc::clone(self),
            Arc::clone(&prompt.request),
            prompt.route.markers,
        );
        let tell = move || {
            let (mut received, mut sent) = (planned.plan.received.clone(), planned.plan.sent.clone());
            let before = planned.before.as_deref();
            if let Some(before) = before {
                drift::explain_both(before, &after, &mut received, &mut sent);
            }
            markers::check(before, &after, rules, &mut received);
            markers::check(before, &after, rules, &mut sent);
            let _ = planned.told.set((received, sent));
        };
        // Without it the verdicts stand as they were.
        let _ = off_thread(prompt.request.body.len(), tell).await;
    }

    fn is_worth_telling(&self, prompt: &Prompt) -> bool {
        let marked = prompt.route.markers.at_markers && prompt.request.marker_ttl.is_some();
        marked || self.before.is_some()
    }

    /// Whether the body that the verdicts compare with has more to say.
    fn wants_before(&self, prompt: &Prompt) -> bool {
        let plan = &self.plan;
        let lost = || {
            let tip = plan.parent.as_ref().filter(|parent| parent.marker_ttl.is_some());
            prompt.route.markers.at_markers
                && tip
                    .is_some_and(|tip| !markers::reaches(&prompt.request, tip.items.len().saturating_sub(1)))
        };
        plan.received.change.is_some() || plan.sent.change.is_some() || lost()
    }

    fn has_new_node(&self) -> bool {
        self.plan.new_node.is_some() || !self.plan.anew.is_empty()
    }
}

/// The plan for a form that passes the last check, or the one for the next best form.
///
/// # Errors
/// There is none, which is a bug of the core.
async fn checked(proxy: &Arc<Proxy>, prompt: &Arc<Prompt>, form: Form) -> Result<Planned, Passthrough> {
    let mut reason = Passthrough::Internal;
    for form in form.and_fallbacks(prompt.pinned.is_some()) {
        let shared = Arc::clone(prompt);
        match off_thread(prompt.request.body.len(), move || shared.plan(form)).await {
            Ok(Ok(planned)) => {
                if let Some(pinned) = prompt.pinned.filter(|_| planned.is_edited()) {
                    reason = pinned;
                    continue;
                }
                let second_best = reason == Passthrough::Guard;
                let compared = planned.plan.compared.filter(|_| planned.wants_before(prompt));
                return Ok(Planned {
                    second_best,
                    before: compared.and_then(|key| proxy.bodies.of_request(&key)),
                    ..planned
                });
            }
            Ok(Err(violation)) => {
                tracing::error!(event = "guard", violation, "a plan was not sent");
                proxy.metrics.record_guard_failure();
                reason = Passthrough::Guard;
            }
            Err(_) => tracing::error!(event = "internal", "a plan could not be made"),
        }
    }
    Err(reason)
}

impl Form {
    /// This form, and what is tried where it cannot be sent.
    fn and_fallbacks(self, pinned: bool) -> Vec<Self> {
        match self {
            _ if pinned => vec![self, Self::Own(Cause::NoSlot)],
            Self::Rows(_) => vec![self, Self::NoNode, Self::Own(Cause::Guard)],
            Self::NoNode => vec![self, Self::Own(Cause::Guard)],
            Self::Own(_) => vec![self],
        }
    }
}

impl Prompt {
    /// Decide, apply, guard.
    fn plan(&self, form: Form) -> Result<Planned, &'static str> {
        let mut policy = self.route.policy.clone();
        let (request, key) = (&*self.request, self.keys.request);
        let plan = match form {
            Form::Own(cause) => own(request, key, &self.past, &policy, self.now_ms, cause),
            Form::Rows(_) | Form::NoNode => {
                let first = if let Form::Rows(first) = form {
                    first
                } else {
                    usize::MAX
                };
                policy.rows.drain(..first.min(policy.rows.len()));
                decide(request, key, &self.past, &policy, self.now_ms)
            }
        };
        let lowered = self
            .format
            .wire()
            .edits(request, &plan, policy.text)
            .map_err(|_| "overlap")?;
        let rope = apply(&request.body, &lowered.edits);
        guard::check(&Departure {
            request,
            parent: plan.parent.as_deref().map(|path| (path, plan.shared)),
            frozen: plan.keeps_prefix(),
            head: &lowered.head,
            nodes: &lowered.nodes,
            edits: &lowered.edits,
            rope: &rope,
        })
        .map_err(guard::Violation::as_str)?;
        let out = (lowered.head.clone(), lowered.nodes.clone());
        let sent = sent(request, (self.scope, &self.keys), &plan, out, self.now_ms);
        Ok(Planned {
            plan,
            lowered,
            sent,
            second_best: false,
            rope,
            before: None,
            told: OnceLock::new(),
        })
    }
}

/// A body in pieces, of known length.
struct Pieces {
    pieces: vec::IntoIter<Bytes>,
    left: u64,
}

impl Pieces {
    fn body(pieces: Vec<Bytes>) -> OutgoingBody {
        BodyExt::boxed_unsync(Self {
            left: pieces.iter().map(|piece| piece.len() as u64).sum(),
            pieces: pieces.into_iter(),
        })
    }
}

impl Body for Pieces {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let piece = self.pieces.next();
        self.left -= piece.as_ref().map_or(0, |piece| piece.len() as u64);
        Poll::Ready(piece.map(|piece| Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.left == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}
