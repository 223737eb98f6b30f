//! The sequences of Chat Completions in every other format: the same conversation gets the same verdicts.
//!
//! Their own verdict lines are checked beside this; here each request's lineage, verdicts and outcome in another format
//! must be those that it has in its own. Places and counts differ with the shape of a format, and are not compared.

use inkfast::prefix::digest::Digest;
use inkfast::prefix::item::Hints;
use serde_json::Value;

use super::*;
use crate::harness::Core;
use crate::translate::translate;

/// What is other in a format, and why: sequence (a prefix of its id), format, request (all where it is none).
const OTHERWISE: &[(&str, Format, usize, &str)] = &[
    ("s11-", Format::AnthropicMessages, 3, BEHIND),
    ("s11-", Format::BedrockConverse, 3, BEHIND),
    ("s13-", Format::AnthropicMessages, 3, BEHIND),
    ("s13-", Format::BedrockConverse, 3, BEHIND),
    ("s15-", Format::AnthropicMessages, 1, BLOCK),
    ("s15-", Format::BedrockConverse, 1, BLOCK),
];

const BEHIND: &str =
    "the update stands behind the question, not in front: another question or a twin has its own";
const BLOCK: &str = "a block behind the results is a place in a tool loop";

#[test]
fn every_format_gives_the_same_verdicts() {
    let (mut count, mut wrong, mut unused) = (0, Vec::new(), OTHERWISE.to_vec());
    for file in files("sequences") {
        let sequence: Sequence = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
        if sequence.format != "openai_chat" {
            continue;
        }
        let own = told(&sequence, Format::OpenaiChat).unwrap();
        for format in Format::ALL {
            let Ok(told) = told(&sequence, format) else {
                continue;
            };
            count += 1;
            for (index, (own, told)) in own.iter().zip(&told).enumerate() {
                let known = |(id, of, at, _): &(&str, Format, usize, &str)| {
                    sequence.id.starts_with(id) && *of == format && *at == index
                };
                if own != told {
                    if !OTHERWISE.iter().any(known) {
                        wrong.push(format!(
                            "{} {format} r{index}: {told}, in its own format {own}",
                            sequence.id
                        ));
                    }
                    unused.retain(|other| !known(other));
                }
            }
        }
    }
    assert!(count >= 120, "only {count} translations");
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(unused.is_empty(), "told apart and the same: {unused:?}");
}

/// Lineage, verdicts and outcome of each request.
fn told(sequence: &Sequence, format: Format) -> Result<Vec<String>, &'static str> {
    let bodies: Vec<Bytes> = sequence.requests.iter().map(|one| compact(one.get())).collect();
    let messages = sequence.carrier.as_deref() == Some("system");
    let (host, models) = route_of(format, messages);
    let mut core = Core::new(format, host);
    let mut lineages: Vec<u64> = Vec::new();
    let mut lines = Vec::new();
    for (index, body) in bodies.iter().enumerate() {
        let mut chat: Value = serde_json::from_slice(body).unwrap();
        let model = models[usize::from(chat["model"] == "m2")];
        chat["model"] = model.into();
        core.model = matches!(format, Format::Gemini | Format::BedrockConverse).then(|| model.to_owned());
        let body = Bytes::from(translate(&chat, format)?.to_string());
        let mut answer = answered(sequence, &bodies, index);
        if matches!(format, Format::Gemini | Format::Ollama) {
            answer.calls = answer.calls.iter().map(|id| named(&bodies, id)).collect();
        }
        let turn = core.exchange(&body, hints(sequence, index), &answer);
        let lineage = turn
            .plan
            .parent
            .as_ref()
            .map_or(turn.seq, |parent| parent.lineage);
        let known = lineages.iter().position(|known| *known == lineage);
        let number = known.unwrap_or_else(|| {
            lineages.push(lineage);
            lineages.len() - 1
        });
        let verdict = |verdict: &inkfast::prefix::verdict::Verdict| {
            let text = verdict.to_string();
            text.split('@').next().unwrap_or_default().to_owned()
        };
        lines.push(format!(
            "L{} {} {} {}",
            number + 1,
            verdict(&turn.plan.received),
            verdict(&turn.plan.sent),
            turn.plan.outcome.as_str()
        ));
    }
    Ok(lines)
}

/// The host and the two models whose updates are messages, or text of the user.
fn route_of(format: Format, messages: bool) -> (&'static str, [&'static str; 2]) {
    match (format, messages) {
        (Format::OpenaiChat, true) => ("api.openai.com", ["m1", "m2"]),
        (Format::OpenaiResponses, true) => ("api.openai.com", ["gpt-5.5", "gpt-6"]),
        (Format::AnthropicMessages, true) => ("api.anthropic.com", ["claude-opus-5", "claude-opus-4-8"]),
        (Format::AnthropicMessages, false) => ("gateway.example", ["m1", "m2"]),
        (Format::BedrockConverse, true) => (
            "bedrock-runtime.us-east-1.amazonaws.com",
            ["anthropic.claude-opus-5-v1:0", "anthropic.claude-opus-4-8-v1:0"],
        ),
        (Format::BedrockConverse, false) => (
            "bedrock-runtime.us-east-1.amazonaws.com",
            ["amazon.nova-pro-v1:0", "amazon.nova-lite-v1:0"],
        ),
        (Format::Gemini, _) => (
            "generativelanguage.googleapis.com",
            ["gemini-3.5-flash", "gemini-3.1-pro"],
        ),
        _ => ("localhost", ["m1", "m2"]),
    }
}

fn hints(sequence: &Sequence, index: usize) -> Hints {
    let header = sequence
        .headers
        .get(index)
        .and_then(|headers| headers.values().next());
    Hints {
        session: header.map(|value| Digest::of("inkfast hint v1", value.as_bytes())),
        ..Hints::default()
    }
}

/// What a call is known by where it has no id: its name and its arguments.
fn named(bodies: &[Bytes], id: &str) -> String {
    let call = bodies.iter().find_map(|body| {
        let body: Value = serde_json::from_slice(body).unwrap();
        let messages = body["messages"].as_array().unwrap().clone();
        let calls = messages
            .iter()
            .flat_map(|message| message["tool_calls"].as_array().cloned().unwrap_or_default());
        calls.into_iter().find(|call| call["id"] == id)
    });
    let function = &call.expect("a call that is carried on")["function"];
    let arguments: Value = serde_json::from_str(function["arguments"].as_str().unwrap()).unwrap();
    format!("{}{arguments}", function["name"].as_str().unwrap())
}
