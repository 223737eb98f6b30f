//! What may happen in a world of agents, as values that proptest makes and shrinks.

use std::ops::Range;

use proptest::prelude::*;

/// One run: the route, how its agents write, and what happens.
#[derive(Clone, Debug)]
pub struct Script {
    pub route: usize,
    pub loopback: bool,
    pub text: u8,
    pub seed: u64,
    pub opener: Opener,
    pub steps: Vec<Step>,
}

/// How the first conversation opens.
#[derive(Clone, Copy, Debug)]
pub enum Opener {
    Task,
    Greeting,
    FewShot,
}

/// One event.
#[derive(Clone, Debug)]
pub struct Step {
    pub who: usize,
    pub act: Act,
    pub edit: Edit,
    pub said: Said,
    pub end: End,
    pub reopen: bool,
    /// Settles what the act leaves open.
    pub pick: usize,
    /// Seconds since the step before.
    pub idle: u64,
}

/// What an agent does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Act {
    Next,
    Regenerate,
    EditEarlier,
    BackTwo,
    Retry,
    TwinsPlanned,
    TwinsSent,
    Compact,
    Model,
    SubAgent,
    Title,
    NewUser,
    NewChat,
    OwnSystem,
    Tidy,
    Tools,
    Prune,
}

/// What happens to the agent's head before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Edit {
    None,
    Line,
    Todo,
    Clock,
    AppendBlock,
    SeveralBlocks,
    Reorder,
    Clear,
    Back,
    Whitespace,
}

/// What the model answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Said {
    Unique,
    Common,
    Long,
    Calls(usize),
    Thinking,
    ThinkingCalls,
}

/// How a request ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum End {
    Answered,
    /// Answered, and the proxy did not see with what.
    Unseen,
    /// The proxy dies: it does not know how the request ended; the client has the answer.
    Died,
    Overloaded,
    RateLimited,
    Refused,
}

pub const ROUTES: usize = 13;

/// Every route, or the one alone to look into what was found there.
pub fn routes() -> Range<usize> {
    match std::env::var("INKFAST_ROUTE")
        .ok()
        .and_then(|route| route.parse().ok())
    {
        Some(route) => route..route + 1,
        None => 0..ROUTES,
    }
}

/// Runs on one route.
pub fn scripts(route: usize) -> impl Strategy<Value = Script> {
    let opener = prop_oneof![Just(Opener::Task), Just(Opener::Greeting), Just(Opener::FewShot)];
    let steps = prop::collection::vec(step(), 5..13);
    (prop::bool::weighted(0.8), 0..4u8, any::<u64>(), opener, steps).prop_map(
        move |(loopback, text, seed, opener, steps)| Script {
            route,
            loopback,
            text,
            seed,
            opener,
            steps,
        },
    )
}

fn step() -> impl Strategy<Value = Step> {
    let idle = prop_oneof![60 => 1..60u64, 1 => Just(4000)];
    (
        0..8usize,
        act(),
        edit(),
        said(),
        end(),
        prop::bool::weighted(0.3),
        0..64usize,
        idle,
    )
        .prop_map(|(who, act, edit, said, end, reopen, pick, idle)| Step {
            who,
            act,
            edit,
            said,
            end,
            reopen,
            pick,
            idle,
        })
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        36 => Just(Act::Next),
        4 => Just(Act::Regenerate),
        4 => Just(Act::EditEarlier),
        3 => Just(Act::BackTwo),
        5 => Just(Act::Retry),
        3 => Just(Act::TwinsPlanned),
        3 => Just(Act::TwinsSent),
        3 => Just(Act::Compact),
        3 => Just(Act::Model),
        3 => Just(Act::SubAgent),
        2 => Just(Act::Title),
        4 => Just(Act::NewUser),
        2 => Just(Act::NewChat),
        2 => Just(Act::OwnSystem),
        2 => Just(Act::Tidy),
        1 => Just(Act::Tools),
        2 => Just(Act::Prune),
    ]
}

fn edit() -> impl Strategy<Value = Edit> {
    prop_oneof![
        30 => Just(Edit::None),
        8 => Just(Edit::Line),
        5 => Just(Edit::Todo),
        5 => Just(Edit::Clock),
        3 => Just(Edit::AppendBlock),
        3 => Just(Edit::SeveralBlocks),
        2 => Just(Edit::Reorder),
        2 => Just(Edit::Clear),
        8 => Just(Edit::Back),
        2 => Just(Edit::Whitespace),
    ]
}

fn said() -> impl Strategy<Value = Said> {
    prop_oneof![
        8 => Just(Said::Unique),
        3 => Just(Said::Common),
        2 => Just(Said::Long),
        6 => (1..4usize).prop_map(Said::Calls),
        2 => Just(Said::Thinking),
        2 => Just(Said::ThinkingCalls),
    ]
}

fn end() -> impl Strategy<Value = End> {
    prop_oneof![
        30 => Just(End::Answered),
        2 => Just(End::Unseen),
        1 => Just(End::Died),
        1 => Just(End::Overloaded),
        1 => Just(End::RateLimited),
        1 => Just(End::Refused),
    ]
}
