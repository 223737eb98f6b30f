//! OpenAI Responses: roles and parts, outputs that follow their calls, reasoning that stays with its item, and the place of
//! a compaction trigger.
//!
//! The vendor's texts are used where they are known; the others name the rule.

use super::super::json::Json;
use super::super::refusal::Refusal;
use super::super::responses::{Responses, is_call, is_output, kind};

pub(super) fn validate(responses: &Responses) -> Result<(), Refusal> {
    for (i, item) in responses.items.iter().enumerate().skip(responses.held) {
        well_formed(&format!("input[{}]", i - responses.held), item)?;
    }
    trigger(&responses.items)?;
    call_groups(&responses.items)?;
    reasoning(&responses.items)
}

fn well_formed(path: &str, item: &Json) -> Result<(), Refusal> {
    match kind(item) {
        "" => Err(invalid(
            format!("{path}.type"),
            "Missing required parameter: an item needs a 'type'.",
        )),
        "message" => message(path, item),
        "additional_tools" if item.str("role") != Some("developer") => Err(invalid(
            format!("{path}.role"),
            "Invalid value: 'additional_tools' takes the role 'developer' only.",
        )),
        _ => Ok(()),
    }
}

fn message(path: &str, item: &Json) -> Result<(), Refusal> {
    let role = item.str("role").unwrap_or_default();
    let supported: &[&str] = match role {
        "assistant" => &["output_text", "refusal"],
        "user" | "system" | "developer" => &["input_text", "input_image", "input_file", "input_audio"],
        _ => {
            let supported = "'assistant', 'system', 'developer', and 'user'";
            let text = format!("Invalid value: '{role}'. Supported values are: {supported}.");
            return Err(invalid(format!("{path}.role"), &text));
        }
    };
    for (i, part) in item.list("content").iter().enumerate() {
        let kind = part.str("type").unwrap_or_default();
        if !supported.contains(&kind) {
            let supported = supported.join("', '");
            let text = format!("Invalid value: '{kind}'. Supported values are: '{supported}'.");
            return Err(invalid(format!("{path}.content[{i}]"), &text));
        }
    }
    Ok(())
}

fn trigger(items: &[Json]) -> Result<(), Refusal> {
    let is_trigger = |item: &Json| kind(item) == "compaction_trigger";
    match items.iter().position(is_trigger) {
        Some(at) if at + 1 < items.len() => Err(invalid(
            format!("input[{at}]"),
            "A 'compaction_trigger' must be the final input item.",
        )),
        _ => Ok(()),
    }
}

/// Calls of one group, with the reasoning in front of each, and then all their outputs before anything else.
fn call_groups(items: &[Json]) -> Result<(), Refusal> {
    let mut open: Vec<&str> = Vec::new();
    let mut answering = false;
    for item in items {
        let kind = kind(item);
        if is_output(kind) {
            let id = item.str("call_id").unwrap_or_default();
            let Some(at) = open.iter().position(|call| *call == id) else {
                return Err(stray_output(kind, id));
            };
            open.swap_remove(at);
            answering = true;
            continue;
        }
        // The model's own items may stand between two calls.
        let calling = is_call(kind) || kind == "reasoning" || kind.ends_with("_call");
        if answering || !calling {
            unanswered(&open)?;
        }
        answering = false;
        if is_call(kind) {
            open.push(item.str("call_id").unwrap_or_default());
        }
    }
    unanswered(&open)
}

fn unanswered(open: &[&str]) -> Result<(), Refusal> {
    let Some(id) = open.first() else { return Ok(()) };
    let message = format!("No tool output found for function call {id}.");
    Err(Refusal::new(message).param("input"))
}

fn stray_output(kind: &str, id: &str) -> Refusal {
    let call = kind.trim_end_matches("_output").replace('_', " ");
    let message = format!("No tool call found for {call} output with call_id {id}.");
    Refusal::new(message).param("input")
}

/// What a reasoning item led to comes right behind it.
fn reasoning(items: &[Json]) -> Result<(), Refusal> {
    for (i, item) in items.iter().enumerate() {
        let follower = items.get(i + 1);
        if kind(item) == "reasoning" && !follower.is_some_and(is_produced) {
            let id = item.str("id").unwrap_or_default();
            let message =
                format!("Item '{id}' of type 'reasoning' was provided without its required following item.");
            return Err(Refusal::new(message).param("input"));
        }
    }
    Ok(())
}

fn is_produced(item: &Json) -> bool {
    let kind = kind(item);
    match kind {
        "message" => item.str("role") == Some("assistant"),
        _ => kind == "reasoning" || kind.ends_with("_call"),
    }
}

fn invalid(param: String, message: &str) -> Refusal {
    Refusal::new(message).param(param).code("invalid_value")
}
