//! Byte-range edits over the body as received, and the rope that they make.
//!
//! The edits are sorted and disjoint. Applying them copies nothing that is unchanged: the rope holds slices of
//! the body and the inserted bytes. Without edits the rope is the body itself.

use std::ops::Range;

use bytes::{Bytes, BytesMut};

/// One edit: `range` of the body is replaced by `insert`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// The bytes that go; empty for an insertion.
    pub range: Range<usize>,
    /// The bytes that come.
    pub insert: Bytes,
}

/// Sorted, disjoint edits. Insertions at one offset keep the order in which they were added.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Edits(Vec<Edit>);

/// A body in pieces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rope {
    /// The pieces in order; none is empty.
    pub pieces: Vec<Bytes>,
    /// The pieces' total length.
    pub len: usize,
}

/// Two edits want the same bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overlap;

impl Edits {
    /// Puts edits in order; an overlap is an error.
    pub fn new(mut edits: Vec<Edit>) -> Result<Self, Overlap> {
        edits.sort_by_key(|edit| (edit.range.start, edit.range.end));
        let disjoint = edits
            .windows(2)
            .all(|pair| pair[0].range.end <= pair[1].range.start);
        if disjoint { Ok(Self(edits)) } else { Err(Overlap) }
    }

    /// Whether nothing is edited.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The edits in order.
    pub fn iter(&self) -> std::slice::Iter<'_, Edit> {
        self.0.iter()
    }
}

/// Applies `edits` to `body`.
pub fn apply(body: &Bytes, edits: &Edits) -> Rope {
    let mut pieces = Vec::with_capacity(edits.0.len() * 2 + 1);
    let mut at = 0;
    for edit in &edits.0 {
        pieces.push(body.slice(at..edit.range.start));
        pieces.push(edit.insert.clone());
        at = edit.range.end;
    }
    pieces.push(body.slice(at..));
    pieces.retain(|piece| !piece.is_empty());
    let len = pieces.iter().map(Bytes::len).sum();
    Rope { pieces, len }
}

impl Rope {
    /// The whole as one contiguous buffer; the body itself where there is one piece.
    pub fn concat(&self) -> Bytes {
        if let [only] = self.pieces.as_slice() {
            return only.clone();
        }
        let mut out = BytesMut::with_capacity(self.len);
        self.pieces.iter().for_each(|piece| out.extend_from_slice(piece));
        out.freeze()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edit(range: Range<usize>, insert: &'static str) -> Edit {
        Edit {
            range,
            insert: Bytes::from_static(insert.as_bytes()),
        }
    }

    #[test]
    fn no_edit_is_the_same_buffer() {
        let body = Bytes::from_static(b"abc");
        let rope = apply(&body, &Edits::default());
        assert_eq!(rope.concat().as_ptr(), body.as_ptr());
    }

    #[test]
    fn edits_apply_in_order_of_place() {
        let body = Bytes::from_static(b"0123456789");
        let edits = Edits::new(vec![
            edit(8..9, "x"),
            edit(0..2, ""),
            edit(5..5, "a"),
            edit(5..5, "b"),
        ])
        .unwrap();
        assert_eq!(apply(&body, &edits).concat(), "234ab567x9");
    }

    #[test]
    fn overlaps_are_refused() {
        assert_eq!(Edits::new(vec![edit(0..3, ""), edit(2..4, "")]), Err(Overlap));
    }
}
