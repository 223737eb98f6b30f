//! OpenTelemetry: spans and log records of calls of models, as OTLP/JSON (one document, or one a line as the collector's
//! file exporter writes) or one a line or document as SDKs print them.
//!
//! The prompt is in the attributes of the conventions for generative AI (v1.37 and later) or in the numbered ones that came
//! before them. Either is a model of its own: the body that was sent was not recorded, so one is put together from the parts, in
//! Anthropic's shape where the provider is Anthropic, else in chat's.

mod numbered;

use std::io::BufRead;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::attributes::Attributes;
use super::entry::{self, Reason, reason};
use super::messages;
use super::packed;
use super::splice::{quoted, text_of};
use super::values::{Values, starts_with_member};
use crate::audit::exchange::{Answer, Exchange, Skipped, Source};
use crate::wire::{format::Format, usage::Usage};

/// Operations that ask a model for an answer. Those of agents and workflows repeat what the calls inside them carry.
const CALLS: [&str; 4] = ["chat", "text_completion", "generate_content", "completion"];
/// The event that carries the prompt where spans do not.
const DETAILS: &str = "gen_ai.client.inference.operation.details";

/// Whether a file that starts so has spans or log records.
pub fn looks_like(first: &[u8]) -> bool {
    let first = packed::beginning(first);
    let holds = |name: &str| memchr::memmem::find(&first, name.as_bytes()).is_some();
    holds("\"resourceSpans\"")
        || holds("\"resourceLogs\"")
        || (holds("\"attributes\"") && (holds("\"span_id\"") || holds("\"spanId\"") || holds("\"gen_ai.")))
}

/// The exchanges of a file of spans.
pub fn read(
    file: Arc<str>,
    input: impl BufRead + Send + 'static,
) -> impl Iterator<Item = Result<Exchange, Skipped>> {
    let mut input = packed::unpack(input);
    let otlp = ["resourceSpans", "resourceLogs"]
        .iter()
        .any(|name| starts_with_member(&mut input, name));
    let path: &[&[&str]] = &[
        &["resourceSpans", "resourceLogs"],
        &["scopeSpans", "scopeLogs"],
        &["spans", "logRecords"],
    ];
    let spans = Values::new(input, if otlp { path } else { &[] });
    entry::exchanges(file, spans, |bytes: Vec<u8>, source: &Source| {
        read_span(&bytes, source)
    })
}

fn read_span(bytes: &[u8], source: &Source) -> Result<Vec<Exchange>, Reason> {
    let span: Span = serde_json::from_slice(bytes).map_err(|_| reason::MALFORMED)?;
    let attributes = span.attributes();
    let operation = attributes.text("gen_ai.operation.name");
    if operation.is_some_and(|operation| !CALLS.contains(&&*operation)) {
        return Err(reason::NOT_A_PROMPT);
    }
    let model = attributes.text("gen_ai.request.model");
    let provider = attributes
        .text("gen_ai.provider.name")
        .or_else(|| attributes.text("gen_ai.system"));
    let (body, answer, format) = match attributes.json("gen_ai.input.messages") {
        Some(messages) => parts(&attributes, &messages, model.as_deref(), provider.as_deref())?,
        None => numbered::read(&attributes, model.as_deref()).ok_or_else(|| {
            let call = attributes.json("gen_ai.request.model").is_some();
            if call {
                reason::NO_BODY
            } else {
                reason::NOT_A_PROMPT
            }
        })?,
    };
    let server = attributes.text("server.address");
    let host = server.as_deref().or(provider.as_deref().map(entry::upstream));
    let failed =
        attributes.text("error.type").is_some() || span.status.as_ref().is_some_and(Status::is_error);
    Ok(vec![Exchange {
        at_ms: span.start.and_then(time),
        host: host.map(str::to_owned),
        format: Some(format),
        model,
        answer: (!failed).then(|| Answer {
            ended_ms: span.end.and_then(time),
            usage: usage(&attributes),
            ..entry::answer(answer.unwrap_or_default().into())
        }),
        ..entry::exchange(source, body.into())
    }])
}

/// A body, the answer's body, and what shape they have.
type Shaped = (String, Option<String>, Format);

fn parts(
    attributes: &Attributes,
    messages: &str,
    model: Option<&str>,
    provider: Option<&str>,
) -> Result<Shaped, Reason> {
    let format = match provider {
        Some("anthropic") => Format::AnthropicMessages,
        _ => Format::OpenaiChat,
    };
    let system = attributes.json("gen_ai.system_instructions");
    let tools = attributes.json("gen_ai.tool.definitions");
    let model = model.map(quoted);
    let body = messages::body(
        format,
        model.as_deref(),
        system.as_deref(),
        tools.as_deref(),
        messages,
    );
    let answer = attributes.json("gen_ai.output.messages");
    let answer = answer.and_then(|answer| messages::answer(format, &answer));
    Ok((body.ok_or(reason::MALFORMED)?, answer, format))
}

/// A span, or a log record, by the names of OTLP or those that SDKs print.
#[derive(Deserialize)]
struct Span<'a> {
    #[serde(
        borrow,
        rename = "startTimeUnixNano",
        alias = "start_time",
        alias = "startTime",
        alias = "timeUnixNano",
        alias = "timestamp"
    )]
    start: Option<&'a RawValue>,
    #[serde(borrow, rename = "endTimeUnixNano", alias = "end_time", alias = "endTime")]
    end: Option<&'a RawValue>,
    #[serde(borrow)]
    attributes: Option<&'a RawValue>,
    #[serde(borrow, default)]
    events: Vec<Event<'a>>,
    #[serde(borrow)]
    status: Option<Status<'a>>,
}

#[derive(Deserialize)]
struct Event<'a> {
    #[serde(default)]
    name: String,
    #[serde(borrow)]
    attributes: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Status<'a> {
    #[serde(borrow, alias = "status_code")]
    code: Option<&'a RawValue>,
}

impl Span<'_> {
    /// Its own, and those of the event that carries the prompt.
    fn attributes(&self) -> Attributes {
        let details = self.events.iter().filter(|event| event.name == DETAILS);
        let mut all = Attributes::default();
        for attributes in self
            .attributes
            .into_iter()
            .chain(details.filter_map(|event| event.attributes))
        {
            all.add(attributes);
        }
        all
    }
}

impl Status<'_> {
    fn is_error(&self) -> bool {
        let code = self.code.map_or("", |code| code.get().trim_matches('"'));
        ["2", "STATUS_CODE_ERROR", "ERROR"].contains(&code)
    }
}

/// The total counts what the cache gave and took; libraries that leave it out are told by a part that is larger.
fn usage(attributes: &Attributes) -> Option<Usage> {
    let count = |names: &[&str]| attributes.count(names);
    let read = count(&[
        "gen_ai.usage.cache_read.input_tokens",
        "gen_ai.usage.cache_read_input_tokens",
    ]);
    let write = count(&[
        "gen_ai.usage.cache_creation.input_tokens",
        "gen_ai.usage.cache_creation_input_tokens",
    ]);
    let total = count(&["gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens"]);
    let cached = read.unwrap_or(0).saturating_add(write.unwrap_or(0));
    let usage = Usage {
        input_total: total.filter(|total| *total >= cached),
        cache_read: read,
        cache_write: write,
        output: count(&["gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens"]),
    };
    (usage != Usage::default()).then_some(usage)
}

/// Nanoseconds since the epoch, as a number or its digits; a date; seconds and nanoseconds.
fn time(value: &RawValue) -> Option<u64> {
    if let Ok([seconds, nanos]) = serde_json::from_str::<[u64; 2]>(value.get()) {
        return seconds.checked_mul(1000)?.checked_add(nanos / 1_000_000);
    }
    let text = text_of(value).unwrap_or_else(|| value.get().to_owned());
    match text.parse::<u64>() {
        Ok(nanos) => Some(nanos / 1_000_000),
        Err(_) => entry::time_of(&text),
    }
}
