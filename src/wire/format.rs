//! The name of a wire format: the API shape of a request and of its response, whoever serves it.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use super::{
    Wire, anthropic_messages::AnthropicMessages, bedrock_converse::BedrockConverse, gemini::Gemini,
    ollama::Ollama, openai_chat::OpenaiChat, openai_responses::OpenaiResponses,
};

/// The API shape that a request and its response have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// OpenAI Chat Completions and what is compatible with it.
    OpenaiChat,
    /// OpenAI Responses.
    OpenaiResponses,
    /// Anthropic Messages and what is compatible with it, on Vertex and Bedrock, too.
    AnthropicMessages,
    /// Google's `generateContent`, on Vertex, too.
    Gemini,
    /// Amazon Bedrock's Converse.
    BedrockConverse,
    /// Ollama's own chat.
    Ollama,
}

impl Format {
    /// Every format, in the order of the table.
    pub const ALL: [Self; 6] = [
        Self::OpenaiChat,
        Self::OpenaiResponses,
        Self::AnthropicMessages,
        Self::Gemini,
        Self::BedrockConverse,
        Self::Ollama,
    ];

    /// The name in configuration, metric labels and logs.
    pub fn as_str(self) -> &'static str {
        self.row().name
    }

    /// The upstream of a bare path of this format; none where it is the default upstream.
    pub fn home(self) -> Option<&'static str> {
        self.row().home
    }

    /// What reads and edits it.
    pub fn wire(self) -> &'static dyn Wire {
        self.row().wire
    }

    fn row(self) -> &'static Row {
        &TABLE[self as usize]
    }
}

/// All that is said of a format outside its own file.
struct Row {
    name: &'static str,
    home: Option<&'static str>,
    wire: &'static dyn Wire,
}

/// One row a format, in the order of the variants.
static TABLE: [Row; 6] = [
    Row {
        name: "openai_chat",
        home: None,
        wire: &OpenaiChat,
    },
    Row {
        name: "openai_responses",
        home: None,
        wire: &OpenaiResponses,
    },
    Row {
        name: "anthropic_messages",
        home: Some("anthropic"),
        wire: &AnthropicMessages,
    },
    Row {
        name: "gemini",
        home: Some("gemini"),
        wire: &Gemini,
    },
    Row {
        name: "bedrock_converse",
        home: Some("bedrock"),
        wire: &BedrockConverse,
    },
    Row {
        name: "ollama",
        home: Some("ollama"),
        wire: &Ollama,
    },
];

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Format {
    type Err = UnknownFormat;

    fn from_str(name: &str) -> Result<Self, UnknownFormat> {
        Self::ALL
            .into_iter()
            .find(|format| format.as_str() == name)
            .ok_or(UnknownFormat)
    }
}

/// No wire format has this name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownFormat;

impl fmt::Display for UnknownFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("unknown wire format, expected one of")?;
        Format::ALL.iter().try_for_each(|format| write!(f, " {format}"))
    }
}

impl std::error::Error for UnknownFormat {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_the_same_everywhere() {
        for format in Format::ALL {
            assert_eq!(format.as_str().parse(), Ok(format));
            let json = serde_json::to_string(&format).ok();
            assert_eq!(json, Some(format!("\"{format}\"")));
        }
        assert_eq!("openai".parse::<Format>(), Err(UnknownFormat));
    }
}
