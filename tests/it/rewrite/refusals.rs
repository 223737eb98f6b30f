//! An upstream that does not take what was changed.

use inkfast::sim::{Answer, Config, LaterSystem};

use super::*;

/// A provider whose template takes no system message but the first.
fn strict(status: u16) -> Config {
    Config {
        later_system: LaterSystem::Strict { status },
        ..Config::default()
    }
}

async fn one_turn_and_an_edit(bench: &Bench) -> Agent {
    let mut agent = Agent::chat();
    agent.turn(bench, "one").await;
    agent.system = prompt("act");
    agent
}

#[tokio::test]
async fn a_refused_row_is_followed_by_the_next_and_learned() {
    for status in [400, 500] {
        let bench = Bench::with("", strict(status), Ledger::memory()).await;
        let mut agent = one_turn_and_an_edit(&bench).await;
        let second = agent.turn(&bench, "two").await;
        assert_eq!(
            (second.nodes, second.sent.as_str()),
            (1, "extend/none"),
            "{second:?}"
        );
        let recorded = bench.provider.recorded();
        let statuses: Vec<u16> = recorded.iter().map(|one| one.status).collect();
        assert_eq!(statuses, [200, status, 200]);
        assert!(holds(&recorded[2].body, "<system-reminder>"));
        // From now on the row is not tried any more.
        let mut other = Agent::chat();
        other.system = prompt("a different conversation");
        other.turn(&bench, "eins").await;
        other.system = prompt("act");
        other.turn(&bench, "zwei").await;
        let third = agent.turn(&bench, "three").await;
        assert_eq!((third.nodes, third.sent.as_str()), (1, "extend/none"));
        assert_eq!(bench.provider.recorded().len(), 6);
        let text = metrics(&bench.proxy).await;
        assert!(text.contains(r#"carrier="user_reminder""#) && !text.contains(r#"carrier="system""#));
    }
}

#[tokio::test]
async fn where_no_row_is_left_the_clients_own_body_goes_out() {
    let (bench, mut agent) = (Bench::new().await, Agent::messages());
    agent.model = "claude-sonnet-4-5";
    agent.turn(&bench, "one").await;
    agent.system = prompt("act");
    bench
        .provider
        .push(Answer::error(400, "messages: roles must alternate"));
    let second = agent.turn(&bench, "two").await;
    agent.messages.pop();
    assert_eq!(bench.last(), agent.body().to_string());
    assert!(second.sent.contains("/refused@"), "{second:?}");
    assert_eq!((second.node.as_str(), second.nodes), ("refused", 0));
    let text = metrics(&bench.proxy).await;
    assert!(
        text.contains(r#"inkfast_breaks_total{by="proxy",cause="refused",format="anthropic_messages"} 1"#)
    );
    // The conversation stays on the client's head.
    agent.messages.push(json!({"role": "assistant", "content": "x"}));
    let third = agent.turn(&bench, "three").await;
    assert_eq!((third.sent.as_str(), third.nodes), ("extend/none", 0));
}

#[tokio::test]
async fn an_error_that_matches_nothing_is_asked_of_the_clients_own_body() {
    let bench = Bench::new().await;
    let mut agent = one_turn_and_an_edit(&bench).await;
    agent.user("two");
    for _ in 0..2 {
        bench.provider.push(Answer::error(422, "max_tokens is too large"));
    }
    let (status, answer) = bench.ask(agent.path, &[], agent.body().to_string()).await;
    assert_eq!(status, 422);
    assert!(answer.contains("max_tokens is too large"));
    let sent = bench.sent();
    assert_eq!(
        (sent.len(), &sent[2][..]),
        (3, agent.body().to_string().as_bytes())
    );
    // Nothing was taken: the edit is still to be told.
    bench.summary();
    agent.messages.pop();
    let next = agent.turn(&bench, "two again").await;
    assert_eq!((next.nodes, next.sent.as_str()), (1, "extend/none"), "{next:?}");
}

#[tokio::test]
async fn errors_of_credentials_limits_and_load_pass() {
    for status in [401, 403, 404, 408, 409, 429, 500, 503, 529] {
        let bench = Bench::new().await;
        let mut agent = one_turn_and_an_edit(&bench).await;
        agent.user("two");
        let error = Answer::error(status, "not now").with_header("retry-after", "1");
        bench.provider.push(error);
        let answer = request(
            bench.proxy.proxy_addr,
            "POST /v1/chat/completions",
            &[],
            agent.body().to_string(),
        )
        .await;
        assert_eq!(status_of(&answer), status);
        assert!(answer.contains("retry-after: 1"), "{answer}");
        assert_eq!(bench.sent().len(), 2, "{status}");
        bench.summary();
        agent.messages.pop();
        let first_try = bench.last();
        let again = agent.turn(&bench, "two").await;
        assert_eq!(
            (again.nodes, bench.last()),
            (1, first_try),
            "the same bytes again"
        );
    }
}

#[tokio::test]
async fn a_body_that_was_not_changed_is_never_sent_twice() {
    let (bench, mut agent) = (Bench::new().await, Agent::chat());
    agent.user("one");
    bench.provider.push(Answer::error(400, "Unsupported role"));
    let (status, _) = bench.ask(agent.path, &[], agent.body().to_string()).await;
    assert_eq!((status, bench.sent().len()), (400, 1));
}

/// Counting tokens may be refused and asked again, but nothing is learned from it.
#[tokio::test]
async fn counting_tokens_learns_nothing() {
    let upstream = Upstream::start(|seen| async move {
        if !holds(&seen.body, "\"role\":\"system\"") {
            return whole(r#"{"input_tokens":1,"content":[],"usage":{}}"#);
        }
        let mut refusal = whole(r#"{"error":{"message":"messages.1: role 'system' is not supported"}}"#);
        *refusal.status_mut() = hyper::StatusCode::BAD_REQUEST;
        refusal
    })
    .await;
    let (proxy, tap) = proxy(&upstream.url(), "", Ledger::memory()).await;
    let mut agent = Agent::messages();
    agent.turn_to(proxy.proxy_addr, "one").await;
    agent.messages.pop();
    agent
        .messages
        .push(json!({"role": "assistant", "content": "An answer that nobody saw."}));
    agent.system = prompt("act");
    agent.user("two");
    let body = agent.body().to_string();
    let count = "/v1/messages/count_tokens";
    for (path, tries) in [
        (count, 2),
        (count, 2),
        (agent.path, 2),
        (agent.path, 1),
        (count, 1),
    ] {
        let before = upstream.seen().len();
        assert_eq!(ask(proxy.proxy_addr, path, &[], &body).await.0, 200);
        assert_eq!(upstream.seen().len() - before, tries, "{path}");
        assert!(holds(&upstream.seen().pop().unwrap().body, "<system-reminder>"));
    }
    assert!(
        tap.try_iter()
            .skip(1)
            .all(|one| one.prefix.is_some_and(|prefix| prefix.nodes == 1))
    );
}

/// Thinking that is bound to the form in which the conversation went out so far keeps that form.
#[tokio::test]
async fn bound_thinking_is_not_sent_in_another_form() {
    let (bench, mut agent) = (Bench::new().await, Agent::messages());
    agent.model = "claude-opus-5-5";
    bench
        .provider
        .push(Answer::text("first").with_thinking("I think."));
    agent.turn(&bench, "one").await;
    agent.system = prompt("act");
    bench.provider.push(Answer::error(400, "something else"));
    let second = agent.turn(&bench, "two").await;
    let sent = bench.sent();
    assert_eq!(
        (sent.len(), second.node.as_str(), second.nodes),
        (3, "deferred", 0),
        "{second:?}"
    );
    assert!(holds(&sent[2], "Mode: plan") && !holds(&sent[2], "Mode: act"));
    assert!(metrics(&bench.proxy).await.contains("inkfast_deferred_total 1"));
    let third = agent.turn(&bench, "three").await;
    assert_eq!(
        (third.nodes, third.sent.as_str()),
        (1, "extend/none"),
        "{third:?}"
    );
}

#[tokio::test]
async fn an_error_that_says_the_thinking_is_foreign_goes_to_the_clients_own_body() {
    let (bench, mut agent) = (Bench::new().await, Agent::messages());
    agent.model = "claude-opus-5-5";
    bench
        .provider
        .push(Answer::text("first").with_thinking("I think."));
    agent.turn(&bench, "one").await;
    agent.system = prompt("act");
    agent.user("two");
    for _ in 0..2 {
        let error = "messages.1.content.0: thinking is bound to a different conversation";
        bench.provider.push(Answer::error(400, error));
    }
    let body = agent.body().to_string();
    bench.ask(agent.path, &[], &body).await;
    let sent = bench.sent();
    assert_eq!((sent.len(), &sent[2][..]), (3, body.as_bytes()));
}
