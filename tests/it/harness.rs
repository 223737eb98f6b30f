//! The core without a socket: one request after another through parse, keys, past, decide, lower, guard and record,
//! on a real ledger.

use std::collections::HashMap;
use std::sync::OnceLock;

use bytes::Bytes;
use inkfast::ledger::{Book, Db, MemoryLedger, Outcome as Ended};
use inkfast::prefix::digest::Digest;
use inkfast::prefix::guard::{self, Departure};
use inkfast::prefix::item::{AnswerMark, Hints};
use inkfast::prefix::keys::{response_id, response_key};
use inkfast::prefix::past::{Past, Sent, Seq};
use inkfast::prefix::policy::{Mode, Mutant, TextMode};
use inkfast::prefix::{Keys, Plan, Request, Scope, Verdict, apply, decide, keys, provider_held, record};
use inkfast::route::{Choice, Destination, Table};
use inkfast::wire::body::Context;
use inkfast::wire::drift;
use inkfast::wire::format::Format;
use inkfast::wire::markers;
use inkfast::wire::plan_edits::PlanEdits;
use inkfast::wire::scan::Fault;
use tempfile::TempDir;

/// A ledger of either kind; the folder of a file goes with it.
pub enum Store {
    Memory(MemoryLedger),
    File(Db, TempDir),
}

/// Read once: a debug build takes its time over it.
static TABLE: OnceLock<Table> = OnceLock::new();

/// The core, a ledger and a route.
pub struct Core {
    pub store: Store,
    pub format: Format,
    pub host: String,
    pub scope: Scope,
    /// The model, where the path names it.
    pub model: Option<String>,
    pub mode: Mode,
    pub loopback: bool,
    pub text: Option<TextMode>,
    pub mutant: Option<Mutant>,
    pub now_ms: u64,
    table: &'static Table,
    rules: markers::Rules,
    /// All that left, by key: what verdicts are told from.
    bodies: HashMap<Digest, Request>,
}

/// What became of one request.
pub struct Turn {
    pub request: Request,
    pub plan: Plan,
    pub lowered: PlanEdits,
    pub out: Bytes,
    pub guard: Result<(), guard::Violation>,
    /// Both verdicts, told from the bodies.
    pub received: Verdict,
    pub sent: Verdict,
    pub seq: Seq,
}

/// What the upstream answers.
#[derive(Clone, Debug)]
pub struct Answer {
    pub status: u16,
    pub text: String,
    pub calls: Vec<String>,
}

pub fn parse(
    format: Format,
    body: &Bytes,
    context: &Context<'_>,
    known: Option<&Request>,
) -> Result<Request, Fault> {
    format.wire().parse(body, context, known)
}

impl Core {
    pub fn new(format: Format, host: &str) -> Self {
        Self {
            store: Store::Memory(MemoryLedger::new()),
            format,
            host: host.to_owned(),
            scope: Scope::new(host, format.as_str(), None),
            model: None,
            mode: Mode::InHistory,
            loopback: true,
            text: None,
            mutant: None,
            now_ms: 1_800_000_000_000,
            table: TABLE.get_or_init(|| Table::built_in().unwrap()),
            rules: markers::Rules::default(),
            bodies: HashMap::new(),
        }
    }

    /// Plans one request, sends nothing.
    pub fn plan(&mut self, body: &Bytes, hints: Hints) -> Result<(Request, Keys, Plan, PlanEdits), Fault> {
        let named = Context {
            model: self.model.as_deref(),
            ..Context::default()
        };
        let model = parse(self.format, body, &named, None)?.model.unwrap_or_default();
        let choice = Choice {
            mode: self.mode,
            text: self.text,
            loopback: self.loopback,
        };
        let to = Destination {
            host: &self.host,
            format: self.format,
            model: &model,
        };
        let table = self.table;
        let instructions_lead = |model: &str| table.instructions_lead(Destination { model, ..to });
        let mut route = table.route(to, choice, &[]);
        route.policy.mutant = self.mutant;
        self.rules = route.markers;
        let context = Context {
            attribution: route.attribution,
            model: self.model.as_deref(),
            instructions_lead: Some(&instructions_lead),
            hints,
        };
        let request = parse(self.format, body, &context, None)?;
        let keys = keys(&request, self.scope);
        let mut past = self.past(&keys);
        provider_held::unfold(&request, &mut past);
        let (request, keys) =
            provider_held::behind(&request, &keys, self.scope, &past).unwrap_or((request, keys));
        let plan = decide(&request, keys.request, &past, &route.policy, self.now_ms);
        let lowered = self
            .format
            .wire()
            .edits(&request, &plan, route.policy.text)
            .expect("edits are disjoint");
        Ok((request, keys, plan, lowered))
    }

    /// One request and its answer.
    pub fn exchange(&mut self, body: &Bytes, hints: Hints, answer: &Answer) -> Turn {
        let turn = self.send(body, hints);
        self.end(turn.seq, answer);
        turn
    }

    /// One request, on its way and not answered yet.
    pub fn send(&mut self, body: &Bytes, hints: Hints) -> Turn {
        let planned = self.plan(body, hints).expect("a readable body");
        self.leave(planned)
    }

    /// Lets a planned request leave.
    pub fn leave(&mut self, (request, keys, plan, lowered): (Request, Keys, Plan, PlanEdits)) -> Turn {
        let rope = apply(&request.body, &lowered.edits);
        let guard = guard::check(&Departure {
            request: &request,
            parent: plan.parent.as_deref().map(|parent| (parent, plan.shared)),
            frozen: plan.keeps_prefix(),
            head: &lowered.head,
            nodes: &lowered.nodes,
            edits: &lowered.edits,
            rope: &rope,
        });
        let going = (lowered.head.clone(), lowered.nodes.clone());
        let sent = record::sent(&request, (self.scope, &keys), &plan, going, self.now_ms);
        let seq = self.append(sent);
        let (mut received, mut sent) = (plan.received.clone(), plan.sent.clone());
        let before = plan.compared.and_then(|key| self.bodies.get(&key));
        if let Some(before) = before {
            drift::explain_both(before, &request, &mut received, &mut sent);
        }
        let rules = self.rules;
        for verdict in [&mut received, &mut sent] {
            markers::check(before, &request, rules, verdict);
        }
        self.bodies.insert(keys.request, request.clone());
        Turn {
            received,
            sent,
            out: rope.concat(),
            request,
            plan,
            lowered,
            guard,
            seq,
        }
    }

    /// The answer to a request that left.
    pub fn end(&mut self, seq: Seq, answer: &Answer) {
        let ended = match answer.status {
            200..300 => Ended::Committed,
            400 | 404 | 413 | 422 => Ended::RolledBack,
            _ => Ended::Failed,
        };
        self.settle(seq, ended, answer);
    }

    /// The id of the response to a request that left.
    pub fn respond(&mut self, seq: Seq, id: &str) {
        let key = response_key(self.scope, response_id(id));
        match &mut self.store {
            Store::Memory(book) => book.respond(seq, key).unwrap(),
            Store::File(book, _) => book.respond(seq, key).unwrap(),
        }
    }

    /// The same core over a copy of its ledger; none where that is a file.
    pub fn copy(&self) -> Option<Self> {
        let Store::Memory(ledger) = &self.store else {
            return None;
        };
        Some(Self {
            store: Store::Memory(ledger.clone()),
            host: self.host.clone(),
            model: self.model.clone(),
            bodies: self.bodies.clone(),
            ..*self
        })
    }

    /// Moves the ledger to a SQLite file of its own.
    pub fn on_disk(mut self) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let db = Db::open(&dir.path().join("ledger.db")).unwrap();
        self.store = Store::File(db, dir);
        self
    }

    /// Closes the ledger and opens it again.
    pub fn reopen(&mut self) {
        let closed = Store::Memory(MemoryLedger::new());
        self.store = match std::mem::replace(&mut self.store, closed) {
            Store::Memory(ledger) => {
                let bytes = ledger.to_bytes().unwrap();
                Store::Memory(MemoryLedger::from_bytes(&bytes).unwrap())
            }
            Store::File(db, dir) => {
                drop(db);
                let db = Db::open(&dir.path().join("ledger.db")).unwrap();
                Store::File(db, dir)
            }
        };
    }

    fn past(&mut self, keys: &Keys) -> Past {
        match &mut self.store {
            Store::Memory(book) => book.past(self.scope, keys).unwrap(),
            Store::File(book, _) => book.past(self.scope, keys).unwrap(),
        }
    }

    fn append(&mut self, sent: Sent) -> Seq {
        match &mut self.store {
            Store::Memory(book) => book.append(self.scope, sent).unwrap(),
            Store::File(book, _) => book.append(self.scope, sent).unwrap(),
        }
    }

    fn settle(&mut self, seq: Seq, ended: Ended, answer: &Answer) {
        let mark = AnswerMark::of(&answer.text, &answer.calls).filter(|_| ended == Ended::Committed);
        match &mut self.store {
            Store::Memory(book) => settle(book, seq, ended, mark, self.now_ms),
            Store::File(book, _) => settle(book, seq, ended, mark, self.now_ms),
        }
    }
}

fn settle<S>(book: &mut Book<S>, seq: Seq, ended: Ended, mark: Option<AnswerMark>, now_ms: u64)
where
    Book<S>: Settle,
{
    book.end(seq, ended, now_ms);
    if let Some(mark) = mark {
        book.said(seq, mark, now_ms);
    }
}

/// The two writes behind a request, on a book of either kind.
pub trait Settle {
    fn end(&mut self, seq: Seq, ended: Ended, now_ms: u64);
    fn said(&mut self, seq: Seq, mark: AnswerMark, now_ms: u64);
}

macro_rules! settle_on {
    ($book:ty) => {
        impl Settle for $book {
            fn end(&mut self, seq: Seq, ended: Ended, now_ms: u64) {
                self.settle(seq, ended, now_ms).unwrap();
            }
            fn said(&mut self, seq: Seq, mark: AnswerMark, now_ms: u64) {
                self.answer(seq, mark, now_ms).unwrap();
            }
        }
    };
}

settle_on!(MemoryLedger);
settle_on!(Db);
