//! Conversations at random, as Chat Completions says them.

use serde_json::{Value, json};

use super::ANSWER;

/// A small generator: equal seeds give equal conversations.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0x5DEE_CE66_D1CE_4E5B)
    }

    /// A number below `end`.
    pub fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % end
    }

    fn words(&mut self, count: usize) -> String {
        const WORDS: [&str; 16] = [
            "parser", "printer", "folder", "naïve", "search", "window", "carpet", "orange", "silver",
            "garden", "little", "bridge", "würfel", "summer", "letter", "puzzle",
        ];
        let words: Vec<&str> = (0..count).map(|_| WORDS[self.below(WORDS.len())]).collect();
        words.join(" ")
    }
}

/// What stands in a conversation for a mutation to find.
pub const CLOCK: &str = "10:41:07";

/// A conversation with all that can change in it: tools, a head of parts, reminders, calls with arguments, results,
/// reasoning; it ends with the user. Words after `#` are unique to each message.
pub fn talk(random: &mut Random) -> Value {
    let tools: Vec<Value> = (0..3 + random.below(3))
        .map(|number| tool(number, random))
        .collect();
    let parts: Vec<Value> = (0..2 + random.below(2))
        .map(|number| json!({"type": "text", "text": format!("Rule {number}x at {CLOCK}: {}", random.words(12))}))
        .collect();
    let mut messages = vec![json!({"role": "system", "content": parts})];
    for round in 0..2 + random.below(3) {
        messages.push(user(round, random));
        if random.below(4) > 0 || round == 0 {
            messages.extend(calls(round, random));
        }
        let said = format!("Done #{round}: {}", random.words(9));
        messages.push(json!({"role": "assistant", "content": said}));
    }
    messages.push(json!({"role": "user", "content": format!("And now? {}", random.words(4))}));
    json!({"messages": messages, "tools": tools})
}

/// The same conversation behind its answer.
pub fn appended(chat: &Value, random: &mut Random) -> Value {
    let mut chat = chat.clone();
    let next = format!("Go on: {}", random.words(5));
    let more = [
        json!({"role": "assistant", "content": ANSWER}),
        json!({"role": "user", "content": next}),
    ];
    chat["messages"].as_array_mut().unwrap().extend(more);
    chat
}

fn tool(number: usize, random: &mut Random) -> Value {
    let properties = json!({"deep": {"type": "boolean"}, "path": {"type": "string"}});
    let parameters = json!({"properties": properties, "required": ["path"], "type": "object"});
    let function = json!({
        "name": format!("tool_{number}"), "description": format!("{} ({number})", random.words(6)), "parameters": parameters,
    });
    json!({"type": "function", "function": function})
}

/// A user's message: what is asked, behind a context block.
fn user(round: usize, random: &mut Random) -> Value {
    let context = format!(
        "<context>\ntime: {CLOCK}\nopen files: {}\n</context>",
        random.words(4)
    );
    json!({"role": "user", "content": format!("{context}\nPlease look #{round}: {}", random.words(7))})
}

/// A call with reasoning, and its result.
fn calls(round: usize, random: &mut Random) -> [Value; 2] {
    let id = format!("call_{round}_{}", random.below(1 << 20));
    let arguments = json!({"deep": true, "path": format!("src/{}.rs", random.words(1))}).to_string();
    let call = json!({"id": id, "type": "function", "function": {"name": "tool_0", "arguments": arguments}});
    let thought = format!("I should look: {}", random.words(5));
    [
        json!({"role": "assistant", "content": "", "reasoning_content": thought, "tool_calls": [call]}),
        json!({"role": "tool", "tool_call_id": id, "content": format!("line one #{round}\n{}\nthe last line", random.words(40))}),
    ]
}
