//! The table of routes that is built in: every pattern of every row can be reached, and destinations get what their
//! providers document.

use std::collections::BTreeMap;

use inkfast::prefix::policy::{Carrier, Mode, Placement, ToolLoop};
use inkfast::route::{Choice, Destination, Route, Table};
use inkfast::wire::format::Format;

const TABLE: &str = include_str!("../../config/routes.toml");

/// What a row holds for: hosts, format, models; `*` where it does not say.
struct Applies {
    hosts: Vec<String>,
    format: Option<String>,
    models: Vec<String>,
}

#[test]
fn no_row_is_hidden_by_earlier_ones() {
    for (fact, rows) in table() {
        for (number, row) in rows.iter().enumerate() {
            let hidden = |host: &str, model: &str| {
                rows[..number]
                    .iter()
                    .any(|earlier| earlier.covers(row, host, model))
            };
            for host in &row.hosts {
                let reached = row.models.iter().any(|model| !hidden(host, model));
                assert!(reached, "{fact} {number}: {host} is never reached");
            }
            for model in &row.models {
                let reached = row.hosts.iter().any(|host| !hidden(host, model));
                assert!(reached, "{fact} {number}: {model} is never reached");
            }
        }
    }
}

#[test]
fn no_pattern_stands_twice_in_a_row() {
    for (fact, rows) in table() {
        for (number, row) in rows.iter().enumerate() {
            for patterns in [&row.hosts, &row.models] {
                for (at, pattern) in patterns.iter().enumerate() {
                    let others = patterns.iter().enumerate().filter(|(other, _)| *other != at);
                    let wider = others.map(|(_, other)| other).find(|other| fits(other, pattern));
                    assert_eq!(wider, None, "{fact} {number}: {pattern}");
                }
            }
        }
    }
}

#[test]
fn a_refusal_is_told_by_one_text() {
    let table: toml::Table = TABLE.parse().unwrap();
    for row in table["refusals"].as_array().unwrap() {
        let texts: Vec<_> = row["value"]
            .as_array()
            .unwrap()
            .iter()
            .map(|text| text.as_str().unwrap())
            .collect();
        for (at, text) in texts.iter().enumerate() {
            assert_eq!(text.to_lowercase(), **text, "patterns are compared in lower case");
            let longer = texts
                .iter()
                .enumerate()
                .find(|(other, longer)| *other != at && longer.contains(text));
            assert_eq!(longer, None, "{text} alone does");
        }
    }
}

/// First carrier, placement and tool loop; then `b` where the model binds thinking, and `i` where instructions lead.
#[test]
fn destinations_get_what_their_providers_document() {
    use Format::{AnthropicMessages, BedrockConverse, Gemini, Ollama, OpenaiChat, OpenaiResponses};
    let vertex = "us-east5-aiplatform.googleapis.com";
    let bedrock = "bedrock-runtime.eu-central-1.amazonaws.com";
    let foundry = "r.services.ai.azure.com";
    for (host, format, model, expected) in [
        // The head's role, before what the user says now.
        ("api.openai.com", OpenaiChat, "gpt-5.5", "system before after"),
        (
            "api.openai.com",
            OpenaiChat,
            "gpt-4.1-2025-04-14",
            "system before after",
        ),
        (
            "r.openai.azure.com",
            OpenaiChat,
            "my-deployment",
            "system before after",
        ),
        (foundry, OpenaiChat, "gpt-5.5", "system before after"),
        (
            "api.deepseek.com",
            OpenaiChat,
            "deepseek-v4-pro",
            "system before after",
        ),
        ("api.x.ai", OpenaiChat, "grok-5", "system before after"),
        (
            "openrouter.ai",
            OpenaiChat,
            "openai/gpt-6.2",
            "system before after",
        ),
        (
            "api.githubcopilot.com",
            OpenaiChat,
            "gpt-5.5",
            "system before after",
        ),
        (
            "api.business.githubcopilot.com",
            OpenaiChat,
            "o3",
            "system before after",
        ),
        // Responses: instructions in front of the history up to GPT-6.1, bound reasoning from GPT-6.2 on.
        (
            "api.openai.com",
            OpenaiResponses,
            "gpt-5.5",
            "developer before after i",
        ),
        (
            "api.openai.com",
            OpenaiResponses,
            "gpt-6",
            "developer before after i",
        ),
        (
            "api.openai.com",
            OpenaiResponses,
            "gpt-6-2026-02-11",
            "developer before after i",
        ),
        (
            "api.openai.com",
            OpenaiResponses,
            "gpt-6.1-sol",
            "developer before after i",
        ),
        (
            "api.openai.com",
            OpenaiResponses,
            "ft:gpt-4.1-mini:me::1",
            "developer before after i",
        ),
        (
            "api.openai.com",
            OpenaiResponses,
            "gpt-6.2-astra",
            "developer before after b",
        ),
        (
            "api.openai.com",
            OpenaiResponses,
            "gpt-6.2-2026-11-02",
            "developer before after b",
        ),
        (
            "chatgpt.com",
            OpenaiResponses,
            "gpt-6.3-codex",
            "developer before after b",
        ),
        (
            "api.openai.com",
            OpenaiResponses,
            "gpt-7",
            "developer before after b",
        ),
        (
            "api.openai.com",
            OpenaiResponses,
            "a-name-of-tomorrow",
            "developer before after",
        ),
        (
            "r.openai.azure.com",
            OpenaiResponses,
            "gpt-6.2",
            "developer before after b",
        ),
        (
            "openrouter.ai",
            OpenaiResponses,
            "openai/gpt-6.2",
            "developer before after b",
        ),
        (
            "openrouter.ai",
            OpenaiResponses,
            "openai/gpt-6",
            "developer before after i",
        ),
        (
            "openrouter.ai",
            OpenaiResponses,
            "openai/o3",
            "developer before after i",
        ),
        (
            "openrouter.ai",
            OpenaiResponses,
            "anthropic/claude-opus-4.8",
            "user inside pass",
        ),
        (
            "api.githubcopilot.com",
            OpenaiResponses,
            "gpt-6.2",
            "developer before after b",
        ),
        ("api.x.ai", OpenaiResponses, "grok-5", "system before after"),
        (
            "api.mistral.ai",
            OpenaiResponses,
            "mistral-large-4",
            "user inside pass",
        ),
        ("127.0.0.1", OpenaiResponses, "qwen3.8", "user inside pass"),
        // Claude: a system message where the model takes one, in every spelling of its name.
        (
            "api.anthropic.com",
            AnthropicMessages,
            "claude-opus-4-8",
            "system behind after",
        ),
        (
            "api.anthropic.com",
            AnthropicMessages,
            "claude-opus-5-20260801",
            "system behind after",
        ),
        (
            "api.anthropic.com",
            AnthropicMessages,
            "claude-opus-5-5",
            "system behind after b",
        ),
        (
            "api.anthropic.com",
            AnthropicMessages,
            "claude-fable-5",
            "system behind after",
        ),
        (
            "api.anthropic.com",
            AnthropicMessages,
            "claude-fable-5-20260301",
            "system behind after",
        ),
        (
            "api.anthropic.com",
            AnthropicMessages,
            "claude-fable-5-2-20261101",
            "system behind after b",
        ),
        (
            "api.anthropic.com",
            AnthropicMessages,
            "claude-fable-5-1-20260701",
            "system behind after b",
        ),
        (
            "api.anthropic.com",
            AnthropicMessages,
            "claude-sonnet-5-5",
            "system behind after b",
        ),
        (
            "api.anthropic.com",
            AnthropicMessages,
            "claude-haiku-5-5",
            "system behind after b",
        ),
        (
            vertex,
            AnthropicMessages,
            "claude-opus-5@20260801",
            "system behind after",
        ),
        (
            "aiplatform.googleapis.com",
            AnthropicMessages,
            "claude-opus-4-8@20260401",
            "system behind after",
        ),
        (
            "aiplatform.eu.rep.googleapis.com",
            AnthropicMessages,
            "claude-opus-5-5@20260901",
            "system behind after b",
        ),
        (
            bedrock,
            AnthropicMessages,
            "us.anthropic.claude-opus-5-20260801-v1:0",
            "system behind after",
        ),
        (
            "bedrock-mantle.us-east-1.api.aws",
            AnthropicMessages,
            "anthropic.claude-opus-5",
            "system behind after",
        ),
        (
            bedrock,
            BedrockConverse,
            "us.anthropic.claude-opus-5-v1:0",
            "system behind after",
        ),
        (
            bedrock,
            BedrockConverse,
            "global.anthropic.claude-fable-5-1-v1:0",
            "system behind after b",
        ),
        (
            bedrock,
            BedrockConverse,
            "arn:aws:bedrock:eu-central-1:1:inference-profile/eu.anthropic.claude-opus-4-8-v1:0",
            "system behind after",
        ),
        // Other Claude models and platforms, and look-alikes.
        (
            "api.anthropic.com",
            AnthropicMessages,
            "claude-sonnet-5",
            "user block after",
        ),
        (
            "api.anthropic.com",
            AnthropicMessages,
            "claude-opus-4-6",
            "user block after",
        ),
        (foundry, AnthropicMessages, "claude-opus-5", "user block after"),
        (
            "openrouter.ai",
            AnthropicMessages,
            "anthropic/claude-opus-4.8",
            "user block after",
        ),
        (
            "openrouter.ai",
            AnthropicMessages,
            "anthropic/claude-fable-5.1",
            "user block after b",
        ),
        (
            "api.githubcopilot.com",
            AnthropicMessages,
            "claude-opus-5",
            "user block after",
        ),
        (
            "api.deepseek.com",
            AnthropicMessages,
            "deepseek-v4-pro",
            "user block after",
        ),
        ("ollama", AnthropicMessages, "qwen3.8", "user block after"),
        (
            bedrock,
            BedrockConverse,
            "amazon.nova-pro-v1:0",
            "user block after",
        ),
        (
            bedrock,
            BedrockConverse,
            "eu.anthropic.claude-sonnet-4-6",
            "user block after",
        ),
        // Models that drop thinking at user text.
        (
            "api.anthropic.com",
            AnthropicMessages,
            "claude-sonnet-4-20250514",
            "user block wait",
        ),
        (
            "api.anthropic.com",
            AnthropicMessages,
            "claude-opus-4-1-20250805",
            "user block wait",
        ),
        (
            "api.anthropic.com",
            AnthropicMessages,
            "claude-3-5-haiku-latest",
            "user block wait",
        ),
        (
            vertex,
            AnthropicMessages,
            "claude-sonnet-4@20250514",
            "user block wait",
        ),
        (
            vertex,
            AnthropicMessages,
            "claude-sonnet-4-5@20250929",
            "user block wait",
        ),
        (
            bedrock,
            AnthropicMessages,
            "anthropic.claude-haiku-4-5-20251001-v1:0",
            "user block wait",
        ),
        (
            bedrock,
            BedrockConverse,
            "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
            "user block wait",
        ),
        (foundry, AnthropicMessages, "claude-sonnet-4-5", "user block wait"),
        (
            "openrouter.ai",
            AnthropicMessages,
            "anthropic/claude-sonnet-4.5",
            "user block wait",
        ),
        // Gemini has one way, and no place in a function-calling turn.
        (
            "generativelanguage.googleapis.com",
            Gemini,
            "gemini-3.5-flash",
            "part block pass",
        ),
        (vertex, Gemini, "gemini-2.5-pro", "part block pass"),
        // Strict and unknown templates.
        ("ollama", Ollama, "qwen3.8", "user inside pass"),
        ("ollama", OpenaiChat, "qwen3.8", "user inside pass"),
        ("127.0.0.1", OpenaiChat, "mistral-small", "user inside pass"),
        (
            "api.mistral.ai",
            OpenaiChat,
            "mistral-large-4",
            "user inside pass",
        ),
        ("api.groq.com", OpenaiChat, "llama-4", "user inside pass"),
        (
            "openrouter.ai",
            OpenaiChat,
            "anthropic/claude-opus-4.8",
            "user inside pass",
        ),
        (
            "api.githubcopilot.com",
            OpenaiChat,
            "claude-opus-5",
            "user inside pass",
        ),
    ] {
        let to = Destination { host, format, model };
        assert_eq!(told(to), expected, "{host} {format} {model}");
    }
}

/// Every row that is not the last resort has one behind it, for those that refuse.
#[test]
fn a_message_of_the_operators_has_a_reminder_behind_it() {
    let table: toml::Table = TABLE.parse().unwrap();
    for (number, row) in table["carriers"].as_array().unwrap().iter().enumerate() {
        let rows = row["rows"].as_array().unwrap();
        let last = rows.last().unwrap()["carrier"].as_str().unwrap();
        assert!(
            ["user_reminder", "text_part"].contains(&last),
            "carriers {number}"
        );
    }
}

#[test]
fn a_host_of_the_vendors_own_has_prices_and_others_have_no_facts_about_claude() {
    let route = |host, format, model| route(Destination { host, format, model });
    let messages = Format::AnthropicMessages;
    for (host, model, price) in [
        ("api.anthropic.com", "claude-opus-5", 0.1),
        (
            "us-east5-aiplatform.googleapis.com",
            "claude-opus-5-5@20260901",
            0.05,
        ),
        (
            "bedrock-runtime.us-east-1.amazonaws.com",
            "us.anthropic.claude-fable-5-1-v1:0",
            0.025,
        ),
    ] {
        let route = route(host, messages, model);
        assert_eq!(route.policy.prices, Some((price, 1.0)), "{host}");
        assert_eq!(route.policy.cache_ttl, Some(300), "{host}");
        assert!(route.cache.at_markers, "{host}");
    }
    // A server of open models that speaks the format caches without markers, for as long as it likes.
    let local = route("ollama", messages, "qwen3.8");
    assert_eq!(
        (
            local.policy.prices,
            local.policy.cache_ttl,
            local.cache.at_markers
        ),
        (None, None, false)
    );
    let minimum = |host, format, model| route(host, format, model).cache.minimum;
    assert_eq!(
        minimum("api.anthropic.com", messages, "claude-fable-5"),
        Some(512)
    );
    let bedrock = "bedrock-runtime.us-east-1.amazonaws.com";
    assert_eq!(
        minimum(bedrock, messages, "us.anthropic.claude-fable-5-v1:0"),
        Some(1024)
    );
    assert_eq!(
        minimum(
            bedrock,
            Format::BedrockConverse,
            "eu.anthropic.claude-opus-4-6-v1"
        ),
        Some(4096)
    );
    assert_eq!(minimum("h", Format::Gemini, "gemini-3.5-flash"), Some(4096));
}

#[test]
fn errors_of_real_servers_are_known() {
    let chat = Format::OpenaiChat;
    for (format, error) in [
        // Templates: Qwen, Mistral, Gemma, Llama; llama.cpp, vLLM, SGLang.
        (
            chat,
            r#"{"error":{"code":500,"message":"Jinja Exception: System message must be at the beginning."}}"#,
        ),
        (
            chat,
            r#"{"message":"Conversation roles must alternate user/assistant/user/assistant/..."}"#,
        ),
        (
            chat,
            r#"{"message":"After the optional system message, conversation roles must alternate user and assistant"}"#,
        ),
        (chat, r#"{"message":"System role not supported"}"#),
        (
            chat,
            r#"{"object":"error","message":"Unexpected message role.","type":"BadRequestError"}"#,
        ),
        (
            Format::OpenaiResponses,
            r#"{"message":"System message must be at the beginning."}"#,
        ),
        // APIs: OpenAI, DeepSeek, Mistral, Groq, Ollama.
        (
            chat,
            r#"{"error":{"message":"Unsupported value: 'messages[1].role' does not support 'system' with this model."}}"#,
        ),
        (
            chat,
            r#"{"error":{"message":"messages[1].role: unknown variant `developer`, expected one of `system`, `user`"}}"#,
        ),
        (
            chat,
            r#"{"object":"error","message":"Unexpected role 'system' after role 'assistant'","code":"3230"}"#,
        ),
        (
            chat,
            r#"{"error":{"message":"'messages.1' : discriminator property 'role' has invalid value"}}"#,
        ),
        (
            Format::OpenaiResponses,
            r#"{"error":{"message":"No tool output found for function call c1."}}"#,
        ),
        (
            Format::Ollama,
            r#"{"error":"invalid role: developer, must be one of [system, user, assistant, tool]"}"#,
        ),
        (
            Format::Gemini,
            r#"{"error":{"message":"Please use a valid role: user, model.","status":"INVALID_ARGUMENT"}}"#,
        ),
        (
            Format::AnthropicMessages,
            r#"{"error":{"message":"messages: Unexpected role \"system\". The Messages API accepts a top-level `system`"}}"#,
        ),
        (
            Format::AnthropicMessages,
            r#"{"error":{"message":"role 'system' is not supported on this model"}}"#,
        ),
        (
            Format::BedrockConverse,
            r#"{"message":"1 validation error detected: Value at 'messages.3.member.role' failed to satisfy constraint: Member must satisfy enum value set: [user, assistant]"}"#,
        ),
        (
            Format::BedrockConverse,
            r#"{"message":"A conversation must alternate between user and assistant roles."}"#,
        ),
    ] {
        let to = Destination {
            host: "h",
            format,
            model: "m",
        };
        assert!(route(to).refusal(error).is_some(), "{error}");
    }
    let unrelated = r#"{"error":{"message":"This model's maximum context length is 128000 tokens."}}"#;
    for format in Format::ALL {
        let to = Destination {
            host: "h",
            format,
            model: "m",
        };
        assert_eq!(route(to).refusal(unrelated), None);
    }
}

fn table() -> BTreeMap<String, Vec<Applies>> {
    let table: toml::Table = TABLE.parse().unwrap();
    let rows = |rows: toml::Value| rows.as_array().unwrap().iter().map(Applies::of).collect();
    table
        .into_iter()
        .map(|(fact, value)| (fact, rows(value)))
        .collect()
}

impl Applies {
    fn of(row: &toml::Value) -> Self {
        let list = |key: &str| match row.get(key) {
            Some(list) => list
                .as_array()
                .unwrap()
                .iter()
                .map(|text| text.as_str().unwrap().to_owned())
                .collect(),
            None => vec!["*".to_owned()],
        };
        Self {
            hosts: list("hosts"),
            format: row
                .get("format")
                .map(|format| format.as_str().unwrap().to_owned()),
            models: list("models"),
        }
    }

    /// Whether all that fits `host` and `model` of a later row fits this one.
    fn covers(&self, later: &Self, host: &str, model: &str) -> bool {
        (self.format.is_none() || self.format == later.format)
            && self.hosts.iter().any(|pattern| fits(pattern, host))
            && self.models.iter().any(|pattern| fits(pattern, model))
    }
}

/// Whether a text fits a pattern. A `*` of the text is fitted by one of the pattern only: then all that fits the text
/// fits the pattern.
fn fits(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((front, rest)) => text.strip_prefix(front).is_some_and(|left| {
            let mut tails = left.char_indices().map(|(at, _)| &left[at..]).chain([""]);
            tails.any(|tail| fits(rest, tail))
        }),
    }
}

fn route(to: Destination<'_>) -> Route {
    let choice = Choice {
        mode: Mode::InHistory,
        text: None,
        loopback: true,
    };
    Table::built_in().unwrap().route(to, choice, &[])
}

fn told(to: Destination<'_>) -> String {
    let policy = route(to).policy;
    let row = policy.rows[0];
    let words = [
        match row.carrier {
            Carrier::System => "system",
            Carrier::Developer => "developer",
            Carrier::UserReminder => "user",
            Carrier::TextPart => "part",
        },
        match row.placement {
            Placement::BeforeUserRun => "before",
            Placement::AfterUserTurn => "behind",
            Placement::BlockInUserTurn => "block",
            Placement::InsideUserMessage => "inside",
        },
        match row.tool_loop {
            ToolLoop::AfterResults => "after",
            ToolLoop::Wait => "wait",
            ToolLoop::Pass => "pass",
        },
    ];
    let binds = policy.binds_thinking.then_some("b");
    let leads = Table::built_in().unwrap().instructions_lead(to).then_some("i");
    words
        .into_iter()
        .chain(binds)
        .chain(leads)
        .collect::<Vec<_>>()
        .join(" ")
}
