//! A request as the prefix algebra sees it: ordered items with digests and byte ranges, nothing of their text.
//!
//! Built by `wire::parse`, read by `keys`, `decide` and the verdicts. Ranges point into [`Request::body`].

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::digest::{Canonical, Chain, Digest, Wire};
use crate::prompt::{self, Sketch};

/// A chat request, cut into the items of its prefix.
#[derive(Clone, Debug)]
pub struct Request {
    /// The body as received, content encoding removed.
    pub body: Bytes,
    /// The model's name, if the body (or the path) has one.
    pub model: Option<String>,
    /// The other top-level members that the provider renders into the prefix, in body order.
    pub params: Vec<Param>,
    /// The declared tools.
    pub tools: Vec<Tool>,
    /// The operator text in front.
    pub head: Head,
    /// Everything behind the head: messages or content blocks.
    pub history: Vec<Item>,
    /// Running chain over `history`: `chains[i]` covers items `0..=i`.
    pub chains: Vec<Chain>,
    /// Where edits may be spliced.
    pub layout: Layout,
    /// Who the client says that it is.
    pub hints: Hints,
    /// The body carries thinking that is signed, so bound to what stands before it.
    pub signed_thinking: bool,
    /// The provider holds part of the prefix; nothing may be added.
    pub server_state: bool,
    /// The response that it goes on behind, by its id: the provider holds everything up to there.
    pub continues: Option<Digest>,
    /// How many of the history's items the provider holds: they are not in the body.
    pub held: usize,
    /// What the places of its items are called.
    pub names: Names,
    /// Longest lifetime among the explicit cache markers, in seconds; none without markers.
    pub marker_ttl: Option<u32>,
}

/// One element of the prefix.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    /// Its bytes in the body: the message, or the content block with the markers that are blocks behind it.
    pub range: Range<usize>,
    /// What stays of it wherever it goes.
    pub mark: Mark,
    /// Index of its message in the array that holds it.
    pub message: u32,
    /// Index of its content block; none where the message is the item.
    pub block: Option<u32>,
    /// How many tool calls it makes; as many results must follow.
    pub calls: u16,
    /// Digest of an assistant turn's text and call ids, comparable with the answer that was read from a response.
    /// Set on the first item of the last few assistant turns.
    pub answer: Option<AnswerMark>,
    /// The words of an item that such an answer may have answered.
    pub words: Option<Arc<Sketch>>,
}

/// What the ledger keeps of an item: no text.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Mark {
    /// Digest of the bytes, markers masked.
    pub wire: Wire,
    /// Digest of the normal form.
    pub canonical: Canonical,
    /// Length of the normal form in bytes.
    pub len: u32,
    /// Who speaks.
    pub role: Role,
    /// What it is.
    pub kind: Kind,
    /// Whether it opens a turn: false for the second and later blocks of one message, and for the second and later
    /// items of one answer where an answer is several messages.
    pub opens: bool,
}

/// Who speaks in an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Role {
    /// System or developer.
    Operator,
    /// The user, with anything that the client's harness says in the user's name.
    User,
    /// The model.
    Assistant,
    /// A tool's result in a message of its own.
    Tool,
}

/// What an item is, as far as placement and verdicts care.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kind {
    /// Text, images, documents: plain content.
    Content,
    /// The model asks for a tool; results must follow.
    ToolCall,
    /// A tool's result.
    ToolResult,
    /// Thinking or reasoning, bound to what follows it.
    Thinking,
    /// A tool that the provider ran itself ended here.
    ServerToolResult,
    /// What is left of older items that it replaced.
    Summary,
    /// Asks for a summary of all in front of it, and must stay the last item.
    Trigger,
    /// An answer that the provider holds, however many items it has.
    Held,
    /// The model asks for a tool, and no id makes the call its own: chance may repeat it.
    UnnamedCall,
}

impl Kind {
    /// Results must follow.
    pub fn is_call(self) -> bool {
        matches!(self, Self::ToolCall | Self::UnnamedCall)
    }
}

impl Mark {
    /// The kind of item that its id names.
    pub fn kind_name(&self) -> &'static str {
        match (self.role, self.kind) {
            (_, Kind::ToolCall | Kind::UnnamedCall) => "tool_call",
            (_, Kind::ToolResult | Kind::ServerToolResult) => "tool_result",
            (_, Kind::Thinking) => "thinking",
            (_, Kind::Summary) => "summary",
            (Role::Operator, _) => "operator",
            (Role::User, _) => "user",
            (Role::Assistant, _) => "assistant",
            (Role::Tool, _) => "tool",
        }
    }
}

/// A declared tool.
#[derive(Clone, Debug, PartialEq)]
pub struct Tool {
    /// Its bytes in the body.
    pub range: Range<usize>,
    /// Its name, for reports (client vocabulary, not prompt text).
    pub name: String,
    /// What the ledger keeps.
    pub mark: ToolMark,
}

/// What the ledger keeps of a tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolMark {
    /// Its name: verdicts name tools that are gone.
    pub name: String,
    /// Digest of the bytes, markers masked.
    pub wire: Wire,
    /// Digest of the normal form; schema keys as sent.
    pub canonical: Canonical,
    /// Length of the normal form in bytes.
    pub len: u32,
}

/// The operator text in front, as received.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Head {
    /// Its blocks: entries of a system array, or leading messages.
    pub blocks: Vec<HeadBlock>,
    /// A leading block that the provider strips before processing: this request's own, in no digest.
    pub attribution: Option<Range<usize>>,
    /// Digest over the blocks' canonical digests.
    pub digest: Digest,
    /// Digest over the texts: two heads with one text in other blocks or roles share it.
    pub prompt: Digest,
    /// Cache markers on head blocks: ordinal of the block and the bytes of the marker, a member or a block behind it.
    pub markers: Vec<(u32, Range<usize>)>,
}

/// One block of the head.
#[derive(Clone, Debug, PartialEq)]
pub struct HeadBlock {
    /// The whole element in the body.
    pub range: Range<usize>,
    /// The element without its markers, as it would be frozen.
    pub frozen: FrozenBlock,
}

/// A head block as the ledger freezes it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FrozenBlock {
    /// The element's bytes, markers cut out.
    pub bytes: Bytes,
    /// Offset in `bytes` where a marker, a member or a block behind it, may be put in again (with a leading comma).
    pub marker_at: Option<u32>,
    /// Range in `bytes` of the text where the content is one bare string.
    pub string: Option<Range<u32>>,
    /// Decoded texts; none where something in it is no text.
    pub texts: Option<Vec<String>>,
    /// Digest of `bytes`: what the guard checks.
    pub bytes_digest: Digest,
    /// Digest of `bytes` with a content that is one bare text block as its string: what the verdicts compare.
    pub wire: Wire,
    /// Digest of the normal form.
    pub canonical: Canonical,
    /// Length of the normal form in bytes.
    pub len: u32,
    /// The role as written (`system`, `developer`); empty where the head is a member of its own.
    pub role: String,
}

/// A head as the ledger freezes it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FrozenHead {
    /// Its blocks in order.
    pub blocks: Vec<FrozenBlock>,
    /// Digest over the blocks' canonical digests.
    pub digest: Digest,
    /// Digest over the texts.
    pub prompt: Digest,
}

/// A top-level member that is no item.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Param {
    /// The member's name.
    pub name: String,
    /// Digest of its value.
    pub value: Digest,
}

/// Where edits may be spliced into the body.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Layout {
    /// Start of the body's top-level object behind its `{`.
    pub object: usize,
    /// The value of the member that holds the head, where the head is a member of its own.
    pub head_member: Option<Member>,
    /// Longest lifetime among the cache markers in that member, in seconds.
    pub head_ttl: Option<u32>,
    /// The array that holds the messages, brackets included.
    pub messages_array: Range<usize>,
    /// Every message, head messages included.
    pub messages: Vec<Message>,
    /// The array that holds the tools, brackets included.
    pub tools_array: Option<Range<usize>>,
    /// Longest lifetime among the cache markers of the tools, in seconds.
    pub tools_ttl: Option<u32>,
    /// The history is one bare string: nothing can stand beside it.
    pub bare: bool,
    /// The request asks for a cache marker on its last item that can carry one.
    pub automatic_marker: bool,
}

/// A top-level member.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    /// From the key's quote to the value's end.
    pub range: Range<usize>,
    /// The value alone.
    pub value: Range<usize>,
    /// Whether a comma stands before it (it is not the first member).
    pub follows: bool,
}

/// One message of the array.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    /// Its bytes.
    pub range: Range<usize>,
    /// Its content.
    pub content: Content,
    /// Its role.
    pub role: Role,
    /// Its history items (empty for head messages).
    pub items: Range<usize>,
    /// Longest lifetime among its cache markers, in seconds.
    pub marker_ttl: Option<u32>,
}

/// The content of a message.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// One string token, quotes included.
    Text(Range<usize>),
    /// An array, brackets included, and its elements.
    Blocks(Range<usize>, Vec<Range<usize>>),
    /// Null, missing, or something else.
    Other,
}

/// Digest of an answer: its text and its tool-call ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct AnswerMark {
    /// Over text and ids.
    pub digest: Digest,
    /// It carries a tool call's own id or at least 200 bytes of text, so that chance does not repeat it.
    pub strong: bool,
}

/// What the client says of itself: digests only. Hints narrow and order, they never prove.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hints {
    /// Session (header or body).
    pub session: Option<Digest>,
    /// Agent within the session.
    pub agent: Option<Digest>,
    /// End user (`user`, `safety_identifier`).
    pub user: Option<Digest>,
    /// Routing key: no identity.
    pub routing: Option<Digest>,
}

/// What the wire format calls the places of items: `system`, `messages`, `content`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Names {
    /// The member that holds the head, or the part of it that does not open the history's array; none where all of it
    /// does.
    pub head: Option<&'static str>,
    /// How that member holds it.
    pub form: HeadForm,
    /// The array that holds the history.
    pub history: &'static str,
    /// The member of a message that holds its blocks, where blocks are items.
    pub blocks: Option<&'static str>,
}

/// How a member of its own holds the head.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HeadForm {
    /// As an array of blocks, or as the string that one block stands for.
    #[default]
    Blocks,
    /// As one value, which is the block.
    Value,
}

impl AnswerMark {
    /// From this many bytes on a text is no chance repetition.
    pub const STRONG_TEXT: usize = 200;

    /// The mark of an answer with this text and these tool-call ids; none for an answer that says nothing.
    pub fn of(text: &str, call_ids: &[impl AsRef<str>]) -> Option<Self> {
        if text.trim().is_empty() && call_ids.is_empty() {
            return None;
        }
        let mut hasher = super::digest::Hasher::new("inkfast answer v1");
        hasher.part(text.trim().as_bytes());
        for id in call_ids {
            hasher.part(id.as_ref().as_bytes());
        }
        // A call that has no id is known by its name and arguments, `name{...}`.
        let own = |id: &_| !AsRef::<str>::as_ref(id).ends_with('}');
        Some(Self {
            digest: hasher.finish(),
            strong: call_ids.iter().any(own) || text.len() >= Self::STRONG_TEXT,
        })
    }
}

/// The digest of a prompt: its blocks' texts in order, without what is no change.
pub fn prompt_digest(texts: &[String]) -> Digest {
    let mut hasher = super::digest::Hasher::new("inkfast prompt v1");
    for text in prompt::normal_blocks(texts) {
        hasher.part(text.as_bytes());
    }
    hasher.finish()
}

impl FrozenBlock {
    /// It opens the history's array as a message of its own, rather than standing in the head's member.
    pub fn is_message(&self) -> bool {
        !self.role.is_empty()
    }
}

impl FrozenHead {
    /// The texts of all blocks in order; none where a block holds something else.
    pub fn texts(&self) -> Option<Vec<String>> {
        self.blocks
            .iter()
            .map(|block| block.texts.clone())
            .collect::<Option<Vec<_>>>()
            .map(|texts| texts.concat())
    }
}

impl Head {
    /// The texts of all blocks in order; none where a block holds something else.
    pub fn texts(&self) -> Option<Vec<String>> {
        self.blocks
            .iter()
            .map(|block| block.frozen.texts.clone())
            .collect::<Option<Vec<_>>>()
            .map(|texts| texts.concat())
    }

    /// How many of its blocks are messages: those behind the blocks of its own member.
    pub fn messages(&self) -> usize {
        self.blocks
            .iter()
            .filter(|block| block.frozen.is_message())
            .count()
    }

    /// This head, frozen.
    pub fn freeze(&self) -> FrozenHead {
        FrozenHead {
            blocks: self.blocks.iter().map(|block| block.frozen.clone()).collect(),
            digest: self.digest,
            prompt: self.prompt,
        }
    }
}
