//! JSON that keeps the order of its members, and the normal form that the checker compares by: its own, written
//! from the definition in ARCHITECTURE.md.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub enum Tree {
    Null,
    Bool(bool),
    Num(String),
    Str(String),
    Arr(Vec<Tree>),
    Obj(Vec<(String, Tree)>),
}

impl Tree {
    pub fn parse(text: &str) -> Self {
        serde_json::from_str(text).expect("a body that leaves is JSON")
    }

    pub fn get(&self, name: &str) -> Option<&Tree> {
        match self {
            Self::Obj(members) => members
                .iter()
                .find(|(key, _)| key == name)
                .map(|(_, value)| value),
            _ => None,
        }
    }

    pub fn str(&self) -> Option<&str> {
        match self {
            Self::Str(text) => Some(text),
            _ => None,
        }
    }

    pub fn list(&self) -> &[Tree] {
        match self {
            Self::Arr(values) => values,
            _ => &[],
        }
    }

    /// A value whose members stand as they were sent.
    pub fn plain(&self) -> String {
        match self {
            Self::Null => "null".into(),
            Self::Bool(value) => value.to_string(),
            Self::Num(number) => number.clone(),
            Self::Str(text) => format!("{text:?}"),
            Self::Arr(values) => format!(
                "[{}]",
                values.iter().map(Self::plain).collect::<Vec<_>>().join(",")
            ),
            Self::Obj(members) => {
                let members: Vec<_> = members
                    .iter()
                    .map(|(key, value)| format!("{key:?}:{}", value.plain()))
                    .collect();
                format!("{{{}}}", members.join(","))
            }
        }
    }

    /// A message, a block, a tool or a call: its members in any order, no markers, one text block as its string, no
    /// word on that it is a message.
    pub fn envelope(&self) -> String {
        let Self::Obj(members) = self else {
            return self.plain();
        };
        let says = |key: &str, value: &Tree| (key, value.str()) != ("type", Some("message"));
        let members = members
            .iter()
            .filter(|(key, value)| key != "cache_control" && says(key, value));
        let mut members: Vec<String> = members
            .map(|(key, value)| format!("{key:?}:{}", member(key, value)))
            .collect();
        members.sort();
        format!("{{{}}}", members.join(","))
    }
}

fn member(key: &str, value: &Tree) -> String {
    match (key, value) {
        ("content", Tree::Arr(_)) => content(value),
        ("tool_calls", Tree::Arr(calls)) => calls.iter().map(Tree::envelope).collect::<Vec<_>>().join(","),
        ("function", _) => value.envelope(),
        _ => value.plain(),
    }
}

fn content(value: &Tree) -> String {
    match value.list() {
        [only] if is_text(only) => only.get("text").map_or_else(String::new, Tree::plain),
        blocks => format!(
            "[{}]",
            blocks.iter().map(Tree::envelope).collect::<Vec<_>>().join(",")
        ),
    }
}

fn is_text(block: &Tree) -> bool {
    let kind = block.get("type").and_then(Tree::str);
    matches!(kind, Some("text" | "input_text"))
}

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Tree;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Tree, E> {
        Ok(Tree::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Tree, E> {
        Ok(Tree::Bool(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Tree, E> {
        Ok(Tree::Num(value.to_string()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Tree, E> {
        Ok(Tree::Num(value.to_string()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Tree, E> {
        Ok(Tree::Num(value.to_string()))
    }

    fn visit_str<E>(self, value: &str) -> Result<Tree, E> {
        Ok(Tree::Str(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Tree, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = seq.next_element()? {
            values.push(value);
        }
        Ok(Tree::Arr(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Tree, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = map.next_entry()? {
            members.push(member);
        }
        Ok(Tree::Obj(members))
    }
}
