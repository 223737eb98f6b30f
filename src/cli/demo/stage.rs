//! What stands on the stage: two simulated providers, one that the agent reaches directly and one behind Inkfast, and
//! Inkfast itself with its state in a folder of its own. All of it is on loopback.

use std::{
    env,
    error::Error,
    fs, io,
    net::SocketAddr,
    path::{Path, PathBuf},
    process,
    sync::mpsc::{self, Receiver},
    time::Duration,
};

use crate::{
    config::{Config, Partial, PartialUpstream, Span, State},
    ledger::Ledger,
    proxy::{
        line::Summary,
        server::{Running, Server},
    },
    sim::Provider,
};

/// Inkfast in this process.
pub struct Inkfast {
    running: Running,
    summaries: Receiver<Summary>,
    config: Config,
    // Declared last: the folder goes when nothing uses it any more.
    _folder: Folder,
}

/// What Inkfast says of the request that was answered last.
pub struct Seen {
    /// What the agent did to its prefix.
    pub received: String,
    /// What left, against what left before.
    pub sent: String,
    /// It told an edit with a new node.
    pub node: bool,
    /// It lets an edit wait.
    pub waits: bool,
}

impl Inkfast {
    /// Starts it in front of `provider`, which stands for both APIs.
    ///
    /// # Errors
    /// A folder or a socket cannot be made.
    pub async fn start(provider: &Provider, admin: SocketAddr) -> Result<Self, Box<dyn Error>> {
        let folder = Folder::new()?;
        let upstream = |host: &str| PartialUpstream {
            url: provider.url(),
            acts_as: Some(host.to_owned()),
            ..PartialUpstream::default()
        };
        let config = Config::new(Partial {
            listen: Some(SocketAddr::from(([127, 0, 0, 1], 0))),
            admin: Some(admin),
            // What is shown must not depend on how slow this disk is.
            state_timeout: Some(Span(Duration::from_secs(10))),
            state: Some(State::Sqlite(Some(folder.0.join("ledger.sqlite")))),
            upstreams: [
                ("openai".to_owned(), upstream("api.openai.com")),
                ("anthropic".to_owned(), upstream("api.anthropic.com")),
            ]
            .into(),
            ..Partial::default()
        })?;
        let (running, summaries) = serve(&config).await?;
        Ok(Self {
            running,
            summaries,
            config,
            _folder: folder,
        })
    }

    /// Stops it and starts another one on the same state. Whoever scrapes finds it where it was.
    ///
    /// # Errors
    /// It does not start again.
    pub async fn restart(self) -> Result<Self, Box<dyn Error>> {
        let mut config = self.config;
        config.admin = self.running.admin_addr;
        self.running.shutdown().await;
        let (running, summaries) = serve(&config).await?;
        Ok(Self {
            running,
            summaries,
            config,
            ..self
        })
    }

    /// What is said of the last of `requests` that were answered since this was asked before.
    ///
    /// # Errors
    /// One of them did not end, or was not read.
    pub fn seen(&self, requests: usize) -> Result<Seen, Box<dyn Error>> {
        let mut last = None;
        for _ in 0..requests {
            // It is told as the answer ends, which may be a moment after the agent has it.
            last = Some(self.summaries.recv_timeout(Duration::from_secs(5))?);
        }
        let last = last.ok_or("no request was sent")?;
        let prefix = last
            .prefix
            .ok_or_else(|| format!("a request passed through unread: {:?}", last.passthrough))?;
        Ok(Seen {
            received: prefix.received,
            sent: prefix.sent,
            node: prefix.node.contains('@'),
            waits: prefix.node == "deferred",
        })
    }

    /// Base URL for agents.
    pub fn url(&self) -> String {
        format!("http://{}", self.running.proxy_addr)
    }

    /// Where metrics and health are.
    pub fn admin(&self) -> SocketAddr {
        self.running.admin_addr
    }

    /// Ends it.
    pub async fn stop(self) {
        self.running.shutdown().await;
    }
}

/// Serves, and tells of each request how it ended.
async fn serve(config: &Config) -> Result<(Running, Receiver<Summary>), Box<dyn Error>> {
    let (tap, summaries) = mpsc::channel();
    let path = config.state.file()?.ok_or("the demo keeps its state in a file")?;
    let ledger = Ledger::open(&path)?;
    let running = Server::start_with(config.clone(), ledger, Some(tap), None).await?;
    Ok((running, summaries))
}

/// A folder that is removed with the value.
struct Folder(PathBuf);

impl Folder {
    fn new() -> io::Result<Self> {
        let free = |n: u32| env::temp_dir().join(format!("inkfast-demo-{}-{n}", process::id()));
        for n in 0..100 {
            match create(&free(n)) {
                // Left by an earlier process of this number, or someone else's.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                created => return created.map(|()| Self(free(n))),
            }
        }
        Err(io::Error::other("no free folder for the state of the demo"))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What cannot be removed is left to whoever cleans the temporary files.
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(unix)]
fn create(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new().mode(0o700).create(folder)
}

#[cfg(not(unix))]
fn create(folder: &Path) -> io::Result<()> {
    fs::create_dir(folder)
}
