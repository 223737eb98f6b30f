//! One request of the probe and its answer, by the client that the proxy uses.

use std::{fmt, time::Duration};

use bytes::{Bytes, BytesMut};
use http_body_util::{BodyExt, Full};
use hyper::{HeaderMap, Request, Response, StatusCode, Uri, body::Incoming};
use serde_json::Value;
use tokio::time::timeout;

use super::{Probe, shape::Shape, talk::Turn, target::Target};
use crate::{
    config::{Config, ConfigError},
    proxy::{answer::AnswerReader, observe::Observer, upstream::Client},
    wire::{answer::MAX_BODY, answer::Reading},
};

/// Asks one model at one endpoint.
pub struct Asker {
    client: Client,
    uri: Uri,
    headers: HeaderMap,
    key: Option<String>,
    idle: Duration,
    limits: &'static [&'static str],
    max_tokens: u32,
    /// How bodies are written.
    pub shape: &'static Shape,
    /// The model.
    pub model: String,
    /// The least length of a conversation.
    pub tokens: u32,
}

/// An answer.
pub enum Reply {
    /// 2xx, and what it says.
    Answered(Reading),
    /// Another status.
    Refused(Refusal),
}

/// An answer that is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The status.
    pub status: StatusCode,
    /// The upstream's own class of the error.
    pub class: Option<String>,
    /// The beginning of its text, without the key.
    pub message: String,
    /// The whole of it.
    pub text: String,
}

/// Why nothing can be probed.
pub enum Unanswered {
    /// There is no answer; why.
    Failed(String),
    /// A plain conversation was refused.
    Refused(Refusal),
    /// What Inkfast would send could not be made: a bug.
    Unmade(String),
}

impl Asker {
    /// An asker of `target`.
    ///
    /// # Errors
    /// The configuration's certificates cannot be used.
    pub fn new(config: &Config, target: &Target, probe: &Probe) -> Result<Self, ConfigError> {
        Ok(Self {
            client: Client::new(config)?,
            uri: target.uri.clone(),
            headers: target.headers.clone(),
            key: target.key.clone(),
            idle: config.idle_timeout,
            limits: target.shape.limits,
            max_tokens: probe.max_tokens,
            shape: target.shape,
            model: probe.model.clone(),
            tokens: probe.tokens,
        })
    }

    /// A conversation as a body.
    pub fn body(&self, turn: &Turn<'_>) -> Bytes {
        let name = self.limits.first().copied().unwrap_or("max_tokens");
        self.shape.body(&self.model, turn, (name, self.max_tokens)).into()
    }

    /// Begins a conversation: finds out how this host wants the length of answers to be limited.
    ///
    /// # Errors
    /// The upstream does not answer it.
    pub async fn begin(&mut self, turn: &Turn<'_>) -> Result<(Bytes, Reading), Unanswered> {
        loop {
            let body = self.body(turn);
            match (self.ask(body.clone()).await?, self.limits) {
                (Reply::Answered(reading), _) => return Ok((body, reading)),
                (Reply::Refused(refusal), [_, next, ..]) if refusal.text.contains(next) => {
                    self.limits = &self.limits[1..];
                }
                (Reply::Refused(refusal), _) => return Err(Unanswered::Refused(refusal)),
            }
        }
    }

    /// Sends a body.
    ///
    /// # Errors
    /// There is no answer.
    pub async fn ask(&self, body: Bytes) -> Result<Reply, Unanswered> {
        let body = Full::new(body).map_err(|never| match never {}).boxed_unsync();
        let mut request = Request::new(body);
        *request.method_mut() = hyper::Method::POST;
        *request.uri_mut() = self.uri.clone();
        *request.headers_mut() = self.headers.clone();
        let response = self.client.send(request).await;
        let response = response.map_err(|failure| Unanswered::Failed(failure.to_string()))?;
        self.read(response).await
    }

    async fn read(&self, response: Response<Incoming>) -> Result<Reply, Unanswered> {
        let (head, mut incoming) = response.into_parts();
        let mut body = BytesMut::new();
        while let Some(frame) = timeout(self.idle, incoming.frame()).await.map_err(broken)? {
            let frame = frame.map_err(broken)?;
            body.extend_from_slice(frame.data_ref().map_or(&[], Bytes::as_ref));
            if body.len() > MAX_BODY {
                return Err(broken("it is too long"));
            }
        }
        let body = body.freeze();
        if head.status.is_success() {
            let mut reader = AnswerReader::new(Some(self.shape.format), &head.headers);
            reader.push(&body);
            return Ok(Reply::Answered(reader.finish(true).unwrap_or_default()));
        }
        Ok(Reply::Refused(
            self.refusal(head.status, &String::from_utf8_lossy(&body)),
        ))
    }

    fn refusal(&self, status: StatusCode, text: &str) -> Refusal {
        let json: Value = serde_json::from_str(text).unwrap_or_default();
        let first = |paths: &[&str]| paths.iter().find_map(|path| json.pointer(path)?.as_str());
        let message = first(&["/error/message", "/message", "/error", "/detail"]).unwrap_or(text);
        let hidden = self.key.as_deref().map(|key| message.replace(key, "***"));
        let message = hidden.as_deref().unwrap_or(message);
        Refusal {
            status,
            class: first(&["/error/type", "/error/status", "/error/code", "/type", "/code"])
                .map(str::to_owned),
            message: message
                .split_whitespace()
                .collect::<Vec<_>>()
                .join(" ")
                .chars()
                .take(200)
                .collect(),
            text: text.to_owned(),
        }
    }
}

fn broken(reason: impl fmt::Display) -> Unanswered {
    Unanswered::Failed(format!("its answer broke off: {reason}"))
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.status.as_u16())?;
        self.class.iter().try_for_each(|class| write!(f, " {class}"))
    }
}

impl fmt::Display for Unanswered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(reason) => f.write_str(reason),
            Self::Refused(refusal) => write!(f, "{refusal}: {}", refusal.message),
            Self::Unmade(reason) => write!(f, "no update could be made: {reason}"),
        }
    }
}
