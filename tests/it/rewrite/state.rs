//! What outlives a request, and what happens where it cannot.

use inkfast::{
    ledger::Fault,
    prefix::policy::Mutant,
    sim::{Answer, Config},
};

use super::*;

#[tokio::test]
async fn nodes_outlive_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.sqlite");
    let mut agent = Agent::messages();
    let bench = Bench::with("", Config::default(), Ledger::open(&path).unwrap()).await;
    agent.turn(&bench, "one").await;
    agent.system = prompt("act");
    agent.turn(&bench, "two").await;
    let before = bench.last();
    let Bench { provider, proxy, .. } = bench;
    proxy.shutdown().await;
    let (proxy, tap) = super::proxy(&provider.url(), "", Ledger::open(&path).unwrap()).await;
    let bench = Bench { provider, proxy, tap };
    let third = agent.turn(&bench, "three").await;
    assert_eq!(
        (third.sent.as_str(), third.nodes),
        ("extend/none", 1),
        "{third:?}"
    );
    let messages = |body: &Bytes| {
        let text = String::from_utf8(body.to_vec()).unwrap();
        let (_, rest) = text.split_once("\"messages\":[").unwrap();
        rest.rsplit_once("}],\"model\"").unwrap().0.to_owned()
    };
    assert!(messages(&bench.last()).starts_with(&messages(&before)));
}

#[tokio::test]
async fn the_configured_file_is_used_and_closed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("deep/ledger.sqlite");
    let upstream = Upstream::plain().await;
    let mut partial = partial(&upstream.url());
    partial.state = Some(format!("sqlite:{}", path.display()).parse().unwrap());
    let proxy = start(partial).await;
    let body = Agent::chat().body().to_string();
    ask(proxy.proxy_addr, "/v1/chat/completions", &[], &body).await;
    proxy.shutdown().await;
    let ledger = Ledger::open(&path).unwrap();
    assert_eq!(ledger.stats().await.unwrap().lineages, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_twins_leave_as_equal_bytes() {
    let (bench, mut agent) = (Bench::new().await, Agent::chat());
    agent.turn(&bench, "one").await;
    agent.system = prompt("act");
    agent.user("two");
    let body = agent.body().to_string();
    for _ in 0..4 {
        bench
            .provider
            .push(Answer::text("x").after(Duration::from_millis(200)));
    }
    let asks = (0..4).map(|_| bench.ask(agent.path, &[], &body));
    futures_util::future::join_all(asks).await;
    let sent = bench.sent();
    assert_eq!(sent.len(), 5);
    assert!(holds(&sent[1], "Mode: act") && holds(&sent[1], "Mode: plan"));
    assert!(sent[1..].iter().all(|one| one == &sent[1]));
    // And a retry of it, when all is over.
    bench.ask(agent.path, &[], &body).await;
    assert_eq!(bench.last(), sent[1]);
}

/// The writes of three turns with an edit at the second: append, settle, answer, three times.
const WRITES: u64 = 9;

#[tokio::test]
async fn a_ledger_that_fails_at_any_write_costs_no_answer_and_no_prompt() {
    let stall = Fault::Stall(Duration::from_millis(400));
    for fault in [Fault::Fail, Fault::Die, Fault::DieAfter, stall] {
        for write in 1..=WRITES {
            let ledger = Ledger::faulty(Ledger::memory(), [(write, fault)]);
            let keys = "state_timeout = \"100ms\"";
            let bench = Bench::with(keys, Config::default(), ledger).await;
            let mut agent = Agent::chat();
            for mode in ["plan", "act", "act"] {
                agent.system = prompt(mode);
                agent.turn_to(bench.proxy.proxy_addr, mode).await;
                let operator = bench.provider.recorded().pop().unwrap().operator;
                let operator = format!("{operator:?}");
                assert!(
                    operator.contains(&format!("Mode: {mode}")),
                    "{fault:?} at {write}: {operator}"
                );
            }
            let statuses: Vec<u16> = bench.provider.recorded().iter().map(|one| one.status).collect();
            assert_eq!(statuses, [200, 200, 200], "{fault:?} at {write}");
        }
    }
}

#[tokio::test]
async fn a_node_that_is_not_on_record_does_not_leave() {
    // The fourth write is the append of the second turn.
    for (fault, reason) in [
        (Fault::Fail, "state_error"),
        (Fault::Stall(Duration::from_millis(400)), "state_slow"),
    ] {
        let ledger = Ledger::faulty(Ledger::memory(), [(4, fault)]);
        let bench = Bench::with("state_timeout = \"100ms\"", Config::default(), ledger).await;
        let mut agent = Agent::chat();
        agent.turn(&bench, "one").await;
        agent.system = prompt("act");
        let second = agent.turn(&bench, "two").await;
        assert_eq!((second.nodes, second.node.as_str()), (0, "no_slot"), "{second:?}");
        agent.messages.pop();
        assert_eq!(bench.last(), agent.body().to_string());
        let needle = format!("passthrough_total{{reason=\"{reason}\"}} 1");
        assert!(metrics(&bench.proxy).await.contains(&needle), "{needle}");
    }
}

/// A plan that forgets a node or drops an item is stopped at the last check; the client's own body goes out.
#[tokio::test]
async fn the_last_check_stops_a_bad_plan() {
    for mutant in [Mutant::ForgetNode, Mutant::LoseItem] {
        let (provider, ledger) = (Provider::start(Config::default()).unwrap(), Ledger::memory());
        let (sound, _tap) = super::proxy(&provider.url(), "", ledger.clone()).await;
        let mut agent = Agent::chat();
        for mode in ["plan", "act"] {
            agent.system = prompt(mode);
            agent.turn_to(sound.proxy_addr, mode).await;
        }
        let (proxy, tap) = super::proxy_with(&provider.url(), "", ledger, Some(mutant)).await;
        agent.turn_to(proxy.proxy_addr, "three").await;
        agent.messages.pop();
        let (last, told) = (provider.recorded().pop().unwrap(), tap.try_recv().unwrap());
        assert_eq!(last.body, agent.body().to_string(), "{mutant:?}");
        assert_eq!(told.passthrough, Some("guard"), "{mutant:?}");
        assert!(
            metrics(&proxy).await.contains("inkfast_guard_failures_total"),
            "{mutant:?}"
        );
    }
}

#[tokio::test]
async fn a_prefix_that_the_provider_holds_is_left_alone() {
    let (bench, mut agent) = (Bench::new().await, Agent::messages());
    agent.user("one");
    let mut body = agent.body();
    body["thread"] = json!("thread_1");
    bench.ask(agent.path, &[], body.to_string()).await;
    assert_eq!(
        (bench.last(), bench.summary().passthrough),
        (body.to_string().into(), Some("server_state"))
    );
}

/// Of a request that never left nothing was sent: the next one continues what really went out.
#[tokio::test]
async fn an_upstream_that_is_down_got_nothing() {
    let (bench, ledger) = {
        let ledger = Ledger::memory();
        (Bench::with("", Config::default(), ledger.clone()).await, ledger)
    };
    let mut agent = Agent::chat();
    agent.turn(&bench, "one").await;
    agent.system = prompt("act");
    agent.user("two");
    let nobody = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let (down, _tap) = super::proxy(&format!("http://{nobody}"), "", ledger).await;
    let body = agent.body().to_string();
    assert_eq!(ask(down.proxy_addr, agent.path, &[], &body).await.0, 502);
    agent.messages.pop();
    agent.system = prompt("review");
    let second = agent.turn(&bench, "two").await;
    assert_eq!(
        (second.sent.as_str(), second.nodes, second.continued),
        ("extend/none", 1, Some(1))
    );
    let body = bench.last();
    assert!(holds(&body, "Mode: review") && !holds(&body, "Mode: act"));
}
