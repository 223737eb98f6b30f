//! The command of `inkfast run`: it has this process's terminal, gets its signals, and says how it ended.

use std::{ffi::OsString, io};

use tokio::process::{Child, Command};

/// How a command ended, as shells number it: its own code, or 128 and the signal that ended it.
pub type Code = u8;

/// Runs `command` with these variables until it ends.
///
/// # Errors
/// It cannot be started.
pub async fn run(command: &[OsString], variables: &[(String, String)]) -> io::Result<Code> {
    let [program, arguments @ ..] = command else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let mut signals = Signals::new()?;
    let mut child = Command::new(program)
        .args(arguments)
        .envs(variables.iter().map(|(name, value)| (name, value)))
        .spawn()?;
    loop {
        tokio::select! {
            ended = child.wait() => return ended.map(code),
            signal = signals.next() => signals.pass_on(signal, &child),
        }
    }
}

/// The code for a command that could not be started.
pub fn not_started(error: &io::Error) -> Code {
    match error.kind() {
        io::ErrorKind::NotFound => 127,
        _ => 126,
    }
}

#[cfg(unix)]
fn code(status: std::process::ExitStatus) -> Code {
    use std::os::unix::process::ExitStatusExt;
    let by_signal = || status.signal().map_or(1, |signal| 128 + signal);
    // Both are below 256 wherever there are signals.
    u8::try_from(status.code().unwrap_or_else(by_signal)).unwrap_or(1)
}

#[cfg(not(unix))]
fn code(status: std::process::ExitStatus) -> Code {
    let code = status.code().unwrap_or(1);
    u8::try_from(code).unwrap_or(1)
}

#[cfg(unix)]
use unix::Signals;

#[cfg(unix)]
mod unix {
    use std::{fs::File, io};

    use rustix::{
        process::{Pid, Signal, getpgrp, kill_process},
        termios::tcgetpgrp,
    };
    use tokio::signal::unix::{self, SignalKind};

    use super::Child;

    /// The signals that end a program from outside.
    pub struct Signals {
        terminate: unix::Signal,
        interrupt: unix::Signal,
        hang_up: unix::Signal,
    }

    impl Signals {
        pub fn new() -> io::Result<Self> {
            Ok(Self {
                terminate: unix::signal(SignalKind::terminate())?,
                interrupt: unix::signal(SignalKind::interrupt())?,
                hang_up: unix::signal(SignalKind::hangup())?,
            })
        }

        pub async fn next(&mut self) -> Signal {
            tokio::select! {
                _ = self.terminate.recv() => Signal::TERM,
                _ = self.interrupt.recv() => Signal::INT,
                _ = self.hang_up.recv() => Signal::HUP,
            }
        }

        /// A terminal sends its own signals to all of the foreground, the child among them: those are not sent once more.
        pub fn pass_on(&self, signal: Signal, child: &Child) {
            if signal != Signal::TERM && is_in_foreground() {
                return;
            }
            let pid = child.id().and_then(|id| i32::try_from(id).ok());
            if let Some(pid) = pid.and_then(Pid::from_raw) {
                // A child that has just ended needs none.
                let _ = kill_process(pid, signal);
            }
        }
    }

    fn is_in_foreground() -> bool {
        let terminal = File::open("/dev/tty");
        terminal.is_ok_and(|terminal| tcgetpgrp(terminal).is_ok_and(|group| group == getpgrp()))
    }
}

#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn new() -> io::Result<Self> {
        Ok(Self)
    }

    /// The console sends its own to the child as well.
    async fn next(&mut self) {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    fn pass_on(&self, (): (), _: &Child) {}
}
