//! One request of the probe and its answer, by the client that the proxy uses.

use std::{
    fmt,
    time::{Duration, SystemTime},
};

use aws_credential_types::Credentials;
use bytes::{Bytes, BytesMut};
use http_body_util::{BodyExt, Full};
use hyper::{HeaderMap, Request, Response, StatusCode, Uri, body::Incoming};
use serde_json::Value;
use tokio::time::timeout;

use super::{
    Probe,
    body::{Head, Style},
    shape::Shape,
    talk::Turn,
    target::Target,
};
use crate::{
    config::{Config, ConfigError, Sign},
    prefix::policy::Carrier,
    proxy::{
        answer::AnswerReader,
        credentials::Chain,
        observe::Observer,
        signing::{self, Signing},
        upstream::Client,
    },
    route::{Route, Table},
    wire::{answer::MAX_BODY, answer::Reading},
};

/// Asks one model at one endpoint.
pub struct Asker {
    client: Client,
    uri: Uri,
    headers: HeaderMap,
    key: Option<String>,
    signing: Option<(Sign, Credentials)>,
    idle: Duration,
    limits: &'static [&'static str],
    max_tokens: u32,
    head: Head,
    marked: bool,
    ignores_cached: bool,
    model: String,
    /// How bodies are written.
    pub shape: &'static Shape,
    /// The model, where the path names it.
    pub path_model: Option<String>,
    /// The model reads request-level instructions in front of the history.
    pub instructions_lead: bool,
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
    /// An asker of `target`, for which the table has `route`.
    ///
    /// # Errors
    /// The configuration's certificates cannot be used, or it wants signatures and there are no credentials.
    pub async fn new(
        config: &Config,
        target: &Target,
        probe: &Probe,
        (table, route): (&Table, &Route),
    ) -> Result<Self, ConfigError> {
        let to = target.destination(&probe.model);
        let instructions_lead = table.instructions_lead(to);
        // Where nothing is known of a server, its templates know `system` and may not know `developer`.
        let developer = route
            .policy
            .rows
            .first()
            .is_some_and(|row| row.carrier == Carrier::Developer);
        Ok(Self {
            client: Client::new(config)?,
            uri: target.uri.clone(),
            headers: target.headers.clone(),
            key: target.key.clone(),
            signing: credentials(target).await?,
            idle: config.idle_timeout,
            limits: target.shape.limits,
            max_tokens: probe.max_tokens,
            head: match (instructions_lead, developer) {
                (true, _) => Head::Instructions,
                (false, true) => Head::Message("developer"),
                (false, false) => Head::Message("system"),
            },
            marked: true,
            ignores_cached: table.ignores_cached(to),
            model: probe.model.clone(),
            shape: target.shape,
            path_model: target.shape.format.wire().model(target.uri.path()),
            instructions_lead,
            tokens: probe.tokens,
        })
    }

    /// A conversation as a body.
    pub fn body(&self, turn: &Turn<'_>) -> Bytes {
        let style = Style {
            head: self.head,
            marked: self.marked,
            limit: (
                self.limits.first().copied().unwrap_or("/max_tokens"),
                self.max_tokens,
            ),
        };
        let model = self.path_model.is_none().then_some(self.model.as_str());
        self.shape.body(model, turn, &style).into()
    }

    /// Begins a conversation: finds out how this host wants the length of answers to be limited, and whether it takes
    /// cache markers.
    ///
    /// # Errors
    /// The upstream does not answer it.
    pub async fn begin(&mut self, turn: &Turn<'_>) -> Result<(Bytes, Reading), Unanswered> {
        loop {
            let body = self.body(turn);
            match self.ask(body.clone()).await? {
                Reply::Answered(reading) => return Ok((body, reading)),
                Reply::Refused(refusal) => {
                    self.adapt(&refusal);
                    if self.body(turn) == body {
                        return Err(Unanswered::Refused(refusal));
                    }
                }
            }
        }
    }

    /// Leaves what a refusal names.
    fn adapt(&mut self, refusal: &Refusal) {
        let next = self.limits.get(1).and_then(|next| next.rsplit('/').next());
        if next.is_some_and(|next| refusal.text.contains(next)) {
            self.limits = &self.limits[1..];
        } else if refusal.text.to_lowercase().contains("cach") {
            self.marked = false;
        }
    }

    /// Sends a body.
    ///
    /// # Errors
    /// There is no answer.
    pub async fn ask(&self, body: Bytes) -> Result<Reply, Unanswered> {
        let digest = signing::digest([&body[..]]);
        let body = Full::new(body).map_err(|never| match never {}).boxed_unsync();
        let mut request = Request::new(body);
        *request.method_mut() = hyper::Method::POST;
        *request.uri_mut() = self.uri.clone();
        *request.headers_mut() = self.headers.clone();
        if let Some((sign, credentials)) = &self.signing {
            Signing::Ours(sign, Box::new(credentials.clone())).authorise(&mut request, &digest);
        }
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
            let mut reading = reader.finish(true).0.unwrap_or_default();
            if let (true, Some(usage)) = (self.ignores_cached, &mut reading.usage) {
                usage.cache_read = None;
            }
            return Ok(Reply::Answered(reading));
        }
        Ok(Reply::Refused(
            self.refusal(head.status, &String::from_utf8_lossy(&body)),
        ))
    }

    fn refusal(&self, status: StatusCode, text: &str) -> Refusal {
        let json: Value = serde_json::from_str(text).unwrap_or_default();
        let first = |paths: &[&str]| paths.iter().find_map(|path| json.pointer(path)?.as_str());
        let classes = [
            "/error/type",
            "/error/status",
            "/error/code",
            "/type",
            "/code",
            "/__type",
        ];
        let message = first(&["/error/message", "/message", "/error", "/detail"]).unwrap_or(text);
        let hidden = self.key.as_deref().map(|key| message.replace(key, "***"));
        let message = hidden.as_deref().unwrap_or(message);
        Refusal {
            status,
            class: first(&classes).map(str::to_owned),
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

/// What requests are signed with: where the configuration says that they are, and no key stands in for it.
async fn credentials(target: &Target) -> Result<Option<(Sign, Credentials)>, ConfigError> {
    let Some(sign) = target.upstream.sign.as_ref().filter(|_| target.key.is_none()) else {
        return Ok(None);
    };
    let found = Chain::of_user().credentials(SystemTime::now()).await;
    let credentials = found.map_err(|missing| ConfigError(format!("sign: {missing}")))?;
    Ok(Some((sign.clone(), credentials)))
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
