//! What the Responses API holds for its clients: stored responses, conversations, and the latest response of each lane of a
//! WebSocket connection.
//!
//! Ids are looked up without regard to the key that made them. A conversation comes into being with its first request.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::answer::Reply;
use super::answer::responses::{id, output};
use super::cache::Lookup;
use super::json::Json;
use super::prompt::Prompt;
use super::refusal::Refusal;
use super::render::Rendered;
use super::responses::{Lane, is_call, kind};

#[derive(Debug, Default)]
pub(super) struct Memory {
    /// Input and output of stored responses.
    responses: HashMap<String, Vec<Json>>,
    conversations: HashMap<String, Vec<Json>>,
    /// Stored items that have an id.
    items: HashMap<String, Json>,
    /// The latest response of a lane, stored or not.
    lanes: HashMap<Lane, (String, Vec<Json>)>,
    /// What diagnostics compare, of every response.
    compared: HashMap<String, Compared>,
    /// By the id of the response.
    active: HashMap<String, Active>,
    connections: u64,
}

#[derive(Debug)]
struct Compared {
    /// Reason of a miss, and the text that must be equal.
    features: Vec<(&'static str, String)>,
    tokens: Vec<u32>,
}

/// A response in WebSocket mode that is under way.
#[derive(Debug)]
struct Active {
    lane: Lane,
    /// Input that waits for its end.
    queued: Vec<Json>,
}

impl Memory {
    /// Puts what the server holds in front of the request's own items, and items in place of references.
    ///
    /// # Errors
    ///
    /// A response or item that is not held, or both kinds of state at once.
    pub(super) fn resume(&self, prompt: &mut Prompt) -> Result<(), Refusal> {
        let responses = &mut prompt.responses;
        let held = match (responses.body.previous(), responses.body.conversation()) {
            (Some(_), Some(_)) => return Err(exclusive()),
            (Some(previous), None) => {
                let connection = responses.lane.as_ref().map(|lane| lane.connection);
                let found = self.find(previous, connection);
                found.ok_or_else(|| unknown_response(previous))?.to_vec()
            }
            (None, Some(conversation)) => self.conversations.get(conversation).cloned().unwrap_or_default(),
            (None, None) => Vec::new(),
        };
        responses.held = held.len();
        let own = std::mem::take(&mut responses.items);
        let own = own.into_iter().map(|item| self.referenced(item));
        responses.items = held.into_iter().map(Ok).chain(own).collect::<Result<_, _>>()?;
        Ok(())
    }

    /// The items of a response that is stored, or the latest of a lane of this connection.
    fn find(&self, response: &str, connection: Option<u64>) -> Option<&[Json]> {
        let latest = self.lanes.iter().find_map(|(lane, (id, items))| {
            let near = Some(lane.connection) == connection && id == response;
            near.then_some(items)
        });
        latest.or_else(|| self.responses.get(response)).map(Vec::as_slice)
    }

    fn referenced(&self, item: Json) -> Result<Json, Refusal> {
        let id = item.str("id").unwrap_or_default();
        match kind(&item) {
            "item_reference" => self.items.get(id).cloned().ok_or_else(|| unknown_item(id)),
            // Sent without its content, it is a reference too.
            "reasoning" if item.some("encrypted_content").is_none() => {
                Ok(self.items.get(id).cloned().unwrap_or(item))
            }
            _ => Ok(item),
        }
    }

    /// Remembers a request and its answer, as far as the request allows.
    pub(super) fn note(&mut self, reply: &Reply, rendered: &Rendered) {
        let responses = &reply.prompt.responses;
        if responses.window {
            return;
        }
        let id = id(reply.number);
        let compared = Compared {
            features: features(reply.prompt),
            tokens: rendered.lasting().to_vec(),
        };
        self.compared.insert(id.clone(), compared);
        let answered: Vec<Json> = output(reply).iter().filter_map(json_of).collect();
        let stored = responses.body.is_stored();
        if stored {
            let named = answered.iter().chain(&responses.items);
            let named = named.filter_map(|item| Some((item.str("id")?.to_owned(), item.clone())));
            self.items.extend(named);
        }
        if let Some(conversation) = responses.body.conversation() {
            let items = self.conversations.entry(conversation.to_owned()).or_default();
            items.extend_from_slice(&responses.items[responses.held..]);
            items.extend_from_slice(&answered);
        }
        let earlier: Vec<Json> = match responses.is_triggered() {
            true => responses.users().cloned().collect(),
            false => responses.items.clone(),
        };
        let items: Vec<Json> = earlier.into_iter().chain(answered).collect();
        if let Some(lane) = &responses.lane {
            self.lanes.insert(lane.clone(), (id.clone(), items.clone()));
        }
        if stored {
            self.responses.insert(id, items);
        }
    }

    /// `prompt_cache_diagnostics`, if the request names a response to compare with.
    pub(super) fn compare(&self, prompt: &Prompt, rendered: &Rendered, lookup: &Lookup) -> Option<Value> {
        let comparison = prompt.responses.body.comparison()?;
        let Some(earlier) = self.compared.get(comparison) else {
            return Some(json!({"type": "comparison_response_not_found"}));
        };
        let tokens = rendered.lasting();
        let pairs = earlier.tokens.iter().zip(tokens);
        let common = pairs.take_while(|(a, b)| a == b).count();
        let now = features(prompt);
        let mut pairs = earlier.features.iter().zip(&now);
        let changed = pairs.find(|(before, now)| before.1 != now.1);
        let reason = match changed {
            Some((feature, _)) => feature.0,
            None if common < earlier.tokens.len() => "input_changed",
            None if lookup.read > 0 => return Some(json!({"type": "cache_hit"})),
            // Too short, expired, or not written yet: nothing that the requests tell.
            None => return Some(json!({"type": "unavailable"})),
        };
        Some(json!({
            "type": "cache_miss",
            "reason": reason,
            "cache_missed_tokens": tokens.len() - common,
            "comparison_reusable_tokens": common,
        }))
    }

    /// A response in WebSocket mode that takes more input until [`finish`](Self::finish).
    pub(super) fn begin(&mut self, response: &str, lane: Lane) {
        let queued = Vec::new();
        self.active.insert(response.to_owned(), Active { lane, queued });
    }

    /// Queues input behind a response under way on this connection, and says on which lane it is.
    ///
    /// # Errors
    ///
    /// The vendor's code: it has ended, or never was.
    pub(super) fn steer(
        &mut self,
        response: &str,
        connection: u64,
        input: Vec<Json>,
    ) -> Result<Lane, &'static str> {
        let active = self.active.get_mut(response);
        if let Some(active) = active.filter(|active| active.lane.connection == connection) {
            active.queued.extend(input);
            return Ok(active.lane.clone());
        }
        Err(match self.find(response, Some(connection)).is_some() {
            true => "response_already_completed",
            false => "response_not_found",
        })
    }

    /// The input that waited for the end of a response.
    pub(super) fn finish(&mut self, response: &str) -> Vec<Json> {
        let ended = self.active.remove(response);
        ended.map_or_else(Vec::new, |active| active.queued)
    }

    /// A response that waits for the client's tools.
    pub(super) fn ends_in_call(&self, response: &str, connection: u64) -> bool {
        let items = self.find(response, Some(connection)).unwrap_or_default();
        items.last().is_some_and(|item| is_call(kind(item)))
    }

    /// Number of a new connection.
    pub(super) fn connect(&mut self) -> u64 {
        self.connections += 1;
        self.connections
    }

    /// Forgets the lanes of a connection and what is under way there.
    pub(super) fn close(&mut self, connection: u64) {
        self.lanes.retain(|lane, _| lane.connection != connection);
        self.active
            .retain(|_, active| active.lane.connection != connection);
    }
}

/// In the order in which the vendor looks for a reason.
fn features(prompt: &Prompt) -> Vec<(&'static str, String)> {
    let body = &prompt.responses.body.0;
    let text = |path: &str| body.at(path).map(Json::compact).unwrap_or_default();
    let compactions = prompt.responses.items.iter().filter(|i| kind(i) == "compaction");
    vec![
        ("model_changed", prompt.model.clone()),
        ("prompt_cache_key_changed", text("prompt_cache_key")),
        ("service_tier_changed", text("service_tier")),
        ("tools_changed", text("tools")),
        ("text_format_changed", text("text.format")),
        ("reasoning_effort_changed", text("reasoning.effort")),
        ("verbosity_changed", text("text.verbosity")),
        ("context_compacted", compactions.count().to_string()),
    ]
}

fn json_of(value: &Value) -> Option<Json> {
    Json::parse(value.to_string().as_bytes()).ok()
}

fn exclusive() -> Refusal {
    let message = "Mutually exclusive parameters: only one of 'previous_response_id' and 'conversation' may be provided.";
    Refusal::new(message).code("mutually_exclusive_parameters")
}

fn unknown_response(id: &str) -> Refusal {
    Refusal::new(format!("Previous response with id '{id}' not found."))
        .param("previous_response_id")
        .code("previous_response_not_found")
}

fn unknown_item(id: &str) -> Refusal {
    Refusal::new(format!("Item with id '{id}' not found."))
        .with_status(404)
        .param("input")
}
