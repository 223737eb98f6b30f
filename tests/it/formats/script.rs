//! The conversation: what the client does, one request after another.

/// One request.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    pub act: Act,
    /// What the client's head says.
    pub mode: &'static str,
    pub answer: Reply,
}

/// What the client does to its history first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Act {
    /// The user says something new.
    Say(&'static str),
    /// The results of the open calls.
    Results,
    /// The same body once more; the answer takes the place of the one before.
    Retry,
    /// The last answer is asked for again.
    Regenerate,
    /// The question with this number (from 0) is asked otherwise, and all behind it is gone.
    Branch(usize, &'static str),
    /// A summary takes the place of the history.
    Compact,
    /// The conversation goes on with the other model.
    Switch(&'static str),
    /// Another conversation asks for a title, with a head of its own.
    Side,
    /// The service is killed and started again, then as `Say`.
    Restart(&'static str),
}

/// What the model answers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reply {
    Text,
    /// A call with thinking in front, where the format has it.
    Call,
    /// 529, and nothing is added to the history.
    Overloaded,
}

const fn step(act: Act, mode: &'static str, answer: Reply) -> Step {
    Step { act, mode, answer }
}

use Act::*;
use Reply::*;

pub const STEPS: [Step; 19] = [
    step(Say("Look at the project."), "plan", Text),
    step(Say("Name its parts."), "build", Text),
    // A -> B -> A comes back.
    step(Say("Name the tests."), "plan", Text),
    step(Say("Read the parser."), "plan", Call),
    step(Results, "plan", Call),
    // An edit between two calls.
    step(Results, "review", Call),
    step(Results, "review", Text),
    step(Restart("What did you find?"), "review", Text),
    step(Say("Mend it."), "ship", Text),
    step(Retry, "ship", Text),
    step(Side, "-", Text),
    step(Say("Show the change."), "ship", Overloaded),
    step(Retry, "ship", Text),
    step(Regenerate, "ship", Text),
    step(Switch("Explain it."), "ship", Text),
    step(Switch("In few words."), "ship", Text),
    step(Branch(2, "Name the slow tests."), "audit", Text),
    step(Compact, "audit", Text),
    step(Say("Go on from there."), "close", Text),
];
