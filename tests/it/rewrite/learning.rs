//! What token counts teach: an upstream that moves updates to the front, and one that leaves them out.

use std::time::Duration;

use inkfast::{
    ledger::Learned,
    route::Finding,
    sim::{Clock, Config, LaterSystem},
};

use super::*;

const ROUTE: &str = "openai/openai_chat/gpt-5.5";
const ROW: &str = "system/before_user_run/after_results";

fn upstream(later_system: LaterSystem) -> Config {
    Config {
        later_system,
        ..Config::default()
    }
}

/// A head of about `bytes`, one line of which names the mode.
fn long_prompt(mode: &str, bytes: usize) -> String {
    let rule = "Read every file before you change it, and say in one line what you changed there.\n";
    format!("{}\n\n{}", prompt(mode), rule.repeat(bytes / rule.len()))
}

/// A first turn of about 5000 tokens behind a head of 1500, which is in the cache then.
async fn long_talk(bench: &Bench) -> Agent {
    let mut agent = Agent::chat();
    agent.system = long_prompt("plan", 6_000);
    agent.turn(bench, &"Tell me about the parser. ".repeat(500)).await;
    agent
}

/// One turn whose head names `mode`.
async fn edit(bench: &Bench, agent: &mut Agent, mode: &str) -> Prefix {
    agent.system = long_prompt(mode, 6_000);
    agent.turn(bench, "Go on.").await
}

/// What the model of the last request reads as the operator's.
fn operator(bench: &Bench) -> String {
    let last = bench.provider.recorded().pop().unwrap();
    last.operator.unwrap().all()
}

async fn notes(ledger: &Ledger) -> Vec<(String, Finding)> {
    let notes = ledger.learned(ROUTE).await.unwrap().into_iter();
    notes.map(|note| (note.row, note.finding)).collect()
}

#[tokio::test]
async fn a_row_that_is_moved_to_the_front_is_given_up_after_three_misses() {
    let ledger = Ledger::memory();
    let bench = Bench::with("", upstream(LaterSystem::Hoist), ledger.clone()).await;
    let mut agent = long_talk(&bench).await;
    for (number, mode) in ["act", "review", "ask"].iter().enumerate() {
        assert_eq!(notes(&ledger).await, [], "{number}");
        let told = edit(&bench, &mut agent, mode).await;
        assert_eq!(
            (told.sent.as_str(), told.nodes),
            ("extend/none", number + 1),
            "{told:?}"
        );
        // What is only carried on is served all the same, and takes nothing back.
        agent.turn(&bench, "And then?").await;
    }
    assert_eq!(notes(&ledger).await, [(ROW.to_owned(), Finding::Hoisted)]);
    let text = metrics(&bench.proxy).await;
    for counted in [
        r#"inkfast_provider_misses_total{cause="routing_or_eviction"} 1"#,
        r#"inkfast_provider_misses_total{cause="hoisted_downstream"} 2"#,
    ] {
        assert!(text.contains(counted), "{counted} in {text}");
    }

    // The stored updates went anew by the next row, once, and new ones go by it as well.
    let again = agent.turn(&bench, "And now?").await;
    assert_eq!(again.sent, "extend/none", "{again:?}");
    let told = edit(&bench, &mut agent, "build").await;
    assert_eq!((told.sent.as_str(), told.nodes), ("extend/none", 4), "{told:?}");
    let last = bench.provider.recorded().pop().unwrap();
    assert_eq!(
        last.operator.as_ref().unwrap().head.len(),
        1,
        "nothing is moved any more"
    );
    assert!(
        last.operator
            .unwrap()
            .later
            .last()
            .unwrap()
            .contains("Mode: build")
    );
    let usage = last.usage.unwrap();
    assert!(usage.cached * 10 > usage.total * 9, "{usage:?}");
}

#[tokio::test]
async fn a_row_that_is_left_out_is_given_up_and_the_edit_takes_effect() {
    let ledger = Ledger::memory();
    let keys = "update_text = \"full\"\n";
    let bench = Bench::with(keys, upstream(LaterSystem::Drop), ledger.clone()).await;
    let mut agent = Agent::chat();
    agent.system = long_prompt("plan", 3_000);
    agent.turn(&bench, "one").await;
    for mode in ["act", "review", "ask"] {
        agent.system = long_prompt(mode, 3_000);
        agent.turn(&bench, "on").await;
        assert!(
            !operator(&bench).contains(&format!("Mode: {mode}")),
            "it was left out"
        );
    }
    assert_eq!(notes(&ledger).await, [(ROW.to_owned(), Finding::Dropped)]);
    let next = agent.turn(&bench, "on").await;
    assert_eq!(next.nodes, 3, "{next:?}");
    let operator = operator(&bench);
    let (before, last) = operator.rsplit_once("Mode: ").unwrap();
    assert!(
        last.starts_with("ask") && before.contains("Mode: review"),
        "{operator}"
    );
}

#[tokio::test]
async fn an_upstream_that_keeps_updates_in_place_is_not_suspected_for_one_eviction() {
    let (ledger, clock) = (Ledger::memory(), Clock::manual());
    let provider = Config {
        clock: clock.clone(),
        ..Config::default()
    };
    let bench = Bench::with("", provider, ledger.clone()).await;
    let mut agent = long_talk(&bench).await;
    agent.turn(&bench, "And then?").await;
    for mode in ["act", "review", "ask", "build"] {
        if mode == "review" {
            // The provider's clock alone: to the proxy the entry is gone before its time.
            clock.advance(Duration::from_secs(3600));
        }
        edit(&bench, &mut agent, mode).await;
    }
    let text = metrics(&bench.proxy).await;
    let miss = r#"inkfast_provider_misses_total{cause="routing_or_eviction"} 1"#;
    assert!(
        text.contains(miss) && !text.contains("hoisted_downstream"),
        "{text}"
    );
    assert_eq!(notes(&ledger).await, []);
    assert!(holds(&bench.last(), r#"{"role":"system","content":"#));
}

#[tokio::test]
async fn what_was_learned_outlives_a_restart() {
    for mode in [LaterSystem::Hoist, LaterSystem::Strict { status: 400 }] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledger.sqlite");
        let bench = Bench::with("", upstream(mode), Ledger::open(&path).unwrap()).await;
        let mut agent = long_talk(&bench).await;
        for mode in ["act", "review", "ask"] {
            edit(&bench, &mut agent, mode).await;
        }
        let Bench { provider, proxy, .. } = bench;
        proxy.shutdown().await;
        let (proxy, tap) = super::proxy(&provider.url(), "", Ledger::open(&path).unwrap()).await;
        let bench = Bench { provider, proxy, tap };
        let mut other = Agent::chat();
        other.system = prompt("plan");
        other.turn(&bench, "eins").await;
        other.system = prompt("act");
        let before = bench.sent().len();
        other.turn(&bench, "zwei").await;
        assert_eq!(bench.sent().len(), before + 1, "{mode:?}: nothing is tried again");
        let last = bench.provider.recorded().pop().unwrap().operator.unwrap();
        assert_eq!(last.head, [prompt("plan")], "{mode:?}");
        assert!(last.later.last().unwrap().contains("Mode: act"), "{mode:?}");
        assert!(holds(&bench.last(), "<system-reminder>"), "{mode:?}");
    }
}

#[tokio::test]
async fn a_note_ends() {
    let ledger = Ledger::memory();
    let bench = Bench::with("", upstream(LaterSystem::InPlace), ledger.clone()).await;
    for (until_ms, goes_by) in [(1, r#"{"role":"system""#), (u64::MAX, "<system-reminder>")] {
        let note = Learned {
            until_ms,
            ..Learned::new(ROW.to_owned(), Finding::Hoisted, 0)
        };
        ledger.learn(ROUTE, note).await.unwrap();
        let mut agent = Agent::chat();
        agent.turn(&bench, &format!("one {until_ms}")).await;
        agent.system = prompt("act");
        agent.turn(&bench, "two").await;
        let body = bench.last();
        let behind = &body[200..];
        assert!(holds(behind, goes_by), "{}", String::from_utf8_lossy(&body));
    }
}

/// What nothing could serve is no eviction.
#[tokio::test]
async fn misses_are_named_by_their_plain_cause() {
    for (mut agent, cause) in [
        (Agent::chat(), "below_minimum"),
        (Agent::messages(), "no_breakpoint"),
    ] {
        let bench = Bench::new().await;
        agent.turn(&bench, "one").await;
        let text = metrics(&bench.proxy).await;
        assert!(
            !text.contains("provider_misses_total"),
            "a first request misses nothing"
        );
        agent.turn(&bench, "two").await;
        let text = metrics(&bench.proxy).await;
        let misses: Vec<&str> = text
            .lines()
            .filter(|line| line.starts_with("inkfast_provider_misses_total"))
            .collect();
        assert_eq!(
            misses,
            [format!("inkfast_provider_misses_total{{cause=\"{cause}\"}} 1")]
        );
    }
}
