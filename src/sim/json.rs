//! A JSON document that keeps the order of its keys, because providers render schemas in the order they came.
//!
//! The crate's other modules splice bytes and never build a document; this one does nothing else, on purpose.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

/// A parsed value. Of a key that stands twice, the last one counts.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Json {
    Null,
    Bool(bool),
    Number(serde_json::Number),
    Text(String),
    List(Vec<Json>),
    Map(Vec<(String, Json)>),
}

impl Json {
    pub(super) fn parse(body: &[u8]) -> Result<Self, serde_json::Error> {
        serde_json::from_slice(body)
    }

    pub(super) fn get(&self, key: &str) -> Option<&Json> {
        let Self::Map(fields) = self else { return None };
        fields.iter().rev().find(|(k, _)| k == key).map(|(_, v)| v)
    }

    /// The value of a key, where it is there and not null.
    pub(super) fn some(&self, key: &str) -> Option<&Json> {
        self.get(key).filter(|v| **v != Self::Null)
    }

    pub(super) fn str(&self, key: &str) -> Option<&str> {
        self.get(key).and_then(Json::as_str)
    }

    pub(super) fn list(&self, key: &str) -> &[Json] {
        self.get(key).map_or(&[], Json::as_list)
    }

    /// The value at the end of a path of keys, where it is there and not null.
    pub(super) fn at(&self, path: &str) -> Option<&Json> {
        path.split('.').try_fold(self, |value, key| value.some(key))
    }

    /// The same document with this field set, or left out.
    pub(super) fn with(&self, key: &str, value: Option<Json>) -> Json {
        let others = self.fields().iter().filter(|(k, _)| k != key).cloned();
        Self::Map(others.chain(value.map(|v| (key.to_owned(), v))).collect())
    }

    pub(super) fn is_true(&self, key: &str) -> bool {
        self.get(key) == Some(&Self::Bool(true))
    }

    /// Gives a key this value, whatever it had.
    pub(super) fn set(&mut self, key: &str, value: Json) {
        if let Self::Map(fields) = self {
            fields.retain(|(k, _)| k != key);
            fields.push((key.to_owned(), value));
        }
    }

    pub(super) fn as_str(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(super) fn as_list(&self) -> &[Json] {
        match self {
            Self::List(items) => items,
            _ => &[],
        }
    }

    pub(super) fn fields(&self) -> &[(String, Json)] {
        match self {
            Self::Map(fields) => fields,
            _ => &[],
        }
    }

    /// Without white space, keys as they came.
    pub(super) fn compact(&self) -> String {
        let mut out = String::new();
        self.write(&mut out);
        out
    }

    fn write(&self, out: &mut String) {
        match self {
            Self::Null => out.push_str("null"),
            Self::Bool(b) => out.push_str(if *b { "true" } else { "false" }),
            Self::Number(n) => out.push_str(&n.to_string()),
            Self::Text(text) => write_text(text, out),
            Self::List(items) => {
                out.push('[');
                for (i, item) in items.iter().enumerate() {
                    separate(i, out);
                    item.write(out);
                }
                out.push(']');
            }
            Self::Map(fields) => {
                out.push('{');
                for (i, (key, value)) in fields.iter().enumerate() {
                    separate(i, out);
                    write_text(key, out);
                    out.push(':');
                    value.write(out);
                }
                out.push('}');
            }
        }
    }
}

fn separate(index: usize, out: &mut String) {
    if index > 0 {
        out.push(',');
    }
}

fn write_text(text: &str, out: &mut String) {
    out.push_str(&serde_json::Value::from(text).to_string());
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Json, E> {
        Ok(Json::Bool(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Json, E> {
        Ok(Json::Number(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Json, E> {
        Ok(Json::Number(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Json, E> {
        Ok(serde_json::Number::from_f64(value).map_or(Json::Null, Json::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Json, E> {
        Ok(Json::Text(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Json, E> {
        Ok(Json::Text(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Json, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Json::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Json, A::Error> {
        let mut fields = Vec::new();
        while let Some(field) = entries.next_entry()? {
            fields.push(field);
        }
        Ok(Json::Map(fields))
    }
}
