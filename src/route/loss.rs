//! What a break lost: bytes, tokens, money, by the route's cache rules. Unknown stays unknown.

/// What was lost.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Loss {
    /// Bytes of the prefix, in normal form, that the cache held and could not serve any more.
    pub bytes: u64,
    /// As tokens, by the bytes per token that this very conversation was measured at.
    pub tokens: Option<u64>,
    /// What reading them again cost more than reading them from the cache, in units of the user's own base price for a
    /// million input tokens.
    pub cost: Option<f64>,
}
