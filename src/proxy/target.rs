//! Where a request goes and what it is: pure functions of its head.
//!
//! The path decides first, by its ending, because base URLs carry prefixes of their own; headers are asked
//! only where the path tells nothing. No byte of path or query is decoded or changed, apart from the segment
//! that named the upstream and the prefix of the upstream's URL.

use std::net::SocketAddr;

use hyper::{
    HeaderMap, Method, Uri, Version,
    http::{request::Parts, uri},
};

use crate::{
    config::{Upstream, Upstreams},
    wire::{Call, format},
};

/// The API shape of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are the APIs' own")]
pub enum Format {
    /// One whose prompts are read.
    Wire(format::Format),
    /// None of those.
    Other,
}

/// Where a request goes and what it is.
#[derive(Debug)]
pub struct Target<'a> {
    /// The upstream.
    pub upstream: &'a Upstream,
    /// The whole address there.
    pub uri: Uri,
    /// The API shape.
    pub format: Format,
    /// What it asks for.
    pub call: Call,
}

/// Why a request has no target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoTarget {
    /// It asks for another host, as if this were a general proxy.
    ForeignHost,
    /// Its path cannot be put behind the upstream's URL.
    BadPath,
}

impl Format {
    /// The name in metrics and logs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Wire(format) => format.as_str(),
            Self::Other => "other",
        }
    }
}

/// Finds the target of a request that came in at `own`.
///
/// # Errors
/// The request is not for this proxy, or its path cannot be sent on.
pub fn resolve<'a>(upstreams: &'a Upstreams, own: SocketAddr, head: &Parts) -> Result<Target<'a>, NoTarget> {
    if !is_for_us(own, head) {
        return Err(NoTarget::ForeignHost);
    }
    let asked = head.uri.path_and_query().map_or("/", uri::PathAndQuery::as_str);
    let (upstream, rest) = match named(upstreams, asked) {
        Some(found) => found,
        None => (unnamed(upstreams, asked, &head.headers), asked),
    };
    let slash = if rest.starts_with(['/', '*']) { "" } else { "/" };
    let uri = Uri::builder()
        .scheme(upstream.scheme.clone())
        .authority(upstream.authority.clone())
        .path_and_query(format!("{}{slash}{rest}", upstream.prefix))
        .build()
        .map_err(|_| NoTarget::BadPath)?;
    let (format, call) = classify(&head.method, path_of(rest));
    Ok(Target {
        upstream,
        uri,
        format,
        call,
    })
}

/// The format of a path, and the kind of call that a method makes of it.
pub fn classify(method: &Method, path: &str) -> (Format, Call) {
    let read = format::Format::ALL
        .into_iter()
        .find_map(|format| Some((Format::Wire(format), format.wire().matches(path)?)));
    let (format, call) = read.unwrap_or((Format::Other, Call::Other));
    if *method == Method::POST {
        (format, call)
    } else {
        (format, Call::Other)
    }
}

/// HTTP/1.1 clients put the host into the target only when they take us for a general proxy. HTTP/2 always
/// has one.
fn is_for_us(own: SocketAddr, head: &Parts) -> bool {
    let Some(authority) = head.uri.authority().filter(|_| head.version <= Version::HTTP_11) else {
        return true;
    };
    let local =
        authority.host() == "localhost" || authority.host().trim_matches(['[', ']']) == own.ip().to_string();
    head.method != Method::CONNECT && local && authority.port_u16() == Some(own.port())
}

/// The upstream that the first segment names, and what is left of the target.
fn named<'a, 't>(upstreams: &'a Upstreams, asked: &'t str) -> Option<(&'a Upstream, &'t str)> {
    let path = asked.strip_prefix('/')?;
    let end = path.find(['/', '?']).unwrap_or(path.len());
    Some((upstreams.get(&path[..end])?, &path[end..]))
}

/// The upstream of a bare path: by its format, else by the headers that only one provider's clients send.
fn unnamed<'a>(upstreams: &'a Upstreams, asked: &str, headers: &HeaderMap) -> &'a Upstream {
    let path = path_of(asked);
    let has = |name: &str| headers.contains_key(name);
    let key_in_query = || {
        asked
            .split_once('?')
            .is_some_and(|(_, q)| q.split('&').any(|pair| pair.starts_with("key=")))
    };
    let name = match classify(&Method::POST, path).0 {
        _ if path.starts_with("/v1") && path.split('/').nth(2) == Some("projects") => Some("vertex"),
        // Gemini answers in OpenAI's format below its own version's path.
        _ if path.starts_with("/v1beta/") => Some("gemini"),
        // Bedrock takes other providers' bodies below the name of a model.
        _ if path.starts_with("/model/") => Some("bedrock"),
        Format::Wire(format) => format.home(),
        _ if has("anthropic-version") || has("x-api-key") => Some("anthropic"),
        _ if has("x-goog-api-key") || key_in_query() => Some("gemini"),
        _ => None,
    };
    name.and_then(|name| upstreams.get(name))
        .unwrap_or(upstreams.default())
}

fn path_of(target: &str) -> &str {
    target.split_once('?').map_or(target, |(path, _)| path)
}

#[cfg(test)]
mod tests {
    use hyper::Request;

    use super::*;

    fn resolved(
        method: &str,
        target: &str,
        header: &str,
    ) -> Result<(String, String, &'static str, &'static str), NoTarget> {
        let gateway = Upstream::new("gw", "http://gw:81/llm/", Some("api.openai.com".into())).unwrap();
        let upstreams = Upstreams::new(vec![gateway], "openai").unwrap();
        let mut request = Request::builder().method(method).uri(target);
        if !header.is_empty() {
            request = request.header(header, "x");
        }
        let (head, ()) = request.body(()).unwrap().into_parts();
        let target = resolve(&upstreams, SocketAddr::from(([127, 0, 0, 1], 4640)), &head)?;
        let (format, call) = (target.format.as_str(), target.call.as_str());
        Ok((target.upstream.name.clone(), target.uri.to_string(), format, call))
    }

    #[test]
    fn every_kind_of_target() {
        let table = [
            // method, target, header -> upstream, address, format, call
            (
                "POST",
                "/v1/messages?beta=true",
                "",
                "anthropic",
                "https://api.anthropic.com/v1/messages?beta=true",
                "anthropic_messages",
                "messages",
            ),
            (
                "POST",
                "/v1/messages/count_tokens",
                "",
                "anthropic",
                "https://api.anthropic.com/v1/messages/count_tokens",
                "anthropic_messages",
                "count_tokens",
            ),
            (
                "GET",
                "/v1/messages",
                "",
                "anthropic",
                "https://api.anthropic.com/v1/messages",
                "anthropic_messages",
                "other",
            ),
            (
                "POST",
                "/v1/messages/batches",
                "",
                "anthropic",
                "https://api.anthropic.com/v1/messages/batches",
                "anthropic_messages",
                "other",
            ),
            (
                "POST",
                "/v1/threads/t_1/messages",
                "",
                "openai",
                "https://api.openai.com/v1/threads/t_1/messages",
                "other",
                "other",
            ),
            (
                "POST",
                "/v1/chat/completions",
                "x-api-key",
                "openai",
                "https://api.openai.com/v1/chat/completions",
                "openai_chat",
                "messages",
            ),
            (
                "POST",
                "/v1/responses",
                "",
                "openai",
                "https://api.openai.com/v1/responses",
                "openai_responses",
                "messages",
            ),
            (
                "POST",
                "/v1/responses/input_tokens",
                "",
                "openai",
                "https://api.openai.com/v1/responses/input_tokens",
                "openai_responses",
                "count_tokens",
            ),
            (
                "POST",
                "/v1/responses/compact",
                "",
                "openai",
                "https://api.openai.com/v1/responses/compact",
                "openai_responses",
                "compact",
            ),
            (
                "POST",
                "/v1beta/models/g:streamGenerateContent?alt=sse",
                "",
                "gemini",
                "https://generativelanguage.googleapis.com/v1beta/models/g:streamGenerateContent?alt=sse",
                "gemini",
                "messages",
            ),
            (
                "POST",
                "/v1beta/models/g:countTokens",
                "",
                "gemini",
                "https://generativelanguage.googleapis.com/v1beta/models/g:countTokens",
                "gemini",
                "other",
            ),
            (
                "POST",
                "/v1beta1/projects/p/locations/global/publishers/google/models/g:countTokens",
                "",
                "vertex",
                "https://aiplatform.googleapis.com/v1beta1/projects/p/locations/global/publishers/google/models/g:countTokens",
                "gemini",
                "count_tokens",
            ),
            (
                "POST",
                "/v1/projects/p/locations/global/publishers/anthropic/models/count-tokens:rawPredict",
                "",
                "vertex",
                "https://aiplatform.googleapis.com/v1/projects/p/locations/global/publishers/anthropic/models/count-tokens:rawPredict",
                "anthropic_messages",
                "count_tokens",
            ),
            (
                "POST",
                "/copilot/chat/completions",
                "",
                "copilot",
                "https://api.githubcopilot.com/chat/completions",
                "openai_chat",
                "messages",
            ),
            (
                "POST",
                "/gw/openai/deployments/dep/chat/completions?api-version=2026-01-01",
                "",
                "gw",
                "http://gw:81/llm/openai/deployments/dep/chat/completions?api-version=2026-01-01",
                "openai_chat",
                "messages",
            ),
            (
                "POST",
                "/gw/anthropic/v1/messages",
                "",
                "gw",
                "http://gw:81/llm/anthropic/v1/messages",
                "anthropic_messages",
                "messages",
            ),
            (
                "POST",
                "/v1beta/openai/chat/completions",
                "",
                "gemini",
                "https://generativelanguage.googleapis.com/v1beta/openai/chat/completions",
                "openai_chat",
                "messages",
            ),
            (
                "POST",
                "/api/chat",
                "",
                "ollama",
                "http://127.0.0.1:11434/api/chat",
                "ollama",
                "messages",
            ),
            (
                "GET",
                "/api/tags",
                "",
                "ollama",
                "http://127.0.0.1:11434/api/tags",
                "ollama",
                "other",
            ),
            (
                "GET",
                "/v1/organization/projects/p",
                "",
                "openai",
                "https://api.openai.com/v1/organization/projects/p",
                "other",
                "other",
            ),
            (
                "GET",
                "/v1/models",
                "anthropic-version",
                "anthropic",
                "https://api.anthropic.com/v1/models",
                "other",
                "other",
            ),
            (
                "GET",
                "/v1/models",
                "x-api-key",
                "anthropic",
                "https://api.anthropic.com/v1/models",
                "other",
                "other",
            ),
            (
                "GET",
                "/v1/models",
                "x-goog-api-key",
                "gemini",
                "https://generativelanguage.googleapis.com/v1/models",
                "other",
                "other",
            ),
            (
                "GET",
                "/v1/models?a=b&key=s",
                "",
                "gemini",
                "https://generativelanguage.googleapis.com/v1/models?a=b&key=s",
                "other",
                "other",
            ),
            (
                "GET",
                "/v1/models?monkey=s",
                "",
                "openai",
                "https://api.openai.com/v1/models?monkey=s",
                "other",
                "other",
            ),
            (
                "HEAD",
                "/",
                "",
                "openai",
                "https://api.openai.com/",
                "other",
                "other",
            ),
            (
                "POST",
                "/openrouter/api/v1/chat/completions",
                "",
                "openrouter",
                "https://openrouter.ai/api/v1/chat/completions",
                "openai_chat",
                "messages",
            ),
            (
                "POST",
                "/anthropic/v1/messages",
                "",
                "anthropic",
                "https://api.anthropic.com/v1/messages",
                "anthropic_messages",
                "messages",
            ),
            ("GET", "/gw", "", "gw", "http://gw:81/llm/", "other", "other"),
            (
                "GET",
                "/gw?a=1",
                "",
                "gw",
                "http://gw:81/llm/?a=1",
                "other",
                "other",
            ),
            (
                "POST",
                "/gw/v1/chat/completions",
                "",
                "gw",
                "http://gw:81/llm/v1/chat/completions",
                "openai_chat",
                "messages",
            ),
            (
                "GET",
                "/gwx/v1",
                "",
                "openai",
                "https://api.openai.com/gwx/v1",
                "other",
                "other",
            ),
            (
                "POST",
                "/gw/model/arn%3Aaws%2Fx/converse",
                "",
                "gw",
                "http://gw:81/llm/model/arn%3Aaws%2Fx/converse",
                "bedrock_converse",
                "messages",
            ),
            (
                "GET",
                "/a%2Fb//c/../d?x=%20+&&y",
                "",
                "openai",
                "https://api.openai.com/a%2Fb//c/../d?x=%20+&&y",
                "other",
                "other",
            ),
            (
                "POST",
                "/gw/v1/publishers/anthropic/models/m:streamRawPredict",
                "",
                "gw",
                "http://gw:81/llm/v1/publishers/anthropic/models/m:streamRawPredict",
                "anthropic_messages",
                "messages",
            ),
            (
                "POST",
                "/gw/v1/publishers/mistralai/models/m:rawPredict",
                "",
                "gw",
                "http://gw:81/llm/v1/publishers/mistralai/models/m:rawPredict",
                "other",
                "other",
            ),
            (
                "GET",
                "http://localhost:4640/gw/x",
                "",
                "gw",
                "http://gw:81/llm/x",
                "other",
                "other",
            ),
            (
                "GET",
                "http://127.0.0.1:4640/gw/x",
                "",
                "gw",
                "http://gw:81/llm/x",
                "other",
                "other",
            ),
        ];
        for (method, target, header, upstream, uri, format, call) in table {
            let expected = Ok((upstream.to_owned(), uri.to_owned(), format, call));
            assert_eq!(
                resolved(method, target, header),
                expected,
                "{method} {target} {header}"
            );
        }
    }

    #[test]
    fn other_hosts_are_refused() {
        for target in [
            "http://api.openai.com/v1/models",
            "http://localhost:1/x",
            "http://127.0.0.1/x",
        ] {
            assert_eq!(
                resolved("GET", target, ""),
                Err(NoTarget::ForeignHost),
                "{target}"
            );
        }
        assert_eq!(
            resolved("CONNECT", "api.openai.com:443", ""),
            Err(NoTarget::ForeignHost)
        );
    }
}
