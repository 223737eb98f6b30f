//! Refusals: an upstream that does not take a body that was changed is asked again, before the client hears of it.
//!
//! `next` is the whole rule, pure: at most one attempt by the next row of the route's table, in which nodes of the
//! refused row are rendered anew, then one without what was refused, and the answer to that is the client's answer.
//! What was refused is learned only when an attempt without it was taken.

use std::{sync::Arc, time::Duration};

use bytes::{Bytes, BytesMut};
use http_body_util::{BodyExt, Full};
use hyper::{Response, StatusCode, body::Incoming, http::response};
use tokio::{sync::oneshot, time::timeout};

use crate::{
    encoding::{self, Limits},
    error::RequestError,
    ledger::Outcome,
    prefix::{Cause, past::Node, policy::Row},
    proxy::{
        Proxy,
        attempt::{Attempt, Form, Planned},
        exchange::{Reply, Sender},
        learning,
        receive::joined,
        rewrite::Prompt,
        upstream::OutgoingBody,
    },
    route::{Finding, row_name},
};

/// The head of the answer that counts, with the attempt that it answers.
pub struct Answered {
    /// The answer.
    pub response: Response<OutgoingBody>,
    /// What was sent for it.
    pub attempt: Attempt,
}

/// More of an error is not read.
const MAX_ERROR: usize = 64 << 10;
/// The one refusal that is about the client's history and not about the form of an update
/// (platform.claude.com, "Preserved thinking", 2026-11-30).
const BOUND: &str = "bound to a different conversation";

/// Sends `attempt`, and what may follow a refusal of it, until an answer counts.
///
/// # Errors
/// There is no answer, or nobody waits for it any more.
pub async fn exchange(
    proxy: &Arc<Proxy>,
    sender: &Sender<'_>,
    prompt: Option<&Arc<Prompt>>,
    mut attempt: Attempt,
    reply: &mut oneshot::Sender<Reply>,
) -> Result<Answered, RequestError> {
    let mut trials = Trials::default();
    loop {
        let response = match sender.send(&mut attempt, reply).await {
            Ok(response) => response,
            Err(error) => {
                attempt.step.settle(proxy, outcome_without_answer(&error));
                return Err(error);
            }
        };
        let status = response.status();
        if may_refuse(status) && attempt.stop_asking() {
            // It may be the question that is not taken: the prompt goes once more without, and no other will be asked.
            proxy
                .learning
                .ask_no_more(prompt.map_or("", |prompt| prompt.route_key.as_str()));
            continue;
        }
        let Some(prompt) = prompt.filter(|_| attempt.may_be_refused(status)) else {
            attempt.step.settle(proxy, outcome(status));
            if status.is_success() {
                trials.taken(proxy, prompt).await;
            }
            return Ok(Answered {
                response: response.map(whole),
                attempt,
            });
        };
        let error = ErrorBody::read(response, proxy.config.idle_timeout).await;
        match trials
            .again(proxy, prompt, &mut attempt, (status, &error.text))
            .await
        {
            Some(again) => attempt = again,
            None => {
                attempt.step.settle(proxy, outcome(status));
                return Ok(Answered {
                    response: error.into_response(),
                    attempt,
                });
            }
        }
    }
}

/// The attempts for one prompt so far.
pub struct Trials {
    /// The form of the last one.
    form: Form,
    /// The rows, by their place in the policy, that were refused.
    refused: Vec<usize>,
}

impl Default for Trials {
    fn default() -> Self {
        Self {
            form: Form::Rows(0),
            refused: Vec::new(),
        }
    }
}

impl Trials {
    /// What is sent next, now that `attempt` was answered with this status and error; none where that is the client's
    /// answer.
    pub async fn again(
        &mut self,
        proxy: &Arc<Proxy>,
        prompt: &Arc<Prompt>,
        attempt: &mut Attempt,
        (status, error): (StatusCode, &str),
    ) -> Option<Attempt> {
        let planned = attempt.planned.clone()?;
        let pattern = prompt.route.refusal(error).map(str::to_owned);
        let tried = Tried::of(self.form, prompt, &planned);
        let next = next(&tried, status, pattern.as_deref());
        tracing::info!(
            event = "refused",
            status = status.as_u16(),
            pattern,
            next = next.as_str()
        );
        let Next::Resend(form) = next else { return None };
        attempt.step.settle(proxy, Outcome::RolledBack);
        self.refused.extend(
            tried
                .row
                .filter(|_| pattern.is_some_and(|pattern| pattern != BOUND)),
        );
        self.form = form;
        Some(Attempt::new(proxy, prompt, form).await)
    }

    /// The last attempt was taken: what was refused before it is learned.
    pub async fn taken(&self, proxy: &Arc<Proxy>, prompt: Option<&Arc<Prompt>>) {
        learn(proxy, prompt, &self.refused).await;
    }
}

impl Attempt {
    /// Whether an answer of this status can be a refusal of what was changed in the body.
    pub fn may_be_refused(&self, status: StatusCode) -> bool {
        may_refuse(status) && self.planned.as_ref().is_some_and(|planned| planned.is_edited())
    }
}

/// What was tried and came back.
struct Tried {
    form: Form,
    /// The row, by its place in the policy, that carries the nodes in the body; the last one where there are several.
    row: Option<usize>,
    /// One of the nodes is new.
    placed: bool,
    /// How many rows the policy has.
    rows: usize,
    /// Signed thinking in the body is bound to the form in which it went out so far.
    bound: bool,
}

/// What is done about an answer to a body that was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    /// It is the client's answer.
    Relay,
    /// The prompt is sent again, in this form.
    Resend(Form),
}

impl Tried {
    fn of(form: Form, prompt: &Prompt, planned: &Planned) -> Self {
        let policy = &prompt.route.policy;
        let skipped = if let Form::Rows(first) = form { first } else { 0 };
        let own_head = planned.lowered.head.digest == prompt.request.head.digest;
        let own_form = own_head && planned.lowered.nodes.is_empty();
        let carries = |row: &Row, node: &Node| row.carrier == node.carrier && row.placement == node.placement;
        let carried = |row: &Row| planned.lowered.nodes.iter().any(|node| carries(row, node));
        let mut rows = skipped..policy.rows.len();
        Self {
            form,
            row: rows.rfind(|row| carried(&policy.rows[*row])),
            placed: planned.plan.new_node.is_some(),
            rows: policy.rows.len(),
            bound: policy.binds_thinking && prompt.request.signed_thinking && !own_form,
        }
    }
}

fn next(tried: &Tried, status: StatusCode, pattern: Option<&str>) -> Next {
    // Any server error can be a 500; a template's says so.
    let refusal =
        status != StatusCode::INTERNAL_SERVER_ERROR || pattern.is_some() || tried.form != Form::Rows(0);
    let about_thinking = pattern == Some(BOUND);
    let next_row = tried.row.map(|row| row + 1).filter(|row| *row < tried.rows);
    match (tried.form, next_row) {
        _ if !refusal => Next::Relay,
        (Form::Rows(0), Some(row)) if pattern.is_some() && !about_thinking => Next::Resend(Form::Rows(row)),
        (Form::Rows(_) | Form::NoNode, _) if !tried.bound || about_thinking => {
            Next::Resend(Form::Own(Cause::Refused))
        }
        // The client's own form would be refused, too: what was sent before stays, and the edit waits.
        (Form::Rows(_), _) if tried.placed => Next::Resend(Form::NoNode),
        _ => Next::Relay,
    }
}

/// The statuses with which upstreams refuse a form. Never those of credentials, limits and load.
fn may_refuse(status: StatusCode) -> bool {
    [
        StatusCode::BAD_REQUEST,
        StatusCode::PAYLOAD_TOO_LARGE,
        StatusCode::UNPROCESSABLE_ENTITY,
        StatusCode::INTERNAL_SERVER_ERROR,
    ]
    .contains(&status)
}

/// How an attempt ended that was answered with this status.
pub fn outcome(status: StatusCode) -> Outcome {
    match status.as_u16() {
        200..300 => Outcome::Committed,
        400 | 404 | 413 | 422 => Outcome::RolledBack,
        _ => Outcome::Failed,
    }
}

fn outcome_without_answer(error: &RequestError) -> Outcome {
    match error {
        RequestError::Upstream { failure, .. } if failure.is_before_sending() => Outcome::RolledBack,
        _ => Outcome::Failed,
    }
}

/// Notes the rows that were refused, now that an attempt without them was taken.
async fn learn(proxy: &Proxy, prompt: Option<&Arc<Prompt>>, refused: &[usize]) {
    let Some(prompt) = prompt.filter(|prompt| !prompt.counts_only) else {
        return;
    };
    for row in refused
        .iter()
        .filter_map(|row| prompt.route.policy.rows.get(*row))
    {
        learning::learn(proxy, prompt, row_name(row), Finding::Refused).await;
    }
}

/// An error answer, read as far as it may tell why.
struct ErrorBody {
    head: response::Parts,
    read: Bytes,
    rest: Option<Incoming>,
    /// Its text, decoded; empty where it is too long or broken.
    text: String,
}

impl ErrorBody {
    async fn read(response: Response<Incoming>, idle: Duration) -> Self {
        let (head, mut body) = response.into_parts();
        let (mut read, mut whole) = (BytesMut::new(), false);
        while read.len() <= MAX_ERROR {
            match timeout(idle, body.frame()).await {
                Ok(Some(Ok(frame))) => read.extend_from_slice(frame.data_ref().map_or(&[], Bytes::as_ref)),
                Ok(None) => {
                    whole = true;
                    break;
                }
                Ok(Some(Err(_))) | Err(_) => break,
            }
        }
        let read = read.freeze();
        let text = if whole { text(&head, &read) } else { String::new() };
        Self {
            head,
            read,
            rest: (!whole).then_some(body),
            text,
        }
    }

    fn into_response(self) -> Response<OutgoingBody> {
        let body = match self.rest {
            Some(rest) => joined(self.read, rest),
            None => Full::new(self.read)
                .map_err(|never| match never {})
                .boxed_unsync(),
        };
        Response::from_parts(self.head, body)
    }
}

fn text(head: &response::Parts, body: &Bytes) -> String {
    let limits = Limits {
        max_bytes: MAX_ERROR * 4,
        max_ratio: 100,
    };
    let plain = encoding::decode(body, &encoding::of_headers(&head.headers), limits);
    plain
        .map(|plain| String::from_utf8_lossy(&plain).into_owned())
        .unwrap_or_default()
}

fn whole(body: Incoming) -> OutgoingBody {
    body.map_err(Into::into).boxed_unsync()
}

impl Next {
    fn as_str(self) -> &'static str {
        match self {
            Self::Relay => "relay",
            Self::Resend(Form::Rows(_)) => "next_row",
            Self::Resend(Form::NoNode) => "no_node",
            Self::Resend(Form::Own(_)) => "own",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: Next = Next::Resend(Form::Own(Cause::Refused));

    fn after(form: Form, row: Option<usize>, bound: bool, status: u16, pattern: Option<&str>) -> Next {
        let tried = Tried {
            form,
            row,
            placed: row.is_some(),
            rows: 2,
            bound,
        };
        next(&tried, StatusCode::from_u16(status).unwrap(), pattern)
    }

    #[test]
    fn a_refused_node_goes_by_the_next_row_then_the_clients_own_body() {
        let by = |row| Next::Resend(Form::Rows(row));
        assert_eq!(after(Form::Rows(0), Some(0), false, 400, Some("p")), by(1));
        assert_eq!(after(Form::Rows(0), Some(0), true, 500, Some("p")), by(1));
        assert_eq!(after(Form::Rows(0), Some(1), false, 400, Some("p")), OWN);
        assert_eq!(after(Form::Rows(1), Some(1), false, 400, Some("p")), OWN);
        assert_eq!(after(Form::Rows(1), Some(1), false, 500, None), OWN);
        assert_eq!(
            after(Form::Own(Cause::Refused), None, false, 400, Some("p")),
            Next::Relay
        );
    }

    #[test]
    fn without_a_pattern_or_a_new_node_the_clients_own_body_goes_at_once() {
        assert_eq!(after(Form::Rows(0), Some(0), false, 400, None), OWN);
        assert_eq!(after(Form::Rows(0), None, false, 422, Some("p")), OWN);
        assert_eq!(after(Form::Rows(0), Some(0), false, 500, None), Next::Relay);
    }

    #[test]
    fn bound_thinking_keeps_the_form_unless_the_error_is_about_it() {
        let wait = Next::Resend(Form::NoNode);
        assert_eq!(after(Form::Rows(0), None, true, 400, Some("p")), Next::Relay);
        assert_eq!(after(Form::Rows(0), Some(0), true, 400, None), wait);
        assert_eq!(after(Form::Rows(1), Some(1), true, 400, Some("p")), wait);
        assert_eq!(after(Form::NoNode, None, true, 400, None), Next::Relay);
        assert_eq!(after(Form::Rows(0), Some(0), true, 400, Some(BOUND)), OWN);
    }

    #[test]
    fn credentials_limits_and_load_are_no_refusals() {
        for status in [401, 403, 404, 408, 409, 429, 502, 503, 529] {
            assert!(!may_refuse(StatusCode::from_u16(status).unwrap()), "{status}");
        }
    }
}
