//! Where what was sent is remembered, as a user names it.

use std::{env, path::PathBuf, str::FromStr};

use serde::Deserialize;

use super::ConfigError;

/// Where what was sent is remembered.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(try_from = "String")]
pub enum State {
    /// A database file; `None` stands for the default place.
    Sqlite(Option<PathBuf>),
    /// Nothing outlives the process.
    Memory,
}

impl State {
    /// The database file, if there is one to be.
    ///
    /// # Errors
    /// The default place is asked for, and the environment does not tell where that is.
    pub fn file(&self) -> Result<Option<PathBuf>, ConfigError> {
        let base = || {
            env::var_os("XDG_STATE_HOME")
                .filter(|dir| !dir.is_empty())
                .map(PathBuf::from)
        };
        let home = || env::var_os("HOME").map(|home| PathBuf::from(home).join(".local/state"));
        match self {
            Self::Memory => Ok(None),
            Self::Sqlite(Some(path)) => Ok(Some(path.clone())),
            Self::Sqlite(None) => match base().or_else(home) {
                Some(dir) => Ok(Some(dir.join("inkfast/ledger.sqlite"))),
                None => Err(ConfigError(
                    "state: neither XDG_STATE_HOME nor HOME is set; name a file: `sqlite:PATH`".into(),
                )),
            },
        }
    }
}

impl FromStr for State {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            Some(("memory", "")) => Ok(Self::Memory),
            Some(("sqlite", "")) => Ok(Self::Sqlite(None)),
            Some(("sqlite", path)) => Ok(Self::Sqlite(Some(path.into()))),
            Some(("redis" | "rediss" | "valkey", _)) => Err(
                "shared state in Redis or Valkey comes with a later version; use `sqlite:PATH` or `memory:`"
                    .into(),
            ),
            _ => Err(format!(
                "`{text}` is no state: `sqlite:PATH`, `sqlite:` for the default place, or `memory:`"
            )),
        }
    }
}

impl TryFrom<String> for State {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}
