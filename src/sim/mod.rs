//! A simulated provider on a loopback socket: OpenAI Chat Completions and the hosts that speak it, OpenAI Responses (over
//! HTTP and WebSocket), Anthropic Messages (also as Bedrock and Vertex serve it), Gemini, Bedrock Converse and Ollama, with
//! their documented cache rules, placement rules and bound thinking.
//!
//! It shares no code with the rest of the crate, has its own decoding and its own table of models, so that it cannot repeat
//! a mistake of the proxy's. `inkfast demo` and the tests use it; it is not a model and not a benchmark. A request goes
//!
//! `server` (socket, `recording_socket`) -> `exchange` -> `endpoint` -> `signing` (Bedrock) -> `decode` -> `explicit_cache` (Gemini) -> `validate` ->
//! `prompt` (hoist, drop) -> `render` -> `thinking` -> `script` -> `history`, `cache` -> `answer` -> `delivery`
//!
//! (Responses: `memory` puts the items that the server holds in front of those decoded, and remembers the answer; in WebSocket
//! mode `socket` stands in for `server` and `delivery`),
//!
//! and each is [`Recorded`]. The head of `render.rs` says how tokens are counted, so that a test can do it by hand.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

mod answer;
mod cache;
mod clock;
mod decode;
mod delivery;
mod dialect;
mod endpoint;
mod exchange;
mod explicit_cache;
mod frame;
mod history;
mod json;
mod memory;
mod prompt;
mod record;
mod recording_socket;
mod refusal;
mod render;
mod responses;
mod rules;
mod script;
mod server;
mod signing;
mod socket;
mod thinking;
mod tokens;
mod validate;

pub use clock::Clock;
pub use dialect::Dialect;
pub use prompt::Operator;
pub use record::{Delivery, Reach, Recorded, Usage};
pub use script::Answer;
pub use signing::AwsKey;
pub use tokens::{count, text_of_tokens};

use endpoint::Endpoint;
use endpoint::hosted::Call;
use server::{Server, Shared};

/// The API shape of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// `POST .../chat/completions`
    OpenAiChat,
    /// `POST .../messages`
    AnthropicMessages,
    /// `POST .../responses`, and WebSocket mode on the same path
    OpenAiResponses,
    /// `POST .../models/{model}:generateContent`, `:streamGenerateContent`
    Gemini,
    /// `POST /model/{id}/converse`, `/converse-stream`
    BedrockConverse,
    /// `POST /api/chat`, `/api/generate`
    Ollama,
}

impl Format {
    /// Rendered, checked and cached by Anthropic's rules.
    fn is_anthropics(self) -> bool {
        matches!(self, Self::AnthropicMessages | Self::BedrockConverse)
    }
}

/// What the prompt renderer does with a system or developer message that is not in front.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LaterSystem {
    /// It stays where it is.
    #[default]
    InPlace,
    /// It is joined to the head, which breaks the prefix.
    Hoist,
    /// It is left out without a word.
    Drop,
    /// The template raises: 400 (vLLM) or 500 (llama.cpp).
    Strict {
        /// Status of the answer.
        status: u16,
    },
    /// As `Strict`, and the template also raises at two user messages in a row.
    Alternate {
        /// Status of the answer.
        status: u16,
    },
}

/// How a provider behaves.
#[derive(Clone, Debug)]
pub struct Config {
    /// Time for cache lifetimes.
    pub clock: Clock,
    /// Shortest cached prefix in tokens, instead of the model's own.
    pub minimum: Option<usize>,
    /// Later system messages.
    pub later_system: LaterSystem,
    /// Whose Chat Completions these are.
    pub dialect: Dialect,
    /// The key that requests on Bedrock's paths must be signed with, unless they bring a bearer key; without one every
    /// request is taken.
    pub aws: Option<AwsKey>,
    /// Leave out Anthropic's attribution block in the head (`x-anthropic-billing-header: ...`), as api.anthropic.com does.
    pub strip_attribution: bool,
    /// Refuse what the real API refuses.
    pub validate: bool,
    /// Accept thinking whose signature is not from this seed.
    pub accept_foreign_thinking: bool,
    /// Default answers end with the codeword that the operator's text names last, behind the word `codeword`.
    pub obeys_codewords: bool,
    /// Key of signatures, and a part of the ids and texts of default answers.
    pub seed: u64,
    /// WebSocket mode of the Responses API.
    pub socket: Socket,
}

/// Limits of WebSocket mode. Default: upgrades are accepted, and a connection has no limit.
#[derive(Clone, Debug, Default)]
pub struct Socket {
    /// Answer 426 to an upgrade, so that the client falls back to HTTP.
    pub refuse: bool,
    /// `response.create` frames that one connection takes; the next one ends it with `websocket_connection_limit_reached`.
    pub max_frames: Option<usize>,
    /// Time, on the provider's own clock, after which a connection ends in the same way.
    pub max_age: Option<Duration>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            clock: Clock::real(),
            minimum: None,
            later_system: LaterSystem::InPlace,
            dialect: Dialect::OpenAi,
            aws: None,
            strip_attribution: false,
            validate: true,
            accept_foreign_thinking: true,
            obeys_codewords: false,
            seed: 0x51_3D,
            socket: Socket::default(),
        }
    }
}

/// A running provider; it stops when dropped.
#[derive(Debug)]
pub struct Provider {
    server: Server,
    shared: Shared,
}

impl Provider {
    /// Listens on a free port of 127.0.0.1.
    ///
    /// # Errors
    ///
    /// If the socket, the thread or its runtime cannot be made.
    pub fn start(config: Config) -> io::Result<Self> {
        let shared = Shared::new(config);
        let server = Server::start(shared.clone())?;
        Ok(Self { server, shared })
    }

    /// Where it listens.
    pub fn addr(&self) -> SocketAddr {
        self.server.addr
    }

    /// Base URL without a path, like `http://127.0.0.1:40000`.
    pub fn url(&self) -> String {
        format!("http://{}", self.server.addr)
    }

    /// Queues an answer. Requests that are refused, and those that only count tokens, use none up.
    pub fn push(&self, answer: Answer) {
        self.shared.state().script.push_back(answer);
    }

    /// Requests so far, in the order in which their bodies had arrived.
    pub fn recorded(&self) -> Vec<Recorded> {
        self.shared.state().records.clone()
    }

    /// The operator's text that this provider's model would see in a body; none if the body is refused. A response or
    /// conversation that it goes on from is looked up, but nothing is recorded or changed.
    pub fn effective_prompt(&self, format: Format, body: &[u8]) -> Option<Operator> {
        exchange::effective(&Call::plain(format, false), body, &self.shared)
    }

    /// The same for a body that was posted to this path and query: some formats say there which model is asked.
    pub fn effective_prompt_at(&self, target: &str, body: &[u8]) -> Option<Operator> {
        let call = Endpoint::at("POST", target).ok()?.call()?;
        exchange::effective(&call, body, &self.shared)
    }

    /// Stops listening and breaks open connections.
    pub fn stop(self) {
        drop(self);
    }
}
