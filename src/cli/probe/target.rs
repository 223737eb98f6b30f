//! Whom the probe asks: endpoint, format, and the headers of every request.

use std::env;

use hyper::{
    HeaderMap, Uri,
    header::{CONTENT_TYPE, HeaderName, HeaderValue},
};

use super::{Probe, shape::Shape};
use crate::{
    config::{Config, Upstream},
    route::Destination,
    wire::format::Format,
};

/// A header given on the command line.
pub type Header = (HeaderName, HeaderValue);

/// Whom the probe asks.
pub struct Target {
    /// The endpoint.
    pub uri: Uri,
    /// What it needs.
    pub shape: &'static Shape,
    /// The headers of every request, the key among them.
    pub headers: HeaderMap,
    /// The key, so that no message shows it.
    pub key: Option<String>,
    /// The upstream of the configuration that leads there, or what it would be.
    pub upstream: Upstream,
}

impl Target {
    /// Reads the URL, and the key from the environment.
    ///
    /// # Errors
    /// A sentence for the user: the URL cannot be used, it asks another model, or the key that was named is not there.
    pub fn new(config: &Config, probe: &Probe) -> Result<Self, String> {
        let base: Uri = probe.upstream.parse().map_err(|_| URL)?;
        let authority = base.authority().filter(|host| !host.as_str().contains('@'));
        let (Some("http" | "https"), Some(authority)) = (base.scheme_str(), authority) else {
            return Err(URL.into());
        };
        let format = probe
            .wire
            .or_else(|| Shape::format_of(base.path()))
            .or_else(|| format_at(config, &base))
            .unwrap_or(Format::OpenaiChat);
        let shape = Shape::of(format, base.path()).ok_or("--wire: this format cannot be probed")?;
        let uri = endpoint(&base, shape, &probe.model)?;
        let key = key(probe, shape)?;
        let made_up = || Upstream::new("probe", &format!("{}://{authority}", base.scheme_str()?), None).ok();
        Ok(Self {
            upstream: leading(config, &uri)
                .max_by_key(|upstream| upstream.prefix.len())
                .cloned()
                .or_else(made_up)
                .ok_or(URL)?,
            headers: headers(shape, key.as_deref(), &probe.headers)?,
            uri,
            shape,
            key,
        })
    }

    /// Its place in the table of routes.
    pub fn destination<'a>(&'a self, model: &'a str) -> Destination<'a> {
        Destination {
            host: self.upstream.acts_as(),
            format: self.shape.format,
            model: self.upstream.model_behind(model),
        }
    }
}

/// The upstreams whose requests can go to `uri`.
pub fn leading<'a>(config: &'a Config, uri: &'a Uri) -> impl Iterator<Item = &'a Upstream> {
    at(config, uri).filter(|upstream| uri.path().starts_with(&upstream.prefix))
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

/// The upstreams at the host of `uri`.
fn at<'a>(config: &'a Config, uri: &'a Uri) -> impl Iterator<Item = &'a Upstream> {
    config.upstreams.iter().filter(|upstream| {
        uri.scheme() == Some(&upstream.scheme) && uri.authority() == Some(&upstream.authority)
    })
}

/// The format whose requests go to this host where they name no upstream.
fn format_at(config: &Config, uri: &Uri) -> Option<Format> {
    let is_home = |format: &Format| at(config, uri).any(|upstream| format.home() == Some(&upstream.name));
    Format::ALL.into_iter().find(is_home)
}

/// The URL itself where it is an endpoint, else what agents put behind a base URL.
fn endpoint(base: &Uri, shape: &Shape, model: &str) -> Result<Uri, String> {
    let path = shape.path(base.path(), model);
    if let Some(asked) = shape
        .format
        .wire()
        .model(base.path())
        .filter(|asked| asked != model)
    {
        return Err(format!("--model: the URL asks {asked}"));
    }
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
    fn a_url_that_asks_another_model_is_refused() {
        let at = |url: &str| {
            let base: Uri = url.parse().unwrap();
            let shape = Shape::of(Shape::format_of(base.path()).unwrap(), base.path()).unwrap();
            endpoint(&base, shape, "m").map(|uri| uri.to_string())
        };
        for url in [
            "https://h/v1beta/models/m:generateContent?x=1",
            "https://h/model/m/converse",
        ] {
            assert_eq!(at(url).as_deref(), Ok(url));
            assert!(
                at(&url.replace("/m:", "/n:").replace("/m/", "/n/"))
                    .unwrap_err()
                    .contains("--model")
            );
        }
    }

    #[test]
    fn a_header_is_a_name_and_a_value() {
        assert_eq!(header("X-A:  b: c ").unwrap().1, "b: c");
        assert!(header("X-A").is_err() && header("x y: z").is_err() && header("a: \u{1}").is_err());
    }
}
