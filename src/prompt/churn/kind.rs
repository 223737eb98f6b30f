//! Kinds of text that changes in a head, what to do about each, and the shapes of lines by which they are told.

use super::super::volatile::VolatileKind;

/// What kind of text changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ChurnKind {
    /// A clock time.
    Clock,
    /// A date, a weekday or a month.
    Date,
    /// A UUID.
    Uuid,
    /// A decimal number.
    Counter,
    /// A random-looking token.
    Nonce,
    /// A path of files or folders, or a list of such.
    Path,
    /// What a repository says of itself: a branch, a commit, a list of changed files.
    Git,
    /// The same lines in another order.
    ListOrder,
    /// A list of things to do, with boxes.
    Todo,
    /// Anything else.
    Text,
}

impl ChurnKind {
    /// All kinds.
    pub const ALL: [Self; 10] = [
        Self::Clock,
        Self::Date,
        Self::Uuid,
        Self::Counter,
        Self::Nonce,
        Self::Path,
        Self::Git,
        Self::ListOrder,
        Self::Todo,
        Self::Text,
    ];

    /// As printed.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Clock => "clock",
            Self::Date => "date",
            Self::Uuid => "uuid",
            Self::Counter => "counter",
            Self::Nonce => "nonce",
            Self::Path => "path",
            Self::Git => "git",
            Self::ListOrder => "list_order",
            Self::Todo => "todo",
            Self::Text => "text",
        }
    }

    /// What a client's author can do about it, in one sentence.
    pub fn remedy(self) -> &'static str {
        match self {
            Self::Clock => "Say the time in the newest user message, or give the model a tool that tells it.",
            Self::Date => {
                "Take the date when the conversation starts and keep it; a new day can be a later message."
            }
            Self::Uuid => {
                "Draw the id once a conversation, or send it as a header or as metadata instead of text."
            }
            Self::Counter => {
                "Put the number into the newest message, or leave it out if the model has no use for it."
            }
            Self::Nonce => {
                "Take the random token out of the prompt; routing and tracing belong into headers."
            }
            Self::Path => {
                "Name the folder once at the start, and tell a change of place as a new message behind the history."
            }
            Self::Git => {
                "Take the state of the repository once, and let the model ask for it by a tool when it matters."
            }
            Self::ListOrder => {
                "Sort the list by something that stays, such as the name, before it is written."
            }
            Self::Todo => {
                "Keep the list out of the head: send its state as a tool result or in the newest message."
            }
            Self::Text => "Append the new wording as a later message instead of changing the head.",
        }
    }

    /// Changes of both kinds may be changes of one span.
    pub(super) fn may_be(self, other: Self) -> bool {
        let lists = [Self::Git, Self::Todo, Self::ListOrder];
        self == other || !(lists.contains(&self) || lists.contains(&other))
    }

    /// The kind of a span that was seen to change in both ways: a nonce may be all digits for once.
    pub(super) fn with(self, other: Self) -> Self {
        match (self, other) {
            (a, b) if a == b => a,
            (Self::Counter, Self::Nonce) | (Self::Nonce, Self::Counter) => Self::Nonce,
            _ => Self::Text,
        }
    }
}

impl From<VolatileKind> for ChurnKind {
    fn from(kind: VolatileKind) -> Self {
        match kind {
            VolatileKind::Time => Self::Clock,
            VolatileKind::Date => Self::Date,
            VolatileKind::Uuid => Self::Uuid,
            VolatileKind::Counter => Self::Counter,
            VolatileKind::Nonce => Self::Nonce,
        }
    }
}

/// The kind of list that a line is an entry of, by its own shape.
pub(super) fn list_of(line: &str) -> Option<ChurnKind> {
    if is_todo(line) {
        Some(ChurnKind::Todo)
    } else if is_status(line) || is_commit(line) {
        Some(ChurnKind::Git)
    } else {
        None
    }
}

/// The kind of a changed text on a line behind `front`; `texts` are what stood there and what stands there.
pub(super) fn of_text(front: &str, texts: [&str; 2]) -> ChurnKind {
    let said = front.to_lowercase();
    let git = ["branch", "commit", "head", "revision", "git sha"];
    let value = texts.iter().all(|text| text.split_whitespace().count() <= 1);
    if value && is_label(front) && git.iter().any(|word| said.contains(word)) {
        ChurnKind::Git
    } else if texts.iter().all(|text| is_path(text)) {
        ChurnKind::Path
    } else {
        ChurnKind::Text
    }
}

/// A short text that names what stands behind it.
fn is_label(front: &str) -> bool {
    let front = front.trim();
    let ends = [':', '=', '>', '(', '`', '"', '\''];
    front.len() <= 80 && (front.ends_with(ends) || front.split_whitespace().count() <= 3)
}

/// A file or folder: one word with a slash in it, no address.
pub(super) fn is_path(text: &str) -> bool {
    let text = text.trim().trim_start_matches(['-', '*', '+']).trim();
    let text = text.trim_matches(['`', '"', '\'']);
    let rooted = text.starts_with(['/', '~', '.']) || text.get(1..3) == Some(":\\");
    let one = rooted || !text.contains(' ');
    let slashes = text.contains('/') || text.contains('\\');
    !text.is_empty() && text.len() < 512 && one && slashes && !text.contains("://")
}

/// `- [ ] text`, `* [x] text`, `1. [-] text`, `☐ text`.
fn is_todo(line: &str) -> bool {
    let line = line.trim_start();
    let line = line.trim_start_matches(|c: char| c.is_ascii_digit() || "-*+.) ".contains(c));
    let mut signs = line.chars();
    match (signs.next(), signs.next(), signs.next()) {
        (Some('['), Some(mark), Some(']')) => " xX-~/✓>".contains(mark),
        (Some(first), ..) => "☐☑☒✅⬜✔".contains(first),
        _ => false,
    }
}

/// A line of a short status, ` M src/main.rs`, `?? notes.txt`, or of a long one, `modified:   src/main.rs`.
fn is_status(line: &str) -> bool {
    let bytes = line.as_bytes();
    let code = |byte: &u8| b" MADRCUT?!".contains(byte);
    let trimmed = line.trim_start();
    let long = ["modified:", "new file:", "deleted:", "renamed:", "both modified:"];
    if long.iter().any(|word| trimmed.starts_with(word)) {
        return true;
    }
    // Trimmed at the front, as some clients send it, one code is left.
    let width = match bytes {
        [a, b, b' ', c, ..] if code(a) && code(b) && (*a, *b) != (b' ', b' ') && *c != b' ' => 3,
        [a, b' ', c, ..] if code(a) && *a != b' ' && *c != b' ' => 2,
        _ => return false,
    };
    let name = &line[width..];
    let words = name.split_whitespace().count();
    name.contains(['.', '/']) && (words == 1 || name.contains(" -> ")) && !name.ends_with('.')
}

/// A line of a short log: a short digest and a subject.
fn is_commit(line: &str) -> bool {
    let line = line.trim_start().trim_start_matches(['-', '*']).trim_start();
    let Some((digest, subject)) = line.split_once(' ') else {
        return false;
    };
    let hex = digest
        .bytes()
        .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    let mixed = digest.bytes().any(|byte| byte.is_ascii_digit());
    hex && mixed && matches!(digest.len(), 7..=12 | 40) && !subject.trim().is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_of_lines() {
        for (line, want) in [
            (" M src/main.rs", Some(ChurnKind::Git)),
            ("M  src/main.rs", Some(ChurnKind::Git)),
            ("M src/main.rs", Some(ChurnKind::Git)),
            ("?? notes.txt", Some(ChurnKind::Git)),
            ("R  a.rs -> b.rs", Some(ChurnKind::Git)),
            ("\tmodified:   a.rs", Some(ChurnKind::Git)),
            ("1a2b3c4 Read the table once", Some(ChurnKind::Git)),
            ("A line of text that ends.", None),
            ("A file.", None),
            ("defaced things", None),
            ("- [ ] write it", Some(ChurnKind::Todo)),
            ("2. [x] read it", Some(ChurnKind::Todo)),
            ("☐ read it", Some(ChurnKind::Todo)),
            ("[link](to)", None),
            ("- plain", None),
            ("", None),
        ] {
            assert_eq!(list_of(line), want, "{line}");
        }
    }

    #[test]
    fn remedies_are_one_sentence_each() {
        for kind in ChurnKind::ALL {
            let text = kind.remedy();
            assert!(
                text.ends_with('.') && !text[..text.len() - 1].contains(". "),
                "{text}"
            );
        }
    }
}
