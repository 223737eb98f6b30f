//! The store in a SQLite file. One connection, used by one thread; other processes may have theirs.

use std::cell::Cell;
use std::path::Path;

use rusqlite::{CachedStatement, Connection, OptionalExtension, Params, Row, params};

use super::error::{LedgerError, Result};
use super::schema;
use super::store::{KeyRow, Lineage, Step, Store};
use crate::prefix::digest::Digest;
use crate::prefix::item::AnswerMark;
use crate::prefix::past::{Seq, State};

/// Rows in a SQLite file.
pub struct Sqlite {
    connection: Connection,
    /// Transactions that are open, one in another.
    open: u32,
    rows: Cell<u64>,
}

impl Sqlite {
    /// Opens or creates the file.
    pub fn open(path: &Path) -> Result<Self> {
        Ok(Self {
            connection: schema::open(path)?,
            open: 0,
            rows: Cell::new(0),
        })
    }

    /// Starts a transaction that only reads: all its reads see one state.
    pub fn begin_reading(&mut self) -> Result<()> {
        self.connection.execute_batch("BEGIN")?;
        self.open = 1;
        Ok(())
    }

    fn one<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>> {
        self.rows.set(self.rows.get() + 1);
        Ok(self.statement(sql)?.query_row(params, read).optional()?)
    }

    fn numbers(&self, sql: &str, params: impl Params) -> Result<Vec<Seq>> {
        let mut statement = self.statement(sql)?;
        let found: Vec<Seq> = statement
            .query_map(params, |row| number(row, 0))?
            .collect::<rusqlite::Result<_>>()?;
        self.rows.set(self.rows.get() + found.len() as u64);
        Ok(found)
    }

    fn execute(&self, sql: &str, params: impl Params) -> Result<()> {
        self.statement(sql)?.execute(params)?;
        Ok(())
    }

    fn statement(&self, sql: &str) -> Result<CachedStatement<'_>> {
        Ok(self.connection.prepare_cached(sql)?)
    }

    fn pragma(&self, name: &str) -> Result<u64> {
        Ok(self
            .connection
            .pragma_query_value(None, name, |row| number(row, 0))?)
    }
}

impl Store for Sqlite {
    fn begin(&mut self, durable: bool) -> Result<()> {
        if self.open == 0 {
            // WAL and FULL: the commit waits until the log is on the disk. NORMAL: it is after a crash of this process.
            let level = if durable { "FULL" } else { "NORMAL" };
            self.connection.pragma_update(None, "synchronous", level)?;
            self.connection.execute_batch("BEGIN IMMEDIATE")?;
        } else if self.connection.is_autocommit() {
            return Err(LedgerError::Io("SQLite took the transaction back".to_owned()));
        } else {
            self.connection.execute_batch("SAVEPOINT nested")?;
        }
        self.open += 1;
        Ok(())
    }

    fn commit(&mut self) -> Result<()> {
        self.connection.execute_batch(if self.open == 1 {
            "COMMIT"
        } else {
            "RELEASE nested"
        })?;
        self.open -= 1;
        Ok(())
    }

    fn rollback(&mut self) {
        let sql = if self.open == 1 {
            "ROLLBACK"
        } else {
            "ROLLBACK TO nested; RELEASE nested"
        };
        // It fails only where SQLite has taken the transaction back by itself.
        let _ = self.connection.execute_batch(sql);
        self.open = self.open.saturating_sub(1);
    }

    fn next(&mut self) -> Result<Seq> {
        let last = self.one(
            "SELECT seq FROM sqlite_sequence WHERE name = 'steps'",
            [],
            |row| number(row, 0),
        )?;
        Ok(last.unwrap_or(0) + 1)
    }

    fn step(&self, seq: Seq) -> Result<Option<Step>> {
        self.one(STEP, [signed(seq)], read_step)
    }

    fn put_step(&mut self, step: &Step) -> Result<()> {
        self.execute(
            PUT_STEP,
            params![
                signed(step.seq),
                signed(step.lineage),
                step.parent.map(signed),
                state_number(step.state),
                step.carries,
                step.carried,
                step.answer.map(answer_bytes),
                signed(step.at_ms),
                step.request.0,
                step.response.map(|response| response.0),
            ],
        )
    }

    fn record(&self, seq: Seq) -> Result<Option<Vec<u8>>> {
        self.one(
            "SELECT record FROM records WHERE seq = ?1",
            [signed(seq)],
            |row| row.get(0),
        )
    }

    fn put_record(&mut self, seq: Seq, record: &[u8]) -> Result<()> {
        self.execute(
            "INSERT INTO records (seq, record) VALUES (?1, ?2)",
            params![signed(seq), record],
        )
    }

    fn requested(&self, request: Digest) -> Result<Option<Seq>> {
        self.one(REQUESTED, [request.0], |row| number(row, 0))
    }

    fn leaves(&self, lineage: Seq, limit: usize) -> Result<Vec<Seq>> {
        self.numbers(LEAVES, params![signed(lineage), limit as i64])
    }

    fn children(&self, parent: Seq, limit: usize) -> Result<Vec<Seq>> {
        self.numbers(CHILDREN, params![signed(parent), limit as i64])
    }

    fn newest(&self, key: Digest, facet: u64, below: Seq) -> Result<Option<(Seq, Seq)>> {
        self.one(
            NEWEST,
            params![key.0, facet.cast_signed(), signed(below)],
            |row| Ok((number(row, 0)?, number(row, 1)?)),
        )
    }

    fn put_key(&mut self, row: &KeyRow) -> Result<()> {
        self.execute(
            "INSERT OR IGNORE INTO keys (key, facet, lineage, seq) VALUES (?1, ?2, ?3, ?4)",
            key_params(row),
        )
    }

    fn remove_key(&mut self, row: &KeyRow) -> Result<()> {
        self.execute(
            "DELETE FROM keys WHERE key = ?1 AND facet = ?2 AND lineage = ?3 AND seq = ?4",
            key_params(row),
        )
    }

    fn blob(&self, digest: Digest) -> Result<Option<Vec<u8>>> {
        self.one("SELECT bytes FROM blobs WHERE digest = ?1", [digest.0], |row| {
            row.get(0)
        })
    }

    fn put_blob(&mut self, digest: Digest, lineage: Seq, bytes: &[u8]) -> Result<()> {
        self.execute(
            "INSERT OR IGNORE INTO blobs (digest, bytes) VALUES (?1, ?2)",
            params![digest.0, bytes],
        )?;
        self.execute(
            "INSERT OR IGNORE INTO uses (digest, lineage) VALUES (?1, ?2)",
            params![digest.0, signed(lineage)],
        )
    }

    fn release_blob(&mut self, digest: Digest, lineage: Seq) -> Result<()> {
        self.execute(
            "DELETE FROM uses WHERE digest = ?1 AND lineage = ?2",
            params![digest.0, signed(lineage)],
        )?;
        self.execute(
            "DELETE FROM blobs WHERE digest = ?1 AND NOT EXISTS (SELECT 1 FROM uses WHERE digest = ?1)",
            [digest.0],
        )
    }

    fn lineage(&self, lineage: Seq) -> Result<Option<Lineage>> {
        self.one(
            "SELECT lineage, used_ms, nodes, items FROM lineages WHERE lineage = ?1",
            [signed(lineage)],
            read_lineage,
        )
    }

    fn put_lineage(&mut self, row: &Lineage) -> Result<()> {
        self.execute(
            "INSERT OR REPLACE INTO lineages (lineage, used_ms, nodes, items) VALUES (?1, ?2, ?3, ?4)",
            params![
                signed(row.lineage),
                signed(row.used_ms),
                row.nodes,
                signed(row.items)
            ],
        )
    }

    fn oldest(&self, nodes: bool) -> Result<Option<Lineage>> {
        self.one(OLDEST, [nodes], read_lineage)
    }

    fn steps(&self, lineage: Seq) -> Result<Vec<Seq>> {
        self.numbers(
            "SELECT seq FROM steps WHERE lineage = ?1 ORDER BY seq",
            [signed(lineage)],
        )
    }

    fn remove_lineage(&mut self, lineage: Seq) -> Result<()> {
        let lineage = [signed(lineage)];
        self.execute(
            "DELETE FROM records WHERE seq IN (SELECT seq FROM steps WHERE lineage = ?1)",
            lineage,
        )?;
        self.execute("DELETE FROM steps WHERE lineage = ?1", lineage)?;
        self.execute("DELETE FROM lineages WHERE lineage = ?1", lineage)
    }

    fn meta(&self, name: &str) -> Result<Option<Vec<u8>>> {
        self.one("SELECT value FROM meta WHERE name = ?1", [name], |row| row.get(0))
    }

    fn put_meta(&mut self, name: &str, value: &[u8]) -> Result<()> {
        self.execute(
            "INSERT OR REPLACE INTO meta (name, value) VALUES (?1, ?2)",
            params![name, value],
        )
    }

    fn count(&self) -> Result<(u64, u64)> {
        let counts = self.one(
            "SELECT count(*), coalesce(sum(items), 0) FROM lineages",
            [],
            |row| Ok((number(row, 0)?, number(row, 1)?)),
        )?;
        Ok(counts.unwrap_or_default())
    }

    fn bytes(&self) -> Result<u64> {
        let pages = self
            .pragma("page_count")?
            .saturating_sub(self.pragma("freelist_count")?);
        Ok(pages * self.pragma("page_size")?)
    }

    fn shrink(&mut self) -> Result<()> {
        // Every row of the answer frees one page.
        let mut statement = self.statement("PRAGMA incremental_vacuum")?;
        let mut freed = statement.query([])?;
        while freed.next()?.is_some() {}
        Ok(())
    }

    fn rows_read(&self) -> u64 {
        self.rows.get()
    }
}

const STEP: &str = "SELECT seq, lineage, parent, state, carries, carried, answer, at_ms, request, response
    FROM steps WHERE seq = ?1";
// Only the columns that change: the others are the same, and an index on them need not be touched.
const PUT_STEP: &str =
    "INSERT INTO steps (seq, lineage, parent, state, carries, carried, answer, at_ms, request, response)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10) ON CONFLICT (seq) DO UPDATE SET
    state = excluded.state, carried = excluded.carried, answer = excluded.answer, at_ms = excluded.at_ms,
    response = excluded.response";
const REQUESTED: &str = "SELECT seq FROM steps WHERE request = ?1 AND state <> 2
    ORDER BY state DESC, seq DESC LIMIT 1";
const LEAVES: &str = "SELECT seq FROM steps WHERE lineage = ?1 AND state <> 2 AND carried = 0
    ORDER BY seq DESC LIMIT ?2";
const CHILDREN: &str = "SELECT seq FROM steps WHERE parent = ?1 ORDER BY seq DESC LIMIT ?2";
const NEWEST: &str = "SELECT lineage, seq FROM keys WHERE key = ?1 AND facet = ?2 AND lineage < ?3
    ORDER BY lineage DESC, seq DESC LIMIT 1";
const OLDEST: &str = "SELECT lineage, used_ms, nodes, items FROM lineages WHERE nodes = ?1
    ORDER BY used_ms, lineage LIMIT 1";

fn read_step(row: &Row<'_>) -> rusqlite::Result<Step> {
    Ok(Step {
        seq: number(row, 0)?,
        lineage: number(row, 1)?,
        parent: row.get::<_, Option<i64>>(2)?.map(i64::cast_unsigned),
        state: match row.get(3)? {
            0 => State::Tentative,
            1 => State::Committed,
            2 => State::Failed,
            other => return Err(rusqlite::Error::IntegralValueOutOfRange(3, other)),
        },
        carries: row.get(4)?,
        carried: row.get(5)?,
        answer: row.get::<_, Option<[u8; 17]>>(6)?.map(answer_mark),
        at_ms: number(row, 7)?,
        request: Digest(row.get(8)?),
        response: row.get::<_, Option<_>>(9)?.map(Digest),
    })
}

fn read_lineage(row: &Row<'_>) -> rusqlite::Result<Lineage> {
    Ok(Lineage {
        lineage: number(row, 0)?,
        used_ms: number(row, 1)?,
        nodes: row.get(2)?,
        items: number(row, 3)?,
    })
}

fn state_number(state: State) -> i64 {
    match state {
        State::Tentative => 0,
        State::Committed => 1,
        State::Failed => 2,
    }
}

fn answer_bytes(answer: AnswerMark) -> [u8; 17] {
    let mut bytes = [u8::from(answer.strong); 17];
    bytes[..16].copy_from_slice(&answer.digest.0);
    bytes
}

fn answer_mark(bytes: [u8; 17]) -> AnswerMark {
    let mut digest = Digest::default();
    digest.0.copy_from_slice(&bytes[..16]);
    AnswerMark {
        digest,
        strong: bytes[16] != 0,
    }
}

fn key_params(row: &KeyRow) -> impl Params {
    (
        row.key.0,
        row.facet.cast_signed(),
        signed(row.lineage),
        signed(row.seq),
    )
}

/// SQLite's integers are signed; numbers and times stay far below the sign.
fn signed(number: u64) -> i64 {
    number.min(i64::MAX as u64).cast_signed()
}

fn number(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    row.get::<_, i64>(column).map(i64::cast_unsigned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn store() -> (tempfile::TempDir, Sqlite) {
        let folder = tempfile::tempdir().unwrap();
        let store = Sqlite::open(&folder.path().join("l.db")).unwrap();
        (folder, store)
    }

    #[test]
    fn no_look_up_walks_a_table_or_sorts() {
        let (_folder, store) = store();
        for sql in [STEP, REQUESTED, LEAVES, CHILDREN, NEWEST, OLDEST] {
            let mut plan = store
                .connection
                .prepare(&format!("EXPLAIN QUERY PLAN {sql}"))
                .unwrap();
            let nothing = vec![rusqlite::types::Null; plan.parameter_count()];
            let steps = plan
                .query_map(rusqlite::params_from_iter(nothing), |row| row.get::<_, String>(3))
                .unwrap();
            for step in steps.map(|step| step.unwrap()) {
                assert!(step.starts_with("SEARCH"), "{sql}: {step}");
            }
        }
    }

    #[test]
    fn a_full_disk_is_an_error_and_what_was_committed_stays() {
        let (_folder, mut store) = store();
        store.begin(true).unwrap();
        store.put_meta("kept", b"x").unwrap();
        store.commit().unwrap();
        let pages = store.pragma("page_count").unwrap() as u32;
        store
            .connection
            .pragma_update(None, "max_page_count", pages)
            .unwrap();
        store.begin(true).unwrap();
        store.begin(false).unwrap();
        let full = store.put_blob(Digest::default(), 1, &[7; 100_000]);
        assert_eq!(full, Err(LedgerError::Full));
        store.rollback();
        if store.commit().is_err() {
            store.rollback();
        }
        assert_eq!(store.open, 0);
        assert_eq!(store.meta("kept").unwrap(), Some(b"x".to_vec()));
        assert_eq!(store.blob(Digest::default()), Ok(None));
        store
            .connection
            .pragma_update(None, "max_page_count", 1 << 20)
            .unwrap();
        store.begin(true).unwrap();
        store.put_blob(Digest::default(), 1, &[7; 100_000]).unwrap();
        store.commit().unwrap();
    }
}
