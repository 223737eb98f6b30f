//! What an item says, read again from its body.

use std::ops::Range;

use super::form::{self, Form};
use super::markup;
use crate::prefix::item::{Item, Kind, Request, Role};
use crate::wire::BARE;
use crate::wire::canonical;
use crate::wire::scan::Cursor;

/// An item in normal form.
#[derive(Clone, Debug)]
pub struct Content {
    /// Who speaks.
    pub role: Role,
    /// What it is.
    pub kind: Kind,
    /// It is a block, or what one text block stands for.
    pub block: bool,
    /// Its JSON in normal form.
    pub json: Vec<u8>,
    /// Its texts.
    pub texts: Vec<String>,
}

impl Content {
    /// An item of a request; none where it is not in the body, or has no normal form.
    pub fn of(request: &Request, item: &Item) -> Option<Self> {
        let src = request
            .body
            .get(item.range.clone())
            .filter(|src| !src.is_empty())?;
        // A marker that is a block of its own may stand behind.
        let own = Cursor::new(src, 0).value().ok()?;
        let in_blocks = request.names.blocks.is_some();
        let (json, block) = match text_of(&src[own.clone()], in_blocks && item.block.is_none()) {
            Some(text) if in_blocks => (
                normal(&[br#"{"type":"text","text":"#, text, b"}"].concat())?,
                true,
            ),
            Some(text) => {
                let [open, close] = BARE.map(str::as_bytes);
                (normal(&[open, text, close].concat())?, false)
            }
            None => (normal(&src[own])?, item.block.is_some()),
        };
        Some(Self {
            role: item.mark.role,
            kind: item.mark.kind,
            block,
            texts: Form::WHOLE.read(&json)?.texts,
            json,
        })
    }

    /// A tool.
    pub fn of_envelope(body: &[u8], range: Range<usize>) -> Option<Self> {
        let json = normal(body.get(range)?)?;
        Some(Self {
            role: Role::Operator,
            kind: Kind::Content,
            block: false,
            texts: Form::WHOLE.read(&json)?.texts,
            json,
        })
    }

    /// All its text.
    pub fn text(&self) -> String {
        self.texts.join("\n")
    }

    /// Nothing but reminders and context blocks.
    pub fn is_decoration(&self) -> bool {
        let split = markup::split(&self.text());
        self.kind == Kind::Content
            && self.role != Role::Assistant
            && !split.elements.is_empty()
            && split.rest.trim().is_empty()
            && self.media() == 0
    }

    /// Nothing but images and documents.
    pub fn is_media(&self) -> bool {
        self.kind == Kind::Content && self.media() > 0 && self.text().trim().is_empty()
    }

    /// How many images and documents it holds.
    pub fn media(&self) -> usize {
        let inside = Form::MEDIALESS.read(&self.json).map_or(0, |left| left.media);
        inside + usize::from(self.block && form::is_media_item(&self.json))
    }

    /// The id, or else the name, of the call that it makes or answers.
    pub fn call(&self) -> Option<String> {
        const IDS: [&[u8]; 4] = [b"tool_call_id", b"tool_use_id", b"toolUseId", b"call_id"];
        find(&self.json, &IDS, 0).or_else(|| find(&self.json, &[b"name", b"tool_name"], 0))
    }
}

/// The string token that an item is: a bare one, or the content of a message that stands for a block.
fn text_of(src: &[u8], whole_message: bool) -> Option<&[u8]> {
    if src.starts_with(b"\"") {
        return Some(src);
    }
    if !whole_message {
        return None;
    }
    let mut cursor = Cursor::new(src, 0);
    cursor.pass(b'{').ok()?;
    let mut first = true;
    while let Some(name) = cursor.key(&mut first).ok()? {
        let value = cursor.value().ok()?;
        if &src[name] == b"content" {
            return Some(&src[value]).filter(|value| value.starts_with(b"\""));
        }
    }
    None
}

fn normal(json: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(json.len());
    canonical::write_envelope(json, 0..json.len(), &mut out).ok()?;
    // A member that is null says nothing.
    let mut said = Vec::with_capacity(out.len());
    let mut cursor = Cursor::new(&out, 0);
    if cursor.pass(b'{').is_err() {
        return Some(out);
    }
    let mut first = true;
    while let Some(name) = cursor.key(&mut first).ok()? {
        let value = cursor.value().ok()?;
        if &out[value.clone()] != b"null" {
            said.push(if said.is_empty() { b'{' } else { b',' });
            said.extend_from_slice(&out[name.start - 1..value.end]);
        }
    }
    said.extend_from_slice(if said.is_empty() { b"{}" } else { b"}" });
    Some(said)
}

/// How deep a call's id is looked for.
const DEEP: usize = 2;

/// The first string member of one of these names.
fn find(json: &[u8], names: &[&[u8]], depth: usize) -> Option<String> {
    let mut cursor = Cursor::new(json, 0);
    cursor.pass(b'{').ok()?;
    let (mut first, mut inner) = (true, Vec::new());
    while let Some(name) = cursor.key(&mut first).ok()? {
        let value = cursor.value().ok()?;
        if names.contains(&&json[name]) {
            return canonical::decode_string(&json[value]);
        }
        inner.push(value);
    }
    let inner = inner.into_iter().filter(|_| depth < DEEP);
    inner
        .map(|value| &json[value])
        .find_map(|value| find(value, names, depth + 1))
}
