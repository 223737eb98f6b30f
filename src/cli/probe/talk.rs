//! The conversation: a system prompt with a rule, a long text of the user's, a short question; and then the rule changes.
//!
//! The long text stands behind the system prompt: an update that ends up in the head takes the cache of all of it along,
//! which no rounding of a provider's counts can hide.

/// One request's conversation.
#[derive(Clone, Copy)]
pub struct Turn<'a> {
    /// The system prompt.
    pub system: &'a str,
    /// Role and text.
    pub messages: &'a [(&'static str, &'a str)],
    /// What it has of the tool.
    pub tool: Tool,
}

/// What a request has of the tool.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Tool {
    /// Nothing.
    None,
    /// The tool.
    Declared,
    /// The tool, and at the end a call of it with its result.
    Called,
}

impl Tool {
    /// Whether the model can call it.
    pub fn is_declared(self) -> bool {
        self != Self::None
    }

    /// The same without a call.
    pub fn declared(self) -> Self {
        match self {
            Self::None => Self::None,
            Self::Declared | Self::Called => Self::Declared,
        }
    }
}

/// The texts of one conversation.
pub struct Talk {
    /// The system prompt with the old rule.
    pub before: String,
    /// The system prompt with the new rule.
    pub after: String,
    /// What the user says first.
    pub first: String,
}

/// The codeword of the first rule.
pub const OLD: &str = "MARIGOLD";
/// The codeword of the rule that replaces it.
pub const NEW: &str = "KESTREL";
/// What the user asks at last.
pub const SECOND: &str = "Which is the first thing on the list? Answer in one short sentence.";

/// The name of the tool.
pub const TOOL: &str = "count_boxes";
/// The id of its call; nine letters and digits, as Mistral wants them.
pub const TOOL_ID: &str = "call00001";
/// What it answers.
pub const RESULT: &str = "There are three boxes on the middle shelf.";
/// What the user asks in front of its call.
pub const COUNT: &str = "How many boxes are on the middle shelf? Answer in one short sentence.";

/// English text has fewer bytes than this a token with every common tokenizer.
const BYTES_PER_TOKEN: usize = 5;

impl Talk {
    /// A conversation of at least `tokens` tokens that no other shares its beginning with: `name` is used for no other.
    pub fn new(name: &str, tokens: u32) -> Self {
        Self {
            before: system(name, OLD),
            after: system(name, NEW),
            first: first(tokens as usize * BYTES_PER_TOKEN),
        }
    }
}

fn system(name: &str, codeword: &str) -> String {
    format!(
        "Store {name}.\n\
         You help the keeper of a store room.\n\
         The keeper sends lists of what lies on the shelves and asks about them.\n\
         Answer from the lists alone, and say so when they do not tell.\n\
         Write plain sentences without headings or tables.\n\
         Name shelves and boxes by the words that the list uses.\n\
         Numbers are counts of boxes, never of single pieces.\n\
         Do not ask questions back.\n\
         End every answer with the codeword {codeword}.\n\
         The codeword stands alone behind the last sentence.\n\
         Keep answers under forty words."
    )
}

fn first(bytes: usize) -> String {
    let mut text = "This is the list of the store room.\n".to_owned();
    let mut lines = LINES.iter().cycle();
    let mut number = 0;
    while text.len() < bytes {
        number += 1;
        let (shelf, thing) = lines.next().unwrap_or(&LINES[0]);
        text.push_str(&format!(
            "Line {number}: the {shelf} shelf holds boxes of {thing}.\n"
        ));
    }
    text + "Say in one short sentence that you have read the list."
}

const LINES: [(&str, &str); 7] = [
    ("upper north", "copper washers and brass screws in mixed sizes"),
    ("lower east", "paper bags, string and labels without print"),
    ("middle", "lamp oil in tins, and wicks cut to one length"),
    ("upper south", "spare handles for brooms, rakes and spades"),
    ("lower west", "clay pots that were counted again in spring"),
    ("corner", "glass jars with lids, packed in dry straw"),
    ("long", "wool blankets, folded, each with a paper tag"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rule_is_all_that_changes() {
        let talk = Talk::new("a", 1100);
        assert_eq!(talk.before.replace(OLD, NEW), talk.after);
        assert_ne!(talk.before, talk.after);
        assert!(talk.first.len() > 1100 * BYTES_PER_TOKEN && !talk.first.contains(OLD));
        assert!(talk.before.len() * 5 < talk.first.len());
    }
}
