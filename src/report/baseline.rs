//! A report of before: what was found then is no news.

use std::{collections::BTreeSet, fmt, io::Read};

use serde::Deserialize;

use super::{json::VERSION, kind::Kind};

/// The kinds of findings of an earlier report.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Baseline {
    kinds: BTreeSet<Kind>,
    is_whole: bool,
}

impl Baseline {
    /// Reads a JSON report.
    ///
    /// # Errors
    /// It cannot be read, or is no report of this version.
    pub fn read(from: impl Read) -> Result<Self, BaselineError> {
        let read: Written = serde_json::from_reader(from)?;
        if read.schema != "inkfast.report" || read.version != VERSION {
            return Err(BaselineError::Other(read.schema, read.version));
        }
        let kinds = read.kinds.into_iter().map(|kind| Kind {
            cause: kind.cause,
            item: kind.item,
            format: kind.format,
        });
        Ok(Self {
            kinds: kinds.collect(),
            is_whole: read.left_out.kinds == 0,
        })
    }

    /// Whether findings of this kind were there before.
    pub fn has(&self, kind: &Kind) -> bool {
        self.kinds.contains(kind)
    }

    /// No kind was left out of it.
    pub fn is_whole(&self) -> bool {
        self.is_whole
    }
}

#[derive(Deserialize)]
struct Written {
    schema: String,
    version: u32,
    kinds: Vec<WrittenKind>,
    left_out: WrittenLeftOut,
}

#[derive(Deserialize)]
struct WrittenKind {
    cause: String,
    item: String,
    format: String,
}

#[derive(Deserialize)]
struct WrittenLeftOut {
    kinds: u64,
}

/// A file that is no baseline.
#[derive(Debug)]
pub enum BaselineError {
    /// It cannot be read, or is no JSON report.
    Unreadable(serde_json::Error),
    /// Another schema or version.
    Other(String, u32),
}

impl From<serde_json::Error> for BaselineError {
    fn from(error: serde_json::Error) -> Self {
        Self::Unreadable(error)
    }
}

impl fmt::Display for BaselineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(error) => write!(f, "no JSON report: {error}"),
            Self::Other(schema, version) => write!(
                f,
                "schema {schema:?} version {version}, expected \"inkfast.report\" version {VERSION}: write the baseline anew"
            ),
        }
    }
}

impl std::error::Error for BaselineError {}
