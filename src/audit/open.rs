//! What a path is, told by its content: a folder of bodies, or a file in one of the formats that are read.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::exchange::{Exchange, Skipped};
use super::readers::{bedrock_logs, bodies, flows, folder::Found, har, langfuse, litellm, otel, recording};

/// The exchanges of a recording.
pub type Exchanges = Box<dyn Iterator<Item = Result<Exchange, Skipped>> + Send>;

/// What stands between a file and its reader.
pub type Through<'a> = &'a dyn Fn(File) -> Box<dyn Read + Send>;

/// A path cannot be audited.
#[derive(Debug)]
pub enum AuditError {
    /// It cannot be read.
    Unreadable(PathBuf, io::Error),
    /// It is in no format that is known.
    Unknown(PathBuf),
    /// The folder holds nothing that could be read.
    Empty(PathBuf),
}

/// A format of recordings.
struct Kind {
    looks_like: fn(&[u8]) -> bool,
    read: fn(Arc<str>, Box<dyn BufRead + Send>) -> Exchanges,
}

macro_rules! kind {
    ($name:ident) => {
        Kind {
            looks_like: $name::looks_like,
            read: |file, input| Box::new($name::read(file, input)),
        }
    };
}

/// In this order: what is marked most plainly first, what is told by nothing but its shape last.
static KINDS: [Kind; 8] = [
    kind!(recording),
    kind!(har),
    kind!(flows),
    kind!(bedrock_logs),
    kind!(otel),
    kind!(litellm),
    kind!(langfuse),
    kind!(bodies),
];

/// Their names, for people.
const NAMES: &str = "Inkfast's own recording, HAR, mitmproxy flows, LiteLLM, Langfuse, Bedrock invocation logs, \
                     OpenTelemetry spans, or bodies of requests";

/// So many first bytes tell the formats apart.
const BEGINNING: u64 = 64 << 10;

/// The exchanges at `path`, file after file where it is a folder of recordings. Files are read by what `through` makes of
/// them.
///
/// # Errors
/// It cannot be read, or nothing at it is a recording.
pub fn open(path: &Path, through: Through<'_>) -> Result<Vec<Exchanges>, AuditError> {
    if !path.is_dir() {
        let file = File::open(path).map_err(|error| AuditError::Unreadable(path.to_owned(), error))?;
        return read(path, through(file)).map(|exchanges| vec![exchanges]);
    }
    let mut all = Vec::new();
    folders(path, through, &mut all)?;
    if all.is_empty() {
        return Err(AuditError::Empty(path.to_owned()));
    }
    Ok(all)
}

/// The exchanges of an open file, which is called `path` in what is said of it.
///
/// # Errors
/// It cannot be read, or is in no format that is known.
pub fn read(path: &Path, mut file: impl Read + Send + 'static) -> Result<Exchanges, AuditError> {
    let unreadable = |error| AuditError::Unreadable(path.to_owned(), error);
    let mut first = Vec::new();
    (&mut file)
        .take(BEGINNING)
        .read_to_end(&mut first)
        .map_err(unreadable)?;
    let kind = KINDS.iter().find(|kind| (kind.looks_like)(&first));
    let kind = match kind {
        Some(kind) => kind,
        // A recording that nothing was written to holds no exchange.
        None if first.trim_ascii().is_empty() => &KINDS[0],
        None => return Err(AuditError::Unknown(path.to_owned())),
    };
    let input = io::Cursor::new(first).chain(file);
    Ok((kind.read)(
        name(path),
        Box::new(BufReader::with_capacity(1 << 20, input)),
    ))
}

fn folders(folder: &Path, through: Through<'_>, all: &mut Vec<Exchanges>) -> Result<(), AuditError> {
    let found = Found::at(folder).map_err(|error| AuditError::Unreadable(folder.to_owned(), error))?;
    let (below, others) = (found.below.clone(), found.others.clone());
    if found.has_bodies() {
        let name = name(folder);
        all.push(Box::new(found.exchanges(name)));
    } else {
        for path in others {
            // What else lies in a folder is no reason to fail.
            if let Ok(Ok(exchanges)) = File::open(&path).map(|file| read(&path, through(file))) {
                all.push(exchanges);
            }
        }
    }
    below.iter().try_for_each(|below| folders(below, through, all))
}

fn name(path: &Path) -> Arc<str> {
    path.to_string_lossy().into()
}

impl std::fmt::Display for AuditError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unreadable(path, error) => write!(f, "{}: {error}", path.display()),
            Self::Unknown(path) => write!(f, "{}: not a recording that is known: {NAMES}", path.display()),
            Self::Empty(path) => write!(f, "{}: no recording in this folder: {NAMES}", path.display()),
        }
    }
}

impl std::error::Error for AuditError {}
