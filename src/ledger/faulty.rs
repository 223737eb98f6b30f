//! A test seam: a ledger that fails, stalls or dies at chosen writes. Nothing in the product makes one.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::Ledger;
use super::error::{LedgerError, Result};

/// A ledger with a script of faults.
pub struct Faulty {
    pub(super) inner: Ledger,
    script: Mutex<Script>,
}

/// What happens at a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It is not done, and the caller is told.
    Fail,
    /// It is done, but only after a while.
    Stall(Duration),
    /// It is not done, and nothing is answered ever after.
    Die,
    /// It is done, the caller is told that it failed, and nothing is answered ever after.
    DieAfter,
}

#[derive(Default)]
struct Script {
    faults: BTreeMap<u64, Fault>,
    writes: u64,
    dead: bool,
}

impl Faulty {
    /// `inner` with these faults, each at the n-th write (`append`, `settle`, `answer`, `learn`), counted from 1.
    pub fn new(inner: Ledger, faults: impl IntoIterator<Item = (u64, Fault)>) -> Self {
        let script = Script {
            faults: faults.into_iter().collect(),
            ..Script::default()
        };
        Self {
            inner,
            script: Mutex::new(script),
        }
    }

    /// How many writes were asked for so far.
    pub fn writes(&self) -> u64 {
        self.script().writes
    }

    /// Does a write as the script says.
    pub(super) async fn write<T>(&self, work: impl Future<Output = Result<T>>) -> Result<T> {
        match self.next_fault()? {
            Some(Fault::Fail | Fault::Die) => return Err(LedgerError::Injected),
            Some(Fault::Stall(time)) => tokio::time::sleep(time).await,
            Some(Fault::DieAfter) => {
                // Done or not: the caller learns nothing of it.
                let _ = work.await;
                return Err(LedgerError::Injected);
            }
            None => {}
        }
        work.await
    }

    /// An error once the ledger is dead.
    pub(super) fn alive(&self) -> Result<()> {
        if self.script().dead {
            Err(LedgerError::Closed)
        } else {
            Ok(())
        }
    }

    fn next_fault(&self) -> Result<Option<Fault>> {
        self.alive()?;
        let mut script = self.script();
        script.writes += 1;
        let fault = script.faults.get(&script.writes).copied();
        script.dead = matches!(fault, Some(Fault::Die | Fault::DieAfter));
        Ok(fault)
    }

    fn script(&self) -> MutexGuard<'_, Script> {
        self.script.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
