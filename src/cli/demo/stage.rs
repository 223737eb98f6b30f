//! What stands on the stage: two simulated providers, one that the agent reaches directly and one behind Inkfast, and
//! Inkfast itself with its state in a folder of its own. All of it is on loopback.

use std::{
    env,
    error::Error,
    fs, io,
    net::SocketAddr,
    path::{Path, PathBuf},
    process,
};

use crate::{
    config::{Config, Partial, PartialUpstream, State},
    proxy::server::{Running, Server},
    sim::Provider,
};

/// Inkfast in this process.
pub struct Inkfast {
    running: Running,
    config: Config,
    // Declared last: the folder goes when nothing uses it any more.
    _folder: Folder,
}

/// What Inkfast says of a turn's requests.
#[derive(Default)]
pub struct Seen {
    /// What the agent did to its prefix.
    pub received: String,
    /// What left, against what left before.
    pub sent: String,
    /// Nodes that were added.
    pub nodes: usize,
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
        };
        let config = Config::new(Partial {
            listen: Some(SocketAddr::from(([127, 0, 0, 1], 0))),
            admin: Some(admin),
            state: Some(State::Sqlite(Some(folder.0.join("ledger.sqlite")))),
            upstreams: [
                ("openai".to_owned(), upstream("api.openai.com")),
                ("anthropic".to_owned(), upstream("api.anthropic.com")),
            ]
            .into(),
            ..Partial::default()
        })?;
        let running = Server::start(config.clone()).await?;
        Ok(Self {
            running,
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
        let running = Server::start(config.clone()).await?;
        Ok(Self {
            running,
            config,
            ..self
        })
    }

    /// What was said of the last turn's requests.
    pub fn seen(&self) -> Seen {
        Seen::default()
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
