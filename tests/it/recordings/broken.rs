//! Files that were cut, changed or are of another kind: every reader ends, and what it cannot read has a name.

use std::io::Cursor;
use std::path::Path;

use inkfast::audit::readers::reason;

use super::walk::{KINDS, Read, fixture};

const REASONS: [&str; 9] = [
    reason::BODY_ELSEWHERE,
    reason::MALFORMED,
    reason::TRUNCATED,
    reason::TOO_LARGE,
    reason::UNREADABLE,
    reason::NOT_A_PROMPT,
    reason::NO_BODY,
    reason::ABRIDGED,
    reason::OUT_OF_ORDER,
];

#[test]
fn every_byte_may_be_another() {
    for (name, whole) in recordings() {
        let all = read_by_all(&name, whole.clone()).len();
        let mut seed = 1;
        for _ in 0..120 {
            let mut bytes = whole.clone();
            let at = next(&mut seed) % bytes.len();
            bytes[at] = match next(&mut seed) % 4 {
                0 => b'"',
                1 => b'}',
                2 => 0,
                _ => bytes[at] ^ (1 << (next(&mut seed) % 8)),
            };
            let read = read_by_all(&name, bytes);
            if name.ends_with(".jsonl") {
                // The one that was changed, and the next one where a line end went.
                assert!(read.len() + 2 >= all, "{name} at {at}: {} of {all}", read.len());
            }
        }
    }
}

#[test]
fn a_file_may_end_anywhere() {
    for (name, whole) in recordings() {
        let all = read_by_all(&name, whole.clone());
        let mut seed = 7;
        for _ in 0..60 {
            let end = next(&mut seed) % whole.len();
            let read = read_by_all(&name, whole[..end].to_vec());
            assert!(
                read.iter().all(|number| all.contains(number)),
                "{name} cut at {end}: {read:?}"
            );
            if name.ends_with(".jsonl") {
                let lines = whole[..end].iter().filter(|byte| **byte == b'\n').count();
                assert!(
                    read.len() >= lines,
                    "{name} cut at {end}: {} of {lines}",
                    read.len()
                );
            }
        }
    }
}

#[test]
fn what_is_cut_off_is_named() {
    for (name, whole) in recordings()
        .into_iter()
        .filter(|(name, _)| !name.ends_with(".gz"))
    {
        let end = whole.trim_ascii_end().len() - 2;
        let last = KINDS.iter().find(|kind| (kind.looks_like)(&whole)).unwrap();
        let read: Vec<_> = (last.read)("f".into(), Box::new(Cursor::new(whole[..end].to_vec()))).collect();
        let skipped: Vec<_> = read
            .iter()
            .filter_map(|read| Some(read.as_ref().err()?.reason))
            .collect();
        assert!(skipped.contains(&reason::TRUNCATED), "{name}: {skipped:?}");
    }
}

#[test]
fn no_recording_looks_like_two() {
    for (name, whole) in recordings() {
        for size in [1024, 4096, whole.len()] {
            let first = &whole[..size.min(whole.len())];
            let kinds = KINDS.iter().filter(|kind| (kind.looks_like)(first)).count();
            assert_eq!(kinds, 1, "{name} by its first {size}");
        }
    }
    let own = std::fs::read(fixture("own/conversation.jsonl")).unwrap();
    let others: [&[u8]; 8] = [
        &own,
        b"",
        b"{",
        b"12",
        b"\x1f\x8b\x08",
        b"{\"log\":1}",
        b"<html>",
        b"3:abc,",
    ];
    for other in others {
        assert!(KINDS.iter().all(|kind| !(kind.looks_like)(other)), "{other:?}");
    }
}

/// The numbers of the exchanges that the format's own reader gives; the other readers must end, too.
fn read_by_all(name: &str, bytes: Vec<u8>) -> Vec<u64> {
    let mut own = Vec::new();
    for kind in &KINDS {
        let read: Vec<Read> = (kind.read)("f".into(), Box::new(Cursor::new(bytes.clone()))).collect();
        for skipped in read.iter().filter_map(|read| read.as_ref().err()) {
            assert!(REASONS.contains(&skipped.reason), "{name}: {skipped:?}");
        }
        let folder = Path::new(name).parent().unwrap().to_str().unwrap();
        if kind.name.starts_with(folder) {
            own.extend(read.into_iter().flatten().map(|exchange| exchange.source.number));
        }
    }
    own
}

/// Every file of the fixtures that is not of our own format.
fn recordings() -> Vec<(String, Vec<u8>)> {
    let mut all = Vec::new();
    for folder in ["har", "flows", "litellm", "langfuse", "bedrock", "otel"] {
        for file in std::fs::read_dir(fixture(folder)).unwrap() {
            let path = file.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            all.push((format!("{folder}/{name}"), std::fs::read(&path).unwrap()));
        }
    }
    assert!(all.len() >= 12);
    all
}

/// A number that looks like chance, and is the same each time.
fn next(seed: &mut u64) -> usize {
    *seed = seed
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407);
    (*seed >> 33) as usize
}
