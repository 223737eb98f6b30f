//! What can go wrong with the ledger. No message holds a word of a prompt or a key.

use std::fmt;

use crate::prefix::past::Seq;

/// Result of a ledger call.
pub type Result<T> = std::result::Result<T, LedgerError>;

/// Why the ledger could not answer or write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LedgerError {
    /// The file or its folder cannot be opened, created, read or written.
    Io(String),
    /// No room: the disk, a quota or the file's limit is full.
    Full,
    /// Another process held the file for longer than a writer waits.
    Busy,
    /// The file is no ledger: not SQLite, or somebody else's database.
    Foreign,
    /// The file was written by another version, whose form this one does not know.
    Version(u32),
    /// The file is a ledger, and damaged.
    Corrupt(String),
    /// No request has this number (any more).
    Unknown(Seq),
    /// The ledger has ended.
    Closed,
    /// A fault that a test asked for.
    Injected,
}

impl LedgerError {
    /// A short name for metrics: one of a closed set.
    pub fn label(&self) -> &'static str {
        match self {
            Self::Io(_) => "io",
            Self::Full => "full",
            Self::Busy => "busy",
            Self::Foreign => "foreign",
            Self::Version(_) => "version",
            Self::Corrupt(_) => "corrupt",
            Self::Unknown(_) => "unknown",
            Self::Closed => "closed",
            Self::Injected => "injected",
        }
    }

    pub(super) fn corrupt(what: &str) -> Self {
        Self::Corrupt(what.to_owned())
    }
}

impl fmt::Display for LedgerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(reason) => write!(f, "the ledger cannot be read or written: {reason}"),
            Self::Full => f.write_str("there is no room for the ledger to grow"),
            Self::Busy => f.write_str("another process holds the ledger"),
            Self::Foreign => f.write_str("the file is not an Inkfast ledger"),
            Self::Version(found) => write!(
                f,
                "the ledger has version {found}, which this release cannot read"
            ),
            Self::Corrupt(what) => write!(f, "the ledger is damaged: {what}"),
            Self::Unknown(seq) => write!(f, "the ledger has no request {seq}"),
            Self::Closed => f.write_str("the ledger is closed"),
            Self::Injected => f.write_str("a fault asked for by a test"),
        }
    }
}

impl std::error::Error for LedgerError {}

impl From<std::io::Error> for LedgerError {
    fn from(error: std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => Self::Full,
            _ => Self::Io(error.to_string()),
        }
    }
}

impl From<rusqlite::Error> for LedgerError {
    fn from(error: rusqlite::Error) -> Self {
        use rusqlite::ErrorCode;
        match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => Self::Full,
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Busy,
            Some(ErrorCode::NotADatabase) => Self::Foreign,
            Some(ErrorCode::DatabaseCorrupt) => Self::corrupt("SQLite finds its pages inconsistent"),
            Some(code) => Self::Io(format!("SQLite: {code:?}")),
            // Without a code it is a value that has not the type that was written.
            None => Self::corrupt("a column holds what was never written to it"),
        }
    }
}
