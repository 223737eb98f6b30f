//! One SDK's script through the built binary, and what each of the three saw.

use std::path::{Path, PathBuf};

use inkfast::sim::{Answer, Config, Provider, Recorded};
use serde_json::Value;

use super::process::{Program, installed};
use super::script;
use crate::binary::Inkfast;

/// How an SDK is run, and what it can show.
#[derive(Clone)]
pub struct Sdk {
    pub language: Language,
    pub script: &'static str,
    /// Behind the base URL.
    pub arguments: &'static [&'static str],
    /// What its environment has, for it and for Inkfast.
    pub variables: &'static [(&'static str, &'static str)],
    pub inkfast_variables: &'static [(&'static str, &'static str)],
    /// The upstream's name and the host that it acts as.
    pub upstream: (&'static str, &'static str),
    /// More keys of the upstream.
    pub keys: &'static str,
    /// A path in the base URL.
    pub path: &'static str,
    pub provider: Config,
    /// The wire format, as metrics name it.
    pub format: &'static str,
    pub tells: Tells,
}

/// What answers of a format tell, and their SDKs show.
#[derive(Clone, Copy)]
pub struct Tells {
    pub thinking: bool,
    pub call_ids: bool,
    pub cached: Cached,
    pub written: bool,
    pub counts: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Cached {
    Always,
    IfAny,
    Never,
}

#[derive(Clone, Copy)]
pub enum Language {
    Python,
    Node,
}

/// What happened.
pub struct Run {
    pub sdk: Sdk,
    pub inkfast: Inkfast,
    /// What the provider was told to answer.
    pub sent: Vec<Answer>,
    /// What the SDK showed of each answer.
    pub seen: Vec<Value>,
    /// The prompts that were answered.
    pub recorded: Vec<Recorded>,
    /// How many requests there were in all, the upgrade to a WebSocket among them.
    pub requests: usize,
    _folder: tempfile::TempDir,
}

impl Sdk {
    pub fn python(script: &'static str) -> Self {
        Self::new(Language::Python, script)
    }

    pub fn node(script: &'static str) -> Self {
        Self::new(Language::Node, script)
    }

    fn new(language: Language, script: &'static str) -> Self {
        Self {
            language,
            script,
            arguments: &[],
            variables: &[],
            inkfast_variables: &[],
            upstream: ("openai", "api.openai.com"),
            keys: "",
            path: "",
            provider: Config::default(),
            format: "openai_chat",
            tells: Tells {
                thinking: false,
                call_ids: true,
                cached: Cached::Always,
                written: false,
                counts: false,
            },
        }
    }

    /// Runs it; none where its language is missing.
    pub fn run(self) -> Option<Run> {
        let (program, modules) = self.language.installed()?;
        let provider = Provider::start(self.provider.clone()).unwrap();
        let sent = script::answers(self.tells.thinking);
        sent.iter().cloned().for_each(|answer| provider.push(answer));
        let folder = tempfile::tempdir().unwrap();
        let inkfast = Inkfast::serve_with(folder.path(), &self.config(&provider), self.inkfast_variables);
        let home = folder.path().join("client");
        std::fs::create_dir(&home).unwrap();
        let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients");
        let program = Program::new(&program, &home)
            .env("NODE_PATH", modules)
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env("AWS_EC2_METADATA_DISABLED", "true");
        let program = self
            .variables
            .iter()
            .fold(program, |program, (name, value)| program.env(name, value));
        let output = program
            .arg(scripts.join(self.script))
            .arg(format!("{}{}", inkfast.proxy, self.path))
            .args(self.arguments)
            .output();
        let seen: Value = serde_json::from_str(&output).unwrap();
        let all = provider.recorded();
        assert!(all.iter().all(|recorded| recorded.status == 200));
        let upgrades = usize::from(all.iter().any(|recorded| recorded.method == "WS"));
        Some(Run {
            seen: seen["answers"].as_array().unwrap().clone(),
            requests: all.len() + upgrades,
            recorded: all
                .into_iter()
                .filter(|recorded| recorded.usage.is_some())
                .collect(),
            sdk: self,
            inkfast,
            sent,
            _folder: folder,
        })
    }

    fn config(&self, provider: &Provider) -> String {
        let (name, host) = self.upstream;
        // What is tested is not how fast this disk is.
        format!(
            "state_timeout = \"20s\"\n[upstreams.{name}]\nurl = \"{}\"\nacts_as = \"{host}\"\n{}\n",
            provider.url(),
            self.keys
        )
    }
}

impl Language {
    /// The program that runs scripts, and where node looks for modules.
    fn installed(self) -> Option<(PathBuf, PathBuf)> {
        match self {
            Self::Python => {
                let bin = installed("INKFAST_TEST_VENV")?;
                Some((bin.join("bin/python"), bin))
            }
            Self::Node => Some((PathBuf::from("node"), installed("INKFAST_TEST_NODE_MODULES")?)),
        }
    }
}
