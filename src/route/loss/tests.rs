use super::*;
use proptest::prelude::*;

const MARKERS: Facts = Facts {
    entries: Entries::Markers,
    look_back: Some(20),
    granularity: None,
    minimum: Some(512),
};
const AUTOMATIC: Facts = Facts {
    entries: Entries::Anywhere,
    look_back: None,
    granularity: Some(128),
    minimum: Some(1024),
};

/// Items of 1000 bytes; those of the given numbers are marked.
fn prompt(items: usize, marked: &[usize]) -> Vec<Place> {
    let place = |at| Place {
        bytes: 1000,
        marker: marked.contains(&at),
        ends: at % 2 == 0,
    };
    (0..items).map(place).collect()
}

fn lost(before: &[Place], after: &[Place], kept: u64, facts: &Facts) -> u64 {
    let broken = Broken {
        before: before.iter().map(|place| place.bytes).sum(),
        entries: &written(before, facts),
        after,
        kept,
        per_token: Some(4.0),
        told: None,
    };
    loss(&broken, facts, None).bytes
}

#[test]
fn markers_lose_back_to_the_last_one_that_stands() {
    let before = prompt(10, &[2, 9]);
    for (after, kept, want) in [
        (prompt(12, &[2, 11]), 9_000, 7_000),
        (prompt(12, &[2, 11]), 2_999, 10_000),
        (prompt(12, &[2, 11]), 3_000, 7_000),
        (prompt(12, &[2, 11]), 10_000, 0),
        // No marker looks at the entry behind the tools.
        (prompt(40, &[39]), 9_000, 10_000),
        (prompt(22, &[21]), 9_000, 7_000),
        (prompt(12, &[]), 9_000, 10_000),
    ] {
        assert_eq!(
            lost(&before, &after, kept, &MARKERS),
            want,
            "{kept} {}",
            after.len()
        );
    }
    assert_eq!(
        lost(&prompt(10, &[]), &prompt(12, &[]), 0, &MARKERS),
        0,
        "nothing was cached"
    );
    // 1000 bytes are 250 tokens: no entry.
    assert_eq!(lost(&prompt(10, &[0]), &prompt(12, &[0]), 0, &MARKERS), 0);
}

#[test]
fn automatic_caches_lose_from_the_first_changed_byte_in_whole_steps() {
    let (before, after) = (prompt(20, &[]), prompt(22, &[]));
    // 5000 tokens are 39 steps of 512 bytes.
    let held = 39 * 512;
    for (kept, want) in [
        (0, held),
        (4_000, held),
        (4_096, held - 4_096),
        (4_600, held - 4_096),
        (4_608, held - 4_608),
        (20_000, 0),
    ] {
        assert_eq!(lost(&before, &after, kept, &AUTOMATIC), want, "{kept}");
    }
    assert_eq!(
        lost(&prompt(4, &[]), &prompt(6, &[]), 0, &AUTOMATIC),
        0,
        "below the minimum"
    );
}

#[test]
fn tokens_and_costs_only_where_they_are_known() {
    let entries = written(&prompt(10, &[9]), &MARKERS);
    let after = prompt(10, &[9]);
    let broken = Broken {
        before: 10_000,
        entries: &entries,
        after: &after,
        kept: 0,
        per_token: Some(4.0),
        told: None,
    };
    let price = Price {
        base: Some(4.0),
        read: Some(0.1),
        write: 1.25,
        ..Price::default()
    };
    let found = loss(&broken, &MARKERS, Some(&price));
    assert_eq!((found.bytes, found.tokens), (10_000, Some(2500)));
    assert!((found.cost.unwrap() - 2500.0 * 4.0 * 1.15 / 1e6).abs() < 1e-12);
    let unpriced = Price { base: None, ..price };
    assert_eq!(loss(&broken, &MARKERS, Some(&unpriced)).cost, None);
    let uncounted = Broken {
        per_token: None,
        ..broken
    };
    let found = loss(&uncounted, &MARKERS, Some(&price));
    assert_eq!((found.bytes, found.tokens, found.cost), (10_000, None, None));
    let unwritten = Broken {
        told: Some(0),
        ..broken
    };
    assert_eq!(loss(&unwritten, &MARKERS, Some(&price)).bytes, 0);
}

fn facts() -> impl Strategy<Value = Facts> {
    let entries = prop_oneof![
        Just(Entries::Anywhere),
        Just(Entries::Markers),
        Just(Entries::Ends)
    ];
    let parts = (
        entries,
        proptest::option::of(1u32..25),
        proptest::option::of(1u64..200),
        proptest::option::of(0u64..2000),
    );
    parts.prop_map(|(entries, look_back, granularity, minimum)| Facts {
        entries,
        look_back,
        granularity,
        minimum,
    })
}

fn some_prompt() -> impl Strategy<Value = Vec<Place>> {
    let place = (0u64..4000, proptest::bool::weighted(0.1), any::<bool>());
    let place = place.prop_map(|(bytes, marker, ends)| Place { bytes, marker, ends });
    proptest::collection::vec(place, 0..60)
}

proptest! {
    #[test]
    fn never_more_than_was_there_and_no_more_for_a_later_change(
        before in some_prompt(), after in some_prompt(), facts in facts(), cuts in (0.0..1.0f64, 0.0..1.0f64)
    ) {
        let all = before.iter().map(|place| place.bytes).sum::<u64>();
        let at = |share: f64| (all as f64 * share) as u64;
        let (first, second) = (at(cuts.0.min(cuts.1)), at(cuts.0.max(cuts.1)));
        let (early, late) = (lost(&before, &after, first, &facts), lost(&before, &after, second, &facts));
        prop_assert!(early <= all && late <= early, "{early} {late} of {all}");
    }
}
