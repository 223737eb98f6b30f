//! The ledger, in memory and in SQLite: one story of items, heads and sessions drives both.

mod crash;
mod file;
mod look_up;
mod property;
mod writes;

use std::sync::Arc;

use bytes::Bytes;
use inkfast::ledger::{Ledger, MemoryLedger, Outcome};
use inkfast::prefix::digest::{Canonical, Chain, Digest, Wire};
use inkfast::prefix::item::{AnswerMark, FrozenBlock, FrozenHead, Hints, Kind, Mark, Param, Role, ToolMark};
use inkfast::prefix::keys::{Keys, Scope, answer_key, assistant_keys, chain_key};
use inkfast::prefix::past::{Node, Past, Path, Sent, Seq, Slot, State};
use inkfast::prefix::policy::{Carrier, Mode, Placement};
use inkfast::prompt::{Entry, GroupKind, Rendering, Sketch};

/// A request in short: items that begin with `a` are the assistant's, and an answer is such an item's text.
#[derive(Clone, Debug, PartialEq)]
pub struct Ask {
    pub items: Vec<String>,
    pub head: String,
    pub session: Option<String>,
}

pub fn ask(items: &[&str]) -> Ask {
    Ask {
        items: items.iter().map(|item| item.to_string()).collect(),
        head: "head".into(),
        session: None,
    }
}

pub fn digest(text: &str) -> Digest {
    Digest::of("test", text.as_bytes())
}

pub fn scope() -> Scope {
    Scope::new("up", "chat", None)
}

pub fn answer_of(text: &str) -> AnswerMark {
    AnswerMark::of(text, &[] as &[&str]).unwrap()
}

impl Ask {
    pub fn head(mut self, head: &str) -> Self {
        self.head = head.into();
        self
    }

    pub fn session(mut self, session: &str) -> Self {
        self.session = Some(session.into());
        self
    }

    pub fn marks(&self) -> Vec<Mark> {
        self.items.iter().map(|item| mark(item)).collect()
    }

    fn chains(&self) -> Vec<Chain> {
        let next = |chain: &mut Chain, mark: Mark| {
            *chain = chain.then(mark.canonical);
            Some(*chain)
        };
        self.marks().into_iter().scan(Chain::EMPTY, next).collect()
    }

    pub fn request(&self) -> Digest {
        digest(&format!("{self:?}"))
    }

    fn hints(&self) -> Hints {
        Hints {
            session: self.session.as_deref().map(digest),
            ..Hints::default()
        }
    }

    /// The keys by which it is looked up, as `prefix::keys` makes them.
    pub fn keys(&self) -> Keys {
        let marks = self.marks();
        let mut assistants: Vec<Digest> = assistant_keys(scope(), marks.iter())
            .map(|(_, key)| key)
            .collect();
        assistants.reverse();
        let answers = self.items.iter().rev().filter(|item| item.starts_with('a'));
        Keys {
            request: self.request(),
            response: None,
            chains: self
                .chains()
                .into_iter()
                .rev()
                .map(|chain| chain_key(scope(), chain))
                .collect(),
            assistants,
            answers: answers.map(|item| answer_key(scope(), answer_of(item))).collect(),
            items: marks.iter().map(|mark| mark.canonical).collect(),
            head: digest(&self.head),
            hints: self.hints(),
        }
    }

    /// It as sent; `parent` with its items, all keys in the index as a careless caller would give them.
    pub fn sent(&self, parent: Option<(Seq, Seq)>, carries: bool) -> Sent {
        let keys = self.keys();
        Sent {
            path: self.path(parent),
            shared: 0,
            carries,
            durable: false,
            index: keys.chains.into_iter().chain(keys.assistants).collect(),
        }
    }

    fn path(&self, parent: Option<(Seq, Seq)>) -> Path {
        Path {
            seq: 0,
            lineage: parent.map_or(0, |(lineage, _)| lineage),
            parent: parent.map(|(_, seq)| seq),
            state: State::Tentative,
            mode: Mode::InHistory,
            model: Some("m".into()),
            params: vec![Param {
                name: "temperature".into(),
                value: digest("0"),
            }],
            tools: Arc::new([tool("read"), tool("write")]),
            head: Arc::new(head(&self.head)),
            baseline: Arc::new(head("first head")),
            nodes: vec![Arc::new(node("update"))],
            items: self.marks().into(),
            last_words: Sketch::of("a few words"),
            answer: None,
            first_items: 1,
            hints: self.hints(),
            request: self.request(),
            at_ms: 1000,
            marker_ttl: Some(300),
            superseded_carried: 7,
        }
    }
}

/// A ledger with the number of the step, told from its lineage's.
pub async fn send(ledger: &Ledger, sent: Sent, outcome: Outcome) -> (Seq, Seq) {
    let lineage = sent.path.lineage;
    let seq = ledger.append(scope(), sent).await.unwrap();
    ledger.settle(seq, outcome, 2000).await.unwrap();
    (if lineage == 0 { seq } else { lineage }, seq)
}

/// The same, and its answer.
pub async fn turn(ledger: &Ledger, ask: &Ask, parent: Option<(Seq, Seq)>, answer: &str) -> (Seq, Seq) {
    let at = send(ledger, ask.sent(parent, parent.is_some()), Outcome::Committed).await;
    ledger.answer(at.1, answer_of(answer), 3000).await.unwrap();
    at
}

pub async fn past(ledger: &Ledger, ask: &Ask) -> Past {
    ledger.past(scope(), &ask.keys()).await.unwrap()
}

pub fn seqs(past: &Past) -> Vec<Seq> {
    past.paths.iter().map(|path| path.seq).collect()
}

/// Runs `test` on an empty ledger of each kind.
pub fn on_both<F: Future<Output = ()>>(test: impl Fn(Ledger) -> F) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(test(Ledger::memory()));
    let folder = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(&folder.path().join("ledger.db")).unwrap();
    runtime.block_on(async {
        test(ledger.clone()).await;
        ledger.close().await;
    });
}

pub fn block_on<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(work)
}

/// A memory ledger, closed and opened again.
pub fn reopened(ledger: &MemoryLedger) -> MemoryLedger {
    MemoryLedger::from_bytes(&ledger.to_bytes().unwrap()).unwrap()
}

pub fn mark(item: &str) -> Mark {
    Mark {
        wire: Wire(digest(&format!("wire {item}"))),
        canonical: Canonical(digest(item)),
        len: item.len() as u32,
        role: if item.starts_with('a') {
            Role::Assistant
        } else {
            Role::User
        },
        kind: Kind::Content,
        opens: true,
    }
}

fn tool(name: &str) -> ToolMark {
    ToolMark {
        name: name.into(),
        wire: Wire(digest(name)),
        canonical: Canonical(digest(name)),
        len: 9,
    }
}

fn head(text: &str) -> FrozenHead {
    let block = FrozenBlock {
        bytes: Bytes::from(format!("\"{text}\"")),
        marker_at: None,
        string: Some(1..text.len() as u32 + 1),
        texts: Some(vec![text.into()]),
        wire: Wire(digest(text)),
        bytes_digest: digest(text),
        canonical: Canonical(digest(text)),
        len: text.len() as u32,
        role: "system".into(),
    };
    FrozenHead {
        blocks: vec![block],
        digest: digest(text),
        prompt: digest(text),
    }
}

fn node(text: &str) -> Node {
    Node {
        position: 1,
        slot: Slot::Message,
        carrier: Carrier::System,
        placement: Placement::BeforeUserRun,
        bytes: Bytes::from(text.to_owned()),
        digest: digest(text),
        holder: None,
        kind: GroupKind::Replace,
        entries: vec![Entry {
            mode: inkfast::prompt::Mode::Replace,
            text: text.into(),
        }],
        rendering: Rendering::Full,
        effective: digest("effective"),
    }
}
