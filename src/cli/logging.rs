//! Logs to standard error or a file.

use std::{fs::File, io::Write, sync::Arc};

use tracing_subscriber::{EnvFilter, fmt};

use crate::config::{Log, LogFormat, LogLevel};

/// Starts logging to standard error for the rest of the process. Libraries only warn, since their finer levels would show
/// headers.
///
/// A panic's message may quote what it stumbled over, so only its place is told.
pub fn start(log: &Log) {
    start_to(log, || Box::new(std::io::stderr()));
}

/// The same into a file; without one nothing is logged.
pub fn start_quiet(log: &Log, file: Option<File>) {
    let file = file.map(Arc::new);
    start_to(log, move || match &file {
        Some(file) => Box::new(Arc::clone(file)),
        None => Box::new(std::io::sink()),
    });
}

fn start_to(log: &Log, writer: impl Fn() -> Box<dyn Write> + Send + Sync + 'static) {
    std::panic::set_hook(Box::new(|panic| {
        tracing::error!(event = "panic", at = panic.location().map(ToString::to_string));
    }));
    let level = match log.level {
        LogLevel::Error => "error",
        LogLevel::Warn => "warn",
        LogLevel::Info => "info",
        LogLevel::Debug => "debug",
    };
    let filter = EnvFilter::new(format!("error,inkfast={level}"));
    let lines = fmt()
        .with_env_filter(filter)
        .with_writer(writer)
        .with_target(false);
    let started = match log.format {
        LogFormat::Text => lines.with_ansi(false).try_init(),
        LogFormat::Json => lines
            .json()
            .flatten_event(true)
            .with_current_span(false)
            .with_span_list(false)
            .try_init(),
    };
    if let Err(error) = started {
        tracing::debug!(error, "logging had been started before");
    }
}
