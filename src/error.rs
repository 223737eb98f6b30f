//! What can go wrong with a request before the upstream answered, whose fault it is, and the one answer for
//! each.
//!
//! An upstream's own errors are not here: they pass to the client as they are. Messages name the upstream and
//! what failed, in words for the person behind the agent, and hold nothing of the request.

use std::fmt;

use bytes::Bytes;
use http_body_util::Full;
use hyper::{Response, StatusCode, header::CONTENT_TYPE};
use serde_json::json;

use crate::{
    proxy::target::{Format, NoTarget},
    wire::format,
};

/// The header of answers that are Inkfast's own; its value is the error's label.
pub const ERROR_HEADER: &str = "x-inkfast-error";

/// Why the upstream's answer cannot be given.
#[derive(Debug)]
pub enum RequestError {
    /// The request is for nobody behind this proxy.
    Target(NoTarget),
    /// The client's body broke off or was no HTTP.
    ClientBody,
    /// The client sent nothing more of its body for the idle timeout.
    ClientSilent,
    /// The client went away before there was an answer; nobody reads this one.
    ClientLeft,
    /// The upstream gave no answer.
    Upstream {
        /// Its name in the configuration.
        name: String,
        /// Its host and port.
        host: String,
        /// What failed.
        failure: Failure,
    },
    /// A fault of Inkfast itself.
    Internal,
}

/// What failed on the way to an upstream's answer.
#[derive(Debug, PartialEq, Eq)]
pub enum Failure {
    /// The host's name has no address.
    Dns,
    /// Nothing listens there.
    Refused,
    /// There is no way there, or the connection broke before a request could be written.
    Unreachable,
    /// No secure connection: the reason in the TLS library's words.
    Tls(String),
    /// No connection within the connect timeout.
    ConnectTimeout,
    /// The connection ended before an answer.
    Closed,
    /// The answer was no HTTP.
    NotHttp,
    /// No answer within the idle timeout.
    Silent,
}

/// Whose fault an error is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The agent's side.
    Downstream,
    /// The provider's side.
    Upstream,
    /// Ours.
    Internal,
}

impl RequestError {
    /// Whose fault it is.
    pub fn fault(&self) -> Fault {
        match self {
            Self::Target(_) | Self::ClientBody | Self::ClientSilent | Self::ClientLeft => Fault::Downstream,
            Self::Upstream { .. } => Fault::Upstream,
            Self::Internal => Fault::Internal,
        }
    }

    /// The name in metrics, logs and the answer.
    pub fn label(&self) -> &'static str {
        match self {
            Self::Target(NoTarget::ForeignHost) => "foreign_host",
            Self::Target(NoTarget::BadPath) => "bad_path",
            Self::ClientBody => "client_body",
            Self::ClientSilent => "client_silent",
            Self::ClientLeft => "client_left",
            Self::Upstream { failure, .. } => failure.label(),
            Self::Internal => "internal",
        }
    }

    /// The status of the answer.
    pub fn status(&self) -> StatusCode {
        match self {
            Self::Target(NoTarget::ForeignHost) => StatusCode::MISDIRECTED_REQUEST,
            Self::Target(NoTarget::BadPath) | Self::ClientBody => StatusCode::BAD_REQUEST,
            Self::ClientSilent | Self::ClientLeft => StatusCode::REQUEST_TIMEOUT,
            Self::Upstream {
                failure: Failure::ConnectTimeout | Failure::Silent,
                ..
            } => StatusCode::GATEWAY_TIMEOUT,
            Self::Upstream { .. } => StatusCode::BAD_GATEWAY,
            Self::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    /// The answer, in the shape that clients of the wire format understand.
    pub fn response(&self, format: Format) -> Response<Full<Bytes>> {
        let (message, label) = (format!("Inkfast: {self}"), self.label());
        let kind = if self.fault() == Fault::Downstream {
            "invalid_request_error"
        } else {
            "api_error"
        };
        let openai = || json!({"error": {"message": message, "type": kind, "param": null, "code": label}});
        let Format::Wire(format) = format else {
            return self.json(&openai(), label);
        };
        let body = match format {
            format::Format::AnthropicMessages => {
                json!({"type": "error", "error": {"type": kind, "message": message}})
            }
            format::Format::Gemini => {
                let (code, status) = (self.status().as_u16(), self.google_status());
                json!({"error": {"code": code, "message": message, "status": status}})
            }
            format::Format::Ollama => json!({"error": message}),
            format::Format::BedrockConverse => json!({"message": message}),
            format::Format::OpenaiChat | format::Format::OpenaiResponses => openai(),
        };
        self.json(&body, label)
    }

    fn json(&self, body: &serde_json::Value, label: &'static str) -> Response<Full<Bytes>> {
        let mut response = Response::new(Full::new(Bytes::from(body.to_string())));
        *response.status_mut() = self.status();
        let headers = response.headers_mut();
        headers.insert(
            CONTENT_TYPE,
            hyper::header::HeaderValue::from_static("application/json"),
        );
        headers.insert(ERROR_HEADER, hyper::header::HeaderValue::from_static(label));
        response
    }

    fn google_status(&self) -> &'static str {
        match (self.fault(), self.status()) {
            (Fault::Downstream, _) => "INVALID_ARGUMENT",
            (_, StatusCode::GATEWAY_TIMEOUT) => "DEADLINE_EXCEEDED",
            (Fault::Upstream, _) => "UNAVAILABLE",
            (Fault::Internal, _) => "INTERNAL",
        }
    }
}

impl Failure {
    /// Whether not one byte of a request was written.
    pub fn is_before_sending(&self) -> bool {
        match self {
            Self::Dns | Self::Refused | Self::Unreachable | Self::Tls(_) | Self::ConnectTimeout => true,
            Self::Closed | Self::NotHttp | Self::Silent => false,
        }
    }

    /// The name in metrics, logs and the answer.
    pub fn label(&self) -> &'static str {
        match self {
            Self::Dns => "upstream_dns",
            Self::Refused => "upstream_refused",
            Self::Unreachable => "upstream_unreachable",
            Self::Tls(_) => "upstream_tls",
            Self::ConnectTimeout => "upstream_connect_timeout",
            Self::Closed => "upstream_closed",
            Self::NotHttp => "upstream_not_http",
            Self::Silent => "upstream_silent",
        }
    }
}

impl fmt::Display for RequestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Target(NoTarget::ForeignHost) => f.write_str(
                "this is no general proxy: make its address the client's base URL, not its HTTP proxy",
            ),
            Self::Target(NoTarget::BadPath) => f.write_str("the request's path cannot be sent on"),
            Self::ClientBody => f.write_str("the request's body ended early or was malformed"),
            Self::ClientSilent => f.write_str("the rest of the request's body did not come"),
            Self::ClientLeft => f.write_str("the client went away"),
            Self::Upstream { name, host, failure } => write!(f, "upstream `{name}` ({host}): {failure}"),
            Self::Internal => f.write_str("an internal error; the log of the proxy may tell more"),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dns => {
                f.write_str("its host name could not be resolved; check the upstream's URL and the network")
            }
            Self::Refused => f.write_str("the connection was refused; nothing seems to listen there"),
            Self::Unreachable => f.write_str("it could not be reached; check the network"),
            Self::Tls(reason) => write!(
                f,
                "no secure connection ({reason}); is the URL right, and is a gateway's own certificate authority \
                 named in `extra_ca`?"
            ),
            Self::ConnectTimeout => f.write_str("it could not be reached in time"),
            Self::Closed => f.write_str("it closed the connection without an answer"),
            Self::NotHttp => f.write_str("its answer was not valid HTTP"),
            Self::Silent => f.write_str("it did not answer in time"),
        }
    }
}

impl std::error::Error for RequestError {}
