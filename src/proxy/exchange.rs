//! The life of one request: receive, decode, parse, look up, decide, apply, guard, record, send, observe.
//!
//! It runs in a task of its own and the client's connection only reads what it yields. A client that goes
//! away closes that channel, which cancels the upstream request here, at a place that we choose; what must
//! still be written down is written.

use std::{
    sync::{Arc, atomic::Ordering},
    time::{Duration, Instant},
};

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::{
    Request, Response, StatusCode,
    body::Incoming,
    http::{request, response},
};
use tokio::sync::oneshot;

use crate::{
    error::RequestError,
    identity,
    prefix::{
        Outcome,
        digest::Digest,
        item::AnswerMark,
        keys,
        past::{Path, State},
        plan::Reason,
    },
    proxy::{
        Proxy,
        answer::{AnswerReader, LastEvent},
        attempt::{self, Attempt, Form, Planned},
        headers, learning,
        line::RequestLine,
        now_ms,
        observe::SideCopy,
        receive::{Received, receive},
        recorder::{self, Record},
        refusal::{self, Answered},
        relay::{self, End, Relay},
        report,
        rewrite::{self, Passthrough, Prompt},
        signing::{self, Signing},
        target::{self, Format, Target},
        upstream::OutgoingBody,
        websocket,
    },
    route::{row_name, warmth::Miss},
    wire::{Call, answer::Reading},
};

/// A response on its way to the client.
pub type Reply = Response<OutgoingBody>;

/// Answers one request, whatever happens.
pub async fn answer(proxy: Arc<Proxy>, request: Request<Incoming>) -> Reply {
    if websocket::is_asked(&request) {
        return websocket::open(proxy, request).await;
    }
    let (reply, answer) = oneshot::channel();
    proxy.exchanges.spawn(run(Arc::clone(&proxy), request, reply));
    // The sender is gone without a word only if the task panicked.
    answer
        .await
        .unwrap_or_else(|_| own_answer(&RequestError::Internal, Format::Other))
}

async fn run(proxy: Arc<Proxy>, request: Request<Incoming>, mut reply: oneshot::Sender<Reply>) {
    let mut line = RequestLine::new(proxy.requests.fetch_add(1, Ordering::Relaxed) + 1);
    match open(&proxy, request, &mut reply, &mut line).await {
        Ok((answered, prompt, record)) => {
            observe(&proxy, answered, (prompt.as_deref(), record), reply, line).await;
        }
        Err(error) => {
            line.status = Some(error.status());
            let answer = own_answer(&error, line.format);
            line.close(error.label(), &proxy.metrics, proxy.tap.as_ref());
            let _ = reply.send(answer);
        }
    }
}

/// Everything up to the head of the upstream's answer.
async fn open(
    proxy: &Arc<Proxy>,
    request: Request<Incoming>,
    reply: &mut oneshot::Sender<Reply>,
    line: &mut RequestLine,
) -> Result<(Answered, Option<Arc<Prompt>>, Option<Record>), RequestError> {
    let (head, body) = request.into_parts();
    line.session = identity::hints(&head.headers)
        .session
        .map(|session| proxy.tenants.session_label(session));
    let target =
        target::resolve(&proxy.config.upstreams, proxy.address, &head).map_err(RequestError::Target)?;
    line.set_target(&target);
    line.ignores_cached = proxy.ignores_cached(&target);
    let received = receive(body, proxy.config.max_body, proxy.config.idle_timeout).await?;
    line.received_bytes = received.length();
    let signing = Signing::of(proxy, &target, &head.headers).await;
    let started = Instant::now();
    let (attempt, prompt) = ready(proxy, (&target, &head, &signing), received, line).await;
    line.rewrite = prompt.as_ref().map(|_| started.elapsed());
    let mut record = recorder::begin(proxy, (&target, &head), (prompt.as_deref(), &attempt));
    let sender = Sender {
        proxy,
        target: &target,
        head: &head,
        signing,
    };
    let answered = match refusal::exchange(proxy, &sender, prompt.as_ref(), attempt, reply).await {
        Ok(answered) => answered,
        Err(error) => {
            recorder::end(proxy, record);
            return Err(error);
        }
    };
    if let Some(record) = &mut record {
        let (status, headers) = (answered.response.status(), answered.response.headers());
        record.left_as(&answered.attempt);
        record.answered(Some(status), Some(headers));
    }
    line.sent_bytes = answered.attempt.length;
    line.status = Some(answered.response.status());
    line.head_after = Some(line.started.elapsed());
    Ok((answered, prompt, record))
}

/// From the client's body to the one that leaves: decode, parse, look up, decide, apply, guard, record.
async fn ready(
    proxy: &Arc<Proxy>,
    (target, head, signing): (&Target<'_>, &request::Parts, &Signing<'_>),
    received: Received,
    line: &mut RequestLine,
) -> (Attempt, Option<Arc<Prompt>>) {
    let whole = match received {
        Received::Whole(whole) => whole,
        oversize @ Received::Oversize { .. } => {
            line.passed_through(Passthrough::Oversize, &proxy.metrics);
            return (Attempt::unread(oversize), None);
        }
    };
    let prompt = match rewrite::read(proxy, target, (&head.headers, signing), whole.clone()).await {
        Ok(prompt) => Arc::new(prompt),
        Err(reason) => {
            line.passed_through(reason, &proxy.metrics);
            return (Attempt::unread(Received::Whole(whole)), None);
        }
    };
    let attempt = Attempt::new(proxy, &prompt, Form::Rows(0)).await;
    (attempt, Some(prompt))
}

/// Sends bodies of one request to its upstream.
pub struct Sender<'a> {
    proxy: &'a Proxy,
    target: &'a Target<'a>,
    head: &'a request::Parts,
    signing: Signing<'a>,
}

impl Sender<'_> {
    /// Sends the body of `attempt` and waits for the head of the answer, for as long as the client does.
    ///
    /// # Errors
    /// There is no answer.
    pub async fn send(
        &self,
        attempt: &mut Attempt,
        reply: &mut oneshot::Sender<Reply>,
    ) -> Result<Response<Incoming>, RequestError> {
        let digest = self.digest(attempt.pieces()).await;
        let mut request = Request::new(attempt.take_body());
        *request.method_mut() = self.head.method.clone();
        *request.uri_mut() = self.target.uri.clone();
        *request.headers_mut() = headers::to_upstream(&self.head.headers, attempt.length, attempt.decoded);
        // The spelling of the header names is in there.
        *request.extensions_mut() = self.head.extensions.clone();
        if let Some(digest) = digest {
            self.signing.authorise(&mut request, &digest);
        }
        tokio::select! {
            answer = self.proxy.client.send(request) => answer.map_err(|failure| RequestError::Upstream {
                name: self.target.upstream.name.clone(),
                host: self.target.upstream.authority.to_string(),
                failure,
            }),
            () = reply.closed() => Err(RequestError::ClientLeft),
        }
    }

    /// What a new signature covers; none where the client's stays, as it must on a body that streams through.
    async fn digest(&self, pieces: Option<Vec<Bytes>>) -> Option<String> {
        let pieces = pieces.filter(|_| self.signing.is_ours())?;
        let length = pieces.iter().map(Bytes::len).sum();
        let digest = move || signing::digest(pieces.iter().map(Bytes::as_ref));
        rewrite::off_thread(length, digest).await.ok()
    }
}

/// How long the end of an answer is held back for its reader and for its record.
const PATIENCE: Duration = Duration::from_millis(50);

/// Streams the answer to the client with a copy to the side, and puts on record what was said and how it went before
/// the client has the end.
async fn observe(
    proxy: &Proxy,
    answered: Answered,
    (prompt, mut record): (Option<&Prompt>, Option<Record>),
    reply: oneshot::Sender<Reply>,
    mut line: RequestLine,
) {
    let Answered {
        response,
        mut attempt,
    } = answered;
    let (head, from) = response.into_parts();
    let status = head.status;
    let format = line.readable(status);
    let mut reader = AnswerReader::new(format, &head.headers);
    if record.is_some() {
        reader = reader.copying();
    }
    let mut side = SideCopy::start(reader);
    let last_event = LastEvent::new(format, &head.headers);
    let (frames, body) = relay::body();
    let _ = reply.send(downstream(head, body));

    let mut relay = Relay::new(from, frames, proxy.config.idle_timeout);
    relay.run(&mut side, |chunk| last_event.is_in(chunk)).await;
    let whole = relay.end.is_none_or(|end| end == End::Complete);
    let held = Instant::now();
    let read_in_time = side.settle(PATIENCE).await;
    if !read_in_time {
        relay.release().await;
    }
    let (reading, copy) = side.finish().await.unwrap_or_default();
    if let (Some(record), Some(copy)) = (&mut record, copy) {
        record.said(copy);
    }
    recorder::end(proxy, record);
    let read = (reading.as_ref(), status.is_success());
    let seq = put_on_record(proxy, prompt, &mut attempt, read, held).await;
    if let Some(prompt) = prompt {
        let id = reading.as_ref().and_then(|reading| reading.id.as_deref());
        proxy.learning.answered(prompt, seq, id);
    }
    if relay.end.is_none() {
        relay.release().await;
        relay.run(&mut SideCopy::<()>::over(), |_| false).await;
    }
    line.answer_bytes = Some(relay.bytes);
    line.first_byte_after = relay.first_byte.map(|first| first.duration_since(line.started));
    attempt::explain(prompt, attempt.planned.clone()).await;
    tell(
        proxy,
        &mut line,
        status.is_success(),
        (prompt, &attempt, seq),
        reading.as_ref(),
    );
    if let Some((prompt, planned)) = prompt.zip(attempt.planned.as_deref()) {
        learn(proxy, &mut line, (prompt, planned, seq)).await;
    }
    // A client that has the last event may leave: nothing is missing.
    let end = relay.end.filter(|end| *end != End::ClientLeft || !whole);
    let outcome = outcome(end.unwrap_or(End::Complete), status);
    line.close(outcome, &proxy.metrics, proxy.tap.as_ref());
    relay.release().await;
}

/// Puts on record what an answer says, waiting no longer than the client may after `held`, and keeps what went out where
/// that was taken. Gives the number of the record.
pub async fn put_on_record(
    proxy: &Proxy,
    prompt: Option<&Prompt>,
    attempt: &mut Attempt,
    (reading, taken): (Option<&Reading>, bool),
    held: Instant,
) -> Option<u64> {
    let answer = reading.and_then(answer_mark);
    if let Some(answer) = answer {
        attempt.step.answer(proxy, answer);
    }
    let response = reading.zip(prompt).and_then(response_key);
    if let Some(response) = response {
        attempt.step.respond(proxy, response);
    }
    let patience = PATIENCE.saturating_sub(held.elapsed());
    let seq = attempt.step.written(patience).await;
    if let Some(prompt) = prompt.filter(|_| taken) {
        keep_path(proxy, prompt, attempt, (seq, answer, response));
    }
    seq
}

/// Keeps what went out where the conversation could not go on without.
fn keep_path(
    proxy: &Proxy,
    prompt: &Prompt,
    attempt: &Attempt,
    (seq, answer, response): (Option<u64>, Option<AnswerMark>, Option<Digest>),
) {
    if prompt.counts_only {
        return;
    }
    if let Some(planned) = attempt.planned.as_deref()
        && let Some(parent) = planned.plan.parent.as_ref().filter(|_| planned.sent.carries)
    {
        proxy.bodies.passed(&parent.request);
    }
    let path = attempt.planned.as_deref().map(|planned| &planned.sent.path);
    let path = path.filter(|path| !path.nodes.is_empty() || prompt.route.policy.binds_thinking);
    let kept = path.map(|path| Path {
        seq: seq.unwrap_or_default(),
        lineage: Some(path.lineage)
            .filter(|lineage| *lineage > 0)
            .or(seq)
            .unwrap_or_default(),
        state: State::Committed,
        answer,
        ..path.clone()
    });
    proxy.recent.keep(&prompt.keys, response, kept);
}

/// The key by which a later request may name the response.
fn response_key((reading, prompt): (&Reading, &Prompt)) -> Option<Digest> {
    let id = reading
        .id
        .as_deref()
        .filter(|_| prompt.format.wire().goes_on_by_id())?;
    Some(keys::response_key(prompt.scope, keys::response_id(id)))
}

fn answer_mark(reading: &Reading) -> Option<AnswerMark> {
    let answer = reading.answer.as_ref().filter(|answer| answer.complete)?;
    AnswerMark::of(&answer.text, &answer.call_ids)
}

/// Fills the line in and counts what is to be counted.
pub fn tell(
    proxy: &Proxy,
    line: &mut RequestLine,
    taken: bool,
    (prompt, attempt, seq): (Option<&Prompt>, &Attempt, Option<u64>),
    reading: Option<&Reading>,
) {
    line.passthrough = line.passthrough.or(attempt.passthrough.map(Passthrough::as_str));
    if let Some((prompt, planned)) = prompt.zip(attempt.planned.as_deref()) {
        tell_prompt(proxy, line, (prompt, planned, seq), taken);
    }
    if let Some(reading) = reading {
        line.server_edited = reading.diagnostics.context_edited;
        let usage = reading.usage;
        line.usage = usage.map(|usage| {
            if line.ignores_cached {
                usage.without_cache()
            } else {
                usage
            }
        });
        let sent = attempt.planned.as_deref().map(Planned::sent_verdict);
        report::count_answer(&proxy.metrics, line, sent, reading);
    }
}

/// Weighs what the answer says of the cache: a miss of an intact prefix, a row of the route that does not work.
async fn learn(
    proxy: &Proxy,
    line: &mut RequestLine,
    (prompt, planned, seq): (&Prompt, &Planned, Option<u64>),
) {
    let Some(usage) = line.usage.filter(|_| !prompt.counts_only) else {
        return;
    };
    let told = learning::Told {
        usage,
        begun_ms: line.begun_ms(),
        server_edited: line.server_edited,
    };
    let found = proxy.learning.weigh(prompt, planned, seq, &told);
    line.miss = found.miss.map(Miss::as_str);
    if let Some(miss) = line.miss {
        proxy.metrics.record_provider_miss(miss);
    }
    let row = planned.plan.new_node.as_ref().map(|node| node.spot.row);
    if let Some((finding, row)) = found.finding.zip(row) {
        learning::learn(proxy, prompt, row_name(&row), finding).await;
    }
}

fn tell_prompt(
    proxy: &Proxy,
    line: &mut RequestLine,
    (prompt, planned, seq): (&Prompt, &Planned, Option<u64>),
    taken: bool,
) {
    let request = &prompt.request;
    let model = request.model.as_deref().unwrap_or_default();
    line.model = Some(proxy.metrics.model_label(model).to_owned());
    let session = request.hints.session;
    line.session = session.map(|session| proxy.tenants.session_label(session));
    if let Some(rewrite) = line.rewrite {
        proxy.metrics.record_rewrite(line.format.as_str(), rewrite);
    }
    let mut prefix = report::prefix(prompt, planned, &proxy.item_ids);
    prefix.lineage = prefix.lineage.or(seq);
    if taken && !prompt.counts_only {
        report::count(&proxy.metrics, line.format.as_str(), prompt, planned);
        let bytes = planned.sent.path.superseded_bytes();
        let all = prefix
            .lineage
            .and_then(|lineage| proxy.superseded.note(lineage, bytes));
        if let Some(all) = all {
            proxy
                .metrics
                .record_superseded(i64::try_from(all).unwrap_or(i64::MAX));
        }
    }
    if planned.plan.outcome == Outcome::Rebaseline(Reason::Secret) {
        tracing::warn!(
            event = "secret_removed",
            "text like a key left the system prompt: its head was sent anew"
        );
    }
    line.prefix = Some(prefix);
}

fn outcome(end: End, status: StatusCode) -> &'static str {
    match end {
        End::ClientLeft => "client_left",
        End::UpstreamBroke => "upstream_broke",
        End::UpstreamSilent => "upstream_silent",
        End::Complete if status.is_client_error() => "client_error",
        End::Complete if status.is_server_error() => "server_error",
        End::Complete => "ok",
    }
}

fn downstream(head: response::Parts, body: OutgoingBody) -> Reply {
    let mut response = Response::new(body);
    *response.status_mut() = head.status;
    *response.headers_mut() = headers::to_downstream(&head.headers);
    // The spelling of the header names and the reason phrase are in there.
    *response.extensions_mut() = head.extensions;
    response
}

/// Our own word on what went wrong.
pub fn own_answer(error: &RequestError, format: Format) -> Reply {
    error
        .response(format)
        .map(|body| body.map_err(|never| match never {}).boxed_unsync())
}

impl RequestLine {
    /// When the answer began, in milliseconds since the epoch, rather too early than too late.
    fn begun_ms(&self) -> Option<u64> {
        let since = self.started.elapsed().checked_sub(self.first_byte_after?)?;
        now_ms().checked_sub(since.as_millis() as u64 + 1)
    }

    /// The format in which an answer of this status is read; none where there is nothing to read.
    fn readable(&self, status: StatusCode) -> Option<crate::wire::format::Format> {
        match (self.format, self.call) {
            (Format::Wire(format), Call::Messages | Call::Compact) if status.is_success() => Some(format),
            _ => None,
        }
    }

    /// The body leaves unread.
    pub fn passed_through(&mut self, reason: Passthrough, metrics: &crate::metrics::Metrics) {
        self.passthrough = Some(reason.as_str());
        metrics.record_passthrough(reason.as_str());
    }
}
