//! Bugs that random conversations found: what shows that two requests are of one conversation, and which head goes out.

use inkfast::prefix::policy::Mode;

use super::*;

#[test]
fn a_twin_in_flight_does_not_tell_how_a_chat_went_on() {
    let mut core = openai();
    ask(&mut core, &chat(&[head("one")], &history(1)), "a1");
    // The same question under another prompt; what was answered is not seen.
    ask(&mut core, &chat(&[head("two")], &history(1)), "");
    let body = chat(&[head("one")], &[user("q0"), said("b1"), user("q2")]);
    let first = core.send(&body, Hints::default());
    assert_eq!(core.send(&body, Hints::default()).out, first.out);
}

#[test]
fn a_head_that_is_written_otherwise_stays_frozen_when_a_message_is_taken_out() {
    let mut core = openai();
    let noted = [
        user("q0"),
        said("a1"),
        message("system", "Plan mode is on."),
        user("Go on."),
    ];
    let first = ask(&mut core, &chat(&[head("one")], &noted), "a4");
    let talk = [&noted[..], &[said("a4"), user("q5")]].concat();
    ask(&mut core, &chat(&[head("one")], &talk), "a6");
    let other = in_blocks(&chat(&[head("one")], &[user("q0"), said("a1"), user("Go on.")]));
    let next = ask(&mut core, &other, "b4");
    assert_eq!(next.plan.received.class, Class::Compaction);
    assert_eq!(messages(&next.out)[0], messages(&first.out)[0]);
}

#[test]
fn a_short_answer_to_another_question_is_no_evidence_of_a_strangers_conversation() {
    let talk = |name: &str, behind: &[String]| {
        let question = user(&format!("Look at the files of {name}."));
        chat_of(name, &[&[question], behind].concat())
    };
    let mut core = openai();
    ask(&mut core, &talk("Ann", &[]), "OK.");
    ask(&mut core, &talk("Ann", &[said("OK."), user("Go on.")]), "Done.");
    let other = talk(
        "Bob",
        &[said("OK."), user("Go on."), said("Part 1."), user("Go on.")],
    );
    assert_eq!(ask(&mut core, &other, "Done.").out, other);
}

#[test]
fn examples_where_an_answer_was_not_seen_are_no_evidence_of_a_strangers_conversation() {
    let own = |name: &str| chat_of(name, &[&examples()[..], &[user("Go on.")]].concat());
    let mut core = openai();
    ask(&mut core, &chat_of("Ann", &examples()[..3]), "");
    ask(&mut core, &own("Ann"), "Done.");
    assert_eq!(ask(&mut core, &own("Bob"), "Done.").out, own("Bob"));
}

#[test]
fn a_sub_agent_of_another_chat_with_an_equal_answer_is_not_continued() {
    let opener = [user("Hello!"), said("OK."), user("Find it.")];
    let mut core = openai();
    ask(&mut core, &search_of("Ann", &opener[..1]), "OK.");
    ask(&mut core, &chat_of("Bob", &opener[..1]), "OK.");
    // Bob's, over the history of Bob's chat.
    let body = search_of("Bob", &opener);
    assert_eq!(ask(&mut core, &body, "Done.").out, body);
}

#[test]
fn an_observed_head_goes_out_as_it_is_written() {
    let mut core = openai();
    core.mode = Mode::Observe;
    ask(&mut core, &chat(&[head("one")], &history(1)), "a1");
    let body = in_blocks(&chat(&[head("one")], &history(3)));
    assert_eq!(ask(&mut core, &body, "a3").out, body);
}

/// The same chat with its head as a list of one block.
fn in_blocks(body: &Bytes) -> Bytes {
    let list = format!("[{}]", block(&head("one"), false));
    let text = String::from_utf8(body.to_vec()).unwrap();
    let other = text.replacen(&quoted(&head("one")), &list, 1);
    assert_ne!(other, text);
    Bytes::from(other)
}

#[test]
fn a_question_alike_behind_a_compaction_is_no_evidence_of_a_strangers_conversation() {
    let asked = |part: &str| user(&format!("Do part {part}, please, carefully."));
    for summary in [vec![], vec![user("Summary of what was said.")]] {
        let mut core = openai();
        ask(&mut core, &chat_of("Ann", &[asked("ten")]), "OK.");
        let talk = [summary, vec![asked("six"), said("OK."), user("Go on.")]].concat();
        let body = chat_of("Bob", &talk);
        assert_eq!(ask(&mut core, &body, "Done.").out, body);
    }
}

#[test]
fn an_equal_answer_elsewhere_leads_to_no_strangers_sub_agent() {
    let talk = |file: &str| {
        [
            user("Look."),
            said("I read a file."),
            user(&format!("Go on with the file {file}.")),
        ]
    };
    let mut core = openai();
    ask(&mut core, &search_of("Ann", &talk("one")[..1]), "I read it.");
    let ann = [
        user("Look."),
        said("I read it."),
        user("Go on with the file one."),
    ];
    ask(&mut core, &search_of("Ann", &ann), "OK.");
    ask(&mut core, &chat_of("Bob", &talk("two")), "OK.");
    let body = search_of(
        "Bob",
        &[&talk("two")[..], &[said("OK."), user("Find it.")]].concat(),
    );
    assert_eq!(ask(&mut core, &body, "Done.").out, body);
}

#[test]
fn an_answer_that_a_sub_agents_got_again_does_not_hide_the_chat_it_is_from() {
    let mut core = openai();
    let talk = [
        user("Do part 2, please."),
        said("OK."),
        user("Do part 3, please."),
    ];
    ask(&mut core, &chat_of("Bob", &talk[..1]), "OK.");
    let last = ask(&mut core, &chat_of("Bob", &talk), "Done.");
    // A sub-agent over the whole history is asked alike, and answers as the chat was answered before.
    let fork = [&talk[..], &[said("Done."), user("Do part 4, please.")]].concat();
    let sub = chat(&["Search only, and say where it was found.".to_owned()], &fork);
    ask(&mut core, &other_tools(&sub), "OK.");
    let talk = [&talk[..], &[said("Done."), user("Go on.")]].concat();
    let next = ask(&mut core, &chat(&[], &talk), "a5");
    assert_eq!(next.plan.parent.map(|parent| parent.seq), Some(last.seq));
}

/// A sub-agent with a head and tools of its own.
fn search_of(name: &str, history: &[String]) -> Bytes {
    let head =
        format!("Search the files of {name} and say in few words what was found where, with the lines.");
    other_tools(&chat(&[head], history))
}

fn other_tools(body: &Bytes) -> Bytes {
    let text = String::from_utf8(body.to_vec()).unwrap();
    Bytes::from(text.replacen(r#""name":"shell""#, r#""name":"search""#, 1))
}
