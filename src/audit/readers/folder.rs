//! A folder of numbered bodies: `001.json` or `001.request.json`, beside it what is known of the request
//! (`001.headers.json`: method, path, headers by name and value) and of its answer (`001.response.json`, `.sse`, `.ndjson`).
//!
//! The numbers give the order. Other files are passed over; folders below are recordings of their own.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use serde::Deserialize;

use super::entry::{self, MAX_ENTRY, Reason, reason};
use crate::audit::exchange::{Answer, Exchange, Skipped, Source};

/// The files of one number.
#[derive(Default)]
struct Numbered {
    body: Option<PathBuf>,
    headers: Option<PathBuf>,
    answer: Option<PathBuf>,
}

/// What a folder holds.
pub struct Found {
    bodies: BTreeMap<u64, Numbered>,
    /// The folders below, by name.
    pub below: Vec<PathBuf>,
    /// Files that have no number, by name: they may be recordings of their own.
    pub others: Vec<PathBuf>,
}

impl Found {
    /// Looks into a folder.
    ///
    /// # Errors
    /// It cannot be listed.
    pub fn at(folder: &Path) -> io::Result<Self> {
        let mut paths = fs::read_dir(folder)?
            .map(|entry| entry.map(|entry| entry.path()))
            .collect::<io::Result<Vec<_>>>()?;
        paths.sort();
        let mut found = Self {
            bodies: BTreeMap::new(),
            below: Vec::new(),
            others: Vec::new(),
        };
        for path in paths {
            if path.is_dir() {
                found.below.push(path);
                continue;
            }
            match role(&path) {
                Some((number, role)) => {
                    let numbered = found.bodies.entry(number).or_default();
                    let place = match role {
                        Role::Body => &mut numbered.body,
                        Role::Headers => &mut numbered.headers,
                        Role::Answer => &mut numbered.answer,
                    };
                    place.get_or_insert(path);
                }
                None => found.others.push(path),
            }
        }
        found.bodies.retain(|_, numbered| numbered.body.is_some());
        Ok(found)
    }

    /// Whether it holds numbered bodies.
    pub fn has_bodies(&self) -> bool {
        !self.bodies.is_empty()
    }

    /// The exchanges of the numbered bodies.
    pub fn exchanges(self, folder: Arc<str>) -> impl Iterator<Item = Result<Exchange, Skipped>> {
        self.bodies.into_iter().map(move |(number, files)| {
            let source = Source {
                file: Arc::clone(&folder),
                number,
            };
            files.read(&source).map_err(|reason| Skipped { source, reason })
        })
    }
}

enum Role {
    Body,
    Headers,
    Answer,
}

/// What a file is by its name.
fn role(path: &Path) -> Option<(u64, Role)> {
    let name = path.file_name()?.to_str()?;
    let digits = name.len() - name.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, rest) = name.split_at(digits);
    let role = match rest {
        ".json" | ".request.json" => Role::Body,
        ".headers.json" => Role::Headers,
        ".response.json" | ".response.sse" | ".response.ndjson" => Role::Answer,
        _ => return None,
    };
    Some((number.parse().ok()?, role))
}

/// What stands in a file of headers.
#[derive(Default, Deserialize)]
struct Envelope {
    path: Option<String>,
    #[serde(default)]
    headers: Lines,
    #[serde(default)]
    host: Option<String>,
}

/// Headers as pairs, or by name.
#[derive(Deserialize)]
#[serde(untagged)]
enum Lines {
    Pairs(Vec<(String, String)>),
    Named(BTreeMap<String, String>),
}

impl Default for Lines {
    fn default() -> Self {
        Self::Pairs(Vec::new())
    }
}

impl Numbered {
    fn read(self, source: &Source) -> Result<Exchange, Reason> {
        let body = bytes(self.body.as_deref().ok_or(reason::NO_BODY)?)?;
        let envelope: Envelope = match &self.headers {
            Some(path) => serde_json::from_slice(&bytes(path)?).map_err(|_| reason::MALFORMED)?,
            None => Envelope::default(),
        };
        let headers = match envelope.headers {
            Lines::Pairs(pairs) => entry::headers(pairs),
            Lines::Named(named) => entry::headers(named),
        };
        let answer = self.answer.as_deref().map(answer).transpose()?;
        Ok(Exchange {
            host: envelope.host,
            path: envelope.path,
            headers: entry::decoded(headers),
            answer,
            ..entry::exchange(source, body)
        })
    }
}

fn answer(path: &Path) -> Result<Answer, Reason> {
    let kind = match path.extension().and_then(|extension| extension.to_str()) {
        Some("sse") => "text/event-stream",
        Some("ndjson") => "application/x-ndjson",
        _ => "application/json",
    };
    let mut answer = entry::answer(bytes(path)?);
    answer
        .headers
        .insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    Ok(answer)
}

fn bytes(path: &Path) -> Result<Bytes, Reason> {
    let size = fs::metadata(path).map_err(|_| reason::UNREADABLE)?.len();
    if size > MAX_ENTRY as u64 {
        return Err(reason::TOO_LARGE);
    }
    fs::read(path).map(Bytes::from).map_err(|_| reason::UNREADABLE)
}
