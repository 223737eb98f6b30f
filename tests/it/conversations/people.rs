//! Who talks: new conversations beside those that are.

use inkfast::wire::format::Format;

use super::World;
use super::agent::{Agent, Prompt};
use super::body::Message;
use super::json::Style;
use super::script::{Act, Opener, Step};

impl World<'_> {
    /// A new conversation beside that of `agent`.
    pub fn another(&mut self, agent: &Agent, step: &Step) -> Agent {
        let session = agent.session.clone();
        let mut other = match step.act {
            Act::NewUser => {
                let person = self.conversations + 1;
                self.agent(person, None)
            }
            Act::NewChat => {
                let mut other = self.agent(agent.person, None);
                other.prompt = agent.prompts.first().unwrap_or(&agent.prompt).clone();
                other.style = agent.style;
                other.tools = agent.tools.clone();
                other
            }
            _ => self.agent(agent.person, session),
        };
        if step.act == Act::SubAgent {
            other.style = agent.style;
            other.model = agent.model.clone();
            let n = self.next();
            let mut whole = agent.clone();
            whole.complete();
            other.history = whole.history;
            other.prompt.rules = vec![n; 2];
            let words = "Search only and report plainly what was found where, in few words. ";
            other.prompt.task = format!(" Number {n}. {}", words.repeat(8));
            other.tools = vec!["search".to_owned()];
        }
        if step.act == Act::Title {
            let n = self.next();
            other.prompt = Prompt {
                cleared: true,
                ..Prompt::of("nobody", false)
            };
            if step.pick.is_multiple_of(2) {
                other.prompt = Prompt {
                    rules: Vec::new(),
                    ..Prompt::of(&format!("the title desk {n}"), false)
                };
            }
            other.tools = Vec::new();
            let first = agent.history.first().cloned();
            other.history = first
                .into_iter()
                .filter(|first| matches!(first, Message::User(_)))
                .collect();
            other
                .history
                .push(Message::User("Write a title of five words.".to_owned()));
        }
        other
    }

    pub fn agent(&mut self, person: usize, session: Option<String>) -> Agent {
        let conversation = self.conversations;
        self.conversations += 1;
        let dice = |sides: u64, salt: u64| {
            mix(self.script.seed ^ salt.wrapping_mul(31) ^ (conversation as u64) << 8) % sides
        };
        let style = Style {
            space: dice(3, 1) as u8,
            escapes: dice(3, 2) == 0,
            order: dice(3, 3) as u8,
            blocks: dice(3, 4) == 0,
            head_blocks: dice(2, 5) == 0,
            markers: dice(2, 6) == 0,
            messages_first: dice(3, 7) == 0,
            snake: dice(3, 12) == 0,
            ids: dice(3, 13) == 0,
            bare: dice(3, 14) == 0,
            mixed: dice(2, 15) == 0,
        };
        let own = (dice(2, 8) == 0).then(|| format!("session-{conversation}"));
        let mut agent = Agent {
            conversation,
            person,
            session: session.or(own),
            prompt: Prompt::of(&format!("owner-{person}"), dice(2, 9) == 0),
            prompts: Vec::new(),
            role: if dice(3, 10) == 0 && matches!(self.format, Format::OpenaiChat | Format::OpenaiResponses) {
                "developer"
            } else {
                "system"
            },
            tools: vec!["read_file".to_owned(), "run".to_owned()],
            history: Vec::new(),
            model: self.models[0].to_owned(),
            attribution: dice(3, 11) == 0 && self.format == Format::AnthropicMessages,
            style,
            last: None,
            follows: None,
        };
        if matches!(self.script.opener, Opener::FewShot) {
            for word in ["red", "blue"] {
                agent.history.push(Message::User(format!("Colour of {word}?")));
                let said = Message::Assistant {
                    text: word.to_owned(),
                    calls: Vec::new(),
                    thinking: false,
                };
                agent.history.push(said);
            }
        }
        agent
    }
}

/// A well-mixed number out of any.
fn mix(mut n: u64) -> u64 {
    for (shift, factor) in [(30, 0xbf58_476d_1ce4_e5b9), (27, 0x94d0_49bb_1331_11eb)] {
        n = (n ^ (n >> shift)).wrapping_mul(factor);
    }
    n ^ (n >> 31)
}
