//! `inkfast demo`: a scripted agent against a simulated provider, straight and through Inkfast, side by side.
//!
//! The agent edits its system prompt while it works: a clock, a todo list, plan mode on and off, notes. Both ways hear
//! the same answers, so that they differ in nothing but the way. No network, no key.

mod agent;
mod body;
mod client;
mod persona;
mod script;
mod side;
mod stage;
mod table;
mod tally;

use std::{error::Error, net::SocketAddr, time::Duration};

use clap::{Args, ValueEnum};
use tokio::{runtime::Runtime, signal::ctrl_c, time::sleep};

use self::{
    script::{Event, SCRIPT},
    side::Side,
    stage::Inkfast,
    table::Table,
};
use super::print;
use crate::sim::{self, Format, Provider};

/// What to show.
#[derive(Args)]
pub struct Demo {
    /// Wait this many seconds before each request, to watch, or to scrape the metrics.
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pace: Option<Duration>,
    /// The API that the agent speaks.
    #[arg(long, value_enum, default_value_t = Choice::Both)]
    format: Choice,
    /// How many requests each way; more than the script has begin it again as another conversation [default: all].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    turns: Option<u32>,
    /// Where metrics and health are served.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0")]
    admin: SocketAddr,
}

#[derive(Clone, Copy, ValueEnum)]
#[value(rename_all = "snake_case")]
enum Choice {
    #[value(name = "openai_chat")]
    OpenAiChat,
    AnthropicMessages,
    Both,
}

/// Plays the script and prints the tables; whether Inkfast did its job in each of them.
///
/// # Errors
/// A part of it could not start, or a request was not answered.
pub fn run(demo: &Demo) -> Result<bool, Box<dyn Error>> {
    let runtime = Runtime::new()?;
    let shown = runtime.block_on(async {
        tokio::select! {
            shown = show(demo) => shown,
            // What is dropped here takes its folder along.
            _ = ctrl_c() => Err("interrupted".into()),
        }
    });
    runtime.shutdown_background();
    shown
}

async fn show(demo: &Demo) -> Result<bool, Box<dyn Error>> {
    let straight = Provider::start(sim::Config::default())?;
    let behind = Provider::start(sim::Config::default())?;
    let mut inkfast = Inkfast::start(&behind, demo.admin).await?;
    print(&format!("admin={}\n", inkfast.admin()))?;
    let mut good = true;
    for format in demo.format.formats() {
        let sides = [Side::new(format, &straight), Side::new(format, &behind)];
        let table;
        (inkfast, table) = play(demo, format, sides, &straight, inkfast).await?;
        good &= table.is_good();
        print(&table.totals())?;
    }
    print(&format!("\n{}", table::LEGEND))?;
    inkfast.stop().await;
    Ok(good)
}

/// One table, both ways turn by turn.
async fn play(
    demo: &Demo,
    format: Format,
    [mut straight, mut through]: [Side<'_>; 2],
    direct: &Provider,
    mut inkfast: Inkfast,
) -> Result<(Inkfast, Table), Box<dyn Error>> {
    let mut table = Table::new(format);
    print(&table.header(body::model(format)))?;
    for (number, turn) in SCRIPT.iter().cycle().take(demo.turns()).enumerate() {
        if let Some(pace) = demo.pace {
            sleep(pace).await;
        }
        if turn.event == Event::Restart {
            inkfast = inkfast.restart().await?;
        }
        let played = [
            straight.play(&direct.url(), number, turn).await?,
            through.play(&inkfast.url(), number, turn).await?,
        ];
        let seen = inkfast.seen(played[1].requests)?;
        print(&table.row(number + 1, turn.what, &played, &seen))?;
    }
    Ok((inkfast, table))
}

impl Demo {
    fn turns(&self) -> usize {
        self.turns.map_or(SCRIPT.len(), |turns| turns as usize)
    }
}

impl Choice {
    fn formats(self) -> Vec<Format> {
        match self {
            Self::OpenAiChat => vec![Format::OpenAiChat],
            Self::AnthropicMessages => vec![Format::AnthropicMessages],
            Self::Both => vec![Format::OpenAiChat, Format::AnthropicMessages],
        }
    }
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse::<f64>().ok();
    let pace = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    pace.ok_or_else(|| "it is a number of seconds".to_owned())
}
