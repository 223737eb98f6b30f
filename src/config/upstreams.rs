//! The upstreams by name: the well-known ones and those that the user adds.

use std::collections::BTreeMap;

use hyper::http::uri::{Authority, Scheme, Uri};

/// Upstreams that need no configuration: name and base URL.
const WELL_KNOWN: &[(&str, &str)] = &[
    ("anthropic", "https://api.anthropic.com"),
    ("cerebras", "https://api.cerebras.ai"),
    ("copilot", "https://api.githubcopilot.com"),
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
    ("vertex", "https://aiplatform.googleapis.com"),
    ("vllm", "http://127.0.0.1:8000"),
    ("xai", "https://api.x.ai"),
    ("zai", "https://api.z.ai"),
];

/// Ollama listens at this port wherever it runs (github.com/ollama/ollama, docs/faq.md, 2026-11-30). A host in a
/// local network has no name that the capability table could know.
const OLLAMA_PORT: u16 = 11434;

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
    /// The models behind its names for them: Azure's deployments are named by who makes them.
    models: BTreeMap<String, String>,
    /// How its requests are signed anew, if they are.
    pub sign: Option<Sign>,
    /// Its provider is asked what it finds about the prefix, where it documents how.
    pub ask_diagnostics: bool,
}

/// What a signature of AWS Signature Version 4 is made for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sign {
    /// The region, like `eu-central-1`.
    pub region: String,
    /// The service's signing name, like `bedrock`.
    pub service: String,
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
            models: BTreeMap::new(),
            sign: None,
            ask_diagnostics: false,
        })
    }

    /// The same with requests signed anew for `service` (`bedrock` if not given) in `region`, which the names of
    /// Bedrock's hosts tell.
    ///
    /// # Errors
    /// A sentence for the user when the region is not known.
    pub fn signed(self, region: Option<String>, service: Option<String>) -> Result<Self, String> {
        let (by_host, by_host_region) = bedrock(self.authority.host()).unzip();
        let region = region
            .or(by_host_region.map(str::to_owned))
            .filter(|region| !region.is_empty())
            .ok_or("`sign` needs `region`, like `eu-central-1`: the host does not tell it")?;
        let service = service.unwrap_or_else(|| by_host.unwrap_or("bedrock").to_owned());
        let sign = Some(Sign { region, service });
        Ok(Self { sign, ..self })
    }

    /// The same with the models that are behind its names.
    pub fn with_models(self, models: BTreeMap<String, String>) -> Self {
        Self { models, ..self }
    }

    /// The host whose rows of the capability table apply.
    pub fn acts_as(&self) -> &str {
        let is_ollama = self.name == "ollama" || self.authority.port_u16() == Some(OLLAMA_PORT);
        let implied = if is_ollama {
            "ollama"
        } else {
            self.authority.host()
        };
        self.acts_as.as_deref().unwrap_or(implied)
    }

    /// The model whose rows of the capability table apply to requests for `model`.
    pub fn model_behind<'m>(&'m self, model: &'m str) -> &'m str {
        self.models.get(model).map_or(model, String::as_str)
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

/// The signing name and the region of a Bedrock host: `bedrock-runtime.REGION.amazonaws.com` and its FIPS and VPC
/// variants, `bedrock-mantle.REGION.api.aws`.
fn bedrock(host: &str) -> Option<(&'static str, &str)> {
    let ours = [".amazonaws.com", ".amazonaws.com.cn", ".api.aws"];
    let mut labels = host
        .split('.')
        .filter(|_| ours.iter().any(|end| host.ends_with(end)));
    let service = labels.find(|label| label.starts_with("bedrock"))?;
    let name = if service == "bedrock-mantle" {
        "bedrock-mantle"
    } else {
        "bedrock"
    };
    Some((name, labels.next()?))
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
    fn ollama_is_known_by_its_name_or_its_port() {
        let acts_as = |name: &str, url: &str, given: Option<&str>| {
            let upstream = Upstream::new(name, url, given.map(str::to_owned)).unwrap();
            upstream.acts_as().to_owned()
        };
        assert_eq!(acts_as("ollama", "http://gpu-box:80", None), "ollama");
        assert_eq!(acts_as("box", "http://gpu-box:11434", None), "ollama");
        assert_eq!(acts_as("box", "http://gpu-box:11434", Some("vllm")), "vllm");
        assert_eq!(acts_as("box", "http://127.0.0.1:8080", None), "127.0.0.1");
    }

    #[test]
    fn a_deployment_has_a_model_behind_it() {
        let models = [("dep".to_owned(), "gpt-5.5".to_owned())];
        let azure = Upstream::new("az", "https://r.openai.azure.com", None).unwrap();
        let azure = azure.with_models(models.into());
        assert_eq!(azure.model_behind("dep"), "gpt-5.5");
        assert_eq!(azure.model_behind("gpt-6"), "gpt-6");
    }

    #[test]
    fn the_region_is_given_or_in_the_host() {
        let signed = |url: &str, region: Option<&str>| {
            let upstream = Upstream::new("a", url, None)?.signed(region.map(str::to_owned), None)?;
            let sign = upstream.sign.ok_or_else(String::new)?;
            Ok::<_, String>(format!("{}/{}", sign.region, sign.service))
        };
        for (host, sign) in [
            (
                "bedrock-runtime.eu-central-1.amazonaws.com",
                "eu-central-1/bedrock",
            ),
            (
                "bedrock-runtime-fips.us-gov-west-1.amazonaws.com",
                "us-gov-west-1/bedrock",
            ),
            (
                "vpce-1-2.bedrock-runtime.us-east-1.vpce.amazonaws.com",
                "us-east-1/bedrock",
            ),
            (
                "bedrock-runtime.cn-north-1.amazonaws.com.cn",
                "cn-north-1/bedrock",
            ),
            ("bedrock-mantle.us-west-2.api.aws", "us-west-2/bedrock-mantle"),
        ] {
            assert_eq!(signed(&format!("https://{host}/x"), None).unwrap(), sign);
        }
        assert_eq!(
            signed("http://127.0.0.1:1", Some("us-east-1")).unwrap(),
            "us-east-1/bedrock"
        );
        assert!(
            signed("https://bedrock.example.com", None)
                .unwrap_err()
                .contains("`region`")
        );
        assert!(signed("https://bedrock-runtime.x.amazonaws.com", Some("")).is_err());
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
