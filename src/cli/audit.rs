//! `inkfast audit`: recorded traffic, judged without a key or a network.

use std::{
    error::Error,
    fs::{self, File},
    io::{self, IsTerminal, Read},
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

use clap::Args;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::reporting::Reporting;
use crate::{audit, config::Upstreams, report::Form, route::Table};

/// Judges recorded requests: what of each prompt was sent before and stands, what broke, why, what it cost. It reads
/// Inkfast's own recordings (`--record`), HAR, mitmproxy flows, LiteLLM, Langfuse, Bedrock logs, OpenTelemetry spans, and
/// folders or files of request bodies. The exit code is 1 if a gate failed, 2 if nothing could be read.
#[derive(Args)]
pub struct Audit {
    /// Recordings, or folders of them.
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// How the report is written to standard output: text, json, junit, sarif, markdown, html or badge.
    #[arg(long, value_name = "FORM", default_value = "text")]
    format: Form,
    /// Write it to this file instead.
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    reporting: Reporting,
}

/// Reads, judges, reports. Whether every gate passed.
///
/// # Errors
/// Bad usage, or nothing could be read.
pub fn run(given: Audit) -> Result<bool, Box<dyn Error>> {
    let upstreams = Upstreams::new(Vec::new(), "openai")?;
    let mut audit = given
        .reporting
        .start("inkfast audit", Table::built_in()?, upstreams)?;
    let progress = progress(&given.paths);
    let through = {
        let progress = progress.clone();
        Arc::new(move |file: File| -> Box<dyn Read + Send> { Box::new(progress.wrap_read(file)) })
    };
    for path in &given.paths {
        for exchanges in audit::open(path, &*through)? {
            audit.take(exchanges);
        }
    }
    progress.finish_and_clear();
    let passed = audit.conclude()?;
    match &given.output {
        Some(file) => {
            let written = File::create(file).and_then(|file| audit.write(given.format, file));
            written.map_err(|error| format!("--output: {}: {error}", file.display()))?;
        }
        None => match audit.write(given.format, io::stdout()) {
            // A reader that closed its end early, like `head`, is not worth an error.
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => return Err(error.into()),
            _ => {}
        },
    }
    if audit.is_empty() {
        return Err(
            "no request for an answer to a prompt was found; the report says what was skipped".into(),
        );
    }
    Ok(passed)
}

/// A bar over the bytes of the files, where a person looks.
fn progress(paths: &[PathBuf]) -> ProgressBar {
    let sizes = paths.iter().filter_map(|path| fs::metadata(path).ok());
    let bytes = sizes.filter(fs::Metadata::is_file).map(|file| file.len()).sum();
    let bar = ProgressBar::with_draw_target(Some(bytes), ProgressDrawTarget::hidden());
    if io::stderr().is_terminal() && bytes > 0 {
        bar.set_draw_target(ProgressDrawTarget::stderr());
        let style = ProgressStyle::with_template("{bar:30} {bytes}/{total_bytes} {bytes_per_sec} {eta}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        bar.enable_steady_tick(Duration::from_millis(250));
    }
    bar
}
