//! What the hosts of Chat Completions add to it, leave out or name otherwise.

use bytes::Bytes;
use serde_json::{Value, json};

use super::{Reply, event};
use crate::sim::dialect::Dialect;
use crate::sim::rules::{self, Places};
use crate::sim::tokens::count;

/// The key that shows the answer's reasoning, and the reasoning.
pub(super) fn reasoning<'a>(reply: &'a Reply) -> Option<(&'static str, &'a str)> {
    let key = reply.dialect.manners().reasoning?;
    Some((key, reply.answer.thinking.as_deref()?))
}

/// What stands in front of a stream's first chunk; `envelope` is a chunk's.
pub(super) fn opening(reply: &Reply, envelope: &Value) -> Vec<Bytes> {
    match reply.dialect {
        Dialect::OpenRouter => vec![Bytes::from_static(b": OPENROUTER PROCESSING\n\n"); 2],
        Dialect::Copilot => {
            let mut chunk = envelope.clone();
            chunk["choices"] = json!([]);
            chunk["prompt_filter_results"] = json!([{"prompt_index": 0, "content_filter_results": {}}]);
            vec![event(None, &chunk)]
        }
        _ => Vec::new(),
    }
}

/// Adds what a host puts beside the choices, to the whole answer or to a stream's last chunk.
pub(super) fn sign_off(reply: &Reply, body: &mut Value) {
    let usage = &reply.usage;
    match reply.dialect {
        Dialect::OpenRouter => body["provider"] = json!("Simulated"),
        Dialect::Groq => {
            let id = format!("req_sim{:08x}", reply.number);
            body["x_groq"] = json!({"id": id});
            if reply.prompt.stream {
                body["x_groq"]["usage"] = self::usage(reply);
            }
        }
        Dialect::LlamaCpp => {
            let fresh = usage.total - usage.cached;
            body["timings"] = json!({
                "cache_n": usage.cached,
                "prompt_n": fresh,
                "prompt_ms": milliseconds(fresh),
                "prompt_per_token_ms": 1.0,
                "prompt_per_second": 1000.0,
                "predicted_n": usage.output,
                "predicted_ms": milliseconds(usage.output),
                "predicted_per_token_ms": 1.0,
                "predicted_per_second": 1000.0,
            });
        }
        _ => {}
    }
}

/// A token takes a millisecond.
fn milliseconds(tokens: usize) -> f64 {
    tokens as f64
}

pub(super) fn usage(reply: &Reply) -> Value {
    let usage = &reply.usage;
    let mut body = json!({
        "prompt_tokens": usage.total,
        "completion_tokens": usage.output,
        "total_tokens": usage.total + usage.output,
    });
    let thought = reasoning(reply).map_or(0, |(_, text)| count(text));
    let mut details = json!({"cached_tokens": usage.cached});
    match reply.dialect {
        Dialect::OpenAi | Dialect::Copilot => {
            details["audio_tokens"] = json!(0);
            if reports_writes(reply) {
                details["cache_write_tokens"] = json!(usage.written);
            }
            body["completion_tokens_details"] = json!({
                "reasoning_tokens": thought,
                "audio_tokens": 0,
                "accepted_prediction_tokens": 0,
                "rejected_prediction_tokens": 0,
            });
        }
        Dialect::DeepSeek => {
            body["prompt_cache_hit_tokens"] = json!(usage.cached);
            body["prompt_cache_miss_tokens"] = json!(usage.total - usage.cached);
            body["completion_tokens_details"] = json!({"reasoning_tokens": thought});
        }
        Dialect::OpenRouter => {
            details["cache_write_tokens"] = json!(usage.written);
            body["cost"] = json!(cost(reply));
            body["cost_details"] = json!({"upstream_inference_cost": null});
            body["is_byok"] = json!(false);
            body["completion_tokens_details"] = json!({"reasoning_tokens": thought});
        }
        Dialect::Xai => {
            details["text_tokens"] = json!(usage.total);
            body["completion_tokens_details"] = json!({"reasoning_tokens": thought});
        }
        Dialect::Groq => {
            body["queue_time"] = json!(0.01);
            body["prompt_time"] = json!(milliseconds(usage.total - usage.cached) / 1000.0);
            body["completion_time"] = json!(milliseconds(usage.output) / 1000.0);
        }
        Dialect::Vllm => details = Value::Null,
        Dialect::Sglang if usage.cached == 0 => return body,
        Dialect::Sglang | Dialect::Mistral | Dialect::LlamaCpp => {}
    }
    body["prompt_tokens_details"] = details;
    body
}

fn reports_writes(reply: &Reply) -> bool {
    let prompt = reply.prompt;
    rules::habit(prompt.format, &prompt.model, reply.dialect).places == Places::Ends
}

/// One micro-unit a token, a tenth of it for what was read from the cache.
fn cost(reply: &Reply) -> f64 {
    let usage = &reply.usage;
    let full = usage.total - usage.cached + usage.output;
    (full as f64 + usage.cached as f64 / 10.0) / 1e6
}
