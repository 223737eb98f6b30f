//! kill -9 in the middle of writes: no step that was called durable is lost.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use inkfast::ledger::Ledger;

use super::*;

const FILE: &str = "INKFAST_TEST_LEDGER_TO_KILL";

#[test]
fn a_killed_process_loses_no_durable_step() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("l.db");
    for (round, lines) in [1, 7, 40, 111, 23, 64].into_iter().enumerate() {
        let said = kill_after(&path, round, lines);
        assert!(said.len() >= lines);
        block_on(async {
            let ledger = Ledger::open(&path).unwrap();
            for name in said {
                let found = past(&ledger, &ask(&[&name])).await;
                assert_eq!(found.exact.expect("a durable step").items.len(), 1, "{name}");
            }
            ledger.close().await;
        });
    }
}

/// Starts a writer, kills it after it said `lines` names, and returns all that it said.
fn kill_after(path: &Path, round: usize, lines: usize) -> Vec<String> {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["ledger::crash::the_process_to_kill", "--exact", "--nocapture"])
        .env(FILE, format!("{round}:{}", path.display()))
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let output = BufReader::new(child.stdout.take().unwrap());
    let mut said = Vec::new();
    for line in output.lines() {
        said.extend(
            line.unwrap()
                .split_once("durable:")
                .map(|(_, name)| name.to_owned()),
        );
        if said.len() == lines {
            child.kill().unwrap();
        }
    }
    child.wait().unwrap();
    // The last line may have been cut in the middle.
    said.truncate(lines.max(said.len().saturating_sub(1)));
    said
}

/// No test of its own: writes until it is killed, and says which steps are durable.
#[test]
fn the_process_to_kill() {
    let Ok(file) = std::env::var(FILE) else { return };
    let (round, path) = file.split_once(':').unwrap();
    block_on(async {
        let ledger = Arc::new(Ledger::open(Path::new(path)).unwrap());
        let writer = |task: usize| {
            let (ledger, round) = (ledger.clone(), round.to_owned());
            async move {
                for number in 0.. {
                    let name = format!("u{round}/{task}/{number}");
                    let mut sent = ask(&[&name]).sent(None, false);
                    sent.durable = task != 0;
                    ledger.append(scope(), sent).await.unwrap();
                    if task != 0 {
                        println!("durable:{name}");
                    }
                }
            }
        };
        tokio::join!(writer(0), writer(1), writer(2), writer(3));
    });
}
