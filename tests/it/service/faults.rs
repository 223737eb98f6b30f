//! Invariants 7 and 8 over a ledger that fails at each write.

use std::collections::BTreeSet;

use futures_util::{StreamExt, stream};
use inkfast::ledger::Fault;
use inkfast::prefix::policy::Mutant;
use inkfast::sim::{self, Provider};

use super::agent::KINDS;
use super::check::{Exchange, violations};
use super::run::{Case, STALL};

const CONVERSATIONS: u64 = 240;
const FAULTS: [Fault; 4] = [Fault::Fail, Fault::Stall(STALL), Fault::Die, Fault::DieAfter];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_ledger_that_fails_at_any_write_costs_no_answer() {
    let reference = Provider::start(sim::Config::default()).unwrap();
    let cases = stream::iter((std::env::var("FROM").ok().and_then(|n| n.parse::<u64>().ok()).unwrap_or(0)..std::env::var("TO").ok().and_then(|n| n.parse::<u64>().ok()).unwrap_or(CONVERSATIONS)).map(|seed| faulty(seed, &reference)));
    let ran: Vec<_> = cases.buffer_unordered(8).collect().await;
    let hit: BTreeSet<u64> = ran.iter().filter_map(|(case, _)| Some(case.fault?.0)).collect();
    assert!((1..=15).all(|write| hit.contains(&write)), "{hit:?}");
    let wrong: Vec<String> = ran
        .iter()
        .flat_map(|(case, exchanges)| wrong(case, exchanges))
        .collect();
    assert!(
        wrong.is_empty(),
        "{} violations:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

/// Runs a conversation once to count its writes, and again with a fault at one of them.
async fn faulty(seed: u64, reference: &Provider) -> (Case, Vec<Exchange>) {
    let sound = Case {
        kind: KINDS[(seed / 4 % 4) as usize],
        seed,
        on_disk: false,
        fault: None,
        mutant: None,
    };
    let (exchanges, writes) = sound.run(reference).await;
    let wrong = wrong(&sound, &exchanges);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let write = 1 + (seed / 4 * 7) % writes;
    let case = Case {
        on_disk: seed / 16 % 2 == 0,
        fault: Some((write, FAULTS[(seed % 4) as usize])),
        ..sound
    };
    (case, case.run(reference).await.0)
}

fn wrong(case: &Case, exchanges: &[Exchange]) -> Vec<String> {
    let each = (1..=exchanges.len()).flat_map(|end| {
        let found = violations(&exchanges[..end]);
        let now = exchanges[end - 1].clone();
        found.into_iter().map(move |what| {
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
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn debug_one() {
    let reference = Provider::start(sim::Config::default()).unwrap();
    let seed: u64 = std::env::var("SEED").unwrap().parse().unwrap();
    let case = Case { kind: KINDS[(seed / 4 % 4) as usize], seed, on_disk: std::env::var("DISK").is_ok(), fault: Some((std::env::var("N").unwrap().parse().unwrap(), FAULTS[(seed%4) as usize])), mutant: None };
    let (ex, _) = case.run(&reference).await;
    for (i, e) in ex.iter().enumerate() {
        let out = super::check::parts(e.kind, &e.out);
        println!("== {} {:?} mode {} note {:?} status {} own {} same {} deferred {} scripted {} recorded {}\n nodes {:?}\n head {:?}", i+1, e.moved, e.mode, e.note, e.status, e.own_status, e.out==e.own, e.deferred, e.scripted, e.recorded, out.nodes.iter().map(|(p,t)| (*p, t.find("Mode: m").map(|i| t[i..i+9].to_owned()), t.find("Note: n").map(|i| t[i..i+9].to_owned()))).collect::<Vec<_>>(), out.head.iter().map(|t| t.find("Mode: m").map(|i| t[i..i+9].to_owned())).collect::<Vec<_>>());
        for m in &out.items { println!("    {}", m.to_string().chars().take(130).collect::<String>()); } println!("restarted {}", e.restarted);
        println!("  violations {:?}", violations(&ex[..=i]));
    }
}
