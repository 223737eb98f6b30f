//! Langfuse: generations as its API, its UI and its scheduled exports write them, as a JSON array or one a line
//! (langfuse.com, public API, `Observation`; "Blob Storage Export Field Reference").
//!
//! What the `input` of a generation is was the choice of whoever logged it. A body, a list of messages and a bare text are
//! understood; what stands beside them (model, parameters, tools) is put together with them.

use std::borrow::Cow;
use std::io::BufRead;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::entry::{self, Reason, reason};
use super::messages;
use super::packed;
use super::splice::{self, Members, Object, some, unquoted};
use super::values::{Values, starts_with_member};
use crate::audit::exchange::{Answer, Exchange, Skipped, Source};
use crate::wire::{format::Format, usage::Usage};

/// Whether a file that starts so has Langfuse's observations.
pub fn looks_like(first: &[u8]) -> bool {
    let first = packed::beginning(first);
    let holds = |name: &str| memchr::memmem::find(&first, name.as_bytes()).is_some();
    let own = [
        "\"GENERATION\"",
        "\"parentObservationId\"",
        "\"parent_observation_id\"",
        "\"usageDetails\"",
        "\"usage_details\"",
    ];
    (holds("\"traceId\"") || holds("\"trace_id\"")) && own.into_iter().any(holds)
}

/// The exchanges of an export.
pub fn read(
    file: Arc<str>,
    input: impl BufRead + Send + 'static,
) -> impl Iterator<Item = Result<Exchange, Skipped>> {
    let mut input = packed::unpack(input);
    let wrapped = ["data", "trace", "observations"]
        .iter()
        .any(|name| starts_with_member(&mut input, name));
    let records = Values::new(
        input,
        if wrapped {
            &[&["data", "observations"]]
        } else {
            &[]
        },
    );
    entry::exchanges(file, records, |bytes: Vec<u8>, source: &Source| {
        read_record(&bytes, source)
    })
}

fn read_record(bytes: &[u8], source: &Source) -> Result<Vec<Exchange>, Reason> {
    let record: Record = serde_json::from_slice(bytes).map_err(|_| reason::MALFORMED)?;
    if record.kind != "GENERATION" {
        return Err(reason::NOT_A_PROMPT);
    }
    let model = record
        .model
        .as_ref()
        .or(record.provided_model.as_ref())
        .filter(|model| !model.is_empty());
    let input = unquoted(some(record.input).ok_or(reason::NO_BODY)?);
    let (body, format) = record.body(model, &input)?;
    let answer = (record.level.as_deref() != Some("ERROR")).then(|| Answer {
        ended_ms: record.end.as_deref().and_then(entry::time_of),
        usage: record.usage.and_then(usage),
        ..entry::answer(
            record
                .output
                .and_then(|output| answer(output, format))
                .unwrap_or_default()
                .into(),
        )
    });
    Ok(vec![Exchange {
        at_ms: record.start.as_deref().and_then(entry::time_of),
        format: Some(format),
        model: model.cloned(),
        answer,
        ..entry::exchange(source, body.into())
    }])
}

/// An observation, by the names of the API or those of the scheduled export.
#[derive(Deserialize)]
struct Record<'a> {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(alias = "start_time", rename = "startTime")]
    start: Option<String>,
    #[serde(alias = "end_time", rename = "endTime")]
    end: Option<String>,
    model: Option<String>,
    #[serde(alias = "provided_model_name", rename = "providedModelName")]
    provided_model: Option<String>,
    level: Option<String>,
    #[serde(borrow)]
    input: Option<&'a RawValue>,
    #[serde(borrow)]
    output: Option<&'a RawValue>,
    #[serde(borrow, alias = "model_parameters", rename = "modelParameters")]
    parameters: Option<&'a RawValue>,
    #[serde(borrow, alias = "usage_details", rename = "usageDetails")]
    usage: Option<&'a RawValue>,
}

impl Record<'_> {
    fn body(&self, model: Option<&String>, input: &str) -> Result<(String, Format), Reason> {
        let model = model.map(|model| splice::quoted(model));
        let parameters = some(self.parameters).map(unquoted);
        let parameters = parameters
            .as_deref()
            .and_then(splice::members)
            .unwrap_or_default();
        let (inner, named) = if input.starts_with('{') {
            (splice::members(input).ok_or(reason::MALFORMED)?, None)
        } else {
            (Members::new(), Some(list_of_messages(input)))
        };
        if let Some(parts) = named.as_deref().filter(|_| input.contains("\"parts\"")) {
            let tools = parameters
                .iter()
                .find(|(name, _)| name == "tools")
                .map(|(_, tools)| tools.get());
            let format = Format::OpenaiChat;
            if let Some(body) = messages::body(format, model.as_deref(), None, tools, parts) {
                return Ok((body, format));
            }
        }
        let has = |wanted: &str| inner.iter().any(|(name, _)| name == wanted);
        let mut body = Object::default().put_some("model", model.filter(|_| !has("model")));
        let beside = parameters
            .iter()
            .filter(|(name, _)| !has(name) && name != "model" && name != "messages");
        for (name, value) in beside.chain(&inner) {
            body = body.put_named(name, value.get());
        }
        let body = body.put_some("messages", named).text();
        let format = splice::format_of(&body).ok_or(reason::NOT_A_PROMPT)?;
        Ok((body, format))
    }
}

/// A list is one of messages; a text is what the user says.
fn list_of_messages(input: &str) -> String {
    if input.starts_with('[') {
        return input.to_owned();
    }
    splice::list([Object::default()
        .put("role", "\"user\"")
        .put("content", input)
        .text()])
}

/// The answer in the shape of its format, where what was logged is a message, a list with one, or a text.
fn answer(output: &RawValue, format: Format) -> Option<String> {
    let output = unquoted(some(Some(output))?);
    let elements: Vec<&RawValue> = serde_json::from_str(&output).unwrap_or_default();
    let first = elements.first().map_or(&*output, |first| first.get());
    let has = |value: &str, wanted: &str| {
        splice::members(value).is_some_and(|members| members.iter().any(|(name, _)| name == wanted))
    };
    if has(first, "parts") {
        return messages::answer(format, &splice::list([first]));
    }
    let spoken = |content: &str| {
        Object::default()
            .put("role", "\"assistant\"")
            .put("content", content)
            .text()
    };
    let message = match () {
        () if has(first, "role") => Cow::Borrowed(first),
        () if output.starts_with('{') => return Some(output.into_owned()),
        () if format == Format::AnthropicMessages && !elements.is_empty() => Cow::Owned(spoken(&output)),
        () if first.starts_with('"') => Cow::Owned(spoken(first)),
        () => return None,
    };
    match format {
        Format::OpenaiChat => {
            let choice = Object::default().put("message", &message).text();
            Some(Object::default().put("choices", &splice::list([choice])).text())
        }
        Format::AnthropicMessages => Some(message.into_owned()),
        _ => None,
    }
}

/// Counts by Langfuse's names. What the cache gave or took has a count of its own, which `input` leaves out.
fn usage(details: &RawValue) -> Option<Usage> {
    let details = unquoted(details);
    let members = splice::members(&details)?;
    let count = |names: &[&str]| {
        let found = members.iter().find(|(name, _)| names.contains(&&**name));
        found.and_then(|(_, value)| value.get().trim_matches('"').parse::<u64>().ok())
    };
    let read = count(&[
        "input_cached_tokens",
        "cache_read_input_tokens",
        "input_cache_read",
        "input_cached",
    ]);
    let write = count(&[
        "cache_creation_input_tokens",
        "input_cache_creation",
        "input_cache_write",
    ]);
    let rest = count(&["input"]);
    Some(Usage {
        input_total: rest.and_then(|rest| {
            rest.checked_add(read.unwrap_or(0))?
                .checked_add(write.unwrap_or(0))
        }),
        cache_read: read,
        cache_write: write,
        output: count(&["output"]),
    })
}
