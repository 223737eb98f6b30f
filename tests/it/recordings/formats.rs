//! One conversation in every format: the same verdicts, the same counts, and canonical items that do not hang on the format
//! of the recording.

use inkfast::prefix::Request;
use inkfast::prefix::digest::{Canonical, Digest};
use inkfast::wire::body::Context;
use inkfast::wire::format::Format;

use super::walk::{Judged, exchanges, fixture, judge, read};
use crate::harness;

const VERDICTS: [&str; 6] = [
    "new_lineage/none",
    "extend/none",
    "extend/none",
    "rewrite/system_changed@system[0]",
    "reorder/tools_reordered@tools[0]",
    "extend/none",
];

/// Recordings whose bodies are chat's.
const CHAT: [&str; 9] = [
    "har/browser.har",
    "litellm/spend_logs.json",
    "litellm/arguments.jsonl",
    "litellm/callback.jsonl",
    "langfuse/api.json",
    "langfuse/blob.jsonl",
    "otel/otlp.json",
    "otel/printed.json",
    "otel/numbered.jsonl",
];

/// Those whose attributes are parts of messages.
const REBUILT: [&str; 2] = ["otel/otlp.json", "otel/printed.json"];
/// Where in the history the call of a tool stands.
const CALL: usize = 3;

const OTHERS: [&str; 2] = ["bedrock/converse.json.gz", "bedrock/invoke.jsonl"];

#[test]
fn every_format_is_judged_alike() {
    for name in CHAT.into_iter().chain(OTHERS) {
        let judged = judge(&exchanges(read(&fixture(name))));
        let verdicts: Vec<_> = judged.iter().map(|judged| &*judged.verdict).collect();
        assert_eq!(verdicts, VERDICTS, "{name}");
        for Judged { usage, .. } in &judged {
            let usage = usage.expect(name);
            let (total, read) = (usage.input_total, usage.cache_read);
            if of_the_tool(name) {
                assert!(total > Some(0) && read.is_some(), "{name}: {usage:?}");
                continue;
            }
            assert_eq!((total, usage.output), (Some(900), Some(20)), "{name}");
            // Those attributes had no name for it.
            assert_eq!(read, (name != "otel/numbered.jsonl").then_some(640), "{name}");
        }
    }
}

/// LiteLLM itself wrote them: times and counts are those of that day.
fn of_the_tool(name: &str) -> bool {
    name.starts_with("litellm/") && name.ends_with(".jsonl")
}

/// What one recording kept as it was sent, and others as the parts of it, are the same items.
#[test]
fn equal_parts_give_equal_items() {
    let sent = items("har/browser.har");
    let (rebuilt, kept): (Vec<_>, Vec<_>) = CHAT.into_iter().partition(|name| REBUILT.contains(name));
    for name in kept {
        assert_eq!(items(name), sent, "{name}");
    }
    let without_calls = |all: &[Items]| -> Vec<Items> {
        let all = all.iter().cloned();
        all.map(|mut items| {
            items.history.splice(
                CALL.min(items.history.len())..(CALL + 1).min(items.history.len()),
                [],
            );
            items
        })
        .collect()
    };
    for name in &rebuilt {
        // Arguments are recorded as values there, and the text that was sent is not known.
        assert_eq!(without_calls(&items(name)), without_calls(&sent), "{name}");
        assert_eq!(items(name), items(rebuilt[0]), "{name}");
    }
}

/// The same recorded parts are the same bytes, request after request.
#[test]
fn rebuilt_bodies_extend_one_another() {
    for name in CHAT.into_iter().chain(OTHERS) {
        let bodies = exchanges(read(&fixture(name)));
        let requests: Vec<_> = bodies.iter().map(|one| parse(one.format, &one.body)).collect();
        for pair in requests[..3].windows(2) {
            let [before, after] = [&pair[0], &pair[1]].map(history);
            assert_eq!(after[..before.len()], before, "{name}");
        }
    }
}

/// Exchanges come in the order in which they were sent, whatever the recording's; what is beside the bodies is kept.
#[test]
fn times_hosts_and_models() {
    const START: u64 = 1_790_000_000_000;
    for name in CHAT.into_iter().chain(OTHERS).filter(|name| !of_the_tool(name)) {
        let all = exchanges(read(&fixture(name)));
        for (turn, exchange) in all.iter().enumerate() {
            assert_eq!(exchange.at_ms, Some(START + turn as u64 * 60_000), "{name}");
            if !name.starts_with("langfuse") {
                assert!(exchange.host.is_some(), "{name}");
            }
            let answer = exchange.answer.as_ref().expect(name);
            if !name.starts_with("bedrock") {
                assert_eq!(
                    answer.ended_ms,
                    exchange.at_ms.map(|at_ms| at_ms + 2_500),
                    "{name}"
                );
            }
        }
    }
    let newest_first = exchanges(read(&fixture("langfuse/api.json")));
    let numbers: Vec<_> = newest_first.iter().map(|one| one.source.number).collect();
    assert_eq!(numbers, [6, 5, 4, 3, 2, 1], "places stay those of the file");
    let invoked = exchanges(read(&fixture("bedrock/invoke.jsonl")));
    assert!(
        invoked
            .iter()
            .all(|one| one.model.as_deref() == Some("eu.anthropic.claude-opus-5-5-v1:0"))
    );
}

fn history(request: &Request) -> Vec<&[u8]> {
    let ranges = request.history.iter().map(|item| item.range.clone());
    ranges.map(|range| &request.body[range]).collect()
}

fn parse(format: Option<Format>, body: &bytes::Bytes) -> Request {
    let format = format.unwrap_or(Format::OpenaiChat);
    harness::parse(format, body, &Context::default(), None).unwrap()
}

/// The canonical digests of a request's items.
#[derive(Clone, Debug, PartialEq)]
struct Items {
    tools: Vec<Canonical>,
    head: Digest,
    history: Vec<Canonical>,
}

fn items(name: &str) -> Vec<Items> {
    let all = exchanges(read(&fixture(name)));
    all.iter()
        .map(|one| {
            let request = parse(one.format, &one.body);
            Items {
                tools: request.tools.iter().map(|tool| tool.mark.canonical).collect(),
                head: request.head.digest,
                history: request.history.iter().map(|item| item.mark.canonical).collect(),
            }
        })
        .collect()
}
