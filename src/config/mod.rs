//! What the user asked for: file and flags become one [`Config`] in which nothing can be wrong any more.
//!
//! A [`Partial`] says what one source said, with the key's absence kept; flags are laid over the file, and
//! what is left open gets its default here and nowhere else. The same defaults stand, explained, in
//! `config/example.toml`.

mod partial;
mod state;
mod units;
mod upstreams;

use std::{fmt, net::SocketAddr, path::PathBuf, time::Duration};

use clap::ValueEnum;
use serde::Deserialize;

pub use partial::{Partial, PartialUpstream, Signature};
pub use state::State;
pub use units::{Size, Span};
pub use upstreams::{Sign, Upstream, Upstreams};

/// The example file: every key with its default.
pub const EXAMPLE: &str = include_str!("../../config/example.toml");

/// The configuration of a running proxy.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Where agents connect.
    pub listen: SocketAddr,
    /// Where metrics and health are served.
    pub admin: SocketAddr,
    /// Where requests go.
    pub upstreams: Upstreams,
    /// A PEM file of certificate authorities that are trusted beside the platform's.
    pub extra_ca: Option<PathBuf>,
    /// Where what was sent is remembered.
    pub state: State,
    /// How long a request waits for the state before it goes on without.
    pub state_timeout: Duration,
    /// How many days an unused conversation is kept.
    pub retention_days: u32,
    /// Where exchanges are recorded, prompts and all; nowhere unless it is asked for.
    pub record: Option<PathBuf>,
    /// Whether anything is rewritten.
    pub mode: Mode,
    /// How a changed system prompt is worded.
    pub update_text: UpdateText,
    /// A table of routes that is laid over the built-in one.
    pub routes: Option<PathBuf>,
    /// Your own prices, laid over the shares that are built in.
    pub prices: Option<PathBuf>,
    /// Bodies over this many bytes stream through unread.
    pub max_body: usize,
    /// How many bytes of last bodies are kept to compare with.
    pub kept_bodies: usize,
    /// How long either side may be silent in the middle of an exchange.
    pub idle_timeout: Duration,
    /// How long running exchanges may take to finish after a stop was asked for.
    pub drain_grace: Duration,
    /// Model names that metrics show; a final `*` stands for any rest.
    pub models: Vec<String>,
    /// How logs are written.
    pub log: Log,
}

/// Whether anything is rewritten.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Changes of the system prompt travel as messages in the history.
    InHistory,
    /// Nothing is changed; every break is named and measured all the same.
    Observe,
}

/// How a changed system prompt is worded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum UpdateText {
    /// Changed passages while they are short, else the whole prompt.
    Auto,
    /// The whole new prompt.
    Full,
    /// The changed passages.
    Delta,
}

/// How logs are written to standard error.
#[derive(Clone, Debug, PartialEq)]
pub struct Log {
    /// For people or for machines.
    pub format: LogFormat,
    /// The least important level that is written.
    pub level: LogLevel,
}

/// For people or for machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum LogFormat {
    /// One readable line an event.
    Text,
    /// One JSON object an event.
    Json,
}

/// The least important level that is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs, reason = "the names say it")]
pub enum LogLevel {
    Error,
    Warn,
    Info,
    Debug,
}

/// Why there is no configuration: a sentence for the user that names the key.
#[derive(Debug)]
pub struct ConfigError(pub String);

impl Config {
    /// Fills `partial` up with the defaults.
    ///
    /// # Errors
    /// The first key whose value cannot be used, and why.
    pub fn new(partial: Partial) -> Result<Self, ConfigError> {
        let named = |key: &str, reason: String| ConfigError(format!("{key}: {reason}"));
        let listen = partial.listen.unwrap_or(SocketAddr::from(([127, 0, 0, 1], 4640)));
        let added = partial.upstreams.into_iter().map(|(name, given)| {
            let key = format!("upstreams.{name}");
            let upstream = given.named(&name).and_then(|upstream| only_for(listen, upstream));
            upstream.map_err(|reason| named(&key, reason))
        });
        let default_upstream = partial.default_upstream.as_deref().unwrap_or("openai");
        let upstreams = Upstreams::new(added.collect::<Result<_, _>>()?, default_upstream)
            .map_err(|reason| named("default_upstream", reason))?;
        Ok(Self {
            listen,
            admin: partial.admin.unwrap_or(SocketAddr::from(([127, 0, 0, 1], 4641))),
            upstreams,
            extra_ca: partial.extra_ca,
            state: partial.state.unwrap_or(State::Sqlite(None)),
            state_timeout: partial
                .state_timeout
                .map_or(Duration::from_millis(250), |span| span.0),
            retention_days: partial.retention_days.unwrap_or(90),
            record: partial.record,
            mode: partial.mode.unwrap_or(Mode::InHistory),
            update_text: partial.update_text.unwrap_or(UpdateText::Auto),
            routes: partial.routes,
            prices: partial.prices,
            max_body: partial.max_body.map_or(64 << 20, |size| size.0),
            kept_bodies: partial.kept_bodies.map_or(128 << 20, |size| size.0),
            idle_timeout: partial
                .idle_timeout
                .map_or(Duration::from_secs(600), |span| span.0),
            drain_grace: partial.drain_grace.map_or(Duration::from_secs(30), |span| span.0),
            models: partial
                .models
                .unwrap_or_else(|| MODELS.iter().map(ToString::to_string).collect()),
            log: Log {
                format: partial.log_format.unwrap_or(LogFormat::Text),
                level: partial.log_level.unwrap_or(LogLevel::Info),
            },
        })
    }
}

/// Whoever reaches the proxy sends with the signatures that it makes, which is for its own user only.
fn only_for(listen: SocketAddr, upstream: Upstream) -> Result<Upstream, String> {
    if upstream.sign.is_some() && !listen.ip().is_loopback() {
        return Err(format!(
            "`sign` is for a loopback `listen` only: everyone who reaches {listen} would use your credentials"
        ));
    }
    Ok(upstream)
}

/// Model families that metrics tell apart unless the user lists others.
const MODELS: &[&str] = &[
    "claude-*",
    "deepseek-*",
    "gemini-*",
    "glm-*",
    "gpt-4*",
    "gpt-5*",
    "gpt-6*",
    "gpt-oss*",
    "grok-*",
    "kimi-*",
    "llama*",
    "mistral-*",
    "o3*",
    "o4*",
    "qwen*",
];

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ConfigError {}
