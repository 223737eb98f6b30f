//! Vendors are asked what they find only where the user wants that, beside the prompt, and never at the prompt's cost.

use inkfast::sim::Answer;

use super::*;

/// An upstream of each vendor whose provider is asked.
fn keys(asks: bool) -> String {
    let one = |name: &str, host: &str| {
        format!("[upstreams.ask{name}]\nurl = \"PROVIDER\"\nacts_as = \"{host}\"\nask_diagnostics = {asks}\n")
    };
    one("openai", "api.openai.com") + &one("anthropic", "api.anthropic.com")
}

fn items(texts: &[&str]) -> Value {
    let items = texts.iter().enumerate().map(|(at, text)| {
        let role = ["user", "assistant"][at % 2];
        json!({"type": "message", "role": role, "content": text})
    });
    items.collect()
}

async fn respond(bench: &Bench, model: &str, instructions: &str, input: Value) -> Value {
    let body = json!({"model": model, "instructions": instructions, "input": input});
    let (status, answer) = bench.ask("/askopenai/v1/responses", &[], body.to_string()).await;
    assert_eq!(status, 200, "{answer}");
    serde_json::from_str(&answer).unwrap()
}

fn said(answer: &Value) -> String {
    answer["output"][0]["content"][0]["text"]
        .as_str()
        .unwrap()
        .to_owned()
}

#[tokio::test]
async fn a_responses_provider_compares_with_the_response_before() {
    for (model, asks, asked) in [
        ("gpt-6", true, true),
        ("gpt-6", false, false),
        ("gpt-5.5", true, false),
    ] {
        let bench = Bench::with(&keys(asks), sim::Config::default(), Ledger::memory()).await;
        let text = sim::text_of_tokens(1500, 3);
        let first = respond(&bench, model, &prompt("plan"), items(&[&text])).await;
        let answer = said(&first);
        respond(&bench, model, &prompt("plan"), items(&[&text, &answer, "And?"])).await;
        let sent = bench.sent();
        let question = format!(
            r#""prompt_cache_options":{{"comparison_response_id":{}}},"#,
            first["id"]
        );
        assert!(
            !holds(&sent[0], "prompt_cache_options"),
            "there was nothing to compare with"
        );
        assert_eq!(holds(&sent[1], &question), asked, "{model}");
        let plain = String::from_utf8_lossy(&sent[1]).replace(&question, "");
        let body = json!({"model": model, "instructions": prompt("plan"), "input": items(&[&text, &answer, "And?"])});
        assert_eq!(plain, body.to_string(), "nothing else is changed");
        let counted = r#"inkfast_diagnostics_total{agrees="yes",cause="cache_hit",source="prompt_cache_diagnostics"} 1"#;
        assert_eq!(metrics(&bench.proxy).await.contains(counted), asked, "{model}");
    }
}

#[tokio::test]
async fn a_messages_provider_is_told_the_message_before() {
    let bench = Bench::with(&keys(true), sim::Config::default(), Ledger::memory()).await;
    let mut agent = Agent::messages();
    agent.path = "/askanthropic/v1/messages";
    agent.turn(&bench, "one").await;
    let second = agent.turn(&bench, "two").await;
    assert_eq!(second.sent, "extend/none");
    let sent = bench.sent();
    assert!(!holds(&sent[0], "diagnostics"));
    assert!(
        sent[1].starts_with(br#"{"diagnostics":{"previous_message_id":"msg_"#),
        "{:?}",
        sent[1]
    );
    // An edit of the prompt goes out with it, too.
    agent.system = prompt("act");
    let third = agent.turn(&bench, "three").await;
    assert_eq!((third.sent.as_str(), third.nodes), ("extend/none", 1));
    assert!(bench.last().starts_with(br#"{"diagnostics":{"#));
}

#[tokio::test]
async fn what_the_client_asks_itself_stands_and_a_covered_body_is_not_touched() {
    let bench = Bench::with(&keys(true), sim::Config::default(), Ledger::memory()).await;
    let mut agent = Agent::messages();
    agent.path = "/askanthropic/v1/messages";
    agent.turn(&bench, "one").await;
    agent.user("two");
    let mut body = agent.body();
    body["diagnostics"] = json!({"previous_message_id": null});
    let (_, _) = bench.ask(agent.path, &[], body.to_string()).await;
    assert_eq!(bench.last(), body.to_string());
    let body = agent.body().to_string();
    bench
        .ask(agent.path, &["Content-MD5: 1B2M2Y8AsgTpgAmY7PhCfg=="], &body)
        .await;
    assert_eq!(bench.last(), body);
}

#[tokio::test]
async fn a_provider_that_takes_no_question_gets_none_again() {
    let bench = Bench::with(&keys(true), sim::Config::default(), Ledger::memory()).await;
    let mut agent = Agent::messages();
    agent.path = "/askanthropic/v1/messages";
    agent.turn(&bench, "one").await;
    bench
        .provider
        .push(Answer::error(400, "diagnostics: Extra inputs are not permitted"));
    let second = agent.turn(&bench, "two").await;
    assert_eq!(second.sent, "extend/none");
    agent.turn(&bench, "three").await;
    let asked: Vec<bool> = bench
        .sent()
        .iter()
        .map(|body| holds(body, "diagnostics"))
        .collect();
    assert_eq!(asked, [false, true, false, false], "the client never hears of it");
}
