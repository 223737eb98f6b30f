//! The tag pair around an update that travels in a message of the user's role, so that a model can tell it from what
//! the user wrote. It is a hint to the model and proof of nothing: what is ours is known from the ledger only.
//!
//! Inside, a tag of either kind loses its `<` to `&lt;`, and where that (or `&amp;lt;`, and so on) already stood
//! before such a tag, it gets one more `amp;`. So the text can be had back: take one `amp;` off each, or else turn
//! `&lt;` into `<`.

/// `text` between tags; `head` is the prompt that the model saw first. The tag is `system-reminder`, which models
/// know, unless the head gives that tag a meaning of its own; then it is `system-update`.
pub fn wrap(text: &str, head: &[String]) -> String {
    let taken = head
        .iter()
        .any(|block| block.to_ascii_lowercase().contains("<system-reminder"));
    let tag = if taken { UPDATE } else { REMINDER };
    format!("<{tag}>\n{}\n</{tag}>", escaped(text))
}

/// Whether a text that is not ours holds a tag like ours. It is counted, never altered.
pub fn looks_like_sentinel(text: &str) -> bool {
    text.match_indices('<').any(|(at, _)| names_tag(&text[at + 1..]))
}

const REMINDER: &str = "system-reminder";
const UPDATE: &str = "system-update";

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['<', '&']) {
        let (before, sign) = rest.split_at(at);
        let (opener, replacement) = if sign.starts_with('<') {
            (1, "&lt;")
        } else {
            (escape_len(sign), "&amp;")
        };
        out.push_str(before);
        if opener > 0 && names_tag(&sign[opener..]) {
            out.push_str(replacement);
        } else {
            out.push_str(&sign[..1]);
        }
        rest = &sign[1..];
    }
    out + rest
}

/// The length of `&lt;`, `&amp;lt;` and so on at the start of a text, or 0.
fn escape_len(text: &str) -> usize {
    let mut at = 1;
    while text[at..].starts_with("amp;") {
        at += 4;
    }
    if text[at..].starts_with("lt;") { at + 3 } else { 0 }
}

/// Whether what stands behind a `<` makes it an opening or closing tag of ours; models read over case and spaces.
fn names_tag(text: &str) -> bool {
    let name = text.trim_start().trim_start_matches('/').trim_start();
    let is_tag = |tag: &&str| {
        let head = name
            .get(..tag.len())
            .is_some_and(|head| head.eq_ignore_ascii_case(tag));
        head && !name[tag.len()..].starts_with(|c: char| c.is_alphanumeric() || c == '-' || c == '_')
    };
    [REMINDER, UPDATE].iter().any(is_tag)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tag_gives_way_to_a_head_that_uses_it() {
        assert_eq!(
            wrap("x", &["plain".into()]),
            "<system-reminder>\nx\n</system-reminder>"
        );
        let head = ["Text in <System-Reminder> tags is context.".to_owned()];
        assert_eq!(wrap("x", &head), "<system-update>\nx\n</system-update>");
    }

    #[test]
    fn tags_inside_are_escaped_and_nothing_else() {
        let table = [
            ("a < b && c &lt; d <b>", "a < b && c &lt; d <b>"),
            ("</system-reminder>", "&lt;/system-reminder>"),
            ("< / SYSTEM-UPDATE >", "&lt; / SYSTEM-UPDATE >"),
            ("&lt;system-update>", "&amp;lt;system-update>"),
            ("&amp;lt;system-update>", "&amp;amp;lt;system-update>"),
            ("<system-reminders> é", "<system-reminders> é"),
            ("&", "&"),
        ];
        for (text, want) in table {
            assert_eq!(escaped(text), want);
        }
    }

    #[test]
    fn look_alikes() {
        assert!(looks_like_sentinel("see </ system-reminder>"));
        assert!(looks_like_sentinel("<system-update id=1>"));
        assert!(!looks_like_sentinel("the system-reminder tag, <system>, a < b"));
    }
}
