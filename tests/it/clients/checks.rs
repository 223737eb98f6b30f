//! What holds of every SDK's conversation.

use inkfast::sim::{Answer, Recorded};
use serde_json::{Value, json};

use super::script::{EDITS, TASKS};
use super::sdk::{Cached, Run, Sdk};

impl Sdk {
    /// The edits of the system prompt travel in the history, and everybody sees the same answers and numbers.
    pub fn holds(self) {
        let Some(run) = self.run() else { return };
        run.answers_are_seen_as_sent();
        run.bodies_extend();
        run.edits_are_in_force();
        run.metrics_agree();
        assert_eq!(
            run.count("inkfast_nodes_total", &[]),
            EDITS,
            "a node for each edit"
        );
        assert_eq!(run.count("inkfast_breaks_total", &[]), 0);
        assert_eq!(run.count("inkfast_client_breaks_total", &[]), EDITS);
        assert_eq!(run.count("inkfast_passthrough_total", &[]), 0);
    }

    /// The client signs its bodies, so they leave as they came.
    pub fn passes_observed(self) {
        let Some(run) = self.run() else { return };
        run.answers_are_seen_as_sent();
        run.metrics_agree();
        assert_eq!(run.count("inkfast_nodes_total", &[]), 0);
        assert_eq!(
            run.count("inkfast_breaks_total", &[]),
            EDITS,
            "what the edits cost is told"
        );
        let signed = run.count("inkfast_passthrough_total", &["reason=\"signed\""]);
        assert_eq!(signed, run.sent.len());
    }
}

impl Run {
    fn answers_are_seen_as_sent(&self) {
        assert_eq!(
            self.recorded.len(),
            self.sent.len(),
            "one request for each answer"
        );
        assert_eq!(self.seen.len(), self.sent.len());
        for ((seen, sent), recorded) in self.seen.iter().zip(&self.sent).zip(&self.recorded) {
            let told = self.told(sent);
            let shown = ["text", "calls", "thinking"].map(|key| (key, &seen[key]));
            for (key, shown) in shown {
                assert_eq!(*shown, told[key], "{key} of {}", recorded.number);
            }
            self.usage_is_seen_as_sent(&seen["usage"], recorded);
            if self.sdk.tells.counts {
                let total = recorded.usage.unwrap().total;
                assert_eq!(seen["counted"], total, "what is counted is what is sent");
            }
        }
    }

    /// An answer as the SDK should show it.
    fn told(&self, sent: &Answer) -> Value {
        let tells = self.sdk.tells;
        let calls = sent.tool_calls.iter().map(|(id, name, arguments)| {
            let id = tells.call_ids.then_some(id);
            json!({"id": id, "name": name, "arguments": arguments})
        });
        json!({"text": sent.text, "calls": calls.collect::<Vec<_>>(), "thinking": sent.thinking})
    }

    fn usage_is_seen_as_sent(&self, seen: &Value, recorded: &Recorded) {
        let usage = recorded.usage.unwrap();
        let number = recorded.number;
        assert_eq!(seen["total"], usage.total, "input of {number}");
        assert_eq!(seen["output"], usage.output, "output of {number}");
        // Some SDKs show as 0 what was not told, and some a 0 as nothing.
        let nothing = |seen: &Value| seen.is_null() || *seen == 0;
        let matches = |seen: &Value, told: bool, sent: usize| match told && sent > 0 {
            true => *seen == sent,
            false => nothing(seen),
        };
        assert!(
            matches(&seen["cached"], self.is_cached_told(recorded), usage.cached),
            "{number}: {seen} {usage:?}"
        );
        assert!(
            matches(&seen["written"], self.sdk.tells.written, usage.written),
            "{number}: {seen} {usage:?}"
        );
    }

    fn is_cached_told(&self, recorded: &Recorded) -> bool {
        match self.sdk.tells.cached {
            Cached::Always => true,
            Cached::IfAny => recorded.usage.unwrap().cached > 0,
            Cached::Never => false,
        }
    }

    /// Invariant 2 on the bodies that left: this client only appends behind its head, so all that was sent stands.
    fn bodies_extend(&self) {
        let bodies: Vec<Value> = self
            .recorded
            .iter()
            .map(|recorded| serde_json::from_slice(&recorded.body).unwrap())
            .collect();
        for (number, pair) in bodies.windows(2).enumerate() {
            extends(number + 1, &pair[0], &pair[1]);
        }
    }

    /// What the model is told last of the tasks is what the client says of them.
    fn edits_are_in_force(&self) {
        let per_turn = self.recorded.len() / TASKS.len();
        for (recorded, tasks) in self
            .recorded
            .iter()
            .zip(TASKS.iter().flat_map(|tasks| vec![tasks; per_turn]))
        {
            let operator = recorded.operator.as_ref().unwrap();
            let latest = operator.latest();
            assert!(
                latest.contains(tasks),
                "{}: {:?}",
                recorded.number,
                operator.later
            );
        }
    }

    fn metrics_agree(&self) {
        self.inkfast.wait_for_requests(self.sent.len());
        let format = format!("format=\"{}\"", self.sdk.format);
        let upstream = format!("upstream=\"{}\"", self.sdk.upstream.0);
        let requests = self.count("inkfast_requests_total", &[&format, &upstream]);
        assert_eq!(requests, self.requests);
        let mut expected = [0; 4];
        for recorded in &self.recorded {
            let usage = recorded.usage.unwrap();
            if self.is_cached_told(recorded) {
                let written = if self.sdk.tells.written { usage.written } else { 0 };
                expected[0] += usage.cached;
                expected[1] += written;
                expected[2] += usage.total - usage.cached - written;
            } else {
                expected[3] += usage.total;
            }
        }
        let counted = ["read", "write", "none", "unknown"]
            .map(|cache| self.count("inkfast_input_tokens_total", &[&format!("cache=\"{cache}\"")]));
        assert_eq!(counted, expected, "tokens read, written, neither, unknown");
    }

    fn count(&self, name: &str, labels: &[&str]) -> usize {
        self.inkfast.metric(name, labels) as usize
    }
}

/// Every member of the prompt that is a list starts with what it was, and every other one is as it was.
fn extends(number: usize, before: &Value, after: &Value) {
    let members = [
        "tools",
        "toolConfig",
        "system",
        "systemInstruction",
        "instructions",
        "messages",
        "contents",
        "input",
    ];
    for member in members {
        let (before, after) = (plain(&before[member]), plain(&after[member]));
        let (Some(before), Some(after)) = (before.as_array(), after.as_array()) else {
            assert_eq!(before, after, "{member} of {number}");
            continue;
        };
        for (at, item) in before.iter().enumerate() {
            assert_eq!(Some(item), after.get(at), "{member}[{at}] of {number}");
        }
    }
}

/// A value without cache markers, a content of one bare text block as its string.
fn plain(value: &Value) -> Value {
    match value {
        Value::Array(items) => {
            let kept = items.iter().filter(|item| item.get("cachePoint").is_none());
            let items: Vec<Value> = kept.map(plain).collect();
            match items.as_slice() {
                [only] if only["type"] == "text" && only.as_object().unwrap().len() == 2 => {
                    only["text"].clone()
                }
                _ => Value::Array(items),
            }
        }
        Value::Object(members) => {
            let kept = members.iter().filter(|(name, _)| *name != "cache_control");
            Value::Object(kept.map(|(name, value)| (name.clone(), plain(value))).collect())
        }
        other => other.clone(),
    }
}
