//! Single members of a response, read leniently: what has another type than expected is missing, the rest still counts.

use serde::Deserialize;
use serde_json::value::RawValue;

/// The value of a member that may be absent, null or of another type.
pub(in crate::wire) fn parse<'a, T: Deserialize<'a>>(raw: Option<&'a RawValue>) -> Option<T> {
    serde_json::from_str(raw?.get()).ok()
}

/// An id or a name: a string of at most 256 bytes without control characters.
pub(in crate::wire) fn name(raw: Option<&RawValue>) -> Option<String> {
    parse::<String>(raw)
        .filter(|name| !name.is_empty() && name.len() <= 256 && !name.chars().any(char::is_control))
}

/// A word from a vendor's closed set, safe as a label: at most 64 of `[A-Za-z0-9_.:-]`.
pub(in crate::wire) fn label(raw: Option<&RawValue>) -> Option<String> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_.:-".contains(&byte);
    name(raw).filter(|label| label.len() <= 64 && label.bytes().all(plain))
}
