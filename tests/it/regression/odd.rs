//! Bodies of odd shape that the fuzz targets found.

use inkfast::prefix::past::Slot;
use inkfast::wire::body::Context;
use inkfast::wire::canonical::write_value;

use super::*;
use crate::harness::parse;

fn responses() -> Core {
    Core::new(Format::OpenaiResponses, "api.openai.com")
}

fn input(head: &str, input: &str) -> Bytes {
    Bytes::from(format!(
        r#"{{"model":"gpt-5","instructions":"{head}","input":{input}}}"#
    ))
}

fn behind(head: &str, input: &str) -> Bytes {
    Bytes::from(format!(
        r#"{{"model":"gpt-5","instructions":"{head}","previous_response_id":"r1","input":{input}}}"#
    ))
}

fn sent(turn: &Turn) -> &str {
    std::str::from_utf8(&turn.out).unwrap()
}

#[test]
fn a_developer_message_is_restored_in_front_of_an_input_that_is_a_string() {
    let mut core = responses();
    let developer = message("developer", &head("one"));
    let listed = format!("[{developer},{}]", user("q0"));
    let body = Bytes::from(format!(r#"{{"model":"gpt-5","input":{listed}}}"#));
    ask(&mut core, &body, "a1");
    // The same words and the same prompt, written otherwise.
    let again = ask(&mut core, &input(&head("one"), r#""q0""#), "a1");
    assert_eq!(sent(&again), format!(r#"{{"model":"gpt-5","input":{listed}}}"#));
}

#[test]
fn a_string_that_held_an_update_is_a_message_in_the_list_that_follows() {
    let mut core = Core::new(Format::OpenaiResponses, "localhost");
    let first = ask(&mut core, &input(&head("one"), r#""q0""#), "a1");
    core.respond(first.seq, "r1");
    let edited = ask(&mut core, &behind(&head("two"), r#""q2""#), "a3");
    assert_eq!(edited.lowered.nodes.len(), 1, "{}", sent(&edited));
    let talk = [user("q0"), said("a1"), user("q2"), said("a3"), user("q4")];
    let listed = format!("[{}]", talk.join(","));
    let next = ask(&mut core, &input(&head("two"), &listed), "a5");
    let text = serde_json::from_slice::<Sent>(&edited.out).unwrap().input;
    assert!(
        sent(&next).contains(&format!(r#"{{"role":"user","content":{text}}},"#)),
        "{}",
        sent(&next)
    );
}

/// What a test reads of a body.
#[derive(Deserialize)]
struct Sent {
    input: Box<RawValue>,
}

#[test]
fn an_update_in_front_of_a_message_stands_in_front_of_the_same_message_as_a_string() {
    let mut core = responses();
    let first = ask(&mut core, &input(&head("one"), r#""q0""#), "a1");
    core.respond(first.seq, "r1");
    let list = format!("[{}]", user("q2"));
    let listed = ask(&mut core, &behind(&head("two"), &list), "a3");
    assert_eq!(listed.lowered.nodes[0].slot, Slot::Message);
    let bare = ask(&mut core, &behind(&head("two"), r#""q2""#), "b3");
    assert_eq!(sent(&bare), sent(&listed));
}

#[test]
fn an_update_finds_no_place_in_a_message_without_blocks() {
    let mut core = Core::new(Format::AnthropicMessages, "gateway.example");
    ask(&mut core, &claude(&quoted(&head("one")), &history(1)), "a1");
    let talk = [history(2), vec![r#"{"role":"user","content":[]}"#.to_owned()]].concat();
    let body = claude(&quoted(&head("two")), &talk);
    let turn = ask(&mut core, &body, "a3");
    assert_eq!((turn.plan.outcome, turn.out), (Outcome::PassedThrough, body));
}

#[test]
fn a_power_of_ten_beyond_all_numbers_has_no_normal_form() {
    for number in [
        "10e9223372036854775807",
        "1e9223372036854775807",
        "1e-9223372036854775808",
        "0.1e-9223372036854775808",
    ] {
        let mut out = Vec::new();
        assert!(
            write_value(number.as_bytes(), 0..number.len(), &mut out).is_err(),
            "{number}"
        );
    }
}

#[test]
fn a_marker_of_the_attribution_block_counts_in_a_head_that_is_taken_over() {
    let marked = r#"{"type":"text","text":"x-anthropic-billing-header: a;","cache_control":{"type":"ephemeral","ttl":"1h"}}"#;
    let body = claude(&format!("[{marked},{}]", block("Be brief.", true)), &history(1));
    let context = Context {
        attribution: true,
        ..Context::default()
    };
    let read = |known| parse(Format::AnthropicMessages, &body, &context, known).unwrap();
    let first = read(None);
    assert_eq!(first.marker_ttl, Some(3600));
    assert_eq!(read(Some(&first)).marker_ttl, Some(3600));
}

#[test]
fn a_marker_that_is_written_twice_is_cut_out_twice() {
    let marker = r#","cache_control":{"type":"ephemeral"}"#;
    let marked = |times: usize| {
        let text = block("Be brief.", false).replace('}', &format!("{}}}", marker.repeat(times)));
        let system = format!("[{text}]");
        let talk = [format!(r#"{{"role":"user","content":[{text}]}}"#)];
        let tools = format!(r#""type":"object"}}{}}}]"#, marker.repeat(times));
        let body = claude(&system, &talk);
        let body = String::from_utf8(body.to_vec()).unwrap();
        let body = Bytes::from(body.replace(r#""type":"object"}}]"#, &tools));
        parse(Format::AnthropicMessages, &body, &Context::default(), None).unwrap()
    };
    let (plain, twice) = (marked(0), marked(2));
    assert_eq!(twice.tools[0].mark, plain.tools[0].mark);
    assert_eq!(twice.head.blocks[0].frozen, plain.head.blocks[0].frozen);
    assert_eq!(twice.history[0].mark, plain.history[0].mark);
}
