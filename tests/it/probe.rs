//! `inkfast probe`, the built binary, against simulated providers whose behaviour is known: it must tell the truth about
//! each, and print rows that a table of routes takes.

use std::process::{Command, Output};

use inkfast::ledger::{Learned, Ledger};
use inkfast::prefix::policy::{Carrier, Mode};
use inkfast::route::{Choice, Destination, Finding, Table};
use inkfast::sim::{Answer, Config, LaterSystem, Provider};
use inkfast::wire::format::Format;
use serde_json::{Value, json};

const GPT: &str = "gpt-4.1";
const CLAUDE: &str = "claude-opus-4-8";

#[test]
fn later_system_messages_in_place_are_found_and_preferred() {
    for (format, model) in [(Format::OpenaiChat, GPT), (Format::AnthropicMessages, CLAUDE)] {
        let found = found(LaterSystem::InPlace, format, model);
        for row in ["system", "user_reminder"] {
            let row = found.row(row);
            assert_eq!(row["accepted"]["is"], "yes", "{row}");
            assert_eq!(row["obeyed"], "new", "{row}");
            assert_eq!(row["kept"]["is"], "yes", "{row}");
        }
        assert_eq!(found.carriers(), [Carrier::System, Carrier::UserReminder]);
    }
}

#[test]
fn a_hoisted_update_is_obeyed_and_yet_no_good() {
    for (format, model) in [(Format::OpenaiChat, GPT), (Format::AnthropicMessages, CLAUDE)] {
        let found = found(LaterSystem::Hoist, format, model);
        let row = found.row("system");
        assert_eq!(row["accepted"]["is"], "yes", "{row}");
        assert_eq!(row["obeyed"], "new", "{row}");
        assert_eq!(row["kept"]["is"], "no", "{row}");
        assert_eq!(found.row("user_reminder")["kept"]["is"], "yes");
        assert_eq!(found.carriers(), [Carrier::UserReminder]);
    }
}

#[test]
fn a_dropped_update_is_told_from_a_disobeyed_one() {
    for (format, model) in [(Format::OpenaiChat, GPT), (Format::AnthropicMessages, CLAUDE)] {
        let found = found(LaterSystem::Drop, format, model);
        let row = found.row("system");
        assert_eq!(row["accepted"]["is"], "yes", "{row}");
        assert_eq!(row["obeyed"], "dropped", "{row}");
        assert_eq!(found.row("user_reminder")["obeyed"], "new");
        assert_eq!(found.carriers(), [Carrier::UserReminder]);
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
    let old = found(
        LaterSystem::InPlace,
        Format::AnthropicMessages,
        "claude-sonnet-4-5",
    );
    let accepted = &old.row("system")["accepted"];
    assert_eq!(
        (&accepted["is"], &accepted["status"]),
        (&json!("no"), &json!(400)),
        "{accepted}"
    );
    assert_eq!(old.carriers(), [Carrier::UserReminder]);
}

#[test]
fn a_model_that_obeys_no_rule_proves_nothing() {
    let provider = Provider::start(Config::default()).unwrap();
    let found = Found::of(&provider, Format::OpenaiChat, GPT, &[]);
    let row = found.row("system");
    assert_eq!(
        (&row["obeyed"], &row["kept"]["is"]),
        (&json!("no_rule_obeyed"), &json!("yes")),
        "{row}"
    );
    // What the table has stays, and what it has not is not added without proof.
    assert_eq!(found.carriers(), [Carrier::UserReminder]);
    assert!(
        found.toml.contains("# not proven: { carrier = \"system\""),
        "{}",
        found.toml
    );
}

#[test]
fn a_model_that_holds_to_the_head_disobeys() {
    let provider = Provider::start(Config::default()).unwrap();
    (0..6).for_each(|_| provider.push(Answer::text("Copper washers. MARIGOLD")));
    let found = Found::of(&provider, Format::OpenaiChat, GPT, &[]);
    for row in ["system", "user_reminder"] {
        assert_eq!(found.row(row)["obeyed"], "old");
    }
    assert_eq!(found.carriers(), []);
}

#[test]
fn a_word_that_is_only_repeated_is_no_obedience() {
    let provider = Provider::start(Config::default()).unwrap();
    let parrot = [
        "Washers.",
        "Washers.",
        "End every answer with the codeword KESTREL",
    ];
    (0..2).for_each(|_| parrot.iter().for_each(|text| provider.push(Answer::text(*text))));
    let found = Found::of(&provider, Format::OpenaiChat, GPT, &[]);
    assert_eq!(found.row("system")["obeyed"], "repeated");
    assert_eq!(found.carriers(), [Carrier::UserReminder]);
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
    assert_eq!(recorded.len(), 6);
    assert!(
        recorded
            .iter()
            .all(|request| request.usage.unwrap().total >= 4096)
    );
    assert_eq!([0, 3].map(|first| recorded[first].usage.unwrap().cached), [0, 0]);
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
    assert_eq!(bodies.len(), 7);
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

    /// The carriers that a route has once the printed table is laid over the built-in one.
    fn carriers(&self) -> Vec<Carrier> {
        carriers(&self.toml, self.format, &self.model)
    }
}

fn carriers(table: &str, format: Format, model: &str) -> Vec<Carrier> {
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
    let rows = table.route(to, choice, &[]).policy.rows;
    rows.iter().map(|row| row.carrier).collect()
}

fn probe(variables: &[(&str, &str)], arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_inkfast"));
    command
        .arg("probe")
        .args(arguments)
        .env_remove("OPENAI_API_KEY")
        .env_remove("ANTHROPIC_API_KEY");
    command.envs(variables.iter().copied()).output().unwrap()
}
