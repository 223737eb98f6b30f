//! Logs to standard error.

use tracing_subscriber::{EnvFilter, fmt};

use crate::config::{Log, LogFormat, LogLevel};

/// Starts logging for the rest of the process. Libraries only warn, since their finer levels would show
/// headers.
///
/// A panic's message may quote what it stumbled over, so only its place is told.
pub fn start(log: &Log) {
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
        .with_writer(std::io::stderr)
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
