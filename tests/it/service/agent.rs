//! An agent that lives from a seed: turns, tool loops, edits of its system prompt, retries, branches.

use serde_json::{Value, json};

/// Numbers from a seed (SplitMix64).
pub struct Dice(pub u64);

impl Dice {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    pub fn one_in(&mut self, chances: usize) -> bool {
        self.below(chances) == 0
    }
}

/// Where an agent sends its requests, and so how its edits travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// OpenAI: a later system message.
    Chat,
    /// An upstream that nobody knows: text inside a user message.
    Strict,
    /// A model that takes later system messages and binds its thinking to all in front of it.
    Thinking,
    /// An Anthropic model that takes a block of user text.
    Reminder,
}

pub const KINDS: [Kind; 4] = [Kind::Chat, Kind::Strict, Kind::Thinking, Kind::Reminder];

impl Kind {
    pub fn path(self) -> &'static str {
        match self {
            Self::Chat => "/v1/chat/completions",
            Self::Strict => "/strict/v1/chat/completions",
            Self::Thinking | Self::Reminder => "/v1/messages",
        }
    }

    pub fn is_chat(self) -> bool {
        matches!(self, Self::Chat | Self::Strict)
    }

    fn model(self) -> &'static str {
        match self {
            Self::Chat => "gpt-5.5",
            Self::Strict => "some-model",
            Self::Thinking => "claude-opus-5-5",
            Self::Reminder => "claude-sonnet-4-6",
        }
    }
}

/// An agent in mid-conversation.
pub struct Agent {
    pub kind: Kind,
    pub mode: usize,
    pub note: Option<usize>,
    pub messages: Vec<Value>,
    dice: Dice,
    modes: usize,
    turns: usize,
}

/// How a request stands to the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Move {
    /// It goes on from the answer.
    On,
    /// It is the same once more.
    Again,
    /// It goes another way from an earlier turn.
    Branch,
}

impl Agent {
    pub fn new(kind: Kind, seed: u64) -> Self {
        Self {
            kind,
            mode: 0,
            note: None,
            messages: Vec::new(),
            dice: Dice(seed),
            modes: 1,
            turns: 0,
        }
    }

    /// Makes the next request ready.
    pub fn step(&mut self) -> Move {
        let moved = self.go();
        if moved != Move::Again && self.turns > 1 && self.dice.below(5) < 2 {
            self.edit();
        }
        moved
    }

    /// The head's texts.
    pub fn head(&self) -> Vec<String> {
        let mut head = vec![format!(
            "You are a careful assistant for software work.\n\nRead before you write. Ask when in doubt.\n\n\
             Mode: m{}.\n\nKeep answers short, name the files that you touch, and run the tests before you say done.",
            self.mode
        )];
        head.extend(
            self.note
                .map(|note| format!("Note: n{note}. The user likes tea.")),
        );
        head
    }

    pub fn body(&self) -> Value {
        let parameters =
            json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]});
        let head = self.head();
        let mut body = json!({"model": self.kind.model()});
        if self.kind.is_chat() {
            let system = |text: &String| json!({"role": "system", "content": text});
            let messages = head.iter().map(system).chain(self.messages.iter().cloned());
            body["messages"] = messages.collect();
            body["tools"] =
                json!([{"type": "function", "function": {"name": "read", "parameters": parameters}}]);
            return body;
        }
        body["max_tokens"] = 100.into();
        body["system"] = head
            .iter()
            .map(|text| json!({"type": "text", "text": text}))
            .collect();
        body["messages"] = self.messages.clone().into();
        body["tools"] = json!([{"name": "read", "input_schema": parameters}]);
        if self.kind == Kind::Thinking {
            body["thinking"] = json!({"type": "adaptive"});
        }
        body
    }

    /// Takes the answer up.
    pub fn hear(&mut self, answer: &Value) {
        self.messages.push(if self.kind.is_chat() {
            answer["choices"][0]["message"].clone()
        } else {
            json!({"role": "assistant", "content": answer["content"]})
        });
    }

    fn go(&mut self) -> Move {
        if self.messages.last().is_some_and(|last| last["role"] == "user") {
            // The last request was refused, or overloaded.
            return Move::Again;
        }
        let calls = self.open_calls();
        if !calls.is_empty() {
            self.answer_calls(&calls);
            return Move::On;
        }
        match self.dice.below(10) {
            0 if self.turns > 1 => {
                self.messages.pop();
                Move::Again
            }
            1 if self.turns > 1 => {
                let turns: Vec<usize> = (0..self.messages.len()).filter(|at| self.is_turn(*at)).collect();
                self.messages.truncate(turns[self.dice.below(turns.len())]);
                self.speak();
                Move::Branch
            }
            _ => {
                self.speak();
                Move::On
            }
        }
    }

    fn speak(&mut self) {
        self.turns += 1;
        let tools = if self.dice.one_in(3) { " [tools:1]" } else { "" };
        let text = format!("Question {}, please.{tools}", self.turns);
        self.messages.push(json!({"role": "user", "content": text}));
    }

    fn is_turn(&self, at: usize) -> bool {
        let message = &self.messages[at];
        message["role"] == "user" && message["content"].is_string()
    }

    fn open_calls(&self) -> Vec<String> {
        let Some(last) = self.messages.last() else {
            return Vec::new();
        };
        let list = if self.kind.is_chat() {
            &last["tool_calls"]
        } else {
            &last["content"]
        };
        let calls = list
            .as_array()
            .into_iter()
            .flatten()
            .filter(|call| call["type"] != "text");
        let ids = calls.filter_map(|call| Some(call["id"].as_str()?.to_owned()));
        ids.collect()
    }

    fn answer_calls(&mut self, calls: &[String]) {
        if self.kind.is_chat() {
            let result = |id: &String| json!({"role": "tool", "tool_call_id": id, "content": "fn main() {}"});
            self.messages.extend(calls.iter().map(result));
            return;
        }
        let result =
            |id: &String| json!({"type": "tool_result", "tool_use_id": id, "content": "fn main() {}"});
        let results: Value = calls.iter().map(result).collect();
        self.messages.push(json!({"role": "user", "content": results}));
    }

    fn edit(&mut self) {
        match self.dice.below(10) {
            0 => self.note = None,
            1 | 2 => self.note = Some(self.turns),
            3 | 4 => self.mode = self.dice.below(self.modes),
            _ => {
                self.mode = self.modes;
                self.modes += 1;
            }
        }
    }
}
