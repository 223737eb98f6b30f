//! What is a predecessor, and what happens when little can be remembered.

use inkfast::audit::{Auditor, Exchange, Options};
use inkfast::wire::format::Format;
use serde_json::{Value, json};

use super::{answer_body, ended, options, request};

fn turn(head: &str, turns: usize) -> String {
    let mut messages = vec![json!({"role": "system", "content": head})];
    for number in 1..=turns {
        if number > 1 {
            messages.push(json!({"role": "assistant", "content": said(number)}));
        }
        messages.push(json!({"role": "user", "content": format!("Question {number} of this conversation")}));
    }
    json!({"model": "gpt-5.5", "messages": messages}).to_string()
}

/// The answer in front of a turn: long enough to be nobody else's.
fn said(number: usize) -> String {
    format!("Answer {number}: {}", "word ".repeat(60))
}

/// A request that was answered, with what stands in front of the next turn.
fn answered(body: String, turns: usize) -> Exchange {
    let mut exchange = ended(request("api.openai.com", body), 200);
    if let Some(answer) = &mut exchange.answer {
        answer.body = answer_body(Format::OpenaiChat, &said(turns + 1), &[]).into();
    }
    exchange
}

fn verdicts(options: Options, exchanges: Vec<Exchange>) -> Vec<String> {
    let mut auditor = Auditor::new(options);
    exchanges
        .into_iter()
        .map(|exchange| auditor.see(exchange).unwrap().received.verdict.to_string())
        .collect()
}

const HEAD: &str = "You keep a list of tasks. Be brief, and name the file that you speak of.";

/// A request that was not answered well is continued by nobody: the next one is compared with what was taken.
#[test]
fn what_failed_is_no_predecessor() {
    let host = "api.openai.com";
    let other = HEAD.replace("brief", "quick");
    for status in [400, 429, 500] {
        let exchanges = vec![
            ended(request(host, turn(HEAD, 1)), 200),
            ended(request(host, turn(HEAD, 2)), 200),
            ended(request(host, turn(&other, 3)), status),
            ended(request(host, turn(HEAD, 3)), 200),
        ];
        let seen = verdicts(options(), exchanges);
        assert_eq!(seen[3], "extend/none", "{status}: {seen:?}");
        assert!(
            seen[2].starts_with("rewrite/system_changed"),
            "{status}: {seen:?}"
        );
    }
}

/// Where no body can be kept, a break has the cause that digests alone tell, and never a wrong one; where nothing at all can,
/// a conversation begins anew.
#[test]
fn little_memory_makes_no_false_break() {
    let host = "api.openai.com";
    let tidied = turn(HEAD, 3).replace("Question 1 of", "Question 1  of");
    let exchanges = || {
        vec![
            answered(turn(HEAD, 1), 1),
            answered(turn(HEAD, 2), 2),
            answered(tidied.clone(), 3),
        ]
    };
    let whole = verdicts(options(), exchanges());
    assert_eq!(whole[2], "rewrite/whitespace@messages[1]", "{whole:?}");
    let bodiless = Options {
        kept_bodies: 0,
        ..options()
    };
    assert_eq!(
        verdicts(bodiless, exchanges())[2],
        "rewrite/history_edited@messages[1]"
    );
    let forgetful = Options {
        kept_records: 0,
        ..options()
    };
    let many: Vec<Exchange> = (0..300)
        .map(|number| ended(request(host, turn(&format!("{HEAD} {number}"), 1)), 200))
        .chain([ended(request(host, turn(&format!("{HEAD} 0"), 2)), 200)])
        .collect();
    let seen = verdicts(forgetful, many);
    assert!(
        seen.iter().all(|verdict| verdict == "new_lineage/none"),
        "{seen:?}"
    );
}

/// What cannot be read is skipped by name, and costs nothing else.
#[test]
fn what_is_no_prompt_is_skipped_by_name() {
    let mut auditor = Auditor::new(options());
    let mut why = |body: &str| {
        auditor
            .see(request("api.openai.com", body.to_owned()))
            .map(drop)
            .unwrap_err()
            .reason
    };
    assert_eq!(why("{}"), "not_a_prompt");
    assert_eq!(why("hello"), "not_a_prompt");
    assert_ne!(
        why(r#"{"model":"m","messages":[{"role":"user","content":"x"}],"messages":[]}"#),
        ""
    );
    let seen: Value = serde_json::from_str(&turn(HEAD, 1)).unwrap();
    assert!(auditor.see(request("api.openai.com", seen.to_string())).is_ok());
}
