//! Gemini: roles, function calls and their responses, and the signatures that a turn's calls must carry.

use super::super::prompt::{Block, Kind, Message, Prompt, Role};
use super::super::refusal::Refusal;
use super::super::rules;

pub(super) fn validate(prompt: &Prompt) -> Result<(), Refusal> {
    let contents = &prompt.turns;
    if contents.is_empty() {
        return Err(Refusal::new(
            "* GenerateContentRequest.contents: contents is not specified\n",
        ));
    }
    for content in contents {
        if matches!(content.role, Role::Unknown(_)) {
            return Err(Refusal::new("Please use a valid role: user, model."));
        }
        if content.blocks.is_empty() {
            return Err(Refusal::new(format!(
                "* GenerateContentRequest.{}.parts: contents.parts must not be empty.\n",
                content.path
            )));
        }
    }
    function_turns(contents)?;
    match rules::gemini(&prompt.model).signs {
        true => signatures(contents),
        false => Ok(()),
    }
}

/// As many responses as calls in the content right behind, and none elsewhere.
fn function_turns(contents: &[Message]) -> Result<(), Refusal> {
    let mut open = 0;
    for step in steps(contents) {
        let responses = count(step, is_response);
        if responses > 0 && open == 0 {
            return Err(Refusal::new(
                "Please ensure that function response turn comes immediately after a function call turn.",
            ));
        }
        if responses != open {
            return Err(Refusal::new(UNEQUAL));
        }
        open = count(step, is_call);
    }
    match open {
        0 => Ok(()),
        _ => Err(Refusal::new(UNEQUAL)),
    }
}

const UNEQUAL: &str = "Please ensure that the number of function response parts is equal to the number of function call \
    parts of the function call turn.";

/// In the current turn, which begins at the last content that is more than function responses, the first call of every step
/// carries its signature.
fn signatures(contents: &[Message]) -> Result<(), Refusal> {
    let speaks = |c: &Message| c.role != Role::Assistant && !c.blocks.iter().all(is_response);
    let begin = contents.iter().rposition(speaks).unwrap_or(0);
    let steps = steps(&contents[begin..]).filter(|step| step[0].role == Role::Assistant);
    for call in steps.filter_map(|step| blocks(step).find(|b| is_call(b))) {
        if call.signature.is_none() {
            return Err(Refusal::new(format!(
                "Function call is missing a thought_signature in functionCall parts. This is required for tools to work \
                 correctly. Additional data, {}.",
                call.path
            )));
        }
    }
    Ok(())
}

/// The model's contents in a row are one step: a chat of google-genai keeps each chunk of a stream as a content of its own
/// (google-genai 3.6.1, `chats.py`).
fn steps(contents: &[Message]) -> impl Iterator<Item = &[Message]> {
    contents.chunk_by(|a, b| a.role == Role::Assistant && b.role == Role::Assistant)
}

fn count(step: &[Message], is: fn(&Block) -> bool) -> usize {
    blocks(step).filter(|b| is(b)).count()
}

fn blocks(step: &[Message]) -> impl Iterator<Item = &Block> {
    step.iter().flat_map(|content| &content.blocks)
}

fn is_call(block: &Block) -> bool {
    matches!(block.kind, Kind::ToolUse { .. })
}

fn is_response(block: &Block) -> bool {
    matches!(block.kind, Kind::ToolResult { .. })
}
