//! Invariants 7 and 8 over a ledger that fails at each write.

use std::collections::BTreeSet;

use futures_util::{StreamExt, stream};
use inkfast::ledger::Fault;
use inkfast::prefix::policy::Mutant;
use inkfast::sim::{self, Provider};

use super::agent::{KINDS, Kind};
use super::check::{Exchange, parts, violations};
use super::run::{Case, STALL};

const CONVERSATIONS: u64 = 240;
const FAULTS: [Fault; 4] = [Fault::Fail, Fault::Stall(STALL), Fault::Die, Fault::DieAfter];

type Ran = (Case, Vec<Exchange>);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_ledger_that_fails_at_any_write_costs_no_answer() {
    let reference = Provider::start(sim::Config::default()).unwrap();
    let cases = stream::iter((0..CONVERSATIONS).map(|seed| faulty(seed, &reference)));
    let ran: Vec<Ran> = cases.buffer_unordered(8).collect().await;
    let wrong: Vec<String> = ran.iter().flat_map(wrong).collect();
    assert!(
        wrong.is_empty(),
        "{} violations:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert_enough_happened(&ran);
}

/// Runs a conversation once to count its writes, and again with a fault at one of them.
async fn faulty(seed: u64, reference: &Provider) -> Ran {
    let sound = sound(seed);
    let (exchanges, writes) = sound.run(reference).await;
    let wrong = wrong(&(sound, exchanges));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let write = 1 + (seed / 4 * 7) % writes;
    let case = Case {
        on_disk: (seed / 16).is_multiple_of(2),
        fault: Some((write, FAULTS[(seed % 4) as usize])),
        ..sound
    };
    (case, case.run(reference).await.0)
}

fn sound(seed: u64) -> Case {
    Case {
        kind: KINDS[(seed / 4 % 4) as usize],
        seed,
        on_disk: false,
        fault: None,
        mutant: None,
    }
}

/// The conversations hold what they are meant to hold.
fn assert_enough_happened(ran: &[Ran]) {
    let hit: BTreeSet<u64> = ran.iter().filter_map(|(case, _)| Some(case.fault?.0)).collect();
    assert!((1..=15).all(|write| hit.contains(&write)), "{hit:?}");
    let count = |what: fn(&Exchange) -> bool| {
        let all = ran.iter().flat_map(|(_, exchanges)| exchanges);
        all.filter(|one| what(one)).count()
    };
    for (what, count, least) in [
        ("requests with nodes", count(has_nodes), 300),
        (
            "requests with nodes that are not on record",
            count(|one| !one.recorded && has_nodes(one)),
            50,
        ),
        (
            "restarts with nodes",
            count(|one| one.restarted && has_nodes(one)),
            15,
        ),
        ("edits that wait", count(|one| one.deferred), 10),
        (
            "errors that the client's own body gets",
            count(|one| one.kind == Kind::Thinking && one.own_status == 400),
            50,
        ),
    ] {
        assert!(count >= least, "{count} {what}");
    }
}

fn has_nodes(one: &Exchange) -> bool {
    !parts(one.kind, &one.out).nodes.is_empty()
}

fn wrong((case, exchanges): &Ran) -> Vec<String> {
    let each = (1..=exchanges.len()).flat_map(|end| {
        let now = &exchanges[end - 1];
        violations(&exchanges[..end]).into_iter().map(move |what| {
            let (own, out) = (
                String::from_utf8_lossy(&now.own),
                String::from_utf8_lossy(&now.out),
            );
            format!(
                "{case:?}, request {end}: {what} (status {})\n own {own}\n out {out}",
                now.status
            )
        })
    });
    each.collect()
}

/// A planner that is at fault is found out: it does not wait for the record, it forgets a node, it thaws the head.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn faults_of_the_planner_are_caught() {
    let reference = Provider::start(sim::Config::default()).unwrap();
    for (mutant, fault, violation) in [
        (
            Mutant::SendBeforeRecord,
            Some(Fault::Stall(STALL)),
            "8: a node left",
        ),
        (Mutant::ForgetNode, None, "7: what was sent before"),
        (Mutant::CompareWithFirst, None, "7: the head's edit is lost"),
    ] {
        let case = |seed: u64| Case {
            mutant: Some(mutant),
            fault: fault.map(|fault| (4 + seed % 8, fault)),
            ..sound(seed)
        };
        let runs = stream::iter((0..32).map(|seed| {
            let (case, reference) = (case(seed), &reference);
            async move { (case, case.run(reference).await.0) }
        }));
        let ran: Vec<Ran> = runs.buffer_unordered(8).collect().await;
        let found: Vec<String> = ran.iter().flat_map(wrong).collect();
        assert!(
            found.iter().any(|found| found.contains(violation)),
            "{mutant:?}: {found:?}"
        );
    }
}

/// What must be found, and what was done to an exchange.
type Doctored = (&'static str, fn(&mut Exchange));

/// Each rule of the checker finds what it is there for.
#[tokio::test]
async fn doctored_observations_are_caught() {
    let reference = Provider::start(sim::Config::default()).unwrap();
    let mut conversation = long_with_node(&reference).await;
    assert_eq!(violations(&conversation), [""; 0]);
    let sound = conversation.pop().unwrap();
    let doctored: [Doctored; 8] = [
        ("7: the answer is not", |one| one.status = 502),
        ("7: an error", |one| {
            (one.status, one.upstream_status, one.own_status) = (400, 400, 200)
        }),
        ("4: the client's items", |one| {
            replace(one, "Question 1", "Question 0")
        }),
        ("8: a node left", |one| one.stored.blobs.clear()),
        ("7: the head's edit is lost", |one| one.mode += 1),
        ("7: a head that was never", |one| {
            replace(one, "a careful", "a careless")
        }),
        ("7: what was sent before", |one| one.out = one.own.clone()),
        ("7: neither what", |one| {
            one.restarted = true;
            replace(one, "Mode: m0", "Mode: m9");
        }),
    ];
    for (violation, doctor) in doctored {
        let mut one = sound.clone();
        doctor(&mut one);
        conversation.push(one);
        let found = violations(&conversation);
        assert!(
            found.iter().any(|found| found.starts_with(violation)),
            "{violation}: {found:?}"
        );
        conversation.pop();
    }
}

fn replace(one: &mut Exchange, from: &str, to: &str) {
    one.out = String::from_utf8_lossy(&one.out)
        .replacen(from, to, 1)
        .into_bytes();
}

/// A conversation on disk whose last request goes on from one with nodes, with the same head.
async fn long_with_node(reference: &Provider) -> Vec<Exchange> {
    for seed in 0..64 {
        let case = Case {
            on_disk: true,
            ..sound(seed)
        };
        let (mut exchanges, _) = case.run(reference).await;
        while exchanges.len() > 2 {
            let [.., before, now] = &exchanges[..] else { break };
            let goes_on = now.moved == super::agent::Move::On && before.status == 200;
            let same = (now.mode, now.note) == (before.mode, before.note);
            if goes_on && same && has_nodes(before) {
                return exchanges;
            }
            exchanges.pop();
        }
    }
    panic!("no such conversation")
}
