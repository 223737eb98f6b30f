//! The most memory that a thousand live conversations of a mebibyte each take, on SQLite state and with the default
//! budget of kept bodies. In-process and without sockets: a socket's buffers come on top.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    missing_docs,
    dead_code,
    reason = "a bench prints, and fails by panicking; it uses a part of what both share"
)]

mod support;

use std::sync::Arc;
use std::time::Instant;

use inkfast::bodies::{self, Bodies};
use inkfast::ledger::Db;
use inkfast::prefix::item::Hints;

use support::{Conversation, Core, Speaks, Store};

const CONVERSATIONS: u64 = 1_000;
const REQUESTS: usize = 3;
const AIM_MIB: u64 = 400;

/// The default budget of kept bodies.
const KEPT_BODIES: usize = 128 << 20;

fn main() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::File(Db::open(&folder.path().join("ledger.sqlite")).unwrap());
    let mut core = Core::new(Speaks::Chat, store);
    let kept = Bodies::new(KEPT_BODIES);
    let started = Instant::now();
    println!("{CONVERSATIONS} conversations of 1 MiB, {REQUESTS} requests each, by turns, on SQLite state");
    for request in 0..REQUESTS {
        for seed in 0..CONVERSATIONS {
            exchange(&mut core, &kept, seed, request);
        }
        println!("  after request {}: {} MiB", request + 1, peak_mib());
    }
    let seconds = started.elapsed().as_secs();
    println!(
        "peak memory {} MiB (aim under {AIM_MIB} MiB), {seconds} s",
        peak_mib()
    );
}

/// The next request of a conversation, and its answer.
fn exchange(core: &mut Core, kept: &Bodies, seed: u64, request: usize) {
    let conversation = Conversation::new(Speaks::Chat, seed + 1);
    let messages = conversation.messages() - 2 * (REQUESTS - 1 - request);
    let head = if request == 2 {
        "Plan first. Then build."
    } else {
        "Plan first."
    };
    let body = conversation.body(messages, head);
    let place = bodies::key(core.scope, &Hints::default(), &body);
    let parsed = Arc::new(core.parse(&body, kept.last(&place).as_deref()));
    core.exchange(&parsed, conversation.answer(messages));
    kept.keep(place, place, parsed);
}

/// The most memory that this process has had, in mebibytes (`VmHWM` of Linux).
fn peak_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib: u64 = line.unwrap().trim().trim_end_matches(" kB").parse().unwrap();
    kib >> 10
}
