//! An error answer, in each format's own shape.

use serde_json::{Value, json};

use super::Format;

/// Why a request is not answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) status: u16,
    pub(super) message: String,
    /// OpenAI's `error.param`.
    pub(super) param: Option<String>,
    /// OpenAI's `error.code`, and the type of AWS's errors where the status does not say it.
    pub(super) code: Option<&'static str>,
}

impl Refusal {
    /// A 400 with this message.
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self {
            status: 400,
            message: message.into(),
            param: None,
            code: None,
        }
    }

    pub(super) fn with_status(mut self, status: u16) -> Self {
        self.status = status;
        self
    }

    pub(super) fn param(mut self, param: impl Into<String>) -> Self {
        self.param = Some(param.into());
        self
    }

    pub(super) fn code(mut self, code: &'static str) -> Self {
        self.code = Some(code);
        self
    }

    pub(super) fn body(&self, format: Format) -> Value {
        match format {
            Format::AnthropicMessages => json!({
                "type": "error",
                "error": {"type": anthropic_type(self.status), "message": self.message},
            }),
            Format::Gemini => json!({"error": {
                "code": self.status,
                "message": self.message,
                "status": google_status(self.status),
            }}),
            Format::BedrockConverse => json!({"message": self.message}),
            Format::Ollama => json!({"error": self.message}),
            Format::OpenAiChat | Format::OpenAiResponses => json!({"error": {
                "message": self.message,
                "type": openai_type(self.status),
                "param": self.param,
                "code": self.code,
            }}),
        }
    }
}

/// The header that tells AWS's errors apart.
pub(super) const AWS_TYPE: &str = "x-amzn-errortype";

impl Refusal {
    /// Headers that belong to the error.
    pub(super) fn headers(&self, format: Format) -> Vec<(String, String)> {
        let kind = self.code.unwrap_or(aws_type(self.status));
        match format {
            Format::BedrockConverse => vec![(AWS_TYPE.to_owned(), kind.to_owned())],
            _ => Vec::new(),
        }
    }
}

fn aws_type(status: u16) -> &'static str {
    match status {
        403 => "AccessDeniedException",
        404 => "ResourceNotFoundException",
        408 => "ModelTimeoutException",
        424 => "ModelErrorException",
        429 => "ThrottlingException",
        503 => "ServiceUnavailableException",
        500.. => "InternalServerException",
        _ => "ValidationException",
    }
}

fn google_status(status: u16) -> &'static str {
    match status {
        401 => "UNAUTHENTICATED",
        403 => "PERMISSION_DENIED",
        404 => "NOT_FOUND",
        429 => "RESOURCE_EXHAUSTED",
        503 => "UNAVAILABLE",
        504 => "DEADLINE_EXCEEDED",
        500.. => "INTERNAL",
        _ => "INVALID_ARGUMENT",
    }
}

fn anthropic_type(status: u16) -> &'static str {
    match status {
        401 => "authentication_error",
        403 => "permission_error",
        404 => "not_found_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        529 => "overloaded_error",
        500.. => "api_error",
        _ => "invalid_request_error",
    }
}

fn openai_type(status: u16) -> &'static str {
    match status {
        429 => "rate_limit_exceeded",
        500.. => "server_error",
        _ => "invalid_request_error",
    }
}
