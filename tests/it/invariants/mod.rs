//! The invariants of ARCHITECTURE.md that hold over any conversation, checked over random ones.

pub mod body;
mod check;
mod effective;
mod pairs;
pub mod tree;

use inkfast::prefix::policy::Mutant;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};

use crate::conversations::{Counts, How, run, scripts};

pub use check::{Checker, Told, Violation};

/// A runner whose conversations are the same on every machine.
fn runner(cases: u32, seed: u8) -> TestRunner {
    let config = Config {
        cases,
        max_shrink_iters: 2000,
        failure_persistence: None,
        ..Config::default()
    };
    TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &[seed; 32]))
}

/// Runs random conversations, and shrinks the first that breaks an invariant.
fn hold(cases: u32, seed: u8, on_disk: bool) -> Counts {
    let counts = std::cell::RefCell::new(Counts::new());
    let how = How {
        on_disk,
        mutant: None,
    };
    let done = runner(cases, seed).run(&scripts(), |script| {
        run(&script, how, &mut counts.borrow_mut()).map_err(|Violation { invariant, what }| {
            TestCaseError::fail(format!("invariant {invariant}: {what}"))
        })
    });
    if let Err(failure) = done {
        panic!("{failure}");
    }
    counts.into_inner()
}

/// Every kind of event must come up often enough that the runs mean something.
fn assert_reached(counts: &Counts, names: &[&str], least: usize) {
    for name in names {
        let count = counts.get(*name).copied().unwrap_or(0);
        assert!(count >= least, "{name} only {count} times in {counts:#?}");
    }
}

// Two tests of half the conversations each: they run side by side.
#[test]
fn hold_over_random_conversations() {
    reached(&hold(
        number("INKFAST_CASES", 1000),
        number("INKFAST_SEED", 1) as u8,
        false,
    ));
}

#[test]
fn hold_over_more_random_conversations() {
    reached(&hold(1000, 2, false));
}

#[test]
fn hold_over_random_conversations_on_disk() {
    let counts = hold(100, 3, true);
    assert_reached(&counts, &["reopened"], 100);
}

fn reached(counts: &Counts) {
    let acts = [
        "Next",
        "Retry",
        "Regenerate",
        "EditEarlier",
        "BackTwo",
        "TwinsPlanned",
        "TwinsSent",
        "Compact",
    ];
    assert_reached(counts, &acts, 150);
    let acts = [
        "Model",
        "SubAgent",
        "Title",
        "NewUser",
        "NewChat",
        "OwnSystem",
        "Tools",
    ];
    assert_reached(counts, &acts, 80);
    let edits = [
        "Line",
        "Todo",
        "Clock",
        "AppendBlock",
        "SeveralBlocks",
        "Reorder",
        "Clear",
        "Back",
        "Whitespace",
    ];
    assert_reached(counts, &edits, 100);
    let ends = [
        "Answered",
        "Unseen",
        "Died",
        "Overloaded",
        "RateLimited",
        "Refused",
    ];
    assert_reached(counts, &ends, 100);
    let more = [
        "reopened",
        "tool results",
        "asked again",
        "interrupted",
        "twins of two heads",
    ];
    assert_reached(counts, &more, 100);
    assert_reached(
        counts,
        &["tidied", "pruned", "anew", "outcome deferred", "outcome no_slot"],
        10,
    );
    let outcomes = [
        "outcome append",
        "outcome replace",
        "outcome removal",
        "outcome rebaseline(tools)",
        "outcome adopted",
    ];
    assert_reached(counts, &outcomes, 20);
}

/// A fault in the planner must be caught by the invariant that it breaks.
fn caught(mutant: Mutant, invariant: u8) {
    let how = How {
        mutant: Some((mutant, invariant)),
        on_disk: false,
    };
    let mut runner = runner(1, 5);
    let broken = (0..300).any(|_| {
        let script = scripts().new_tree(&mut runner).unwrap().current();
        run(&script, how, &mut Counts::new()).is_err()
    });
    assert!(broken, "{mutant:?} was not caught by invariant {invariant}");
}

#[test]
fn a_touched_body_is_caught() {
    caught(Mutant::TouchUntouched, 1);
}

#[test]
fn a_forgotten_node_is_caught() {
    caught(Mutant::ForgetNode, 2);
}

#[test]
fn a_thawed_head_is_caught() {
    caught(Mutant::ThawHead, 2);
}

#[test]
fn a_comparison_with_the_first_prompt_is_caught() {
    caught(Mutant::CompareWithFirst, 3);
}

#[test]
fn a_lost_item_is_caught() {
    caught(Mutant::LoseItem, 4);
}

#[test]
fn a_clock_in_a_node_is_caught() {
    caught(Mutant::ClockInNode, 5);
}

#[test]
fn a_split_pair_is_caught() {
    caught(Mutant::SplitPair, 6);
}

#[test]
fn a_missing_proof_is_caught() {
    caught(Mutant::AskNoEvidence, 11);
}

fn number(name: &str, default: u32) -> u32 {
    std::env::var(name)
        .ok()
        .and_then(|number| number.parse().ok())
        .unwrap_or(default)
}
