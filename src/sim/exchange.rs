//! One request through the provider without a socket: decode, check, look up, answer, record.

use std::collections::VecDeque;
use std::time::Instant;

use bytes::Bytes;

use super::answer::{self, Reply};
use super::cache::{Cache, Lookup};
use super::decode::decode;
use super::endpoint::{Endpoint, api_key, format_of};
use super::history::History;
use super::prompt::{Operator, Prompt};
use super::record::{Delivery, Reach, Recorded, Usage};
use super::refusal::Refusal;
use super::render::{Rendered, render};
use super::script::{Answer, default_answer};
use super::tokens::{chain, text_digest};
use super::{Config, Format, rules, thinking, validate};

/// Everything that changes while the provider runs.
#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) script: VecDeque<Answer>,
    pub(super) records: Vec<Recorded>,
    pub(super) arrivals: u64,
    cache: Cache,
    history: History,
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
        let body = body.ok_or_else(|| Refusal::new("The request body could not be decompressed"))?;
        let prompt = accept(format, body, config)?;
        let rendered = check(&prompt, config)?;
        outcome.operator = Some(prompt.operator());
        if count_only {
            return Ok(json_answer(&answer::token_count(rendered.tokens.len())));
        }
        // Only now: a refused request must not use up an answer.
        let scripted = self.script.pop_front();
        let answer = scripted.unwrap_or_else(|| default_answer(&prompt, &rendered, config));
        if answer.status() >= 400 {
            return Ok(scripted_error(answer, format));
        }
        // An error above neither reads nor writes; from here on the prompt counts as processed.
        let scope = Scope::of(&prompt, api_key(incoming));
        outcome.reach = self
            .history
            .reach(incoming.number, scope.everywhere, &rendered.tokens);
        let now = config.clock.now();
        let lookup = self
            .cache
            .look_up(scope.here, &prompt, &rendered, config.minimum, now);
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
}

/// The operator's text of a body as the model of this provider would see it; none if the body is refused.
pub(super) fn effective(format: Format, body: &[u8], config: &Config) -> Option<Operator> {
    Some(accept(format, body, config).ok()?.operator())
}

fn accept(format: Format, body: &[u8], config: &Config) -> Result<Prompt, Refusal> {
    let mut prompt = decode(format, body)?;
    if config.validate {
        validate::validate(&prompt)?;
        validate::template(&prompt, config.later_system)?;
    }
    prompt.settle(config.later_system);
    if config.strip_attribution {
        prompt.strip_attribution();
    }
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

/// Digests of what keeps prompts apart.
struct Scope {
    /// Format, API key and model.
    everywhere: u64,
    /// And the machine that the routing key leads to.
    here: u64,
}

impl Scope {
    fn of(prompt: &Prompt, key: &str) -> Self {
        let format = match prompt.format {
            Format::OpenAiChat => 1,
            Format::AnthropicMessages => 2,
        };
        let with = |digest, part: &str| chain(text_digest(digest, part), 0);
        let everywhere = with(with(format, key), &prompt.model);
        let routing = prompt.cache.routing.as_deref().unwrap_or_default();
        Self {
            everywhere,
            here: with(everywhere, routing),
        }
    }
}

fn usage(prompt: &Prompt, rendered: &Rendered, lookup: &Lookup, answer: &Answer) -> Usage {
    // Before GPT-5.6 OpenAI bills and reports no writes.
    let silent = prompt.format == Format::OpenAiChat && !rules::gpt(&prompt.model).exact;
    Usage {
        total: rendered.tokens.len(),
        cached: lookup.read,
        written: if silent { 0 } else { lookup.written },
        written_1h: if silent { 0 } else { lookup.written_1h },
        output: answer::output_tokens(prompt.format, answer),
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
    outgoing.pieces = answer.body.clone().map_or(outgoing.pieces, |body| vec![body]);
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
