//! Bodies that are put together from recorded parts. Each part's bytes go in as they were recorded, so equal parts give
//! equal bytes; only the names around them are written here.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::wire::format::Format;

/// Members by name, in the order in which they stand.
pub type Members<'a> = Vec<(Cow<'a, str>, &'a RawValue)>;

/// An object that grows.
#[derive(Default)]
pub struct Object(String);

impl Object {
    /// Adds a member. `name` and `value` are JSON already, the name without its quotes.
    pub fn put(mut self, name: &str, value: &str) -> Self {
        self.0.push(if self.0.is_empty() { '{' } else { ',' });
        self.0.push('"');
        self.0.push_str(name);
        self.0.push_str("\":");
        self.0.push_str(value);
        self
    }

    /// Adds a member by the text of its name.
    pub fn put_named(self, name: &str, value: &str) -> Self {
        let name = quoted(name);
        let inner = name.get(1..name.len().saturating_sub(1));
        self.put(inner.unwrap_or_default(), value)
    }

    /// Adds it where there is one.
    pub fn put_some(self, name: &str, value: Option<impl AsRef<str>>) -> Self {
        match value {
            Some(value) => self.put(name, value.as_ref()),
            None => self,
        }
    }

    /// The text of it.
    pub fn text(mut self) -> String {
        self.0.push_str(if self.0.is_empty() { "{}" } else { "}" });
        self.0
    }
}

/// An array of values.
pub fn list<T: AsRef<str>>(values: impl IntoIterator<Item = T>) -> String {
    let mut text = String::from("[");
    for (index, value) in values.into_iter().enumerate() {
        if index > 0 {
            text.push(',');
        }
        text.push_str(value.as_ref());
    }
    text.push(']');
    text
}

/// Text as a JSON string.
pub fn quoted(text: &str) -> String {
    // Text always is JSON.
    serde_json::to_string(text).unwrap_or_default()
}

/// A value; of a string that holds a whole object or array as text, which is how some exports and attributes carry them, what
/// it holds.
pub fn unquoted(value: &RawValue) -> Cow<'_, str> {
    let Some(text) = text_of(value) else {
        return Cow::Borrowed(value.get().trim());
    };
    let inner = text.trim();
    let whole = inner.starts_with(['{', '[']) && serde_json::from_str::<&RawValue>(inner).is_ok();
    if whole {
        Cow::Owned(inner.to_owned())
    } else {
        Cow::Borrowed(value.get())
    }
}

/// What a JSON string says; none where it is none.
pub fn text_of(value: &RawValue) -> Option<String> {
    value
        .get()
        .trim_start()
        .starts_with('"')
        .then(|| serde_json::from_str(value.get()).ok())
        .flatten()
}

/// A value that says something: no null, no empty object, array or string.
pub fn some(value: Option<&RawValue>) -> Option<&RawValue> {
    value.filter(|value| !["null", "{}", "[]", "\"\""].contains(&value.get().trim()))
}

/// Reads an object's members one after another, those of equal name, too.
pub fn members(text: &str) -> Option<Members<'_>> {
    let All(members) = serde_json::from_str(text).ok()?;
    Some(members)
}

struct All<'a>(Members<'a>);

impl<'de: 'a, 'a> Deserialize<'de> for All<'a> {
    fn deserialize<D: serde::Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> serde::de::Visitor<'de> for Visitor {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
                let mut members = Vec::new();
                while let Some((Name(name), value)) = map.next_entry()? {
                    members.push((name, value));
                }
                Ok(members)
            }
        }
        input.deserialize_map(Visitor).map(Self)
    }
}

#[derive(Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

/// The wire format of a body whose path was not recorded, by the members that only one format has; chat where none of them
/// is there. None where it is no body of a prompt.
pub fn format_of(body: &str) -> Option<Format> {
    let members = members(body)?;
    let get = |wanted: &[&str]| {
        let found = members.iter().find(|(name, _)| wanted.contains(&&**name));
        found.map(|(_, value)| value.get())
    };
    if get(&["contents"]).is_some() {
        return Some(Format::Gemini);
    }
    let Some(messages) = get(&["messages"]) else {
        return get(&["input"]).map(|_| Format::OpenaiResponses);
    };
    let system = get(&["system"]);
    let typed = |text: &str| text.contains("\"type\"");
    if get(&["toolConfig", "inferenceConfig"]).is_some()
        || system.is_some_and(|system| system.starts_with('[') && !typed(system))
    {
        return Some(Format::BedrockConverse);
    }
    let blocks = ["\"tool_use\"", "\"tool_result\"", "\"thinking\""];
    let tools = get(&["tools"]).is_some_and(|tools| tools.contains("\"input_schema\""));
    if tools
        || system.is_some()
        || get(&["anthropic_version"]).is_some()
        || blocks.iter().any(|block| holds_type(messages, block))
    {
        return Some(Format::AnthropicMessages);
    }
    Some(Format::OpenaiChat)
}

/// Whether a value has a member `type` of this kind; texts that quote one have their quotes escaped.
fn holds_type(value: &str, kind: &str) -> bool {
    let mut rest = value;
    while let Some((_, behind)) = rest.split_once("\"type\"") {
        let value = behind.trim_start().strip_prefix(':').map(str::trim_start);
        if value.is_some_and(|value| value.starts_with(kind)) {
            return true;
        }
        rest = behind;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_go_in_as_they_are() {
        let object = Object::default().put("a", "1.50").put_some("b", None::<&str>);
        assert_eq!(
            object.put("c", &list(["{ }", "2"])).text(),
            r#"{"a":1.50,"c":[{ },2]}"#
        );
        assert_eq!(Object::default().text(), "{}");
        assert_eq!(quoted("a\"\u{7}"), r#""a\"\u0007""#);
    }

    #[test]
    fn strings_that_hold_json() {
        let value = |json: &str| unquoted(&RawValue::from_string(json.to_owned()).unwrap()).into_owned();
        assert_eq!(value(r#""[{\"a\": 1.0}]""#), r#"[{"a": 1.0}]"#);
        assert_eq!(value(r#""[not json""#), r#""[not json""#);
        assert_eq!(value("{ }"), "{ }");
    }

    #[test]
    fn formats_by_members() {
        for (body, format) in [
            (
                r#"{"messages":[{"role":"user","content":"\"type\":\"tool_use\""}]}"#,
                Some(Format::OpenaiChat),
            ),
            (
                r#"{"messages":[{"role":"user","content":[{"type": "tool_result"}]}]}"#,
                Some(Format::AnthropicMessages),
            ),
            (r#"{"system":"x","messages":[]}"#, Some(Format::AnthropicMessages)),
            (
                r#"{"system":[{"text":"x"}],"messages":[]}"#,
                Some(Format::BedrockConverse),
            ),
            (r#"{"input":"x"}"#, Some(Format::OpenaiResponses)),
            (r#"{"contents":[]}"#, Some(Format::Gemini)),
            (r#"{"prompt":"x"}"#, None),
            ("[]", None),
        ] {
            assert_eq!(format_of(body), format, "{body}");
        }
    }
}
