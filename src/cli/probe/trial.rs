//! One row on trial: three requests, and what their answers say.
//!
//! The first request opens the conversation; the second goes on in it and shows what the cache serves when nothing was
//! changed; the third goes on in it with the update. Every trial has a conversation of its own, so that none finds in
//! the cache what another one left there. A row that works is then asked about in a tool loop.

use std::process;

use super::{
    ask::{Asker, Refusal, Reply, Unanswered},
    talk::{NEW, OLD, SECOND, Talk, Tool, Turn},
    tool_loop::{self, InLoop},
    updated::updated,
};
use crate::{
    prefix::policy::Row,
    proxy::now_ms,
    route::{Finding, Route},
    wire::answer::Reading,
};

/// A row to try.
pub struct Candidate {
    /// The row.
    pub row: Row,
    /// It is in the table.
    pub listed: bool,
}

/// What was found out about a row.
pub struct Trial {
    /// The row.
    pub row: Row,
    /// It is in the table.
    pub listed: bool,
    /// Whether the upstream takes a body with the update.
    pub accepted: Accepted,
    /// Whether the model follows the update.
    pub obeyed: Obeyed,
    /// Whether the prefix in front of the update is read from the cache again.
    pub kept: Kept,
    /// Whether an update may stand behind tool results.
    pub in_loop: InLoop,
    /// Prompt tokens of the request with the update.
    pub tokens: Option<u64>,
}

/// Whether the upstream takes a body with the update.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Accepted {
    /// It answered.
    Yes,
    /// It refused it, with the pattern of the table that its error matches.
    No(Refusal, Option<String>),
    /// It gave an answer that is not about the body.
    Unknown(String),
}

/// Whether the model follows the update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Obeyed {
    /// The answer carries the new codeword.
    New,
    /// It carries the old one.
    Old,
    /// It carries neither, though the model followed the rule in the system prompt.
    Neither,
    /// The prompt did not grow by the update: it never reached the model.
    Dropped,
    /// The model does not follow the rule in the system prompt either.
    NoRule,
    /// The same, though the answer carries the new codeword: it may only repeat what it read.
    Repeated,
    /// The answer was cut before it could tell.
    Cut,
    /// There is no answer.
    Unasked,
}

/// Whether the prefix in front of the update is read from the cache again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// Cached tokens, of those without an update.
    Yes(u64, u64),
    /// The same, but too few.
    No(u64, u64),
    /// The upstream counts no cached tokens.
    Uncounted,
    /// The cache did not serve the unchanged conversation either.
    NoCache,
    /// There is no answer.
    Unasked,
}

/// Holds a conversation for one row.
///
/// # Errors
/// The upstream does not answer it even without an update.
pub async fn hold(
    asker: &mut Asker,
    route: &Route,
    candidate: Candidate,
    number: usize,
) -> Result<Trial, Unanswered> {
    let name = format!("{:x}-{:x}-{number}", now_ms(), process::id());
    let talk = Talk::new(&name, asker.tokens);
    let opening = [("user", talk.first.as_str())];
    let (first, said) = asker.begin(&turn(&talk.before, &opening)).await?;
    let spoken = text(&said).trim();
    let spoken = if spoken.is_empty() {
        "I have read it."
    } else {
        spoken
    };
    let messages = [opening[0], ("assistant", spoken), ("user", SECOND)];
    let unchanged = match asker.ask(asker.body(&turn(&talk.before, &messages))).await? {
        Reply::Answered(reading) => reading,
        Reply::Refused(refusal) => return Err(Unanswered::Refused(refusal)),
    };
    let second = asker.body(&turn(&talk.after, &messages));
    let sent = updated(asker, route, candidate.row, [&first, &second], spoken);
    let told = match asker.ask(sent.map_err(Unanswered::Unmade)?).await {
        Ok(told) => told,
        Err(failure) => return Ok(candidate.unasked(Accepted::Unknown(failure.to_string()))),
    };
    let mut trial = match told {
        Reply::Answered(reading) => candidate.judge([&said, &unchanged, &reading]),
        Reply::Refused(refusal) => return Ok(candidate.unasked(Accepted::of(refusal, route))),
    };
    if trial.finding().is_none() {
        trial.in_loop = trial.ask_in_loop(asker, route, &name).await?;
    }
    Ok(trial)
}

/// Whether an answer carries the new codeword, and the old one not behind it.
pub fn follows_new(reading: &Reading) -> bool {
    at(reading, NEW) > at(reading, OLD)
}

impl Trial {
    /// Whether its update may stand in a tool loop. A model that does not follow rules proves nothing there either.
    async fn ask_in_loop(&self, asker: &Asker, route: &Route, name: &str) -> Result<InLoop, Unanswered> {
        match tool_loop::ask(asker, route, self.row, name).await {
            Ok(InLoop::Obeyed) if self.obeyed != Obeyed::New => Ok(InLoop::Accepted),
            Err(Unanswered::Failed(_)) => Ok(InLoop::Unknown),
            found => found,
        }
    }

    /// Nothing speaks against it, and each question was answered.
    pub fn is_proven(&self) -> bool {
        self.accepted == Accepted::Yes && self.obeyed == Obeyed::New && matches!(self.kept, Kept::Yes(..))
    }

    /// What speaks against it.
    pub fn finding(&self) -> Option<Finding> {
        match (&self.accepted, self.obeyed, self.kept) {
            (Accepted::No(..), ..) => Some(Finding::Refused),
            (_, Obeyed::Dropped, _) => Some(Finding::Dropped),
            (_, _, Kept::No(..)) => Some(Finding::Hoisted),
            (_, Obeyed::Old, _) => Some(Finding::Disobeyed),
            _ => None,
        }
    }

    /// It belongs into the table: a row that is there already by default, another one only when it is proven.
    pub fn is_good(&self) -> bool {
        self.is_proven() || self.listed && self.finding().is_none()
    }
}

impl Candidate {
    fn judge(self, [said, unchanged, told]: [&Reading; 3]) -> Trial {
        let total = |reading: &Reading| reading.usage.and_then(|usage| usage.input_total);
        Trial {
            row: self.row,
            listed: self.listed,
            accepted: Accepted::Yes,
            obeyed: obeyed([said, unchanged, told]),
            kept: kept([said, unchanged, told]),
            in_loop: InLoop::Unasked,
            tokens: total(told),
        }
    }

    fn unasked(self, accepted: Accepted) -> Trial {
        Trial {
            row: self.row,
            listed: self.listed,
            accepted,
            obeyed: Obeyed::Unasked,
            kept: Kept::Unasked,
            in_loop: InLoop::Unasked,
            tokens: None,
        }
    }
}

impl Accepted {
    fn of(refusal: Refusal, route: &Route) -> Self {
        if !refusal.is_about_the_body(route) {
            return Self::Unknown(refusal.to_string());
        }
        let pattern = route.refusal(&refusal.text).map(str::to_owned);
        Self::No(refusal, pattern)
    }
}

impl Refusal {
    /// Statuses of credentials, limits and load say nothing about the body.
    pub fn is_about_the_body(&self, route: &Route) -> bool {
        match self.status.as_u16() {
            400 | 413 | 422 => true,
            500 => route.refusal(&self.text).is_some(),
            _ => false,
        }
    }
}

fn turn<'a>(system: &'a str, messages: &'a [(&'static str, &'a str)]) -> Turn<'a> {
    let tool = Tool::None;
    Turn {
        system,
        messages,
        tool,
    }
}

/// Where a codeword stands last.
fn at(reading: &Reading, word: &str) -> Option<usize> {
    text(reading).to_uppercase().rfind(word)
}

fn text(reading: &Reading) -> &str {
    reading.answer.as_ref().map_or("", |answer| &answer.text)
}

/// By what the formats say that an answer reached its limit.
const CUT: [&str; 4] = ["length", "max_tokens", "MAX_TOKENS", "max_output_tokens"];

/// The last codeword of the answer counts: it is the one that ends it.
fn obeyed([said, unchanged, told]: [&Reading; 3]) -> Obeyed {
    let total = |reading: &Reading| reading.usage.and_then(|usage| usage.input_total);
    let follows = [said, unchanged]
        .into_iter()
        .any(|reading| at(reading, OLD).is_some());
    let dropped = total(told)
        .zip(total(unchanged))
        .is_some_and(|(with, without)| with <= without);
    let cut = told.stop.as_deref().is_some_and(|stop| CUT.contains(&stop));
    match (at(told, NEW), at(told, OLD)) {
        _ if dropped => Obeyed::Dropped,
        (new, old) if new > old && follows => Obeyed::New,
        (new, old) if new > old => Obeyed::Repeated,
        _ if !follows => Obeyed::NoRule,
        (_, Some(_)) => Obeyed::Old,
        _ if cut => Obeyed::Cut,
        _ => Obeyed::Neither,
    }
}

/// The opening request is the prefix that both later ones share. Providers count cached tokens in steps, and a template
/// may write the last turn in another way, so most of it is enough.
fn kept([said, unchanged, told]: [&Reading; 3]) -> Kept {
    let cached = |reading: &Reading| reading.usage.and_then(|usage| usage.cache_read);
    let opening = said.usage.and_then(|usage| usage.input_total);
    let (Some(opening), Some(without), Some(with)) = (opening, cached(unchanged), cached(told)) else {
        return Kept::Uncounted;
    };
    if without * 2 < opening {
        return Kept::NoCache;
    }
    if with * 4 >= without.min(opening) * 3 {
        Kept::Yes(with, without)
    } else {
        Kept::No(with, without)
    }
}
