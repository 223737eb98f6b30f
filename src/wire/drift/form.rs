//! Forms of an item that leave something out, so that two items can be equal but for that.

use std::ops::Range;

use crate::prefix::verdict::Cause;
use crate::wire::canonical::{self, Abnormal, MAX_DEPTH};
use crate::wire::scan::Cursor;

/// What a form leaves out of a JSON text in normal form.
#[derive(Clone, Copy)]
pub struct Form {
    /// The order of members.
    sorted: bool,
    /// What strings of text say.
    textless: bool,
    /// Members of these names.
    without: &'static [&'static [u8]],
    /// Elements of arrays that are images or documents.
    without_media: bool,
}

/// The ids of items, calls and results.
pub const IDS: &[&[u8]] = &[
    b"id",
    b"call_id",
    b"tool_call_id",
    b"tool_use_id",
    b"toolUseId",
    b"item_id",
    b"response_id",
];

/// What a model thought, and what proves it.
pub const REASONING: &[&[u8]] = &[
    b"reasoning_content",
    b"reasoning",
    b"reasoning_details",
    b"reasoning_text",
    b"thinking",
    b"thought",
    b"thoughtSignature",
    b"thought_signature",
    b"signature",
    b"encrypted_content",
];

/// Who speaks.
pub const ROLE: &[&[u8]] = &[b"role"];

/// Members whose strings are read by the model as text.
const TEXTS: [&[u8]; 9] = [
    b"text",
    b"content",
    b"output",
    b"result",
    b"refusal",
    b"summary",
    b"description",
    b"arguments",
    b"input",
];

/// The types of blocks that are no text, or the names of the members that hold such.
const MEDIA: [&[u8]; 14] = [
    b"image",
    b"image_url",
    b"input_image",
    b"document",
    b"file",
    b"input_file",
    b"input_audio",
    b"audio",
    b"video",
    b"inlineData",
    b"inline_data",
    b"fileData",
    b"file_data",
    b"image_file",
];

impl Form {
    /// Everything.
    pub const WHOLE: Self = Self {
        sorted: false,
        textless: false,
        without: &[],
        without_media: false,
    };
    /// Members in one order.
    pub const SORTED: Self = Self {
        sorted: true,
        ..Self::WHOLE
    };
    /// No text.
    pub const TEXTLESS: Self = Self {
        textless: true,
        ..Self::WHOLE
    };
    /// No images or documents.
    pub const MEDIALESS: Self = Self {
        without_media: true,
        ..Self::WHOLE
    };

    /// Without the members of these names.
    pub const fn without(names: &'static [&'static [u8]]) -> Self {
        Self {
            without: names,
            ..Self::WHOLE
        }
    }

    /// The form of a JSON text in normal form, with what was left out counted; none where it cannot be read.
    pub fn read(self, json: &[u8]) -> Option<Left> {
        let mut left = Left::default();
        let mut cursor = Cursor::new(json, 0);
        self.value(&mut cursor, json, b"", 0, &mut left).ok()?;
        Some(left)
    }

    /// The form alone.
    pub fn write(self, json: &[u8]) -> Option<Vec<u8>> {
        self.read(json).map(|left| left.json)
    }

    fn value(
        self,
        cursor: &mut Cursor<'_>,
        src: &[u8],
        name: &[u8],
        depth: usize,
        left: &mut Left,
    ) -> Result<(), Abnormal> {
        if depth > MAX_DEPTH {
            return Err(Abnormal);
        }
        match cursor.peek()? {
            b'{' => self.object(cursor, src, depth, left),
            b'[' => self.array(cursor, src, name, depth, left),
            b'"' => {
                let token = cursor.string()?;
                self.string(&src[token], name, left);
                Ok(())
            }
            _ => {
                let range = cursor.value()?;
                left.json.extend_from_slice(&src[range]);
                Ok(())
            }
        }
    }

    fn object(
        self,
        cursor: &mut Cursor<'_>,
        src: &[u8],
        depth: usize,
        left: &mut Left,
    ) -> Result<(), Abnormal> {
        cursor.pass(b'{')?;
        let (mut first, mut members) = (true, Vec::new());
        while let Some(name) = cursor.key(&mut first)? {
            let value = cursor.value()?;
            if self.without.contains(&&src[name.clone()]) {
                left.members += 1;
            } else {
                members.push((name, value));
            }
        }
        if self.sorted {
            members.sort_by_key(|(name, _)| &src[name.clone()]);
        }
        left.json.push(b'{');
        for (index, (name, value)) in members.into_iter().enumerate() {
            separate(index, &mut left.json);
            left.json.extend_from_slice(&src[name.start - 1..name.end + 1]);
            left.json.push(b':');
            let mut inner = Cursor::new(&src[..value.end], value.start);
            self.value(&mut inner, src, &src[name], depth + 1, left)?;
        }
        left.json.push(b'}');
        Ok(())
    }

    fn array(
        self,
        cursor: &mut Cursor<'_>,
        src: &[u8],
        name: &[u8],
        depth: usize,
        left: &mut Left,
    ) -> Result<(), Abnormal> {
        cursor.pass(b'[')?;
        left.json.push(b'[');
        let (mut first, mut written) = (true, 0);
        while cursor.element(&mut first)? {
            let element = cursor.value()?;
            if self.without_media && is_media(src, &element, name) {
                left.media += 1;
                continue;
            }
            separate(written, &mut left.json);
            written += 1;
            let mut inner = Cursor::new(&src[..element.end], element.start);
            self.value(&mut inner, src, name, depth + 1, left)?;
        }
        left.json.push(b']');
        Ok(())
    }

    fn string(self, token: &[u8], name: &[u8], left: &mut Left) {
        if name == b"name" {
            left.names.extend(canonical::decode_string(token));
        }
        if TEXTS.contains(&name) {
            left.texts.extend(canonical::decode_string(token));
            if self.textless {
                return left.json.extend_from_slice(b"\"\"");
            }
        }
        if self.sorted && name == b"arguments" {
            // A JSON text in a string: what is written in it is compared as what it says.
            let inner = canonical::decode_string(token).and_then(|text| self.inner(text.as_bytes()));
            if let Some(inner) = inner {
                return left.json.extend_from_slice(&inner);
            }
        }
        left.json.extend_from_slice(token);
    }

    fn inner(self, text: &[u8]) -> Option<Vec<u8>> {
        let mut normal = Vec::new();
        let mut cursor = Cursor::new(text, 0);
        let range = cursor.value().ok()?;
        cursor.end().ok()?;
        canonical::write_value(text, range, &mut normal).ok()?;
        self.write(&normal)
    }
}

/// What is left of an item in some form.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Left {
    /// Its JSON.
    pub json: Vec<u8>,
    /// Its texts.
    pub texts: Vec<String>,
    /// What members called `name` say.
    pub names: Vec<String>,
    /// How many members were left out.
    pub members: usize,
    /// How many images and documents were.
    pub media: usize,
}

/// Why two items that say the same in another order, or in arguments written otherwise, differ.
pub fn reordered(old: &[u8], new: &[u8]) -> Option<Cause> {
    if Form::SORTED.write(old)? != Form::SORTED.write(new)? {
        return None;
    }
    let [old_order, new_order] = [old, new].map(Names::of);
    if old_order? != new_order? {
        return Some(Cause::KeyOrder);
    }
    let tight = |json| {
        Form::WHOLE
            .read(json)
            .map(|left| left.texts.concat().split_whitespace().collect::<String>())
    };
    Some(if tight(old) == tight(new) {
        Cause::Whitespace
    } else {
        Cause::Reserialised
    })
}

/// The names of all members in their order, those in arguments included.
struct Names;

impl Names {
    fn of(json: &[u8]) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        Self::walk(&mut Cursor::new(json, 0), json, b"", 0, &mut out).ok()?;
        Some(out)
    }

    fn walk(
        cursor: &mut Cursor<'_>,
        src: &[u8],
        name: &[u8],
        depth: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), Abnormal> {
        if depth > MAX_DEPTH {
            return Err(Abnormal);
        }
        let mut first = true;
        match cursor.peek()? {
            b'{' => {
                cursor.pass(b'{')?;
                while let Some(name) = cursor.key(&mut first)? {
                    out.extend_from_slice(&src[name.clone()]);
                    out.push(b'"');
                    Self::walk(cursor, src, &src[name], depth + 1, out)?;
                }
            }
            b'[' => {
                cursor.pass(b'[')?;
                while cursor.element(&mut first)? {
                    Self::walk(cursor, src, name, depth + 1, out)?;
                }
            }
            _ => {
                let value = cursor.value()?;
                let inner = (name == b"arguments").then(|| canonical::decode_string(&src[value]));
                out.extend(
                    inner
                        .flatten()
                        .and_then(|text| Self::of(text.as_bytes()))
                        .unwrap_or_default(),
                );
            }
        }
        Ok(())
    }
}

/// The words of all texts of an item in normal form.
pub fn words_of(json: &[u8]) -> Option<Vec<String>> {
    let left = Form::WHOLE.read(json)?;
    Some(words(&left.texts))
}

/// The words of texts.
pub fn words(texts: &[String]) -> Vec<String> {
    let words = texts.iter().flat_map(|text| text.split_whitespace());
    words.map(str::to_owned).collect()
}

/// Whether an element of an array is an image or a document: by its type, by its only member, or by the array's name.
fn is_media(src: &[u8], element: &Range<usize>, array: &[u8]) -> bool {
    if array == b"images" {
        return true;
    }
    let mut cursor = Cursor::new(&src[..element.end], element.start);
    if !matches!(cursor.peek(), Ok(b'{')) || cursor.pass(b'{').is_err() {
        return false;
    }
    let mut first = true;
    while let Ok(Some(name)) = cursor.key(&mut first) {
        let Ok(value) = cursor.value() else { return false };
        let kind = src[value].trim_ascii();
        let kind = kind.strip_prefix(b"\"").and_then(|kind| kind.strip_suffix(b"\""));
        let by_type = &src[name.clone()] == b"type" && kind.is_some_and(|kind| MEDIA.contains(&kind));
        let by_name = MEDIA.contains(&&src[name]) && kind.is_none();
        if by_type || by_name {
            return true;
        }
    }
    false
}

/// Whether a whole item is one.
pub fn is_media_item(json: &[u8]) -> bool {
    is_media(json, &(0..json.len()), b"")
}

fn separate(index: usize, out: &mut Vec<u8>) {
    if index > 0 {
        out.push(b',');
    }
}

/// What members called `name` say.
pub fn names_of(json: &[u8]) -> Vec<String> {
    Form::WHOLE.read(json).map(|left| left.names).unwrap_or_default()
}
