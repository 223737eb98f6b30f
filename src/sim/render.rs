//! The prompt as tokens, in the provider's own order: settings, tools, head, turns (Anthropic and Converse: settings behind the head).
//!
//! The tokenizer is a toy that can be counted by hand. Text becomes pieces of at most four bytes of whole characters, a
//! new text starts a new piece, and structure adds single tokens:
//!
//! | what | tokens |
//! | --- | --- |
//! | a tool | 3 + name + description + schema, and 1 + key and value for each further field |
//! | the head of Anthropic, Converse and Gemini | 1 + its blocks |
//! | a message, or an item of Responses | 1 + its blocks (Anthropic and Converse: the 1 only where the role differs from the message before) |
//! | a text block, or a string | 1 + text |
//! | a tool call | 3 + id + name + input |
//! | a tool result | 2 + id + content |
//! | a thinking block | 1 + text |
//! | any other block or item | 1 + type + compact JSON without markers |
//! | an image | 3 |
//! | rendered settings, if there are any | 1 |
//!
//! From GPT-6.2 on the `instructions` of Responses come last. Markers, Gemini's signatures, and ids and states of items are
//! not rendered, an empty text adds nothing, and key order inside schemas and inputs counts.

use std::time::Duration;

use super::Format;
use super::prompt::{Block, Kind, Message, Prompt, Role, Tool};
use super::rules;
use super::thinking::{self, Site};
use super::tokens::{chain, pieces, text_digest};

/// A rendered prompt.
#[derive(Clone, Debug, Default)]
pub(super) struct Rendered {
    pub(super) tokens: Vec<u32>,
    /// The ends of tools and blocks, in order.
    pub(super) ends: Vec<End>,
    /// Thinking blocks that were sent along.
    pub(super) sites: Vec<Site>,
    /// What a thinking block behind this prompt is bound to.
    pub(super) binding: u64,
    /// Tokens at the end that hold for this request only: `instructions` behind the input.
    pub(super) passing: usize,
}

impl Rendered {
    /// The tokens that a later prompt can start with.
    pub(super) fn lasting(&self) -> &[u32] {
        &self.tokens[..self.tokens.len() - self.passing]
    }
}

/// The end of a tool or block: a place where a cache entry can be.
#[derive(Clone, Copy, Debug)]
pub(super) struct End {
    /// Tokens in front of it.
    pub(super) tokens: usize,
    /// Digest of these tokens.
    pub(super) digest: u64,
    pub(super) marker: Option<Duration>,
    /// The end of a message at which OpenAI writes by itself (GPT-5.6 and later).
    pub(super) eligible: bool,
    /// The block can carry a marker.
    pub(super) cacheable: bool,
}

pub(super) fn render(prompt: &Prompt, seed: u64) -> Rendered {
    let mut pen = Pen::new(seed);
    let anthropic = prompt.format.is_anthropics();
    if !anthropic {
        pen.settings(&prompt.settings);
    }
    prompt.tools.iter().for_each(|tool| pen.tool(tool));
    for (i, message) in prompt.head.iter().enumerate() {
        let last = i + 1 == prompt.head.len();
        pen.message(message, anthropic && i > 0, last);
    }
    if anthropic {
        pen.settings(&prompt.settings);
    }
    let forgotten = forgotten_turns(prompt);
    for (i, message) in prompt.turns.iter().enumerate() {
        let same = anthropic && i > 0 && prompt.turns[i - 1].role == message.role;
        pen.skip_thinking = i < forgotten;
        // An item of its own, forgotten as a whole.
        if pen.skip_thinking && !anthropic && message.is_thinking() {
            continue;
        }
        pen.message(message, same, is_eligible(&prompt.turns, i));
    }
    pen.behind(prompt.responses.behind.as_ref());
    pen.finish()
}

/// How many turns are in front of the last text of the user, on models that forget old thinking there.
fn forgotten_turns(prompt: &Prompt) -> usize {
    let keeps = match prompt.format {
        Format::OpenAiResponses => prompt.responses.recalls,
        format => !format.is_anthropics() || rules::claude(&prompt.model).keeps_thinking,
    };
    if keeps {
        return 0;
    }
    let speaks = |m: &Message| {
        let is_result = |b: &Block| matches!(b.kind, Kind::ToolResult { .. });
        m.role == Role::User && !m.blocks.iter().all(is_result)
    };
    prompt.turns.iter().rposition(speaks).unwrap_or(0)
}

/// User messages and the last tool response of a group.
fn is_eligible(turns: &[Message], index: usize) -> bool {
    match turns[index].role {
        Role::User => true,
        Role::Tool => turns.get(index + 1).is_none_or(|m| m.role != Role::Tool),
        _ => false,
    }
}

/// Bytes that UTF-8 never uses tell structure from text.
const STRUCTURE: u32 = 0xFF00_0000;
const SETTINGS: u32 = 0xFD00_0000;

struct Pen {
    out: Rendered,
    digest: u64,
    skip_thinking: bool,
}

impl Pen {
    fn new(seed: u64) -> Self {
        let out = Rendered {
            binding: seed,
            ..Rendered::default()
        };
        Self {
            out,
            digest: 0,
            skip_thinking: false,
        }
    }

    /// Not a part of any later prompt, so neither a place for the cache nor bound.
    fn behind(&mut self, message: Option<&Message>) {
        let Some(message) = message else { return };
        let (binding, start) = (self.out.binding, self.out.tokens.len());
        self.message(message, false, false);
        self.out.binding = binding;
        self.out.passing = self.out.tokens.len() - start;
    }

    fn finish(self) -> Rendered {
        self.out
    }

    fn put(&mut self, token: u32) {
        self.put_unbound(token);
        self.out.binding = chain(self.out.binding, token);
    }

    /// A token that thinking is not bound to.
    fn put_unbound(&mut self, token: u32) {
        self.out.tokens.push(token);
        self.digest = chain(self.digest, token);
    }

    fn mark(&mut self, what: u8) {
        self.put(STRUCTURE | u32::from(what));
    }

    fn text(&mut self, text: &str) {
        pieces(text).for_each(|piece| self.put(piece));
    }

    fn settings(&mut self, settings: &[String]) {
        // Thinking stays valid when tool choice or effort changes.
        if !settings.is_empty() {
            let digest = text_digest(0, &settings.join("\n"));
            self.put_unbound(SETTINGS | (digest as u32 & 0x00FF_FFFF));
        }
    }

    fn end(&mut self, marker: Option<Duration>, cacheable: bool) {
        self.out.ends.push(End {
            tokens: self.out.tokens.len(),
            digest: self.digest,
            marker,
            eligible: false,
            cacheable,
        });
    }

    fn tool(&mut self, tool: &Tool) {
        self.mark(b'T');
        self.text(&tool.name);
        self.mark(b'd');
        self.text(&tool.description);
        self.mark(b's');
        self.text(&tool.schema.compact());
        for (key, value) in &tool.extra {
            self.mark(b'x');
            self.text(key);
            self.text(&value.compact());
        }
        self.end(tool.marker, true);
    }

    fn message(&mut self, message: &Message, same_role: bool, eligible: bool) {
        let mut open = same_role;
        for block in &message.blocks {
            // Taken before the role is written: the model signs before its turn is part of any prompt.
            if let Kind::Thinking { text, signature } = &block.kind {
                self.site(block, text, signature);
            }
            if let Some(signature) = &block.signature {
                self.site(block, &thinking::signed_text(&block.kind), signature);
            }
            if self.skip_thinking && block.is_thinking() {
                continue;
            }
            if !std::mem::replace(&mut open, true) {
                self.speaker(message);
            }
            self.kind(&block.kind);
            self.end(block.marker, block.is_cacheable());
        }
        // A message without content still takes its turn.
        if !open {
            self.mark(role_mark(&message.role));
            self.end(None, false);
        }
        if let Some(end) = self.out.ends.last_mut() {
            end.eligible = eligible;
        }
    }

    fn speaker(&mut self, message: &Message) {
        let mark = role_mark(&message.role);
        match message.is_thinking() {
            // Of an item that is dropped with its thinking.
            true => self.put_unbound(STRUCTURE | u32::from(mark)),
            false => self.mark(mark),
        }
    }

    fn site(&mut self, block: &Block, text: &str, signature: &str) {
        self.out.sites.push(Site {
            path: block.path.clone(),
            binding: self.out.binding,
            text: text.to_owned(),
            signature: signature.to_owned(),
        });
    }

    fn kind(&mut self, kind: &Kind) {
        match kind {
            Kind::Text(text) if text.is_empty() => {}
            Kind::Text(text) => {
                self.mark(b't');
                self.text(text);
            }
            Kind::ToolUse { id, name, input } => {
                self.mark(b'c');
                self.text(id);
                self.mark(b'n');
                self.text(name);
                self.mark(b'i');
                self.text(input);
            }
            Kind::ToolResult { id, failed, content } => {
                self.mark(b'r');
                self.text(id);
                self.mark(if *failed { b'e' } else { b'o' });
                content.iter().for_each(|inner| self.kind(inner));
            }
            Kind::Thinking { text, .. } | Kind::Redacted(text) => {
                // Binding goes through the link between signatures, so that a leading run may be removed.
                self.put_unbound(STRUCTURE | u32::from(b'h'));
                pieces(text).for_each(|piece| self.put_unbound(piece));
            }
            Kind::Image(data) => {
                self.mark(b'p');
                let digest = text_digest(0, data);
                self.put(SETTINGS | (digest as u32 & 0x00FF_FFFF));
                self.put(SETTINGS | ((digest >> 32) as u32 & 0x00FF_FFFF));
            }
            Kind::Other { kind, json } => {
                self.mark(b'?');
                self.text(kind);
                self.text(json);
            }
        }
    }
}

fn role_mark(role: &Role) -> u8 {
    match role {
        Role::System => b'S',
        Role::Developer => b'D',
        Role::User => b'U',
        Role::Assistant => b'A',
        Role::Tool => b'R',
        Role::Function => b'F',
        Role::Item => b'I',
        Role::Unknown(_) => b'?',
    }
}
