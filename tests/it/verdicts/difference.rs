//! Where the bytes of a changed item differ, and how much of the text around them is shown.

use bytes::Bytes;
use inkfast::prefix::verdict::{Change, Part};
use inkfast::wire::body::Context;
use inkfast::wire::drift::{WINDOW, difference};
use inkfast::wire::format::Format;

use crate::harness::parse;

fn changed(before: &str, after: &str) -> [(usize, usize, String, usize); 2] {
    let bodies = [before, after].map(|text| {
        let message = serde_json::json!({"messages": [{"role": "user", "content": text}]}).to_string();
        let body = Bytes::from(message);
        parse(Format::OpenaiChat, &body, &Context::default(), None).unwrap()
    });
    let change = Change {
        part: Part::History,
        old: Some(0),
        new: Some(0),
    };
    let found = difference(&bodies[0], &bodies[1], change).unwrap();
    [found.before.unwrap(), found.after.unwrap()].map(|side| {
        assert!(side.window.text.len() <= WINDOW && side.window.at <= side.window.text.len());
        (side.offset, side.bytes, side.window.text, side.window.at)
    })
}

#[test]
fn the_first_differing_byte_and_how_many() {
    const FRONT: usize = r#"{"messages":[{"content":""#.len();
    let [(old_at, old_bytes, ..), (new_at, new_bytes, text, at)] =
        changed("one two three", "one twenty three");
    assert_eq!((old_at, old_bytes), (FRONT + 6, 1));
    assert_eq!((new_at, new_bytes), (FRONT + 6, 4));
    assert!(text[at..].starts_with("enty three"), "{text} {at}");
}

#[test]
fn characters_stay_whole() {
    // Both start with the same byte of UTF-8.
    let [(old_at, old_bytes, ..), (new_at, _, text, at)] = changed("x é y", "x è y");
    assert_eq!((old_at, old_bytes), (new_at, 2));
    assert!(text[at..].starts_with('è'));
    let long = "日本語".repeat(4000);
    let [_, (_, _, text, at)] = changed(&format!("{long}a{long}"), &format!("{long}b{long}"));
    assert!(text[at..].starts_with('b') && text.len() > WINDOW / 2);
}

#[test]
fn one_side_alone_differs_as_a_whole() {
    let body = Bytes::from_static(br#"{"messages":[{"role":"user","content":"new"}]}"#);
    let request = parse(Format::OpenaiChat, &body, &Context::default(), None).unwrap();
    let change = |old, new| Change {
        part: Part::History,
        old,
        new,
    };
    let found = difference(&request, &request, change(None, Some(0))).unwrap();
    let after = found.after.unwrap();
    assert!(found.before.is_none());
    assert_eq!(
        (after.offset, after.bytes),
        (after.range.start, after.range.len())
    );
    assert_eq!(difference(&request, &request, change(None, None)), None);
    assert_eq!(difference(&request, &request, change(Some(7), None)), None);
}
