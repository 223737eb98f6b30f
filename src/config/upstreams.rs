//! The upstreams by name: the well-known ones and those that the user adds.

use std::collections::BTreeMap;

use hyper::http::uri::{Authority, Scheme, Uri};

/// Upstreams that need no configuration: name and base URL.
const WELL_KNOWN: &[(&str, &str)] = &[
    ("anthropic", "https://api.anthropic.com"),
    ("cerebras", "https://api.cerebras.ai"),
    ("deepseek", "https://api.deepseek.com"),
    ("fireworks", "https://api.fireworks.ai"),
    ("gemini", "https://generativelanguage.googleapis.com"),
    ("groq", "https://api.groq.com"),
    ("llamacpp", "http://127.0.0.1:8080"),
    ("lmstudio", "http://127.0.0.1:1234"),
    ("mistral", "https://api.mistral.ai"),
    ("moonshot", "https://api.moonshot.ai"),
    ("ollama", "http://127.0.0.1:11434"),
    ("openai", "https://api.openai.com"),
    ("openrouter", "https://openrouter.ai"),
    ("together", "https://api.together.xyz"),
    ("vllm", "http://127.0.0.1:8000"),
    ("xai", "https://api.x.ai"),
    ("zai", "https://api.z.ai"),
];

/// First path segments that real APIs use; an upstream of that name would hide them.
const RESERVED: &[&str] = &["v1", "v1beta", "api"];

/// One upstream: where its requests go, and whose rows of the capability table apply to it.
#[derive(Clone, Debug, PartialEq)]
pub struct Upstream {
    /// The name in paths, metrics and logs.
    pub name: String,
    /// `http` or `https`.
    pub scheme: Scheme,
    /// Host and, where it is not the scheme's own, port. Never with credentials.
    pub authority: Authority,
    /// The URL's path without a final slash; it is put in front of every request's path.
    pub prefix: String,
    acts_as: Option<String>,
}

impl Upstream {
    /// Reads `url` for the upstream `name`; `acts_as` is the host of the provider behind a gateway.
    ///
    /// # Errors
    /// A sentence for the user when the name or the URL cannot be used.
    pub fn new(name: &str, url: &str, acts_as: Option<String>) -> Result<Self, String> {
        check_name(name)?;
        if acts_as
            .as_deref()
            .is_some_and(|host| host.is_empty() || host.contains(['/', ' ']))
        {
            return Err("`acts_as` is a host name, like `api.openai.com`".into());
        }
        let expected =
            "an upstream URL is `http://HOST[:PORT][/PATH]` or `https://...`, without query or credentials";
        let parts = url.parse::<Uri>().map_err(|_| expected)?.into_parts();
        let (Some(scheme), Some(authority)) = (parts.scheme, parts.authority) else {
            return Err(expected.into());
        };
        let path = parts.path_and_query.as_ref().map_or("/", |path| path.as_str());
        if (scheme != Scheme::HTTP && scheme != Scheme::HTTPS)
            || authority.as_str().contains('@')
            || path.contains('?')
        {
            return Err(expected.into());
        }
        Ok(Self {
            name: name.into(),
            scheme,
            prefix: path.trim_end_matches('/').into(),
            authority,
            acts_as,
        })
    }

    /// The host whose rows of the capability table apply.
    pub fn acts_as(&self) -> &str {
        self.acts_as.as_deref().unwrap_or(self.authority.host())
    }
}

/// All upstreams. The well-known ones are always there, though any of them may lead elsewhere.
#[derive(Clone, Debug, PartialEq)]
pub struct Upstreams {
    by_name: BTreeMap<String, Upstream>,
    default: Upstream,
}

impl Upstreams {
    /// The well-known upstreams, with `added` put over them.
    ///
    /// # Errors
    /// A sentence for the user when `default` names none of them.
    pub fn new(added: Vec<Upstream>, default: &str) -> Result<Self, String> {
        let mut by_name = BTreeMap::new();
        for (name, url) in WELL_KNOWN {
            by_name.insert((*name).into(), Upstream::new(name, url, None)?);
        }
        by_name.extend(
            added
                .into_iter()
                .map(|upstream| (upstream.name.clone(), upstream)),
        );
        let Some(default) = by_name.get(default).cloned() else {
            let names: Vec<_> = by_name.keys().map(String::as_str).collect();
            return Err(format!(
                "there is no upstream `{default}`; there are {}",
                names.join(", ")
            ));
        };
        Ok(Self { by_name, default })
    }

    /// The upstream of that name.
    pub fn get(&self, name: &str) -> Option<&Upstream> {
        self.by_name.get(name)
    }

    /// All of them, by name.
    pub fn iter(&self) -> impl Iterator<Item = &Upstream> {
        self.by_name.values()
    }

    /// The upstream of requests that name no other.
    pub fn default(&self) -> &Upstream {
        &self.default
    }
}

fn check_name(name: &str) -> Result<(), String> {
    let letters = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    if !name.starts_with(|c: char| c.is_ascii_lowercase()) || !name.bytes().all(letters) {
        return Err(format!(
            "`{name}` is not an upstream name: a lower-case letter, then letters, digits and `-`"
        ));
    }
    if RESERVED.contains(&name) {
        return Err(format!(
            "an upstream cannot be named {}: those are paths of real APIs",
            RESERVED.join(", ")
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_the_url_apart() {
        let upstream = Upstream::new("my-gw", "https://gw.example:8443/llm/", None).unwrap();
        assert_eq!(
            (upstream.authority.as_str(), upstream.prefix.as_str()),
            ("gw.example:8443", "/llm")
        );
        assert_eq!(upstream.acts_as(), "gw.example");
        let posing = Upstream::new("gw", "http://127.0.0.1:1", Some("api.openai.com".into())).unwrap();
        assert_eq!(posing.acts_as(), "api.openai.com");
    }

    #[test]
    fn refuses_names_and_urls_that_cannot_work() {
        for name in ["v1", "v1beta", "api", "", "1a", "A", "a_b", "a/b"] {
            assert!(Upstream::new(name, "http://h", None).is_err(), "{name}");
        }
        for url in ["h", "/p", "ftp://h", "http://u:p@h", "http://h/?q=1", "http://"] {
            assert!(Upstream::new("a", url, None).is_err(), "{url}");
        }
    }
}
