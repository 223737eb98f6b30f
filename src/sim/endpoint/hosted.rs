//! Requests whose path says what other formats have in the body: Gemini, Vertex, Bedrock, and Ollama's two bodies.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use percent_encoding::percent_decode_str;
use serde_json::{Value, json};

use super::Endpoint;
use crate::sim::Format;
use crate::sim::json::Json;
use crate::sim::refusal::Refusal;

/// What a path asks for.
#[derive(Clone, Debug)]
pub(in crate::sim) struct Call {
    pub(in crate::sim) format: Format,
    pub(in crate::sim) count_only: bool,
    pub(in crate::sim) face: Face,
    /// The model, where the path names it.
    model: Option<String>,
    /// Whether a stream is asked for, where the path says so.
    stream: Option<bool>,
}

/// In which of its shapes a format travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sim) enum Face {
    /// The vendor's own.
    Plain,
    /// Gemini's stream without `alt=sse`: a JSON array.
    Array,
    /// Anthropic's or Google's bodies on Vertex; `array` as above.
    Vertex {
        /// The stream is a JSON array.
        array: bool,
    },
    /// Anthropic's bodies in Bedrock's InvokeModel.
    Invoke,
    /// Ollama's `/api/generate`.
    Generate,
}

impl Call {
    /// A format whose body says everything.
    pub(in crate::sim) fn plain(format: Format, count_only: bool) -> Self {
        Self::new(format, Face::Plain, None, None).counting(count_only)
    }

    fn new(format: Format, face: Face, model: Option<String>, stream: Option<bool>) -> Self {
        Self {
            format,
            count_only: false,
            face,
            model,
            stream,
        }
    }

    fn counting(self, count_only: bool) -> Self {
        Self { count_only, ..self }
    }

    pub(in crate::sim) fn is_bedrock(&self) -> bool {
        self.format == Format::BedrockConverse || self.face == Face::Invoke
    }

    /// Gemini's stream is an array, not events.
    pub(in crate::sim) fn is_array(&self) -> bool {
        matches!(self.face, Face::Array | Face::Vertex { array: true })
    }

    /// The format that an error is written in.
    pub(in crate::sim) fn error_format(&self) -> Format {
        match self.is_bedrock() {
            true => Format::BedrockConverse,
            false => self.format,
        }
    }

    /// The body as its format has it: out of its envelope, with what the path says in its place.
    ///
    /// # Errors
    ///
    /// An envelope without content, or a body that lacks what its platform demands.
    pub(in crate::sim) fn complete(&self, body: Json) -> Result<(Format, Json), Refusal> {
        let (format, mut body) = match (self.format, self.count_only) {
            (Format::BedrockConverse, true) => counted_input(&body)?,
            (Format::Gemini, true) => (Format::Gemini, counted_contents(body)),
            (format, _) => (format, body),
        };
        match self.face {
            Face::Invoke => platform_version(&body, &["model", "stream"])?,
            Face::Vertex { .. } if format == Format::AnthropicMessages => {
                let extra: &[&str] = if self.model.is_some() { &["model"] } else { &[] };
                platform_version(&body, extra)?;
            }
            Face::Vertex { .. } => every_content_has_a_role(&body)?,
            _ => {}
        }
        if let Some(model) = &self.model {
            body.set("model", Json::Text(model.clone()));
        }
        if let Some(stream) = self.stream {
            body.set("stream", Json::Bool(stream));
        }
        Ok((format, body))
    }
}

/// The endpoint of a path that is one of these; none for the others.
pub(super) fn find(method: &str, target: &str) -> Option<Endpoint> {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    match method {
        "GET" if path.ends_with("/api/version") => Some(Endpoint::About(json!({"version": "0.20.0"}))),
        "GET" if path.ends_with("/api/tags") => Some(Endpoint::About(json!({"models": [tag()]}))),
        "POST" if path.ends_with("/api/show") => Some(Endpoint::About(shown())),
        "POST" if path.ends_with("/cachedContents") => Some(Endpoint::CachedContents {
            parent: path.find("projects/").map(|at| path[at..].to_owned()),
        }),
        "POST" => ollama(path)
            .or_else(|| bedrock(path))
            .or_else(|| google(path, query))
            .map(Endpoint::Hosted),
        _ => None,
    }
}

fn ollama(path: &str) -> Option<Call> {
    let face = match () {
        () if path.ends_with("/api/chat") => Face::Plain,
        () if path.ends_with("/api/generate") => Face::Generate,
        () => return None,
    };
    Some(Call::new(Format::Ollama, face, None, None))
}

/// `/model/{id}/{verb}`; the id may be an ARN, encoded or not.
fn bedrock(path: &str) -> Option<Call> {
    let (id, verb) = path.split_once("/model/")?.1.rsplit_once('/')?;
    let id = Some(decoded(id));
    let (format, face, stream) = match verb {
        "converse" | "count-tokens" => (Format::BedrockConverse, Face::Plain, false),
        "converse-stream" => (Format::BedrockConverse, Face::Plain, true),
        "invoke" => (Format::AnthropicMessages, Face::Invoke, false),
        "invoke-with-response-stream" => (Format::AnthropicMessages, Face::Invoke, true),
        _ => return None,
    };
    Some(Call::new(format, face, id, Some(stream)).counting(verb == "count-tokens"))
}

/// `.../models/{model}:{verb}`, on Vertex below a publisher.
fn google(path: &str, query: &str) -> Option<Call> {
    let (front, verb) = path.rsplit_once(':')?;
    let model = decoded(front.rsplit('/').next()?);
    let on_vertex = path.contains("/publishers/");
    let array = verb == "streamGenerateContent" && !query.split('&').any(|pair| pair == "alt=sse");
    let (face, format) = match (on_vertex, path.contains("/publishers/anthropic/")) {
        (_, true) => (Face::Vertex { array: false }, Format::AnthropicMessages),
        (true, _) => (Face::Vertex { array }, Format::Gemini),
        (false, _) if array => (Face::Array, Format::Gemini),
        (false, _) => (Face::Plain, Format::Gemini),
    };
    match (format, verb) {
        (Format::AnthropicMessages, "rawPredict") if model == "count-tokens" => {
            Some(Call::new(format, face, None, Some(false)).counting(true))
        }
        (Format::AnthropicMessages, "rawPredict" | "streamRawPredict")
        | (Format::Gemini, "generateContent" | "streamGenerateContent" | "countTokens") => {
            let call = Call::new(format, face, Some(model), Some(verb.starts_with("stream")));
            Some(call.counting(verb == "countTokens"))
        }
        _ => None,
    }
}

fn decoded(segment: &str) -> String {
    percent_decode_str(segment).decode_utf8_lossy().into_owned()
}

/// Bedrock's `input`: a Converse body, or an InvokeModel body in base64.
fn counted_input(body: &Json) -> Result<(Format, Json), Refusal> {
    let input = body.get("input").unwrap_or(&Json::Null);
    if let Some(converse) = input.some("converse") {
        return Ok((Format::BedrockConverse, converse.clone()));
    }
    let encoded = input.get("invokeModel").and_then(|i| i.str("body"));
    let decoded = encoded.and_then(|text| STANDARD.decode(text).ok());
    let inner = decoded.and_then(|bytes| Json::parse(&bytes).ok());
    let inner = inner.ok_or_else(|| Refusal::new("The input to count is missing or malformed."))?;
    Ok((Format::AnthropicMessages, inner))
}

/// Either the request itself or, in `generateContentRequest`, one to be sent later.
fn counted_contents(body: Json) -> Json {
    let inner = body
        .some("generateContentRequest")
        .or(body.some("generate_content_request"));
    inner.cloned().unwrap_or(body)
}

/// The version is in the body; older clients send the platform's own (`bedrock-2023-05-31`), newer ones the API's.
fn platform_version(body: &Json, extra: &[&str]) -> Result<(), Refusal> {
    if let Some(key) = extra.iter().find(|key| body.get(key).is_some()) {
        return Err(Refusal::new(format!("{key}: Extra inputs are not permitted")));
    }
    match body.str("anthropic_version") {
        Some(_) => Ok(()),
        None => Err(Refusal::new("anthropic_version: Field required")),
    }
}

/// Vertex takes no content without one, unlike AI Studio.
fn every_content_has_a_role(body: &Json) -> Result<(), Refusal> {
    match body.list("contents").iter().all(|c| c.str("role").is_some()) {
        true => Ok(()),
        false => Err(Refusal::new("Please use a valid role: user, model.")),
    }
}

fn tag() -> Value {
    json!({"name": "sim:latest", "model": "sim:latest", "size": 1, "digest": "00", "details": details()})
}

fn shown() -> Value {
    json!({
        "modelfile": "FROM sim",
        "template": "{{ range .Messages }}{{ .Role }}: {{ .Content }}\n{{ end }}",
        "details": details(),
        "model_info": {},
        "capabilities": ["completion", "tools", "thinking"],
    })
}

fn details() -> Value {
    json!({"format": "gguf", "family": "sim", "parameter_size": "1B", "quantization_level": "Q8_0"})
}
