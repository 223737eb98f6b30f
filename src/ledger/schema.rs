//! Opening a ledger file: its folder and rights, whether it is ours, its version, its tables.

use std::fs::{self, DirBuilder, OpenOptions};
use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use super::error::{LedgerError, Result};

/// Marks the file as ours in SQLite's header ("Inkf").
const APPLICATION: u32 = 0x496e_6b66;

/// Version of the tables, in SQLite's header. An older file is brought forward when it is opened.
const VERSION: u32 = 2;

/// What brings a file of each older version, from the first on, to the next.
const FORWARD: [&str; VERSION as usize - 1] = ["ALTER TABLE steps ADD COLUMN response BLOB"];

/// How long a call waits for another process's write.
const WAIT: Duration = Duration::from_secs(1);

/// How often opening is tried while another process creates the same file: SQLite does not wait for a change of
/// the journal's mode.
const TRIES: usize = 20;

const TABLES: &str = "
CREATE TABLE steps (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, lineage INTEGER NOT NULL, parent INTEGER, state INTEGER NOT NULL,
    carries INTEGER NOT NULL, carried INTEGER NOT NULL, answer BLOB, at_ms INTEGER NOT NULL, request BLOB NOT NULL,
    response BLOB
) STRICT;
CREATE INDEX steps_by_request ON steps (request, state, seq) WHERE state <> 2;
CREATE INDEX steps_by_parent ON steps (parent, seq) WHERE parent IS NOT NULL;
CREATE INDEX steps_by_lineage ON steps (lineage, seq);
CREATE INDEX candidates ON steps (lineage, seq) WHERE state <> 2 AND carried = 0;
CREATE TABLE records (seq INTEGER PRIMARY KEY, record BLOB NOT NULL) STRICT;
CREATE TABLE keys (
    key BLOB NOT NULL, facet INTEGER NOT NULL, lineage INTEGER NOT NULL, seq INTEGER NOT NULL,
    PRIMARY KEY (key, facet, lineage, seq)
) STRICT, WITHOUT ROWID;
CREATE TABLE blobs (digest BLOB NOT NULL PRIMARY KEY, bytes BLOB NOT NULL) STRICT;
CREATE TABLE uses (digest BLOB NOT NULL, lineage INTEGER NOT NULL, PRIMARY KEY (digest, lineage)) STRICT, WITHOUT ROWID;
CREATE TABLE lineages (
    lineage INTEGER PRIMARY KEY, used_ms INTEGER NOT NULL, nodes INTEGER NOT NULL, items INTEGER NOT NULL
) STRICT;
CREATE INDEX lineages_by_use ON lineages (nodes, used_ms, lineage);
CREATE TABLE meta (name TEXT NOT NULL PRIMARY KEY, value BLOB NOT NULL) STRICT, WITHOUT ROWID;
";

/// Opens the file at `path`, or creates it.
pub fn open(path: &Path) -> Result<Connection> {
    prepare_file(path)?;
    let mut tries = 1;
    loop {
        match connect(path) {
            Err(LedgerError::Busy) if tries < TRIES => std::thread::sleep(WAIT / 20),
            connected => return connected,
        }
        tries += 1;
    }
}

fn connect(path: &Path) -> Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(WAIT)?;
    connection.set_prepared_statement_cache_capacity(64);
    if is_empty(&connection)? {
        // Both must be set before the first table is there.
        connection.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
    } else {
        check(&connection)?;
    }
    restrict(path)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "journal_size_limit", 64 << 20)?;
    // Text of removed conversations must not stay in pages that are reused anyway.
    connection.pragma_update(None, "secure_delete", "FAST")?;
    connection.pragma_update(None, "cell_size_check", true)?;
    create(&mut connection)?;
    Ok(connection)
}

/// Creates the tables, unless another process was faster, or brings older ones forward.
fn create(connection: &mut Connection) -> Result<()> {
    let transaction = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    if is_empty(&transaction)? {
        transaction.execute_batch(TABLES)?;
        transaction.pragma_update(None, "application_id", APPLICATION)?;
        transaction.pragma_update(None, "user_version", VERSION)?;
    }
    check(&transaction)?;
    let version = pragma(&transaction, "user_version")?;
    for step in &FORWARD[version as usize - 1..] {
        transaction.execute_batch(step)?;
    }
    transaction.pragma_update(None, "user_version", VERSION)?;
    Ok(transaction.commit()?)
}

fn check(connection: &Connection) -> Result<()> {
    if pragma(connection, "application_id")? != APPLICATION {
        return Err(LedgerError::Foreign);
    }
    match pragma(connection, "user_version")? {
        1..=VERSION => Ok(()),
        other => Err(LedgerError::Version(other)),
    }
}

fn is_empty(connection: &Connection) -> Result<bool> {
    Ok(
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| {
            row.get::<_, u32>(0)
        })? == 0,
    )
}

fn pragma(connection: &Connection, name: &str) -> Result<u32> {
    Ok(connection.pragma_query_value(None, name, |row| row.get(0))?)
}

/// Creates the folder and the file with rights for the user alone, so that SQLite's side files get them too.
fn prepare_file(path: &Path) -> Result<()> {
    let mut folder = DirBuilder::new();
    let mut file = OpenOptions::new();
    file.read(true).append(true).create(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
        folder.mode(0o700);
        file.mode(0o600);
    }
    if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        folder.recursive(true).create(parent)?;
    }
    file.open(path)?;
    Ok(())
}

/// Takes rights of others on a file that is ours away; the folder may be shared with them and stays.
fn restrict(path: &Path) -> Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        if fs::metadata(path)?.permissions().mode() & 0o077 != 0 {
            fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
        }
    }
    Ok(())
}
