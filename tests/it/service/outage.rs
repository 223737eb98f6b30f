//! A conversation whose ledger is gone for a while, or for good.

use inkfast::ledger::{Fault, Ledger};
use inkfast::sim::{Answer, Config};
use serde_json::json;

use crate::rewrite::{Agent, Bench, holds, open_end, prompt};

/// A turn writes three times: it leaves, it is answered, the answer is read.
const A_TURN: u64 = 3;

async fn bench(fault: (u64, Fault)) -> Bench {
    Bench::with("", Config::default(), Ledger::faulty(Ledger::memory(), [fault])).await
}

#[tokio::test]
async fn nodes_go_on_without_a_ledger() {
    let (bench, mut agent) = (bench((2 * A_TURN + 1, Fault::Die)).await, Agent::chat());
    for mode in ["plan", "act", "act"] {
        agent.system = prompt(mode);
        agent.turn(&bench, mode).await;
    }
    let before = bench.last();
    agent.turn_to(bench.proxy.proxy_addr, "four").await;
    let told = bench.summary();
    assert_eq!(told.passthrough, Some("state_error"));
    assert_eq!(told.prefix.unwrap().nodes, 1);
    assert!(bench.last().starts_with(open_end(&before)), "{:?}", bench.last());
    // A new edit cannot be stored: it goes as the client wrote it, and stands from then on.
    agent.system = prompt("review");
    agent.turn(&bench, "five").await;
    agent.messages.pop();
    assert_eq!(bench.last(), agent.body().to_string());
}

#[tokio::test]
async fn an_edit_waits_while_thinking_is_bound_and_the_ledger_gone() {
    // The first turn is on record in one case and was never in the other.
    for write in [A_TURN + 1, 1] {
        let (bench, mut agent) = (bench((write, Fault::Die)).await, Agent::messages());
        agent.model = "claude-opus-5-5";
        for (turn, mode) in ["plan", "plan", "act", "act"].into_iter().enumerate() {
            agent.system = prompt(mode);
            bench
                .provider
                .push(Answer::text(format!("answer {turn}")).with_thinking("I think."));
            let prefix = agent.turn(&bench, "on").await;
            assert_eq!(prefix.node == "deferred", mode == "act", "{turn}: {prefix:?}");
            assert!(holds(&bench.last(), "Mode: plan") && !holds(&bench.last(), "Mode: act"));
        }
    }
}

#[tokio::test]
async fn what_left_without_a_record_is_recorded_late() {
    // The first turn of a model that binds its thinking, and a node that was not on record in time.
    let (first, mut agent) = (bench((1, Fault::Fail)).await, Agent::messages());
    agent.model = "claude-opus-5-5";
    first.provider.push(Answer::text("one").with_thinking("I think."));
    agent.turn(&first, "one").await;
    agent.system = prompt("act");
    let second = agent.turn(&first, "two").await;
    assert_eq!(
        (second.nodes, second.sent.as_str()),
        (1, "extend/none"),
        "{second:?}"
    );

    let (late, mut agent) = (bench((A_TURN + 1, Fault::Fail)).await, Agent::chat());
    agent.turn(&late, "one").await;
    agent.system = prompt("act");
    let second = agent.turn(&late, "two").await;
    assert_eq!((second.node.as_str(), second.nodes), ("no_slot", 0), "{second:?}");
    let before = late.last();
    let third = agent.turn(&late, "three").await;
    assert_eq!(
        (third.nodes, third.sent.as_str()),
        (0, "extend/none"),
        "{third:?}"
    );
    assert!(late.last().starts_with(open_end(&before)));
    assert_eq!(agent.messages.len(), 6, "{}", json!(agent.messages));
}
