//! JSON texts as agents of different make write them.

use bytes::Bytes;

/// A value whose members keep their order.
#[derive(Clone, Debug)]
pub enum Json {
    Null,
    Bool(bool),
    Num(u64),
    Str(String),
    Arr(Vec<Json>),
    Obj(Vec<(String, Json)>),
}

/// How one agent writes.
#[derive(Clone, Copy, Debug)]
pub struct Style {
    /// White space: none, behind separators, or lines.
    pub space: u8,
    /// Non-ASCII text and slashes as escapes.
    pub escapes: bool,
    /// Order of the members of envelopes.
    pub order: u8,
    /// Texts as arrays of one block.
    pub blocks: bool,
    /// The head as an array, or as one message of several parts.
    pub head_blocks: bool,
    /// Cache markers on the head and on the last messages.
    pub markers: bool,
    /// The history before the head and the tools.
    pub messages_first: bool,
    /// Keys in snake_case, where the provider reads both spellings.
    pub snake: bool,
    /// Calls with ids, where the format can do without.
    pub ids: bool,
    /// Messages now in one form and now in another, where the format has several.
    pub mixed: bool,
    /// A lone message of the user as a bare string, where the format has that.
    pub bare: bool,
}

pub fn text(text: impl Into<String>) -> Json {
    Json::Str(text.into())
}

pub fn object<const N: usize>(members: [(&str, Json); N]) -> Json {
    Json::Obj(
        members
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value))
            .collect(),
    )
}

/// An object whose members' order is the agent's own business.
pub fn envelope<const N: usize>(style: &Style, members: [(&str, Json); N]) -> Json {
    let Json::Obj(mut members) = object(members) else {
        unreachable!()
    };
    match style.order % 3 {
        1 => members.reverse(),
        2 => members.sort_by(|a, b| a.0.cmp(&b.0)),
        _ => {}
    }
    Json::Obj(members)
}

/// Adds a cache marker to a block, behind or in front.
pub fn marked(style: &Style, block: Json) -> Json {
    let Json::Obj(mut members) = block else {
        return block;
    };
    let marker = ("cache_control".to_owned(), object([("type", text("ephemeral"))]));
    match style.order % 3 {
        1 => members.insert(0, marker),
        _ => members.push(marker),
    }
    Json::Obj(members)
}

pub fn write(value: &Json, style: &Style) -> Bytes {
    let mut out = String::new();
    value.write(style, 0, &mut out);
    Bytes::from(out)
}

impl Json {
    fn write(&self, style: &Style, depth: usize, out: &mut String) {
        match self {
            Self::Null => out.push_str("null"),
            Self::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
            Self::Num(value) => out.push_str(&value.to_string()),
            Self::Str(value) => string(value, style, out),
            Self::Arr(values) => {
                out.push('[');
                for (index, value) in values.iter().enumerate() {
                    separate(style, index, depth, out);
                    value.write(style, depth + 1, out);
                }
                close(style, values.is_empty(), depth, out);
                out.push(']');
            }
            Self::Obj(members) => {
                out.push('{');
                for (index, (name, value)) in members.iter().enumerate() {
                    separate(style, index, depth, out);
                    string(name, style, out);
                    out.push_str(if style.space == 0 { ":" } else { ": " });
                    value.write(style, depth + 1, out);
                }
                close(style, members.is_empty(), depth, out);
                out.push('}');
            }
        }
    }
}

fn separate(style: &Style, index: usize, depth: usize, out: &mut String) {
    if index > 0 {
        out.push(',');
    }
    match style.space {
        2 => {
            out.push('\n');
            (0..=depth).for_each(|_| out.push_str("  "));
        }
        1 if index > 0 => out.push(' '),
        _ => {}
    }
}

fn close(style: &Style, empty: bool, depth: usize, out: &mut String) {
    if style.space == 2 && !empty {
        out.push('\n');
        (0..depth).for_each(|_| out.push_str("  "));
    }
}

fn string(value: &str, style: &Style, out: &mut String) {
    out.push('"');
    for c in value.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '/' if style.escapes => out.push_str("\\/"),
            c if style.escapes && !c.is_ascii() => {
                let mut units = [0; 2];
                for unit in c.encode_utf16(&mut units) {
                    out.push_str(&format!("\\u{unit:04X}"));
                }
            }
            c if c < ' ' => out.push_str(&format!("\\u{:04x}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
}
