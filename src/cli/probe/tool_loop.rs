//! A row in a tool loop: may an update stand behind tool results, and is it followed there?
//!
//! Two short requests that end in a tool's result, one as it is and one with the update. The call is made up: what is
//! asked is whether the form is taken. That the cache keeps what stands in front, the row's trial has shown.

use super::{
    ask::{Asker, Refusal, Reply, Unanswered},
    talk::{COUNT, Talk, Tool, Turn},
    trial::follows_new,
    updated::updated,
};
use crate::{
    prefix::policy::{Row, ToolLoop},
    route::Route,
};

/// What an upstream does with an update behind tool results.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InLoop {
    /// It takes it, and the model follows it.
    Obeyed,
    /// It takes it.
    Accepted,
    /// It takes the tool loop, but not with the update.
    Refused(Refusal),
    /// It does not take the tool loop either, or gave an answer that is not about the body.
    Unknown,
    /// The row does not work, or its update waits in a tool loop whatever the upstream takes.
    Unasked,
}

impl InLoop {
    /// What the table should say of a row that says `listed`: what was proven, else what it says.
    pub fn proven(&self, listed: ToolLoop) -> ToolLoop {
        match (self, listed) {
            (Self::Obeyed, _) => ToolLoop::AfterResults,
            (Self::Refused(_), ToolLoop::AfterResults) => ToolLoop::Pass,
            _ => listed,
        }
    }
}

/// Asks for one row.
///
/// # Errors
/// There is no answer.
pub async fn ask(asker: &Asker, route: &Route, row: Row, name: &str) -> Result<InLoop, Unanswered> {
    if row.tool_loop == ToolLoop::Wait || !asker.shape.loops {
        return Ok(InLoop::Unasked);
    }
    let talk = Talk::new(&format!("{name}-loop"), 0);
    let messages = [
        ("user", talk.first.as_str()),
        ("assistant", "I have read it."),
        ("user", COUNT),
    ];
    let turn = |system, length, tool| Turn {
        system,
        messages: &messages[..length],
        tool,
    };
    let unchanged = asker.body(&turn(&talk.before, 3, Tool::Called));
    if let Reply::Refused(_) = asker.ask(unchanged).await? {
        return Ok(InLoop::Unknown);
    }
    let first = asker.body(&turn(&talk.before, 1, Tool::Declared));
    let second = asker.body(&turn(&talk.after, 3, Tool::Called));
    let row = Row {
        tool_loop: ToolLoop::AfterResults,
        ..row
    };
    let sent = updated(asker, route, row, [&first, &second], messages[1].1);
    Ok(match asker.ask(sent.map_err(Unanswered::Unmade)?).await? {
        Reply::Answered(reading) if follows_new(&reading) => InLoop::Obeyed,
        Reply::Answered(_) => InLoop::Accepted,
        Reply::Refused(refusal) if refusal.is_about_the_body(route) => InLoop::Refused(refusal),
        Reply::Refused(_) => InLoop::Unknown,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_proven_changes_a_row() {
        let (after, pass) = (ToolLoop::AfterResults, ToolLoop::Pass);
        for (found, of_pass, of_after) in [
            (InLoop::Obeyed, after, after),
            (InLoop::Accepted, pass, after),
            (InLoop::Unknown, pass, after),
        ] {
            assert_eq!((found.proven(pass), found.proven(after)), (of_pass, of_after));
        }
        assert_eq!(InLoop::Unasked.proven(ToolLoop::Wait), ToolLoop::Wait);
    }
}
