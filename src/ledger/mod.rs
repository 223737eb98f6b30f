//! The ledger: what was sent, under which keys it can be found again, and how it ended.
//!
//! Two stores, in memory and in SQLite, give rows by key (`store`); one logic over both finds (`find`), ranks
//! (`rank`) and resolves (`load`) paths and says what a write changes (`append`, `book`, `prune`). [`Ledger`] is the face that the
//! proxy uses. It decides nothing about prompts: paths come in and go out as plain values.
//!
//! Rules of this folder: a record never changes, and what changes (state, answer, time) stands beside it; nothing
//! is answered outside the scope that was asked; what a look-up costs does not grow with what is stored.

mod append;
mod book;
mod cache;
mod error;
mod faulty;
mod find;
mod keys;
mod learned;
mod load;
mod mailbox;
mod memory;
mod prune;
mod rank;
mod record;
mod schema;
mod sqlite;
mod store;

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::prefix::digest::Digest;
use crate::prefix::item::AnswerMark;
use crate::prefix::keys::{Keys, Scope};
use crate::prefix::past::{Past, Sent, Seq};
use mailbox::Need;

pub use book::{Book, Outcome};
pub use error::{LedgerError, Result};
pub use faulty::{Fault, Faulty};
pub use learned::Learned;
pub use mailbox::Mailbox;
pub use memory::Memory;
pub use sqlite::Sqlite;
pub use store::Stats;

/// A ledger in memory, synchronous.
pub type MemoryLedger = Book<Memory>;

/// A ledger in a SQLite file, synchronous.
///
/// Several processes may open the same file: each sees what the others committed, and a write waits up to a second
/// for another's before it is refused as [`LedgerError::Busy`].
pub type Db = Book<Sqlite>;

/// Where the proxy keeps what was sent. A clone is the same ledger.
#[derive(Clone)]
pub enum Ledger {
    /// Gone with the process.
    Memory(Arc<Mutex<MemoryLedger>>),
    /// In a SQLite file, behind a thread of its own.
    Sqlite(Mailbox),
    /// For tests: with faults at chosen writes.
    Faulty(Arc<Faulty>),
}

/// Lineages that are removed in one go: between two goes, requests have their turn.
const PRUNED_AT_ONCE: usize = 16;

/// Does the same work on the book of either kind: at once in memory, in its thread for a file.
macro_rules! on {
    ($base:expr, $need:expr, |$book:ident| $work:expr) => {
        match $base {
            Base::Memory(shared) => {
                let $book = &mut *lock(shared);
                $work
            }
            Base::Sqlite(mailbox) => mailbox.call($need, move |$book| $work).await,
        }
    };
}
impl Ledger {
    /// An empty ledger in memory.
    pub fn memory() -> Self {
        Self::Memory(Arc::new(Mutex::new(MemoryLedger::new())))
    }

    /// Opens or creates the ledger in this file, and its folder (0700; the file 0600).
    ///
    /// # Errors
    /// [`LedgerError::Foreign`], [`LedgerError::Version`] and [`LedgerError::Corrupt`] where the file cannot be
    /// used, and is left as it is; [`LedgerError::Io`] and [`LedgerError::Full`] where it cannot be created.
    pub fn open(path: &Path) -> Result<Self> {
        Mailbox::start(Db::open(path)?).map(Self::Sqlite)
    }

    /// `inner` with faults at its n-th writes, for tests.
    pub fn faulty(inner: Self, faults: impl IntoIterator<Item = (u64, Fault)>) -> Self {
        Self::Faulty(Arc::new(Faulty::new(inner, faults)))
    }

    /// See [`Book::past`].
    pub async fn past(&self, scope: Scope, keys: &Keys) -> Result<Past> {
        let keys = keys.clone();
        on!(self.base()?, Need::Read, |book| book.past(scope, &keys))
    }

    /// See [`Book::append`]. A caller who stops waiting has not appended: the step is taken back.
    pub async fn append(&self, scope: Scope, sent: Sent) -> Result<Seq> {
        let need = if sent.durable { Need::Durable } else { Need::Write };
        let base = self.base()?;
        let work = async {
            match base {
                Base::Memory(book) => lock(book).append(scope, sent),
                Base::Sqlite(mailbox) => {
                    mailbox
                        .call_or_undo(need, move |db| db.append(scope, sent), Some)
                        .await
                }
            }
        };
        self.scripted(work).await
    }

    /// See [`Book::settle`].
    pub async fn settle(&self, seq: Seq, outcome: Outcome, at_ms: u64) -> Result<()> {
        let base = self.base()?;
        self.scripted(async { on!(base, Need::Write, |book| book.settle(seq, outcome, at_ms)) })
            .await
    }

    /// See [`Book::answer`].
    pub async fn answer(&self, seq: Seq, answer: AnswerMark, at_ms: u64) -> Result<()> {
        let base = self.base()?;
        self.scripted(async { on!(base, Need::Write, |book| book.answer(seq, answer, at_ms)) })
            .await
    }

    /// See [`Book::respond`].
    pub async fn respond(&self, seq: Seq, response: Digest) -> Result<()> {
        let base = self.base()?;
        self.scripted(async { on!(base, Need::Write, |book| book.respond(seq, response)) })
            .await
    }

    /// See [`Book::learn`].
    pub async fn learn(&self, route: &str, learned: Learned) -> Result<()> {
        let (base, route) = (self.base()?, route.to_owned());
        self.scripted(async { on!(base, Need::Write, |book| book.learn(&route, learned)) })
            .await
    }

    /// See [`Book::unlearn`].
    pub async fn unlearn(&self, route: &str) -> Result<()> {
        let (base, route) = (self.base()?, route.to_owned());
        self.scripted(async { on!(base, Need::Write, |book| book.unlearn(&route)) })
            .await
    }

    /// See [`Book::learned`].
    pub async fn learned(&self, route: &str) -> Result<Vec<Learned>> {
        let route = route.to_owned();
        on!(self.base()?, Need::Read, |book| book.learned(&route))
    }

    /// See [`Book::all_learned`].
    pub async fn all_learned(&self) -> Result<Vec<(String, Vec<Learned>)>> {
        on!(self.base()?, Need::Read, |book| book.all_learned())
    }

    /// See [`Book::secret`].
    pub async fn secret(&self) -> Result<[u8; 32]> {
        on!(self.base()?, Need::Durable, |book| book.secret())
    }

    /// See [`Book::stats`].
    pub async fn stats(&self) -> Result<Stats> {
        on!(self.base()?, Need::Read, |book| book.stats())
    }

    /// Removes all lineages that [`Book::prune`] would, a few at a time, and says how many.
    pub async fn prune(&self, now_ms: u64, retention_ms: u64, max_bytes: u64) -> Result<usize> {
        let mut removed = 0;
        loop {
            let some = on!(self.base()?, Need::Write, |book| {
                book.prune(now_ms, retention_ms, max_bytes, PRUNED_AT_ONCE)
            })?;
            removed += some;
            if some == 0 {
                return Ok(removed);
            }
        }
    }

    /// Ends it: what was asked for is done, and a file is closed when this returns.
    pub async fn close(&self) {
        if let Ok(Base::Sqlite(mailbox)) = self.base() {
            mailbox.close().await;
        }
    }

    /// The ledger that does the work; an error where a test let it die.
    fn base(&self) -> Result<Base<'_>> {
        match self {
            Self::Memory(book) => Ok(Base::Memory(book)),
            Self::Sqlite(mailbox) => Ok(Base::Sqlite(mailbox)),
            Self::Faulty(faulty) => faulty.alive().and_then(|()| faulty.inner.base()),
        }
    }

    /// Does a write, with the faults that a test wrote for it.
    async fn scripted<T>(&self, work: impl Future<Output = Result<T>>) -> Result<T> {
        match self {
            Self::Faulty(faulty) => faulty.write(work).await,
            Self::Memory(_) | Self::Sqlite(_) => work.await,
        }
    }
}

/// A ledger without its faults.
#[derive(Clone, Copy)]
enum Base<'a> {
    Memory(&'a Mutex<MemoryLedger>),
    Sqlite(&'a Mailbox),
}

/// The lock is held for one call and never over an await; a panic in one leaves whole maps.
fn lock(book: &Mutex<MemoryLedger>) -> MutexGuard<'_, MemoryLedger> {
    book.lock().unwrap_or_else(PoisonError::into_inner)
}

impl MemoryLedger {
    /// An empty ledger.
    pub fn new() -> Self {
        Self::over(Memory::default())
    }

    /// An empty ledger that holds at most so many bytes of resolved paths at hand.
    pub fn with_cache_of(bytes: usize) -> Self {
        Self::with_cache(Memory::default(), bytes)
    }

    /// The serialised form: all that it knows.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        self.store.to_bytes()
    }

    /// Reads the serialised form.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        Memory::from_bytes(bytes).map(Self::over)
    }
}

/// A ledger of its own with the same rows.
impl Clone for MemoryLedger {
    fn clone(&self) -> Self {
        Self::over(self.store.clone())
    }
}

impl Default for MemoryLedger {
    fn default() -> Self {
        Self::new()
    }
}

impl Db {
    /// Opens or creates the file, and its folder; both are the user's alone.
    pub fn open(path: &Path) -> Result<Self> {
        Sqlite::open(path).map(Self::over)
    }
}
