//! The sequences in every other format: the same conversation gets the same verdicts.
//!
//! Their own verdict lines are checked beside this; here each request's lineage, verdicts and outcome in another format
//! must be those that it has in its own. Places and counts differ with the shape of a format, and are not compared.

use inkfast::prefix::digest::Digest;
use inkfast::prefix::item::Hints;
use serde_json::Value;

use super::*;
use crate::fixtures::take;
use crate::harness::Core;
use crate::translate::{model_in_path, route_of, said_in, spoken, translate};

/// What is other in a format, and why: sequence (a prefix of its id), format, request (all where it is none).
const OTHERWISE: &[(&str, Format, usize, &str)] = &[
    ("s11-", Format::AnthropicMessages, 3, BEHIND),
    ("s11-", Format::BedrockConverse, 3, BEHIND),
    ("s13-", Format::AnthropicMessages, 3, BEHIND),
    ("s13-", Format::BedrockConverse, 3, BEHIND),
    ("s15-", Format::AnthropicMessages, 1, BLOCK),
    ("s15-", Format::BedrockConverse, 1, BLOCK),
    ("s35-", Format::OpenaiChat, 2, GROWN),
    ("s35-", Format::OpenaiResponses, 2, GROWN),
    ("s35-", Format::Gemini, 2, IN_FRONT),
    ("s35-", Format::BedrockConverse, 2, BLOCKS),
];

const BEHIND: &str =
    "the update stands behind the question, not in front: another question or a twin has its own";
const GROWN: &str = "a message that gains a part is another item, and the update stands in front of it";
const IN_FRONT: &str = "the update stands in front of the question, and goes on standing there";
const BLOCKS: &str = "a text is written as a block here from the start, not as a string first";
const BLOCK: &str = "a block behind the results is a place in a tool loop";

/// What a format has no words for: sequence, formats, why.
const UNSAID: &[(&str, &[Format], &str)] = &[
    ("s26-", &ALL_BUT_MESSAGES, "a message that only sets the effort"),
    ("s35-", &[Format::Ollama], "a message of the user has one text"),
];

const ALL_BUT_MESSAGES: [Format; 5] = [
    Format::OpenaiChat,
    Format::OpenaiResponses,
    Format::Gemini,
    Format::BedrockConverse,
    Format::Ollama,
];

#[test]
fn every_format_gives_the_same_verdicts() {
    let (mut count, mut wrong, mut otherwise) = (0, Vec::new(), OTHERWISE.to_vec());
    let mut unsaid: Vec<(&str, Format)> = UNSAID
        .iter()
        .flat_map(|(id, formats, _)| formats.iter().map(move |format| (*id, *format)))
        .collect();
    for file in files("sequences") {
        let sequence: Sequence = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
        let own: Format = sequence.format.parse().unwrap();
        let lines = told(&sequence, own).unwrap();
        for format in Format::ALL.into_iter().filter(|format| *format != own) {
            let listed = take(&mut unsaid, |(id, of)| {
                sequence.id.starts_with(id) && *of == format
            });
            let told = match told(&sequence, format) {
                Ok(told) if !listed => told,
                Ok(_) => {
                    wrong.push(format!("{} {format}: said, though listed", sequence.id));
                    continue;
                }
                Err(_) if listed => continue,
                Err(why) => {
                    wrong.push(format!("{} {format}: not said, {why}", sequence.id));
                    continue;
                }
            };
            count += 1;
            for (index, (own, told)) in lines.iter().zip(&told).enumerate() {
                let listed = take(&mut otherwise, |(id, of, at, _)| {
                    sequence.id.starts_with(id) && *of == format && *at == index
                });
                if (own == told) == listed {
                    wrong.push(format!(
                        "{} {format} r{index}: {told}, in its own {own}",
                        sequence.id
                    ));
                }
            }
        }
    }
    assert!(count >= 120, "only {count} translations");
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(
        unsaid.is_empty() && otherwise.is_empty(),
        "no such request: {unsaid:?} {otherwise:?}"
    );
}

/// Lineage, verdicts and outcome of each request.
fn told(sequence: &Sequence, format: Format) -> Result<Vec<String>, &'static str> {
    let own: Format = sequence.format.parse().unwrap();
    let messages = sequence.carrier.as_deref() == Some("system") || own == Format::AnthropicMessages;
    let (host, models) = route_of(format, messages);
    let said = sequence.requests.iter().map(|one| {
        let body: Value = serde_json::from_str(one.get()).unwrap();
        if format == own {
            Ok(body)
        } else {
            spoken(&body, own)
        }
    });
    let said = said.collect::<Result<Vec<Value>, _>>()?;
    let bodies: Vec<Bytes> = said.iter().map(|body| Bytes::from(body.to_string())).collect();
    let mut core = Core::new(format, host);
    let mut lineages: Vec<u64> = Vec::new();
    let mut lines = Vec::new();
    for (index, mut body) in said.into_iter().enumerate() {
        let model = models[usize::from(body["model"] == "m2")];
        body["model"] = model.into();
        core.model = model_in_path(format).then(|| model.to_owned());
        if format != own {
            body = translate(&body, format)?;
        }
        let body = Bytes::from(body.to_string());
        let answer = said_in(format, &bodies, answered(sequence, &bodies, index));
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
