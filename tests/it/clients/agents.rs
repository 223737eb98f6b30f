//! Real agents through the built binary: two turns with a tool call each, the second in a resumed session.

use std::path::{Path, PathBuf};

use inkfast::sim::{Answer, Config, Dialect, Provider, Recorded, Socket, Usage};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::process::{Program, installed};
use crate::binary::Inkfast;

const PROMPTS: [&str; 2] = ["Note a first line.", "Now a second one."];
const TEXTS: [&str; 2] = ["One line is there: “first”.", "Two lines now 🦀."];
const COMMANDS: [&str; 2] = [
    "echo first >> made.txt && cat made.txt",
    "echo second >> made.txt && cat made.txt",
];

#[test]
fn codex_on_a_websocket() {
    codex(Socket::default(), "WS");
}

#[test]
fn codex_where_websockets_are_refused() {
    let socket = Socket {
        refuse: true,
        ..Socket::default()
    };
    codex(socket, "POST");
}

fn codex(socket: Socket, method: &str) {
    let provider = Config {
        socket,
        ..Config::default()
    };
    let Some(stage) = Stage::set(provider, ("openai", "api.openai.com"), ("exec_command", "cmd")) else {
        return;
    };
    let settings = format!(
        "model = \"gpt-5.5\"\nopenai_base_url = \"{}/v1\"\ncheck_for_update_on_startup = false\n\
         [analytics]\nenabled = false\n",
        stage.inkfast.proxy
    );
    let home = stage.folder.path().join("codex");
    std::fs::create_dir(&home).unwrap();
    std::fs::write(home.join("config.toml"), settings).unwrap();
    let exec = |arguments: &[&str]| {
        let program = stage
            .program(Path::new("node"))
            .arg(stage.modules.join("@openai/codex/bin/codex.js"))
            .args(&["exec"])
            .args(arguments)
            .args(&[
                "--json",
                "--skip-git-repo-check",
                "--dangerously-bypass-approvals-and-sandbox",
            ]);
        let program = program
            .env("CODEX_HOME", &home)
            .env("CODEX_API_KEY", "sk-test-of-the-suite");
        events(&program.output())
    };
    let turns = [exec(&[PROMPTS[0]]), exec(&["resume", "--last", PROMPTS[1]])];
    for (turn, events) in turns.iter().enumerate() {
        let text = |event: &&Value| event["item"]["type"] == "agent_message";
        let texts: Vec<&Value> = events
            .iter()
            .filter(text)
            .map(|event| &event["item"]["text"])
            .collect();
        assert_eq!(texts, [TEXTS[turn]]);
    }
    // A frame that only warms the cache is answered with nothing, and no usage of the agent's.
    let recorded = stage.recorded();
    let answered = recorded
        .iter()
        .filter(|recorded| recorded.usage.unwrap().output > 0);
    let answered: Vec<Recorded> = answered.cloned().collect();
    assert_eq!(answered.len(), 4);
    assert!(recorded.iter().all(|recorded| recorded.method == method));
    // What it tells is of the whole session.
    tells(&turns[0], &answered[..2]);
    tells(&turns[1], &answered);
    stage.is_clean("openai_responses");
}

/// Codex's usage is the sum of these.
fn tells(events: &[Value], answered: &[Recorded]) {
    let done = events.iter().find(|event| event["type"] == "turn.completed");
    let told = &done.unwrap()["usage"];
    let sum = |of: fn(Usage) -> usize| answered.iter().map(|a| of(a.usage.unwrap())).sum::<usize>();
    assert_eq!(told["input_tokens"], sum(|usage| usage.total));
    assert_eq!(told["cached_input_tokens"], sum(|usage| usage.cached));
    assert_eq!(told["output_tokens"], sum(|usage| usage.output));
}

#[test]
fn opencode() {
    let provider = Config {
        dialect: Dialect::DeepSeek,
        ..Config::default()
    };
    let Some(stage) = Stage::set(provider, ("deepseek", "api.deepseek.com"), ("bash", "command")) else {
        return;
    };
    let settings = json!({
        "autoupdate": false,
        "share": "disabled",
        "model": "test/deepseek-chat",
        // Its request would come at any time.
        "agent": {"title": {"disable": true}},
        "provider": {"test": {
            "npm": "@ai-sdk/openai-compatible",
            "options": {"baseURL": format!("{}/deepseek/v1", stage.inkfast.proxy), "apiKey": "sk-test-of-the-suite"},
            "models": {"deepseek-chat": {}},
        }},
    });
    std::fs::write(stage.work.join("opencode.json"), settings.to_string()).unwrap();
    // The package of that name only chooses among the platforms' binaries, in an install script; this is the pinned one.
    let binary = stage.modules.join("opencode-linux-x64-baseline/bin/opencode");
    let run = |arguments: &[&str]| {
        let program = stage
            .program(&binary)
            .args(&["run", "--format", "json"])
            .args(arguments);
        let off = ["AUTOUPDATE", "MODELS_FETCH", "DEFAULT_PLUGINS", "LSP_DOWNLOAD"];
        let program = off.iter().fold(program, |program, what| {
            program.env(&format!("OPENCODE_DISABLE_{what}"), "1")
        });
        events(&program.output())
    };
    let turns = [run(&[PROMPTS[0]]), run(&["--continue", PROMPTS[1]])];
    let recorded = stage.recorded();
    assert_eq!(recorded.len(), 4);
    for (turn, events) in turns.iter().enumerate() {
        let of = |kind: &str| -> Vec<&Value> {
            let parts = events.iter().filter(|event| event["type"] == kind);
            parts.map(|event| &event["part"]).collect()
        };
        let texts: Vec<&Value> = of("text").iter().map(|part| &part["text"]).collect();
        assert_eq!(texts, [TEXTS[turn]]);
        for (step, recorded) in of("step_finish").iter().zip(&recorded[2 * turn..]) {
            let (tokens, usage) = (&step["tokens"], recorded.usage.unwrap());
            assert_eq!(tokens["total"], usage.total + usage.output);
            assert_eq!(tokens["cache"]["read"], usage.cached);
            assert_eq!(tokens["output"], usage.output);
        }
        assert_eq!(of("step_finish").len(), 2);
    }
    stage.is_clean("openai_chat");
}

/// A provider with a script, Inkfast before it, and a folder for the agent.
struct Stage {
    provider: Provider,
    inkfast: Inkfast,
    modules: PathBuf,
    /// Where the agent works.
    work: PathBuf,
    folder: TempDir,
}

impl Stage {
    /// None where node's modules are missing. `tool` is the name of the agent's shell and of its parameter.
    fn set(provider: Config, (name, host): (&str, &str), (tool, parameter): (&str, &str)) -> Option<Self> {
        let modules = installed("INKFAST_TEST_NODE_MODULES")?;
        let provider = Provider::start(provider).unwrap();
        for (turn, (command, text)) in COMMANDS.into_iter().zip(TEXTS).enumerate() {
            provider.push(Answer::call(
                &format!("call_{turn}"),
                tool,
                json!({parameter: command, "description": "Appends a line"}),
            ));
            provider.push(Answer::text(text));
        }
        let folder = tempfile::tempdir().unwrap();
        let config = format!(
            "state_timeout = \"20s\"\n[upstreams.{name}]\nurl = \"{}\"\nacts_as = \"{host}\"\n",
            provider.url()
        );
        let work = folder.path().join("work");
        std::fs::create_dir(&work).unwrap();
        Some(Self {
            inkfast: Inkfast::serve(folder.path(), &config),
            provider,
            modules,
            work,
            folder,
        })
    }

    fn program(&self, path: &Path) -> Program {
        Program::new(path, self.folder.path()).current_dir(&self.work)
    }

    /// The requests that ask the model for something.
    fn recorded(&self) -> Vec<Recorded> {
        let recorded = self.provider.recorded().into_iter();
        recorded.filter(|recorded| recorded.usage.is_some()).collect()
    }

    /// The tools ran; what was sent only grew, so nothing was added to it; the provider's numbers are counted.
    fn is_clean(&self, format: &str) {
        assert_eq!(
            std::fs::read_to_string(self.work.join("made.txt")).unwrap(),
            "first\nsecond\n"
        );
        let recorded = self.recorded();
        assert!(recorded.iter().all(|recorded| recorded.status == 200));
        self.inkfast.wait_for_requests(recorded.len());
        let count = |name: &str, label: &str| self.inkfast.metric(name, &[label]) as usize;
        for name in [
            "inkfast_nodes_total",
            "inkfast_breaks_total",
            "inkfast_client_breaks_total",
        ] {
            assert_eq!(count(name, ""), 0, "{name}\n{}", self.inkfast.log());
        }
        let sum = |of: fn(&Recorded) -> usize| recorded.iter().map(of).sum::<usize>();
        let read = count("inkfast_input_tokens_total", "cache=\"read\"");
        assert_eq!(read, sum(|recorded| recorded.usage.unwrap().cached));
        let all = count("inkfast_input_tokens_total", "");
        assert_eq!(all, sum(|recorded| recorded.usage.unwrap().total));
        let format = format!("format=\"{format}\"");
        assert!(count("inkfast_requests_total", &format) >= recorded.len());
    }
}

/// One event a line; other lines are for people.
fn events(output: &str) -> Vec<Value> {
    output
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect()
}
