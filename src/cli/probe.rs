//! `inkfast probe`: asks an upstream how an update of the system prompt may travel to a model.
//!
//! For every row of the route's table, and for a better one that the table does not list, a short conversation is held:
//! is the update accepted, is it obeyed, and does it leave the cached prefix where it is? What is sent went through the
//! same reading, decision and edits as an agent's request, so what is probed is what is sent. It prints what it found
//! and the rows for a table of routes.

mod ask;
mod body;
mod notes;
mod shape;
mod show;
mod talk;
mod target;
mod tool_loop;
mod trial;
mod updated;

use std::{
    error::Error,
    io::{self, Write},
    path::PathBuf,
};

use clap::{Args, ValueEnum};
use tokio::{runtime::Runtime, signal::ctrl_c};

use self::{
    ask::{Asker, Unanswered},
    notes::Notes,
    show::Report,
    target::Target,
};
use super::print;
use crate::{
    config::{Config, Partial, State},
    prefix::policy::{Mode, Row},
    proxy::server,
    route::{Choice, Route},
    wire::format::Format,
};

/// What to ask, and whom.
#[derive(Args)]
pub struct Probe {
    /// The upstream: its base URL, or the whole URL of its endpoint.
    #[arg(long, value_name = "URL")]
    upstream: String,
    /// The model.
    #[arg(long, value_name = "NAME")]
    model: String,
    /// The wire format [default: by the URL's path or host, else openai_chat].
    #[arg(long, value_name = "FORMAT")]
    wire: Option<Format>,
    /// The environment variable that holds the key [default: the provider's own, if set: OPENAI_API_KEY,
    /// ANTHROPIC_API_KEY, GEMINI_API_KEY, OLLAMA_API_KEY, AWS_BEARER_TOKEN_BEDROCK (a signature is made instead where an
    /// upstream of the configuration has `sign`), CLOUDSDK_AUTH_ACCESS_TOKEN on Vertex].
    #[arg(long, value_name = "NAME")]
    key_env: Option<String>,
    /// One more header; may be given many times.
    #[arg(long = "header", value_name = "NAME: VALUE", value_parser = target::header)]
    headers: Vec<target::Header>,
    /// The least length of the prompts, in tokens: providers cache nothing below 1,024, for some models 4,096.
    #[arg(long, value_name = "N", default_value_t = 1100, value_parser = clap::value_parser!(u32).range(..=100_000))]
    tokens: u32,
    /// The most tokens that an answer may have, thinking included.
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..))]
    max_tokens: u32,
    /// A configuration file, for its upstreams' names, its table of routes and its state.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Where what is learned is kept, as for `serve`: sqlite:PATH or memory:.
    #[arg(long, value_name = "URL")]
    state: Option<State>,
    /// For people, as a table of routes with comments, or for machines.
    #[arg(long, value_enum, default_value_t = Output::Text)]
    format: Output,
}

#[derive(Clone, Copy, ValueEnum)]
enum Output {
    Text,
    Json,
}

/// Probes and prints; whether the upstream could be asked.
///
/// # Errors
/// Bad usage or configuration, or the results cannot be kept or printed.
pub fn run(probe: &Probe) -> Result<bool, Box<dyn Error>> {
    let runtime = Runtime::new()?;
    let done = runtime.block_on(async {
        tokio::select! {
            done = ask_all(probe) => done,
            _ = ctrl_c() => Err("interrupted".into()),
        }
    });
    runtime.shutdown_background();
    done
}

async fn ask_all(probe: &Probe) -> Result<bool, Box<dyn Error>> {
    let config = probe.config()?;
    let target = Target::new(&config, probe)?;
    let table = server::routes(&config)?;
    let route = table.route(target.destination(&probe.model), CHOICE, &[]);
    let mut asker = Asker::new(&config, &target, probe, (&table, &route)).await?;
    let mut trials = Vec::new();
    for (number, candidate) in candidates(&target, &route).into_iter().enumerate() {
        match trial::hold(&mut asker, &route, candidate, number).await {
            Ok(trial) => trials.push(trial),
            Err(unanswered) => return complain(&unanswered),
        }
    }
    let notes = Notes::new(&config, &target, &probe.model);
    let kept = notes.keep(&trials).await?;
    let report = Report {
        target: &target,
        model: &probe.model,
        trials: &trials,
        kept,
    };
    print(&match probe.format {
        Output::Text => report.text(),
        Output::Json => report.json(),
    })?;
    Ok(true)
}

impl Probe {
    fn config(&self) -> Result<Config, Box<dyn Error>> {
        let file = self.config.as_deref().map(Partial::read).transpose()?;
        Ok(Config::new(file.unwrap_or_default().overlaid_by(Partial {
            state: self.state.clone(),
            ..Partial::default()
        }))?)
    }
}

/// Updates are told as the table says.
const CHOICE: Choice = Choice {
    mode: Mode::InHistory,
    text: None,
    loopback: true,
};

/// The rows to try, in the order in which they would be taken: those of the table, behind better ones that it lacks.
fn candidates(target: &Target, route: &Route) -> Vec<trial::Candidate> {
    let listed = &route.policy.rows;
    let same = |a: &Row, b: &Row| a.carrier == b.carrier && a.placement == b.placement;
    let lacks = |better: &&Row| !listed.iter().any(|row| same(row, better));
    let better = target.shape.better.iter().filter(lacks);
    let better = better.map(|row| trial::Candidate {
        row: *row,
        listed: false,
    });
    let listed = listed.iter().map(|row| trial::Candidate {
        row: *row,
        listed: true,
    });
    better.chain(listed).collect()
}

fn complain(unanswered: &Unanswered) -> Result<bool, Box<dyn Error>> {
    writeln!(
        io::stderr(),
        "inkfast: the upstream answered no request: {unanswered}"
    )?;
    Ok(false)
}
