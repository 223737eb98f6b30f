//! A world of agents that talk to models through the core: each script is one random run of it.
//!
//! The world knows what no proxy can know: which conversation a request belongs to, and what it continues. It tells
//! the checker that, the client's bytes and what left; it knows nothing of how the core decides.

mod agent;
mod body;
mod json;
mod script;

use std::collections::BTreeMap;

use bytes::Bytes;
use inkfast::prefix::policy::{Mutant, TextMode};
use inkfast::wire::format::Format;

use crate::harness::{Answer, Core, Turn};
use crate::invariants::{Checker, Told, Violation};
use agent::{Agent, Prompt};
use body::{Draft, Message};
use json::Style;

pub use script::{Act, Edit, End, Opener, Said, Script, Step, scripts};

/// How often each thing happened, by name.
pub type Counts = BTreeMap<String, usize>;

/// Host, format and models of each route.
const HOSTS: [(&str, Format, [&str; 2]); script::ROUTES] = [
    ("api.openai.com", Format::OpenaiChat, ["gpt-5.5", "gpt-6"]),
    ("localhost", Format::OpenaiChat, ["qwen-3", "qwen-4"]),
    (
        "api.anthropic.com",
        Format::AnthropicMessages,
        ["claude-opus-5", "claude-3-7-sonnet"],
    ),
    (
        "api.anthropic.com",
        Format::AnthropicMessages,
        ["claude-3-7-sonnet", "claude-opus-5"],
    ),
    (
        "gateway.example",
        Format::AnthropicMessages,
        ["claude-opus-5", "some-model"],
    ),
    (
        "api.anthropic.com",
        Format::AnthropicMessages,
        ["claude-opus-5-5", "claude-opus-5"],
    ),
];

/// How a script is run.
#[derive(Clone, Copy, Default)]
pub struct How {
    /// A fault in the core, and the invariant that must show it.
    pub mutant: Option<(Mutant, u8)>,
    /// The ledger is a file.
    pub on_disk: bool,
}

/// Runs a script; the first violation ends it.
pub fn run(script: &Script, how: How, counts: &mut Counts) -> Result<(), Violation> {
    let mut world = World::new(script, how);
    let done = script.steps.iter().try_for_each(|step| world.step(step));
    for (name, count) in std::mem::take(&mut world.counts) {
        *counts.entry(name).or_default() += count;
    }
    done
}

struct World<'s> {
    script: &'s Script,
    core: Core,
    format: Format,
    models: [&'static str; 2],
    checker: Checker,
    agents: Vec<Agent>,
    conversations: usize,
    fresh: u32,
    counts: Counts,
}

impl<'s> World<'s> {
    fn new(script: &'s Script, how: How) -> Self {
        let (host, format, models) = HOSTS[script.route];
        let mut core = Core::new(format, host);
        core.mutant = how.mutant.map(|(mutant, _)| mutant);
        core.loopback = script.loopback;
        core.text = [None, None, Some(TextMode::Full), Some(TextMode::Delta)][usize::from(script.text % 4)];
        if how.on_disk {
            core = core.on_disk();
        }
        let checker = Checker::new(
            format,
            host == "api.anthropic.com",
            script.loopback,
            how.mutant.map(|(_, invariant)| invariant),
        );
        let mut world = Self {
            script,
            core,
            format,
            models,
            checker,
            agents: Vec::new(),
            conversations: 0,
            fresh: 0,
            counts: Counts::new(),
        };
        let first = world.agent(0, None);
        world.agents.push(first);
        world
    }

    fn step(&mut self, step: &Step) -> Result<(), Violation> {
        self.core.now_ms += step.idle * 1000;
        if step.reopen {
            self.core.reopen();
            self.count("reopened");
        }
        let index = step.who % self.agents.len();
        let mut agent = self.agents[index].clone();
        let edited = !matches!(step.act, Act::Retry | Act::TwinsPlanned | Act::TwinsSent);
        if edited {
            let n = self.next();
            agent.edit(step.edit, n);
            self.count(&format!("{:?}", step.edit));
        }
        self.count(&format!("{:?}", step.act));
        // A sub-agent's own sub-agent would have nearly its head: no proxy could tell it from an edit.
        let nested = step.act == Act::SubAgent && agent.tools == ["search"];
        match if nested { Act::Next } else { step.act } {
            Act::Retry => return self.retry(index, step),
            Act::TwinsPlanned | Act::TwinsSent => return self.twins(index, step),
            Act::SubAgent | Act::Title | Act::NewUser | Act::NewChat => {
                agent = self.another(&agent, step);
                self.turn(&mut agent, step);
                let done = self.request(&mut agent, step);
                self.agents.push(agent);
                return done;
            }
            act => self.act(&mut agent, act, step),
        }
        let done = self.request(&mut agent, step);
        self.agents[index] = agent;
        done
    }

    /// What an agent does to its own history before it asks.
    fn act(&mut self, agent: &mut Agent, act: Act, step: &Step) {
        match act {
            Act::Regenerate if agent.is_answered() => {
                agent.history.pop();
                agent.follows = None;
                return;
            }
            Act::EditEarlier | Act::BackTwo => {
                let turns = agent.user_turns();
                let back = if act == Act::BackTwo {
                    turns.len().checked_sub(2)
                } else {
                    Some(step.pick % turns.len().max(1))
                };
                if let Some(at) = back.and_then(|back| turns.get(back)) {
                    agent.history.truncate(*at);
                    agent.follows = None;
                    let n = self.next();
                    agent
                        .history
                        .push(Message::User(format!("Instead, look at part {n}.")));
                    return;
                }
            }
            Act::Compact => {
                let kept = agent.clone();
                agent.complete();
                if agent.history.len() > 2 {
                    let n = self.next();
                    let summary = format!("Summary {n} of what was said so far: the work goes on.");
                    let tail = match (step.pick % 2, kept_pair(&agent.history)) {
                        (0, Some(pair)) => pair,
                        _ => Vec::new(),
                    };
                    agent.history = vec![match self.format {
                        Format::OpenaiChat => Message::System(summary),
                        Format::AnthropicMessages => Message::User(summary),
                    }];
                    agent.history.extend(tail);
                    agent.follows = None;
                } else {
                    *agent = kept;
                }
            }
            Act::Model => {
                let other = self.models.iter().find(|model| **model != agent.model);
                agent.model = (*other.unwrap_or(&self.models[0])).to_owned();
            }
            Act::Tools => {
                agent.tools.push(format!("tool_{}", step.pick));
                agent.follows = None;
            }
            Act::Tidy => {
                let turns = agent.user_turns();
                if let Some(Message::Reminded(_, said)) = turns.last().map(|at| agent.history[*at].clone()) {
                    agent.history[turns[turns.len() - 1]] = Message::User(said);
                    agent.follows = None;
                    self.count("tidied");
                }
            }
            Act::Prune => {
                let results = agent.history.iter_mut().find_map(|message| match message {
                    Message::Results(results, _) => results.first_mut(),
                    _ => None,
                });
                if let Some(result) = results {
                    result.1 = "[cleared]".to_owned();
                    agent.follows = None;
                    self.count("pruned");
                }
            }
            _ => {}
        }
        if act == Act::OwnSystem && agent.calls().is_empty() && !agent.history.is_empty() {
            let n = self.next();
            let own = Message::System(format!("The harness notes: mode {n} is on."));
            match self.format {
                Format::OpenaiChat => agent.history.push(own),
                // Behind the user's turn, where the provider takes it.
                Format::AnthropicMessages => {
                    self.turn(agent, step);
                    return agent.history.push(own);
                }
            }
        }
        self.turn(agent, step);
    }

    /// The next turn of the user, or of the tools.
    fn turn(&mut self, agent: &mut Agent, step: &Step) {
        let n = self.next();
        let calls = agent.calls();
        if !calls.is_empty() {
            self.count("tool results");
            let results = calls
                .into_iter()
                .map(|id| (id.clone(), format!("contents of {id}")));
            let said = (step.pick.is_multiple_of(5)).then(|| format!("And mind part {n}."));
            return agent.history.push(Message::Results(results.collect(), said));
        }
        let last = agent.history.last();
        let open = matches!(
            last,
            Some(Message::User(_) | Message::Reminded(..) | Message::Results(..))
        );
        if open
            && (step.pick.is_multiple_of(2) || matches!(agent.history.last(), Some(Message::Results(..))))
            && agent.last.is_some()
        {
            return self.count("asked again");
        }
        if open && agent.last.is_some() {
            agent.follows = None;
            self.count("interrupted");
        }
        agent
            .history
            .push(match (agent.history.is_empty(), step.pick % 6) {
                (true, pick) if pick < 4 => self.opener(),
                (_, 0) => Message::User("Go on.".to_owned()),
                (_, 1) => Message::Reminded(
                    format!("<system-reminder>note {n}</system-reminder>"),
                    format!("Do part {n}."),
                ),
                _ => Message::User(format!("Do part {n}, please – carefully.")),
            });
    }

    fn opener(&self) -> Message {
        Message::User(match self.script.opener {
            Opener::Greeting | Opener::FewShot => "Hello!".to_owned(),
            Opener::Task => "Look at the project and fix the tests in src/lib.rs.".to_owned(),
        })
    }

    /// One request of `agent`, checked, sent and answered.
    fn request(&mut self, agent: &mut Agent, step: &Step) -> Result<(), Violation> {
        let n = self.next();
        let draft = agent.draft(self.format, n);
        let turn = self.send(agent, &draft)?;
        agent.last = Some(draft);
        self.end(agent, &turn, step);
        Ok(())
    }

    fn send(&mut self, agent: &Agent, draft: &Draft) -> Result<Turn, Violation> {
        let body = draft.write();
        let again = Checker::again(&mut self.core, &body, &agent.hints());
        let turn = self.core.send(&body, agent.hints());
        self.check(agent, &body, &turn, Some(again))?;
        Ok(turn)
    }

    fn check(
        &mut self,
        agent: &Agent,
        body: &Bytes,
        turn: &Turn,
        again: Option<Bytes>,
    ) -> Result<(), Violation> {
        self.count("requests");
        self.count(&format!("outcome {}", turn.plan.outcome.as_str()));
        self.count(&format!("sent {}", turn.plan.sent.class.as_str()));
        if !turn.plan.anew.is_empty() {
            self.count("anew");
        }
        let told = Told {
            conversation: agent.conversation,
            follows: agent.follows.filter(|_| !agent.tools.is_empty()),
            hints: agent.hints(),
            again,
        };
        self.checker.check(&told, body, turn)
    }

    fn end(&mut self, agent: &mut Agent, turn: &Turn, step: &Step) {
        self.count(&format!("{:?}", step.end));
        let answer = self.answer(step);
        let status = match step.end {
            End::Answered | End::Unseen | End::Died => 200,
            End::Overloaded => 529,
            End::RateLimited => 429,
            End::Refused => 400,
        };
        let seen = step.end == End::Answered;
        let (text, calls) = match &answer {
            Message::Assistant { text, calls, .. } if seen => (text.clone(), calls.clone()),
            _ => (String::new(), Vec::new()),
        };
        if step.end != End::Died {
            self.core.end(turn.seq, &Answer { status, text, calls });
        }
        agent.follows = None;
        if status == 200 {
            let strong = !matches!(step.said, Said::Common | Said::Unique | Said::Thinking);
            if seen && step.said != Said::Common && (strong || self.script.loopback) {
                agent.follows = Some(turn.seq);
            }
            self.checker.answered(turn.seq, &answer_text(&answer), seen);
            agent.history.push(answer);
        } else {
            self.checker.failed(turn.seq, status);
        }
    }

    fn answer(&mut self, step: &Step) -> Message {
        let n = self.next();
        let anthropic = self.format == Format::AnthropicMessages;
        let (text, calls, thinking) = match step.said {
            Said::Unique => (format!("Part {n} is done."), 0, false),
            Said::Common => ("OK.".to_owned(), 0, false),
            Said::Long => (
                format!("Here is {n}. {}", "It was a long way. ".repeat(12)),
                0,
                false,
            ),
            Said::Calls(calls) => (String::new(), calls, false),
            Said::Thinking => (format!("I thought of {n}."), 0, anthropic),
            Said::ThinkingCalls => (format!("Let me see {n}."), 2, anthropic),
        };
        let calls = (0..calls).map(|index| format!("call_{n}_{index}")).collect();
        Message::Assistant {
            text,
            calls,
            thinking,
        }
    }

    /// The same body again, whatever became of it.
    fn retry(&mut self, index: usize, step: &Step) -> Result<(), Violation> {
        let mut agent = self.agents[index].clone();
        let Some(draft) = agent.last.clone() else {
            return Ok(());
        };
        agent.history = draft.history.clone();
        agent.follows = None;
        let turn = self.send(&agent, &draft)?;
        self.end(&mut agent, &turn, step);
        if step.pick.is_multiple_of(2) {
            self.agents[index] = agent;
        }
        Ok(())
    }

    /// Two requests of one agent in flight at once, of one head or of two.
    fn twins(&mut self, index: usize, step: &Step) -> Result<(), Violation> {
        let mut first = self.agents[index].clone();
        let n = self.next();
        first.edit(step.edit, n);
        self.turn(&mut first, step);
        let mut second = first.clone();
        if step.pick.is_multiple_of(3) {
            second.edit(Edit::Line, n + 1);
            self.count("twins of two heads");
        }
        let drafts = [first.draft(self.format, n), second.draft(self.format, n)];
        let bodies = drafts.each_ref().map(Draft::write);
        let turns = if step.act == Act::TwinsPlanned {
            let planned = bodies
                .each_ref()
                .map(|body| self.core.plan(body, first.hints()).unwrap());
            planned.map(|planned| self.core.leave(planned))
        } else {
            bodies.each_ref().map(|body| self.core.send(body, first.hints()))
        };
        self.check(&first, &bodies[0], &turns[0], None)?;
        // The second may continue what the first brought.
        second.follows = second.follows.filter(|_| step.act == Act::TwinsPlanned);
        self.check(&second, &bodies[1], &turns[1], None)?;
        let [draft_one, draft_two] = drafts;
        (first.last, second.last) = (Some(draft_one), Some(draft_two));
        self.end(&mut first, &turns[0], step);
        self.end(&mut second, &turns[1], step);
        self.agents[index] = if step.pick.is_multiple_of(2) {
            first
        } else {
            second
        };
        Ok(())
    }

    /// A new conversation beside that of `agent`.
    fn another(&mut self, agent: &Agent, step: &Step) -> Agent {
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

    fn agent(&mut self, person: usize, session: Option<String>) -> Agent {
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
        };
        let own = (dice(2, 8) == 0).then(|| format!("session-{conversation}"));
        let mut agent = Agent {
            conversation,
            person,
            session: session.or(own),
            prompt: Prompt::of(&format!("owner-{person}"), dice(2, 9) == 0),
            prompts: Vec::new(),
            role: if dice(3, 10) == 0 && self.format == Format::OpenaiChat {
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

    fn next(&mut self) -> u32 {
        self.fresh += 1;
        self.fresh
    }

    fn count(&mut self, name: &str) {
        *self.counts.entry(name.to_owned()).or_default() += 1;
    }
}

/// The last question and its answer.
fn kept_pair(history: &[Message]) -> Option<Vec<Message>> {
    let [.., question, answer] = history else {
        return None;
    };
    matches!(question, Message::User(_) | Message::Reminded(..))
        .then(|| vec![question.clone(), answer.clone()])
}

fn answer_text(answer: &Message) -> String {
    match answer {
        Message::Assistant { text, calls, .. } => format!("{text}|{}", calls.join(",")),
        _ => String::new(),
    }
}

/// A well-mixed number out of any.
fn mix(mut n: u64) -> u64 {
    for (shift, factor) in [(30, 0xbf58_476d_1ce4_e5b9), (27, 0x94d0_49bb_1331_11eb)] {
        n = (n ^ (n >> shift)).wrapping_mul(factor);
    }
    n ^ (n >> 31)
}
