//! What a look-up finds, in which order, and at what cost.

use inkfast::ledger::{Db, MemoryLedger, Outcome};
use inkfast::prefix::Keys;
use inkfast::prefix::keys::{response_id, response_key};
use inkfast::prefix::past::MAX_PATHS;

use super::*;

#[test]
fn a_conversation_is_found_by_what_it_sent() {
    on_both(|ledger| async move {
        let first = ask(&["u1"]);
        let at = turn(&ledger, &first, None, "a1").await;
        let found = past(&ledger, &ask(&["u1", "a1", "u2"])).await;
        assert_eq!(seqs(&found), [at.1]);
        assert!(found.exact.is_none());
        let path = &found.paths[0];
        let mut want = first.path(None);
        (want.seq, want.lineage, want.state) = (at.1, at.1, State::Committed);
        (want.answer, want.at_ms) = (Some(answer_of("a1")), 3000);
        assert_eq!(**path, want);
        assert!(past(&ledger, &ask(&["v1"])).await.paths.is_empty());
    });
}

#[test]
fn behind_a_response_is_what_got_it_and_nothing_else() {
    on_both(|ledger| async move {
        let one = turn(&ledger, &ask(&["u1"]), None, "a1").await;
        let two = turn(&ledger, &ask(&["u1", "a1", "u2"]), Some(one), "a2").await;
        let key = |id: &str| Some(response_key(scope(), response_id(id)));
        for ((_, seq), id) in [(one, "r1"), (two, "r2")] {
            ledger.respond(seq, key(id).unwrap()).await.unwrap();
        }
        let behind = async |id: &str| {
            let keys = Keys {
                response: key(id),
                ..ask(&["u1", "a1", "u2", "a2", "u3"]).keys()
            };
            seqs(&ledger.past(scope(), &keys).await.unwrap())
        };
        assert_eq!(
            behind("r1").await,
            [one.1],
            "though another carries its answer on"
        );
        assert_eq!(behind("r2").await, [two.1]);
        assert!(behind("r3").await.is_empty());
        ledger.prune(u64::MAX, 0, 0).await.unwrap();
        assert!(behind("r2").await.is_empty());
    });
}

#[test]
fn a_step_whose_answer_is_carried_on_is_no_candidate() {
    on_both(|ledger| async move {
        let one = turn(&ledger, &ask(&["u1"]), None, "a1").await;
        let second = ask(&["u1", "a1", "u2"]);
        let lost = send(&ledger, second.sent(Some(one), true), Outcome::Failed).await;
        assert_eq!(
            seqs(&past(&ledger, &second).await),
            [one.1],
            "a failed step carries nothing on"
        );
        let two = ledger
            .append(scope(), second.sent(Some(one), true))
            .await
            .unwrap();
        assert_eq!(
            seqs(&past(&ledger, &second).await),
            [two, one.1],
            "its fate is unknown: both"
        );
        ledger.settle(two, Outcome::Committed, 1).await.unwrap();
        assert_eq!(seqs(&past(&ledger, &second).await), [two]);
        assert!(lost.1 < two);
        let beside = send(&ledger, second.sent(Some(one), false), Outcome::Committed).await;
        assert_eq!(
            seqs(&past(&ledger, &second).await),
            [beside.1, two],
            "a twin beside it"
        );
    });
}

#[test]
fn a_request_seen_before_is_found_even_if_it_was_carried_on() {
    on_both(|ledger| async move {
        let first = ask(&["u1"]);
        let one = turn(&ledger, &first, None, "a1").await;
        let two = turn(&ledger, &ask(&["u1", "a1", "u2"]), Some(one), "a2").await;
        let found = past(&ledger, &first).await;
        assert_eq!(found.exact.as_ref().unwrap().seq, one.1);
        assert_eq!(seqs(&found), [two.1]);

        let again = ledger
            .append(scope(), first.sent(Some(one), false))
            .await
            .unwrap();
        let exact = async || past(&ledger, &first).await.exact.unwrap().seq;
        assert_eq!(
            exact().await,
            one.1,
            "what an upstream took comes before what is in flight"
        );
        ledger.settle(again, Outcome::Committed, 1).await.unwrap();
        assert_eq!(exact().await, again);
        send(&ledger, first.sent(Some(one), false), Outcome::Failed).await;
        assert_eq!(exact().await, again);
    });
}

#[test]
fn twins_are_told_apart_by_their_answers_and_by_depth() {
    on_both(|ledger| async move {
        let one = turn(&ledger, &ask(&["u1"]), None, "a1").await;
        let other = send(&ledger, ask(&["u1"]).sent(Some(one), false), Outcome::Committed).await;
        ledger.answer(other.1, answer_of("a other"), 1).await.unwrap();
        let deep = turn(&ledger, &ask(&["u1", "a1", "u2"]), Some(one), "a2").await;
        let found = past(&ledger, &ask(&["u1", "a other", "u9"])).await;
        assert_eq!(
            seqs(&found),
            [deep.1, other.1],
            "equal in depth: newest first; the carried twin is no candidate"
        );
        let found = past(&ledger, &ask(&["u1", "a1", "u2", "a2", "u3"])).await;
        assert_eq!(seqs(&found), [deep.1, other.1], "deepest first");
    });
}

#[test]
fn among_equals_the_head_then_the_session_then_the_newest_come_first() {
    on_both(|ledger| async move {
        let hi = ask(&["u hi"]);
        let mut at = Vec::new();
        for one in [
            hi.clone().head("mine").session("s"),
            hi.clone().head("mine"),
            hi.clone().head("other").session("s"),
            hi.clone().head("other"),
            hi.clone().head("mine").session("t"),
        ] {
            at.push(turn(&ledger, &one, None, "a hello").await.1);
        }
        let next = ask(&["u hi", "a hello", "u2"]).head("mine").session("s");
        assert_eq!(
            seqs(&past(&ledger, &next).await),
            [at[0], at[4], at[1], at[2], at[3]]
        );
    });
}

#[test]
fn a_rewritten_history_is_found_by_its_answers_and_assistant_items() {
    on_both(|ledger| async move {
        let one = turn(&ledger, &ask(&["u1"]), None, "a1").await;
        let two = turn(&ledger, &ask(&["u1", "a1", "u2"]), Some(one), "a2").await;
        assert_eq!(
            seqs(&past(&ledger, &ask(&["u summary", "a2", "u3"])).await),
            [two.1],
            "by the answer"
        );
        assert_eq!(
            seqs(&past(&ledger, &ask(&["u edited", "a1", "u3"])).await),
            [two.1],
            "by an item at its place"
        );
        assert!(
            past(&ledger, &ask(&["u edited", "a0", "a1"])).await.paths.len() == 1,
            "an answer at any place"
        );
    });
}

#[test]
fn answers_of_two_conversations_lead_to_both() {
    on_both(|ledger| async move {
        let one = turn(&ledger, &ask(&["u1"]), None, "a1").await;
        let two = turn(&ledger, &ask(&["u2"]), None, "a2").await;
        let joined = ask(&["u x", "a1", "u y", "a2"]);
        assert_eq!(seqs(&past(&ledger, &joined).await), [two.1, one.1]);
    });
}

#[test]
fn what_was_rolled_back_is_not_found_by_what_only_it_sent() {
    on_both(|ledger| async move {
        let one = send(&ledger, ask(&["u1"]).sent(None, false), Outcome::Committed).await;
        let refused = ask(&["u1", "a1", "u bad"]);
        send(&ledger, refused.sent(Some(one), true), Outcome::RolledBack).await;
        let found = past(&ledger, &refused).await;
        assert!(found.exact.is_none());
        assert_eq!(seqs(&found), [one.1]);
        assert!(
            past(&ledger, &ask(&["u other", "a1"])).await.paths.is_empty(),
            "its assistant item is unknown"
        );

        let base = ledger
            .append(scope(), refused.sent(Some(one), true))
            .await
            .unwrap();
        let on = ask(&["u1", "a1", "u bad", "a2", "u3"]).sent(Some((one.0, base)), true);
        let on = ledger.append(scope(), on).await.unwrap();
        ledger.settle(base, Outcome::RolledBack, 1).await.unwrap();
        assert_eq!(
            seqs(&past(&ledger, &ask(&["u other", "a1"])).await),
            [on, one.1],
            "another step needs it"
        );
    });
}

#[test]
fn another_scope_sees_nothing() {
    on_both(|ledger| async move {
        let hi = ask(&["u hi"]);
        turn(&ledger, &hi, None, "a1").await;
        let other = Scope::new("up", "chat", Some(digest("tenant")));
        let found = ledger.past(other, &hi.keys()).await.unwrap();
        assert!(found.exact.is_none() && found.paths.is_empty());
    });
}

#[test]
fn one_lineage_does_not_crowd_out_the_others() {
    on_both(|ledger| async move {
        let shared = ask(&["u1", "a1", "u2"]);
        let mut others = Vec::new();
        for _ in 0..3 {
            others.push(turn(&ledger, &ask(&["u1"]).head("other"), None, "a1").await.1);
        }
        let root = turn(&ledger, &ask(&["u1"]), None, "a1").await;
        let mut last = root;
        for _ in 0..40 {
            last = send(&ledger, shared.sent(Some(root), true), Outcome::Committed).await;
        }
        let found = past(&ledger, &ask(&["u1", "a1", "u2", "a2", "u3"])).await;
        assert_eq!(found.paths.len(), MAX_PATHS);
        assert_eq!(found.paths[0].seq, last.1);
        others.reverse();
        assert_eq!(seqs(&found)[MAX_PATHS - 3..], others);
    });
}

#[test]
fn an_old_branch_among_many_is_found_by_its_own_items() {
    on_both(|ledger| async move {
        let root = turn(&ledger, &ask(&["u1"]), None, "a1").await;
        let branch = turn(&ledger, &ask(&["u1", "a1", "u first"]), Some(root), "a2").await;
        let leaf = turn(
            &ledger,
            &ask(&["u1", "a1", "u first", "a2", "u3"]),
            Some(branch),
            "a3",
        )
        .await;
        for other in 0..60 {
            let other = format!("u other {other}");
            turn(&ledger, &ask(&["u1", "a1", &other]), Some(root), "a2").await;
        }
        let found = past(&ledger, &ask(&["u1", "a1", "u first", "u edited"])).await;
        assert_eq!(found.paths[0].seq, leaf.1);
    });
}

/// Ten thousand conversations that began alike; the one asked for is the oldest.
macro_rules! greeting_stays_bounded {
    ($ledger:expr, $lineages:expr) => {{
        let mut ledger = $ledger;
        let hi = ask(&["u hi"]);
        for number in 0..$lineages {
            let one = hi.clone().session(&format!("s{number}"));
            let seq = ledger.append(scope(), one.sent(None, false)).unwrap();
            ledger.settle(seq, Outcome::Committed, 1).unwrap();
            ledger.answer(seq, answer_of("a hello"), 1).unwrap();
        }
        let next = ask(&["u hi", "a hello", "u2"]);
        for (next, first) in [
            (next.clone().session("s0"), 1),
            (next.clone().head("new").session("s0"), 1),
            (next, $lineages),
        ] {
            let before = ledger.rows_read();
            let found = ledger.past(scope(), &next.keys()).unwrap();
            assert_eq!(found.paths.len(), MAX_PATHS);
            assert_eq!(found.paths[0].seq, first);
            let rows = ledger.rows_read() - before;
            assert!(rows < 600, "{rows} rows");
        }
    }};
}

#[test]
fn a_greeting_known_to_ten_thousand_costs_no_more_in_memory() {
    greeting_stays_bounded!(MemoryLedger::new(), 10_000);
}

#[test]
fn a_greeting_known_to_many_costs_no_more_in_a_file() {
    let folder = tempfile::tempdir().unwrap();
    greeting_stays_bounded!(Db::open(&folder.path().join("l.db")).unwrap(), 1_000);
}
