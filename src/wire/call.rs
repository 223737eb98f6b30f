//! Tool calls that the provider gives no id, and models that the path names.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

use crate::prefix::digest::Digest;
use crate::prefix::item::AnswerMark;

use super::canonical;
use super::envelope::Envelope;
use super::scan::Cursor;

/// Arguments are told apart by the order of their keys from this depth on.
const SORTED_DEPTH: usize = 16;

/// What a call without an id of its own is known by: its name and its arguments, `name{...}`. An id that is there is
/// not looked at: the provider gives none in its answer, and the client one of its own in the next request. Keys are
/// sorted: languages with unordered maps send them back in another order.
///
/// `call` is an object with a `name`, and `args` or `arguments`. None where it is not, or cannot be read.
pub fn name_of(call: &[u8]) -> Option<String> {
    let mut cursor = Cursor::new(call, 0);
    let call = Envelope::read(&mut cursor).ok()?;
    let name = call.text(&cursor, b"name")?;
    let args = [&b"args"[..], b"arguments"]
        .iter()
        .find_map(|key| call.get(&cursor, key))
        .map(|range| cursor.slice(&range))
        .filter(|args| *args != b"null");
    let mut normal = Vec::new();
    write_sorted(args.unwrap_or(b"{}"), 0, &mut normal)?;
    if normal.len() < AnswerMark::STRONG_TEXT {
        return Some(format!("{name}{}", String::from_utf8_lossy(&normal)));
    }
    let Digest(bytes) = Digest::of("inkfast call v1", &normal);
    Some(format!("{name}#{:032x}", u128::from_be_bytes(bytes)))
}

/// Whether a call has an id, whoever gave it.
pub fn has_id(call: &[u8]) -> bool {
    let mut cursor = Cursor::new(call, 0);
    let call = Envelope::read(&mut cursor).ok();
    let id = call.and_then(|call| call.text(&cursor, b"id"));
    id.is_some_and(|id| !id.is_empty())
}

/// Writes the normal form of a value with sorted keys.
fn write_sorted(value: &[u8], depth: usize, out: &mut Vec<u8>) -> Option<()> {
    match value.first() {
        Some(b'{') if depth < SORTED_DEPTH => {
            let members: BTreeMap<String, &RawValue> = serde_json::from_slice(value).ok()?;
            out.push(b'{');
            for (index, (name, member)) in members.iter().enumerate() {
                separate(index, out);
                serde_json::to_writer(&mut *out, name).ok()?;
                out.push(b':');
                write_sorted(member.get().as_bytes(), depth + 1, out)?;
            }
            out.push(b'}');
        }
        Some(b'[') if depth < SORTED_DEPTH => {
            let elements: Vec<&RawValue> = serde_json::from_slice(value).ok()?;
            out.push(b'[');
            for (index, element) in elements.iter().enumerate() {
                separate(index, out);
                write_sorted(element.get().as_bytes(), depth + 1, out)?;
            }
            out.push(b']');
        }
        _ => canonical::write_value(value, 0..value.len(), out).ok()?,
    }
    Some(())
}

fn separate(index: usize, out: &mut Vec<u8>) {
    if index > 0 {
        out.push(b',');
    }
}

/// The model of a path like `/v1beta/models/MODEL:method`.
pub fn model_in_path(path: &str) -> Option<String> {
    let (front, _method) = path.rsplit_once(':')?;
    let model = front.rsplit('/').next().filter(|model| !model.is_empty())?;
    Some(model.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_its_name_and_arguments() {
        let plain = name_of(br#"{"name":"read","args":{"path":"a","n":1}}"#).unwrap();
        assert_eq!(plain, r#"read{"n":1,"path":"a"}"#);
        for same in [
            r#"{"args": {"path":"\u0061", "n":1.0}, "id":"x", "name":"read"}"#,
            r#"{"function":{},"name":"read","arguments":{"n":1e0,"path":"a"}}"#,
        ] {
            assert_eq!(name_of(same.as_bytes()).as_deref(), Some(plain.as_str()));
        }
        for none in [r#"{"name":"read"}"#, r#"{"name":"read","args":null}"#] {
            assert_eq!(name_of(none.as_bytes()).as_deref(), Some("read{}"));
        }
        assert_eq!(name_of(br#"{"args":{}}"#), None);
        let long = format!(r#"{{"name":"write","args":{{"text":"{}"}}}}"#, "x".repeat(300));
        let long = name_of(long.as_bytes()).unwrap();
        assert!(long.starts_with("write#") && long.len() == 38, "{long}");
    }

    #[test]
    fn models_in_paths() {
        for (path, model) in [
            (
                "/v1beta/models/gemini-3.5-flash:generateContent",
                Some("gemini-3.5-flash"),
            ),
            (
                "/v1/projects/p/locations/l/publishers/anthropic/models/m@1:rawPredict",
                Some("m@1"),
            ),
            ("/v1/messages", None),
            ("/v1/models/:x", None),
        ] {
            assert_eq!(model_in_path(path).as_deref(), model, "{path}");
        }
    }
}
