//! kill -9 between two requests of a conversation that holds nodes, and a restart: the next body extends the last.

use std::time::Duration;

use inkfast::sim::{Config, Provider};
use serde_json::{Value, json};

use crate::binary::{Inkfast, post};

/// How often the process is killed.
const KILLS: usize = 50;

/// Turns of one conversation; then another one begins, so that bodies stay small.
const TURNS: usize = 10;

#[test]
fn a_killed_proxy_goes_on_where_it_was() {
    let provider = Provider::start(Config::default()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let config = format!(
        "state = \"sqlite:{}\"\n[upstreams.openai]\nurl = \"{}\"\nacts_as = \"api.openai.com\"\n",
        folder.path().join("ledger.sqlite").display(),
        provider.url()
    );
    let mut random = Random(0x5eed);
    let mut inkfast = Inkfast::serve(folder.path(), &config);
    for conversation in 0..KILLS / TURNS {
        let mut history = vec![question(conversation, 1)];
        let mut last: Option<Value> = None;
        for turn in 1..=TURNS + 1 {
            let head =
                json!({"role": "system", "content": format!("{HEAD}Tasks done: {turn}, mode {}", turn % 3)});
            let mut messages = vec![head];
            messages.extend(history.iter().cloned());
            let body = json!({"model": "gpt-5.5", "messages": messages}).to_string();
            let (status, answer) = post(
                &format!("{}/v1/chat/completions", inkfast.proxy),
                &[],
                body.as_bytes(),
            );
            assert_eq!(status, 200);
            let sent: Value = serde_json::from_slice(&provider.recorded().last().unwrap().body).unwrap();
            extends(last.as_ref(), &sent, turn);
            last = Some(sent);
            let answer: Value = serde_json::from_slice(&answer).unwrap();
            history.push(answer["choices"][0]["message"].clone());
            history.push(question(conversation, turn + 1));
            if turn <= TURNS {
                std::thread::sleep(Duration::from_micros(random.below(30_000)));
                inkfast.kill();
                inkfast = Inkfast::serve(folder.path(), &config);
            }
        }
        let nodes = last.unwrap()["messages"].as_array().unwrap().len();
        assert!(nodes >= 1 + 2 * TURNS + TURNS, "every edit is a node: {nodes}");
    }
}

const HEAD: &str =
    "You are a coding agent for the repository parser. Follow its rules, run the tests, report.\n";

/// Long enough that carrying old updates stays cheaper than to fold them into the head.
fn question(conversation: usize, turn: usize) -> Value {
    let text = "Please look at the next part of the parser. ".repeat(40);
    json!({"role": "user", "content": format!("Question {turn} of {conversation}: {text}")})
}

/// All messages that were sent stand in what is sent now, in front of everything new.
fn extends(last: Option<&Value>, now: &Value, turn: usize) {
    let Some(last) = last else { return };
    let (before, after) = (
        last["messages"].as_array().unwrap(),
        now["messages"].as_array().unwrap(),
    );
    assert!(
        after.starts_with(before),
        "turn {turn} rewrote what was sent:\n{last}\n{now}"
    );
}

/// A small generator, seeded so that a failure repeats.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}
