//! Freezing head blocks: the bytes without markers, where a marker may return, and the texts.

use bytes::Bytes;

use crate::prefix::digest::{Canonical, Digest, Wire};
use crate::prefix::item::{FrozenBlock, Head, HeadBlock, prompt_digest};

use super::canonical;
use super::envelope::{self, Content, Envelope};
use super::scan::Cursor;

/// A block of a head array: `{"type":"text","text":...}`.
pub fn block(src: &Bytes, envelope: &Envelope, cursor: &Cursor<'_>) -> HeadBlock {
    let texts = (envelope.word(cursor, b"type") == Some("text"))
        .then(|| envelope.text(cursor, b"text").map(|text| vec![text]))
        .flatten();
    element(src, envelope, texts, Marker::Inside)
}

/// A block that its only member names, `{"text":...}`; its marker is a block behind it.
pub fn named(src: &Bytes, envelope: &Envelope, cursor: &Cursor<'_>) -> HeadBlock {
    let text = envelope.only(cursor).filter(|(name, _)| *name == b"text");
    let texts = text
        .and_then(|(_, text)| canonical::decode_string(cursor.slice(&text)))
        .map(|text| vec![text]);
    element(src, envelope, texts, Marker::Behind)
}

fn element(src: &Bytes, envelope: &Envelope, texts: Option<Vec<String>>, marker: Marker) -> HeadBlock {
    let bytes = envelope::pieces(src, envelope.range.clone(), &envelope.cuts).concat();
    let mut normal = Vec::new();
    if canonical::write_envelope(src, envelope.range.clone(), &mut normal).is_err() {
        normal.clone_from(&bytes);
    }
    HeadBlock {
        range: envelope.range.clone(),
        frozen: frozen(
            bytes,
            &normal,
            texts,
            Place {
                string: None,
                marker,
                role: "",
                wire: None,
            },
        ),
    }
}

/// A head that is one bare string: the block that the string stands for.
pub fn string(src: &Bytes, token: std::ops::Range<usize>) -> HeadBlock {
    const OPEN: &[u8] = br#"{"type":"text","text":"#;
    let bytes = [OPEN, &src[token.clone()], b"}"].concat();
    let mut normal = Vec::new();
    if canonical::write_envelope(&bytes, 0..bytes.len(), &mut normal).is_err() {
        normal.clone_from(&bytes);
    }
    let texts = canonical::decode_string(&src[token.clone()]).map(|text| vec![text]);
    let string = Some(OPEN.len() as u32..(bytes.len() - 1) as u32);
    HeadBlock {
        range: token,
        frozen: frozen(
            bytes,
            &normal,
            texts,
            Place {
                string,
                marker: Marker::Inside,
                role: "",
                wire: None,
            },
        ),
    }
}

/// A head that is one value of whatever shape; `normal` is its normal form.
pub fn value(
    src: &Bytes,
    range: std::ops::Range<usize>,
    normal: &[u8],
    texts: Option<Vec<String>>,
) -> HeadBlock {
    let place = Place {
        string: None,
        marker: Marker::None,
        role: "",
        wire: None,
    };
    HeadBlock {
        frozen: frozen(src[range.clone()].to_vec(), normal, texts, place),
        range,
    }
}

/// A leading message: its role is kept in the bytes but is no part of its digests, since a role alone is no change.
pub fn message(src: &Bytes, envelope: &Envelope, cursor: &Cursor<'_>, role: &str) -> HeadBlock {
    let bytes = envelope::pieces(src, envelope.range.clone(), &envelope.cuts).concat();
    let wire = envelope.wire_pieces(src).concat();
    let mut normal = Vec::new();
    let content = envelope.get(cursor, b"content");
    if content.is_none_or(|content| canonical::write_content(src, content, &mut normal).is_err()) {
        normal.clone_from(&bytes);
    }
    // Offsets in the cut bytes.
    let offset = |at: usize| {
        let cut: usize = envelope
            .cuts
            .iter()
            .filter(|cut| cut.end <= at)
            .map(ExactSizeIterator::len)
            .sum();
        (at - envelope.range.start - cut) as u32
    };
    let string = match &envelope.content {
        Content::Text(token) => Some(offset(token.start)..offset(token.start) + token.len() as u32),
        _ => None,
    };
    let mut block = frozen(
        bytes,
        &normal,
        message_texts(src, envelope, cursor),
        Place {
            string,
            marker: Marker::None,
            role,
            wire: Some(&wire),
        },
    );
    if let Content::Blocks(_, blocks) = &envelope.content {
        block.marker_at = blocks.last().map(|last| offset(last.range.end - 1));
    }
    HeadBlock {
        range: envelope.range.clone(),
        frozen: block,
    }
}

fn message_texts(src: &Bytes, envelope: &Envelope, cursor: &Cursor<'_>) -> Option<Vec<String>> {
    let text = |block: &Envelope| {
        let kind = block.get(cursor, b"type")?;
        let is_text = canonical::TEXT_TYPES.contains(&cursor.slice(&kind));
        is_text.then(|| block.text(cursor, b"text"))?
    };
    match &envelope.content {
        Content::Text(token) => canonical::decode_string(&src[token.clone()]).map(|text| vec![text]),
        Content::Blocks(_, blocks) => blocks.iter().map(text).collect(),
        Content::Other => None,
    }
}

/// Sets the digest of a head whose blocks are complete.
pub fn seal(head: &mut Head) {
    head.digest = digest(head.blocks.iter().map(|block| &block.frozen));
    head.prompt = head.texts().map_or(head.digest, |texts| prompt_digest(&texts));
}

/// The digest of a head over its blocks.
pub fn digest<'a>(blocks: impl Iterator<Item = &'a FrozenBlock>) -> Digest {
    Digest::of_all("inkfast head v1", blocks.map(|block| &block.canonical.0))
}

struct Place<'a> {
    string: Option<std::ops::Range<u32>>,
    marker: Marker,
    role: &'a str,
    /// The bytes with a content that is one bare text block as its string, where that is another form.
    wire: Option<&'a [u8]>,
}

/// Where a marker returns.
#[derive(Clone, Copy)]
enum Marker {
    /// As the last member.
    Inside,
    /// As an element of its own.
    Behind,
    /// Nowhere, or where the caller says.
    None,
}

fn frozen(bytes: Vec<u8>, normal: &[u8], texts: Option<Vec<String>>, place: Place<'_>) -> FrozenBlock {
    FrozenBlock {
        marker_at: match place.marker {
            Marker::Inside => Some(bytes.len() as u32 - 1),
            Marker::Behind => Some(bytes.len() as u32),
            Marker::None => None,
        },
        string: place.string,
        texts,
        bytes_digest: Digest::of("inkfast head bytes v1", &bytes),
        wire: Wire(Digest::of("inkfast head wire v1", place.wire.unwrap_or(&bytes))),
        canonical: Canonical(Digest::of("inkfast head block v1", normal)),
        len: normal.len() as u32,
        role: place.role.to_owned(),
        bytes: Bytes::from(bytes),
    }
}
