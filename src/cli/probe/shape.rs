//! The endpoints that can be probed, a row each: where requests go, by what they are authorised, how a conversation is
//! written, and what may be better than the rows of the table of routes.

use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};

use super::{
    body::{self, Style},
    talk::Turn,
};
use crate::{
    prefix::policy::{Carrier, Placement, Row, ToolLoop},
    wire::{Call, format::Format},
};

/// What the probe needs to know of an endpoint.
pub struct Shape {
    /// The format.
    pub format: Format,
    /// What paths have where a platform serves the format; empty for the vendor's own endpoint, which comes last.
    within: &'static str,
    /// The first segment that agents put behind a base URL that has none like it; empty where there is none.
    root: &'static str,
    /// What agents put behind it.
    ending: &'static str,
    /// The usual environment variable of the key.
    pub key_env: &'static str,
    /// The header of the key, and what stands in front of the key in it.
    pub key_header: (&'static str, &'static str),
    /// Headers that every request has.
    pub headers: &'static [(&'static str, &'static str)],
    /// A member that every body has.
    member: Option<(&'static str, &'static str)>,
    /// The parameters that limit an answer, as JSON pointers; a host that refuses one names the next.
    pub limits: &'static [&'static str],
    /// A conversation as a request body.
    body: fn(&Turn<'_>, &Style) -> serde_json::Value,
    /// Rows that are better than what unknown hosts get, where they work.
    pub better: &'static [Row],
    /// Whether an update may stand in a tool loop wherever it is taken there. It may not where it would begin a new turn,
    /// which drops thinking.
    pub loops: bool,
}

/// Stands for the model's name in a path.
const MODEL: &str = "{model}";

/// What may not stand in one segment of a path. Google's names of versions have an `@`, which clients send as it is.
const SEGMENT: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'%')
    .add(b'/')
    .add(b':')
    .add(b'<')
    .add(b'>')
    .add(b'?')
    .add(b'`')
    .add(b'{')
    .add(b'}');

impl Shape {
    /// The endpoint of `format` below a base URL with this path, or with this path itself.
    pub fn of(format: Format, path: &str) -> Option<&'static Self> {
        let fits = |shape: &&Self| shape.format == format && path.contains(shape.within);
        SHAPES.iter().find(fits)
    }

    /// The format that a path tells: that of an endpoint, or of a platform's place for it.
    pub fn format_of(path: &str) -> Option<Format> {
        let asks = |format: &Format| format.wire().matches(path) == Some(Call::Messages);
        let platform = |shape: &&Self| !shape.within.is_empty() && path.contains(shape.within);
        let of_platform = || SHAPES.iter().find(platform).map(|shape| shape.format);
        Format::ALL.into_iter().find(asks).or_else(of_platform)
    }

    /// The path of the endpoint: `path` itself where it is one, else what agents put behind it.
    pub fn path(&self, path: &str, model: &str) -> String {
        let path = path.trim_end_matches('/');
        if self.format.wire().matches(path) == Some(Call::Messages) {
            return path.to_owned();
        }
        let model = utf8_percent_encode(model, SEGMENT).to_string();
        let ending = self.ending.replace(MODEL, &model);
        let rooted = self.root.is_empty() || path.split('/').any(|segment| is_like(segment, self.root));
        let root = if rooted {
            String::new()
        } else {
            format!("/{}", self.root)
        };
        format!("{path}{root}{ending}")
    }

    /// The body of a request; `model` where the path does not name it.
    pub fn body(&self, model: Option<&str>, turn: &Turn<'_>, style: &Style) -> Vec<u8> {
        let mut body = (self.body)(turn, style);
        if let Some(model) = model {
            body["model"] = model.into();
        }
        if let Some((name, value)) = self.member {
            body[name] = value.into();
        }
        let limit = style.limit.0.split('/').skip(1);
        *limit.fold(&mut body, |at, name| &mut at[name]) = style.limit.1.into();
        body.to_string().into_bytes()
    }
}

/// A segment is the root, or another version of an API where the root is one.
fn is_like(segment: &str, root: &str) -> bool {
    let is_version = |segment: &str| {
        segment
            .strip_prefix('v')
            .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    segment == root || is_version(segment) && is_version(root)
}

const BEARER: (&str, &str) = ("authorization", "Bearer ");

static SHAPES: [Shape; 9] = [
    CHAT,
    Shape {
        format: Format::OpenaiResponses,
        ending: "/responses",
        limits: &["/max_output_tokens"],
        body: body::openai_responses,
        better: &[message(Carrier::Developer, Placement::BeforeUserRun)],
        ..CHAT
    },
    Shape {
        within: "/publishers/anthropic",
        ending: "/models/{model}:rawPredict",
        key_env: "CLOUDSDK_AUTH_ACCESS_TOKEN",
        key_header: BEARER,
        headers: &[],
        member: Some(("anthropic_version", "vertex-2023-10-16")),
        ..MESSAGES
    },
    Shape {
        within: "/model/",
        key_env: "AWS_BEARER_TOKEN_BEDROCK",
        key_header: BEARER,
        headers: &[],
        member: Some(("anthropic_version", "bedrock-2023-05-31")),
        ..MESSAGES
    },
    MESSAGES,
    Shape {
        within: "/publishers/google",
        key_env: "CLOUDSDK_AUTH_ACCESS_TOKEN",
        key_header: BEARER,
        ..GEMINI
    },
    GEMINI,
    Shape {
        format: Format::BedrockConverse,
        root: "",
        ending: "/model/{model}/converse",
        key_env: "AWS_BEARER_TOKEN_BEDROCK",
        limits: &["/inferenceConfig/maxTokens"],
        body: body::bedrock_converse,
        better: MESSAGES.better,
        ..CHAT
    },
    Shape {
        format: Format::Ollama,
        root: "api",
        ending: "/chat",
        key_env: "OLLAMA_API_KEY",
        limits: &["/options/num_predict"],
        body: body::ollama,
        ..CHAT
    },
];

const CHAT: Shape = Shape {
    format: Format::OpenaiChat,
    within: "",
    root: "v1",
    ending: "/chat/completions",
    key_env: "OPENAI_API_KEY",
    key_header: BEARER,
    headers: &[],
    member: None,
    limits: &["/max_tokens", "/max_completion_tokens"],
    body: body::openai_chat,
    better: &[message(Carrier::System, Placement::BeforeUserRun)],
    loops: true,
};

const MESSAGES: Shape = Shape {
    format: Format::AnthropicMessages,
    ending: "/messages",
    key_env: "ANTHROPIC_API_KEY",
    key_header: ("x-api-key", ""),
    headers: &[("anthropic-version", "2023-06-01")],
    limits: &["/max_tokens"],
    body: body::anthropic_messages,
    better: &[message(Carrier::System, Placement::AfterUserTurn)],
    ..CHAT
};

const GEMINI: Shape = Shape {
    format: Format::Gemini,
    root: "v1beta",
    ending: "/models/{model}:generateContent",
    key_env: "GEMINI_API_KEY",
    key_header: ("x-goog-api-key", ""),
    limits: &["/generationConfig/maxOutputTokens"],
    body: body::gemini,
    better: &[],
    loops: false,
    ..CHAT
};

/// A message of the operator's, in the role of the head where that is a message, too.
const fn message(carrier: Carrier, placement: Placement) -> Row {
    Row {
        carrier,
        head_role: matches!(placement, Placement::BeforeUserRun),
        placement,
        tool_loop: ToolLoop::Pass,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_can_be_probed() {
        for format in Format::ALL {
            let shape = Shape::of(format, "").unwrap();
            let path = shape.path("", "a-model");
            assert_eq!(format.wire().matches(&path), Some(Call::Messages), "{path}");
            assert_eq!(Shape::format_of(&path), Some(format), "{path}");
            assert_eq!(shape.path(&path, "another"), path);
        }
    }

    #[test]
    fn an_endpoint_is_taken_as_it_is_and_a_base_url_completed() {
        let vertex = "/v1/projects/p/locations/l/publishers";
        let google = &format!("{vertex}/google");
        let anthropic = &format!("{vertex}/anthropic");
        for (format, path, expected) in [
            (Format::OpenaiChat, "", "/v1/chat/completions"),
            (Format::OpenaiChat, "/v1/", "/v1/chat/completions"),
            (
                Format::OpenaiChat,
                "/v1beta/openai/",
                "/v1beta/openai/chat/completions",
            ),
            (
                Format::OpenaiChat,
                "/api/chat/completions",
                "/api/chat/completions",
            ),
            (Format::OpenaiResponses, "/openai/v1", "/openai/v1/responses"),
            (Format::AnthropicMessages, "/llm", "/llm/v1/messages"),
            (
                Format::AnthropicMessages,
                anthropic,
                "/v1/projects/p/locations/l/publishers/anthropic/models/m@1%3A0%2Fx:rawPredict",
            ),
            (Format::AnthropicMessages, "/model/x/invoke", "/model/x/invoke"),
            (Format::Gemini, "", "/v1beta/models/m@1%3A0%2Fx:generateContent"),
            (Format::Gemini, "/v1", "/v1/models/m@1%3A0%2Fx:generateContent"),
            (
                Format::Gemini,
                google,
                "/v1/projects/p/locations/l/publishers/google/models/m@1%3A0%2Fx:generateContent",
            ),
            (Format::BedrockConverse, "/", "/model/m@1%3A0%2Fx/converse"),
            (Format::Ollama, "", "/api/chat"),
            (Format::Ollama, "/box/api", "/box/api/chat"),
        ] {
            let shape = Shape::of(format, path).unwrap();
            assert_eq!(shape.path(path, "m@1:0/x"), expected);
        }
        assert_eq!(Shape::format_of(anthropic), Some(Format::AnthropicMessages));
        assert_eq!(Shape::format_of(google), Some(Format::Gemini));
        assert_eq!(Shape::format_of("/v1"), None);
    }
}
