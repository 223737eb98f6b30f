//! `inkfast run`: a command whose agent goes through a proxy of its own, and what came of its prefixes.
//!
//! Terminal, signals and exit code are the command's: nothing is printed while it runs. What is known of the run is in its
//! recording, so that the report at the end is the one of `inkfast audit`.

mod child;
mod environment;
mod recording;

use std::{
    env,
    error::Error,
    ffi::OsString,
    fs::OpenOptions,
    io::{self, Write},
    net::{IpAddr, Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
};

use clap::Args;
use tokio::runtime::Runtime;

use super::{
    Flags, logging, print,
    reporting::{Audit, Reporting},
};
use crate::{
    audit,
    config::{Config, ConfigError, Partial, State},
    proxy::server::{self, Server},
    report::Form,
};

use environment::Environment;
use recording::Recording;

/// Any free port of the loopback.
const ANY_PORT: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

/// The base URLs that agents read from their environment lead to the proxy, also where they are set already; all that the
/// agent sends is recorded into a file that is gone at the end (`--record` keeps it), and judged. The exit code is the
/// command's own; where that is 0, a gate that failed makes it 1. The ports are free ones unless flags name them; nothing is
/// remembered after the run unless `--state` or the configuration says where.
#[derive(Args)]
#[command(
    after_help = "Inkfast's own bad usage is 2; a command that is not found 127, one that cannot be run 126, and one \
                        that a signal ended 128 and its number."
)]
pub struct Run {
    #[command(flatten)]
    flags: Flags,
    #[command(flatten)]
    reporting: Reporting,
    /// Where the proxy's log goes; there is none otherwise, since the terminal is the command's.
    #[arg(long, value_name = "FILE")]
    log_file: Option<PathBuf>,
    /// Print the variables as `export` lines, as for `inkfast serve` with these flags, and run nothing.
    #[arg(long)]
    print_env: bool,
    /// The command, behind `--`.
    #[arg(last = true, required_unless_present = "print_env", value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// Runs it; the exit code.
///
/// # Errors
/// Bad usage, or what keeps the proxy from starting.
pub fn run(run: Run) -> Result<u8, Box<dyn Error>> {
    let program = run.command.first().map(Path::new).and_then(Path::file_name);
    let program = program.unwrap_or_default().to_string_lossy();
    let (mut config, environment) = ready(run.flags, &program, run.print_env)?;
    if run.print_env {
        print(&exports(&environment, config.listen))?;
        return Ok(0);
    }
    for note in &environment.notes {
        say(note);
    }
    let log_file = run.log_file.map(|path| {
        let opened = OpenOptions::new().append(true).create(true).open(&path);
        opened.map_err(|error| format!("--log-file: {}: {error}", path.display()))
    });
    logging::start_quiet(&config.log, log_file.transpose()?);
    let (routes, upstreams) = (server::routes(&config)?, config.upstreams.clone());
    let audit = run.reporting.start("inkfast run", routes, upstreams)?;
    let record = config.record.take();
    let recording = Recording::open(record.as_deref())?;
    let runtime = Runtime::new()?;
    let ended = runtime.block_on(through(config, &recording, &environment, &run.command));
    // Whatever still runs has had its grace.
    runtime.shutdown_background();
    match ended? {
        Ended::NotStarted(error) => {
            let named = run.command.first().map(|program| program.to_string_lossy());
            say(&format!("{}: {error}", named.unwrap_or_default()));
            Ok(child::not_started(&error))
        }
        Ended::With { code, missing } => {
            if recording.is_empty()? {
                say(
                    "no prompt came through the proxy; `inkfast run --print-env` shows what the command was given",
                );
            }
            let name = record.unwrap_or_else(|| "recording".into());
            let passed = judge(audit, &name, recording, missing)?;
            Ok(if code == 0 && !passed { GATE_FAILED } else { code })
        }
    }
}

/// The exit code of a gate that failed.
const GATE_FAILED: u8 = 1;

/// Audits what was recorded, and reports. Whether every gate passed.
fn judge(mut audit: Audit, name: &Path, recording: Recording, missing: u64) -> Result<bool, Box<dyn Error>> {
    audit.take(audit::read(name, recording.into_reader()?)?);
    let passed = audit.conclude()?;
    audit.write(Form::Text, io::stderr())?;
    if missing > 0 {
        say(&format!("{missing} exchanges are missing in the recording"));
    }
    // What was not seen may have been what a gate asks for.
    Ok(passed && (missing == 0 || !audit.has_gates()))
}

/// How the command ended.
enum Ended {
    NotStarted(io::Error),
    With {
        code: child::Code,
        /// Exchanges that could not be recorded.
        missing: u64,
    },
}

/// The command, from the start of the proxy to its end.
async fn through(
    config: Config,
    recording: &Recording,
    environment: &Environment,
    command: &[OsString],
) -> Result<Ended, Box<dyn Error>> {
    let running = Server::start_recording(config, Some(recording.writer()?)).await?;
    let dropped = running.dropped_records();
    let variables = environment.values(running.proxy_addr, variable);
    let ended = child::run(command, &variables).await;
    running.shutdown().await;
    Ok(match ended {
        Ok(code) => Ended::With {
            code,
            missing: dropped.map_or(0, |dropped| dropped.total()),
        },
        Err(error) => Ended::NotStarted(error),
    })
}

/// The configuration, with an upstream more for each variable that led elsewhere.
fn ready(flags: Flags, program: &str, print_env: bool) -> Result<(Config, Environment), ConfigError> {
    let (file, given) = (flags.file()?, flags.given());
    let by_flag: Vec<_> = given.upstreams.keys().cloned().collect();
    let (listen, admin) = (given.listen, given.admin);
    let ports = |named: Option<SocketAddr>| named.or((!print_env).then_some(ANY_PORT));
    let whole = file.overlaid_by(given);
    let whole = Partial {
        // A file names the ports of `inkfast serve`, which may be running.
        listen: ports(listen).or(whole.listen),
        admin: ports(admin).or(whole.admin),
        state: whole.state.clone().or(Some(State::Memory)),
        ..whole
    };
    let known = Config::new(whole.clone())?;
    let environment = Environment::new(&known.upstreams, &by_flag, program, variable)?;
    let more = Partial {
        upstreams: environment.upstreams.iter().cloned().collect(),
        ..Partial::default()
    };
    Ok((Config::new(whole.overlaid_by(more))?, environment))
}

/// What a shell evaluates.
fn exports(environment: &Environment, address: SocketAddr) -> String {
    let upstreams = environment.upstreams.iter();
    let needs =
        upstreams.map(|(name, given)| format!("# needs inkfast serve --upstream {name}={}\n", given.url));
    let notes = environment.notes.iter().map(|note| format!("# {note}\n"));
    let values = environment.values(address, variable).into_iter();
    let exports = values.map(|(name, value)| format!("export {name}={}\n", quoted(&value)));
    needs.chain(notes).chain(exports).collect()
}

fn quoted(value: &str) -> String {
    format!("'{}'", value.replace('\'', r"'\''"))
}

fn variable(name: &str) -> Option<String> {
    env::var(name).ok()
}

/// To the terminal, when the command is not there.
fn say(text: &str) {
    let _ = writeln!(io::stderr(), "inkfast: {text}");
}
