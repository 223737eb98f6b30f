//! The proxy rewrites: what leaves, what is remembered, and what happens where it cannot be.

mod asking;
mod bad_input;
mod causes;
mod diagnostics;
mod learning;
mod misses;
mod refusals;
mod scope;
mod state;
mod turns;

use std::{
    net::SocketAddr,
    sync::mpsc::{self, Receiver},
    time::Duration,
};

use bytes::Bytes;
use inkfast::{
    config::{Config, PartialUpstream},
    ledger::Ledger,
    prefix::policy::Mutant,
    proxy::{
        line::{Prefix, Summary},
        server::{Running, Server},
    },
    sim::{self, Provider},
};
use serde_json::{Value, json};

use crate::support::*;

/// A proxy in front of a simulated provider, and what it says of each request.
pub struct Bench {
    pub provider: Provider,
    pub proxy: Running,
    tap: Receiver<Summary>,
}

impl Bench {
    pub async fn new() -> Self {
        Self::with("", sim::Config::default(), Ledger::memory()).await
    }

    /// `keys` are lines of the configuration, in which `PROVIDER` stands for the provider's URL.
    pub async fn with(keys: &str, provider: sim::Config, ledger: Ledger) -> Self {
        let provider = Provider::start(provider).unwrap();
        let keys = keys.replace("PROVIDER", &provider.url());
        let (proxy, tap) = proxy(&provider.url(), &keys, ledger).await;
        Self { provider, proxy, tap }
    }

    /// What was said of the next request.
    pub fn summary(&self) -> Summary {
        self.tap.recv_timeout(Duration::from_secs(5)).unwrap()
    }

    pub fn prefix(&self) -> Prefix {
        let summary = self.summary();
        summary.prefix.clone().unwrap_or_else(|| panic!("{summary:?}"))
    }

    /// The bodies that the provider got.
    pub fn sent(&self) -> Vec<Bytes> {
        self.provider
            .recorded()
            .iter()
            .map(|one| one.body.clone())
            .collect()
    }

    pub fn last(&self) -> Bytes {
        self.sent().pop().unwrap()
    }

    /// Sends a body; the answer's status and body.
    pub async fn ask(&self, path: &str, lines: &[&str], body: impl AsRef<[u8]>) -> (u16, String) {
        ask(self.proxy.proxy_addr, path, lines, body).await
    }
}

pub async fn proxy(url: &str, keys: &str, ledger: Ledger) -> (Running, Receiver<Summary>) {
    proxy_with(url, keys, ledger, None).await
}

/// The same with a fault in its planner.
pub async fn proxy_with(
    url: &str,
    keys: &str,
    ledger: Ledger,
    mutant: Option<Mutant>,
) -> (Running, Receiver<Summary>) {
    let mut partial = partial_with(url, keys);
    for (name, acts_as) in [("openai", "api.openai.com"), ("anthropic", "api.anthropic.com")] {
        let given = PartialUpstream {
            url: url.into(),
            acts_as: Some(acts_as.into()),
            ..PartialUpstream::default()
        };
        partial.upstreams.insert(name.into(), given);
    }
    let (told, tap) = mpsc::channel();
    let config = Config::new(partial).unwrap();
    let running = Server::start_with(config, ledger, Some(told), mutant)
        .await
        .unwrap();
    (running, tap)
}

pub async fn ask(to: SocketAddr, path: &str, lines: &[&str], body: impl AsRef<[u8]>) -> (u16, String) {
    let answer = request(to, &format!("POST {path}"), lines, body).await;
    (status_of(&answer), body_of(&answer).to_owned())
}

/// An agent in one of the two formats: it sends its whole conversation each time.
#[derive(Clone)]
pub struct Agent {
    pub path: &'static str,
    pub model: &'static str,
    pub system: String,
    pub messages: Vec<Value>,
    pub lines: Vec<String>,
}

/// Enough text that two prompts with one changed line are alike.
pub fn prompt(mode: &str) -> String {
    format!(
        "You are a careful assistant for software work.\n\nRead before you write. Ask when in doubt.\n\n\
         Mode: {mode}\n\nKeep answers short, name the files that you touch, and run the tests before you say done."
    )
}

impl Agent {
    pub fn chat() -> Self {
        Self::new("/v1/chat/completions", "gpt-5.5")
    }

    pub fn messages() -> Self {
        Self::new("/v1/messages", "claude-opus-5")
    }

    fn new(path: &'static str, model: &'static str) -> Self {
        Self {
            path,
            model,
            system: prompt("plan"),
            messages: Vec::new(),
            lines: Vec::new(),
        }
    }

    pub fn is_chat(&self) -> bool {
        self.path.ends_with("completions")
    }

    pub fn body(&self) -> Value {
        let mut messages = self.messages.clone();
        if self.is_chat() {
            messages.insert(0, json!({"role": "system", "content": self.system}));
            return json!({"model": self.model, "messages": messages});
        }
        json!({"model": self.model, "max_tokens": 100, "system": self.system, "messages": messages})
    }

    pub fn user(&mut self, text: &str) {
        self.messages.push(json!({"role": "user", "content": text}));
    }

    /// One turn: the user's text, and the answer to it.
    pub async fn turn(&mut self, bench: &Bench, text: &str) -> Prefix {
        self.turn_to(bench.proxy.proxy_addr, text).await;
        bench.prefix()
    }

    pub async fn turn_to(&mut self, proxy: SocketAddr, text: &str) {
        self.user(text);
        let lines: Vec<&str> = self.lines.iter().map(String::as_str).collect();
        let (status, answer) = ask(proxy, self.path, &lines, self.body().to_string()).await;
        assert_eq!(status, 200, "{answer}");
        let answer: Value = serde_json::from_str(&answer).unwrap();
        let message = if self.is_chat() {
            json!({"role": "assistant", "content": answer["choices"][0]["message"]["content"]})
        } else {
            json!({"role": "assistant", "content": answer["content"]})
        };
        self.messages.push(message);
    }
}

/// The part of a body in front of what closes its messages: the next body must begin with it.
pub fn open_end(body: &[u8]) -> &[u8] {
    let end = body.windows(2).rposition(|pair| pair == b"}]").unwrap();
    &body[..=end]
}

/// Whether a body holds the JSON string form of `text`.
pub fn holds(body: &[u8], text: &str) -> bool {
    String::from_utf8_lossy(body).contains(text)
}
