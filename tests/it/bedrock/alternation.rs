//! Whatever the conversation does: user and assistant alternate in every body that leaves, no marker is added, and
//! nothing of the client's is lost.

use inkfast::prefix::item::Hints;
use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

#[derive(Clone, Debug)]
struct Step {
    /// The head is edited before it; a second value goes back to the first head.
    edit: u8,
    /// The answer calls so many tools.
    calls: usize,
    /// The answer opens with thinking.
    thinks: bool,
    /// The user speaks behind the results, too.
    adds: bool,
    /// Where markers go: head, tools, the last block, some other block.
    marks: [bool; 4],
    pick: prop::sample::Index,
    /// It is sent twice.
    again: bool,
}

fn step() -> impl Strategy<Value = Step> {
    (
        0u8..4,
        0usize..3,
        any::<bool>(),
        any::<bool>(),
        any::<[bool; 4]>(),
        any::<prop::sample::Index>(),
        prop::bool::weighted(0.2),
    )
        .prop_map(|(edit, calls, thinks, adds, marks, pick, again)| Step {
            edit,
            calls,
            thinks,
            adds,
            marks,
            pick,
            again,
        })
}

/// The client's side of one conversation.
#[derive(Default)]
struct Client {
    mode: usize,
    history: Vec<Value>,
    calls: Vec<String>,
    count: usize,
}

impl Client {
    fn next(&mut self) -> usize {
        self.count += 1;
        self.count
    }

    fn asks(&mut self, step: &Step) {
        self.mode = match step.edit {
            0 => 0,
            1 => self.next(),
            _ => self.mode,
        };
        let calls = std::mem::take(&mut self.calls);
        let mut content: Vec<Value> = calls
            .iter()
            .map(|id| json!({"toolResult": {"toolUseId": id, "content": [{"text": format!("result of {id}")}]}}))
            .collect();
        if content.is_empty() || step.adds {
            content.push(text(&format!("Do part {}.", self.next())));
        }
        self.history.push(user(Value::from(content)));
    }

    fn answered(&mut self, step: &Step) -> Answer {
        let words = format!("Part {} is done.", self.next());
        let mut content = vec![text(&words)];
        if step.thinks {
            let number = self.next();
            content.insert(0, json!({"reasoningContent": {"reasoningText": {"text": number.to_string(), "signature": "c2ln"}}}));
        }
        for _ in 0..step.calls {
            let id = format!("t{}", self.next());
            content.push(json!({"toolUse": {"toolUseId": id, "name": "read", "input": {"path": id}}}));
            self.calls.push(id);
        }
        self.history.push(assistant(Value::from(content)));
        let calls: Vec<&str> = self.calls.iter().map(String::as_str).collect();
        said(&words, &calls)
    }

    fn body(&self, step: &Step) -> Bytes {
        let mode = format!("mode {}", self.mode);
        let (mut system, mut history) = (
            vec![text(&prompt(&mode)), text("Second part.")],
            self.history.clone(),
        );
        let mut tools = vec![json!({"toolSpec": {"name": "read", "inputSchema": {"json": {}}}})];
        let [in_head, in_tools, last, other] = step.marks;
        if in_head {
            system.push(marker());
            system.insert(1, marker());
        }
        if in_tools {
            tools.push(marker());
        }
        if other {
            let at = step.pick.index(history.len());
            let content = history[at]["content"].as_array_mut().unwrap();
            content.insert(1, marker());
        }
        if last {
            let content = history.last_mut().unwrap()["content"].as_array_mut().unwrap();
            content.push(marker());
        }
        Bytes::from(
            json!({"system": system, "messages": history, "toolConfig": {"tools": tools}}).to_string(),
        )
    }
}

fn holds(sent: &Bytes, out: &Bytes) {
    assert!(count(out, "cachePoint") <= count(sent, "cachePoint"));
    let (sent, out): (Value, Value) = (
        serde_json::from_slice(sent).unwrap(),
        serde_json::from_slice(out).unwrap(),
    );
    let messages = out["messages"].as_array().unwrap();
    let roles: Vec<&str> = messages
        .iter()
        .map(|message| message["role"].as_str().unwrap())
        .collect();
    let speakers: Vec<&str> = roles.iter().filter(|role| **role != "system").copied().collect();
    for (index, role) in speakers.iter().enumerate() {
        assert_eq!(*role, ["user", "assistant"][index % 2], "{roles:?}");
    }
    for (index, _) in roles.iter().enumerate().filter(|(_, role)| **role == "system") {
        assert_eq!(roles[index - 1], "user", "{roles:?}");
        assert!(
            roles.get(index + 1).is_none_or(|next| *next == "assistant"),
            "{roles:?}"
        );
    }
    // Without what was added, the client's blocks are there, markers and all, message by message.
    let own = |block: &Value| {
        !block["text"]
            .as_str()
            .is_some_and(|text| text.starts_with("<system-"))
    };
    let kept: Vec<Value> = messages
        .iter()
        .filter(|message| message["role"] != "system")
        .map(|message| {
            let content: Vec<Value> = message["content"]
                .as_array()
                .unwrap()
                .iter()
                .filter(|block| own(block))
                .cloned()
                .collect();
            json!({"role": message["role"], "content": content})
        })
        .collect();
    assert_eq!(Value::from(kept), sent["messages"]);
    // Results open their message.
    for message in messages {
        let content = message["content"].as_array().unwrap();
        let results = content
            .iter()
            .filter(|block| block.get("toolResult").is_some())
            .count();
        let opening = content
            .iter()
            .filter(|block| block.get("cachePoint").is_none())
            .take_while(|block| block.get("toolResult").is_some());
        assert_eq!(opening.count(), results);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn roles_alternate_and_no_marker_is_added(steps in vec(step(), 1..9), native: bool) {
        let mut core = core(if native { NATIVE } else { PLAIN });
        let mut client = Client::default();
        let mut before: Option<Bytes> = None;
        for step in &steps {
            client.asks(step);
            let body = client.body(step);
            let answer = client.answered(step);
            let turn = core.exchange(&body, Hints::default(), &answer);
            prop_assert_eq!(turn.guard, Ok(()));
            holds(&body, &turn.out);
            prop_assert!(!turn.plan.sent.is_break(), "{}", turn.plan.sent);
            if before.is_none() {
                prop_assert_eq!(&turn.out, &body);
            }
            if step.again {
                let again = core.exchange(&body, Hints::default(), &answer);
                prop_assert_eq!(&again.out, &turn.out);
            }
            before = Some(turn.out);
        }
    }
}
