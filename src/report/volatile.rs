//! Spans of a head that keep changing.

/// One span, as the report shows it.
#[derive(Clone, Debug, PartialEq)]
pub struct VolatileSpan {
    /// The conversation that it was seen in.
    pub conversation: u64,
    /// What kind of text it is: `time`, `date`, `uuid`, `path`.
    pub kind: &'static str,
    /// The block of the head: `system[0]`.
    pub block: String,
    /// How often it changed.
    pub changes: u64,
    /// In how many requests it could have.
    pub requests: u64,
    /// What to do about it.
    pub advice: String,
}
