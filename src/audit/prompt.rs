//! What a recorded request asks for: where it went, its format, its body decoded and cut into items.

use std::sync::Arc;

use bytes::Bytes;

use super::{exchange::Exchange, sniff};
use crate::{
    bodies,
    config::{Upstream, Upstreams},
    encoding::{self, DecodeError, Limits},
    identity,
    prefix::{Keys, Request, Scope, digest::Digest, keys, policy::Mode},
    route::{self, Choice, Destination, Route},
    wire::{Call, body::Context, format::Format},
};

/// Bodies are decoded up to this size.
const LIMITS: Limits = Limits {
    max_bytes: 64 << 20,
    max_ratio: 200,
};

/// Where a request went and what it is.
pub struct Asked {
    /// The wire format.
    pub format: Format,
    /// As the recording names it; empty where it does not.
    pub named: Arc<str>,
    /// The host whose facts apply.
    pub host: String,
    /// The model, as the path names it.
    model: Option<String>,
    scope: Scope,
}

/// A body, cut into items and named.
#[derive(Clone)]
pub struct Parsed {
    /// What it says.
    pub request: Arc<Request>,
    /// The names under which its past is looked up.
    pub keys: Keys,
    /// Within what.
    pub scope: Scope,
    /// The facts about where it went.
    pub route: Route,
    /// Their name.
    pub route_key: String,
    /// Where the last body of its conversation is looked for.
    pub place: Digest,
}

impl Asked {
    /// Reads the envelope of a request whose decoded body is `body`.
    ///
    /// # Errors
    /// It is no prompt, or one that has no answer to be carried on.
    pub fn of(exchange: &Exchange, body: &[u8], upstreams: &Upstreams) -> Result<Self, &'static str> {
        let path = exchange.path.as_deref().unwrap_or_default();
        let path = path.split('?').next().unwrap_or_default();
        let by_path = || {
            Format::ALL
                .into_iter()
                .find_map(|format| Some((format, format.wire().matches(path)?)))
        };
        let (format, call) = match exchange.format {
            Some(format) => Some((format, format.wire().matches(path).unwrap_or(Call::Messages))),
            None => by_path().or_else(|| Some((sniff::format(body)?, Call::Messages))),
        }
        .ok_or("not_a_prompt")?;
        match call {
            Call::Messages => {}
            Call::CountTokens => return Err("count_tokens"),
            Call::Compact => return Err("compact"),
            Call::Other => return Err("not_a_prompt"),
        }
        let named = exchange.host.as_deref().unwrap_or_default();
        let host = host(named, format, upstreams);
        Ok(Self {
            format,
            named: named.into(),
            scope: Scope::new(&host, format.as_str(), None),
            host,
            model: format.wire().model(path),
        })
    }

    /// Cuts a body of this request into items. `last` leads to the body that it probably goes on from.
    ///
    /// # Errors
    /// It is not the JSON that the format wants.
    pub fn parse(
        &self,
        exchange: &Exchange,
        body: &Bytes,
        table: &route::Table,
        last: impl FnOnce(&Digest) -> Option<Arc<Request>>,
    ) -> Result<Parsed, &'static str> {
        let hints = identity::hints(&exchange.headers);
        let place = bodies::key(self.scope, &hints, body);
        let instructions_lead = |model: &str| table.instructions_lead(self.to(model));
        let named = self.model.as_deref().unwrap_or_default();
        let context = Context {
            attribution: table.route(self.to(named), OBSERVE, &[]).attribution,
            model: self.model.as_deref(),
            instructions_lead: Some(&instructions_lead),
            hints,
        };
        let known = last(&place);
        let parsed = self.format.wire().parse(body, &context, known.as_deref());
        let mut request = parsed.map_err(|fault| fault.as_str())?;
        if request.server_state {
            return Err("server_state");
        }
        // A model that only the recording names is the one behind an alias, where the body has a name for it.
        request.model = request.model.or_else(|| exchange.model.clone());
        let route = table.route(
            self.to(request.model.as_deref().unwrap_or_default()),
            OBSERVE,
            &[],
        );
        let model = request.model.as_deref().unwrap_or_default();
        Ok(Parsed {
            route_key: route::key(&self.host, self.format, model),
            place,
            keys: keys(&request, self.scope),
            request: Arc::new(request),
            scope: self.scope,
            route,
        })
    }

    /// Whether what the upstream says about cached tokens tells nothing.
    pub fn ignores_cached(&self, table: &route::Table) -> bool {
        table.ignores_cached(self.to(""))
    }

    fn to<'a>(&'a self, model: &'a str) -> Destination<'a> {
        Destination {
            host: &self.host,
            format: self.format,
            model,
        }
    }
}

/// A recording is judged and never sent: nothing is edited, and whoever made it is one person.
const OBSERVE: Choice = Choice {
    mode: Mode::Observe,
    text: None,
    loopback: true,
};

/// A body with the encodings undone that `encoding` names, unless the recorder did that already.
///
/// # Errors
/// It is not what its encoding says.
pub fn decoded(body: &Bytes, encoding: &str) -> Result<Bytes, &'static str> {
    // No encoding opens with what opens a JSON object.
    if body.trim_ascii_start().starts_with(b"{") {
        return Ok(body.clone());
    }
    encoding::decode(body, encoding, LIMITS).map_err(|error| match error {
        DecodeError::Unknown => "unknown_encoding",
        DecodeError::TooLarge | DecodeError::Ratio => "bomb",
        DecodeError::Truncated | DecodeError::Corrupt => "bad_encoding",
    })
}

/// The host whose facts apply to a request that went to `named`, a host or the name of a well-known upstream; the
/// format's home where nothing says it.
fn host(named: &str, format: Format, upstreams: &Upstreams) -> String {
    let by_name = upstreams.get(named).map(Upstream::acts_as);
    if let Some(host) = by_name {
        return host.to_owned();
    }
    if named.is_empty() {
        let home = format.home().and_then(|name| upstreams.get(name));
        return home.unwrap_or(upstreams.default()).acts_as().to_owned();
    }
    let lower = named.to_ascii_lowercase();
    let known = Upstream::new("named", &format!("http://{lower}"), None);
    known.map_or(lower, |upstream| upstream.acts_as().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_hang_on_the_host_however_it_is_named() {
        let upstreams = Upstreams::new(Vec::new(), "openai").unwrap();
        let host = |named, format| host(named, format, &upstreams);
        assert_eq!(host("anthropic", Format::OpenaiChat), "api.anthropic.com");
        assert_eq!(host("", Format::AnthropicMessages), "api.anthropic.com");
        assert_eq!(host("", Format::OpenaiResponses), "api.openai.com");
        assert_eq!(
            host("Api.DeepSeek.com:443", Format::OpenaiChat),
            "api.deepseek.com"
        );
        assert_eq!(host("127.0.0.1:11434", Format::OpenaiChat), "ollama");
        assert_eq!(host("my gateway", Format::OpenaiChat), "my gateway");
    }

    #[test]
    fn a_body_that_the_recorder_decoded_is_taken_as_it_is() {
        let plain = Bytes::from_static(b" {\"a\":1}");
        assert_eq!(decoded(&plain, "zstd"), Ok(plain.clone()));
        assert_eq!(
            decoded(&Bytes::from_static(b"\x28\xb5"), "zstd"),
            Err("bad_encoding")
        );
        assert_eq!(
            decoded(&Bytes::from_static(b"x"), "rot13"),
            Err("unknown_encoding")
        );
    }
}
