//! What agents do to their histories.

use inkfast::wire::format::Format;

use super::World;
use super::agent::Agent;
use super::body::Message;
use super::script::{Act, Opener, Step};

impl World<'_> {
    /// What an agent does to its own history before it asks.
    pub fn act(&mut self, agent: &mut Agent, act: Act, step: &Step) {
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
                        Format::OpenaiChat | Format::OpenaiResponses | Format::Ollama => {
                            Message::System(summary)
                        }
                        _ => Message::User(summary),
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
                Format::OpenaiChat | Format::OpenaiResponses | Format::Ollama => agent.history.push(own),
                // Behind the user's turn, where the provider takes it.
                _ => {
                    self.turn(agent, step);
                    return agent.history.push(own);
                }
            }
        }
        self.turn(agent, step);
    }

    /// The next turn of the user, or of the tools.
    pub fn turn(&mut self, agent: &mut Agent, step: &Step) {
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
}

/// The last question and its answer.
fn kept_pair(history: &[Message]) -> Option<Vec<Message>> {
    let [.., question, answer] = history else {
        return None;
    };
    matches!(question, Message::User(_) | Message::Reminded(..))
        .then(|| vec![question.clone(), answer.clone()])
}
