//! `inkfast probe`, the built binary, against simulated providers whose behaviour is known: it must tell the truth about
//! each, and print rows that a table of routes takes.

mod obedience;
mod platforms;

use std::process::{Command, Output};

use inkfast::ledger::{Learned, Ledger};
use inkfast::prefix::policy::{Carrier, Mode, Row, ToolLoop};
use inkfast::route::{Choice, Destination, Finding, Table};
use inkfast::sim::{Answer, AwsKey, Config, LaterSystem, Provider};
use inkfast::wire::format::Format;
use serde_json::{Value, json};

const GPT: &str = "gpt-4.1";
const CLAUDE: &str = "claude-opus-4-8";
const ON_BEDROCK: &str = "us.anthropic.claude-opus-4-8-v1:0";

/// The formats whose updates may be a message of the operator's, a model that takes it, and the carrier.
const WITH_MESSAGES: [(Format, &str, &str); 6] = [
    (Format::OpenaiChat, GPT, "system"),
    (Format::OpenaiResponses, GPT, "developer"),
    (Format::OpenaiResponses, "gpt-6.2", "developer"),
    (Format::AnthropicMessages, CLAUDE, "system"),
    (Format::BedrockConverse, ON_BEDROCK, "system"),
    (Format::Ollama, "qwen3", "system"),
];

#[test]
fn later_system_messages_in_place_are_found_and_preferred() {
    for (format, model, carrier) in WITH_MESSAGES {
        let found = found(LaterSystem::InPlace, format, model);
        for row in [carrier, "user_reminder"] {
            let row = found.row(row);
            assert_eq!(row["accepted"]["is"], "yes", "{format} {row}");
            assert_eq!(row["obeyed"], "new", "{format} {row}");
            assert_eq!(row["kept"]["is"], counted(format, "yes"), "{format} {row}");
            assert_eq!(row["in_loop"], "obeyed", "{format} {row}");
        }
        let names: Vec<_> = found.carriers().into_iter().map(name).collect();
        // What the table lacks is only offered where all is proven.
        let expected = [carrier, "user_reminder"];
        assert_eq!(
            names,
            expected[usize::from(format == Format::Ollama)..],
            "{format}"
        );
        assert!(
            found
                .loops()
                .iter()
                .all(|tool_loop| *tool_loop == ToolLoop::AfterResults),
            "{}",
            found.toml
        );
    }
}

fn name(carrier: Carrier) -> String {
    serde_json::to_value(carrier)
        .unwrap()
        .as_str()
        .unwrap()
        .to_owned()
}

/// Ollama counts no cached tokens.
fn counted(format: Format, kept: &str) -> &str {
    if format == Format::Ollama { "unknown" } else { kept }
}

#[test]
fn a_hoisted_update_is_obeyed_and_yet_no_good() {
    for (format, model, carrier) in WITH_MESSAGES {
        let found = found(LaterSystem::Hoist, format, model);
        let row = found.row(carrier);
        assert_eq!(row["accepted"]["is"], "yes", "{format} {row}");
        assert_eq!(row["obeyed"], "new", "{format} {row}");
        assert_eq!(row["kept"]["is"], counted(format, "no"), "{format} {row}");
        assert_eq!(found.row("user_reminder")["obeyed"], "new", "{format}");
        assert_eq!(found.carriers(), [Carrier::UserReminder], "{format}");
    }
}

#[test]
fn a_dropped_update_is_told_from_a_disobeyed_one() {
    for (format, model, carrier) in WITH_MESSAGES {
        let found = found(LaterSystem::Drop, format, model);
        let row = found.row(carrier);
        assert_eq!(row["accepted"]["is"], "yes", "{format} {row}");
        assert_eq!(row["obeyed"], "dropped", "{format} {row}");
        assert_eq!(found.row("user_reminder")["obeyed"], "new", "{format}");
        assert_eq!(found.carriers(), [Carrier::UserReminder], "{format}");
    }
}

#[test]
fn a_refusal_is_shown_with_its_status_and_the_pattern_that_it_matches() {
    for status in [400, 500] {
        let found = found(LaterSystem::Strict { status }, Format::OpenaiChat, GPT);
        let accepted = &found.row("system")["accepted"];
        let pattern = "system message must be at the beginning";
        let class = if status == 400 {
            "invalid_request_error"
        } else {
            "server_error"
        };
        assert_eq!(
            *accepted,
            json!({"is": "no", "status": status, "class": class, "pattern": pattern})
        );
        assert_eq!(found.carriers(), [Carrier::UserReminder]);
    }
}

#[test]
fn a_strict_template_or_an_older_model_refuses_in_every_format() {
    let strict = LaterSystem::Strict { status: 400 };
    for (later_system, format, model) in [
        // A head in `instructions` leaves a later message of the developer the only one.
        (strict, Format::OpenaiResponses, GPT),
        (strict, Format::OpenaiResponses, "qwen3"),
        (strict, Format::AnthropicMessages, CLAUDE),
        (strict, Format::BedrockConverse, ON_BEDROCK),
        (strict, Format::Ollama, "qwen3"),
        (
            LaterSystem::InPlace,
            Format::AnthropicMessages,
            "claude-sonnet-4-5",
        ),
        (
            LaterSystem::InPlace,
            Format::BedrockConverse,
            "eu.anthropic.claude-sonnet-4-6",
        ),
    ] {
        let found = found(later_system, format, model);
        let operators = found
            .rows
            .iter()
            .find(|row| row["row"]["carrier"] != "user_reminder")
            .unwrap();
        let accepted = &operators["accepted"];
        assert_eq!(
            (
                &accepted["is"],
                &accepted["status"],
                accepted["pattern"].is_string()
            ),
            // Bedrock renders no templates of its users' own.
            (
                &json!("no"),
                &json!(400),
                format != Format::BedrockConverse || later_system != strict
            ),
            "{format} {model} {accepted}"
        );
        assert_eq!(operators["in_loop"], "unasked");
        assert_eq!(found.row("user_reminder")["obeyed"], "new", "{format} {model}");
        assert_eq!(found.carriers(), [Carrier::UserReminder], "{format} {model}");
    }
}

#[test]
fn gemini_reads_an_update_in_the_users_content_whatever_its_template_does() {
    for model in ["gemini-3.5-flash", "gemini-2.5-pro"] {
        for later_system in [
            LaterSystem::InPlace,
            LaterSystem::Hoist,
            LaterSystem::Strict { status: 400 },
        ] {
            let provider = Provider::start(obedient(later_system)).unwrap();
            let found = Found::of(&provider, Format::Gemini, model, &["--tokens", "4200"]);
            let row = found.row("text_part");
            assert_eq!(
                (&row["obeyed"], &row["kept"]["is"]),
                (&json!("new"), &json!("yes")),
                "{row}"
            );
            // Where it would begin a new turn it is not asked about.
            assert_eq!(
                (&row["in_loop"], found.loops()),
                (&json!("unasked"), vec![ToolLoop::Pass])
            );
            assert_eq!(found.carriers(), [Carrier::TextPart]);
            let asked = provider.recorded();
            assert_eq!(asked[0].target, format!("/v1beta/models/{model}:generateContent"));
        }
    }
}

#[test]
fn a_template_that_takes_no_second_user_message_has_no_place_in_a_tool_loop() {
    let alternate = LaterSystem::Alternate { status: 400 };
    let provider = Provider::start(obedient(alternate)).unwrap();
    let found = Found::of(&provider, Format::OpenaiChat, GPT, &[]);
    assert_eq!(found.row("user_reminder")["obeyed"], "new");
    let roles = |body: &[u8]| {
        let body: Value = serde_json::from_slice(body).unwrap();
        let messages = body["messages"].as_array().unwrap().clone();
        messages
            .iter()
            .map(|message| message["role"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    let last = roles(&provider.recorded().last().unwrap().body);
    assert_eq!(last[last.len() - 3..], ["assistant", "tool", "user"]);
    // That template sees the tool's message between them, so the form is taken.
    assert_eq!(found.row("user_reminder")["in_loop"], "obeyed");
    assert_eq!(found.loops(), [ToolLoop::AfterResults]);
}

#[test]
fn an_update_that_is_refused_in_a_tool_loop_gets_no_place_there() {
    let provider = Provider::start(Config::default()).unwrap();
    let [old, new] = ["Yes. MARIGOLD", "Yes. KESTREL"].map(|text| move || Answer::text(text));
    let trial = || [old(), old(), new(), old()];
    // The system message is obeyed in the tool loop, too; the reminder is taken everywhere but there.
    trial().into_iter().for_each(|answer| provider.push(answer));
    provider.push(new());
    trial().into_iter().for_each(|answer| provider.push(answer));
    provider.push(Answer::error(400, "Not behind tool results."));
    let found = Found::of(&provider, Format::AnthropicMessages, CLAUDE, &[]);
    assert_eq!(found.row("system")["in_loop"], "obeyed");
    assert_eq!(found.row("user_reminder")["in_loop"], "refused");
    assert_eq!(found.loops(), [ToolLoop::AfterResults, ToolLoop::Pass]);
    assert_eq!(provider.recorded().len(), 10);
}

#[test]
fn what_the_provider_does_not_count_or_cache_is_unknown_and_not_zero() {
    let provider = Provider::start(Config {
        minimum: Some(1_000_000),
        ..obedient(LaterSystem::InPlace)
    })
    .unwrap();
    let kept = |found: &Found| found.row("user_reminder")["kept"].clone();
    let uncached = Found::of(&provider, Format::OpenaiChat, GPT, &[]);
    assert_eq!(kept(&uncached), json!({"is": "unknown", "why": "no_cache"}));
    let answer =
        json!({"choices": [{"message": {"role": "assistant", "content": "Yes."}, "finish_reason": "stop"}]});
    (0..6).for_each(|_| provider.push(Answer::raw(answer.to_string())));
    let uncounted = Found::of(&provider, Format::OpenaiChat, GPT, &[]);
    assert_eq!(kept(&uncounted), json!({"is": "unknown", "why": "uncounted"}));
}

#[test]
fn prompts_are_as_long_as_asked_for_and_share_no_beginning() {
    let provider = Provider::start(obedient(LaterSystem::InPlace)).unwrap();
    Found::of(&provider, Format::OpenaiChat, GPT, &["--tokens", "4096"]);
    let recorded = provider.recorded();
    assert_eq!(recorded.len(), 10);
    let (trials, loops): (Vec<_>, Vec<_>) = recorded
        .iter()
        .map(|request| request.usage.unwrap())
        .partition(|usage| usage.total >= 4096);
    assert_eq!((trials.len(), loops.len()), (6, 4));
    assert_eq!([0, 3].map(|first| trials[first].cached), [0, 0]);
}

#[test]
fn what_is_probed_is_a_node_behind_a_frozen_head() {
    let provider = Provider::start(obedient(LaterSystem::InPlace)).unwrap();
    Found::of(&provider, Format::OpenaiChat, GPT, &[]);
    let bodies = provider.recorded();
    let body =
        |number: usize| serde_json::from_slice::<Value>(&bodies[number].body).unwrap()["messages"].clone();
    let (first, told) = (body(0), body(2));
    assert_eq!((&first[0], &first[1]), (&told[0], &told[1]));
    let roles: Vec<_> = told
        .as_array()
        .unwrap()
        .iter()
        .map(|message| message["role"].as_str().unwrap())
        .collect();
    assert_eq!(roles, ["system", "user", "assistant", "system", "user"]);
    assert!(told[3]["content"].as_str().unwrap().contains("KESTREL"));
    assert!(!told[3]["content"].as_str().unwrap().contains("MARIGOLD"));
}

#[test]
fn a_host_that_names_another_limit_gets_that_one() {
    let provider = Provider::start(obedient(LaterSystem::InPlace)).unwrap();
    let refusal = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.";
    provider.push(Answer::error(400, refusal));
    Found::of(&provider, Format::OpenaiChat, GPT, &["--max-tokens", "77"]);
    let bodies: Vec<_> = provider
        .recorded()
        .iter()
        .map(|request| request.body.clone())
        .collect();
    let limit = |body: &[u8]| serde_json::from_slice::<Value>(body).unwrap()["max_completion_tokens"].clone();
    assert_eq!(bodies.len(), 11);
    assert!(bodies[1..].iter().all(|body| limit(body) == 77));
}

#[test]
fn the_text_is_a_table_of_routes_too() {
    let provider = Provider::start(obedient(LaterSystem::Hoist)).unwrap();
    let output = probe(
        &[],
        &[
            "--upstream",
            &provider.url(),
            "--model",
            GPT,
            "--state",
            "memory:",
        ],
    );
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert_eq!(carriers(&text, Format::OpenaiChat, GPT), [Carrier::UserReminder]);
    let line = text
        .lines()
        .find(|line| line.starts_with("# system, before_user_run"))
        .unwrap();
    assert!(
        line.contains(" yes ") && line.contains("no, 0 tokens cached"),
        "{text}"
    );
    assert!(text.contains("source = \"inkfast probe\"\ndate = \"20"), "{text}");
}

#[test]
fn the_ledger_forgets_what_it_had_learned_and_hears_what_does_not_work() {
    let provider = Provider::start(obedient(LaterSystem::Strict { status: 400 })).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let [ledger, table, config] =
        ["ledger.sqlite", "routes.toml", "inkfast.toml"].map(|name| folder.path().join(name));
    let rows = "[[carriers]]\nformat = \"openai_chat\"\nsource = \"s\"\ndate = \"2026-11-30\"\nrows = [\n\
                { carrier = \"system\", placement = \"before_user_run\", tool_loop = \"pass\" },\n\
                { carrier = \"user_reminder\", placement = \"inside_user_message\", tool_loop = \"pass\" },\n]\n";
    std::fs::write(&table, rows).unwrap();
    let text = format!(
        "routes = {table:?}\n[upstreams.mine]\nurl = \"{}\"\n",
        provider.url()
    );
    std::fs::write(&config, text).unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let route = format!("mine/openai_chat/{GPT}");
    let reminder = "user_reminder/inside_user_message/pass".to_owned();
    let wrong = Learned::new(reminder, Finding::Hoisted, u64::MAX / 2);
    runtime.block_on(async {
        let ledger = Ledger::open(&ledger).unwrap();
        ledger.learn(&route, wrong).await.unwrap();
        ledger.close().await;
    });
    let state = format!("sqlite:{}", ledger.display());
    let own = ["--config", config.to_str().unwrap(), "--state", &state];
    let output = probe(
        &[],
        &[&["--upstream", &provider.url(), "--model", GPT][..], &own].concat(),
    );
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let learned = runtime.block_on(async { Ledger::open(&ledger).unwrap().learned(&route).await.unwrap() });
    let learned: Vec<_> = learned
        .iter()
        .map(|note| (note.row.as_str(), note.finding))
        .collect();
    assert_eq!(learned, [("system/before_user_run/pass", Finding::Refused)]);
}

#[test]
fn an_upstream_that_answers_nothing_is_code_1_and_bad_usage_code_2() {
    let closed = Provider::start(Config::default()).unwrap().url();
    let provider = Provider::start(Config::default()).unwrap();
    let code = |url: &str, more: &[&str]| {
        let output = probe(
            &[("SECRET_OF_MINE", "sk-very-secret")],
            &[&["--upstream", url, "--model", GPT][..], more].concat(),
        );
        let printed = [&output.stdout[..], &output.stderr[..]].concat();
        let printed = String::from_utf8(printed).unwrap();
        assert!(
            !printed.contains("sk-very-secret") && !printed.is_empty(),
            "{printed}"
        );
        output.status.code()
    };
    assert_eq!(code(&closed, &[]), Some(1));
    provider.push(Answer::error(401, "Incorrect API key provided: sk-very-secret"));
    assert_eq!(code(&provider.url(), &["--key-env", "SECRET_OF_MINE"]), Some(1));
    let key = &provider.recorded()[0].headers;
    assert!(
        key.iter()
            .any(|(name, value)| name == "authorization" && value == "Bearer sk-very-secret")
    );
    for bad in [
        &["--key-env", "NO_SUCH_VARIABLE_HERE"][..],
        &["--wire", "smoke_signals"],
        &["--header", "no colon"],
        &["--tokens", "many"],
        &["--state", "redis://h"],
    ] {
        assert_eq!(code(&provider.url(), bad), Some(2), "{bad:?}");
    }
    assert_eq!(code("127.0.0.1:1", &[]), Some(2));
    assert_eq!(code("http://user:pass@127.0.0.1:1", &[]), Some(2));
}

/// What a probe found.
struct Found {
    rows: Vec<Value>,
    toml: String,
    format: Format,
    model: String,
}

fn found(later_system: LaterSystem, format: Format, model: &str) -> Found {
    let provider = Provider::start(obedient(later_system)).unwrap();
    Found::of(&provider, format, model, &[])
}

fn obedient(later_system: LaterSystem) -> Config {
    Config {
        later_system,
        obeys_codewords: true,
        ..Config::default()
    }
}

impl Found {
    fn of(provider: &Provider, format: Format, model: &str, more: &[&str]) -> Self {
        let url = provider.url();
        let common = ["--upstream", &url, "--model", model, "--wire", format.as_str()];
        let output = probe(
            &[],
            &[&common[..], &["--format", "json", "--state", "memory:"], more].concat(),
        );
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        Self {
            rows: report["rows"].as_array().unwrap().clone(),
            toml: report["toml"].as_str().unwrap().to_owned(),
            format,
            model: model.to_owned(),
        }
    }

    fn row(&self, carrier: &str) -> &Value {
        self.rows
            .iter()
            .find(|row| row["row"]["carrier"] == carrier)
            .unwrap()
    }

    /// What the printed rows say of tool loops.
    fn loops(&self) -> Vec<ToolLoop> {
        let rows = rows(&self.toml, self.format, &self.model);
        rows.iter().map(|row| row.tool_loop).collect()
    }

    /// The carriers that a route has once the printed table is laid over the built-in one.
    fn carriers(&self) -> Vec<Carrier> {
        carriers(&self.toml, self.format, &self.model)
    }
}

fn carriers(table: &str, format: Format, model: &str) -> Vec<Carrier> {
    rows(table, format, model).iter().map(|row| row.carrier).collect()
}

fn rows(table: &str, format: Format, model: &str) -> Vec<Row> {
    let table = Table::built_in().unwrap().with(table).unwrap();
    let to = Destination {
        host: "127.0.0.1",
        format,
        model,
    };
    let choice = Choice {
        mode: Mode::InHistory,
        text: None,
        loopback: true,
    };
    table.route(to, choice, &[]).policy.rows
}

fn probe(variables: &[(&str, &str)], arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_inkfast"));
    command
        .arg("probe")
        .args(arguments)
        .env_remove("OPENAI_API_KEY")
        .env_remove("ANTHROPIC_API_KEY")
        .env_remove("AWS_BEARER_TOKEN_BEDROCK");
    command.envs(variables.iter().copied()).output().unwrap()
}
