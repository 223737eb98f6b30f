//! The cases in every other format that can say them: the same class, cause and remedy, and the first changed item by
//! that format's own name.

pub mod other;

use super::*;
use crate::fixtures::take;
use other::Other;

/// What speaks of its own format's shape, and is no other's: case (a prefix of its id) and why.
const OWN_SHAPE: &[(&str, &str)] = &[
    (
        "c01-",
        "an attribution block, which only one vendor's clients send",
    ),
    ("c10-", "the bytes of one format's re-encoder"),
    ("c11-", "the bytes of one format's re-encoder"),
    ("c26-", "ids of items, which only Responses has"),
    ("c31-", "cache markers on blocks"),
];

/// What a format has no words for: case, format, why.
const UNSAID: &[(&str, Format, &str)] = &[
    ("c12-", Format::Ollama, PARTS),
    ("c13-", Format::Ollama, PARTS),
    ("c14-", Format::Gemini, OPERATOR),
    ("c18-", Format::Gemini, OPERATOR),
];

const PARTS: &str = "a message of the user has one text";
const OPERATOR: &str = "an operator speaks in front of the history only";

/// What is other in a format: case, format, what is found there instead, and why.
const OTHERWISE: &[(&str, Format, &str, &str)] = &[
    (
        "c03-",
        Format::Gemini,
        "not append-only: rewrite/no_slot@systemInstruction; no node",
        LOOP,
    ),
    (
        "c03-",
        Format::Ollama,
        "not append-only: rewrite/no_slot@messages[0]; no node",
        LOOP,
    ),
    ("c12-", Format::OpenaiChat, MOVED, MESSAGE),
    ("c12-", Format::OpenaiResponses, MOVED, MESSAGE),
    ("c19-", Format::OpenaiChat, GROWN, HEAD),
    ("c19-", Format::OpenaiResponses, GROWN, HEAD),
    ("c19-", Format::Gemini, GROWN, HEAD),
    ("c24-", Format::AnthropicMessages, LONGER, BLOCKS),
    ("c24-", Format::BedrockConverse, LONGER, BLOCKS),
    ("c24-", Format::Ollama, LONGER, BLOCKS),
];

const MOVED: &str = "r2 rewrite/decoration_changed for reorder/decoration_changed; \
    r3 rewrite/decoration_changed for reorder/decoration_changed";
const GROWN: &str = "r2 rewrite/system_hoisted for insert/system_hoisted; r3 rewrite/system_hoisted for insert/system_hoisted";
const LONGER: &str = "r2 insert/system_hoisted for rewrite/system_hoisted; r3 insert/system_hoisted for rewrite/system_hoisted";

const LOOP: &str = "updates are text of the user here, and that has no place in a tool loop";
const MESSAGE: &str = "a message is one item, so one that a part moved out of is another";
const HEAD: &str = "a head of several parts is one item, so one that grows is another";
const BLOCKS: &str = "a head of several blocks is several items, so one that grows has a new one";

#[test]
fn every_format_that_can_say_a_case_gives_its_verdict() {
    let (mut wrong, mut unsaid, mut otherwise) = (Vec::new(), UNSAID.to_vec(), OTHERWISE.to_vec());
    let mut own_shape = OWN_SHAPE.to_vec();
    for file in files("cases") {
        let case: Case = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
        if take(&mut own_shape, |(id, _)| case.id.starts_with(id)) {
            continue;
        }
        let own: Format = case.format.parse().unwrap();
        let mut said = 0;
        for format in Format::ALL.into_iter().filter(|format| *format != own) {
            let is = |id: &str, of: Format| case.id.starts_with(id) && of == format;
            let listed = take(&mut unsaid, |(id, of, _)| is(id, *of));
            match Other::new(&case, own, format) {
                Err(why) if !listed => wrong.push(format!("{} {format}: not said, {why}", case.id)),
                Err(_) => {}
                Ok(_) if listed => wrong.push(format!("{} {format}: said, though listed", case.id)),
                Ok(other) => {
                    said += 1;
                    let found = other.check().join("; ");
                    let known = take(&mut otherwise, |(id, of, what, _)| is(id, *of) && *what == found);
                    if !known && !found.is_empty() {
                        wrong.push(format!("{} {format}: {found}", case.id));
                    }
                }
            }
        }
        if said == 0 {
            wrong.push(format!("{}: said in no other format, and not listed", case.id));
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(
        own_shape.is_empty() && unsaid.is_empty(),
        "no such case: {own_shape:?} {unsaid:?}"
    );
    assert!(otherwise.is_empty(), "not so: {otherwise:?}");
}
