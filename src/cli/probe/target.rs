//! Whom the probe asks: endpoint, format, and the headers of every request.

use std::env;

use hyper::{
    HeaderMap, Uri,
    header::{CONTENT_TYPE, HeaderName, HeaderValue},
};

use super::{
    Probe,
    shape::{self, Shape},
};
use crate::{
    route::Destination,
    wire::{Call, format::Format},
};

/// A header given on the command line.
pub type Header = (HeaderName, HeaderValue);

/// Whom the probe asks.
pub struct Target {
    /// The endpoint.
    pub uri: Uri,
    /// What its format needs.
    pub shape: &'static Shape,
    /// The headers of every request, the key among them.
    pub headers: HeaderMap,
    /// The key, so that no message shows it.
    pub key: Option<String>,
}

impl Target {
    /// Reads the URL, and the key from the environment.
    ///
    /// # Errors
    /// A sentence for the user: the URL cannot be used, its format cannot be probed, or the key that was named is not
    /// there.
    pub fn new(probe: &Probe) -> Result<Self, String> {
        let base: Uri = probe.upstream.parse().map_err(|_| URL)?;
        let http = matches!(base.scheme_str(), Some("http" | "https"));
        if !http || base.authority().is_none_or(|host| host.as_str().contains('@')) {
            return Err(URL.into());
        }
        let format = probe.wire.or_else(|| format_of(base.path()));
        let shape = shape::of(format.unwrap_or(Format::OpenaiChat))?;
        let key = key(probe, shape)?;
        Ok(Self {
            uri: endpoint(&base, shape)?,
            headers: headers(shape, key.as_deref(), &probe.headers)?,
            shape,
            key,
        })
    }

    /// Its place in the table of routes.
    pub fn destination<'a>(&'a self, model: &'a str) -> Destination<'a> {
        Destination {
            host: self.uri.host().unwrap_or_default(),
            format: self.shape.format,
            model,
        }
    }
}

/// Reads `Name: value`.
///
/// # Errors
/// A sentence for the user.
pub fn header(text: &str) -> Result<Header, String> {
    let (name, value) = text.split_once(':').ok_or("it is `Name: value`")?;
    let name = name.trim().parse().map_err(|_| "that is no header name")?;
    let value = value.trim().parse().map_err(|_| "that is no header value")?;
    Ok((name, value))
}

const URL: &str = "--upstream: it is `http://HOST[:PORT][/PATH]` or `https://...`, without credentials";

fn format_of(path: &str) -> Option<Format> {
    let asks = |format: &Format| format.wire().matches(path) == Some(Call::Messages);
    Format::ALL.into_iter().find(asks)
}

/// The URL itself where it is an endpoint, else what agents put behind a base URL.
fn endpoint(base: &Uri, shape: &Shape) -> Result<Uri, String> {
    let path = base.path().trim_end_matches('/');
    let path = match shape.format.wire().matches(path) {
        Some(Call::Messages) => path.to_owned(),
        _ if path.ends_with("/v1") => format!("{path}{}", shape.ending),
        _ => format!("{path}/v1{}", shape.ending),
    };
    let query = base.query().map(|query| format!("?{query}")).unwrap_or_default();
    let mut parts = base.clone().into_parts();
    parts.path_and_query = Some(format!("{path}{query}").parse().map_err(|_| URL)?);
    Uri::from_parts(parts).map_err(|_| URL.into())
}

fn key(probe: &Probe, shape: &Shape) -> Result<Option<String>, String> {
    let name = probe.key_env.as_deref().unwrap_or(shape.key_env);
    let key = env::var(name).ok().filter(|key| !key.is_empty());
    if key.is_none() && probe.key_env.is_some() {
        return Err(format!("--key-env: {name} is not set"));
    }
    Ok(key)
}

fn headers(shape: &Shape, key: Option<&str>, own: &[Header]) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    for (name, value) in shape.headers {
        headers.insert(*name, HeaderValue::from_static(value));
    }
    if let Some(key) = key {
        let (name, scheme) = shape.key_header;
        let value = HeaderValue::try_from(format!("{scheme}{key}"));
        let mut value = value.map_err(|_| "the key cannot be sent in a header")?;
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    for (name, value) in own {
        headers.insert(name, value.clone());
    }
    Ok(headers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endpoint_is_taken_as_it_is_and_a_base_url_completed() {
        let at = |url: &str, format| {
            let uri = endpoint(&url.parse().unwrap(), shape::of(format).unwrap());
            uri.unwrap().to_string()
        };
        let chat = Format::OpenaiChat;
        assert_eq!(at("http://h:1", chat), "http://h:1/v1/chat/completions");
        assert_eq!(at("http://h:1/v1/", chat), "http://h:1/v1/chat/completions");
        assert_eq!(
            at("https://h/api/chat/completions?x=1", chat),
            "https://h/api/chat/completions?x=1"
        );
        assert_eq!(
            at("https://h/llm", Format::AnthropicMessages),
            "https://h/llm/v1/messages"
        );
        assert_eq!(format_of("/v1/messages"), Some(Format::AnthropicMessages));
        assert_eq!(format_of("/v1"), None);
    }

    #[test]
    fn a_header_is_a_name_and_a_value() {
        assert_eq!(header("X-A:  b: c ").unwrap().1, "b: c");
        assert!(header("X-A").is_err() && header("x y: z").is_err() && header("a: \u{1}").is_err());
    }
}
