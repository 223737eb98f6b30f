//! Vertex: Google's and Anthropic's bodies below a publisher, with the model in the path.

use serde_json::{Value, json};

use super::*;

const VERTEX: &str = "/v1/projects/p/locations/l/publishers";

fn vertex(provider: &Provider, rest: &str, body: &Value) -> Reply {
    let headers = "Authorization: Bearer t\r\n";
    send(
        provider,
        &format!("{VERTEX}/{rest}"),
        headers,
        body.to_string().as_bytes(),
    )
}

#[test]
fn gemini_on_vertex() {
    let provider = start();
    let path = "google/models/gemini-2.5-flash:generateContent";
    let reply = vertex(
        &provider,
        path,
        &json!({"contents": [{"role": "user", "parts": [{"text": "abcd"}]}]}),
    );
    assert_eq!(reply.json()["usageMetadata"]["promptTokenCount"], 3);
    let reply = vertex(
        &provider,
        path,
        &json!({"contents": [{"parts": [{"text": "x"}]}]}),
    );
    assert_eq!(reply.status, 400, "Vertex wants a role on each content");
    assert!(reply.message().contains("valid role"));
}

#[test]
fn anthropic_on_vertex() {
    let provider = start();
    let mut body = json!({
        "anthropic_version": "vertex-2023-10-16",
        "max_tokens": 8,
        "system": [marked(&words(1100))],
        "messages": [{"role": "user", "content": "abcd"}, {"role": "system", "content": "n"}],
    });
    let path = |verb: &str| format!("anthropic/models/claude-opus-4-8@20260301:{verb}");
    let reply = vertex(&provider, &path("rawPredict"), &body);
    assert_eq!(usage_of(&reply.json()["usage"]), (6, 0, 1102, 0));
    let reply = vertex(&provider, &path("streamRawPredict"), &body);
    assert!(reply.text().starts_with("event: message_start\n"));
    assert_eq!(provider.recorded()[1].usage.unwrap().cached, 1102);
    // The path's model decides: this one takes no later system message.
    let reply = vertex(
        &provider,
        "anthropic/models/claude-opus-4-5@20251101:rawPredict",
        &body,
    );
    assert_eq!(reply.status, 400);
    assert!(reply.message().contains("role 'system' is not supported"));
    let seen = provider.effective_prompt_at(
        &format!("{VERTEX}/{}", path("rawPredict")),
        body.to_string().as_bytes(),
    );
    assert_eq!(seen.unwrap().later, ["n"]);

    body["model"] = json!("claude-opus-4-8");
    let reply = vertex(&provider, &path("rawPredict"), &body);
    assert_eq!(reply.message(), "model: Extra inputs are not permitted");
    let reply = vertex(&provider, "anthropic/models/count-tokens:rawPredict", &body);
    assert_eq!(reply.json(), json!({"input_tokens": 1108}));
    body.as_object_mut().unwrap().remove("anthropic_version");
    let reply = vertex(&provider, "anthropic/models/count-tokens:rawPredict", &body);
    assert_eq!(reply.message(), "anthropic_version: Field required");
}
