//! What both benches share: conversations as agents send them, and the core's steps on one request.

use std::fmt::Write;

use bytes::Bytes;
use inkfast::ledger::{Db, MemoryLedger, Outcome};
use inkfast::prefix::guard::{self, Departure};
use inkfast::prefix::item::AnswerMark;
use inkfast::prefix::past::{Past, Sent};
use inkfast::prefix::policy::{Mode, Policy};
use inkfast::prefix::{Keys, Plan, Request, Rope, Scope, apply, decide, keys, record};
use inkfast::route::{Choice, Destination, Table};
use inkfast::wire::body::Context;
use inkfast::wire::format::Format;
use inkfast::wire::plan_edits::PlanEdits;

/// When the requests are sent, in milliseconds since the epoch.
pub const NOW_MS: u64 = 1_800_000_000_000;

/// The formats that are measured.
#[derive(Clone, Copy)]
pub enum Speaks {
    Chat,
    Messages,
}

impl Speaks {
    pub fn format(self) -> Format {
        match self {
            Self::Chat => Format::OpenaiChat,
            Self::Messages => Format::AnthropicMessages,
        }
    }
}

/// A conversation with an agent in one format: tool loops of four messages, with texts of equal length.
pub struct Conversation {
    pub format: Speaks,
    /// Text bytes of one item.
    pub text: usize,
    /// Tells one conversation from another.
    pub seed: u64,
}

impl Conversation {
    /// About a mebibyte in 400 items.
    pub fn new(format: Speaks, seed: u64) -> Self {
        Self {
            format,
            text: 2_480,
            seed,
        }
    }

    /// The number of messages that hold about 400 items; the last one is a tool's result.
    pub fn messages(&self) -> usize {
        match self.format {
            Speaks::Chat => 399,
            Speaks::Messages => 319,
        }
    }

    /// A body with the first `messages` messages of the history, whose prompt opens with the line `head`.
    pub fn body(&self, messages: usize, head: &str) -> Bytes {
        let prompt = format!("{head}\n{}", self.prose(0, 8_000));
        let tools: Vec<String> = (0..16).map(|tool| self.tool(tool)).collect();
        let tools = tools.join(",");
        let mut history: Vec<String> = (0..messages)
            .map(|index| self.message(index, index + 1 == messages))
            .collect();
        Bytes::from(match self.format {
            Speaks::Chat => {
                history.insert(0, format!(r#"{{"role":"system","content":{}}}"#, json(&prompt)));
                let history = history.join(",");
                format!(r#"{{"model":"gpt-5.2","messages":[{history}],"tools":[{tools}],"stream":true}}"#)
            }
            Speaks::Messages => {
                let (prompt, history) = (json(&prompt), history.join(","));
                format!(
                    r#"{{"model":"claude-opus-4-8","max_tokens":32000,"system":[{{"type":"text","text":{prompt},{MARKER}}}],"messages":[{history}],"tools":[{tools}],"stream":true}}"#
                )
            }
        })
    }

    /// What the model answered to the body with the first `messages` messages.
    pub fn answer(&self, messages: usize) -> Option<AnswerMark> {
        let text = self.prose(messages, self.text);
        let calls = (messages % 4 == 1).then(|| call_id(messages));
        AnswerMark::of(&text, calls.as_slice())
    }

    fn message(&self, index: usize, last: bool) -> String {
        let text = json(&self.prose(index, self.text));
        let call = call_id(index - index % 4 + 1);
        let marker = if last { format!(",{MARKER}") } else { String::new() };
        match (self.format, index % 4) {
            (Speaks::Chat, 0) => format!(r#"{{"role":"user","content":{text}}}"#),
            (Speaks::Chat, 1) => format!(
                r#"{{"role":"assistant","content":{text},"tool_calls":[{{"id":"{call}","type":"function","function":{{"name":"tool_3","arguments":"{{\"path\":\"src/lib.rs\"}}"}}}}]}}"#
            ),
            (Speaks::Chat, 2) => {
                format!(r#"{{"role":"tool","tool_call_id":"{call}","content":{text}}}"#)
            }
            (Speaks::Chat, _) => format!(r#"{{"role":"assistant","content":{text}}}"#),
            (Speaks::Messages, 0) => {
                format!(r#"{{"role":"user","content":[{{"type":"text","text":{text}{marker}}}]}}"#)
            }
            (Speaks::Messages, 1) => format!(
                r#"{{"role":"assistant","content":[{{"type":"text","text":{text}}},{{"type":"tool_use","id":"{call}","name":"tool_3","input":{{"path":"src/lib.rs","content":{text}}}}}]}}"#
            ),
            (Speaks::Messages, 2) => format!(
                r#"{{"role":"user","content":[{{"tool_use_id":"{call}","type":"tool_result","content":{text}{marker}}}]}}"#
            ),
            (Speaks::Messages, _) => {
                format!(r#"{{"role":"assistant","content":[{{"type":"text","text":{text}}}]}}"#)
            }
        }
    }

    fn tool(&self, index: usize) -> String {
        let text = json(&self.prose(10_000 + index, 700));
        let schema = r#"{"type":"object","properties":{"path":{"type":"string"},"limit":{"type":"integer","minimum":1}},"required":["path"]}"#;
        match self.format {
            Speaks::Chat => format!(
                r#"{{"type":"function","function":{{"name":"tool_{index}","description":{text},"parameters":{schema}}}}}"#
            ),
            Speaks::Messages => {
                format!(r#"{{"name":"tool_{index}","description":{text},"input_schema":{schema}}}"#)
            }
        }
    }

    /// Words in lines, some of them quoted: prose and code have an escape every sixty bytes or so.
    fn prose(&self, part: usize, len: usize) -> String {
        let mut state = self.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (part as u64 + 1);
        let mut out = String::with_capacity(len + 16);
        while out.len() < len {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let word = state >> 40;
            let _ = match word % 16 {
                0 => writeln!(out, "{word:x}"),
                1 => write!(out, "\"{word:x}\" "),
                _ => write!(out, "{word:x} "),
            };
        }
        out.truncate(len);
        out
    }
}

const MARKER: &str = r#""cache_control":{"type":"ephemeral"}"#;

fn call_id(index: usize) -> String {
    format!("call_{index:06}")
}

fn json(text: &str) -> String {
    serde_json::to_string(text).unwrap()
}

/// A ledger of either kind.
pub enum Store {
    Memory(MemoryLedger),
    File(Db),
}

macro_rules! on {
    ($store:expr, |$book:ident| $work:expr) => {
        match &mut $store {
            Store::Memory($book) => $work,
            Store::File($book) => $work,
        }
    };
}

/// The core with a ledger and the route of one provider.
pub struct Core {
    pub format: Format,
    pub scope: Scope,
    pub policy: Policy,
    pub store: Store,
}

/// What is decided about one request.
pub struct Decided {
    pub keys: Keys,
    pub plan: Plan,
    pub lowered: PlanEdits,
    pub rope: Rope,
}

impl Core {
    pub fn new(format: Speaks, store: Store) -> Self {
        let (host, model) = match format {
            Speaks::Chat => ("api.openai.com", "gpt-5.2"),
            Speaks::Messages => ("api.anthropic.com", "claude-opus-4-8"),
        };
        let format = format.format();
        let choice = Choice {
            mode: Mode::InHistory,
            text: None,
            loopback: true,
        };
        let to = Destination { host, format, model };
        Self {
            format,
            scope: Scope::new(host, format.as_str(), None),
            policy: Table::built_in().unwrap().route(to, choice, &[]).policy,
            store,
        }
    }

    pub fn parse(&self, body: &Bytes, known: Option<&Request>) -> Request {
        let context = Context {
            attribution: self.format == Format::AnthropicMessages,
            ..Context::default()
        };
        self.format.wire().parse(body, &context, known).unwrap()
    }

    pub fn keys(&self, request: &Request) -> Keys {
        keys(request, self.scope)
    }

    pub fn past(&mut self, keys: &Keys) -> Past {
        let scope = self.scope;
        on!(self.store, |book| book.past(scope, keys).unwrap())
    }

    pub fn decide(&self, request: &Request, keys: &Keys, past: &Past) -> Plan {
        decide(request, keys.request, past, &self.policy, NOW_MS)
    }

    pub fn lower(&self, request: &Request, plan: &Plan) -> (PlanEdits, Rope) {
        let lowered = self.format.wire().edits(request, plan, self.policy.text).unwrap();
        let rope = apply(&request.body, &lowered.edits);
        (lowered, rope)
    }

    pub fn record(&self, request: &Request, decided: &Decided) -> Sent {
        let going = (decided.lowered.head.clone(), decided.lowered.nodes.clone());
        record::sent(request, (self.scope, &decided.keys), &decided.plan, going, NOW_MS)
    }

    pub fn plan(&mut self, request: &Request) -> Decided {
        let keys = self.keys(request);
        let past = self.past(&keys);
        let plan = self.decide(request, &keys, &past);
        let (lowered, rope) = self.lower(request, &plan);
        Decided {
            keys,
            plan,
            lowered,
            rope,
        }
    }

    /// One request that the upstream answers.
    pub fn exchange(&mut self, request: &Request, answer: Option<AnswerMark>) {
        let decided = self.plan(request);
        check(request, &decided);
        let sent = self.record(request, &decided);
        let scope = self.scope;
        on!(self.store, |book| {
            let seq = book.append(scope, sent).unwrap();
            book.settle(seq, Outcome::Committed, NOW_MS).unwrap();
            if let Some(answer) = answer {
                book.answer(seq, answer, NOW_MS).unwrap();
            }
        });
    }
}

/// The guard.
pub fn check(request: &Request, decided: &Decided) {
    let plan = &decided.plan;
    let departure = Departure {
        request,
        parent: plan.parent.as_deref().map(|parent| (parent, plan.shared)),
        frozen: plan.baseline.is_some(),
        head: &decided.lowered.head,
        nodes: &decided.lowered.nodes,
        edits: &decided.lowered.edits,
        rope: &decided.rope,
    };
    guard::check(&departure).unwrap();
}
