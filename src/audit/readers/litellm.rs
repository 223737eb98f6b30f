//! LiteLLM: what its callbacks log of a call (`StandardLoggingPayload`, alone or in the callback's arguments), and the
//! proxy's spend logs with stored prompts (docs.litellm.ai, "StandardLoggingPayload Specification"; litellm 1.110).
//!
//! The body is the best that the record has: the one that LiteLLM sent, else the one that its proxy was sent, else one put
//! together from the recorded parameters and messages. Of the last kind the order of the envelope's members is not known.

use std::borrow::Cow;
use std::io::BufRead;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::entry::{self, Reason, reason};
use super::packed;
use super::splice::{self, Object, some, text_of, unquoted};
use super::values::{Values, starts_with_member};
use crate::audit::exchange::{Answer, Exchange, Skipped, Source};
use crate::wire::{format::Format, usage::Counts};

/// Marks of content that LiteLLM left out.
const ABRIDGED: [&str; 2] = ["(litellm_truncated skipped ", "\"redacted-by-litellm\""];

/// Whether a file that starts so was written by LiteLLM.
pub fn looks_like(first: &[u8]) -> bool {
    let first = packed::beginning(first);
    let holds = |name: &[u8]| memchr::memmem::find(&first, name).is_some();
    let payload = [
        "\"response_cost\"",
        "\"model_map_information\"",
        "\"api_key\"",
        "\"proxy_server_request\"",
        "\"spend\"",
    ];
    holds(b"\"standard_logging_object\"")
        || holds(b"\"litellm_call_id\"")
        || (holds(b"\"call_type\"") && payload.into_iter().any(|name| holds(name.as_bytes())))
}

/// The exchanges of a log: lines, one array, or the answer of `/spend/logs/ui`.
pub fn read(
    file: Arc<str>,
    input: impl BufRead + Send + 'static,
) -> impl Iterator<Item = Result<Exchange, Skipped>> {
    let mut input = packed::unpack(input);
    let paged = starts_with_member(&mut input, "data");
    let records = Values::new(input, if paged { &[&["data"]] } else { &[] });
    entry::exchanges(file, records, |bytes: Vec<u8>, source: &Source| {
        read_record(&bytes, source)
    })
}

fn read_record(bytes: &[u8], source: &Source) -> Result<Vec<Exchange>, Reason> {
    let text = std::str::from_utf8(bytes).map_err(|_| reason::MALFORMED)?;
    let outer: Outer = serde_json::from_str(text).map_err(|_| reason::MALFORMED)?;
    let payload = outer.payload.map_or(text, RawValue::get);
    let payload: Payload = serde_json::from_str(payload).map_err(|_| reason::MALFORMED)?;
    let (body, format) = outer.raw().map_or_else(
        || payload.request(),
        |(body, _)| {
            let format = splice::format_of(&body).ok_or(reason::NOT_A_PROMPT)?;
            Ok((body, format))
        },
    )?;
    if ABRIDGED.iter().any(|mark| body.contains(mark)) {
        return Err(reason::ABRIDGED);
    }
    let base = outer
        .raw()
        .and_then(|(_, base)| base)
        .or_else(|| payload.api_base.clone());
    let address = base.as_deref().and_then(entry::address);
    let provider = payload
        .provider
        .as_deref()
        .map(entry::upstream)
        .filter(|name| !name.is_empty());
    Ok(vec![Exchange {
        at_ms: payload.start.and_then(time),
        host: address.map(|(host, _)| host).or(provider).map(str::to_owned),
        path: address
            .map(|(_, path)| path)
            .filter(|path| entry::takes_prompts(path))
            .map(str::to_owned),
        format: Some(format),
        model: payload
            .model
            .as_deref()
            .filter(|model| !model.is_empty())
            .map(str::to_owned),
        answer: payload.answer(format, &outer),
        ..entry::exchange(source, body.into_owned().into())
    }])
}

/// What a callback is given, where it was logged whole.
#[derive(Deserialize)]
struct Outer<'a> {
    #[serde(borrow, rename = "standard_logging_object")]
    payload: Option<&'a RawValue>,
    #[serde(borrow)]
    additional_args: Option<Arguments<'a>>,
    #[serde(borrow)]
    raw_request_typed_dict: Option<RawRequest<'a>>,
    #[serde(borrow)]
    original_response: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Arguments<'a> {
    #[serde(borrow)]
    complete_input_dict: Option<&'a RawValue>,
    api_base: Option<String>,
}

#[derive(Deserialize)]
struct RawRequest<'a> {
    #[serde(borrow)]
    raw_request_body: Option<&'a RawValue>,
    raw_request_api_base: Option<String>,
}

#[derive(Deserialize)]
struct Payload<'a> {
    call_type: Option<String>,
    model: Option<String>,
    #[serde(rename = "custom_llm_provider")]
    provider: Option<String>,
    api_base: Option<String>,
    status: Option<String>,
    #[serde(borrow, rename = "startTime")]
    start: Option<&'a RawValue>,
    #[serde(borrow, rename = "endTime")]
    end: Option<&'a RawValue>,
    #[serde(borrow)]
    messages: Option<&'a RawValue>,
    #[serde(borrow, rename = "model_parameters")]
    parameters: Option<&'a RawValue>,
    #[serde(borrow)]
    response: Option<&'a RawValue>,
    #[serde(borrow, rename = "proxy_server_request")]
    received: Option<&'a RawValue>,
    #[serde(rename = "error_information")]
    error: Option<Failure>,
}

#[derive(Deserialize)]
struct Failure {
    error_code: Option<String>,
}

impl<'a> Outer<'a> {
    /// The body that was sent, and the address.
    fn raw(&self) -> Option<(Cow<'a, str>, Option<String>)> {
        let arguments = self.additional_args.as_ref();
        let given =
            arguments.and_then(|arguments| Some((some(arguments.complete_input_dict)?, &arguments.api_base)));
        let request = self.raw_request_typed_dict.as_ref();
        let logged = || {
            request.and_then(|request| Some((some(request.raw_request_body)?, &request.raw_request_api_base)))
        };
        let (body, base) = given.or_else(logged)?;
        Some((unquoted(body), base.clone()))
    }
}

impl<'a> Payload<'a> {
    fn request(&self) -> Result<(Cow<'a, str>, Format), Reason> {
        let format = match self.call_type.as_deref().unwrap_or("completion") {
            "completion" | "acompletion" => Format::OpenaiChat,
            "anthropic_messages" | "aanthropic_messages" => Format::AnthropicMessages,
            "responses" | "aresponses" => Format::OpenaiResponses,
            _ => return Err(reason::NOT_A_PROMPT),
        };
        let body = match self.received() {
            Some(body) => body,
            None => Cow::Owned(self.spliced(format)?),
        };
        Ok((body, format))
    }

    /// The body that the proxy was sent: the value itself, or its member `body`.
    fn received(&self) -> Option<Cow<'a, str>> {
        let received = unquoted(some(self.received)?);
        let body = {
            let members = splice::members(&received)?;
            let member = |wanted: &str| {
                members
                    .iter()
                    .find(|(name, _)| name == wanted)
                    .map(|(_, value)| *value)
            };
            if let Some(body) = some(member("body")) {
                Some(unquoted(body).into_owned())
            } else if member("messages").or(member("input")).is_none() {
                return None;
            } else {
                None
            }
        };
        Some(body.map_or(received, Cow::Owned))
    }

    fn spliced(&self, format: Format) -> Result<String, Reason> {
        let messages = unquoted(some(self.messages).ok_or(reason::NO_BODY)?);
        let model = self.model.as_deref().map(splice::quoted);
        let mut body = Object::default().put_some("model", model);
        let parameters = some(self.parameters).map(unquoted);
        let named = if format == Format::OpenaiResponses {
            "input"
        } else {
            "messages"
        };
        for (name, value) in parameters
            .as_deref()
            .and_then(splice::members)
            .unwrap_or_default()
        {
            if name != "model" && name != named {
                body = body.put_named(&name, value.get());
            }
        }
        let messages = match messages.starts_with('"') && named == "messages" {
            true => splice::list([Object::default()
                .put("role", "\"user\"")
                .put("content", &messages)
                .text()]),
            false => messages.into_owned(),
        };
        Ok(body.put(named, &messages).text())
    }

    /// The answer stands in the shape of LiteLLM's own API, whatever the provider's was; only the provider's own text of it
    /// fits a body of another format.
    fn answer(&self, format: Format, outer: &Outer<'_>) -> Option<Answer> {
        let ended_ms = self.end.and_then(time);
        if self.status.as_deref() == Some("failure") {
            let status = self
                .error
                .as_ref()
                .and_then(|error| error.error_code.as_deref()?.parse().ok());
            return status.map(|status| Answer {
                status: Some(status),
                ended_ms,
                ..Answer::default()
            });
        }
        let response = some(self.response).map(unquoted).unwrap_or_default();
        let members = splice::members(&response).unwrap_or_default();
        let member = |wanted: &str| {
            members
                .iter()
                .find(|(name, _)| name == wanted)
                .map(|(_, value)| *value)
        };
        let own = member("choices").is_none() || format == Format::OpenaiChat;
        let theirs = outer
            .original_response
            .and_then(text_of)
            .filter(|text| text.starts_with('{'));
        let mut counts = Counts::default();
        if let (false, Some(usage)) = (own, member("usage")) {
            counts.merge("usage", usage);
        }
        let body = if own {
            response.into_owned()
        } else {
            theirs.unwrap_or_default()
        };
        Some(Answer {
            ended_ms,
            usage: counts.usage(Format::OpenaiChat),
            ..entry::answer(body.into())
        })
    }
}

/// A time: seconds since the epoch, or a date as text.
fn time(value: &RawValue) -> Option<u64> {
    match text_of(value) {
        Some(text) => entry::time_of(&text),
        None => entry::time_of_seconds(value.get().parse().ok()?),
    }
}
