//! The invariants of ARCHITECTURE.md that hold over any conversation, checked over random ones.

mod body;
mod check;
mod tree;

use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};

use crate::conversations::{Counts, run, scripts};

pub use check::{Checker, Told, Violation};

/// Runs `cases` random conversations, and shrinks the first that breaks an invariant.
fn hold(cases: u32, on_disk: bool, seed: u8) -> Counts {
    let config = Config {
        cases,
        max_shrink_iters: 2000,
        failure_persistence: None,
        ..Config::default()
    };
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[seed; 32]);
    let mut runner = TestRunner::new_with_rng(config, rng);
    let counts = std::cell::RefCell::new(Counts::new());
    let done = runner.run(&scripts(), |script| {
        run(&script, None, on_disk, &mut counts.borrow_mut()).map_err(|violation| {
            TestCaseError::fail(format!("invariant {}: {}", violation.invariant, violation.what))
        })
    });
    if let Err(failure) = done {
        panic!("{failure}");
    }
    counts.into_inner()
}

#[test]
fn over_random_conversations_in_memory() {
    let counts = hold(cases(1000), false, 1);
    println!("{counts:#?}");
}

#[test]
fn over_random_conversations_on_disk() {
    hold(100, true, 2);
}

fn cases(default: u32) -> u32 {
    std::env::var("INKFAST_CASES")
        .ok()
        .and_then(|cases| cases.parse().ok())
        .unwrap_or(default)
}
