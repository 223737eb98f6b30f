//! Thinking blocks that are bound to the prompt in front of them.
//!
//! A signature holds three keyed digests: of the prompt in front (markers, settings and other thinking left out), of the
//! signed thinking block before it, and of its own text. The second one allows what the vendor allows, removing a leading
//! run of thinking blocks, and nothing else. Gemini's signatures on parts are of the same make; they are bound to the call that
//! they stand on and to nothing in front.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::prompt::Kind;
use super::refusal::Refusal;
use super::render::Rendered;
use super::tokens::{chain, text_digest};

/// A thinking block that a request carries.
#[derive(Clone, Debug)]
pub(super) struct Site {
    /// Like `messages.1.content.0`.
    pub(super) path: String,
    /// Digest of the prompt in front of it.
    pub(super) binding: u64,
    pub(super) text: String,
    pub(super) signature: String,
}

/// The signature of new thinking behind this prompt.
pub(super) fn sign(rendered: &Rendered, text: &str, seed: u64) -> String {
    let link = link(rendered.sites.last(), seed);
    let own = text_digest(seed, text);
    let seal = seal(rendered.binding, link, own, seed);
    format!(
        "{MINTED}{:016x}{link:016x}{own:016x}{seal:016x}",
        rendered.binding
    )
}

/// What a signature on a part holds: a call's name and arguments, and of other parts nothing.
pub(super) fn signed_text(kind: &Kind) -> String {
    match kind {
        Kind::ToolUse { name, input, .. } => format!("{name}\n{input}"),
        _ => String::new(),
    }
}

/// Checks every block in turn: bound to another prompt, altered, or not from here.
pub(super) fn check(sites: &[Site], seed: u64, binds: bool, accept_foreign: bool) -> Result<(), Refusal> {
    for (i, site) in sites.iter().enumerate() {
        let Some(signed) = Signed::parse(&site.signature, seed) else {
            if accept_foreign {
                continue;
            }
            return Err(invalid(&site.path, ""));
        };
        if signed.own != text_digest(seed, &site.text) {
            return Err(altered(&site.path));
        }
        let before = i.checked_sub(1).map(|before| &sites[before]);
        let linked = before.is_none() || signed.link == link(before, seed);
        if binds && (signed.binding != site.binding || !linked) {
            return Err(invalid(&site.path, ELSEWHERE));
        }
    }
    Ok(())
}

fn invalid(path: &str, why: &str) -> Refusal {
    Refusal::new(format!("{path}: Invalid `signature` in `thinking` block.{why}"))
}

fn altered(path: &str) -> Refusal {
    Refusal::new(format!(
        "{path}: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. \
         These blocks must remain as they were in the original response."
    ))
}

const ELSEWHERE: &str = " The block is bound to a different conversation. Remove the block, or set \
    `thinking.block_binding.prefix_mismatch_behavior` to \"drop_block\".";

/// `encrypted_content` of a reasoning item: signature and text in one.
pub(super) fn encrypt(signature: &str, text: &str) -> String {
    format!("{signature}.{}", STANDARD.encode(text))
}

/// Text and signature of an `encrypted_content`; what is not from here counts as text.
pub(super) fn decrypt(content: &str) -> (String, String) {
    let (signature, text) = content.split_once('.').unwrap_or((content, ""));
    let text = STANDARD.decode(text).ok();
    let text = text.and_then(|bytes| String::from_utf8(bytes).ok());
    let ours = text.filter(|_| signature.starts_with(MINTED));
    (ours.unwrap_or_else(|| content.to_owned()), signature.to_owned())
}

/// Paths of reasoning that was signed behind another prompt; what is not from here is bound to none.
///
/// # Errors
///
/// 400 for content that was altered, or, unless accepted, is not from here.
pub(super) fn strays(sites: &[Site], seed: u64, accept_foreign: bool) -> Result<Vec<String>, Refusal> {
    let mut strays = Vec::new();
    for site in sites {
        match Signed::parse(&site.signature, seed) {
            Some(signed) if signed.own != text_digest(seed, &site.text) => {
                return Err(unverified(&site.path));
            }
            Some(signed) if signed.binding != site.binding => strays.push(site.path.clone()),
            None if !accept_foreign => return Err(unverified(&site.path)),
            _ => {}
        }
    }
    Ok(strays)
}

fn unverified(path: &str) -> Refusal {
    let message = format!("The encrypted content of {path} could not be verified.");
    Refusal::new(message).code("invalid_encrypted_content")
}

/// Tells our signatures from those of other providers.
const MINTED: &str = "sim1";

fn link(before: Option<&Site>, seed: u64) -> u64 {
    before.map_or(0, |site| text_digest(seed, &site.signature))
}

fn seal(binding: u64, link: u64, own: u64, seed: u64) -> u64 {
    let words = [binding, link, own].into_iter();
    let halves = words.flat_map(|word| [word as u32, (word >> 32) as u32]);
    halves.fold(seed ^ u64::MAX, chain)
}

struct Signed {
    binding: u64,
    link: u64,
    own: u64,
}

impl Signed {
    fn parse(signature: &str, seed: u64) -> Option<Self> {
        let hex = signature.strip_prefix(MINTED)?;
        let word = |i: usize| u64::from_str_radix(hex.get(16 * i..16 * (i + 1))?, 16).ok();
        let (binding, link, own) = (word(0)?, word(1)?, word(2)?);
        let genuine = hex.len() == 64 && word(3)? == seal(binding, link, own, seed);
        genuine.then_some(Self { binding, link, own })
    }
}
