//! Whose conversation it is.

use super::*;

/// A listener that does not count as loopback, though nobody but this machine reaches it: its address is 127.0.0.1,
/// mapped into IPv6.
const NOT_LOOPBACK: &str = "listen = \"[::ffff:127.0.0.1]:0\"";

async fn shared() -> Option<Bench> {
    if std::net::TcpListener::bind("[::ffff:127.0.0.1]:0").is_err() {
        return None;
    }
    let provider = Provider::start(sim::Config::default()).unwrap();
    let mut partial = partial(&provider.url());
    partial.listen = NOT_LOOPBACK.parse::<inkfast::config::Partial>().unwrap().listen;
    let (told, tap) = mpsc::channel();
    let config = Config::new(partial).unwrap();
    let proxy = Server::start_with(config, Ledger::memory(), Some(told), None)
        .await
        .unwrap();
    Some(Bench { provider, proxy, tap })
}

fn with_key(key: &str) -> Agent {
    Agent {
        lines: vec![format!("x-api-key: {key}")],
        ..Agent::chat()
    }
}

#[tokio::test]
async fn another_keys_conversation_is_not_continued() {
    let Some(bench) = shared().await else { return };
    let mut ann = with_key("ann");
    ann.turn(&bench, "one").await;
    let mut bob = Agent {
        lines: with_key("bob").lines,
        ..ann.clone()
    };
    bob.system = prompt("act");
    let second = bob.turn(&bench, "two").await;
    assert_eq!(
        (second.received.as_str(), second.nodes),
        ("new_lineage/none", 0),
        "{second:?}"
    );
    bob.messages.pop();
    assert_eq!(bench.last(), bob.body().to_string());
    assert_eq!(ann.turn(&bench, "two").await.received, "extend/none");
}

#[tokio::test]
async fn on_one_persons_machine_a_new_key_is_the_same_person() {
    let (bench, mut agent) = (Bench::new().await, with_key("old"));
    agent.turn(&bench, "one").await;
    agent.lines = with_key("new").lines;
    assert_eq!(agent.turn(&bench, "two").await.received, "extend/none");
}

#[tokio::test]
async fn upstreams_and_formats_are_worlds_of_their_own() {
    let (bench, mut agent) = (Bench::new().await, Agent::chat());
    agent.turn(&bench, "one").await;
    agent.path = "/anthropic/v1/chat/completions";
    assert_eq!(agent.turn(&bench, "two").await.received, "new_lineage/none");
}

#[tokio::test]
async fn agents_of_one_session_keep_their_own_prompts() {
    let bench = Bench::new().await;
    let session = |agent: &str| {
        vec![
            "x-claude-code-session-id: s".to_owned(),
            format!("x-claude-code-agent-id: {agent}"),
        ]
    };
    let mut main = Agent {
        lines: session("main"),
        ..Agent::messages()
    };
    main.turn(&bench, "one").await;
    let mut sub = Agent {
        lines: session("sub"),
        system: "You write titles. Three words at most.".into(),
        ..main.clone()
    };
    let side = sub.turn(&bench, "A title, please.").await;
    assert_eq!(
        (side.received.as_str(), side.nodes),
        ("new_lineage/none", 0),
        "{side:?}"
    );
    main.system = prompt("act");
    let second = main.turn(&bench, "two").await;
    assert_eq!(
        (second.sent.as_str(), second.nodes),
        ("extend/none", 1),
        "{second:?}"
    );
}
