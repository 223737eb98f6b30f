//! What `audit` and `run` share: a recording becomes a report, and gates say whether it is good.

use std::{
    error::Error,
    fs::{self, File},
    io::{self, BufWriter, IsTerminal, Write},
    path::{Path, PathBuf},
    sync::mpsc::sync_channel,
    thread,
};

use clap::Args;

use crate::{
    audit::{Auditor, Exchange, Exchanges, Options, Skipped},
    config::Upstreams,
    prefix::Cause,
    report::{Baseline, Form, Gates, Report, ReportOptions, VolatileSpan, cause, ratio},
    route,
};

/// Batches that are read ahead of the one that is judged.
const AHEAD: usize = 2;
/// Bytes and exchanges of a batch.
const BATCH_BYTES: usize = 1 << 20;
const BATCH: usize = 64;

/// Exchanges that change threads together.
#[derive(Default)]
struct Batch {
    exchanges: Vec<Result<Exchange, Skipped>>,
    bytes: usize,
}

impl Batch {
    fn add(&mut self, exchange: Result<Exchange, Skipped>) {
        self.bytes += exchange.as_ref().map_or(0, |exchange| {
            let answer = exchange.answer.as_ref().map_or(0, |answer| answer.body.len());
            exchange.body.len() + answer
        });
        self.exchanges.push(exchange);
    }

    fn is_full(&self) -> bool {
        self.bytes >= BATCH_BYTES || self.exchanges.len() >= BATCH
    }
}

/// How a report is made, where it goes, and what it must be like.
#[derive(Args)]
pub struct Reporting {
    /// Write a report to this file, in the form of its name: .txt, .json, .xml (JUnit), .sarif, .md, .html; may be given
    /// many times.
    #[arg(long = "report", value_name = "FILE", value_parser = to_file)]
    files: Vec<(Form, PathBuf)>,
    /// Fail if less of what was sent before was kept, over all requests: 0 to 1.
    #[arg(long, value_name = "RATIO", value_parser = ratio)]
    fail_under: Option<f64>,
    /// Fail on these causes, separated by commas.
    #[arg(long, value_name = "CAUSE", value_delimiter = ',', value_parser = cause)]
    fail_on: Vec<Cause>,
    /// Fail on new kinds of findings only: those that are not in this JSON report of before.
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,
    /// Show the text around each change: parts of prompts.
    #[arg(long)]
    show_content: bool,
    /// Give items the same ids in every report, so that reports can be compared; who has one can then guess short texts.
    #[arg(long)]
    portable_ids: bool,
    /// Facts about providers that go before the built-in ones, as in config/routes.toml.
    #[arg(long, value_name = "FILE")]
    routes: Option<PathBuf>,
    /// What a million input tokens cost you, by model: rows of `[[base]]` with `models` and `input_per_mtok`.
    #[arg(long, value_name = "FILE")]
    prices: Option<PathBuf>,
}

/// A report in the making.
pub struct Audit {
    auditor: Auditor,
    report: Report,
    gates: Gates,
    files: Vec<(Form, PathBuf)>,
}

impl Reporting {
    /// An audit that has read nothing, by these facts and for these upstreams; every file that is read or written is tried now.
    ///
    /// # Errors
    /// A file that was named is not what it should be, or cannot be written.
    pub fn start(
        self,
        title: &str,
        mut routes: route::Table,
        upstreams: Upstreams,
    ) -> Result<Audit, Box<dyn Error>> {
        for (flag, file) in [("--routes", self.routes), ("--prices", self.prices)] {
            if let Some(file) = file {
                let named = |error: &dyn Error| format!("{flag}: {}: {error}", file.display());
                let text = fs::read_to_string(&file).map_err(|error| named(&error))?;
                routes = routes.with(&text).map_err(|error| named(&error))?;
            }
        }
        let baseline = self.baseline.as_deref().map(baseline).transpose()?;
        for (_, file) in &self.files {
            // An audit of an hour should not end with a name that was mistyped.
            File::create(file).map_err(|error| format!("--report: {}: {error}", file.display()))?;
        }
        let options = Options {
            show_content: self.show_content,
            portable_ids: self.portable_ids,
            ..Options::new(routes, upstreams)
        };
        Ok(Audit {
            auditor: Auditor::new(options),
            report: Report::new(ReportOptions {
                title: title.to_owned(),
                colour: io::stdout().is_terminal() && io::stderr().is_terminal(),
                ..ReportOptions::default()
            }),
            gates: Gates {
                fail_under: self.fail_under,
                fail_on: self.fail_on,
                baseline,
            },
            files: self.files,
        })
    }
}

impl Audit {
    /// Judges all exchanges of a recording.
    pub fn take(&mut self, exchanges: Exchanges) {
        let (read, judge) = sync_channel(AHEAD);
        thread::scope(|threads| {
            // Reading takes as long as judging.
            threads.spawn(move || {
                let mut batch = Batch::default();
                for exchange in exchanges {
                    batch.add(exchange);
                    if batch.is_full() && read.send(std::mem::take(&mut batch)).is_err() {
                        return;
                    }
                }
                // Who judges has gone only if it panicked.
                let _ = read.send(batch);
            });
            for exchange in judge.into_iter().flat_map(|batch: Batch| batch.exchanges) {
                match exchange.and_then(|exchange| self.auditor.see(exchange)) {
                    Ok(seen) => self.report.add(&seen),
                    Err(skipped) => self.report.skip(&skipped),
                }
            }
        });
    }

    /// Whether any request was read.
    pub fn is_empty(&self) -> bool {
        self.report.totals().requests == 0
    }

    /// Whether anything was asked of the report.
    pub fn has_gates(&self) -> bool {
        !self.report.gates().is_empty()
    }

    /// Judges the whole and writes the reports to their files. Whether every gate passed.
    ///
    /// # Errors
    /// A report cannot be written.
    pub fn conclude(&mut self) -> Result<bool, Box<dyn Error>> {
        for churning in self.auditor.churning() {
            let span = churning.span;
            self.report.volatile(VolatileSpan {
                conversation: churning.conversation,
                kind: span.kind.as_str(),
                block: format!("system[{}]", span.block),
                changes: span.changes.into(),
                requests: span.seen.into(),
                advice: span.kind.remedy().to_owned(),
            });
        }
        let passed = self.report.conclude(&self.gates);
        for (form, file) in &self.files {
            let written = File::create(file).and_then(|file| self.write(*form, file));
            written.map_err(|error| format!("--report: {}: {error}", file.display()))?;
        }
        Ok(passed)
    }

    /// Writes the report.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn write(&self, form: Form, to: impl Write) -> io::Result<()> {
        let mut to = BufWriter::new(to);
        self.report.write(form, &mut to)?;
        to.flush()
    }
}

fn baseline(file: &Path) -> Result<Baseline, Box<dyn Error>> {
    let named = |error: &dyn Error| format!("--baseline: {}: {error}", file.display());
    let opened = File::open(file).map_err(|error| named(&error))?;
    Ok(Baseline::read(io::BufReader::new(opened)).map_err(|error| named(&error))?)
}

fn to_file(text: &str) -> Result<(Form, PathBuf), String> {
    let file = PathBuf::from(text);
    match Form::of_extension(&file) {
        Some(form) => Ok((form, file)),
        None => Err("its name must end in .txt, .json, .xml (JUnit), .sarif, .md or .html".into()),
    }
}
