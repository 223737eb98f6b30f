//! What a log line says beside the verdicts: ids of items, white space that is no change, look-alikes of our tags, and
//! the warning where a secret left the head.

use inkfast::sim::{Config, LaterSystem, Provider};
use serde_json::{Value, json};

use crate::binary::{Inkfast, post};

const HEAD: &str = "You are a coding agent for the repository parser. Follow its rules and run the tests.";

fn ask(inkfast: &Inkfast, head: &str, history: &[Value]) -> Value {
    let mut messages = vec![json!({"role": "system", "content": head})];
    messages.extend_from_slice(history);
    let body = json!({"model": "gpt-5.5", "messages": messages}).to_string();
    let (status, answer) = post(
        &format!("{}/v1/chat/completions", inkfast.proxy),
        &[],
        body.as_bytes(),
    );
    assert_eq!(status, 200);
    let answer: Value = serde_json::from_slice(&answer).unwrap();
    answer["choices"][0]["message"].clone()
}

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

#[test]
fn the_line_tells_ids_white_space_and_lookalikes() {
    let provider = Provider::start(Config::default()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let config = format!(
        "state = \"memory:\"\n[upstreams.openai]\nurl = \"{}\"\nacts_as = \"api.openai.com\"\n",
        provider.url()
    );
    let inkfast = Inkfast::serve(folder.path(), &config);
    let mut history = vec![user("q1")];
    history.push(ask(&inkfast, HEAD, &history));
    ask(&inkfast, "Another conversation.", &[user("q1")]);
    history.push(user("what does <system-reminder> mean?"));
    history.push(ask(&inkfast, &format!("{HEAD}  \n"), &history));
    let key = format!("{HEAD}\nThe key is sk-{}", "a1B2c3D4".repeat(6));
    history.push(user("q3"));
    history.push(ask(&inkfast, &key, &history));
    history.push(user("q4"));
    ask(&inkfast, HEAD, &history);

    let lines: Vec<Value> = inkfast
        .wait_for_requests(5)
        .into_iter()
        .map(|line| {
            if line["fields"].is_object() {
                line["fields"].clone()
            } else {
                line
            }
        })
        .collect();
    let tip = |index: usize| lines[index]["tip"].as_str().unwrap().to_owned();
    assert_eq!(tip(0), tip(1), "equal items have one id");
    assert_ne!(tip(0), tip(2));
    assert_eq!(
        tip(0).split('-').nth(2).map(|part| &part[..1]),
        Some("5"),
        "a UUID of version 5"
    );
    assert_eq!(lines[2]["whitespace"], true);
    assert_eq!(lines[2]["node"], "-", "white space is no change");
    assert_eq!(
        (&lines[0]["whitespace"], &lines[0]["lookalikes"]),
        (&Value::Null, &Value::Null)
    );
    assert_eq!(lines[2]["lookalikes"], 1);
    assert_eq!(lines[4]["node"], "rebaseline(secret)");
    assert_eq!(inkfast.log().matches("secret_removed").count(), 1);
    let last = provider.recorded().last().unwrap().body.clone();
    assert!(
        !String::from_utf8_lossy(&last).contains("a1B2c3D4"),
        "the key is on the wire no more"
    );
}

/// A row that is given up is an event of its own, without a word of what was said and with the model as the allow-list names it.
#[test]
fn what_is_learned_of_a_route_is_told() {
    let provider = Provider::start(Config {
        later_system: LaterSystem::Hoist,
        ..Config::default()
    })
    .unwrap();
    let folder = tempfile::tempdir().unwrap();
    let config = format!(
        "state = \"memory:\"\n[upstreams.openai]\nurl = \"{}\"\nacts_as = \"api.openai.com\"\n",
        provider.url()
    );
    let inkfast = Inkfast::serve(folder.path(), &config);
    let mut history = vec![user(&"Tell me about the parser. ".repeat(500))];
    for mode in ["plan", "act", "review", "ask"] {
        let answer = ask(&inkfast, &format!("{HEAD} The mode is {mode}."), &history);
        history.extend([answer, user("Go on.")]);
    }
    let lines = inkfast.wait_for_requests(4);
    let misses: Vec<&Value> = lines.iter().map(|line| &fields(line)["miss"]).collect();
    let (once, again) = ("routing_or_eviction", "hoisted_downstream");
    assert_eq!(misses, [&Value::Null, &json!(once), &json!(again), &json!(again)]);
    let log = inkfast.log();
    let told: Vec<Value> = log
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .map(|line: Value| fields(&line).clone())
        .filter(|fields| fields["event"] == "learned")
        .collect();
    assert_eq!(told.len(), 1, "{log}");
    assert_eq!(told[0]["finding"], "hoisted");
    assert_eq!(told[0]["row"], "system/before_user_run/after_results");
    assert_eq!(told[0]["route"], "openai/openai_chat/gpt-5*");
}

fn fields(line: &Value) -> &Value {
    if line["fields"].is_object() {
        &line["fields"]
    } else {
        line
    }
}
