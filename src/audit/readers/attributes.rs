//! Attributes of OpenTelemetry: OTLP's list of typed values, or an object by name as SDKs print it. Values become JSON again
//! out of the recorded bytes.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::splice::{Object, list, members, text_of};

/// Values inside values.
const MAX_DEPTH: usize = 64;

/// Attributes by name; each value is JSON.
#[derive(Default)]
pub struct Attributes(BTreeMap<String, String>);

impl Attributes {
    /// Adds the attributes of a list or an object. What is neither adds nothing.
    pub fn add(&mut self, attributes: &RawValue) {
        if let Ok(list) = serde_json::from_str::<Vec<KeyValue>>(attributes.get()) {
            for KeyValue { key, value } in list {
                let value = value.and_then(|value| json(value, MAX_DEPTH));
                self.0.extend(value.map(|value| (key.into_owned(), value)));
            }
        } else if let Some(members) = members(attributes.get()) {
            let values = members
                .into_iter()
                .map(|(name, value)| (name.into_owned(), value.get().to_owned()));
            self.0.extend(values);
        }
    }

    /// A value as JSON; of a string that holds an object or array, what it holds.
    pub fn json(&self, name: &str) -> Option<Cow<'_, str>> {
        let value = self.0.get(name)?;
        let raw: &RawValue = serde_json::from_str(value).ok()?;
        let text = super::splice::unquoted(raw);
        (!matches!(&*text, "null" | "\"\"")).then_some(text)
    }

    /// A value as it was recorded.
    pub fn raw(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// A text.
    pub fn text(&self, name: &str) -> Option<String> {
        text_of(serde_json::from_str(self.0.get(name)?).ok()?).filter(|text| !text.is_empty())
    }

    /// The first of these that is a count.
    pub fn count(&self, names: &[&str]) -> Option<u64> {
        let values = names.iter().filter_map(|name| self.0.get(*name));
        values
            .filter_map(|value| value.trim_matches('"').parse().ok())
            .next()
    }

    /// The names that start so, in order, without that start.
    pub fn below<'a>(&'a self, start: &'a str) -> impl Iterator<Item = &'a str> {
        let from = self.0.range(start.to_owned()..);
        from.map_while(move |(name, _)| name.strip_prefix(start))
    }
}

#[derive(Deserialize)]
struct KeyValue<'a> {
    #[serde(borrow)]
    key: Cow<'a, str>,
    #[serde(borrow)]
    value: Option<&'a RawValue>,
}

/// OTLP's typed value.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AnyValue<'a> {
    #[serde(borrow)]
    string_value: Option<&'a RawValue>,
    #[serde(borrow)]
    bool_value: Option<&'a RawValue>,
    #[serde(borrow)]
    int_value: Option<&'a RawValue>,
    #[serde(borrow)]
    double_value: Option<&'a RawValue>,
    #[serde(borrow)]
    bytes_value: Option<&'a RawValue>,
    #[serde(borrow)]
    array_value: Option<Values<'a>>,
    #[serde(borrow)]
    kvlist_value: Option<Values<'a>>,
}

#[derive(Deserialize)]
struct Values<'a> {
    #[serde(borrow, default)]
    values: Vec<&'a RawValue>,
}

/// The value as plain JSON. A whole number is a string in OTLP, because of its 64 bits.
fn json(value: &RawValue, depth: usize) -> Option<String> {
    let depth = depth.checked_sub(1)?;
    let any: AnyValue = serde_json::from_str(value.get()).ok()?;
    if let Some(array) = any.array_value {
        let values: Option<Vec<_>> = array.values.iter().map(|value| json(value, depth)).collect();
        return values.map(list);
    }
    if let Some(object) = any.kvlist_value {
        let mut members = Object::default();
        for member in object.values {
            let KeyValue { key, value } = serde_json::from_str(member.get()).ok()?;
            let value = value.map_or(Some("null".to_owned()), |value| json(value, depth))?;
            members = members.put_named(&key, &value);
        }
        return Some(members.text());
    }
    if let Some(number) = any.int_value {
        return Some(number.get().trim_matches('"').to_owned())
            .filter(|number| number.parse::<i64>().is_ok());
    }
    let plain = any
        .string_value
        .or(any.bool_value)
        .or(any.double_value)
        .or(any.bytes_value);
    Some(plain.map_or("null", RawValue::get).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typed_values_become_json_again() {
        let list = r#"[
            {"key":"a","value":{"arrayValue":{"values":[{"intValue":"1"},{"doubleValue":1.50},{"kvlistValue":{"values":[
                {"key":"k \"q\"","value":{"stringValue":"\u00e4"}},{"key":"n"}]}},{"boolValue":true},{}]}}},
            {"key":"b","value":{"stringValue":"[{\"x\":1.0}]"}},
            {"key":"c","value":{"intValue":7}}]"#;
        let mut attributes = Attributes::default();
        attributes.add(serde_json::from_str(list).unwrap());
        assert_eq!(
            attributes.json("a").unwrap(),
            r#"[1,1.50,{"k \"q\"":"\u00e4","n":null},true,null]"#
        );
        assert_eq!(attributes.json("b").unwrap(), r#"[{"x":1.0}]"#);
        assert_eq!(attributes.count(&["x", "c"]), Some(7));
        attributes.add(serde_json::from_str(r#"{"d.0":"e","d.1":2}"#).unwrap());
        assert_eq!(
            (attributes.text("d.0").as_deref(), attributes.text("d.1")),
            (Some("e"), None)
        );
        assert_eq!(attributes.below("d.").collect::<Vec<_>>(), ["0", "1"]);
    }
}
