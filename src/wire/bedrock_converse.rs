//! Amazon Bedrock's Converse.
//!
//! Requests are not read yet: they pass through.

use bytes::Bytes;

use crate::prefix::item::Request;

use super::answer::Draft;
use super::body::Context;
use super::scan::Fault;
use super::{Call, Part, Shapes, Wire};

/// The format.
pub struct BedrockConverse;

/// Path endings; the first that fits wins.
const ENDINGS: &[(&str, Call)] = &[
    ("/converse", Call::Messages),
    ("/converse-stream", Call::Messages),
    ("/count-tokens", Call::CountTokens),
];

impl Wire for BedrockConverse {
    fn matches(&self, path: &str) -> Option<Call> {
        Call::by_ending(path, ENDINGS)
    }

    fn parse(
        &self,
        _body: &Bytes,
        _context: &Context<'_>,
        _known: Option<&Request>,
    ) -> Result<Request, Fault> {
        Err(Fault::Shape)
    }

    fn shapes(&self) -> &'static Shapes {
        &SHAPES
    }

    fn usage(&self, _draft: &mut Draft, _part: Part<'_>) {}

    fn is_last(&self, _chunk: &[u8]) -> bool {
        false
    }
}

const SHAPES: Shapes = Shapes {
    message: [r#"{"role":""#, r#"","content":[{"text":"#, "}]}"],
    block: [r#"{"text":"#, "}"],
};
