//! A world of agents that talk to models through the core: each script is one random run of it.
//!
//! The world knows what no proxy can know: which conversation a request belongs to, and what it continues. It tells
//! the checker that, the client's bytes and what left; it knows nothing of how the core decides.

mod acts;
mod agent;
pub mod body;
pub mod json;
mod people;
mod script;

use std::collections::BTreeMap;

use bytes::Bytes;
use inkfast::prefix::policy::{Mutant, TextMode};
use inkfast::wire::format::Format;

use crate::harness::{Answer, Core, Turn};
use crate::invariants::{Checker, Told, Violation};
use agent::Agent;
use body::{Draft, Message};

use script::{Act, Edit, End, Said, Step};
pub use script::{ROUTES, Script, routes, scripts};

/// How often each thing happened, by name.
pub type Counts = BTreeMap<String, usize>;

/// Host, format and models of each route.
const HOSTS: [(&str, Format, [&str; 2]); ROUTES] = [
    ("api.openai.com", Format::OpenaiChat, ["gpt-5.5", "gpt-6"]),
    ("localhost", Format::OpenaiChat, ["qwen-3", "qwen-4"]),
    (
        ANTHROPIC,
        Format::AnthropicMessages,
        ["claude-opus-5", "claude-3-7-sonnet"],
    ),
    (
        ANTHROPIC,
        Format::AnthropicMessages,
        ["claude-3-7-sonnet", "claude-opus-5"],
    ),
    (
        "gateway.example",
        Format::AnthropicMessages,
        ["claude-opus-5", "some-model"],
    ),
    (
        ANTHROPIC,
        Format::AnthropicMessages,
        ["claude-opus-5-5", "claude-opus-5"],
    ),
    ("api.openai.com", Format::OpenaiResponses, ["gpt-5.5", "gpt-6.1"]),
    ("api.openai.com", Format::OpenaiResponses, ["gpt-6.2", "gpt-7"]),
    ("localhost", Format::OpenaiResponses, ["gpt-5.5", "gpt-6"]),
    (
        "generativelanguage.googleapis.com",
        Format::Gemini,
        ["gemini-3.5-flash", "gemini-3.1-pro"],
    ),
    (BEDROCK, Format::BedrockConverse, [OPUS, "amazon.nova-pro-v1:0"]),
    (BEDROCK, Format::BedrockConverse, ["amazon.nova-pro-v1:0", OPUS]),
    ("localhost", Format::Ollama, ["qwen3:8b", "llama3.2"]),
];

const ANTHROPIC: &str = "api.anthropic.com";
const BEDROCK: &str = "bedrock-runtime.us-east-1.amazonaws.com";
const OPUS: &str = "anthropic.claude-opus-5-v1:0";

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
            host == ANTHROPIC,
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
        self.core.model = path_model(draft);
        let again = Checker::again(&mut self.core, &body, &agent.hints());
        let turn = self.core.send(&body, agent.hints());
        self.check((agent, draft), &body, &turn, Some(again))?;
        Ok(turn)
    }

    fn check(
        &mut self,
        (agent, draft): (&Agent, &Draft),
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
            model: draft.model.clone(),
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
            let calls = calls.iter().map(|id| self.known_by(id)).collect();
            self.core.end(turn.seq, &Answer { status, text, calls });
        }
        agent.follows = None;
        if status == 200 {
            // What calls without ids say may come up anywhere.
            let plain = matches!(self.format, Format::Gemini | Format::Ollama) && step.said != Said::Long;
            let strong = !plain && !matches!(step.said, Said::Common | Said::Unique | Said::Thinking);
            if seen && step.said != Said::Common && (strong || self.script.loopback) {
                agent.follows = Some(turn.seq);
            }
            self.checker.answered(turn.seq, &answer_text(&answer), seen);
            if step.end == End::Died {
                self.checker.died(turn.seq);
            }
            agent.history.push(answer);
        } else {
            self.checker.failed(turn.seq, status);
        }
    }

    fn answer(&mut self, step: &Step) -> Message {
        let n = self.next();
        let thinks = self.format != Format::OpenaiChat;
        let (text, calls, thinking) = match step.said {
            Said::Unique => (format!("Part {n} is done."), 0, false),
            Said::Common => ("OK.".to_owned(), 0, false),
            Said::Long => (
                format!("Here is {n}. {}", "It was a long way. ".repeat(12)),
                0,
                false,
            ),
            Said::Calls(calls) => (String::new(), calls, false),
            Said::Thinking => (format!("I thought of {n}."), 0, thinks),
            Said::ThinkingCalls => (format!("Let me see {n}."), 2, thinks),
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
        self.core.model = path_model(&drafts[0]);
        let turns = if step.act == Act::TwinsPlanned {
            let planned = bodies
                .each_ref()
                .map(|body| self.core.plan(body, first.hints()).unwrap());
            planned.map(|planned| self.core.leave(planned))
        } else {
            bodies.each_ref().map(|body| self.core.send(body, first.hints()))
        };
        self.check((&first, &drafts[0]), &bodies[0], &turns[0], None)?;
        // The second may continue what the first brought.
        second.follows = second.follows.filter(|_| step.act == Act::TwinsPlanned);
        self.check((&second, &drafts[1]), &bodies[1], &turns[1], None)?;
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

    /// What the proxy knows a call by: its id, or where there is none its name and its arguments in the order of
    /// their keys.
    fn known_by(&self, id: &str) -> String {
        match self.format {
            Format::Gemini | Format::Ollama => format!("read_file{{\"deep\":true,\"path\":\"{id}.rs\"}}"),
            _ => id.to_owned(),
        }
    }

    fn next(&mut self) -> u32 {
        self.fresh += 1;
        self.fresh
    }

    fn count(&mut self, name: &str) {
        *self.counts.entry(name.to_owned()).or_default() += 1;
    }
}

/// The model of a request whose path names it.
fn path_model(draft: &Draft) -> Option<String> {
    matches!(draft.format, Format::Gemini | Format::BedrockConverse).then(|| draft.model.clone())
}

fn answer_text(answer: &Message) -> String {
    match answer {
        Message::Assistant { text, calls, .. } => format!("{text}|{}", calls.join(",")),
        _ => String::new(),
    }
}
