//! The command line: what was typed becomes a configuration and one command; its result becomes the exit
//! code.
//!
//! 0 is good, 1 a gate that failed, 2 bad usage or configuration. Results go to standard output, all else to
//! standard error.

mod audit;
mod demo;
mod logging;
mod probe;
mod reporting;
mod run;
mod serve;

use std::{
    error::Error,
    io::{self, Write},
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::{Args, Parser, Subcommand};

use crate::config::{
    Config, ConfigError, EXAMPLE, LogFormat, LogLevel, Mode, Partial, PartialUpstream, State,
};

/// The exit code of bad usage and bad configuration, which is also clap's.
const BAD_USAGE: u8 = 2;

/// Keeps the prompts that an agent has already sent as they were sent, so that prefix caches keep hitting.
#[derive(Parser)]
#[command(name = "inkfast", version, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Serve agents: forward their requests to their providers.
    Serve(Flags),
    /// Run a command whose agent goes through Inkfast, and report on its prefixes when it ends.
    Run(run::Run),
    /// Judge recorded requests: what of each prompt stood, what broke, why, and what it cost.
    Audit(audit::Audit),
    /// Watch a scripted agent, straight and through Inkfast, against a simulated provider.
    Demo(demo::Demo),
    /// Ask an upstream how an update of the system prompt may travel: accepted? obeyed? kept in place?
    Probe(probe::Probe),
    /// Show or check a configuration.
    #[command(subcommand)]
    Config(ConfigCommand),
}

#[derive(Subcommand)]
enum ConfigCommand {
    /// Print every key with its default.
    Example,
    /// Check a file; says what is wrong with it.
    Check {
        /// The file.
        file: PathBuf,
    },
}

/// Flags win over the file.
#[derive(Args)]
struct Flags {
    /// A configuration file; `inkfast config example` prints one.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Where agents connect [default: 127.0.0.1:4640].
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<std::net::SocketAddr>,
    /// Where metrics and health are served [default: 127.0.0.1:4641].
    #[arg(long, value_name = "ADDRESS")]
    admin: Option<std::net::SocketAddr>,
    /// Add or replace an upstream; may be given many times.
    #[arg(long = "upstream", value_name = "NAME=URL", value_parser = upstream)]
    upstreams: Vec<(String, PartialUpstream)>,
    /// The upstream of requests that name no other [default: openai].
    #[arg(long, value_name = "NAME")]
    default_upstream: Option<String>,
    /// Where what was sent is remembered: sqlite:PATH or memory:.
    #[arg(long, value_name = "URL")]
    state: Option<State>,
    /// Add every exchange, prompts and answers in full but no key, to this file, for `inkfast audit`.
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Whether anything is rewritten [default: in-history].
    #[arg(long)]
    mode: Option<Mode>,
    /// For people or for machines [default: text].
    #[arg(long)]
    log_format: Option<LogFormat>,
    /// The least important level that is logged [default: info].
    #[arg(long)]
    log_level: Option<LogLevel>,
}

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Serve(flags) => flags.config().map_err(Into::into).and_then(serve::run),
        Command::Run(run) => match run::run(run) {
            Ok(code) => return ExitCode::from(code),
            Err(error) => Err(error),
        },
        Command::Audit(given) => match audit::run(given) {
            Ok(false) => return ExitCode::FAILURE,
            judged => judged.map(drop),
        },
        Command::Demo(demo) => match demo::run(&demo) {
            Ok(false) => return ExitCode::FAILURE,
            shown => shown.map(drop),
        },
        Command::Probe(probe) => match probe::run(&probe) {
            Ok(false) => return ExitCode::FAILURE,
            answered => answered.map(drop),
        },
        Command::Config(ConfigCommand::Example) => print(EXAMPLE),
        Command::Config(ConfigCommand::Check { file }) => check(&file),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "inkfast: {error}");
            ExitCode::from(BAD_USAGE)
        }
    }
}

impl Flags {
    fn config(self) -> Result<Config, ConfigError> {
        let file = self.file()?;
        Config::new(file.overlaid_by(self.given()))
    }

    /// What the file says.
    fn file(&self) -> Result<Partial, ConfigError> {
        let file = self.config.as_deref().map(Partial::read).transpose()?;
        Ok(file.unwrap_or_default())
    }

    /// What the flags say.
    fn given(self) -> Partial {
        Partial {
            listen: self.listen,
            admin: self.admin,
            upstreams: self.upstreams.into_iter().collect(),
            default_upstream: self.default_upstream,
            state: self.state,
            record: self.record,
            mode: self.mode,
            log_format: self.log_format,
            log_level: self.log_level,
            ..Partial::default()
        }
    }
}

fn check(file: &Path) -> Result<(), Box<dyn Error>> {
    let config = Partial::read(file).and_then(Config::new).map_err(|error| {
        let named = error.0.starts_with(&file.display().to_string());
        if named {
            error
        } else {
            ConfigError(format!("{}: {error}", file.display()))
        }
    })?;
    config.state.file()?;
    print(&format!("{}: good\n", file.display()))
}

fn upstream(text: &str) -> Result<(String, PartialUpstream), String> {
    let (name, url) = text.split_once('=').ok_or("it is NAME=URL")?;
    Ok((
        name.into(),
        PartialUpstream {
            url: url.into(),
            acts_as: None,
            ..PartialUpstream::default()
        },
    ))
}

/// A reader that closed its end early, like `head`, is not worth an error.
fn print(text: &str) -> Result<(), Box<dyn Error>> {
    match io::stdout()
        .write_all(text.as_bytes())
        .and_then(|()| io::stdout().flush())
    {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}
