//! The exchanges of a recording through the core in observe mode, one after another.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use inkfast::audit::readers::{bedrock_logs, flows, har, langfuse, litellm, otel};
use inkfast::audit::{Answer, Exchange, Skipped};
use inkfast::encoding::{self, Limits};
use inkfast::prefix::item::Hints;
use inkfast::prefix::policy::Mode;
use inkfast::wire::answer::Reader;
use inkfast::wire::format::Format;
use inkfast::wire::usage::Usage;

use crate::harness::{self, Core};

pub type Read = Result<Exchange, Skipped>;
pub type Reads = Box<dyn Iterator<Item = Read>>;

/// A format's reader, as the table of formats has it.
pub struct Kind {
    pub name: &'static str,
    pub looks_like: fn(&[u8]) -> bool,
    pub read: fn(Arc<str>, Box<dyn BufRead>) -> Reads,
}

macro_rules! kind {
    ($name:ident) => {
        Kind {
            name: stringify!($name),
            looks_like: $name::looks_like,
            read: |file, input| Box::new($name::read(file, input)),
        }
    };
}

pub static KINDS: [Kind; 6] = [
    kind!(har),
    kind!(flows),
    kind!(bedrock_logs),
    kind!(otel),
    kind!(litellm),
    kind!(langfuse),
];

/// What the core said of an exchange, and the counts of its answer.
#[derive(Debug)]
pub struct Judged {
    pub verdict: String,
    pub usage: Option<Usage>,
}

pub fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("fixtures/recordings")
        .join(name)
}

/// Reads a file by the reader that knows it; there must be one only.
pub fn read(path: &Path) -> Vec<Read> {
    let mut first = vec![0; 4096];
    let size = std::io::Read::read(&mut File::open(path).unwrap(), &mut first).unwrap();
    let kinds: Vec<_> = KINDS
        .iter()
        .filter(|kind| (kind.looks_like)(&first[..size]))
        .collect();
    let [kind] = kinds.as_slice() else {
        let names: Vec<_> = kinds.iter().map(|kind| kind.name).collect();
        panic!("{} looks like {names:?}", path.display());
    };
    (kind.read)("file".into(), Box::new(BufReader::new(File::open(path).unwrap()))).collect()
}

/// The exchanges; what was skipped must be no prompt.
pub fn exchanges(read: Vec<Read>) -> Vec<Exchange> {
    let good = |read: Read| match read {
        Ok(exchange) => Some(exchange),
        Err(skipped) => {
            assert_eq!(skipped.reason, "not_a_prompt", "{skipped:?}");
            None
        }
    };
    read.into_iter().filter_map(good).collect()
}

pub fn judge(exchanges: &[Exchange]) -> Vec<Judged> {
    let mut cores: BTreeMap<(&str, String), Core> = BTreeMap::new();
    exchanges
        .iter()
        .map(|exchange| {
            let format = exchange.format.or_else(|| by_path(exchange)).expect("a format");
            let host = exchange.host.clone().unwrap_or_default();
            let core = cores
                .entry((format.as_str(), host.clone()))
                .or_insert_with(|| Core::new(format, &host));
            core.mode = Mode::Observe;
            core.model.clone_from(&exchange.model);
            core.now_ms = exchange.at_ms.expect("a time");
            let body = plain(&exchange.body, &exchange.headers);
            let (answer, usage) = answered(format, exchange.answer.as_ref());
            let turn = core.exchange(&body, Hints::default(), &answer);
            let verdict = turn.plan.received.to_string();
            Judged {
                verdict: by_place(&verdict, format),
                usage,
            }
        })
        .collect()
}

/// The verdict with its item by a name that does not hang on the format: in chat, the head is a message. Which of two tools
/// that changed places is named is not the reader's business.
fn by_place(verdict: &str, format: Format) -> String {
    let place = verdict.split(':').next().unwrap();
    match format {
        Format::OpenaiChat => place.replace("@messages[0]", "@system[0]"),
        _ => place.to_owned(),
    }
}

fn by_path(exchange: &Exchange) -> Option<Format> {
    let path = exchange.path.as_deref()?.split('?').next()?;
    Format::ALL
        .into_iter()
        .find(|format| format.wire().matches(path).is_some())
}

fn answered(format: Format, answer: Option<&Answer>) -> (harness::Answer, Option<Usage>) {
    let none = harness::Answer {
        status: 599,
        text: String::new(),
        calls: Vec::new(),
    };
    let Some(answer) = answer else {
        return (none, None);
    };
    let kind = answer
        .headers
        .get("content-type")
        .and_then(|kind| kind.to_str().ok());
    let kind = kind.and_then(|kind| kind.split(';').next()).unwrap_or_default();
    let mut reader = Reader::new(format, format.wire().framing(kind));
    reader.push(&plain(&answer.body, &answer.headers));
    let reading = reader.finish();
    let said = reading.answer.unwrap_or_default();
    let answer_ = harness::Answer {
        status: answer.status.unwrap_or(200),
        text: said.text,
        calls: said.call_ids,
    };
    (answer_, reading.usage.or(answer.usage))
}

fn plain(body: &Bytes, headers: &hyper::HeaderMap) -> Bytes {
    let limits = Limits {
        max_bytes: 64 << 20,
        max_ratio: 1000,
    };
    encoding::decode(body, &encoding::of_headers(headers), limits).unwrap()
}
