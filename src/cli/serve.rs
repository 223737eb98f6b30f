//! `inkfast serve`: runs the proxy until a signal asks it to stop.

use std::error::Error;

use tokio::runtime::Runtime;

use super::{logging, print};
use crate::{config::Config, proxy::server::Server};

/// Serves until SIGTERM or SIGINT, then drains; a second signal ends it at once.
///
/// # Errors
/// It could not start.
pub fn run(config: Config) -> Result<(), Box<dyn Error>> {
    logging::start(&config.log);
    let runtime = Runtime::new()?;
    let served = runtime.block_on(serve(config));
    // Whatever still runs has had its grace.
    runtime.shutdown_background();
    served
}

async fn serve(config: Config) -> Result<(), Box<dyn Error>> {
    let mut signals = Signals::new()?;
    let running = Server::start(config).await?;
    print(&format!(
        "listening proxy={} admin={}\n",
        running.proxy_addr, running.admin_addr
    ))?;
    signals.next().await;
    tokio::select! {
        () = running.shutdown() => {}
        () = signals.next() => tracing::warn!(event = "stopped", "a second signal"),
    }
    Ok(())
}

#[cfg(unix)]
struct Signals {
    terminate: tokio::signal::unix::Signal,
    interrupt: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn new() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn new() -> std::io::Result<Self> {
        Ok(Self)
    }

    async fn next(&mut self) {
        // Without the signal there is nothing to wait for but the end of the process.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
