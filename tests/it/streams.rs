//! The parsers of streamed answers: whatever the reads cut a stream into, and whatever is in it.

use inkfast::wire::{
    array::ArrayParser,
    eventstream::{EventStreamParser, LARGEST_MESSAGE, chunk},
    ndjson::LineParser,
};
use proptest::{collection::vec, prelude::*};

/// A message's event type, message type, exception type, content type and payload.
type Message = ([Option<String>; 4], Vec<u8>);

/// What a parser gave out, what it counted, and whether it gave up.
type Outcome<T> = (Vec<T>, u64, bool);

fn lines(max: usize, pieces: &[&[u8]]) -> Outcome<Vec<u8>> {
    let (mut parser, mut found) = (LineParser::new(max), Vec::new());
    for piece in pieces {
        parser.push(piece, |line| found.push(line.to_vec()));
    }
    parser.finish(|line| found.push(line.to_vec()));
    (found, parser.skipped(), false)
}

fn elements(max: usize, pieces: &[&[u8]]) -> Outcome<Vec<u8>> {
    let (mut parser, mut found) = (ArrayParser::new(max), Vec::new());
    for piece in pieces {
        parser.push(piece, |element| found.push(element.to_vec()));
    }
    parser.finish();
    (found, parser.skipped(), false)
}

fn messages(max: usize, pieces: &[&[u8]]) -> Outcome<Message> {
    let (mut parser, mut found) = (EventStreamParser::new(max), Vec::new());
    for piece in pieces {
        parser.push(piece, |event| {
            let names = [
                event.event_type,
                event.message_type,
                event.exception_type,
                event.content_type,
            ];
            found.push((names.map(|name| name.map(str::to_owned)), event.payload.to_vec()));
        });
    }
    parser.finish();
    (found, parser.skipped(), parser.is_broken())
}

/// The stream in pieces that end at the given places.
fn cut<'b>(stream: &'b [u8], at: &[prop::sample::Index]) -> Vec<&'b [u8]> {
    let mut ends: Vec<_> = at.iter().map(|at| at.index(stream.len() + 1)).collect();
    ends.extend([0, stream.len()]);
    ends.sort_unstable();
    ends.windows(2).map(|pair| &stream[pair[0]..pair[1]]).collect()
}

/// A header value of every type, by its number in the specification.
pub fn header(name: &str, kind: u8, text: &str) -> Vec<u8> {
    let value = match kind {
        0 | 1 => vec![],
        2 => vec![0xfe],
        3 => vec![1, 2],
        4 => vec![1, 2, 3, 4],
        5 | 8 => vec![7; 8],
        6 | 7 => [&(text.len() as u16).to_be_bytes()[..], text.as_bytes()].concat(),
        _ => vec![9; 16],
    };
    [&[name.len() as u8][..], name.as_bytes(), &[kind], &value].concat()
}

pub fn message(headers: &[Vec<u8>], payload: &[u8]) -> Vec<u8> {
    let headers = headers.concat();
    let mut message = ((headers.len() + payload.len() + 16) as u32)
        .to_be_bytes()
        .to_vec();
    message.extend((headers.len() as u32).to_be_bytes());
    message.extend(crc(&message).to_be_bytes());
    message.extend([&headers, payload].concat());
    message.extend(crc(&message).to_be_bytes());
    message
}

/// The CRC of ISO 3309, bit by bit.
fn crc(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg())
        })
    })
}

pub fn typed(event_type: &str, payload: &[u8]) -> Vec<u8> {
    let headers = [
        header(":message-type", 7, "event"),
        header(":event-type", 7, event_type),
        header(":content-type", 7, "application/json"),
    ];
    message(&headers, payload)
}

fn expected(event_type: &str, payload: &[u8]) -> Message {
    let names = [Some(event_type), Some("event"), None, Some("application/json")];
    (names.map(|name| name.map(str::to_owned)), payload.to_vec())
}

#[test]
fn messages_of_the_specification_are_read() {
    let empty = b"\0\0\0\x10\0\0\0\0\x05\xc2\x48\xeb\x7d\x98\xc8\xff";
    let small = b"\0\0\0\x1d\0\0\0\0\xfd\x52\x8c\x5a{'foo':'bar'}\xc3\x65\x39\x36";
    let (found, skipped, broken) = messages(100, &[empty, small]);
    assert_eq!((skipped, broken), (0, false));
    assert_eq!(
        found,
        [
            (Default::default(), vec![]),
            (Default::default(), b"{'foo':'bar'}".to_vec())
        ]
    );
}

#[test]
fn headers_of_every_type_are_passed_over() {
    let mut headers: Vec<_> = (0..10).map(|kind| header("other", kind, ":event-type")).collect();
    headers.push(header(":exception-type", 7, "throttlingException"));
    headers.push(header(":message-type", 7, "exception"));
    headers.push(header(":event-type", 6, "bytes are no name"));
    let (found, skipped, _) = messages(1000, &[&message(&headers, b"{}")]);
    let names = [None, Some("exception"), Some("throttlingException"), None];
    assert_eq!(
        found,
        [(names.map(|name| name.map(str::to_owned)), b"{}".to_vec())]
    );
    assert_eq!(skipped, 0);
}

#[test]
fn headers_that_cannot_be_read_cost_one_message() {
    for bad in [
        vec![header("x", 9, "")[..5].to_vec()],
        vec![b"\x01x\x0a".to_vec()],
        vec![b"\x05x".to_vec()],
        vec![b"\x01x\x07\xff\xff".to_vec()],
    ] {
        let stream = [message(&bad, b"{}"), typed("metadata", b"{}")].concat();
        let outcome = messages(1000, &[&stream]);
        assert_eq!(outcome, (vec![expected("metadata", b"{}")], 1, false), "{bad:?}");
    }
}

#[test]
fn a_wrong_length_ends_the_reading() {
    let with_prelude = |whole: u32, headers: u32| {
        let mut prelude = [whole.to_be_bytes(), headers.to_be_bytes()].concat();
        prelude.extend(crc(&prelude).to_be_bytes());
        [prelude, typed("lost", b"{}")].concat()
    };
    for (whole, headers) in [(0, 0), (12, 0), (15, 0), (16, 1), (40, 25), (u32::MAX, u32::MAX)] {
        let outcome = messages(LARGEST_MESSAGE, &[&with_prelude(whole, headers)]);
        assert_eq!(outcome, (vec![], 1, true), "{whole} {headers}");
    }
}

#[test]
fn a_message_over_the_limit_is_checked_all_the_same() {
    let (large, small) = (typed("large", &[b' '; 300]), typed("small", b"{}"));
    let stream = [&small[..], &large, &small].concat();
    let two = vec![expected("small", b"{}"); 2];
    assert_eq!(messages(200, &[&stream]), (two, 1, false));
    let mut damaged = stream.clone();
    damaged[small.len() + 200] ^= 1;
    let one = vec![expected("small", b"{}")];
    assert_eq!(messages(200, &[&damaged]), (one.clone(), 1, true));
    assert_eq!(messages(200, &[&stream[..small.len() + 200]]), (one, 1, false));
}

#[test]
fn the_event_inside_a_chunk() {
    let payload = br#"{"bytes":"eyJ0eXBlIjoicGluZyJ9","p":"abcdefgh"}"#;
    assert_eq!(chunk(payload).as_deref(), Some(&br#"{"type":"ping"}"#[..]));
    assert_eq!(chunk(br#"{"bytes":"eyJ9\u003d"}"#), None);
    for other in [&b"{}"[..], b"", br#"{"bytes":"%%"}"#, br#"{"bytes":7}"#, b"\xff"] {
        assert_eq!(chunk(other), None, "{other:?}");
    }
}

/// Text with all that could confuse a reader that looks at bytes.
fn json_text() -> impl Strategy<Value = String> {
    vec(
        prop::sample::select(vec![
            "[", "]", "{", "}", ",", "\"", "\\", "\n", "\r", " ", "é", "😀", "a",
        ]),
        0..12,
    )
    .prop_map(|parts| parts.concat())
}

fn json_value() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<i64>().prop_map(Into::into),
        json_text().prop_map(Into::into),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Into::into),
            prop::collection::btree_map(json_text(), inner, 0..4)
                .prop_map(|map| serde_json::Value::Object(map.into_iter().collect())),
        ]
    })
}

fn cuts() -> impl Strategy<Value = Vec<prop::sample::Index>> {
    vec(any::<prop::sample::Index>(), 0..12)
}

fn any_message() -> impl Strategy<Value = (Vec<u8>, Message)> {
    let others = vec((0u8..10, "[a-z:-]{0,9}", "[ -~]{0,20}"), 0..4);
    (others, "[a-zA-Z]{0,12}", vec(any::<u8>(), 0..80)).prop_map(|(others, event_type, payload)| {
        let mut headers: Vec<_> = others
            .iter()
            .map(|(kind, name, text)| header(&format!("x{name}"), *kind, text))
            .collect();
        headers.push(header(":event-type", 7, &event_type));
        let names = [Some(event_type), None, None, None];
        (message(&headers, &payload), (names, payload))
    })
}

proptest! {
    #[test]
    fn every_line_comes_out(values in vec(json_value(), 0..6), crlf: bool, at in cuts()) {
        let end = if crlf { "\r\n" } else { "\n" };
        let written: Vec<_> = values.iter().map(|value| value.to_string().into_bytes()).collect();
        let stream: String = values.iter().map(|value| format!("{value}{end}")).collect();
        prop_assert_eq!(lines(1 << 20, &cut(stream.as_bytes(), &at)), (written, 0, false));
    }

    #[test]
    fn every_element_comes_out(values in vec(json_value(), 0..6), pretty: bool, at in cuts()) {
        let text = |value: &serde_json::Value| match pretty {
            true => serde_json::to_string_pretty(value).unwrap(),
            false => value.to_string(),
        };
        let written: Vec<_> = values.iter().map(text).collect();
        let body = format!("[{}]\n", written.join(if pretty { "\n,\r\n" } else { "," }));
        let written = written.into_iter().map(String::into_bytes).collect();
        prop_assert_eq!(elements(1 << 20, &cut(body.as_bytes(), &at)), (written, 0, false));
    }

    #[test]
    fn every_message_comes_out(sent in vec(any_message(), 0..6), at in cuts()) {
        let (stream, sent): (Vec<_>, Vec<_>) = sent.into_iter().unzip();
        let outcome = messages(1 << 20, &cut(&stream.concat(), &at));
        prop_assert_eq!(outcome, (sent, 0, false));
    }

    #[test]
    fn a_cut_stream_gives_what_was_whole(sent in vec(any_message(), 1..5), end: prop::sample::Index, at in cuts()) {
        let stream: Vec<u8> = sent.iter().flat_map(|(bytes, _)| bytes.clone()).collect();
        let end = end.index(stream.len());
        let (mut whole, mut length) = (vec![], 0);
        for (bytes, message) in sent {
            length += bytes.len();
            if length > end {
                length -= bytes.len();
                break;
            }
            whole.push(message);
        }
        let outcome = messages(1 << 20, &cut(&stream[..end], &at));
        prop_assert_eq!(outcome, (whole, u64::from(length < end), false));
    }

    #[test]
    fn a_damaged_stream_gives_what_was_before(
        sent in vec(any_message(), 1..5), place: prop::sample::Index, flip in 1u8.., at in cuts(), max in 0usize..200,
    ) {
        let mut stream: Vec<u8> = sent.iter().flat_map(|(bytes, _)| bytes.clone()).collect();
        let place = place.index(stream.len());
        stream[place] ^= flip;
        let mut length = 0;
        let before: Vec<_> = sent
            .into_iter()
            .take_while(|(bytes, _)| { length += bytes.len(); length <= place })
            .filter(|(bytes, _)| bytes.len() <= max)
            .map(|(_, message)| message)
            .collect();
        let (found, _, broken) = messages(max, &cut(&stream, &at));
        prop_assert_eq!((found, broken), (before, true));
    }

    /// Any bytes, cut anyhow: the same outcome as in one piece, and each thing found is within the limit.
    #[test]
    fn cuts_do_not_matter(
        stream in prop_oneof![vec(any::<u8>(), 0..200), "[\\[\\]{}\",\\\\ \r\na1]{0,200}".prop_map(String::into_bytes)],
        max in 0usize..40, at in cuts(),
    ) {
        for parse in [lines, elements] {
            let whole = parse(max, &[&stream]);
            prop_assert!(whole.0.iter().all(|found| found.len() <= max));
            prop_assert_eq!(parse(max, &cut(&stream, &at)), whole);
        }
        prop_assert_eq!(messages(max, &cut(&stream, &at)), messages(max, &[&stream]));
    }

    #[test]
    fn cuts_do_not_matter_at_the_limit(sent in vec(any_message(), 0..6), max in 0usize..200, at in cuts()) {
        let stream: Vec<u8> = sent.iter().flat_map(|(bytes, _)| bytes.clone()).collect();
        let fits: Vec<_> = sent.iter().filter(|(bytes, _)| bytes.len() <= max).map(|(_, m)| m.clone()).collect();
        let skipped = (sent.len() - fits.len()) as u64;
        prop_assert_eq!(messages(max, &cut(&stream, &at)), (fits, skipped, false));
    }
}
