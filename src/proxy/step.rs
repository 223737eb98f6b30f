//! What the ledger is told about one attempt: that it leaves, how it ended, what was answered.
//!
//! The writes of a step happen in their order and beside the exchange. It waits for them in two places only: before
//! a body leaves whose node must be on record, and for a moment before the client has the end of the answer.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use tokio::{task::JoinHandle, time::timeout};

use crate::{
    ledger::{Ledger, LedgerError, Outcome},
    prefix::{
        Scope,
        digest::Digest,
        item::AnswerMark,
        past::{Sent, Seq},
    },
    proxy::{Proxy, now_ms, rewrite::Passthrough},
};

/// A record that comes later is of no use any more.
const LATEST: Duration = Duration::from_secs(10);

/// One attempt on record, or one that is not recorded.
pub struct Step(Work);

enum Work {
    None,
    Running(JoinHandle<Option<Seq>>),
    Done(Option<Seq>),
}

impl Step {
    /// An attempt that leaves no trace.
    pub fn unrecorded() -> Self {
        Self(Work::None)
    }

    /// Puts on record that a request leaves. A node or head that is new is on disk when this returns; else the write
    /// goes on beside the request.
    ///
    /// # Errors
    /// It is not on record, and what is new in it must not leave.
    pub async fn append(proxy: &Arc<Proxy>, scope: Scope, sent: Sent) -> Result<Self, Passthrough> {
        if sent.durable {
            let started = Instant::now();
            let seq = append(proxy, scope, sent).await?;
            proxy.metrics.record_state_write(started.elapsed());
            return Ok(Self(Work::Done(Some(seq))));
        }
        let shared = Arc::clone(proxy);
        Ok(Self(Work::Running(proxy.exchanges.spawn(async move {
            match append(&shared, scope, sent.clone()).await {
                Ok(seq) => Some(seq),
                Err(reason) => {
                    shared.metrics.record_passthrough(reason.as_str());
                    late(&shared, scope, sent).await
                }
            }
        }))))
    }

    /// Puts on record, as soon as the ledger can, what leaves now because something better could not be recorded. It
    /// holds no new node. A conversation that went on in a form that nobody remembers would change its form once more.
    pub fn late(proxy: &Arc<Proxy>, scope: Scope, sent: Sent) -> Self {
        let shared = Arc::clone(proxy);
        let work = async move { late(&shared, scope, sent).await };
        Self(Work::Running(proxy.exchanges.spawn(work)))
    }

    /// Says how it ended; the first word counts.
    pub fn settle(&mut self, proxy: &Proxy, outcome: Outcome) {
        let at = now_ms();
        self.then(proxy, async move |ledger, seq| {
            ledger.settle(seq, outcome, at).await
        });
    }

    /// Says what was answered.
    pub fn answer(&mut self, proxy: &Proxy, answer: AnswerMark) {
        let at = now_ms();
        self.then(proxy, async move |ledger, seq| {
            ledger.answer(seq, answer, at).await
        });
    }

    /// Says by which key a request may name the response.
    pub fn respond(&mut self, proxy: &Proxy, response: Digest) {
        self.then(proxy, async move |ledger, seq| {
            ledger.respond(seq, response).await
        });
    }

    /// Its number, once all that was said is written; none without a record, or where `patience` ended first.
    pub async fn written(&mut self, patience: Duration) -> Option<Seq> {
        if let Work::Running(running) = &mut self.0 {
            self.0 = Work::Done(timeout(patience, running).await.ok()?.ok().flatten());
        }
        match self.0 {
            Work::Done(seq) => seq,
            Work::None | Work::Running(_) => None,
        }
    }

    fn then<F>(&mut self, proxy: &Proxy, write: impl FnOnce(Ledger, Seq) -> F + Send + 'static)
    where
        F: Future<Output = Result<(), LedgerError>> + Send + 'static,
    {
        let before = std::mem::replace(&mut self.0, Work::None);
        let ledger = proxy.ledger.clone();
        let known = match &before {
            Work::None | Work::Done(None) => return,
            Work::Done(known) => *known,
            Work::Running(_) => None,
        };
        self.0 = Work::Running(proxy.exchanges.spawn(async move {
            let seq = match before {
                Work::Running(running) => running.await.ok().flatten()?,
                _ => known?,
            };
            if let Err(error) = write(ledger, seq).await {
                tracing::warn!(event = "state_error", error = error.label());
            }
            Some(seq)
        }));
    }
}

/// An append that nobody waits for.
async fn late(proxy: &Proxy, scope: Scope, sent: Sent) -> Option<Seq> {
    let appended = timeout(LATEST, proxy.ledger.append(scope, sent)).await;
    Passthrough::of_state(appended).ok()
}

/// One append within the time that a request waits for the state. Who stops waiting has not appended.
async fn append(proxy: &Proxy, scope: Scope, sent: Sent) -> Result<Seq, Passthrough> {
    let appended = timeout(proxy.config.state_timeout, proxy.ledger.append(scope, sent)).await;
    Passthrough::of_state(appended)
}
