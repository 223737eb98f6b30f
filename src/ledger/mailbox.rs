//! One thread that owns the SQLite ledger, and the mailbox through which all reads and writes reach it, in order.
//!
//! What is queued is done in one transaction and answered after its commit: nobody sees what could still be taken
//! back, and many small writes cost one. A batch with a durable step waits for the disk, the others do not.

use tokio::sync::{mpsc, oneshot};

use super::Db;
use super::book::Outcome;
use super::error::{LedgerError, Result};
use super::store::Store;
use crate::prefix::past::Seq;

/// Calls that wait in the mailbox before callers have to wait for room.
const WAITING: usize = 1024;
/// The most calls in one transaction.
const BATCH: usize = 256;

/// The way to the thread.
#[derive(Clone)]
pub struct Mailbox(mpsc::Sender<Letter>);

/// What a call needs of its transaction, from least to most.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Need {
    /// One state, nothing is written.
    Read,
    /// Written when the answer comes, on the disk a little later.
    Write,
    /// On the disk when the answer comes.
    Durable,
}

enum Letter {
    Call(Box<dyn Job>),
    Stop,
}

impl Mailbox {
    /// Starts the thread. It ends when the last way to it is dropped.
    pub fn start(db: Db) -> Result<Self> {
        let (sender, letters) = mpsc::channel(WAITING);
        std::thread::Builder::new()
            .name("ledger".to_owned())
            .spawn(move || serve(db, letters))?;
        Ok(Self(sender))
    }

    /// Does `work` in the thread. A call whose caller is gone before its turn is not done.
    pub async fn call<T, F>(&self, need: Need, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&mut Db) -> Result<T> + Send + 'static,
    {
        self.call_or_undo(need, work, |_| None).await
    }

    /// As `call`; `undo` names the step to take back if the caller was gone when the work was done.
    pub async fn call_or_undo<T, F>(&self, need: Need, work: F, undo: fn(T) -> Option<Seq>) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&mut Db) -> Result<T> + Send + 'static,
    {
        let (reply, answer) = oneshot::channel();
        let call = Call {
            need,
            work: Some(work),
            done: None,
            reply,
            undo,
        };
        self.0
            .send(Letter::Call(Box::new(call)))
            .await
            .map_err(|_| LedgerError::Closed)?;
        answer.await.unwrap_or(Err(LedgerError::Closed))
    }

    /// Ends the thread after what is queued; returns when the file is closed.
    pub async fn close(&self) {
        // An error says that it has ended already.
        let _ = self.0.send(Letter::Stop).await;
        self.0.closed().await;
    }
}

fn serve(mut db: Db, mut letters: mpsc::Receiver<Letter>) {
    let mut stopped = false;
    while !stopped && let Some(first) = letters.blocking_recv() {
        let mut jobs = Vec::new();
        let mut next = Some(first);
        while let Some(letter) = next.take() {
            match letter {
                Letter::Call(job) => jobs.push(job),
                Letter::Stop => stopped = true,
            }
            if !stopped && jobs.len() < BATCH {
                next = letters.try_recv().ok();
            }
        }
        run(&mut db, jobs);
    }
    drop(db);
}

fn run(db: &mut Db, mut jobs: Vec<Box<dyn Job>>) {
    let need = jobs.iter().map(|job| job.need()).max().unwrap_or(Need::Read);
    let outcome = db.batch(need, |db| jobs.iter_mut().for_each(|job| job.run(db)));
    let unheard: Vec<Seq> = jobs
        .into_iter()
        .filter_map(|job| job.reply(outcome.clone()))
        .collect();
    for seq in unheard {
        // If this fails, too, the step stays tentative, as after a crash.
        let _ = db.settle(seq, Outcome::RolledBack, 0);
    }
}

impl Db {
    /// Runs `work` in one transaction. Its own writes are nested: one that fails leaves the others alone.
    fn batch(&mut self, need: Need, work: impl FnOnce(&mut Self)) -> Result<()> {
        match need {
            Need::Read => self.store.begin_reading()?,
            Need::Write | Need::Durable => self.store.begin(need == Need::Durable)?,
        }
        work(self);
        let outcome = self.store.commit();
        if outcome.is_err() {
            self.take_back();
        }
        outcome
    }
}

/// A call without its types.
trait Job: Send {
    fn need(&self) -> Need;
    fn run(&mut self, db: &mut Db);
    /// Answers the caller; a step that nobody heard of is returned.
    fn reply(self: Box<Self>, outcome: Result<()>) -> Option<Seq>;
}

struct Call<T, F> {
    need: Need,
    work: Option<F>,
    done: Option<Result<T>>,
    reply: oneshot::Sender<Result<T>>,
    undo: fn(T) -> Option<Seq>,
}

impl<T, F> Job for Call<T, F>
where
    T: Send + 'static,
    F: FnOnce(&mut Db) -> Result<T> + Send + 'static,
{
    fn need(&self) -> Need {
        self.need
    }

    fn run(&mut self, db: &mut Db) {
        if !self.reply.is_closed() {
            self.done = self.work.take().map(|work| work(db));
        }
    }

    fn reply(self: Box<Self>, outcome: Result<()>) -> Option<Seq> {
        let Self {
            done, reply, undo, ..
        } = *self;
        match reply.send(outcome.and_then(|()| done.unwrap_or(Err(LedgerError::Closed)))) {
            Err(Ok(value)) => undo(value),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_that_nobody_heard_of_is_named() {
        let call = |done| {
            let (reply, answer) = oneshot::channel();
            drop(answer);
            Box::new(Call {
                need: Need::Write,
                work: None::<fn(&mut Db) -> Result<Seq>>,
                done,
                reply,
                undo: Some,
            })
        };
        assert_eq!(call(Some(Ok(7))).reply(Ok(())), Some(7));
        assert_eq!(call(Some(Ok(7))).reply(Err(LedgerError::Full)), None);
        assert_eq!(call(None).reply(Ok(())), None);
    }
}
