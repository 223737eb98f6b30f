//! The invariants of ARCHITECTURE.md that hold over any conversation, checked over random ones.

pub mod body;
mod check;
mod effective;
mod pairs;
pub mod tree;

use inkfast::prefix::policy::Mutant;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};

use crate::conversations::{Counts, How, ROUTES, routes, run, scripts};

pub use check::{Checker, Told, Violation};

/// A runner whose conversations are the same on every machine, and on a route alone.
fn runner(cases: u32, seed: u8, route: usize) -> TestRunner {
    let config = Config {
        cases,
        max_shrink_iters: 2000,
        failure_persistence: None,
        ..Config::default()
    };
    let mut seed = [seed; 32];
    seed[0] = route as u8;
    TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &seed))
}

/// Runs random conversations on each route, and shrinks the first of a route that breaks an invariant.
fn hold(per_route: u32, seed: u8, on_disk: bool) -> Counts {
    let counts = std::cell::RefCell::new(Counts::new());
    let how = How {
        on_disk,
        mutant: None,
    };
    let broken: Vec<String> = routes()
        .filter_map(|route| {
            let done = runner(per_route, seed, route).run(&scripts(route), |script| {
                run(&script, how, &mut counts.borrow_mut()).map_err(|Violation { invariant, what }| {
                    TestCaseError::fail(format!("invariant {invariant}: {what}"))
                })
            });
            done.err().map(|failure| failure.to_string())
        })
        .collect();
    assert!(broken.is_empty(), "{}", broken.join("\n"));
    counts.into_inner()
}

/// Every kind of event must come up often enough that the runs mean something.
fn assert_reached(counts: &Counts, names: &[&str], least: usize) {
    if std::env::var_os("INKFAST_ROUTE").is_some() {
        // One route alone is a search for a failure, and too small to reach all.
        return;
    }
    for name in names {
        let count = counts.get(*name).copied().unwrap_or(0);
        assert!(count >= least, "{name} only {count} times in {counts:#?}");
    }
}

/// Conversations on each route in a test.
const PER_ROUTE: u32 = 75;

// Two tests of half the conversations each: they run side by side.
#[test]
fn hold_over_random_conversations() {
    reached(&hold(
        number("INKFAST_CASES", PER_ROUTE),
        number("INKFAST_SEED", 1) as u8,
        false,
    ));
}

#[test]
fn hold_over_more_random_conversations() {
    reached(&hold(PER_ROUTE, 2, false));
}

#[test]
fn hold_over_random_conversations_on_disk() {
    let counts = hold(8, 3, true);
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
    assert_reached(counts, &acts, 110);
    let acts = [
        "Model",
        "SubAgent",
        "Title",
        "NewUser",
        "NewChat",
        "OwnSystem",
        "Tools",
    ];
    assert_reached(counts, &acts, 60);
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
    assert_reached(counts, &edits, 75);
    let ends = [
        "Answered",
        "Unseen",
        "Died",
        "Overloaded",
        "RateLimited",
        "Refused",
    ];
    assert_reached(counts, &ends, 75);
    let more = [
        "reopened",
        "tool results",
        "asked again",
        "interrupted",
        "twins of two heads",
    ];
    assert_reached(counts, &more, 75);
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
    assert_reached(counts, &outcomes, 15);
}

/// A fault in the planner must be caught by the invariant that it breaks.
fn caught(mutant: Mutant, invariant: u8) {
    let how = How {
        mutant: Some((mutant, invariant)),
        on_disk: false,
    };
    let mut runner = runner(1, 5, 0);
    let broken = (0..300).any(|count| {
        let script = scripts(count % ROUTES).new_tree(&mut runner).unwrap().current();
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
