//! Whether an update is obeyed is told from models that obey nothing, hold to the head, or only repeat a word.

use super::*;

#[test]
fn a_model_that_obeys_no_rule_proves_nothing() {
    let provider = Provider::start(Config::default()).unwrap();
    let found = Found::of(&provider, Format::OpenaiChat, GPT, &[]);
    let row = found.row("system");
    assert_eq!(
        (&row["obeyed"], &row["kept"]["is"]),
        (&json!("no_rule_obeyed"), &json!("yes")),
        "{row}"
    );
    // What the table has stays, and what it has not is not added without proof.
    assert_eq!(found.carriers(), [Carrier::UserReminder]);
    assert!(
        found.toml.contains("# not proven: { carrier = \"system\""),
        "{}",
        found.toml
    );
}

#[test]
fn a_model_that_holds_to_the_head_disobeys() {
    let provider = Provider::start(Config::default()).unwrap();
    (0..6).for_each(|_| provider.push(Answer::text("Copper washers. MARIGOLD")));
    let found = Found::of(&provider, Format::OpenaiChat, GPT, &[]);
    for row in ["system", "user_reminder"] {
        assert_eq!(found.row(row)["obeyed"], "old");
    }
    assert_eq!(found.carriers(), []);
}

#[test]
fn a_word_that_is_only_repeated_is_no_obedience() {
    let provider = Provider::start(Config::default()).unwrap();
    let word = "End every answer with the codeword KESTREL";
    for text in ["Washers.", "Washers.", word, "Three boxes.", word] {
        provider.push(Answer::text(text));
    }
    let found = Found::of(&provider, Format::OpenaiChat, GPT, &[]);
    assert_eq!(found.row("system")["obeyed"], "repeated");
    assert_eq!(found.row("system")["in_loop"], "accepted");
    assert_eq!(found.carriers(), [Carrier::UserReminder]);
}
