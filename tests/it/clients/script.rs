//! What the provider answers in the conversation of `tests/clients/conversation.py`.

use inkfast::sim::Answer;
use serde_json::json;

pub const TURNS: usize = 5;
/// What the system prompt says of the tasks, turn by turn.
pub const TASKS: [&str; TURNS] = ["1 open", "1 open", "1 done, 2 open", "1 open", "none"];
/// Turns whose system prompt is another one than the turn's before.
pub const EDITS: usize = 3;

/// Two rounds of calls and a text for each turn; in it what encoders and stream parsers stumble over.
pub fn answers(thinking: bool) -> Vec<Answer> {
    let mut answers = Vec::new();
    for turn in 1..=TURNS {
        let mut first = call(
            turn,
            "a",
            "read_file",
            json!({"path": format!("src/größe {turn}.rs")}),
        );
        first.text = Some(format!("Step {turn}: I read “größe” first.\n"));
        answers.push(first);
        let mut second = call(
            turn,
            "b",
            "read_file",
            json!({"path": "a \"quoted\" \\ path\u{7f}"}),
        );
        let more = call(turn, "c", "run_tests", json!({"path": ""}));
        second.tool_calls.extend(more.tool_calls);
        answers.push(second);
        let text =
            format!("Step {turn} is done: 1 < 2 && \"ok\"\t\\ 漢字 🦀\n\ndata: [DONE]\n\nevent: error\n");
        answers.push(Answer::text(text));
    }
    if thinking {
        for (number, answer) in answers.iter_mut().enumerate() {
            answer.thinking = Some(format!("Thought {number}:\n– then look.\n"));
        }
    }
    answers
}

fn call(turn: usize, letter: &str, name: &str, arguments: serde_json::Value) -> Answer {
    // Nine letters and digits, which is what Mistral's own are; short enough for everybody else.
    Answer::call(&format!("call{turn:04}{letter}"), name, arguments)
}
