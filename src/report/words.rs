//! Causes and remedies in words: what happened, and what to do about it.

use crate::prefix::{Cause, Remedy};

/// A cause in one line.
pub fn title(cause: Cause) -> &'static str {
    words(cause).0
}

/// What to do about a cause.
pub fn advice(cause: Cause) -> &'static str {
    words(cause).1
}

/// What Inkfast can do about it.
pub fn remedy(remedy: Remedy) -> &'static str {
    match remedy {
        Remedy::None => "Nothing has to be done.",
        Remedy::Append => "In in-history mode Inkfast sends the new text behind the history.",
        Remedy::PinBytes => "What was sent before can be sent again as it was.",
        Remedy::PinOrder => "The order of before can be sent again.",
        Remedy::Volatile => "The text can wait for the next user turn, or go to the end.",
        Remedy::ReportOnly => "Only the client can avoid it.",
    }
}

/// What to do about a miss of the provider's on an intact prefix, by its name.
pub fn miss_advice(miss: &str) -> &'static str {
    match miss {
        "ttl_expired" => {
            "The pause was longer than the entry lives: ask for a longer lifetime, or accept it."
        }
        "below_minimum" => "The prompt is shorter than what the provider caches; nothing is wrong.",
        "no_breakpoint" => "The provider caches only up to explicit markers: set one.",
        "lookback_exceeded" => {
            "More was added than the provider looks back from a marker: set markers in between."
        }
        "hoisted_downstream" => {
            "An update in the history was moved to the front: use another carrier for this route."
        }
        "server_context_edit" => {
            "The provider cleared a part of the history itself: clear rarely and in large steps."
        }
        "thinking_not_kept" => {
            "The model's template leaves earlier thinking out where the user speaks again; nothing is wrong."
        }
        "in_flight" => "The earlier answer had not begun yet: send the first request alone.",
        "routing_or_eviction" => {
            "Another machine, or a full cache: a stable routing key helps on routes that take one."
        }
        _ => "",
    }
}

/// A line of what happened, and one of what to do.
fn words(cause: Cause) -> (&'static str, &'static str) {
    in_front(cause)
        .or_else(|| in_history(cause))
        .unwrap_or_else(|| elsewhere(cause))
}

/// Parameters, tools and the head.
fn in_front(cause: Cause) -> Option<(&'static str, &'static str)> {
    let words = match cause {
        Cause::ModelChanged => (
            "Another model",
            "Caches are kept by model: stay on one within a conversation where you can.",
        ),
        Cause::ParametersChanged => (
            "A parameter that the provider renders changed",
            "Keep effort, output format and tool choice constant within a conversation.",
        ),
        Cause::RoutingKeyChanged => (
            "The routing key changed",
            "Send one cache or routing key for a whole conversation.",
        ),
        Cause::ToolsAdded => (
            "Tools were added",
            "Declare all tools from the first request on, or add them between conversations.",
        ),
        Cause::ToolsRemoved => (
            "Tools were removed",
            "Leave unused tools declared, and steer by tool choice instead.",
        ),
        Cause::ToolsReordered => (
            "The tools stand in another order",
            "Sort the tools once, by name.",
        ),
        Cause::ToolChanged => (
            "A tool reads otherwise",
            "Keep names, descriptions and schemas constant; move what changes out of them.",
        ),
        Cause::KeyOrder => (
            "Keys of a schema or of arguments stand in another order",
            "Serialise from ordered maps, or send the stored text again.",
        ),
        Cause::SystemChanged => (
            "The system prompt was edited",
            "Append the new text to the history instead of editing the head.",
        ),
        Cause::SystemVolatile(_) => (
            "The system prompt holds a value that keeps changing",
            "Move clock, date, ids and counters into the newest message.",
        ),
        Cause::SystemReordered => (
            "The blocks of the system prompt stand in another order",
            "Build the head in one fixed order.",
        ),
        Cause::SystemHoisted => (
            "A message of the history was put into the system prompt",
            "Leave operator messages where they were sent.",
        ),
        _ => return None,
    };
    Some(words)
}

/// The history.
fn in_history(cause: Cause) -> Option<(&'static str, &'static str)> {
    let words = match cause {
        Cause::HistoryEdited => (
            "A sent item was edited",
            "Append a correction instead of editing what was sent.",
        ),
        Cause::HistoryTruncated => (
            "The oldest items were dropped",
            "Drop rarely and in large steps, as each one costs the whole history.",
        ),
        Cause::HistoryCompacted => (
            "The history was replaced by less",
            "Compact rarely; the first request behind it pays for the whole prompt.",
        ),
        Cause::ItemsReordered => (
            "Sent items stand in another order",
            "Keep the order of sent items.",
        ),
        Cause::ToolResultPruned => (
            "An old tool result was cut",
            "Cut results before they are first sent, or all at once when you compact.",
        ),
        Cause::ImageRemoved => (
            "An image or document of a sent message is gone",
            "Keep attachments until you compact.",
        ),
        Cause::ReasoningRemoved => (
            "Reasoning of a past answer was left out",
            "Send reasoning back as it came, where the provider takes it.",
        ),
        Cause::IdsRegenerated => (
            "The same items came under other ids",
            "Keep the ids that were sent.",
        ),
        Cause::DecorationChanged => (
            "A reminder or context block of a sent message was dropped, moved or trimmed",
            "Leave reminders where they were sent, and append the next one.",
        ),
        Cause::MessageVolatile => (
            "A sent message holds a value that keeps changing",
            "Render such values once, when the message is first sent.",
        ),
        Cause::MessageReshaped => (
            "The same text came in other blocks or messages",
            "Store messages as they were sent, not as parts.",
        ),
        Cause::ItemsInserted => ("Items were put between sent ones", "Add new items at the end."),
        Cause::Whitespace => (
            "Only white space differs",
            "Do not trim or reformat what was sent.",
        ),
        Cause::RoleChanged => (
            "The same content came from another speaker",
            "Keep the roles of sent items.",
        ),
        _ => return None,
    };
    Some(words)
}

/// The writing, the markers and the proxy's own.
fn elsewhere(cause: Cause) -> (&'static str, &'static str) {
    match cause {
        Cause::Reserialised => (
            "Equal in meaning, written otherwise",
            "Harmless with most providers; send stored bytes again to be sure.",
        ),
        Cause::MarkerLimit => ("More cache markers than the provider takes", "Set fewer markers."),
        Cause::MarkerTtlOrder => (
            "Markers of a longer lifetime stand behind those of a shorter",
            "Put the longer lifetime in front.",
        ),
        Cause::MarkerLost => (
            "A cache marker is gone, and none stands behind it",
            "Keep a marker on the newest turn.",
        ),
        Cause::NoSlot => (
            "The proxy had no legal place for an update",
            "Nothing; the edit went out in the head.",
        ),
        Cause::Refused => (
            "The upstream refused the edited form",
            "Run `inkfast probe` and set the route's carrier.",
        ),
        Cause::Guard => (
            "The proxy's last check failed",
            "Please report it; the client's own body went out.",
        ),
        Cause::Rebaseline => (
            "The proxy folded the updates into the head",
            "Nothing; it was due, and the next requests are cheaper.",
        ),
        Cause::UnknownHistory => (
            "The proxy did not know the history",
            "Nothing; the conversation began before it listened.",
        ),
        Cause::None => ("Nothing changed", "Nothing has to be done."),
        _ => (
            "Something changed that has no name",
            "Compare the two bodies; `--show-content` shows the difference.",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::causes;
    use crate::route::warmth::Miss;

    #[test]
    fn every_miss_has_advice() {
        for miss in Miss::ALL {
            assert!(!miss_advice(miss.as_str()).is_empty(), "{}", miss.as_str());
        }
    }

    #[test]
    fn every_cause_has_words_of_its_own() {
        let mut titles: Vec<_> = causes().map(title).collect();
        titles.sort_unstable();
        titles.dedup();
        assert_eq!(titles.len(), causes().count());
        assert!(causes().all(|cause| !advice(cause).is_empty()));
    }
}
