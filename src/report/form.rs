//! The forms that a report is written in.

use std::{fmt, path::Path, str::FromStr};

/// A form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// For a person at a terminal.
    Text,
    /// For programs; the only one that can be a baseline.
    Json,
    /// For a dashboard: a line with a colour.
    Badge,
}

impl Form {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Text, Self::Json, Self::Badge];

    /// The name on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Json => "json",
            Self::Badge => "badge",
        }
    }

    /// The form that a file's name asks for.
    pub fn of_extension(file: &Path) -> Option<Self> {
        let extension = file.extension()?.to_str()?.to_ascii_lowercase();
        match extension.as_str() {
            "txt" => Some(Self::Text),
            "json" => Some(Self::Json),
            _ => None,
        }
    }
}

impl FromStr for Form {
    type Err = UnknownForm;

    fn from_str(name: &str) -> Result<Self, UnknownForm> {
        Self::ALL
            .into_iter()
            .find(|form| form.as_str() == name)
            .ok_or(UnknownForm)
    }
}

/// No form has this name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownForm;

impl fmt::Display for UnknownForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("unknown form, expected one of")?;
        Form::ALL
            .iter()
            .try_for_each(|form| write!(f, " {}", form.as_str()))
    }
}

impl std::error::Error for UnknownForm {}
