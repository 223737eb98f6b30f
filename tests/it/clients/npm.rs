//! SDKs from npm, on node.

use inkfast::sim::{Config, Dialect};

use super::sdk::{Cached, Sdk, Tells};

#[test]
fn openai_chat() {
    writing(Sdk::node("openai_chat.cjs")).holds();
}

#[test]
fn openai_responses() {
    responses(Sdk::node("openai_responses.cjs")).holds();
}

#[test]
fn openai_websocket() {
    responses(Sdk::node("openai_websocket.cjs")).holds();
}

#[test]
fn anthropic_messages() {
    anthropic(Sdk::node("anthropic_messages.cjs")).holds();
}

#[test]
fn google_genai() {
    gemini(Sdk::node("google_genai.cjs")).holds();
}

#[test]
fn ai_with_openai_chat() {
    writing(ai(&["openai-chat"])).holds();
}

#[test]
fn ai_with_openai_responses() {
    responses(ai(&["openai-responses"])).holds();
}

#[test]
fn ai_with_anthropic() {
    anthropic(ai(&["anthropic"])).holds();
}

#[test]
fn ai_with_google() {
    gemini(ai(&["google"])).holds();
}

#[test]
fn ai_with_amazon_bedrock() {
    Sdk {
        upstream: ("bedrock", "bedrock-runtime.eu-central-1.amazonaws.com"),
        format: "bedrock_converse",
        ..writing(ai(&["amazon-bedrock"]))
    }
    .holds();
}

#[test]
fn ai_with_openai_compatible() {
    Sdk {
        upstream: ("xai", "api.x.ai"),
        path: "/xai",
        provider: speaking(Dialect::Xai),
        ..ai(&["openai-compatible"])
    }
    .holds();
}

#[test]
fn ai_with_mistral() {
    Sdk {
        upstream: ("mistral", "api.mistral.ai"),
        path: "/mistral",
        provider: speaking(Dialect::Mistral),
        ..ai(&["mistral"])
    }
    .holds();
}

fn ai(provider: &'static [&'static str]) -> Sdk {
    Sdk {
        arguments: provider,
        ..Sdk::node("ai_sdk.cjs")
    }
}

fn writing(sdk: Sdk) -> Sdk {
    let tells = Tells {
        written: true,
        ..sdk.tells
    };
    Sdk { tells, ..sdk }
}

fn responses(sdk: Sdk) -> Sdk {
    let sdk = writing(sdk);
    let tells = Tells {
        thinking: true,
        ..sdk.tells
    };
    Sdk {
        format: "openai_responses",
        tells,
        ..sdk
    }
}

fn anthropic(sdk: Sdk) -> Sdk {
    Sdk {
        upstream: ("anthropic", "api.anthropic.com"),
        format: "anthropic_messages",
        ..responses(sdk)
    }
}

fn gemini(sdk: Sdk) -> Sdk {
    Sdk {
        upstream: ("gemini", "generativelanguage.googleapis.com"),
        format: "gemini",
        tells: Tells {
            thinking: true,
            cached: Cached::IfAny,
            ..sdk.tells
        },
        ..sdk
    }
}

fn speaking(dialect: Dialect) -> Config {
    Config {
        dialect,
        ..Config::default()
    }
}
