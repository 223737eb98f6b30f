//! One request through the provider without a socket: decode, check, look up, answer, record.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;

use super::answer::{self, Reply};
use super::cache::{Cache, Lookup};
use super::decode::decode;
use super::prompt::{Operator, Prompt};
use super::record::{Delivery, Reach, Recorded, Usage};
use super::refusal::Refusal;
use super::render::{Rendered, chain, render, text_digest};
use super::script::{Answer, default_answer};
use super::{Config, Format, rules, thinking, validate};

/// Earlier prompts per key and model that [`Reach`] looks at.
const REMEMBERED: usize = 256;

/// Everything that changes while the provider runs.
#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) script: VecDeque<Answer>,
    pub(super) records: Vec<Recorded>,
    pub(super) arrivals: u64,
    cache: Cache,
    sent: HashMap<u64, VecDeque<(u64, Arc<[u32]>)>>,
}

/// A request as it came off the wire.
#[derive(Debug)]
pub(super) struct Incoming {
    pub(super) number: u64,
    pub(super) arrived: Instant,
    pub(super) method: String,
    pub(super) target: String,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Bytes,
    /// The body with its content encoding removed; none if that failed.
    pub(super) plain: Option<Bytes>,
}

/// What goes back, and how.
#[derive(Debug, Default)]
pub(super) struct Outgoing {
    pub(super) status: u16,
    pub(super) content_type: &'static str,
    pub(super) pieces: Vec<Bytes>,
    /// Headers, delays and cuts.
    pub(super) manner: Answer,
    /// Committed as the answer begins.
    pub(super) lookup: Lookup,
}

/// What is recorded besides the request itself.
#[derive(Default)]
struct Outcome {
    usage: Option<Usage>,
    reach: Reach,
    operator: Option<Operator>,
}

impl State {
    /// Answers and records one request.
    pub(super) fn exchange(&mut self, incoming: Incoming, config: &Config) -> Outgoing {
        let mut outcome = Outcome::default();
        let outgoing = self
            .answer(&incoming, config, &mut outcome)
            .unwrap_or_else(|refusal| refused(&refusal, format_of(&incoming)));
        self.records.push(Recorded {
            number: incoming.number,
            arrived: incoming.arrived,
            at: config.clock.now(),
            method: incoming.method,
            target: incoming.target,
            headers: incoming.headers,
            body: incoming.body,
            status: outgoing.status,
            usage: outcome.usage,
            reach: outcome.reach,
            operator: outcome.operator,
            delivery: Delivery::Sending,
        });
        outgoing
    }

    /// Makes what an answer writes readable for later requests.
    pub(super) fn commit(&mut self, lookup: &Lookup, config: &Config) {
        self.cache.commit(lookup, config.clock.now());
    }

    fn answer(
        &mut self,
        incoming: &Incoming,
        config: &Config,
        outcome: &mut Outcome,
    ) -> Result<Outgoing, Refusal> {
        let endpoint = Endpoint::of(incoming)?;
        let Endpoint::Chat { format, count_only } = endpoint else {
            return Ok(json_answer(&models()));
        };
        let body = incoming.plain.as_deref();
        let body =
            body.ok_or_else(|| Refusal::new("The request body could not be decompressed"))?;
        let prompt = accept(format, body, config)?;
        let rendered = check(&prompt, config)?;
        outcome.operator = Some(prompt.operator());
        if count_only {
            return Ok(json_answer(&answer::token_count(rendered.tokens.len())));
        }
        let scripted = self.script.pop_front();
        let answer = scripted.unwrap_or_else(|| default_answer(&prompt, &rendered, config.seed));
        if answer.status() >= 400 {
            return Ok(scripted_error(answer, format));
        }
        let key = api_key(incoming);
        outcome.reach = self.reach(incoming.number, scope(&prompt, &key, None), &rendered);
        let scope = scope(&prompt, &key, prompt.cache.routing.as_deref());
        let now = config.clock.now();
        let lookup = self
            .cache
            .look_up(scope, &prompt, &rendered, config.minimum, now);
        let usage = usage(&prompt, &rendered, &lookup, &answer);
        outcome.usage = answer.body.is_none().then_some(usage);
        Ok(encoded(
            incoming.number,
            &prompt,
            &rendered,
            answer,
            usage,
            lookup,
            config.seed,
        ))
    }

    /// Compares with earlier prompts of this scope, then remembers this one.
    fn reach(&mut self, number: u64, scope: u64, rendered: &Rendered) -> Reach {
        let earlier = self.sent.entry(scope).or_default();
        let mut best = Reach::default();
        for (previous, tokens) in earlier.iter() {
            let pairs = tokens.iter().zip(&rendered.tokens);
            let common = pairs.take_while(|(a, b)| a == b).count();
            if common > 0 && common >= best.possible {
                best = Reach {
                    possible: common,
                    previous: Some(*previous),
                    previous_total: tokens.len(),
                };
            }
        }
        earlier.push_back((number, rendered.tokens.as_slice().into()));
        if earlier.len() > REMEMBERED {
            earlier.pop_front();
        }
        best
    }
}

/// The operator's text of a body as the model of this provider would see it; none if the body is refused.
pub(super) fn effective(format: Format, body: &[u8], config: &Config) -> Option<Operator> {
    Some(accept(format, body, config).ok()?.operator())
}

enum Endpoint {
    Chat { format: Format, count_only: bool },
    Models,
}

impl Endpoint {
    fn of(incoming: &Incoming) -> Result<Self, Refusal> {
        let path = path(incoming);
        let chat = |format, count_only| Ok(Self::Chat { format, count_only });
        match incoming.method.as_str() {
            "POST" if path.ends_with("/chat/completions") => chat(Format::OpenAiChat, false),
            "POST" if path.ends_with("/messages/count_tokens") => {
                chat(Format::AnthropicMessages, true)
            }
            "POST" if path.ends_with("/messages") => chat(Format::AnthropicMessages, false),
            "GET" | "HEAD" if path.ends_with("/models") || path == "/" => Ok(Self::Models),
            method => {
                let message = format!("Unknown request URL: {method} {path}");
                Err(Refusal::new(message).with_status(404).code("unknown_url"))
            }
        }
    }
}

fn path(incoming: &Incoming) -> &str {
    let end = incoming.target.find('?');
    &incoming.target[..end.unwrap_or(incoming.target.len())]
}

/// The format that an error is written in.
fn format_of(incoming: &Incoming) -> Format {
    let is_anthropic = |(name, _): &(String, String)| {
        name.eq_ignore_ascii_case("anthropic-version") || name.eq_ignore_ascii_case("x-api-key")
    };
    match path(incoming).contains("/messages") || incoming.headers.iter().any(is_anthropic) {
        true => Format::AnthropicMessages,
        false => Format::OpenAiChat,
    }
}

fn accept(format: Format, body: &[u8], config: &Config) -> Result<Prompt, Refusal> {
    let mut prompt = decode(format, body)?;
    if config.validate {
        validate::validate(&prompt)?;
        validate::template(&prompt, config.later_system)?;
    }
    prompt.settle(config.later_system);
    Ok(prompt)
}

/// Renders, and checks that the thinking that came along still belongs here.
fn check(prompt: &Prompt, config: &Config) -> Result<Rendered, Refusal> {
    let rendered = render(prompt, config.seed);
    if config.validate && prompt.format == Format::AnthropicMessages {
        let binds = rules::claude(&prompt.model).binds_thinking;
        thinking::check(
            &rendered.sites,
            config.seed,
            binds,
            config.accept_foreign_thinking,
        )?;
    }
    Ok(rendered)
}

fn api_key(incoming: &Incoming) -> String {
    let named = |name: &str| {
        let found = incoming
            .headers
            .iter()
            .find(|(n, _)| n.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.clone())
    };
    named("x-api-key")
        .or_else(|| named("authorization"))
        .unwrap_or_default()
}

fn scope(prompt: &Prompt, key: &str, routing: Option<&str>) -> u64 {
    let parts = [key, &prompt.model, routing.unwrap_or_default()];
    let start = match prompt.format {
        Format::OpenAiChat => 1,
        Format::AnthropicMessages => 2,
    };
    parts
        .iter()
        .fold(start, |digest, part| chain(text_digest(digest, part), 0))
}

fn usage(prompt: &Prompt, rendered: &Rendered, lookup: &Lookup, answer: &Answer) -> Usage {
    // Before GPT-5.6 OpenAI bills and reports no writes.
    let silent = prompt.format == Format::OpenAiChat && !rules::gpt(&prompt.model).exact;
    Usage {
        total: rendered.tokens.len(),
        cached: lookup.read,
        written: if silent { 0 } else { lookup.written },
        written_1h: if silent { 0 } else { lookup.written_1h },
        output: answer::output_tokens(answer),
    }
}

fn encoded(
    number: u64,
    prompt: &Prompt,
    rendered: &Rendered,
    answer: Answer,
    usage: Usage,
    lookup: Lookup,
    seed: u64,
) -> Outgoing {
    let thinking = answer.thinking.as_deref().unwrap_or_default();
    let (pieces, content_type) = answer::encode(&Reply {
        prompt,
        answer: &answer,
        signature: thinking::sign(rendered, thinking, seed),
        usage,
        number,
    });
    Outgoing {
        status: answer.status(),
        content_type,
        pieces: answer.body.clone().map_or(pieces, |body| vec![body]),
        manner: answer,
        lookup,
    }
}

fn scripted_error(answer: Answer, format: Format) -> Outgoing {
    let message = answer.text.clone().unwrap_or_else(|| "scripted".to_owned());
    let mut outgoing = refused(&Refusal::new(message).with_status(answer.status()), format);
    outgoing.pieces = answer
        .body
        .clone()
        .map_or(outgoing.pieces, |body| vec![body]);
    outgoing.manner = answer;
    outgoing
}

fn refused(refusal: &Refusal, format: Format) -> Outgoing {
    Outgoing {
        status: refusal.status,
        ..json_answer(&refusal.body(format))
    }
}

fn json_answer(body: &serde_json::Value) -> Outgoing {
    Outgoing {
        status: 200,
        content_type: "application/json",
        pieces: vec![Bytes::from(body.to_string())],
        ..Outgoing::default()
    }
}

fn models() -> serde_json::Value {
    serde_json::json!({"object": "list", "data": [], "has_more": false})
}
