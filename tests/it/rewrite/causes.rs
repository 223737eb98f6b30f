//! The causes that need both bodies, in the running proxy: in the line, in the metrics, and where a body is gone.

use inkfast::sim::{Answer, Config};

use super::*;

/// What the user says behind a reminder, which the client drops when it is history.
fn reminded(text: &str) -> Value {
    json!({"role": "user", "content": format!("{text}\n\n<system-reminder>Read only.</system-reminder>")})
}

async fn turn(bench: &Bench, agent: &mut Agent, message: Value) -> Prefix {
    // No two answers are equal, so each shows whose conversation it is.
    let said = format!(
        "Answer to {message}. {}",
        "It is long enough to be nobody else's. ".repeat(6)
    );
    bench.provider.push(Answer::text(&said));
    agent.messages.push(message);
    let (status, _) = bench.ask(agent.path, &[], agent.body().to_string()).await;
    assert_eq!(status, 200);
    agent.messages.push(json!({"role": "assistant", "content": said}));
    bench.prefix()
}

#[tokio::test]
async fn the_cause_is_told_in_both_verdicts_and_counted() {
    let (bench, mut agent) = (Bench::new().await, Agent::chat());
    turn(&bench, &mut agent, reminded("one")).await;
    agent.messages[0] = json!({"role": "user", "content": "one"});
    let second = turn(&bench, &mut agent, reminded("two")).await;
    let told = "rewrite/decoration_changed@messages[1]";
    assert_eq!((second.received.as_str(), second.sent.as_str()), (told, told));
    let text = metrics(&bench.proxy).await;
    for counted in [
        r#"inkfast_breaks_total{by="client",cause="decoration_changed",format="openai_chat"} 1"#,
        r#"inkfast_client_breaks_total{cause="decoration_changed",format="openai_chat"} 1"#,
    ] {
        assert!(text.contains(counted), "{counted} not in\n{text}");
    }
}

#[tokio::test]
async fn a_head_that_was_kept_leaves_the_clients_own_change_behind_it() {
    let (bench, mut agent) = (Bench::new().await, Agent::chat());
    turn(&bench, &mut agent, reminded("one")).await;
    agent.messages[0] = json!({"role": "user", "content": "one"});
    agent.system = prompt("act");
    let second = turn(&bench, &mut agent, reminded("two")).await;
    assert_eq!(second.received, "rewrite/system_changed@messages[0]");
    assert_eq!(second.sent, "rewrite/decoration_changed@messages[1]");
}

/// Two conversations with one opening, so that each is the other's last body.
#[tokio::test]
async fn interleaved_conversations_are_told_from_their_own_bodies() {
    let (bench, agent) = (Bench::new().await, Agent::chat());
    let (mut one, mut two) = (agent.clone(), agent);
    turn(&bench, &mut one, reminded("first")).await;
    turn(&bench, &mut two, json!({"role": "user", "content": "second"})).await;
    one.messages[0] = json!({"role": "user", "content": "first"});
    two.messages[0] = json!({"role": "user", "content": "second  "});
    let next = turn(&bench, &mut one, json!({"role": "user", "content": "go on"})).await;
    assert_eq!(next.received, "rewrite/decoration_changed@messages[1]");
    let next = turn(&bench, &mut two, json!({"role": "user", "content": "go on"})).await;
    assert_eq!(next.received, "rewrite/whitespace@messages[1]");
}

/// After a restart the ledger knows what was sent, and no body: the cause is what digests tell, and no guess.
#[tokio::test]
async fn without_the_body_the_cause_is_what_digests_tell() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.sqlite");
    let bench = Bench::with("", Config::default(), Ledger::open(&path).unwrap()).await;
    let mut agent = Agent::chat();
    turn(&bench, &mut agent, reminded("one")).await;
    let Bench { provider, proxy, .. } = bench;
    proxy.shutdown().await;
    let (proxy, tap) = super::proxy(&provider.url(), "", Ledger::open(&path).unwrap()).await;
    let bench = Bench { provider, proxy, tap };
    agent.messages[0] = json!({"role": "user", "content": "one"});
    let second = turn(&bench, &mut agent, reminded("two")).await;
    assert_eq!(second.received, "rewrite/history_edited@messages[1]");
}

#[tokio::test]
async fn a_lost_marker_is_no_break() {
    let (bench, mut agent) = (Bench::new().await, Agent::messages());
    let plain = |text: &str| json!({"role": "user", "content": [{"type": "text", "text": text}]});
    let marked = |text: &str| {
        let mut message = plain(text);
        message["content"][0]["cache_control"] = json!({"type": "ephemeral"});
        message
    };
    turn(&bench, &mut agent, marked("one")).await;
    let next = turn(&bench, &mut agent, plain("two")).await;
    assert_eq!(next.received, "extend/none", "the marker stands where it stood");
    agent.messages[0] = plain("one");
    let next = turn(&bench, &mut agent, marked("three")).await;
    assert_eq!(next.sent, "extend/none", "it moved on");
    agent.messages[4] = plain("three");
    let next = turn(&bench, &mut agent, plain("four")).await;
    assert_eq!(next.sent, "extend/marker_lost@messages[4]");
    assert!(!metrics(&bench.proxy).await.contains("breaks_total{"));
}
