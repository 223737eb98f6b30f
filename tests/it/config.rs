//! The configuration file, the flags and the exit codes.

use std::{process::Command, time::Duration};

use inkfast::config::{Config, EXAMPLE, Mode, Partial, State};

fn read(text: &str) -> Result<Config, String> {
    text.parse::<Partial>()
        .and_then(Config::new)
        .map_err(|error| error.to_string())
}

fn inkfast(arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_inkfast"))
        .args(arguments)
        .output()
        .unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn the_example_is_the_defaults() {
    assert_eq!(read(EXAMPLE), read(""));
}

#[test]
fn the_example_has_every_key() {
    let known = "nonsense = 1".parse::<Partial>().unwrap_err().to_string();
    let keys: Vec<_> = known.split('`').skip(3).step_by(2).collect();
    assert!(keys.len() > 15, "{known}");
    for key in keys
        .into_iter()
        .filter(|key| *key != "upstreams" && *key != "nonsense")
    {
        let line = |line: &str| line.trim_start_matches("# ").starts_with(&format!("{key} = "));
        assert!(EXAMPLE.lines().any(line), "{key} is missing");
    }
}

#[test]
fn a_wrong_key_or_value_is_named_with_what_is_right() {
    let table: &[(&str, &[&str])] = &[
        ("lisen = \"127.0.0.1:1\"", &["lisen", "listen"]),
        ("listen = \"here\"", &["`listen`"]),
        ("mode = \"off\"", &["`mode`", "in-history", "observe"]),
        ("max_body = \"64MB\"", &["`max_body`", "MiB"]),
        ("max_body = 64", &["`max_body`"]),
        ("idle_timeout = \"10min\"", &["`idle_timeout`", "ms, s, m or h"]),
        ("state = \"redis://h\"", &["`state`", "later version", "sqlite:"]),
        ("state = \"/tmp/x\"", &["`state`", "sqlite:PATH", "memory:"]),
        (
            "[upstreams.gw]\nur = \"http://h\"",
            &["`upstreams.gw", "ur", "url"],
        ),
        ("[upstreams.gw]\nacts_as = \"h\"", &["`upstreams.gw", "url"]),
        ("[upstreams.gw]\nurl = \"h\"", &["upstreams.gw", "http://HOST"]),
        ("[upstreams.v1]\nurl = \"http://h\"", &["upstreams.v1", "v1beta"]),
        (
            "[upstreams.gw]\nurl = \"https://me:secret@h\"",
            &["upstreams.gw", "without query or credentials"],
        ),
        (
            "default_upstream = \"nobody\"",
            &["default_upstream", "nobody", "openai"],
        ),
        ("mode = ", &["line 1"]),
    ];
    for (text, needles) in table {
        let error = read(text).expect_err(text);
        needles
            .iter()
            .for_each(|needle| assert!(error.contains(needle), "{text}: {needle:?} is not in {error:?}"));
        assert!(!error.contains("secret"), "{error}");
    }
}

#[test]
fn values_arrive() {
    let config = read(
        "listen = \"0.0.0.0:1\"\nstate = \"sqlite:/x/y.db\"\nmode = \"observe\"\nmax_body = \"1KiB\"\nidle_timeout = \"2s\"\n\
         default_upstream = \"gw\"\n[upstreams.gw]\nurl = \"http://h:1/p/\"\nacts_as = \"api.openai.com\"\n\
         [upstreams.openai]\nurl = \"http://other\"",
    )
    .unwrap();
    assert_eq!(config.listen.port(), 1);
    assert_eq!(config.state, State::Sqlite(Some("/x/y.db".into())));
    assert_eq!(
        (config.mode, config.max_body, config.idle_timeout),
        (Mode::Observe, 1024, Duration::from_secs(2))
    );
    assert_eq!(
        (
            config.upstreams.default().prefix.as_str(),
            config.upstreams.default().acts_as()
        ),
        ("/p", "api.openai.com")
    );
    assert_eq!(config.upstreams.get("openai").unwrap().authority, "other");
    assert_eq!(
        config.upstreams.get("anthropic").unwrap().authority,
        "api.anthropic.com"
    );
}

#[test]
fn flags_win_over_the_file() {
    let file: Partial = "mode = \"observe\"\nmax_body = \"1KiB\"\n[upstreams.a]\nurl = \"http://file\""
        .parse()
        .unwrap();
    let flags: Partial = "mode = \"in-history\"\n[upstreams.b]\nurl = \"http://flag\""
        .parse()
        .unwrap();
    let config = Config::new(file.overlaid_by(flags)).unwrap();
    assert_eq!((config.mode, config.max_body), (Mode::InHistory, 1024));
    assert!(config.upstreams.get("a").is_some() && config.upstreams.get("b").is_some());
}

#[test]
fn the_command_line_prints_and_checks() {
    assert_eq!(
        inkfast(&["config", "example"]),
        (Some(0), EXAMPLE.to_owned(), String::new())
    );
    let file = tempfile::NamedTempFile::new().unwrap();
    let path = file.path().to_str().unwrap();
    std::fs::write(path, EXAMPLE).unwrap();
    assert_eq!(inkfast(&["config", "check", path]).0, Some(0));
    std::fs::write(path, "lisen = 1").unwrap();
    let (code, out, err) = inkfast(&["config", "check", path]);
    assert_eq!((code, out.as_str()), (Some(2), ""));
    assert!(
        err.contains(path) && err.contains("lisen") && err.contains("listen"),
        "{err}"
    );
}

#[test]
fn bad_usage_and_configuration_exit_with_2() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    let table: &[(&[&str], &str)] = &[
        (&[], "Usage"),
        (&["nonsense"], "nonsense"),
        (&["serve", "--listen", "here"], "--listen"),
        (&["serve", "--state", "redis://h"], "later version"),
        (&["serve", "--upstream", "v1=http://h"], "v1beta"),
        (&["serve", "--upstream", "gw"], "NAME=URL"),
        (&["serve", "--config", "/nonexistent.toml"], "/nonexistent.toml"),
        (
            &[
                "serve",
                "--admin",
                "127.0.0.1:0",
                "--state",
                "memory:",
                "--listen",
                &taken,
            ],
            "cannot listen",
        ),
        (&["config", "check", "/nonexistent.toml"], "/nonexistent.toml"),
    ];
    for (arguments, needle) in table {
        let (code, out, err) = inkfast(arguments);
        assert_eq!((code, out.as_str()), (Some(2), ""), "{arguments:?}: {err}");
        assert!(err.contains(needle), "{arguments:?}: {err}");
    }
}
