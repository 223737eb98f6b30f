//! The toy tokenizer: pieces of at most four bytes, each packed into one number, and digests of their sequences.

/// Tokens of a text.
pub fn count(text: &str) -> usize {
    pieces(text).count()
}

/// Text of exactly this many tokens, another one for another seed; no piece of it is white space.
pub fn text_of_tokens(tokens: usize, seed: u64) -> String {
    let mut text = String::with_capacity(tokens * 4);
    for i in 0..tokens {
        let word = chain(seed, u32::try_from(i).unwrap_or(u32::MAX));
        let letters = (0..4).map(|k| char::from(b'a' + ((word >> (8 * k)) % 26) as u8));
        text.extend(letters);
    }
    text
}

/// The tokens of a text.
pub(super) fn pieces(text: &str) -> impl Iterator<Item = u32> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (piece, tail) = rest.split_at(piece_length(rest));
        rest = tail;
        let mut bytes = [PADDING; 4];
        bytes[..piece.len()].copy_from_slice(piece.as_bytes());
        Some(u32::from_be_bytes(bytes))
    })
}

/// Digest of a token sequence that goes on from another one.
pub(super) fn chain(digest: u64, token: u32) -> u64 {
    let mut z = digest.rotate_left(23) ^ (u64::from(token)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Digest of a text.
pub(super) fn text_digest(seed: u64, text: &str) -> u64 {
    pieces(text).fold(seed, chain)
}

/// Pads short pieces: a byte that UTF-8 never uses.
const PADDING: u8 = 0xFE;

fn piece_length(text: &str) -> usize {
    let whole = |at: &usize| text.is_char_boundary(*at);
    (1..=text.len().min(4)).rev().find(whole).unwrap_or(text.len())
}
