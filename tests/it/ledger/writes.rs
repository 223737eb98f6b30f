//! What a write changes: states, item tables, notes, the secret, retention; and the faults of the test ledger.

use std::time::Duration;

use inkfast::ledger::{Db, Fault, Learned, LedgerError, MemoryLedger, Outcome};
use inkfast::route::Finding;

use super::*;

#[test]
fn a_long_conversation_costs_little_and_comes_back_whole() {
    let mut ledger = MemoryLedger::new();
    let mut items: Vec<String> = (0..400).map(|number| format!("u{number}")).collect();
    let mut parent: Option<(Seq, Seq)> = None;
    let mut steps = Vec::new();
    let mut sizes = Vec::new();
    for number in 0..50 {
        let now = Ask {
            items: items.clone(),
            ..ask(&[])
        };
        let seq = ledger.append(scope(), now.sent(parent, true)).unwrap();
        ledger.settle(seq, Outcome::Committed, 1).unwrap();
        parent = Some((parent.map_or(seq, |(lineage, _)| lineage), seq));
        steps.push((now.request(), now.marks()));
        sizes.push(ledger.to_bytes().unwrap().len());
        items.extend([format!("a new {number}"), format!("u new {number}")]);
    }
    let per_step = (sizes[14] - sizes[1]) / 13;
    assert!(per_step < 2_500, "{per_step} bytes for two items behind 400");
    assert_eq!(ledger.stats().unwrap().items, 400 + 49 * 2);
    let mut cold = reopened(&ledger);
    for (request, marks) in steps.into_iter().rev() {
        let keys = Keys {
            request,
            ..ask(&[]).keys()
        };
        assert_eq!(*cold.past(scope(), &keys).unwrap().exact.unwrap().items, *marks);
    }
}

#[test]
fn the_first_word_on_a_step_counts_and_an_unknown_step_is_an_error() {
    on_both(|ledger| async move {
        let one = send(&ledger, ask(&["u1"]).sent(None, false), Outcome::Committed).await;
        ledger.settle(one.1, Outcome::RolledBack, 9).await.unwrap();
        assert_eq!(seqs(&past(&ledger, &ask(&["u1", "a1"])).await), [one.1]);
        assert_eq!(
            ledger.settle(99, Outcome::Failed, 1).await,
            Err(LedgerError::Unknown(99))
        );
        assert_eq!(
            ledger.answer(99, answer_of("a"), 1).await,
            Err(LedgerError::Unknown(99))
        );
    });
}

#[test]
fn an_answer_can_be_corrected() {
    on_both(|ledger| async move {
        let one = turn(&ledger, &ask(&["u1"]), None, "a partial").await;
        ledger.answer(one.1, answer_of("a whole"), 5000).await.unwrap();
        assert!(past(&ledger, &ask(&["u x", "a partial"])).await.paths.is_empty());
        let found = past(&ledger, &ask(&["u x", "a whole"])).await;
        assert_eq!(
            (found.paths[0].answer, found.paths[0].at_ms),
            (Some(answer_of("a whole")), 5000)
        );
    });
}

#[test]
fn routes_are_learned_and_forgotten() {
    on_both(|ledger| async move {
        let note = |row: &str, finding, at_ms| Learned {
            until_ms: at_ms + 7,
            ..Learned::new(row.to_owned(), finding, at_ms)
        };
        let (refused, hoisted) = (Finding::Refused, Finding::Hoisted);
        ledger.learn("r", note("b", refused, 10)).await.unwrap();
        ledger.learn("r", note("a", hoisted, 11)).await.unwrap();
        ledger.learn("r", note("b", hoisted, 12)).await.unwrap();
        ledger.learn("other", note("d", refused, 13)).await.unwrap();
        let both = vec![note("a", hoisted, 11), note("b", hoisted, 12)];
        assert_eq!(ledger.learned("r").await.unwrap(), both);
        let other = ("other".to_owned(), vec![note("d", refused, 13)]);
        assert_eq!(
            ledger.all_learned().await.unwrap(),
            [other.clone(), ("r".to_owned(), both)]
        );
        ledger.unlearn("r").await.unwrap();
        assert_eq!(ledger.learned("r").await.unwrap(), []);
        assert_eq!(ledger.all_learned().await.unwrap(), [other]);
        // What nobody believes any more makes room.
        ledger.learn("r", note("a", refused, 20)).await.unwrap();
        assert_eq!(ledger.learned("other").await.unwrap(), []);
    });
}

#[test]
fn a_note_is_believed_for_a_week() {
    let note = Learned::new("row".to_owned(), Finding::Refused, 1000);
    let week = 7 * 24 * 3600 * 1000;
    assert!(note.is_believed(1000 + week - 1) && !note.is_believed(1000 + week));
}

#[test]
fn the_secret_is_made_once_and_is_another_in_each_ledger() {
    on_both(|ledger| async move {
        let secret = ledger.secret().await.unwrap();
        assert_eq!(ledger.secret().await.unwrap(), secret);
        assert_ne!(Ledger::memory().secret().await.unwrap(), secret);
    });
}

#[test]
fn retention_takes_whole_lineages_and_those_with_nodes_last() {
    on_both(|ledger| async move {
        let day = |day: u64, name: &str, nodes: bool| {
            let mut sent = ask(&[name]).sent(None, false);
            sent.path.at_ms = day;
            if !nodes {
                sent.path.nodes.clear();
            }
            sent
        };
        for sent in [
            day(1, "u1", true),
            day(2, "u2", true),
            day(50, "u3", false),
            day(60, "u4", false),
        ] {
            ledger.append(scope(), sent).await.unwrap();
        }
        let alive = async || {
            let mut alive = Vec::new();
            for name in ["u1", "u2", "u3", "u4"] {
                alive.push(past(&ledger, &ask(&[name])).await.exact.is_some());
            }
            alive
        };
        assert_eq!(ledger.stats().await.unwrap().lineages, 4);
        assert_eq!(ledger.prune(91, 90, u64::MAX).await.unwrap(), 0);
        assert_eq!(ledger.prune(92, 90, u64::MAX).await.unwrap(), 1);
        assert_eq!(alive().await, [false, true, true, true]);
        let Ledger::Memory(book) = &ledger else { return };
        let bytes = ledger.stats().await.unwrap().bytes;
        book.lock().unwrap().prune(92, 90, bytes - 1, 1).unwrap();
        assert_eq!(
            alive().await,
            [false, true, false, true],
            "the oldest without nodes"
        );
        assert_eq!(ledger.prune(92, 90, 0).await.unwrap(), 2);
        assert_eq!(
            ledger.stats().await.unwrap(),
            inkfast::ledger::Stats::default(),
            "nothing stays behind"
        );
    });
}

#[test]
fn what_another_lineage_uses_stays() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("l.db");
    let (mut memory, mut file) = (MemoryLedger::new(), Db::open(&path).unwrap());
    for (name, at_ms) in [("u1", 1), ("u2", 50)] {
        let mut sent = ask(&[name]).sent(None, false);
        sent.path.at_ms = at_ms;
        memory.append(scope(), sent.clone()).unwrap();
        file.append(scope(), sent).unwrap();
    }
    assert_eq!(memory.prune(100, 60, u64::MAX, 9).unwrap(), 1);
    assert_eq!(file.prune(100, 60, u64::MAX, 9).unwrap(), 1);
    let keys = ask(&["u2"]).keys();
    let left = reopened(&memory).past(scope(), &keys).unwrap().exact.unwrap();
    assert_eq!(left.nodes.len(), 1);
    assert_eq!(
        Db::open(&path).unwrap().past(scope(), &keys).unwrap().exact,
        Some(left)
    );
}

#[test]
fn an_emptied_file_gives_its_space_back_and_its_numbers_not() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("l.db");
    let ledger = Ledger::open(&path).unwrap();
    block_on(async {
        let empty = ledger.stats().await.unwrap().bytes;
        let mut last = 0;
        for number in 0..100 {
            last = ledger
                .append(scope(), ask(&[&format!("u{number}")]).sent(None, false))
                .await
                .unwrap();
        }
        assert!(ledger.stats().await.unwrap().bytes > empty);
        assert_eq!(ledger.prune(1, 0, 0).await.unwrap(), 100);
        let stats = ledger.stats().await.unwrap();
        assert_eq!((stats.lineages, stats.items, stats.bytes), (0, 0, empty));
        assert!(
            ledger
                .append(scope(), ask(&["u"]).sent(None, false))
                .await
                .unwrap()
                > last
        );
        ledger.close().await;
        assert!(std::fs::metadata(&path).unwrap().len() < empty + 16_384);
    });
}

#[test]
fn a_child_of_a_removed_step_is_stored_whole() {
    on_both(|ledger| async move {
        let one = turn(&ledger, &ask(&["u1"]), None, "a1").await;
        ledger.prune(u64::MAX, 0, 0).await.unwrap();
        let two = turn(&ledger, &ask(&["u1", "a1", "u2"]), Some(one), "a2").await;
        let found = past(&ledger, &ask(&["u1", "a1", "u2", "a2", "u3"])).await;
        assert_eq!((seqs(&found), found.paths[0].items.len()), (vec![two.1], 3));
    });
}

#[test]
fn faults_come_at_their_writes() {
    block_on(async {
        let inner = Ledger::memory();
        let faults = [
            (2, Fault::Fail),
            (3, Fault::Stall(Duration::from_millis(30))),
            (4, Fault::DieAfter),
        ];
        let ledger = Ledger::faulty(inner.clone(), faults);
        let one = ledger
            .append(scope(), ask(&["u1"]).sent(None, false))
            .await
            .unwrap();
        assert_eq!(
            ledger.settle(one, Outcome::Committed, 1).await,
            Err(LedgerError::Injected)
        );
        let state = async || past(&inner, &ask(&["u1"])).await.exact.unwrap().state;
        assert_eq!(state().await, State::Tentative);
        let begun = std::time::Instant::now();
        ledger.settle(one, Outcome::Committed, 1).await.unwrap();
        assert!(begun.elapsed() >= Duration::from_millis(30));
        assert_eq!(state().await, State::Committed);
        assert_eq!(
            ledger.answer(one, answer_of("a1"), 1).await,
            Err(LedgerError::Injected)
        );
        assert!(
            past(&inner, &ask(&["u1"])).await.exact.unwrap().answer.is_some(),
            "done, but nobody was told"
        );
        assert_eq!(ledger.secret().await, Err(LedgerError::Closed));
        assert_eq!(ledger.learned("r").await, Err(LedgerError::Closed));
    });
}
