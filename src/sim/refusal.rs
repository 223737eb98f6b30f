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
    /// OpenAI's `error.code`.
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
            Format::OpenAiChat | Format::OpenAiResponses => json!({"error": {
                "message": self.message,
                "type": openai_type(self.status),
                "param": self.param,
                "code": self.code,
            }}),
        }
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
