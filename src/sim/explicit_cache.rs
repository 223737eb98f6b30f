//! Gemini's explicit caches: content that a client puts on the server under a name, and prompts that begin with it.

use std::collections::HashMap;
use std::time::Duration;

use serde_json::{Value, json};

use super::json::Json;
use super::prompt::Prompt;
use super::refusal::Refusal;
use super::rules;

/// What clients created, by name.
#[derive(Debug, Default)]
pub(super) struct Held {
    contents: HashMap<String, Content>,
}

#[derive(Debug)]
struct Content {
    key: String,
    prompt: Prompt,
    tokens: usize,
    until: Duration,
}

/// A `cachedContents` request.
#[derive(Debug)]
pub(super) struct Creation<'a> {
    /// The collection's whole name on Vertex.
    pub(super) parent: Option<&'a str>,
    pub(super) key: &'a str,
    pub(super) body: &'a Json,
    pub(super) prompt: Prompt,
    /// Tokens of the prompt.
    pub(super) tokens: usize,
    /// Shortest content that is taken.
    pub(super) minimum: usize,
}

impl Held {
    /// # Errors
    ///
    /// A content that is too short.
    pub(super) fn create(&mut self, creation: Creation, now: Duration) -> Result<Value, Refusal> {
        let Creation { tokens, minimum, .. } = creation;
        if tokens < minimum {
            return Err(Refusal::new(format!(
                "Cached content is too small. total_token_count={tokens}, min_total_token_count={minimum}"
            )));
        }
        let number = self.contents.len();
        let name = format!("{}/sim{number:08x}", creation.parent.unwrap_or("cachedContents"));
        let model = creation.body.str("model").unwrap_or_default();
        let answer = json!({
            "name": name,
            "model": model,
            "displayName": creation.body.str("displayName"),
            "createTime": CREATED,
            "updateTime": CREATED,
            "usageMetadata": {"totalTokenCount": tokens},
        });
        let content = Content {
            key: creation.key.to_owned(),
            prompt: creation.prompt,
            tokens,
            until: now + lifetime(creation.body),
        };
        self.contents.insert(name, content);
        Ok(answer)
    }

    /// Puts the content that a prompt names in front of it. `key` is the caller's; none skips the check whose it is.
    ///
    /// # Errors
    ///
    /// No such content, content of another model, or a prompt that has a head of its own.
    pub(super) fn lead(&self, prompt: &mut Prompt, key: Option<&str>, now: Duration) -> Result<(), Refusal> {
        let Some(name) = &prompt.cache.content else {
            return Ok(());
        };
        if !(prompt.head.is_empty() && prompt.tools.is_empty() && prompt.settings.is_empty()) {
            return Err(Refusal::new(OWN_HEAD));
        }
        let content = self.contents.get(name);
        let content = content.filter(|c| now < c.until && key.is_none_or(|key| key == c.key));
        let Some(content) = content else {
            return Err(Refusal::new(UNKNOWN).with_status(403));
        };
        if content.prompt.model != prompt.model {
            return Err(Refusal::new(format!(
                "Model used by GenerateContent request (models/{}) and CachedContent (models/{}) has to be the same.",
                prompt.model, content.prompt.model
            )));
        }
        let own = std::mem::take(&mut prompt.turns);
        let front = content.prompt.clone();
        prompt.head = front.head;
        prompt.tools = front.tools;
        prompt.settings = front.settings;
        prompt.turns = front.turns.into_iter().chain(own).collect();
        prompt.cache.held = content.tokens;
        Ok(())
    }
}

/// Fixed, so that equal requests get equal bytes.
const CREATED: &str = "2026-11-30T00:00:00Z";
const UNKNOWN: &str = "CachedContent not found (or permission denied)";
const OWN_HEAD: &str = "CachedContent can not be used with GenerateContent request setting system_instruction, tools \
    or tool_config. Proposed fix: move those values to CachedContent from GenerateContent request.";

/// `ttl` like `300s`; an absolute `expireTime` counts as the default, because the provider's clock is not the wall clock.
fn lifetime(body: &Json) -> Duration {
    let seconds = body
        .str("ttl")
        .and_then(|ttl| ttl.strip_suffix('s')?.parse().ok());
    seconds
        .and_then(|s: f64| Duration::try_from_secs_f64(s).ok())
        .unwrap_or(rules::ONE_HOUR)
}
