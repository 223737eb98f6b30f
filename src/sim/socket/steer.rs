//! `response.steer`: input for a response under way, which its successor begins with.
//!
//! A response that ends in calls of client tools has no successor: its queued input comes back as not committed. The vendor
//! would hold it until the client sends the outputs.

use bytes::Bytes;
use serde_json::{Value, json};

use super::{Opening, STEER, SUCCESSOR};
use crate::sim::delivery::Watch;
use crate::sim::exchange::Incoming;
use crate::sim::json::Json;
use crate::sim::record::Delivery;

/// Records the frame, queues its input, and says so.
pub(super) fn steer(opening: &Opening, bytes: Bytes, frame: &Json) -> Value {
    let incoming = opening.incoming(STEER, bytes, None);
    let number = incoming.number;
    let response = frame.str("previous_response_id").unwrap_or_default();
    let mut state = opening.shared.state();
    let queued = input(frame).map_err(|why| ("invalid_input", why));
    let queued = queued.and_then(|items| {
        let lane = state.memory.steer(response, opening.number, items);
        lane.map_err(|code| (code, format!("The response '{response}' takes no input.")))
    });
    let status = if queued.is_ok() { 200 } else { 400 };
    state.note(incoming, status, &opening.shared.config);
    drop(state);
    Watch::new(opening.shared.clone(), number).end(Delivery::Sent);
    let lane = match queued {
        Ok(lane) => lane,
        Err((code, why)) => return failed(code, &why, response, frame.get("input").unwrap_or(&Json::Null)),
    };
    let mut accepted = json!({
        "type": "response.steer.accepted",
        "sequence_number": 0,
        "steer": {"id": format!("steer_sim{number:08x}"), "previous_response_id": response},
    });
    if let Some(stream) = lane.stream {
        accepted["stream_id"] = json!(stream);
    }
    accepted
}

/// Queued input whose response had no successor.
pub(super) fn uncommitted(response: &str, queued: &[Json], stream: Option<&str>) -> Value {
    let why = "The response waits for the outputs of its calls, or has failed.";
    let input = Json::List(queued.to_vec());
    let mut event = failed("successor_creation_failed", why, response, &input);
    if let Some(stream) = stream {
        event["stream_id"] = json!(stream);
    }
    event
}

/// The request that goes on from a response with the queued input; all else is as in the request before.
pub(super) fn successor(
    opening: &Opening,
    before: &[u8],
    response: &str,
    queued: Vec<Json>,
    stream: Option<String>,
) -> Incoming {
    let before = Json::parse(before).unwrap_or(Json::Null);
    let body = before
        .with("previous_response_id", Some(Json::Text(response.to_owned())))
        .with("input", Some(Json::List(queued)));
    opening.incoming(SUCCESSOR, Bytes::from(body.compact()), stream)
}

/// The input as messages of the user.
///
/// # Errors
///
/// Why it is none.
fn input(frame: &Json) -> Result<Vec<Json>, String> {
    let mut keys = frame.fields().iter().map(|(key, _)| key.as_str());
    if let Some(key) = keys.find(|key| !matches!(*key, "type" | "previous_response_id" | "input")) {
        return Err(format!("Unknown parameter: '{key}'."));
    }
    match frame.get("input") {
        Some(Json::Text(text)) => {
            let pair = |key: &str, value: &str| (key.to_owned(), Json::Text(value.to_owned()));
            Ok(vec![Json::Map(vec![pair("role", "user"), pair("content", text)])])
        }
        Some(Json::List(items)) if !items.is_empty() => match items.iter().all(is_user_message) {
            true => Ok(items.clone()),
            false => Err("Steering takes messages of the role 'user' only.".to_owned()),
        },
        _ => Err("'input' must be a string or a non-empty array.".to_owned()),
    }
}

fn is_user_message(item: &Json) -> bool {
    let known = |(key, _): &(String, Json)| matches!(key.as_str(), "type" | "role" | "content");
    item.str("role") == Some("user")
        && matches!(item.str("type"), None | Some("message"))
        && item.fields().iter().all(known)
}

fn failed(code: &str, why: &str, response: &str, input: &Json) -> Value {
    let input: Value = serde_json::from_str(&input.compact()).unwrap_or_default();
    json!({
        "type": "response.steer.failed",
        "sequence_number": 0,
        "error": {"type": "invalid_request_error", "code": code, "message": why},
        "steer": {"previous_response_id": response, "input": input},
    })
}
