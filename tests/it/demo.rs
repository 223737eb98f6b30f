//! `inkfast demo` through the built binary: what `make demo` shows, and that it is true.

use std::process::{Command, Output};

#[test]
fn both_tables_and_an_in_history_run_far_above_the_straight_one() {
    let output = demo(&[]);
    let text = String::from_utf8(output.stdout).unwrap();
    let log = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{text}\n{log}");
    assert!(text.starts_with("admin=127.0.0.1:"), "{text}");

    for (format, model) in [
        ("openai_chat", "gpt-5.5"),
        ("anthropic_messages", "claude-opus-5-5"),
    ] {
        assert!(text.contains(&format!("\n{format}, {model}\n")), "{text}");
        let (through, straight) = ratios(&text, format);
        assert!(through >= 0.95 && straight < through / 2.0, "{text}");
    }
    for event in [
        "todo list",
        "plan mode on",
        "plan mode off",
        "memory removed",
        "regenerate",
        "back two",
        "Inkfast restarts",
        "tried again",
    ] {
        let rows = text.lines().filter(|line| line.contains(event));
        assert!(rows.count() >= 2, "{event} in both tables:\n{text}");
    }
    // Edits of the head are what the straight run loses its cache to, and its thinking; through Inkfast none of it happens.
    assert!(
        text.contains("system_changed") && text.contains("system_volatile"),
        "{text}"
    );
    let rows = rows(&text);
    assert!(
        rows.iter().any(|row| row.matches("400 thinking").count() == 1),
        "{text}"
    );
    assert!(
        rows.iter().all(|row| row.matches("400 thinking").count() < 2),
        "{text}"
    );
}

#[test]
fn one_format_and_few_turns_can_be_asked_for_and_a_gate_that_fails_is_code_1() {
    let output = demo(&["--format", "openai_chat", "--turns", "1"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert_eq!(rows(&text).len(), 1, "{text}");
    assert!(!text.contains("anthropic_messages"), "{text}");
    assert!(text.contains("FAILED"), "{text}");
}

#[test]
fn a_pace_that_is_no_time_is_bad_usage() {
    for pace in ["-1", "soon", "NaN"] {
        let output = demo(&[&format!("--pace={pace}")]);
        assert_eq!(output.status.code(), Some(2), "{pace}");
        assert!(output.stdout.is_empty(), "{pace}");
    }
}

fn demo(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_inkfast"));
    command.arg("demo").args(arguments).output().unwrap()
}

/// Lines that begin with the number of a turn.
fn rows(text: &str) -> Vec<&str> {
    let numbered = |line: &&str| {
        let first = line.split_whitespace().next();
        first.is_some_and(|word| word.parse::<u32>().is_ok())
    };
    let indented = text.lines().filter(|line| line.starts_with(' '));
    indented.filter(numbered).collect()
}

/// Read of possible: through Inkfast, and straight.
fn ratios(text: &str, format: &str) -> (f64, f64) {
    let start = format!("{format}: in-history: cached ");
    let line = text.lines().find_map(|line| line.strip_prefix(&start)).unwrap();
    let number = |text: &str| text.split(' ').next().unwrap().parse().unwrap();
    (
        number(line),
        number(line.split_once("straight: cached ").unwrap().1),
    )
}
