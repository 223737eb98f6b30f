//! SDKs from PyPI.

use inkfast::sim::{AwsKey, Config, Dialect};

use super::sdk::{Cached, Sdk, Tells};

const BEDROCK: (&str, &str) = ("bedrock", "bedrock-runtime.eu-central-1.amazonaws.com");
const BEARER: &[(&str, &str)] = &[
    ("AWS_BEARER_TOKEN_BEDROCK", "test-of-the-suite"),
    // For the client that does not send that one over plain HTTP.
    ("BEARER_TOKEN", "test-of-the-suite"),
];
/// This one binds thinking to what stands in front of it.
const BINDING: &[&str] = &["eu.anthropic.claude-opus-5-5-v1:0"];
const NOT_BINDING: &[&str] = &["eu.anthropic.claude-opus-4-8-v1:0"];
/// The client's own pair, which is nobody's.
const DUMMY: &[(&str, &str)] = &[
    ("AWS_ACCESS_KEY_ID", "AKIDDUMMY"),
    ("AWS_SECRET_ACCESS_KEY", "dummy"),
];
/// The user's pair, which Inkfast signs with.
const OWN: &[(&str, &str)] = &[
    ("AWS_ACCESS_KEY_ID", "AKIDOWN"),
    ("AWS_SECRET_ACCESS_KEY", "own/secret+key"),
];

#[test]
fn openai_chat() {
    let base = Sdk::python("openai_chat.py");
    let tells = Tells {
        written: true,
        ..base.tells
    };
    Sdk { tells, ..base }.holds();
}

#[test]
fn openai_responses() {
    responses("openai_responses.py").holds();
}

#[test]
fn openai_websocket() {
    responses("openai_websocket.py").holds();
}

#[test]
fn anthropic_messages() {
    Sdk {
        upstream: ("anthropic", "api.anthropic.com"),
        ..counting(anthropic("anthropic_messages.py"))
    }
    .holds();
}

#[test]
fn anthropic_vertex() {
    Sdk {
        upstream: ("vertex", "europe-west1-aiplatform.googleapis.com"),
        ..counting(anthropic("anthropic_vertex.py"))
    }
    .holds();
}

#[test]
fn anthropic_bedrock_with_a_bearer_key() {
    Sdk {
        upstream: BEDROCK,
        variables: BEARER,
        arguments: BINDING,
        ..anthropic("anthropic_bedrock.py")
    }
    .holds();
}

#[test]
fn anthropic_bedrock_signed() {
    Sdk {
        upstream: BEDROCK,
        variables: DUMMY,
        arguments: NOT_BINDING,
        ..anthropic("anthropic_bedrock.py")
    }
    .passes_observed();
}

#[test]
fn anthropic_bedrock_signed_anew() {
    signed_anew(Sdk {
        arguments: BINDING,
        ..anthropic("anthropic_bedrock.py")
    })
    .holds();
}

#[test]
fn boto3_with_a_bearer_key() {
    Sdk {
        variables: BEARER,
        ..converse()
    }
    .holds();
}

#[test]
fn boto3_signed() {
    Sdk {
        variables: DUMMY,
        ..converse()
    }
    .passes_observed();
}

#[test]
fn boto3_signed_anew() {
    signed_anew(converse()).holds();
}

#[test]
fn google_genai() {
    gemini("google_genai.py").holds();
}

#[test]
fn google_genai_chat() {
    gemini("google_genai_chat.py").holds();
}

#[test]
fn ollama() {
    let base = Sdk::python("ollama_chat.py");
    Sdk {
        upstream: ("ollama", "ollama"),
        format: "ollama",
        tells: Tells {
            call_ids: false,
            cached: Cached::Never,
            ..base.tells
        },
        ..base
    }
    .holds();
}

#[test]
fn mistralai() {
    Sdk {
        upstream: ("mistral", "api.mistral.ai"),
        path: "/mistral",
        provider: Config {
            dialect: Dialect::Mistral,
            ..Config::default()
        },
        ..Sdk::python("mistral_chat.py")
    }
    .holds();
}

fn responses(script: &'static str) -> Sdk {
    let base = Sdk::python(script);
    Sdk {
        format: "openai_responses",
        tells: Tells {
            thinking: true,
            written: true,
            ..base.tells
        },
        ..base
    }
}

fn anthropic(script: &'static str) -> Sdk {
    Sdk {
        format: "anthropic_messages",
        ..responses(script)
    }
}

/// It has each prompt counted first.
fn counting(sdk: Sdk) -> Sdk {
    let tells = Tells {
        counts: true,
        ..sdk.tells
    };
    Sdk { tells, ..sdk }
}

fn gemini(script: &'static str) -> Sdk {
    let base = Sdk::python(script);
    Sdk {
        upstream: ("gemini", "generativelanguage.googleapis.com"),
        format: "gemini",
        tells: Tells {
            thinking: true,
            cached: Cached::IfAny,
            ..base.tells
        },
        ..base
    }
}

fn converse() -> Sdk {
    let base = Sdk::python("boto3_converse.py");
    Sdk {
        upstream: BEDROCK,
        format: "bedrock_converse",
        tells: Tells {
            written: true,
            ..base.tells
        },
        ..base
    }
}

/// The client's signature is replaced; only the user's own is taken.
fn signed_anew(sdk: Sdk) -> Sdk {
    let [(_, id), (_, secret)] = *OWN else {
        panic!("a pair")
    };
    let aws = Some(AwsKey {
        id: id.to_owned(),
        secret: secret.to_owned(),
    });
    Sdk {
        upstream: BEDROCK,
        keys: "sign = \"sigv4\"\nregion = \"eu-central-1\"",
        variables: DUMMY,
        inkfast_variables: OWN,
        provider: Config {
            aws,
            ..Config::default()
        },
        ..sdk
    }
}
