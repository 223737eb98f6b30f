//! Processes of other languages: where they are installed, what they may see, how long they may take.

use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Long for a machine that also runs the rest of the suite.
const LIMIT: Duration = Duration::from_secs(180);

/// A program that gets nothing of this process's environment but the path.
pub struct Program {
    command: Command,
    folder: PathBuf,
}

impl Program {
    /// Its home is `folder`, and every host but the loopback is out of its reach.
    pub fn new(path: &Path, folder: &Path) -> Self {
        let mut command = Command::new(path);
        // Nobody listens on the discard port.
        let nowhere = "http://127.0.0.1:9";
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", folder)
            .env("LANG", "C.UTF-8")
            .env("TMPDIR", folder)
            .envs(["HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"].map(|name| (name, nowhere)))
            .envs(["NO_PROXY", "no_proxy"].map(|name| (name, "127.0.0.1,localhost")))
            .current_dir(folder)
            .stdin(Stdio::null());
        Self {
            command,
            folder: folder.to_owned(),
        }
    }

    pub fn arg(mut self, argument: impl AsRef<std::ffi::OsStr>) -> Self {
        self.command.arg(argument);
        self
    }

    pub fn args(mut self, arguments: &[&str]) -> Self {
        self.command.args(arguments);
        self
    }

    pub fn env(mut self, name: &str, value: impl AsRef<std::ffi::OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    pub fn current_dir(mut self, folder: &Path) -> Self {
        self.command.current_dir(folder);
        self
    }

    /// Runs it to its good end; what it wrote to its standard output.
    pub fn output(mut self) -> String {
        let file = |name: &str| self.folder.join(format!("client.{name}"));
        let (out, err) = (file("stdout"), file("stderr"));
        self.command.stdout(File::create(&out).unwrap());
        self.command.stderr(File::create(&err).unwrap());
        let mut child = self.command.process_group(0).spawn().unwrap();
        let status = wait(&mut child);
        end_group(&child);
        if status.is_none() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
        let read = |path: &Path| String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned();
        let (out, err) = (read(&out), read(&err));
        assert!(
            status.is_some_and(|status| status.success()),
            "{status:?}\n{out}\n{err}"
        );
        out
    }
}

/// None where it took too long.
fn wait(child: &mut Child) -> Option<ExitStatus> {
    let deadline = Instant::now() + LIMIT;
    while Instant::now() < deadline {
        if let Some(status) = child.try_wait().unwrap() {
            return Some(status);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    None
}

/// Ends it, if it is still there, and whatever it left behind.
fn end_group(child: &Child) {
    let group = format!("-{}", child.id());
    let mut kill = Command::new("kill");
    // Most leave nothing behind, which is an error here.
    let _ = kill.args(["-KILL", "--", &group]).stderr(Stdio::null()).status();
}

/// Where `tests/run` installed something; none where it did not, which in CI is a failure.
pub fn installed(variable: &str) -> Option<PathBuf> {
    let found = std::env::var_os(variable);
    if found.is_none() {
        assert!(
            std::env::var_os("CI").is_none(),
            "{variable} is not set: run tests/run"
        );
        println!("skipped: {variable} is not set (tests/run sets it)");
    }
    found.map(PathBuf::from)
}
