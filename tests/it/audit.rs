//! `inkfast audit` and its auditor: the verdicts of the live proxy, from a recording alone.

mod command;
mod lineages;
mod live;

use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use hyper::HeaderMap;
use inkfast::audit::{Answer, Auditor, Exchange, Observation, Options, Source, open};
use inkfast::config::Upstreams;
use inkfast::route::Table;
use inkfast::wire::format::Format;
use serde_json::json;

pub fn options() -> Options {
    Options::new(
        Table::built_in().unwrap(),
        Upstreams::new(Vec::new(), "openai").unwrap(),
    )
}

/// Everything at a path, judged; what is skipped is left out.
pub fn audit(path: &Path) -> Vec<Observation> {
    let mut auditor = Auditor::new(options());
    let files = open(path, &|file| Box::new(file)).unwrap();
    let exchanges = files.into_iter().flatten().filter_map(Result::ok);
    exchanges
        .filter_map(|exchange| auditor.see(exchange).ok())
        .collect()
}

/// A request of which nothing but the body and where it went is known.
pub fn request(host: &str, body: impl Into<Bytes>) -> Exchange {
    Exchange {
        source: Source {
            file: Arc::from("made"),
            number: 1,
        },
        at_ms: None,
        host: Some(host.to_owned()),
        path: None,
        format: None,
        model: None,
        headers: HeaderMap::new(),
        body: body.into(),
        sent: None,
        by_proxy: None,
        answer: None,
    }
}

/// The body of an answer that says this, in one of three formats.
pub fn answer_body(format: Format, text: &str, calls: &[String]) -> String {
    let body = match format {
        Format::AnthropicMessages => {
            let said = (!text.is_empty()).then(|| json!({"type": "text", "text": text}));
            let calls = calls
                .iter()
                .map(|id| json!({"type": "tool_use", "id": id, "name": "f", "input": {}}));
            let content: Vec<_> = said.into_iter().chain(calls).collect();
            json!({"type": "message", "role": "assistant", "content": content, "stop_reason": "end_turn"})
        }
        Format::OpenaiResponses => {
            let content = json!([{"type": "output_text", "text": text}]);
            let said = json!({"type": "message", "role": "assistant", "content": content});
            let said = (!text.is_empty()).then_some(said);
            let calls = calls
                .iter()
                .map(|id| json!({"type": "function_call", "call_id": id, "name": "f", "arguments": "{}"}));
            let output: Vec<_> = said.into_iter().chain(calls).collect();
            json!({"id": "resp_1", "object": "response", "status": "completed", "output": output})
        }
        _ => {
            let calls: Vec<_> = calls
                .iter()
                .map(|id| json!({"id": id, "type": "function", "function": {"name": "f", "arguments": "{}"}}))
                .collect();
            let mut message = json!({"role": "assistant", "content": text});
            if !calls.is_empty() {
                message["tool_calls"] = json!(calls);
            }
            json!({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})
        }
    };
    body.to_string()
}

/// The same with how it ended.
pub fn ended(exchange: Exchange, status: u16) -> Exchange {
    Exchange {
        answer: Some(Answer {
            status: Some(status),
            ..Answer::default()
        }),
        ..exchange
    }
}
