//! One agent: its prompt, its history, and how both change.

use inkfast::prefix::digest::Digest;
use inkfast::prefix::item::Hints;
use inkfast::wire::format::Format;

use super::body::{Draft, Message};
use super::json::Style;
use super::script::Edit;

/// A system prompt in parts.
#[derive(Clone, Debug, PartialEq)]
pub struct Prompt {
    pub owner: String,
    /// What makes a sub-agent's prompt unlike any other, whatever is edited in it.
    pub task: String,
    pub rules: Vec<u32>,
    pub clock: Option<u32>,
    pub todo: Vec<u32>,
    pub more: Vec<String>,
    pub order: bool,
    pub cleared: bool,
    pub spaces: bool,
}

impl Prompt {
    pub fn of(owner: &str, clock: bool) -> Self {
        Self {
            owner: owner.to_owned(),
            task: String::new(),
            rules: vec![0; 6],
            clock: clock.then_some(0),
            todo: Vec::new(),
            more: Vec::new(),
            order: false,
            cleared: false,
            spaces: false,
        }
    }

    pub fn blocks(&self) -> Vec<String> {
        if self.cleared {
            return Vec::new();
        }
        let mut main = format!(
            "You are a careful coding agent that works for {}.{}\n\n# Rules\n",
            self.owner, self.task
        );
        for (index, version) in self.rules.iter().enumerate() {
            let name = ["Tests", "Style", "Scope", "Tools", "Words", "Files"][index % 6];
            main += &format!("- {name}: follow the guide é{version} of chapter {index}, always\n");
        }
        main += &format!("\n# Environment\nFolder: /home/{}/src <here>\n", self.owner);
        if let Some(clock) = self.clock {
            main += &format!("Time: 10:{:02}:{:02}\n", clock / 60, clock % 60);
        }
        if !self.todo.is_empty() {
            main += "\n# Todo\n";
            self.todo
                .iter()
                .for_each(|item| main += &format!("- [ ] step number {item} of the plan\n"));
        }
        if self.spaces {
            main = main.replace('\n', "  \n");
        }
        let mut blocks = vec![main];
        blocks.extend(self.more.iter().cloned());
        if self.order {
            blocks.reverse();
        }
        blocks
    }

    /// Changes the prompt; `n` is a number that was never used before.
    pub fn edit(&mut self, edit: Edit, n: u32) {
        match edit {
            Edit::None | Edit::Back => {}
            Edit::Line => {
                let at = n as usize % self.rules.len().max(1);
                self.rules.resize(self.rules.len().max(1), 0);
                self.rules[at] = n;
            }
            Edit::Todo if n.is_multiple_of(3) => drop(self.todo.pop()),
            Edit::Todo => self.todo.push(n),
            Edit::Clock => self.clock = Some(n % 3600),
            Edit::AppendBlock => self
                .more
                .push(format!("# Memory {n}\nThe user {} likes tea.", self.owner)),
            Edit::SeveralBlocks => {
                self.rules.iter_mut().take(2).for_each(|rule| *rule = n);
                self.more = vec![
                    format!("# Skill {n}\nCook."),
                    format!("# Plan {n}\nFor {}.", self.owner),
                ];
            }
            Edit::Reorder => self.order = !self.order,
            Edit::Clear => self.cleared = !self.cleared,
            Edit::Whitespace => self.spaces = !self.spaces,
        }
    }
}

/// An agent in mid-conversation.
#[derive(Clone)]
pub struct Agent {
    pub conversation: usize,
    pub person: usize,
    pub session: Option<String>,
    pub prompt: Prompt,
    pub prompts: Vec<Prompt>,
    pub role: &'static str,
    pub tools: Vec<String>,
    pub history: Vec<Message>,
    pub model: String,
    pub attribution: bool,
    pub style: Style,
    /// The last request that was made.
    pub last: Option<Draft>,
    /// The request whose own answer is the last message: the next one continues it.
    pub follows: Option<u64>,
}

impl Agent {
    pub fn hints(&self) -> Hints {
        Hints {
            session: self
                .session
                .as_ref()
                .map(|session| Digest::of("inkfast hint v1", session.as_bytes())),
            ..Hints::default()
        }
    }

    pub fn edit(&mut self, edit: Edit, n: u32) {
        let before = self.prompt.clone();
        if edit == Edit::Back {
            if let Some(earlier) = self.prompts.iter().rev().find(|earlier| **earlier != before) {
                self.prompt = earlier.clone();
            }
        } else {
            self.prompt.edit(edit, n);
        }
        self.prompts.push(before);
    }

    pub fn draft(&self, format: Format, n: u32) -> Draft {
        Draft {
            format,
            model: self.model.clone(),
            head: self.prompt.blocks(),
            role: self.role,
            tools: self.tools.clone(),
            history: self.history.clone(),
            attribution: self
                .attribution
                .then(|| format!("x-anthropic-billing-header: cc_version=2.{n}; cch={n:05x};")),
            style: self.style,
        }
    }

    /// The calls that wait for their results.
    pub fn calls(&self) -> Vec<String> {
        match self.history.last() {
            Some(Message::Assistant { calls, .. }) => calls.clone(),
            _ => Vec::new(),
        }
    }

    /// The model has the last word.
    pub fn is_answered(&self) -> bool {
        matches!(self.history.as_slice(), [_, .., Message::Assistant { .. }])
    }

    /// Drops messages until the model has the last word (or nothing is left), with no call open.
    pub fn complete(&mut self) {
        while self
            .history
            .last()
            .is_some_and(|last| !matches!(last, Message::Assistant { calls, .. } if calls.is_empty()))
        {
            self.history.pop();
        }
    }

    /// Where the user spoke.
    pub fn user_turns(&self) -> Vec<usize> {
        let is_user = |message: &Message| matches!(message, Message::User(_) | Message::Reminded(..));
        (0..self.history.len())
            .filter(|index| is_user(&self.history[*index]))
            .collect()
    }
}
