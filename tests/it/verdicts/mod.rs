//! Every class and cause by its right name: fixtures, and conversations at random in every format, each changed in exactly
//! one way.

mod confusion;
mod difference;
mod fixtures;
mod mutation;
mod property;
mod talk;

use bytes::Bytes;
use inkfast::prefix::Verdict;
use inkfast::prefix::item::Hints;
use inkfast::wire::format::Format;
use serde_json::Value;

use crate::harness::{Answer, Core};
use crate::translate::{model_in_path, route_of};

/// An answer that chance does not repeat.
pub const ANSWER: &str = "This is what came of it: the parser was split into two files, each with its own tests, and the \
    printer was left as it was because nothing in it had to change; the notes say where each part went and why it went there.";

/// What the client did by sending `after` behind `before`, which was answered with [`ANSWER`].
pub fn received(format: Format, [before, after]: [&Bytes; 2], models: [&str; 2]) -> Verdict {
    let mut core = core(format);
    let answer = Answer {
        status: 200,
        text: ANSWER.to_owned(),
        calls: Vec::new(),
    };
    core.model = model_in_path(format).then(|| models[0].to_owned());
    core.exchange(before, Hints::default(), &answer);
    core.model = model_in_path(format).then(|| models[1].to_owned());
    core.exchange(after, Hints::default(), &answer).received
}

fn core(format: Format) -> Core {
    Core::new(format, route_of(format, true).0)
}

fn bytes(value: &Value) -> Bytes {
    Bytes::from(value.to_string())
}
