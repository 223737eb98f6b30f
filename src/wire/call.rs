//! Tool calls that the provider gives no id, and models that the path names.

use std::ops::Range;

use crate::prefix::digest::Digest;
use crate::prefix::item::AnswerMark;

use super::canonical;
use super::envelope::Envelope;
use super::scan::Cursor;

/// What a call without an id of its own is known by: its name and its arguments, in normal form. An id that is there
/// is not looked at: the provider gives none in one answer, and the client one of its own in the next request.
///
/// `call` is an object with a `name`, and `args` or `arguments`.
pub fn name_of(call: &[u8]) -> Option<String> {
    let mut cursor = Cursor::new(call, 0);
    let call = Envelope::read(&mut cursor).ok()?;
    let name = call.text(&cursor, b"name")?;
    let args = [&b"args"[..], b"arguments"].iter().find_map(|key| call.get(&cursor, key));
    Some(named(&name, args.map(|range| normal(&cursor, range))))
}

/// The name alone would say as much of a long call; its digest says more.
fn named(name: &str, args: Option<Vec<u8>>) -> String {
    let args = args.unwrap_or_else(|| b"{}".to_vec());
    if args.len() < AnswerMark::STRONG_TEXT {
        return format!("{name}{}", String::from_utf8_lossy(&args));
    }
    let Digest(bytes) = Digest::of("inkfast call v1", &args);
    format!("{name}#{:032x}", u128::from_be_bytes(bytes))
}

fn normal(cursor: &Cursor<'_>, range: Range<usize>) -> Vec<u8> {
    let raw = cursor.slice(&range);
    let mut out = Vec::new();
    match canonical::write_value(raw, 0..raw.len(), &mut out) {
        Ok(()) if out != b"null" => out,
        Ok(()) => b"{}".to_vec(),
        Err(canonical::Abnormal) => raw.to_vec(),
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
        assert_eq!(plain, r#"read{"path":"a","n":1}"#);
        for same in [
            r#"{"args": {"path":"\u0061", "n":1.0}, "id":"x", "name":"read"}"#,
            r#"{"function":{},"name":"read","arguments":{"path":"a","n":1e0}}"#,
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
            ("/v1beta/models/gemini-3.5-flash:generateContent", Some("gemini-3.5-flash")),
            ("/v1/projects/p/locations/l/publishers/anthropic/models/m@1:rawPredict", Some("m@1")),
            ("/v1/messages", None),
            ("/v1/models/:x", None),
        ] {
            assert_eq!(model_in_path(path).as_deref(), model, "{path}");
        }
    }
}
