//! Random trees of steps: memory and file answer the same, reopened at any time, and what they answer is the best.

use inkfast::ledger::{Db, MemoryLedger, Outcome};
use inkfast::prefix::past::MAX_PATHS;
use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

#[derive(Clone, Debug)]
enum Act {
    /// Sends a request that keeps some items of step `of` and adds others.
    Append {
        of: usize,
        keep: usize,
        add: Vec<u8>,
        head: u8,
        session: Option<u8>,
        root: bool,
        carries: bool,
    },
    Settle {
        of: usize,
        outcome: Outcome,
    },
    Answer {
        of: usize,
        text: u8,
    },
    Reopen,
}

fn act() -> impl Strategy<Value = Act> {
    let append = (
        any::<usize>(),
        0..6usize,
        vec(0..3u8, 1..3),
        0..2u8,
        prop::option::of(0..2u8),
        0..5u8,
        any::<bool>(),
    )
        .prop_map(|(of, keep, add, head, session, root, carries)| Act::Append {
            of,
            keep,
            add,
            head,
            session,
            root: root == 0,
            carries,
        });
    let outcome = prop_oneof![
        4 => Just(Outcome::Committed), 1 => Just(Outcome::Failed), 1 => Just(Outcome::RolledBack)
    ];
    prop_oneof![
        4 => append,
        3 => (any::<usize>(), outcome).prop_map(|(of, outcome)| Act::Settle { of, outcome }),
        2 => (any::<usize>(), 0..3u8).prop_map(|(of, text)| Act::Answer { of, text }),
        1 => Just(Act::Reopen),
    ]
}

/// The plain truth beside the ledgers.
#[derive(Clone)]
struct Known {
    ask: Ask,
    lineage: Seq,
    seq: Seq,
    parent: Option<Seq>,
    carries: bool,
    state: State,
}

struct Both {
    folder: tempfile::TempDir,
    memory: MemoryLedger,
    file: Db,
    known: Vec<Known>,
}

impl Both {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = Db::open(&folder.path().join("l.db")).unwrap();
        Self {
            folder,
            memory: MemoryLedger::new(),
            file,
            known: Vec::new(),
        }
    }

    fn act(&mut self, act: Act) {
        let pick = |of: usize| self.known.get(of % self.known.len().max(1)).cloned();
        match act {
            Act::Append {
                of,
                keep,
                add,
                head,
                session,
                root,
                carries,
            } => {
                let parent = pick(of).filter(|_| !root);
                let ask = next_ask(parent.as_ref(), keep, &add, head, session);
                let at = parent.map(|parent| (parent.lineage, parent.seq));
                let sent = ask.sent(at, carries);
                let seq = self.memory.append(scope(), sent.clone()).unwrap();
                assert_eq!(self.file.append(scope(), sent).unwrap(), seq);
                let (lineage, parent) = (at.map_or(seq, |at| at.0), at.map(|at| at.1));
                self.known.push(Known {
                    ask,
                    lineage,
                    seq,
                    parent,
                    carries,
                    state: State::Tentative,
                });
            }
            Act::Settle { of, outcome } => {
                let Some(step) = pick(of) else { return };
                self.memory.settle(step.seq, outcome, 7).unwrap();
                self.file.settle(step.seq, outcome, 7).unwrap();
                let step = self.known.iter_mut().find(|known| known.seq == step.seq).unwrap();
                if step.state == State::Tentative {
                    let committed = outcome == Outcome::Committed;
                    step.state = if committed {
                        State::Committed
                    } else {
                        State::Failed
                    };
                }
            }
            Act::Answer { of, text } => {
                let Some(step) = pick(of) else { return };
                let answer = answer_of(&format!("a{text}"));
                self.memory.answer(step.seq, answer, 8).unwrap();
                self.file.answer(step.seq, answer, 8).unwrap();
            }
            Act::Reopen => {
                self.memory = reopened(&self.memory);
                self.file = Db::open(&self.folder.path().join("l.db")).unwrap();
            }
        }
    }

    /// Asks both, compares, and holds the answer against all that is known.
    fn check(&mut self, ask: &Ask) {
        let keys = ask.keys();
        let found = self.memory.past(scope(), &keys).unwrap();
        let other = self.file.past(scope(), &keys).unwrap();
        assert_eq!((&found.exact, &found.paths), (&other.exact, &other.paths));
        let candidates: Vec<&Known> = self
            .known
            .iter()
            .filter(|known| self.is_candidate(known))
            .collect();
        let depth = |known: &Known| {
            ask.items
                .iter()
                .zip(&known.ask.items)
                .take_while(|(a, b)| a == b)
                .count()
        };
        let standing = |known: &Known| {
            let session = ask.session.is_some() && known.ask.session == ask.session;
            (depth(known), known.ask.head == ask.head, session, known.seq)
        };
        let best = candidates
            .iter()
            .filter(|known| depth(known) > 0)
            .max_by_key(|known| standing(known));
        if let Some(best) = best {
            assert_eq!(
                found.paths.first().map(|path| path.seq),
                Some(best.seq),
                "the best comes first"
            );
        }
        assert!(found.paths.len() <= MAX_PATHS);
        let mut last = None;
        for path in &found.paths {
            let known = candidates
                .iter()
                .find(|known| known.seq == path.seq)
                .expect("only candidates");
            assert_eq!(*path.items, *known.ask.marks());
            assert!(last.is_none_or(|last| standing(known) < last), "in order");
            last = Some(standing(known));
        }
        let same = |known: &&Known| known.ask == *ask && known.state != State::Failed;
        let exact = self
            .known
            .iter()
            .filter(same)
            .max_by_key(|known| (known.state == State::Committed, known.seq));
        assert_eq!(found.exact.map(|path| path.seq), exact.map(|known| known.seq));
    }

    fn is_candidate(&self, step: &Known) -> bool {
        let carried = |later: &Known| {
            later.parent == Some(step.seq) && later.carries && later.state == State::Committed
        };
        step.state != State::Failed && !self.known.iter().any(carried)
    }
}

fn next_ask(parent: Option<&Known>, keep: usize, add: &[u8], head: u8, session: Option<u8>) -> Ask {
    let mut items = parent.map_or(Vec::new(), |parent| parent.ask.items.clone());
    items.truncate(items.len().saturating_sub(keep.saturating_sub(3)));
    for word in add {
        let role = if items.len().is_multiple_of(2) { 'u' } else { 'a' };
        items.push(format!("{role}{word}"));
    }
    Ask {
        items,
        head: format!("h{head}"),
        session: session.map(|session| format!("s{session}")),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn both_kinds_answer_the_best_and_the_same(acts in vec(act(), 1..40)) {
        let mut both = Both::new();
        for act in acts {
            both.act(act);
            for known in both.known.clone().iter().rev().take(4) {
                both.check(&known.ask);
                both.check(&next_ask(Some(known), 0, &[0, 1], 0, Some(0)));
                both.check(&next_ask(Some(known), 4, &[2], 1, None));
            }
        }
    }
}
