//! The command of `inkfast run`: its environment, its streams, its signals and its exit code.

use std::io::{Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::Upstream;

/// One prompt.
const POST: &str = r#"
import os, sys, urllib.request
body = b'{"model":"m","messages":[{"role":"user","content":"hi"}]}'
request = urllib.request.Request(os.environ["OPENAI_BASE_URL"] + "/chat/completions?x=1", body)
sys.stdout.write(urllib.request.urlopen(request).read().decode())
"#;

/// `inkfast run` in an environment without base URLs.
pub fn inkfast(folder: &Path, flags: &[&str], variables: &[(&str, &str)], command: &[&str]) -> Command {
    let mut run = Command::new(env!("CARGO_BIN_EXE_inkfast"));
    run.env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", folder)
        .env("TMPDIR", folder)
        .envs(variables.iter().copied())
        .current_dir(folder)
        .arg("run")
        .args(flags);
    if !command.is_empty() {
        run.arg("--").args(command);
    }
    run
}

fn shell(flags: &[&str], variables: &[(&str, &str)], script: &str) -> Output {
    let folder = tempfile::tempdir().unwrap();
    let output = inkfast(folder.path(), flags, variables, &["sh", "-c", script])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
    assert!(left.is_empty(), "nothing stays behind: {left:?}");
    output
}

fn printed(output: &Output) -> &str {
    std::str::from_utf8(&output.stdout).unwrap()
}

#[test]
fn the_exit_code_is_the_commands() {
    for code in [0, 1, 2, 3, 77, 255] {
        assert_eq!(shell(&[], &[], &format!("exit {code}")).status.code(), Some(code));
    }
    assert_eq!(shell(&[], &[], "kill -TERM $$").status.code(), Some(128 + 15));
    assert_eq!(shell(&[], &[], "kill -KILL $$").status.code(), Some(128 + 9));
}

#[test]
fn a_command_that_cannot_be_started_has_the_shells_codes() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("plain"), "text").unwrap();
    for (command, code) in [("no-such-command-here", 127), ("./none", 127), ("./plain", 126)] {
        let output = inkfast(folder.path(), &[], &[], &[command]).output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{command}");
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.starts_with(&format!("inkfast: {command}: ")), "{said}");
    }
}

#[test]
fn bad_usage_runs_nothing() {
    for flags in [
        vec!["--mode", "sideways"],
        vec!["--config", "/nowhere/inkfast.toml"],
        vec!["--upstream", "v1=http://h"],
        vec!["--record", "/dev/null"],
        vec!["--log-file", "/nowhere/log"],
    ] {
        let output = shell(&flags, &[], "echo ran");
        assert_eq!(
            (output.status.code(), printed(&output)),
            (Some(2), ""),
            "{flags:?}"
        );
    }
    let folder = tempfile::tempdir().unwrap();
    let nothing = inkfast(folder.path(), &[], &[], &[]).output().unwrap();
    assert_eq!(nothing.status.code(), Some(2));
}

#[test]
fn streams_and_arguments_are_the_commands() {
    let folder = tempfile::tempdir().unwrap();
    let script = "cat; printf '%s|' \"$@\"; echo to-stderr >&2";
    let command = ["sh", "-c", script, "sh", "a b", "--mode", ""];
    let mut child = inkfast(folder.path(), &[], &[], &command)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"from stdin\n").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(printed(&output), "from stdin\na b|--mode||");
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(
        errors.starts_with("to-stderr\ninkfast: no prompt came through"),
        "{errors}"
    );
}

#[test]
fn the_command_is_told_where_the_proxy_is() {
    let output = shell(&[], &[("NO_PROXY", "corp"), ("OPENAI_API_KEY", "k")], "env");
    let value = |name: &str| {
        let lines = printed(&output).lines();
        let found = lines
            .filter_map(|line| line.split_once('='))
            .find(|(known, _)| *known == name);
        found.map(|(_, value)| value.to_owned())
    };
    let anthropic = value("ANTHROPIC_BASE_URL").unwrap();
    assert!(anthropic.starts_with("http://127.0.0.1:"), "{anthropic}");
    assert_eq!(value("OPENAI_BASE_URL").unwrap(), format!("{anthropic}/v1"));
    assert_eq!(
        value("OPENROUTER_API_BASE").unwrap(),
        format!("{anthropic}/openrouter/api/v1")
    );
    assert_eq!(value("NO_PROXY").unwrap(), "corp,127.0.0.1,localhost");
    assert_eq!(value("OPENAI_API_KEY").unwrap(), "k");
    assert_eq!(value("COPILOT_PROVIDER_BASE_URL"), None);
}

#[test]
fn the_variables_can_be_printed_for_a_shell() {
    let folder = tempfile::tempdir().unwrap();
    let printed = |flags: &[&str], variables: &[(&str, &str)]| {
        let output = inkfast(folder.path(), &[&["--print-env"], flags].concat(), variables, &[])
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(0));
        String::from_utf8(output.stdout).unwrap()
    };
    let plain = printed(&[], &[]);
    assert!(
        plain.contains("export ANTHROPIC_BASE_URL='http://127.0.0.1:4640'\n"),
        "{plain}"
    );
    let elsewhere = printed(
        &["--listen", "127.0.0.1:9"],
        &[("OPENAI_BASE_URL", "http://gateway/v1"), ("NO_PROXY", "it's")],
    );
    assert!(
        elsewhere.contains("# needs inkfast serve --upstream openai-base-url=http://gateway\n"),
        "{elsewhere}"
    );
    let evaluated = Command::new("sh")
        .args(["-c", &format!("{elsewhere}\necho $OPENAI_BASE_URL $NO_PROXY")])
        .output()
        .unwrap();
    assert_eq!(
        String::from_utf8(evaluated.stdout).unwrap(),
        "http://127.0.0.1:9/openai-base-url/v1 it's,127.0.0.1,localhost\n"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_base_url_that_is_set_is_behind_the_proxy() {
    let gateway = Upstream::plain().await;
    let set = format!("{}/some/gateway/v1", gateway.url());
    let folder = tempfile::tempdir().unwrap();
    let mut run = inkfast(
        folder.path(),
        &[],
        &[("OPENAI_BASE_URL", &set)],
        &["python3", "-c", POST],
    );
    let output = tokio::task::spawn_blocking(move || run.output().unwrap())
        .await
        .unwrap();
    assert_eq!((output.status.code(), printed(&output)), (Some(0), "{}"));
    assert_eq!(
        gateway.only().head.uri.to_string(),
        "/some/gateway/v1/chat/completions?x=1"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_adds_to_the_file_of_record() {
    let upstream = Upstream::plain().await;
    let folder = tempfile::tempdir().unwrap();
    let (file, given) = (folder.path().join("r"), format!("openai={}", upstream.url()));
    std::fs::write(&file, "{\"before\":1}\n").unwrap();
    let mut run = inkfast(
        folder.path(),
        &["--upstream", &given, "--record", "r", "--log-file", "log"],
        &[],
        &["python3", "-c", POST],
    );
    let output = tokio::task::spawn_blocking(move || run.output().unwrap())
        .await
        .unwrap();
    assert_eq!(output.status.code(), Some(0));
    let text = std::fs::read_to_string(&file).unwrap();
    let lines: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.len(), 2);
    assert_eq!(
        (&lines[1]["upstream"], &lines[1]["status"]),
        (&"openai".into(), &200.into())
    );
    assert!(
        std::fs::read_to_string(folder.path().join("log"))
            .unwrap()
            .contains("request")
    );
}

/// A command that says when it is there, counts a signal, and ends at the second or after a while.
fn counting(signal: &str) -> (Child, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let script = format!(
        "n=0; trap 'n=$((n+1)); echo got' {signal}; echo ready; i=0; \
                          while [ $i -lt 100 ] && [ $n -lt 2 ]; do sleep 0.05; i=$((i+1)); done; exit $((40+n))"
    );
    // A session of its own has no terminal, which is how signals come one by one.
    let child = Command::new("setsid")
        .arg("-w")
        .args(std::iter::once(env!("CARGO_BIN_EXE_inkfast")))
        .args(["run", "--", "sh", "-c", &script])
        .env("HOME", folder.path())
        .env("TMPDIR", folder.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
        .unwrap();
    (child, folder)
}

#[test]
fn signals_are_passed_on() {
    for signal in ["TERM", "INT", "HUP"] {
        let (mut child, _folder) = counting(signal);
        let mut out = child.stdout.take().unwrap();
        wait_for(&mut out, "ready\n");
        let inkfast = child_of(child.id());
        for _ in 0..2 {
            send(signal, &inkfast);
            wait_for(&mut out, "got\n");
        }
        let status = child.wait().unwrap();
        assert_eq!((status.code(), status.signal()), (Some(42), None), "{signal}");
    }
}

/// Each signal that is delivered is a byte in a pipe.
const COUNTING: &str = "
import os, signal, time
read, write = os.pipe()
os.set_blocking(write, False)
signal.set_wakeup_fd(write)
signal.signal(signal.SIGINT, lambda *_: None)
print('ready', flush=True)
end = time.monotonic() + 1.5
while time.monotonic() < end:
    time.sleep(0.1)
os.write(write, b'.')
os._exit(40 + len(os.read(read, 100)) - 1)
";

const AT_A_TERMINAL: &str = "
import os, pty, sys, time
pid, terminal = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], [sys.argv[1], 'run', '--', 'python3', '-c', sys.argv[2]])
seen = b''
while b'ready' not in seen:
    seen += os.read(terminal, 1000)
for _ in range(3):
    os.write(terminal, b'\\x03')
    time.sleep(0.1)
_, status = os.waitpid(pid, 0)
print(os.waitstatus_to_exitcode(status))
";

/// The terminal sends each to both.
#[test]
fn interrupts_from_the_terminal_come_once() {
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new("python3")
        .args(["-c", AT_A_TERMINAL, env!("CARGO_BIN_EXE_inkfast"), COUNTING])
        .env("HOME", folder.path())
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(printed(&output).trim(), "43", "{errors}");
}

fn wait_for(out: &mut impl Read, text: &str) {
    let mut seen = vec![0; text.len()];
    out.read_exact(&mut seen).unwrap();
    assert_eq!(String::from_utf8(seen).unwrap(), text);
}

/// `setsid` may have forked.
fn child_of(pid: u32) -> String {
    let deadline = Instant::now() + Duration::from_secs(5);
    loop {
        let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap();
        if name.trim() == "inkfast" {
            return pid.to_string();
        }
        let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
        if let Some(child) = children.split_whitespace().next() {
            return child.to_owned();
        }
        assert!(Instant::now() < deadline, "no child of {name}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn send(signal: &str, pid: &str) {
    let sent = Command::new("kill")
        .args([&format!("-{signal}"), pid])
        .status()
        .unwrap();
    assert!(sent.success());
}
