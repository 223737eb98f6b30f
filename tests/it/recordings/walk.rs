//! The exchanges of a recording through the auditor, one after another.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use inkfast::audit::readers::{bedrock_logs, flows, har, langfuse, litellm, otel};
use inkfast::audit::{Auditor, Exchange, Options, Skipped};
use inkfast::config::Upstreams;
use inkfast::route::Table;
use inkfast::wire::format::Format;
use inkfast::wire::usage::Usage;

pub type Read = Result<Exchange, Skipped>;
pub type Reads = Box<dyn Iterator<Item = Read>>;

/// A format's reader, as the table of formats has it.
pub struct Kind {
    pub name: &'static str,
    pub looks_like: fn(&[u8]) -> bool,
    pub read: fn(Arc<str>, Box<dyn BufRead + Send>) -> Reads,
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

/// What the audit said of an exchange, and the counts of its answer.
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

/// What an audit says of them.
pub fn judge(exchanges: &[Exchange]) -> Vec<Judged> {
    let upstreams = Upstreams::new(Vec::new(), "openai").unwrap();
    let mut auditor = Auditor::new(Options::new(Table::built_in().unwrap(), upstreams));
    exchanges
        .iter()
        .map(|exchange| {
            let seen = auditor.see(exchange.clone()).unwrap();
            Judged {
                verdict: by_place(&seen.received.verdict.to_string(), seen.format),
                usage: seen.usage,
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
