//! The file: rights, what is refused, two users of one file, callers who leave.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use inkfast::ledger::{Db, LedgerError, Outcome};
use inkfast::prefix::keys::{response_id, response_key};
use rusqlite::Connection;

use super::*;

#[test]
fn the_folder_and_the_files_are_the_users_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state/inkfast/ledger.db");
    let mut db = Db::open(&path).unwrap();
    db.append(scope(), ask(&["u1"]).sent(None, false)).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(path.parent().unwrap()), 0o700);
    for entry in fs::read_dir(path.parent().unwrap()).unwrap() {
        assert_eq!(mode(&entry.unwrap().path()), 0o600);
    }
}

#[test]
fn a_foreign_file_is_refused_and_left_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    for text in ["short", &"# somebody's notes\n".repeat(500)] {
        fs::write(&path, text).unwrap();
        assert_eq!(Db::open(&path).err(), Some(LedgerError::Foreign));
        assert_eq!(fs::read_to_string(&path).unwrap(), *text);
    }
    let other = folder.path().join("other.db");
    Connection::open(&other)
        .unwrap()
        .execute_batch("CREATE TABLE t (x)")
        .unwrap();
    let before = fs::read(&other).unwrap();
    assert_eq!(Db::open(&other).err(), Some(LedgerError::Foreign));
    assert_eq!(fs::read(&other).unwrap(), before);
}

#[test]
fn a_version_that_is_not_known_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("l.db");
    drop(Db::open(&path).unwrap());
    Connection::open(&path)
        .unwrap()
        .pragma_update(None, "user_version", 99)
        .unwrap();
    let error = Db::open(&path).err().unwrap();
    assert_eq!(
        (error.label(), error.clone()),
        ("version", LedgerError::Version(99))
    );
    assert!(error.to_string().contains("99"));
}

#[test]
fn a_file_of_the_first_version_is_brought_forward() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("l.db");
    let mut db = Db::open(&path).unwrap();
    let seq = db.append(scope(), ask(&["u1"]).sent(None, false)).unwrap();
    drop(db);
    let old = Connection::open(&path).unwrap();
    old.execute_batch("ALTER TABLE steps DROP COLUMN response; PRAGMA user_version = 1")
        .unwrap();
    drop(old);
    let mut db = Db::open(&path).unwrap();
    let exact = db.past(scope(), &ask(&["u1"]).keys()).unwrap().exact;
    assert_eq!(exact.map(|path| path.seq), Some(seq));
    db.respond(seq, response_key(scope(), response_id("r"))).unwrap();
    drop(db);
    drop(Db::open(&path).unwrap());
}

#[test]
fn a_place_where_nothing_can_be_created_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("file"), "").unwrap();
    for path in [folder.path().join("file/ledger.db"), folder.path().to_owned()] {
        assert_eq!(Db::open(&path).err().unwrap().label(), "io");
    }
}

#[test]
fn a_damaged_file_gives_an_error_or_the_truth_and_never_a_panic() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("l.db");
    let mut db = Db::open(&path).unwrap();
    for number in 0..200 {
        db.append(scope(), ask(&[&format!("u{number}"), "a1"]).sent(None, false))
            .unwrap();
    }
    let whole = db.past(scope(), &ask(&["u7", "a1"]).keys()).unwrap();
    drop(db);
    let bytes = fs::read(&path).unwrap();
    let mut refused = 0;
    for cut in 1..40 {
        let mut torn = bytes[..bytes.len() * cut / 40].to_vec();
        fs::write(&path, &torn).unwrap();
        refused += usize::from(!answers(&path, &whole));
        torn = bytes.clone();
        let at = bytes.len() * cut / 40;
        torn[at..(at + 600).min(bytes.len())].fill(0xa5);
        fs::write(&path, &torn).unwrap();
        answers(&path, &whole);
    }
    assert_eq!(refused, 39, "every torn file is refused");
}

/// Whether the file answers at all; if so, it must be the truth.
fn answers(path: &Path, truth: &Past) -> bool {
    for side in ["-wal", "-shm"] {
        let _ = fs::remove_file(format!("{}{side}", path.display()));
    }
    let Ok(mut db) = Db::open(path) else { return false };
    let Ok(found) = db.past(scope(), &ask(&["u7", "a1"]).keys()) else {
        return false;
    };
    let _ = db.append(scope(), ask(&["u new"]).sent(None, true));
    for path in &found.paths {
        assert!(truth.paths.contains(path));
    }
    true
}

#[test]
fn two_users_of_one_file_see_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("l.db");
    let (mut one, mut two) = (Db::open(&path).unwrap(), Db::open(&path).unwrap());
    let first = one.append(scope(), ask(&["u1"]).sent(None, true)).unwrap();
    let second = two.append(scope(), ask(&["u2"]).sent(None, true)).unwrap();
    assert_ne!(first, second);
    let next = ask(&["u1", "a1", "u3"]);
    assert_eq!(
        one.past(scope(), &next.keys()).unwrap().paths[0].state,
        State::Tentative
    );
    two.settle(first, Outcome::Committed, 5).unwrap();
    two.answer(first, answer_of("a1"), 6).unwrap();
    let seen = one.past(scope(), &next.keys()).unwrap();
    assert_eq!((seen.paths[0].state, seen.paths[0].at_ms), (State::Committed, 6));
    assert_eq!(one.secret().unwrap(), two.secret().unwrap());
}

#[test]
fn a_caller_who_stops_waiting_has_not_appended() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("l.db");
    let ledger = Ledger::open(&path).unwrap();
    let other = Connection::open(&path).unwrap();
    block_on(async {
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        let late = ledger.append(scope(), ask(&["u1"]).sent(None, true));
        assert!(
            tokio::time::timeout(Duration::from_millis(50), late)
                .await
                .is_err()
        );
        other.execute_batch("COMMIT").unwrap();
        let two = ledger
            .append(scope(), ask(&["u1"]).sent(None, true))
            .await
            .unwrap();
        assert_eq!(seqs(&past(&ledger, &ask(&["u1", "a1"])).await), [two]);

        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        let refused = ledger.append(scope(), ask(&["u3"]).sent(None, true)).await;
        assert_eq!(
            refused,
            Err(LedgerError::Busy),
            "a writer that never ends is an error, not a stop"
        );
        other.execute_batch("COMMIT").unwrap();
    });
}

#[test]
fn a_closed_ledger_says_so_and_keeps_what_it_had() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("l.db");
    let ledger = Ledger::open(&path).unwrap();
    block_on(async {
        let (one, two) = (ask(&["u1"]), ask(&["u2"]));
        let both = tokio::join!(
            ledger.append(scope(), one.sent(None, false)),
            ledger.append(scope(), two.sent(None, true)),
        );
        assert_ne!(both.0.unwrap(), both.1.unwrap());
        ledger.close().await;
        assert_eq!(ledger.stats().await, Err(LedgerError::Closed));
        assert!(
            !path.with_extension("db-wal").exists(),
            "the log is folded into the file"
        );
        let again = Ledger::open(&path).unwrap();
        assert!(past(&again, &one).await.exact.is_some() && past(&again, &two).await.exact.is_some());
    });
}
