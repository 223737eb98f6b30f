//! The scripted agent: it keeps the conversation as values and writes the whole request anew each time, as agents do.

use serde_json::{Value, json};

use super::{
    body,
    persona::{Head, tool_result},
    script::{Input, Reply, Turn},
};
use crate::sim::{Answer, Format};

/// The agent, on one of its two ways to the provider.
pub struct Agent {
    format: Format,
    head: Head,
    messages: Vec<Message>,
    /// Requests that were answered and whose messages still stand: how many these were, and the tokens of the prompt.
    sent: Vec<(usize, usize)>,
    conversations: usize,
}

/// One message of the conversation.
pub enum Message {
    /// The user's text.
    User(String),
    /// What tools gave back: id of the call, text.
    Results(Vec<(String, String)>),
    /// What the model answered.
    Assistant(Said),
}

/// An answer of the model.
#[derive(Clone)]
pub struct Said {
    /// Text and signature.
    pub thinking: Option<(String, String)>,
    /// The text.
    pub text: Option<String>,
    /// Id, tool and arguments of each call.
    pub calls: Vec<(String, String, Value)>,
}

impl Agent {
    /// An agent without a conversation.
    pub fn new(format: Format) -> Self {
        Self {
            format,
            head: Head::default(),
            messages: Vec::new(),
            sent: Vec::new(),
            conversations: 0,
        }
    }

    /// Does what the agent and its user do before the turn's request.
    pub fn prepare(&mut self, turn: &Turn) {
        if let Input::First(_) = turn.input {
            self.conversations += 1;
            self.head.begin_again();
        }
        self.head.next(turn.edit);
        self.messages.truncate(self.standing(turn.input));
        let standing = self.messages.len();
        self.sent.retain(|(messages, _)| *messages <= standing);
        self.messages.extend(self.added(turn.input));
    }

    /// The request as it is sent.
    pub fn body(&self) -> String {
        body::write(self.format, &self.head.parts(), &self.messages)
    }

    /// Tokens of the request that this one continues; 0 if there is none.
    pub fn continued(&self) -> usize {
        self.sent.last().map_or(0, |(_, tokens)| *tokens)
    }

    /// The request was answered; its prompt had this many tokens.
    pub fn note_answer(&mut self, tokens: usize, said: Said) {
        self.sent.push((self.messages.len(), tokens));
        self.messages.push(Message::Assistant(said));
    }

    /// Gives up the thinking so far, which is all that an agent can do when the provider refuses it.
    pub fn drop_thinking(&mut self) {
        for message in &mut self.messages {
            if let Message::Assistant(said) = message {
                said.thinking = None;
            }
        }
    }

    /// How many messages stand before the turn adds its own.
    fn standing(&self, input: Input) -> usize {
        let all = self.messages.len();
        match input {
            Input::First(_) => 0,
            Input::Ask(_) | Input::Results => all,
            Input::Regenerate => all.saturating_sub(1),
            Input::Back(asks, _) => {
                let is_ask = |at: &usize| matches!(self.messages[*at], Message::User(_));
                (0..all).rev().filter(is_ask).nth(asks - 1).unwrap_or(0)
            }
        }
    }

    fn added(&self, input: Input) -> Option<Message> {
        match input {
            // Two conversations that begin with the same words would be one to any cache.
            Input::First(text) => Some(Message::User(format!("Task {}: {text}", self.conversations))),
            Input::Ask(text) | Input::Back(_, text) => Some(Message::User(text.to_owned())),
            Input::Results => {
                let Some(Message::Assistant(said)) = self.messages.last() else {
                    return None;
                };
                let results = said.calls.iter().map(|(id, tool, arguments)| {
                    let argument = arguments.as_object().and_then(|all| all.values().next());
                    let argument = argument.and_then(Value::as_str).unwrap_or_default();
                    (id.clone(), tool_result(tool, argument))
                });
                Some(Message::Results(results.collect()))
            }
            Input::Regenerate => None,
        }
    }
}

/// What the provider is told to answer to the request of this number, and what the agent will have heard; `signature` is
/// the provider's own.
pub fn answer(format: Format, number: usize, turn: &Turn) -> (Answer, Said) {
    let (prefix, thinks) = match format {
        Format::OpenAiChat => ("call", false),
        _ => ("toolu", true),
    };
    let mut said = Said {
        thinking: thinks.then(|| (thinking(number, turn), String::new())),
        text: None,
        calls: Vec::new(),
    };
    match turn.answer {
        Reply::Text(text) => said.text = Some(text.to_owned()),
        Reply::Calls(calls) => {
            let called = calls.iter().enumerate().map(|(i, (tool, name, argument))| {
                let id = format!("{prefix}_{number:06}{i:02}");
                (id, (*tool).to_owned(), json!({ *name: argument }))
            });
            said.calls = called.collect();
        }
    }
    let answer = Answer {
        text: said.text.clone(),
        thinking: said.thinking.as_ref().map(|(text, _)| text.clone()),
        tool_calls: said.calls.clone(),
        ..Answer::default()
    };
    (answer, said)
}

fn thinking(number: usize, turn: &Turn) -> String {
    let next = match turn.answer {
        Reply::Text(_) => "I know enough to answer",
        Reply::Calls(_) => "I need to see more before I say anything",
    };
    format!(
        "Step {number}. What is known so far fits together: the rows that vanish are those whose date is not understood. \
         {next}, and I keep to the rules for answers: short, with the place named."
    )
}
