//! One request through the provider without a socket: decode, check, look up, answer, record.

use std::collections::VecDeque;
use std::time::Instant;

use bytes::Bytes;

use super::answer::{self, Reply};
use super::cache::{Cache, Lookup};
use super::decode::{arrange, decode};
use super::endpoint::hosted::Call;
use super::endpoint::{Endpoint, api_key, format_of, is_compact};
use super::explicit_cache::{Creation, Held};
use super::history::History;
use super::json::Json;
use super::memory::Memory;
use super::prompt::{Operator, Prompt};
use super::record::{Delivery, Reach, Recorded, Usage};
use super::refusal::Refusal;
use super::render::{Rendered, render};
use super::responses::Lane;
use super::rules::Places;
use super::script::{Answer, default_answer};
use super::server::Shared;
use super::tokens::{chain, text_digest};
use super::{Config, Format, rules, signing, thinking, validate};

/// Everything that changes while the provider runs.
#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) script: VecDeque<Answer>,
    pub(super) records: Vec<Recorded>,
    pub(super) arrivals: u64,
    cache: Cache,
    history: History,
    held: Held,
    pub(super) memory: Memory,
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
    /// Of a frame in WebSocket mode.
    pub(super) lane: Option<Lane>,
    /// Decided before it got here: a limit of the connection.
    pub(super) refusal: Option<Refusal>,
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
        self.record(incoming, outgoing.status, outcome, config);
        outgoing
    }

    /// Records what is not answered as a request of its own.
    pub(super) fn note(&mut self, incoming: Incoming, status: u16, config: &Config) {
        self.record(incoming, status, Outcome::default(), config);
    }

    fn record(&mut self, incoming: Incoming, status: u16, outcome: Outcome, config: &Config) {
        self.records.push(Recorded {
            number: incoming.number,
            arrived: incoming.arrived,
            at: config.clock.now(),
            method: incoming.method,
            target: incoming.target,
            headers: incoming.headers,
            body: incoming.body,
            status,
            usage: outcome.usage,
            reach: outcome.reach,
            operator: outcome.operator,
            delivery: Delivery::Sending,
        });
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
        if let Some(refusal) = &incoming.refusal {
            return Err(refusal.clone());
        }
        let call = match Endpoint::at(&incoming.method, &incoming.target)? {
            Endpoint::About(what) => return Ok(json_answer(&what)),
            Endpoint::CachedContents { parent } => return self.hold(incoming, parent.as_deref(), config),
            endpoint => match endpoint.call() {
                Some(call) => call,
                None => return Ok(json_answer(&models())),
            },
        };
        if let Some(key) = config.aws.as_ref().filter(|_| call.is_bedrock()) {
            signing::check(incoming, key)?;
        }
        self.chat(&call, incoming, config, outcome)
    }

    fn chat(
        &mut self,
        call: &Call,
        incoming: &Incoming,
        config: &Config,
        outcome: &mut Outcome,
    ) -> Result<Outgoing, Refusal> {
        let key = api_key(incoming);
        let mut prompt = decoded(call, incoming)?;
        self.accept(&mut prompt, Some(key), config)?;
        let rendered = check(&mut prompt, config)?;
        outcome.operator = Some(prompt.operator());
        if call.count_only {
            return Ok(json_answer(&answer::token_count(call, rendered.tokens.len())));
        }
        if prompt.only_loads() {
            return Ok(json_answer(&answer::loaded(&prompt.model)));
        }
        // Only now: a refused request must not use up an answer.
        let answer = self.next_answer(&prompt, &rendered, config);
        if answer.status() >= 400 {
            return Ok(scripted_error(answer, call.error_format()));
        }
        // An error above neither reads nor writes; from here on the prompt counts as processed.
        let scope = Scope::of(&prompt, key);
        outcome.reach = self
            .history
            .reach(incoming.number, scope.everywhere, rendered.lasting());
        let lookup = self.cache.look_up(scope.here, &prompt, &rendered, config);
        let usage = usage(&prompt, &rendered, &lookup, &answer, config);
        outcome.usage = answer.body.is_none().then_some(usage);
        prompt.responses.diagnostics = self.memory.compare(&prompt, &rendered, &lookup);
        let reply = Reply {
            call,
            prompt: &prompt,
            signature: thinking::sign(&rendered, &answer::signed(prompt.format, &answer), config.seed),
            answer: &answer,
            dialect: config.dialect,
            usage,
            number: incoming.number,
        };
        if call.format == Format::OpenAiResponses {
            self.memory.note(&reply, &rendered);
        }
        let encoded = answer::encode(&reply);
        Ok(outgoing(encoded, answer, lookup))
    }

    fn next_answer(&mut self, prompt: &Prompt, rendered: &Rendered, config: &Config) -> Answer {
        if prompt.responses.body.is_silent() {
            return Answer::default();
        }
        let scripted = self.script.pop_front();
        scripted.unwrap_or_else(|| default_answer(prompt, rendered, config))
    }

    /// Creates an explicit cache of Gemini's.
    fn hold(
        &mut self,
        incoming: &Incoming,
        parent: Option<&str>,
        config: &Config,
    ) -> Result<Outgoing, Refusal> {
        let call = Call::plain(Format::Gemini, false);
        let body = plain(incoming)?;
        let prompt = decode(&call, body)?;
        let creation = Creation {
            parent,
            key: api_key(incoming),
            body: &Json::parse(body).map_err(|e| Refusal::new(e.to_string()))?,
            tokens: render(&prompt, config.seed).tokens.len(),
            minimum: config.minimum.unwrap_or(rules::gemini(&prompt.model).minimum),
            prompt,
        };
        let created = self.held.create(creation, config.clock.now())?;
        Ok(json_answer(&created))
    }

    /// Completes a prompt with what the server holds, checks it, and changes what this provider changes.
    fn accept(&self, prompt: &mut Prompt, key: Option<&str>, config: &Config) -> Result<(), Refusal> {
        self.held.lead(prompt, key, config.clock.now())?;
        if prompt.format == Format::OpenAiResponses {
            self.memory.resume(prompt)?;
            arrange(prompt);
        }
        if config.validate {
            validate::validate(prompt)?;
            validate::template(prompt, config.later_system)?;
        }
        prompt.settle(config.later_system);
        if config.strip_attribution {
            prompt.strip_attribution();
        }
        Ok(())
    }
}

fn plain(incoming: &Incoming) -> Result<&[u8], Refusal> {
    let body = incoming.plain.as_deref();
    body.ok_or_else(|| Refusal::new("The request body could not be decompressed"))
}

fn decoded(call: &Call, incoming: &Incoming) -> Result<Prompt, Refusal> {
    let mut prompt = decode(call, plain(incoming)?)?;
    prompt.responses.lane = incoming.lane.clone();
    prompt.responses.window = is_compact(incoming);
    // A frame asks for events without saying so.
    prompt.stream = (prompt.stream || incoming.lane.is_some()) && !prompt.responses.window;
    Ok(prompt)
}

/// The operator's text of a body as the model of this provider would see it; none if the body is refused.
pub(super) fn effective(call: &Call, body: &[u8], shared: &Shared) -> Option<Operator> {
    let mut prompt = decode(call, body).ok()?;
    shared.state().accept(&mut prompt, None, &shared.config).ok()?;
    Some(prompt.operator())
}

/// Renders, and checks that the thinking that came along still belongs here.
fn check(prompt: &mut Prompt, config: &Config) -> Result<Rendered, Refusal> {
    let rendered = render(prompt, config.seed);
    if prompt.format == Format::OpenAiResponses {
        return reasoned(prompt, rendered, config);
    }
    if config.validate {
        let binds = prompt.format.is_anthropics() && rules::claude(&prompt.model).binds_thinking;
        let foreign = config.accept_foreign_thinking;
        thinking::check(&rendered.sites, config.seed, binds, foreign).map_err(|refusal| {
            match prompt.format {
                Format::Gemini => Refusal::new("Thought signature is not valid."),
                _ => refusal,
            }
        })?;
    }
    Ok(rendered)
}

/// Leaves out the reasoning that no longer belongs here.
fn reasoned(prompt: &mut Prompt, rendered: Rendered, config: &Config) -> Result<Rendered, Refusal> {
    let accept_foreign = config.accept_foreign_thinking || !config.validate;
    let strays = thinking::strays(&rendered.sites, config.seed, accept_foreign)?;
    if strays.is_empty() || !rules::responses(&prompt.model).binds_reasoning {
        return Ok(rendered);
    }
    prompt.drop_reasoning(&strays);
    Ok(render(prompt, config.seed))
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
            Format::Gemini => 3,
            Format::BedrockConverse => 4,
            Format::Ollama => 5,
            Format::OpenAiResponses => 6,
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

fn usage(prompt: &Prompt, rendered: &Rendered, lookup: &Lookup, answer: &Answer, config: &Config) -> Usage {
    // What is cached without being asked is neither billed nor reported as written, before GPT-5.6.
    let habit = rules::habit(prompt.format, &prompt.model, config.dialect);
    let silent = matches!(habit.places, Places::Steps(_));
    Usage {
        total: rendered.tokens.len(),
        cached: lookup.read,
        written: if silent { 0 } else { lookup.written },
        written_1h: if silent { 0 } else { lookup.written_1h },
        output: answer::output_tokens(prompt.format, config.dialect, answer),
    }
}

fn outgoing((pieces, content_type): (Vec<Bytes>, &'static str), answer: Answer, lookup: Lookup) -> Outgoing {
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
    let mut headers = std::mem::replace(&mut outgoing.manner, answer).headers;
    // The script's own come last and win.
    headers.append(&mut outgoing.manner.headers);
    outgoing.manner.headers = headers;
    outgoing
}

fn refused(refusal: &Refusal, format: Format) -> Outgoing {
    Outgoing {
        status: refusal.status,
        manner: Answer {
            headers: refusal.headers(format),
            ..Answer::default()
        },
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
