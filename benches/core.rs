//! What the pure core costs for a body of a mebibyte in 400 items, against BLAKE3 over the same bytes.
//!
//! All times are the best of many rounds in which everything takes its turn, so that a machine that is busy now and
//! then changes little; only the ratios mean something on another machine.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    missing_docs,
    dead_code,
    reason = "a bench prints, and fails by panicking; it uses a part of what both share"
)]

mod support;

use std::hint::black_box;
use std::time::{Duration, Instant};

use bytes::Bytes;
use inkfast::ledger::MemoryLedger;
use inkfast::prefix::Request;

use support::{Conversation, Core, Decided, Speaks, Store, check};

const ROUNDS: usize = 60;

/// Where the time goes. Up to `lower` it is what the aims are about.
const STEPS: [&str; 7] = ["parse", "keys", "decide", "lower", "past", "guard", "record"];
const COUNTED: usize = 4;

fn main() {
    println!("the core on 1 MiB in 400 items, against BLAKE3 of the whole body; best of {ROUNDS}\n");
    print!("{:<44}{:>8}{:>7}  ", "", "us", "ratio");
    println!("{}", STEPS.map(|step| format!("{step:>7}")).concat());
    [Speaks::Chat, Speaks::Messages].into_iter().for_each(bench);
    println!(
        "\ntime and ratio are of parse + keys + decide + lower and apply; the last three columns come on top"
    );
}

/// One request in a known situation.
struct Scenario {
    name: &'static str,
    aim: f64,
    body: Bytes,
    core: Core,
    known: Option<Request>,
    best: [Duration; STEPS.len()],
}

fn bench(format: Speaks) {
    let conversation = Conversation::new(format, 1);
    let full = conversation.messages();
    let before = conversation.body(full - 2, "Plan first.");
    let body = conversation.body(full, "Plan first.");
    let edited = conversation.body(full, "Plan first. Then build.");
    let scenario = |name, aim, known: Option<(&Bytes, usize)>, body: &Bytes| {
        let mut core = Core::new(format, Store::Memory(MemoryLedger::new()));
        let known = known.map(|(body, messages)| {
            // A copy: no two requests share their bytes.
            let request = core.parse(&Bytes::copy_from_slice(body), None);
            core.exchange(&request, conversation.answer(messages));
            request
        });
        Scenario {
            name,
            aim,
            body: body.clone(),
            core,
            known,
            best: [Duration::MAX; STEPS.len()],
        }
    };
    let mut scenarios = [
        scenario("never seen", 8.0, None, &body),
        scenario(
            "extends the last by two messages",
            1.0,
            Some((&before, full - 2)),
            &body,
        ),
        scenario("the same again", 1.0, Some((&body, full)), &body),
        scenario("extends it, head edited", 1.0, Some((&before, full - 2)), &edited),
    ];
    let request = scenarios[0].core.parse(&body, None);
    let by_item = || {
        request
            .history
            .iter()
            .map(|item| blake3::hash(&body[item.range.clone()]))
            .last()
    };
    let (mut hash, mut item_hash) = (Duration::MAX, Duration::MAX);
    for _ in 0..ROUNDS {
        item_hash = item_hash.min(timed(by_item).0);
        hash = hash.min(timed(|| blake3::hash(&body)).0);
        scenarios.iter_mut().for_each(Scenario::run);
    }
    println!(
        "\n{}: {} bytes, {} items, BLAKE3 {} us; item by item {} us, {:.1}x, which a body never seen needs at least",
        format.format(),
        body.len(),
        request.history.len(),
        hash.as_micros(),
        item_hash.as_micros(),
        item_hash.as_secs_f64() / hash.as_secs_f64(),
    );
    scenarios.iter().for_each(|scenario| scenario.print(hash));
}

impl Scenario {
    fn run(&mut self) {
        let core = &mut self.core;
        let (parse, request) = timed(|| core.parse(&self.body, self.known.as_ref()));
        let (keys, named) = timed(|| core.keys(&request));
        let (past, known) = timed(|| core.past(&named));
        let (decide, plan) = timed(|| core.decide(&request, &named, &known));
        let (lower, (lowered, rope)) = timed(|| core.lower(&request, &plan));
        let decided = Decided {
            keys: named,
            plan,
            lowered,
            rope,
        };
        let (guard, ()) = timed(|| check(&request, &decided));
        let (record, _) = timed(|| core.record(&request, &decided));
        for (best, time) in self
            .best
            .iter_mut()
            .zip([parse, keys, decide, lower, past, guard, record])
        {
            *best = time.min(*best);
        }
    }

    fn print(&self, hash: Duration) {
        let total: Duration = self.best[..COUNTED].iter().sum();
        let ratio = total.as_secs_f64() / hash.as_secs_f64();
        let name = format!("{} (aim {:.0}x or less)", self.name, self.aim);
        print!("  {name:<42}{:>8}{ratio:>6.2}x  ", total.as_micros());
        println!(
            "{}",
            self.best
                .map(|time| format!("{:>7.1}", time.as_secs_f64() * 1e6))
                .concat()
        );
    }
}

fn timed<T>(work: impl FnOnce() -> T) -> (Duration, T) {
    let started = Instant::now();
    let result = black_box(work());
    (started.elapsed(), result)
}
