//! Which variables the command of `inkfast run` gets, so that its agent goes where it would have gone, through the proxy. Pure:
//! the environment is asked through a function.

use std::net::{IpAddr, SocketAddr};

use hyper::Uri;
use serde::Deserialize;

use crate::config::{ConfigError, PartialUpstream, Upstream, Upstreams};

/// The table of variables: data, with a source and a date a row.
const TABLE: &str = include_str!("../../../config/agents.toml");

/// What a command's environment needs, and what the proxy needs for it.
#[derive(Debug, Default)]
pub struct Environment {
    /// Each variable with what stands in it behind the proxy's address.
    pub variables: Vec<(String, String)>,
    /// Upstreams for what the user had set.
    pub upstreams: Vec<(String, PartialUpstream)>,
    /// What the user should know: variables that are left alone, and why.
    pub notes: Vec<String>,
}

/// A variable that names a base URL.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    name: String,
    upstream: String,
    path: String,
    command: Option<String>,
    #[serde(default)]
    bare: bool,
    #[serde(default)]
    only_if_set: bool,
    #[serde(default)]
    host: bool,
    // For those who read the table.
    #[serde(rename = "readers")]
    _readers: String,
    #[serde(rename = "source")]
    _source: String,
    #[serde(rename = "date")]
    _date: String,
}

#[derive(Deserialize)]
struct Table {
    variable: Vec<Row>,
}

impl Table {
    /// The rows that hold for a program: its own in place of those for all.
    fn rows_for<'a>(&'a self, program: &'a str) -> impl Iterator<Item = &'a Row> {
        let is_own = move |row: &Row| row.command.as_deref() == Some(program);
        let has_own = move |name: &str| self.variable.iter().any(|row| is_own(row) && row.name == name);
        let rows = self.variable.iter();
        rows.filter(move |row| is_own(row) || row.command.is_none() && !has_own(&row.name))
    }
}

impl Environment {
    /// For a program of this name and a user who has set what `set` tells, with these upstreams, those among them that the
    /// command line gave counting more than a variable.
    ///
    /// # Errors
    /// The table is wrong.
    pub fn new(
        upstreams: &Upstreams,
        by_flag: &[String],
        program: &str,
        set: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, ConfigError> {
        let table: Table =
            toml::from_str(TABLE).map_err(|error| ConfigError(format!("config/agents.toml: {error}")))?;
        let mut environment = Self::default();
        for row in table.rows_for(program) {
            let by_user = set(&row.name).map(|value| value.trim().to_owned());
            let by_user = by_user.filter(|value| !value.is_empty() && !by_flag.contains(&row.upstream));
            match by_user {
                Some(value) => environment.lead_on(row, &value, upstreams),
                None => environment.lead(row, upstreams),
            }
        }
        Ok(environment)
    }

    /// The variables with their values, for a proxy at `address`, and those that keep a proxy of the network out of the way.
    pub fn values(&self, address: SocketAddr, set: impl Fn(&str) -> Option<String>) -> Vec<(String, String)> {
        let base = reachable(address);
        let variables = self.variables.iter();
        let pointed = variables.map(|(name, path)| (name.clone(), format!("http://{base}{path}")));
        let no_proxy = ["NO_PROXY", "no_proxy"];
        let direct = no_proxy.map(|name| {
            let before = set(name).or_else(|| no_proxy.iter().find_map(|name| set(name)));
            (
                name.to_owned(),
                with_loopback(before.as_deref().unwrap_or_default()),
            )
        });
        pointed.chain(direct).collect()
    }

    /// A variable that the user has not set.
    fn lead(&mut self, row: &Row, upstreams: &Upstreams) {
        if row.only_if_set || upstreams.get(&row.upstream).is_none() {
            return;
        }
        let value = if row.bare {
            row.path.clone()
        } else {
            format!("/{}{}", row.upstream, row.path)
        };
        self.variables.push((row.name.clone(), value));
    }

    /// A variable that the user has set: behind the proxy is what it names.
    fn lead_on(&mut self, row: &Row, value: &str, upstreams: &Upstreams) {
        let url = if row.host {
            url_of_host(value)
        } else {
            value.to_owned()
        };
        let name = row.name.to_ascii_lowercase().replace('_', "-");
        let (origin, path) = match taken_apart(&name, &url) {
            Ok(parts) => parts,
            Err(reason) => {
                let note = format!("{} is left as it is, and not seen: {reason}", row.name);
                return self.notes.push(note);
            }
        };
        if let Some((known, rest)) = known(upstreams, &row.upstream, &origin, &path) {
            let value = format!("/{known}{rest}");
            return self.variables.push((row.name.clone(), value));
        }
        let given = PartialUpstream {
            url: format!("{}://{}", origin.scheme, origin.authority),
            acts_as: row.host.then(|| row.upstream.clone()),
            ..PartialUpstream::default()
        };
        self.variables.push((row.name.clone(), format!("/{name}{path}")));
        self.upstreams.push((name, given));
    }
}

/// The host of a base URL as an upstream, and the path behind it.
fn taken_apart(name: &str, url: &str) -> Result<(Upstream, String), String> {
    let mut origin = Upstream::new(name, url, None)?;
    let path = std::mem::take(&mut origin.prefix);
    Ok((origin, path))
}

/// An upstream that leads to the same place, `preferred` before others, and what is behind its own URL.
fn known<'a>(
    upstreams: &'a Upstreams,
    preferred: &str,
    origin: &Upstream,
    path: &'a str,
) -> Option<(&'a str, &'a str)> {
    let all = upstreams.get(preferred).into_iter().chain(upstreams.iter());
    let same = all.filter(|known| known.scheme == origin.scheme && known.authority == origin.authority);
    same.filter_map(|known| {
        let rest = path.strip_prefix(known.prefix.as_str())?;
        (rest.is_empty() || rest.starts_with('/')).then_some((known.name.as_str(), rest))
    })
    .next()
}

/// Ollama's variable is also its server's, which may listen everywhere; the port is Ollama's own where there is no scheme
/// (github.com/ollama/ollama, envconfig/config.go, 2026-11-30).
fn url_of_host(value: &str) -> String {
    let url = match value.split_once("://") {
        Some(_) => value.to_owned(),
        None => {
            let (host, path) = value
                .split_once('/')
                .map_or((value, ""), |(host, path)| (host, path));
            let has_port = host.parse::<Uri>().is_ok_and(|uri| uri.port_u16().is_some());
            let port = if has_port { "" } else { ":11434" };
            format!("http://{host}{port}/{path}")
        }
    };
    url.replacen("://0.0.0.0", "://127.0.0.1", 1)
}

/// Where a client on this machine reaches a listener.
fn reachable(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        ip if !ip.is_unspecified() => ip,
        IpAddr::V4(_) => IpAddr::from([127, 0, 0, 1]),
        IpAddr::V6(_) => IpAddr::from([0, 0, 0, 0, 0, 0, 0, 1]),
    };
    SocketAddr::new(ip, address.port())
}

fn with_loopback(before: &str) -> String {
    let mut hosts: Vec<_> = before
        .split(',')
        .map(str::trim)
        .filter(|host| !host.is_empty())
        .collect();
    for host in ["127.0.0.1", "localhost"] {
        if !hosts.contains(&host) && !hosts.contains(&"*") {
            hosts.push(host);
        }
    }
    hosts.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROXY: SocketAddr = SocketAddr::new(IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 5);

    fn environment(set: &[(&str, &str)], by_flag: &[&str]) -> Environment {
        let gateway = Upstream::new("gw", "https://gw.example/llm", None).unwrap();
        let upstreams = Upstreams::new(vec![gateway], "openai").unwrap();
        let by_flag: Vec<_> = by_flag.iter().map(ToString::to_string).collect();
        Environment::new(&upstreams, &by_flag, "python3", |name| find(set, name)).unwrap()
    }

    fn find(set: &[(&str, &str)], name: &str) -> Option<String> {
        let found = set.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| (*value).to_owned())
    }

    fn value(set: &[(&str, &str)], name: &str) -> Option<String> {
        let values = environment(set, &[]).values(PROXY, |name| find(set, name));
        values
            .into_iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value)
    }

    #[test]
    fn variables_lead_to_the_proxy() {
        let led = |name: &str| value(&[], name).unwrap_or_default();
        assert_eq!(led("OPENAI_BASE_URL"), "http://127.0.0.1:5/v1");
        assert_eq!(led("ANTHROPIC_BASE_URL"), "http://127.0.0.1:5");
        assert_eq!(led("OPENROUTER_API_BASE"), "http://127.0.0.1:5/openrouter/api/v1");
        assert_eq!(led("NO_PROXY"), "127.0.0.1,localhost");
        for not_set in [
            "COPILOT_PROVIDER_BASE_URL",
            "AZURE_OPENAI_ENDPOINT",
            "AWS_ENDPOINT_URL_BEDROCK_RUNTIME",
        ] {
            assert_eq!(led(not_set), "", "{not_set}");
        }
    }

    #[test]
    fn a_program_with_a_row_of_its_own_goes_by_that() {
        let upstreams = Upstreams::new(vec![], "openai").unwrap();
        let environment = Environment::new(&upstreams, &[], "opencode", |_| None).unwrap();
        let led: Vec<_> = environment
            .variables
            .iter()
            .filter(|(name, _)| name == "ANTHROPIC_BASE_URL")
            .collect();
        assert_eq!(led, [&("ANTHROPIC_BASE_URL".to_owned(), "/v1".to_owned())]);
    }

    #[test]
    fn what_the_user_has_set_is_behind_the_proxy() {
        for (name, set, led, url) in [
            (
                "OPENAI_BASE_URL",
                "http://gateway/v1",
                "/openai-base-url/v1",
                "http://gateway",
            ),
            (
                "OPENAI_BASE_URL",
                "https://h:8443/a/b/v1/",
                "/openai-base-url/a/b/v1",
                "https://h:8443",
            ),
            (
                "COPILOT_PROVIDER_BASE_URL",
                "http://x",
                "/copilot-provider-base-url",
                "http://x",
            ),
            ("OLLAMA_HOST", "gpu-box", "/ollama-host", "http://gpu-box:11434"),
            ("OLLAMA_HOST", "gpu-box:80", "/ollama-host", "http://gpu-box:80"),
            (
                "OLLAMA_HOST",
                "https://gpu-box",
                "/ollama-host",
                "https://gpu-box",
            ),
        ] {
            let set = [(name, set)];
            assert_eq!(value(&set, name).unwrap(), format!("http://127.0.0.1:5{led}"));
            let upstreams = environment(&set, &[]).upstreams;
            assert_eq!(upstreams.len(), 1, "{upstreams:?}");
            assert_eq!(upstreams[0].1.url, url);
        }
    }

    #[test]
    fn a_place_that_is_known_keeps_its_name() {
        for (name, set, led) in [
            ("OPENAI_BASE_URL", "https://api.openai.com/v1", "/openai/v1"),
            (
                "OPENAI_BASE_URL",
                "https://openrouter.ai/api/v1",
                "/openrouter/api/v1",
            ),
            ("OPENAI_BASE_URL", "https://gw.example/llm/v1", "/gw/v1"),
            ("OLLAMA_HOST", "0.0.0.0", "/ollama"),
        ] {
            let set = [(name, set)];
            assert_eq!(value(&set, name).unwrap(), format!("http://127.0.0.1:5{led}"));
            assert!(environment(&set, &[]).upstreams.is_empty());
        }
        // The start of its path only looks like the known one's.
        let other = environment(&[("OPENAI_BASE_URL", "https://gw.example/llm2/v1")], &[]);
        assert_eq!(other.upstreams.len(), 1);
    }

    #[test]
    fn a_flag_counts_more_than_a_variable() {
        let environment = environment(&[("OPENAI_BASE_URL", "http://gateway/v1")], &["openai"]);
        assert!(environment.upstreams.is_empty());
        assert!(
            environment
                .variables
                .contains(&("OPENAI_BASE_URL".into(), "/v1".into()))
        );
    }

    #[test]
    fn what_cannot_be_led_on_is_left_alone_and_said() {
        let environment = environment(&[("OPENAI_BASE_URL", "http://me:dummy@gateway/v1")], &[]);
        assert!(
            !environment
                .variables
                .iter()
                .any(|(name, _)| name == "OPENAI_BASE_URL")
        );
        assert!(
            environment.notes[0].starts_with("OPENAI_BASE_URL is left"),
            "{:?}",
            environment.notes
        );
        assert!(!environment.notes[0].contains("dummy"));
    }

    #[test]
    fn a_proxy_of_the_network_is_kept_out_of_the_way() {
        assert_eq!(
            value(&[("no_proxy", "a,localhost")], "NO_PROXY").unwrap(),
            "a,localhost,127.0.0.1"
        );
        assert_eq!(value(&[("NO_PROXY", "*")], "NO_PROXY").unwrap(), "*");
    }
}
