//! What one source, the file or the flags, said about the configuration.

use std::{
    collections::BTreeMap,
    fmt, fs,
    net::SocketAddr,
    path::{Path, PathBuf},
    str::FromStr,
};

use serde::Deserialize;

use super::{ConfigError, LogFormat, LogLevel, Mode, Size, Span, State, UpdateText, Upstream};

/// What one source said; `None` where it said nothing.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[allow(missing_docs, reason = "each field is the field of `Config` of that name")]
pub struct Partial {
    pub listen: Option<SocketAddr>,
    pub admin: Option<SocketAddr>,
    pub default_upstream: Option<String>,
    pub extra_ca: Option<PathBuf>,
    pub state: Option<State>,
    pub state_timeout: Option<Span>,
    pub retention_days: Option<u32>,
    pub record: Option<PathBuf>,
    pub mode: Option<Mode>,
    pub update_text: Option<UpdateText>,
    pub routes: Option<PathBuf>,
    pub prices: Option<PathBuf>,
    pub max_body: Option<Size>,
    pub kept_bodies: Option<Size>,
    pub idle_timeout: Option<Span>,
    pub drain_grace: Option<Span>,
    pub models: Option<Vec<String>>,
    pub log_format: Option<LogFormat>,
    pub log_level: Option<LogLevel>,
    pub upstreams: BTreeMap<String, PartialUpstream>,
}

/// One upstream as a file or a flag gives it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(
    missing_docs,
    reason = "each field is the argument of that name of `Upstream::new`, `Upstream::with_models` or `Upstream::signed`, or a field of `Upstream`"
)]
pub struct PartialUpstream {
    pub url: String,
    pub acts_as: Option<String>,
    #[serde(default)]
    pub models: BTreeMap<String, String>,
    pub sign: Option<Signature>,
    pub region: Option<String>,
    pub service: Option<String>,
    #[serde(default)]
    pub ask_diagnostics: bool,
}

/// A way to sign requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Signature {
    /// AWS Signature Version 4.
    Sigv4,
}

impl PartialUpstream {
    /// The whole upstream.
    ///
    /// # Errors
    /// A sentence for the user when something about it cannot be used.
    pub(super) fn named(self, name: &str) -> Result<Upstream, String> {
        let mut upstream = Upstream::new(name, &self.url, self.acts_as)?.with_models(self.models);
        upstream.ask_diagnostics = self.ask_diagnostics;
        match self.sign {
            Some(Signature::Sigv4) => upstream.signed(self.region, self.service),
            None if self.region.or(self.service).is_some() => {
                Err("`region` and `service` are for `sign = \"sigv4\"`".into())
            }
            None => Ok(upstream),
        }
    }
}

impl Partial {
    /// Reads a file.
    ///
    /// # Errors
    /// The file cannot be read, is no TOML, or has a key or value that is not known; the key's path is named.
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        let named = |reason: &dyn fmt::Display| ConfigError(format!("{}: {reason}", path.display()));
        fs::read_to_string(path)
            .map_err(|error| named(&error))?
            .parse()
            .map_err(|error| named(&error))
    }

    /// This source with `over` laid over it, key by key.
    pub fn overlaid_by(self, over: Self) -> Self {
        let mut upstreams = self.upstreams;
        upstreams.extend(over.upstreams);
        Self {
            listen: over.listen.or(self.listen),
            admin: over.admin.or(self.admin),
            default_upstream: over.default_upstream.or(self.default_upstream),
            extra_ca: over.extra_ca.or(self.extra_ca),
            state: over.state.or(self.state),
            state_timeout: over.state_timeout.or(self.state_timeout),
            retention_days: over.retention_days.or(self.retention_days),
            record: over.record.or(self.record),
            mode: over.mode.or(self.mode),
            update_text: over.update_text.or(self.update_text),
            routes: over.routes.or(self.routes),
            prices: over.prices.or(self.prices),
            max_body: over.max_body.or(self.max_body),
            kept_bodies: over.kept_bodies.or(self.kept_bodies),
            idle_timeout: over.idle_timeout.or(self.idle_timeout),
            drain_grace: over.drain_grace.or(self.drain_grace),
            models: over.models.or(self.models),
            log_format: over.log_format.or(self.log_format),
            log_level: over.log_level.or(self.log_level),
            upstreams,
        }
    }
}

impl FromStr for Partial {
    type Err = ConfigError;

    /// Two steps, because errors of the second name the key's path and those of the first the line.
    fn from_str(text: &str) -> Result<Self, ConfigError> {
        let table: toml::Table = text.parse().map_err(|error| ConfigError(format!("{error}")))?;
        table
            .try_into()
            .map_err(|error: toml::de::Error| ConfigError(error.to_string().trim_end().replace('\n', " ")))
    }
}
