//! One conversation, told in every wire format and to every kind of route, through the built binary over a ledger on
//! disk, in front of the simulated provider.
//!
//! `script` is the conversation, the same for all; the rows here are the routes; `run` speaks them; `check` looks at
//! what can be seen from outside: the client's bodies, what the provider got and what its model would read, and the log.

mod check;
mod later_system;
mod run;
mod script;

use inkfast::wire::format::Format;

/// A kind of route.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    pub name: &'static str,
    pub format: Format,
    /// What the upstream acts as.
    pub host: &'static str,
    /// The conversation's model, and the one that it is switched to.
    pub models: [&'static str; 2],
    /// The role that the client gives its head, where the head is messages.
    pub role: &'static str,
    /// The head is one member, not messages of the history (Responses has both).
    pub member: bool,
    pub carrier: Carrier,
    pub in_loop: InLoop,
}

/// How an update is seen to travel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Carrier {
    /// A message of this role.
    Message(&'static str),
    /// Text of the user in tags.
    Reminder,
}

/// What becomes of an edit in a tool loop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum InLoop {
    /// It stands behind the results.
    Told,
    /// It is told at the next turn of the user.
    Waits,
    /// The client's own head goes out.
    Passes,
}

const BEDROCK: &str = "bedrock-runtime.us-east-1.amazonaws.com";

const CHAT: Row = Row {
    name: "chat, a head of role system",
    format: Format::OpenaiChat,
    host: "api.openai.com",
    models: ["gpt-5.5", "gpt-6"],
    role: "system",
    member: false,
    carrier: Carrier::Message("system"),
    in_loop: InLoop::Told,
};
const MESSAGES: Row = Row {
    name: "messages, a model that takes operator messages",
    format: Format::AnthropicMessages,
    host: "api.anthropic.com",
    models: ["claude-opus-5", "claude-opus-4-8"],
    ..CHAT
};
const RESPONSES: Row = Row {
    name: "responses, instructions in front",
    format: Format::OpenaiResponses,
    member: true,
    carrier: Carrier::Message("developer"),
    ..CHAT
};
const CONVERSE: Row = Row {
    name: "converse, a model that takes operator messages",
    format: Format::BedrockConverse,
    host: BEDROCK,
    models: [
        "anthropic.claude-opus-5-v1:0",
        "us.anthropic.claude-opus-4-8-v1:0",
    ],
    ..CHAT
};
const REMINDED: Row = Row {
    carrier: Carrier::Reminder,
    in_loop: InLoop::Passes,
    ..CHAT
};

const ROWS: [Row; 13] = [
    CHAT,
    Row {
        name: "chat, a head of role developer",
        role: "developer",
        carrier: Carrier::Message("developer"),
        ..CHAT
    },
    Row {
        name: "chat, an unknown template",
        host: "localhost",
        models: ["qwen-3", "qwen-4"],
        ..REMINDED
    },
    MESSAGES,
    Row {
        name: "messages, a look-alike",
        host: "gateway.example",
        carrier: Carrier::Reminder,
        ..MESSAGES
    },
    Row {
        name: "messages, a model that drops thinking at user text",
        models: ["claude-sonnet-4-5", "claude-haiku-4-5"],
        carrier: Carrier::Reminder,
        in_loop: InLoop::Waits,
        ..MESSAGES
    },
    RESPONSES,
    Row {
        name: "responses, leading developer items",
        models: ["gpt-6.2", "gpt-6.3"],
        role: "developer",
        member: false,
        ..RESPONSES
    },
    Row {
        name: "responses, an unknown template",
        format: Format::OpenaiResponses,
        host: "localhost",
        member: true,
        ..REMINDED
    },
    Row {
        name: "gemini",
        format: Format::Gemini,
        host: "generativelanguage.googleapis.com",
        models: ["gemini-3.5-flash", "gemini-3.1-pro"],
        ..REMINDED
    },
    CONVERSE,
    Row {
        name: "converse, another model",
        models: ["amazon.nova-pro-v1:0", "amazon.nova-lite-v1:0"],
        carrier: Carrier::Reminder,
        ..CONVERSE
    },
    Row {
        name: "ollama",
        format: Format::Ollama,
        host: "localhost",
        models: ["qwen3:8b", "llama3.2"],
        ..REMINDED
    },
];

#[test]
fn the_same_conversation_holds_in_every_format_and_on_every_route() {
    let mut wrong = Vec::new();
    for row in ROWS {
        for said in run::conversation(row) {
            wrong.push(format!("{}: {said}", row.name));
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// A format that nobody drives would hold anything.
#[test]
fn every_format_has_a_row() {
    for format in Format::ALL {
        assert!(ROWS.iter().any(|row| row.format == format), "{format}");
    }
}
