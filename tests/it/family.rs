//! What is compatible with Chat Completions and differs by host: through the proxy, as the upstream gets it.

use inkfast::ledger::Ledger;
use inkfast::sim::{Answer, Config, Recorded};
use inkfast::wire::{Framing, answer::Reader, format::Format, usage::Usage};
use serde_json::{Value, json};

use crate::rewrite::{Bench, prompt};
use crate::support::metrics;

/// A proxy with one more upstream, whose entry has these lines.
async fn bench(keys: &str, entry: &str) -> Bench {
    let keys = format!("{keys}\n[upstreams.family]\nurl = \"PROVIDER\"\n{entry}\n");
    Bench::with(&keys, Config::default(), Ledger::memory()).await
}

fn acts_as(host: &str) -> String {
    format!("acts_as = \"{host}\"")
}

/// Two turns, the head edited before the second; what the upstream got then.
async fn edited(bench: Bench, path: &str, extra: &[&str], mut body: Value) -> Recorded {
    let path = format!("/family{path}");
    body["messages"] =
        json!([{"role": "system", "content": prompt("plan")}, {"role": "user", "content": "one"}]);
    bench.provider.push(Answer::text("Said."));
    bench.ask(&path, extra, body.to_string()).await;
    bench.summary();
    body["messages"] = json!([
        {"role": "system", "content": prompt("act")},
        {"role": "user", "content": "one"},
        {"role": "assistant", "content": "Said.", "reasoning_content": "hm"},
        {"role": "user", "content": "two"},
    ]);
    let (status, answer) = bench.ask(&path, extra, body.to_string()).await;
    assert_eq!(status, 200, "{answer}");
    assert_eq!(bench.prefix().sent, "extend/none");
    bench.provider.recorded().pop().unwrap()
}

fn roles(body: &[u8]) -> Vec<String> {
    let body: Value = serde_json::from_slice(body).unwrap();
    let messages = body["messages"].as_array().unwrap().iter();
    messages
        .map(|message| message["role"].as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test]
async fn an_update_travels_as_the_host_takes_it() {
    let message = ["system", "user", "assistant", "system", "user"];
    let inside = ["system", "user", "assistant", "user"];
    for (host, path, model, expected) in [
        (
            "api.deepseek.com",
            "/chat/completions",
            "deepseek-v4",
            &message[..],
        ),
        ("api.x.ai", "/v1/chat/completions", "grok-5", &message),
        (
            "openrouter.ai",
            "/api/v1/chat/completions",
            "openai/gpt-5.5",
            &message,
        ),
        (
            "openrouter.ai",
            "/api/v1/chat/completions",
            "qwen/qwen3.8",
            &inside,
        ),
        (
            "api.mistral.ai",
            "/v1/chat/completions",
            "mistral-large-4",
            &inside,
        ),
        ("api.groq.com", "/openai/v1/chat/completions", "llama-4", &inside),
        ("api.githubcopilot.com", "/chat/completions", "gpt-5.5", &message),
        ("ollama", "/v1/chat/completions", "qwen3.8", &inside),
    ] {
        let sent = edited(
            bench("", &acts_as(host)).await,
            path,
            &[],
            json!({"model": model}),
        )
        .await;
        assert_eq!(roles(&sent.body), expected, "{host}");
        let body: Value = serde_json::from_slice(&sent.body).unwrap();
        assert_eq!(body["messages"][0]["content"], prompt("plan"));
        assert_eq!(body["messages"][2]["reasoning_content"], "hm");
        assert!(body["messages"].to_string().contains("Mode: act"));
    }
}

#[tokio::test]
async fn copilots_initiator_stays_what_the_client_said() {
    let sent = edited(
        bench("", &acts_as("api.githubcopilot.com")).await,
        "/chat/completions",
        &["X-Initiator: agent", "Copilot-Integration-Id: x"],
        json!({"model": "gpt-5.5"}),
    )
    .await;
    let header = |name: &str| {
        let mut found = sent
            .headers
            .iter()
            .filter(|(key, _)| key.eq_ignore_ascii_case(name));
        (found.next().map(|(_, value)| value.as_str()), found.next())
    };
    assert_eq!(header("X-Initiator"), (Some("agent"), None));
    assert_eq!(header("Copilot-Integration-Id"), (Some("x"), None));
}

#[tokio::test]
async fn a_deployment_goes_by_the_model_behind_it() {
    let table = tempfile::tempdir().unwrap();
    let file = table.path().join("routes.toml");
    std::fs::write(
        &file,
        "[[carriers]]\nmodels = [\"gpt-5.5\"]\nsource = \"test\"\ndate = \"2026-11-30\"\n\
         rows = [{ carrier = \"developer\", placement = \"before_user_run\", tool_loop = \"pass\" }]\n",
    )
    .unwrap();
    let routes = format!("routes = \"{}\"", file.display());
    let entry = "acts_as = \"r.openai.azure.com\"\nmodels = { \"dep\" = \"gpt-5.5\" }";
    for (path, model) in [
        (
            "/openai/deployments/dep/chat/completions?api-version=2026-01-01",
            "anything",
        ),
        ("/openai/v1/chat/completions", "dep"),
    ] {
        let sent = edited(
            bench(&routes, entry).await,
            path,
            &["api-key: k"],
            json!({"model": model}),
        )
        .await;
        assert_eq!(
            roles(&sent.body),
            ["system", "user", "assistant", "developer", "user"],
            "{path}"
        );
        let body: Value = serde_json::from_slice(&sent.body).unwrap();
        assert_eq!(body["model"], model, "nothing is written into the body");
    }
}

#[tokio::test]
async fn a_template_that_raises_is_asked_again_by_the_next_row() {
    let bench = bench("", &acts_as("api.x.ai")).await;
    let body = |mode: &str, more: &[Value]| {
        let first = [
            json!({"role": "system", "content": prompt(mode)}),
            json!({"role": "user", "content": "one"}),
        ];
        let messages = [&first[..], more].concat();
        json!({"model": "m", "messages": messages}).to_string()
    };
    bench.provider.push(Answer::text("Said."));
    bench
        .ask("/family/v1/chat/completions", &[], body("plan", &[]))
        .await;
    bench.summary();
    for status in [500, 400] {
        let error = "Jinja Exception: System message must be at the beginning.";
        bench.provider.push(Answer::error(status, error));
    }
    bench.provider.push(Answer::text("Yes."));
    let more = [
        json!({"role": "assistant", "content": "Said."}),
        json!({"role": "user", "content": "two"}),
    ];
    let (status, answer) = bench
        .ask("/family/v1/chat/completions", &[], body("act", &more))
        .await;
    assert_eq!(status, 200, "{answer}");
    let sent = bench.sent();
    assert_eq!(roles(&sent[1]), ["system", "user", "assistant", "system", "user"]);
    assert_eq!(roles(&sent[2]), ["system", "user", "assistant", "user"]);
    assert_eq!(
        sent[3],
        body("act", &more),
        "both forms were refused: the client's own"
    );
}

#[tokio::test]
async fn the_zeros_of_ollamas_other_faces_are_not_taken_for_misses() {
    let answer = json!({
        "object": "chat.completion",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "x"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 70, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": 0}},
    });
    for (upstream, cached) in [("ollama", None), ("openai", Some(0))] {
        let bench = Bench::new().await;
        let reply = Answer::raw(answer.to_string()).with_header("content-type", "application/json");
        bench.provider.push(reply);
        let body = json!({"model": "m", "messages": [{"role": "user", "content": "one"}]});
        bench
            .ask(&format!("/{upstream}/v1/chat/completions"), &[], body.to_string())
            .await;
        let usage = bench.summary().usage.unwrap();
        assert_eq!(
            (usage.input_total, usage.cache_read),
            (Some(70), cached),
            "{upstream}"
        );
        let text = metrics(&bench.proxy).await;
        let label = if cached.is_some() { "none" } else { "unknown" };
        assert!(text.contains(&format!("cache=\"{label}\"")), "{text}");
    }
}

fn usage(stream: &str) -> Option<Usage> {
    let mut reader = Reader::new(Format::OpenaiChat, Framing::Events);
    reader.push(stream.as_bytes());
    let reading = reader.finish();
    assert_eq!(reading.answer.map(|answer| answer.text).as_deref(), Some("Yes"));
    reading.usage
}

#[test]
fn streams_of_the_family() {
    let some = |total: u64, read: Option<u64>, write: Option<u64>, output: u64| {
        Some(Usage {
            input_total: Some(total),
            cache_read: read,
            cache_write: write,
            output: Some(output),
        })
    };
    let groq = r#"data: {"id":"c","choices":[{"index":0,"delta":{"role":"assistant","content":"Yes"},"finish_reason":null}],"x_groq":{"id":"req_1"}}

data: {"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"x_groq":{"id":"req_1","usage":{"queue_time":0.1,"prompt_tokens":90,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":64}}}}

data: [DONE]

"#;
    assert_eq!(usage(groq), some(90, Some(64), None, 5));
    let openrouter = r#": OPENROUTER PROCESSING

: OPENROUTER PROCESSING

data: {"id":"gen-1","provider":"x","choices":[{"index":0,"delta":{"role":"assistant","content":"Yes","reasoning":null},"finish_reason":"stop","native_finish_reason":"end_turn"}]}

: OPENROUTER PROCESSING

data: {"id":"gen-1","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}],"usage":{"prompt_tokens":90,"completion_tokens":5,"cost":0.1,"is_byok":false,"prompt_tokens_details":{"cached_tokens":64,"cache_write_tokens":20}}}

data: [DONE]

"#;
    assert_eq!(usage(openrouter), some(90, Some(64), Some(20), 5));
    let azure = r#"data: {"choices":[],"created":0,"id":"","model":"","object":"","prompt_filter_results":[{"prompt_index":0,"content_filter_results":{}}]}

data: {"choices":[{"content_filter_results":{},"delta":{"content":"Yes"},"finish_reason":"stop","index":0}],"id":"c","usage":null}

data: {"choices":[],"id":"c","usage":{"prompt_tokens":90,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":0}}}

data: [DONE]

"#;
    assert_eq!(usage(azure), some(90, Some(0), None, 5));
    let sglang = r#"data: {"id":"s","choices":[{"index":0,"delta":{"content":"Yes"},"finish_reason":"stop","matched_stop":1}],"usage":{"prompt_tokens":90,"completion_tokens":5,"prompt_tokens_details":null}}

data: [DONE]

"#;
    assert_eq!(usage(sglang), some(90, None, None, 5));
}

#[tokio::test]
async fn sessions_of_the_family_keep_conversations_apart() {
    let (header, body) = ("x-grok-conv-id", "session_id");
    for name in [header, "x-session-id", body] {
        let bench = bench("", &acts_as("api.x.ai")).await;
        let mut lineages = Vec::new();
        for session in ["a", "b", "a"] {
            let mut request = json!({"model": "m", "messages": [{"role": "user", "content": "one"}]});
            let line = format!("{name}: {session}");
            let mut lines = vec![line.as_str()];
            if name == body {
                request[name] = json!(session);
                lines.clear();
            }
            bench
                .ask("/family/v1/chat/completions", &lines, request.to_string())
                .await;
            lineages.push(bench.prefix().lineage);
        }
        assert_ne!(lineages[0], lineages[1], "{name}");
    }
}

#[tokio::test]
async fn every_form_of_an_answer_is_counted_and_passes_unchanged() {
    let bench = Bench::new().await;
    let gemini = json!({"contents": [{"role": "user", "parts": [{"text": "one"}]}]});
    let chat = json!({"model": "m", "messages": [{"role": "user", "content": "one"}]});
    let mut whole = chat.clone();
    whole["stream"] = false.into();
    let generate = json!({"model": "m", "prompt": "one"});
    let vertex = "/gemini/v1/projects/p/locations/l/publishers/google/models";
    for (path, body, form) in [
        (
            "/v1beta/models/gemini-3.5-flash:streamGenerateContent?alt=sse",
            &gemini,
            "data: {",
        ),
        (
            "/v1beta/models/gemini-3.5-flash:streamGenerateContent?key=k",
            &gemini,
            "[{",
        ),
        ("/v1beta/models/gemini-3.5-flash:generateContent", &gemini, "{"),
        (
            &format!("{vertex}/gemini-3.5-flash:generateContent"),
            &gemini,
            "{",
        ),
        ("/api/chat", &chat, "{"),
        ("/api/chat", &whole, "{"),
        ("/api/generate", &generate, "{"),
    ] {
        let (status, answer) = bench.ask(path, &[], body.to_string()).await;
        assert_eq!(status, 200, "{answer}");
        assert!(answer.contains(form), "{answer}");
        let summary = bench.summary();
        let seen = bench.provider.recorded().pop().unwrap();
        assert_eq!(seen.body, body.to_string());
        let usage = summary
            .usage
            .unwrap_or_else(|| panic!("no usage: {path} {answer}"));
        assert_eq!(
            usage.input_total,
            seen.usage.map(|usage| usage.total as u64),
            "{path}"
        );
        assert_eq!(
            summary.passthrough,
            (path == "/api/generate").then_some("server_state")
        );
    }
}

#[tokio::test]
async fn claude_on_vertex_takes_a_system_message_by_the_model_in_its_path() {
    let publisher = "/v1/projects/p/locations/us-east5/publishers/anthropic/models";
    for (model, expected) in [
        (
            "claude-opus-5@20260801",
            &["user", "assistant", "user", "system"][..],
        ),
        ("claude-opus-4-6@20260201", &["user", "assistant", "user"]),
    ] {
        let bench = bench("", &acts_as("us-east5-aiplatform.googleapis.com")).await;
        let path = format!("/family{publisher}/{model}:rawPredict");
        let said = json!([{"role": "user", "content": "one"}, {"role": "assistant", "content": "Said."}, {"role": "user", "content": "two"}]);
        for (mode, messages) in [("plan", json!([said[0]])), ("act", said.clone())] {
            bench.provider.push(Answer::text("Said."));
            let body = json!({
                "anthropic_version": "vertex-2023-10-16", "max_tokens": 9, "system": prompt(mode), "messages": messages,
            });
            let (status, answer) = bench.ask(&path, &[], body.to_string()).await;
            assert_eq!(status, 200, "{answer}");
        }
        let sent = bench.sent();
        assert_eq!(roles(&sent[1]), expected, "{model}");
        let body: Value = serde_json::from_slice(&sent[1]).unwrap();
        assert_eq!(body["system"], prompt("plan"));
    }
}
