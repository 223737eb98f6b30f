//! Keys that were in a prompt and are not any more: the old text should then leave the wire, too.
//!
//! Keys are known by their shape alone ([`SHAPES`], from the public descriptions of each issuer's tokens), so the
//! finding is a warning, and a secret without a shape is not found. What matched is never returned.

/// Whether a passage in the shape of a key stands in `old` and nowhere in `new`.
pub fn removes_secret(old: &[String], new: &[String]) -> bool {
    let kept = |key: &str| new.iter().any(|block| block.contains(key));
    old.iter().flat_map(|block| keys(block)).any(|key| !kept(key))
}

/// A key: a fixed start, then at least so many letters, digits and `signs`, one digit among them.
struct Shape {
    start: &'static str,
    least: usize,
    signs: &'static str,
}

const fn shape(start: &'static str, least: usize, signs: &'static str) -> Shape {
    Shape { start, least, signs }
}

const SHAPES: [Shape; 21] = [
    shape("sk-", 20, "-_"),        // OpenAI, Anthropic, OpenRouter and many that follow them
    shape("sk_live_", 16, ""),     // Stripe
    shape("rk_live_", 16, ""),     // Stripe, restricted
    shape("ghp_", 30, ""),         // GitHub, personal
    shape("gho_", 30, ""),         // GitHub, OAuth
    shape("ghu_", 30, ""),         // GitHub, user to server
    shape("ghs_", 30, ""),         // GitHub, server to server
    shape("github_pat_", 30, "_"), // GitHub, fine-grained
    shape("glpat-", 20, "-_"),     // GitLab
    shape("AKIA", 16, ""),         // AWS
    shape("ASIA", 16, ""),         // AWS, temporary
    shape("AIza", 35, "-_"),       // Google
    shape("ya29.", 20, "-_."),     // Google, OAuth
    shape("xoxb-", 20, "-"),       // Slack, bot
    shape("xoxp-", 20, "-"),       // Slack, user
    shape("xoxa-", 20, "-"),       // Slack, workspace
    shape("xoxs-", 20, "-"),       // Slack, session
    shape("xapp-", 20, "-"),       // Slack, app
    shape("hf_", 30, ""),          // Hugging Face
    shape("npm_", 30, ""),         // npm
    shape("Bearer ", 20, "-_.~+/="), // RFC 6750
];

/// Every key in a text, whole.
fn keys(text: &str) -> impl Iterator<Item = &str> {
    let shaped = SHAPES.iter().flat_map(|shape| {
        text.match_indices(shape.start)
            .filter_map(|(at, _)| shape.at(text, at))
    });
    shaped.chain(private_keys(text))
}

impl Shape {
    /// The key that starts at `at`, where `start` stands.
    fn at<'a>(&self, text: &'a str, at: usize) -> Option<&'a str> {
        let in_key = |c: char| c.is_ascii_alphanumeric() || self.signs.contains(c);
        let rest = &text[at + self.start.len()..];
        let rest = &rest[..rest.find(|c| !in_key(c)).unwrap_or(rest.len())];
        let inside_word = text[..at].ends_with(|c: char| c.is_alphanumeric());
        let long = rest.len() >= self.least && rest.contains(|c: char| c.is_ascii_digit());
        (long && !inside_word).then(|| &text[at..at + self.start.len() + rest.len()])
    }
}

/// PEM blocks (RFC 7468) whose label ends with `PRIVATE KEY`; one without an end goes to the end of the text.
fn private_keys(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices("-----BEGIN ").filter_map(move |(at, begin)| {
        let block = &text[at..];
        let label = &block[begin.len()..begin.len() + block[begin.len()..].find("-----")?];
        let end = block.find("-----END ").unwrap_or(block.len());
        label.ends_with("PRIVATE KEY").then(|| &block[..end])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn removed(old: &str, new: &str) -> bool {
        removes_secret(&[old.to_owned()], &[new.to_owned()])
    }

    #[test]
    fn every_shape_is_found() {
        for shape in &SHAPES {
            let key = format!("{}{}", shape.start, "1a".repeat(shape.least));
            assert!(removed(&format!("key=\"{key}\"."), "key="), "{}", shape.start);
            assert!(
                !removed(&format!("key={key}"), &format!("moved: {key}")),
                "{}",
                shape.start
            );
        }
        let pem = "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----";
        assert!(removed(pem, ""));
        assert!(!removed(pem, &format!("x\n{pem}")));
        assert!(removed("-----BEGIN PRIVATE KEY-----\nMI", ""));
    }

    #[test]
    fn other_text_is_none() {
        for text in [
            "a task-list-of-things-to-do-in-2026-or-later",
            "sk-short1",
            "sk-and-a-long-name-without-any-number",
            "Bearer authentication-is-used-by-the-service",
            "-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----",
            "-----BEGIN ",
            "AKIA",
        ] {
            assert!(!removed(text, ""), "{text}");
        }
    }

    #[test]
    fn a_changed_key_is_a_removed_one() {
        assert!(removed(
            "ghp_1111111111111111111111111111111111",
            "ghp_2222222222222222222222222222222222"
        ));
    }

    #[test]
    fn a_key_that_moved_to_another_block_stays() {
        let key = format!("AKIA{}", "1A".repeat(8));
        assert!(!removes_secret(&[key.clone(), "a".into()], &["a".into(), key]));
    }
}
