//! Reminders and context blocks inside a text: elements `<tag>...</tag>` that have lines of their own.

/// A text, taken apart.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Split {
    /// Its elements in order: tag and what stands inside.
    pub elements: Vec<(String, String)>,
    /// The text without them.
    pub rest: String,
}

/// Takes a text apart. What opens in the middle of a line, or does not close, is text.
pub fn split(text: &str) -> Split {
    let (mut split, mut at) = (Split::default(), 0);
    while let Some(found) = text[at..].find('<') {
        let start = at + found;
        let line = text[..start].rsplit('\n').next().unwrap_or_default();
        match element(&text[start..]).filter(|_| line.trim().is_empty()) {
            Some((tag, inner, length)) => {
                split.rest.push_str(&text[at..start]);
                split.elements.push((tag.to_owned(), inner.to_owned()));
                at = start + length;
            }
            None => {
                split.rest.push_str(&text[at..start + 1]);
                at = start + 1;
            }
        }
    }
    split.rest.push_str(&text[at..]);
    split
}

/// A text without the tags of its elements.
pub fn untagged(text: &str) -> String {
    let split = split(text);
    let inner = split.elements.iter().map(|(_, inner)| inner.as_str());
    let mut parts: Vec<&str> = inner.collect();
    if parts.is_empty() {
        return split.rest;
    }
    parts.push(&split.rest);
    parts.join("\n")
}

/// The element that opens a text: its tag, what stands inside, and its length with the tags.
fn element(text: &str) -> Option<(&str, &str, usize)> {
    let name = text.strip_prefix('<')?;
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_' || c == ':';
    let end = name.find(|c: char| !is_name(c))?;
    let tag = &name[..end];
    if !tag.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return None;
    }
    let open = 1 + end + text[1 + end..].find('>')?;
    let attributes = &text[1 + end..open];
    if !attributes.is_empty() && !attributes.starts_with(char::is_whitespace) || attributes.contains('<') {
        return None;
    }
    let close = format!("</{tag}>");
    let inner = &text[open + 1..];
    let length = inner.find(&close)?;
    Some((tag, &inner[..length], open + 1 + length + close.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_have_lines_of_their_own() {
        let found = split("<env a=\"1\">\nx\n</env>\nHello <b>you</b>\n <note>n</note>");
        let element = |tag: &str, inner: &str| (tag.to_owned(), inner.to_owned());
        assert_eq!(found.elements, [element("env", "\nx\n"), element("note", "n")]);
        assert_eq!(found.rest, "\nHello <b>you</b>\n ");
        for text in ["a < b", "<open>", "<1>x</1>", "<a<b>x</a>", "", "<", "é<é>"] {
            assert_eq!(split(text).rest, text);
        }
        assert_eq!(untagged("<r>\nnote\n</r>"), "\nnote\n\n");
        assert_eq!(untagged("plain"), "plain");
    }
}
