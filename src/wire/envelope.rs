//! One walk over an envelope (message, block, tool, call): its members, its cache marker, whether it is in
//! normal form, and the digests of both its forms.

use std::ops::Range;

use crate::prefix::digest::{Canonical, Digest, Hasher, Wire};

use super::canonical::{self, CALL, MARKERS, Member, Order, PLAIN, TEXT_TYPES};
use super::scan::{Cursor, Fault};

/// Envelopes nest this deep at most (message, block, block of a tool result); below, members are opaque.
const MAX_NESTING: usize = 6;

/// An object whose members have an order of their own.
#[derive(Clone, Debug)]
pub struct Envelope {
    /// Its bytes.
    pub range: Range<usize>,
    /// Its members but the marker: name (without quotes) and value.
    pub members: Vec<(Range<usize>, Range<usize>)>,
    /// What its `content` holds.
    pub content: Content,
    /// Its `tool_calls`.
    pub calls: Vec<Envelope>,
    /// Its own cache marker, from the name's quote to the end of the value.
    pub marker: Option<Range<usize>>,
    /// Bytes that are cut out of the wire form: markers, here and in nested envelopes, in order.
    pub cuts: Vec<Range<usize>>,
    /// Its wire form is its normal form.
    normal: bool,
}

/// The `content` member of an envelope.
#[derive(Clone, Debug)]
pub enum Content {
    /// A string token.
    Text(Range<usize>),
    /// An array of blocks.
    Blocks(Range<usize>, Vec<Envelope>),
    /// Null, missing or something else.
    Other,
}

/// Both digests of an item and the length of its normal form.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Digests {
    /// Of the bytes, markers masked.
    pub wire: Wire,
    /// Of the normal form.
    pub canonical: Canonical,
    /// Length of the normal form.
    pub len: u32,
}

impl Digests {
    /// Of an item that is nothing but its context.
    pub fn of_nothing(context: &[&[u8]]) -> Self {
        let digest = digest(context, &[]);
        Self {
            wire: Wire(digest),
            canonical: Canonical(digest),
            len: context.iter().skip(1).map(|part| part.len() as u32).sum(),
        }
    }
}

impl Envelope {
    /// Walks the object at the cursor.
    pub fn read(cursor: &mut Cursor<'_>) -> Result<Self, Fault> {
        Self::nested(cursor, 0, PLAIN)
    }

    /// The value of a member.
    pub fn get(&self, cursor: &Cursor<'_>, name: &[u8]) -> Option<Range<usize>> {
        self.members
            .iter()
            .find(|(key, _)| cursor.slice(key) == name)
            .map(|(_, value)| value.clone())
    }

    /// The text of a member that is a string without escapes; roles, types and ids are.
    pub fn word<'a>(&self, cursor: &Cursor<'a>, name: &[u8]) -> Option<&'a str> {
        let token = cursor.slice(&self.get(cursor, name)?);
        let word = token.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
        if word.contains(&b'\\') {
            None
        } else {
            std::str::from_utf8(word).ok()
        }
    }

    /// The decoded text of a member that is a string.
    pub fn text(&self, cursor: &Cursor<'_>, name: &[u8]) -> Option<String> {
        canonical::decode_string(cursor.slice(&self.get(cursor, name)?))
    }

    /// The markers of its blocks, and its own.
    pub fn markers(&self) -> impl Iterator<Item = Range<usize>> {
        let inner = match &self.content {
            Content::Blocks(_, blocks) => blocks.as_slice(),
            _ => &[],
        };
        let inner = inner.iter().filter_map(|block| block.marker.clone());
        inner.chain(self.marker.clone())
    }

    /// The value of its only member, with that member's name.
    pub fn only<'a>(&self, cursor: &Cursor<'a>) -> Option<(&'a [u8], Range<usize>)> {
        match self.members.as_slice() {
            [(name, value)] => Some((cursor.slice(name), value.clone())),
            _ => None,
        }
    }

    /// It is nothing but a marker of the place behind the block in front of it.
    pub fn is_marker(&self, cursor: &Cursor<'_>) -> bool {
        self.only(cursor)
            .is_some_and(|(name, _)| name == canonical::MARKER_BLOCK)
    }

    /// Digests of the envelope behind `context` (a role, or what else the item means beside its own bytes).
    pub fn digests(&self, src: &[u8], context: &[&[u8]], scratch: &mut Vec<u8>) -> Digests {
        let pieces = self.wire_pieces(src);
        let wire = digest(context, &pieces);
        let raw_len = pieces.iter().map(|piece| piece.len()).sum::<usize>();
        if self.normal {
            return Digests {
                wire: Wire(wire),
                canonical: Canonical(wire),
                len: raw_len as u32,
            };
        }
        scratch.clear();
        let (canonical, len) = match canonical::write_envelope(src, self.range.clone(), scratch) {
            Ok(()) => (digest(context, &[scratch]), scratch.len()),
            Err(canonical::Abnormal) => (wire, raw_len),
        };
        Digests {
            wire: Wire(wire),
            canonical: Canonical(canonical),
            len: len as u32,
        }
    }

    /// The wire form: the bytes without markers and without the type of a message, a content that is one bare text
    /// block as its string.
    pub fn wire_pieces<'s>(&self, src: &'s [u8]) -> Vec<&'s [u8]> {
        let longer;
        let cuts = match self.implied(src) {
            Some(implied) => {
                let within = |cut: &&Range<usize>| implied.start <= cut.start && cut.end <= implied.end;
                let mut cuts: Vec<_> = self.cuts.iter().filter(|cut| !within(cut)).cloned().collect();
                cuts.insert(cuts.partition_point(|cut| cut.start < implied.start), implied);
                longer = cuts;
                &longer
            }
            None => &self.cuts,
        };
        if let Some((array, text)) = self.sole_text(src) {
            let head = pieces(src, self.range.start..array.start, cuts);
            let tail = pieces(src, array.end..self.range.end, cuts);
            return [head, vec![&src[text]], tail].concat();
        }
        pieces(src, self.range.clone(), cuts)
    }

    /// The member that says what is so without it, with one of its commas.
    fn implied(&self, src: &[u8]) -> Option<Range<usize>> {
        let at = |range: &Range<usize>| &src[range.clone()];
        let is_implied = |(name, value): &(_, _)| canonical::is_implied(at(name), at(value));
        let index = self.members.iter().position(is_implied)?;
        let (name, value) = &self.members[index];
        match (self.members.get(index + 1), index.checked_sub(1)) {
            (Some((next, _)), _) => Some(name.start - 1..next.start - 1),
            (None, Some(before)) => Some(self.members[before].1.end..value.end),
            (None, None) => None,
        }
    }

    fn sole_text(&self, src: &[u8]) -> Option<(Range<usize>, Range<usize>)> {
        let Content::Blocks(array, blocks) = &self.content else {
            return None;
        };
        let [only] = blocks.as_slice() else { return None };
        let text = only.bare_text(src)?;
        Some((array.clone(), text))
    }

    /// The text token of a block that is nothing but a text (and its marker).
    fn bare_text(&self, src: &[u8]) -> Option<Range<usize>> {
        let [one, other] = self.members.as_slice() else {
            return None;
        };
        let (kind, text) = if &src[one.0.clone()] == b"type" {
            (one, other)
        } else {
            (other, one)
        };
        let bare = &src[kind.0.clone()] == b"type"
            && TEXT_TYPES.contains(&&src[kind.1.clone()])
            && &src[text.0.clone()] == b"text"
            && src[text.1.start] == b'"';
        bare.then(|| text.1.clone())
    }

    fn nested(cursor: &mut Cursor<'_>, nesting: usize, order: Order) -> Result<Self, Fault> {
        cursor.peek()?;
        let loose_before = std::mem::replace(&mut cursor.loose, false);
        let start = cursor.pos();
        let mut walk = Self {
            range: start..start,
            members: Vec::with_capacity(4),
            content: Content::Other,
            calls: Vec::new(),
            marker: None,
            cuts: Vec::new(),
            normal: true,
        };
        cursor.pass(b'{')?;
        let (mut first, mut previous_end) = (true, None);
        let mut last_rank: (usize, &[u8]) = (0, b"");
        let mut dangling: Option<usize> = None;
        while let Some(name) = cursor.key(&mut first)? {
            if let Some(from) = dangling.take() {
                walk.cuts.push(from..name.start - 1);
            }
            let rank = (order.rank(cursor.slice(&name)), cursor.slice(&name));
            let marker = MARKERS.contains(&rank.1);
            let value = walk.member(cursor, &name, nesting)?;
            if marker {
                walk.marker = Some(name.start - 1..value.end);
                match &mut previous_end {
                    // A marker behind this one is cut from its end on: cuts never overlap.
                    Some(end) => walk.cuts.push(std::mem::replace(end, value.end)..value.end),
                    None => dangling = Some(name.start - 1),
                }
                continue;
            }
            if nesting > 0 || !canonical::is_implied(rank.1, cursor.slice(&value)) {
                walk.normal &= rank > last_rank || walk.members.is_empty();
                last_rank = rank;
            }
            previous_end = Some(value.end);
            walk.members.push((name, value));
        }
        walk.range.end = cursor.pos();
        if let Some(from) = dangling {
            walk.cuts.push(from..walk.range.end - 1);
        }
        walk.check_duplicates(cursor)?;
        walk.normal &= !cursor.loose;
        cursor.loose |= loose_before;
        Ok(walk)
    }

    /// Reads the value of one member, looking into what has an order of its own.
    fn member(
        &mut self,
        cursor: &mut Cursor<'_>,
        name: &Range<usize>,
        nesting: usize,
    ) -> Result<Range<usize>, Fault> {
        let (start, next) = (cursor.pos(), cursor.peek()?);
        let deeper = nesting < MAX_NESTING;
        match (canonical::member(cursor.slice(name)), next) {
            (Member::Content, b'"') => {
                let token = cursor.string()?;
                self.content = Content::Text(token.clone());
                Ok(token)
            }
            (Member::Content, b'[') if deeper => {
                let blocks = self.children(cursor, nesting, PLAIN)?;
                self.content = Content::Blocks(start..cursor.pos(), blocks);
                Ok(start..cursor.pos())
            }
            (Member::Envelopes, b'[') if deeper => {
                self.calls = self.children(cursor, nesting, CALL)?;
                Ok(start..cursor.pos())
            }
            (Member::Envelope, b'{') if deeper => {
                let child = Self::nested(cursor, nesting + 1, PLAIN)?;
                self.adopt(&child);
                Ok(child.range)
            }
            (Member::Opaque, _) => cursor.value(),
            _ => {
                // An odd value where an envelope belongs: the writer decides on its normal form.
                self.normal = false;
                cursor.value()
            }
        }
    }

    fn children(
        &mut self,
        cursor: &mut Cursor<'_>,
        nesting: usize,
        order: Order,
    ) -> Result<Vec<Envelope>, Fault> {
        cursor.pass(b'[')?;
        let (mut first, mut children) = (true, Vec::new());
        while cursor.element(&mut first)? {
            if cursor.peek()? != b'{' {
                return Err(Fault::Shape);
            }
            let child = Self::nested(cursor, nesting + 1, order)?;
            self.adopt(&child);
            children.push(child);
        }
        Ok(children)
    }

    fn adopt(&mut self, child: &Envelope) {
        // The content of one block that is a text is its string; the wire form has that at the top only.
        let one_block = matches!(&child.content, Content::Blocks(_, blocks) if blocks.len() == 1);
        self.normal &= child.normal && !one_block;
        self.cuts.extend(child.cuts.iter().cloned());
    }

    fn check_duplicates(&self, cursor: &Cursor<'_>) -> Result<(), Fault> {
        const MATTER: [&[u8]; 3] = [b"role", b"content", b"type"];
        for name in MATTER {
            if self
                .members
                .iter()
                .filter(|(key, _)| cursor.slice(key) == name)
                .count()
                > 1
            {
                return Err(Fault::DuplicateKey);
            }
        }
        Ok(())
    }
}

/// Writes a member that says something of an item beside its bytes, in normal form.
pub fn write_extra(src: &[u8], name: &[u8], value: Range<usize>, out: &mut Vec<u8>) {
    out.extend_from_slice(name);
    out.push(b':');
    let before = out.len();
    if canonical::write_value(src, value.clone(), out).is_err() {
        out.truncate(before);
        out.extend_from_slice(&src[value]);
    }
}

/// The digest of an item: its context, then its bytes as one part.
pub fn digest(context: &[&[u8]], pieces: &[&[u8]]) -> Digest {
    let mut hasher = Hasher::new("inkfast item v1");
    for part in context {
        hasher.part(part);
    }
    hasher.pieces(pieces).finish()
}

/// The bytes of `range` without the `cuts` that lie in it.
pub fn pieces<'s>(src: &'s [u8], range: Range<usize>, cuts: &[Range<usize>]) -> Vec<&'s [u8]> {
    let mut out = Vec::with_capacity(cuts.len() + 1);
    let mut at = range.start;
    for cut in cuts
        .iter()
        .filter(|cut| cut.start >= range.start && cut.end <= range.end)
    {
        out.push(&src[at..cut.start]);
        at = cut.end;
    }
    out.push(&src[at..range.end]);
    out
}
