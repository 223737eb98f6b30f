//! An upstream for the formats that the simulated provider does not speak: it says what it is told to say, in the shape
//! of the request's format.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use hyper::header::CONTENT_TYPE;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::harness::Answer;
use crate::support::{self, Upstream, whole};

/// A running stand-in.
pub struct StandIn {
    upstream: Upstream,
    answers: Arc<Mutex<VecDeque<Answer>>>,
    _runtime: Runtime,
}

impl StandIn {
    pub fn start() -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let answers: Arc<Mutex<VecDeque<Answer>>> = Arc::default();
        let queue = Arc::clone(&answers);
        let upstream = runtime.block_on(Upstream::start(move |seen| {
            let answer = queue
                .lock()
                .unwrap()
                .pop_front()
                .expect("an answer for each request");
            async move { reply(seen.head.uri.path(), &seen.body, &answer) }
        }));
        Self {
            upstream,
            answers,
            _runtime: runtime,
        }
    }

    pub fn url(&self) -> String {
        self.upstream.url()
    }

    pub fn push(&self, answer: &Answer) {
        self.answers.lock().unwrap().push_back(answer.clone());
    }

    /// The bodies that came.
    pub fn recorded(&self) -> Vec<Bytes> {
        self.upstream.seen().into_iter().map(|seen| seen.body).collect()
    }
}

fn reply(path: &str, request: &[u8], answer: &Answer) -> support::Answer {
    let stream = memchr::memmem::find(request, b"\"stream\":true").is_some();
    let (kind, body) = match path.rsplit(['/', ':']).next() {
        Some("responses") => responses(answer, stream),
        other => panic!("no stand-in answers {other:?}"),
    };
    let mut reply = whole(body);
    *reply.status_mut() = answer.status.try_into().unwrap();
    reply.headers_mut().insert(CONTENT_TYPE, kind.parse().unwrap());
    reply
}

const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";

fn responses(answer: &Answer, stream: bool) -> (&'static str, String) {
    let text = json!([{"type": "output_text", "text": answer.text, "annotations": []}]);
    let message = json!({"type": "message", "role": "assistant", "status": "completed", "content": text});
    let call =
        |id: &String| json!({"type": "function_call", "call_id": id, "name": "tool", "arguments": "{}"});
    let message = Some(message).filter(|_| !answer.text.is_empty());
    let output: Vec<Value> = message.into_iter().chain(answer.calls.iter().map(call)).collect();
    let usage = json!({"input_tokens": 10, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 1});
    let whole = json!({"id": "resp_1", "object": "response", "status": "completed", "output": output, "usage": usage});
    if !stream {
        return (JSON, whole.to_string());
    }
    let done = (0..).zip(&output).map(
        |(index, item)| json!({"type": "response.output_item.done", "output_index": index, "item": item}),
    );
    let last = json!({"type": "response.completed", "response": whole});
    let events = done.chain([last]).map(|event| {
        let kind = event["type"].as_str().unwrap();
        format!("event: {kind}\ndata: {event}\n\n")
    });
    (EVENTS, events.collect())
}
