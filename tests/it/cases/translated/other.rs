//! One case in one other format.

use inkfast::prefix::item::Hints;
use inkfast::prefix::verdict::Verdict;
use serde_json::Value;

use super::super::*;
use crate::harness::{Answer, Core, Turn};
use crate::translate::{is_operator, model_in_path, route_of, said_in, spoken, texts, translate};

/// What became of a case's requests in its own format and in another.
pub struct Other {
    own: Vec<Outcome>,
    turns: Vec<Outcome>,
    expect: Expect,
    /// The first changed item is of the head.
    head: bool,
}

/// Where a conversation changed first, in no format's words.
pub enum Place {
    Tool(usize),
    HeadBlock(usize),
    Message(usize),
}

impl Other {
    /// Drives the case in both; an error names what `format` cannot say.
    pub fn new(case: &Case, own: Format, format: Format) -> Result<Self, &'static str> {
        let bodies = bodies(case);
        let chats = bodies.iter().map(|body| spoken(&json(body), own));
        let mut chats = chats.collect::<Result<Vec<Value>, _>>()?;
        let (host, [model, _]) = route_of(format, true);
        for chat in &mut chats {
            chat["model"] = model.into();
        }
        let said = chats.iter().map(|chat| say(chat, format));
        let said = said.collect::<Result<Vec<Value>, _>>()?;
        let as_chats: Vec<Bytes> = chats.iter().map(bytes).collect();
        let told: Vec<Answer> = answers(&as_chats)
            .map(|answer| said_in(format, &as_chats, answer))
            .collect();
        let (item, head) = changed(case, &chats, format)?;
        let mut core = Core::new(format, host);
        core.model = model_in_path(format).then(|| model.to_owned());
        let mut own_core = Core::new(own, host_of(own));
        own_core.model = model_in_path(own).then(|| "gemini-3.5-flash".to_owned());
        Ok(Self {
            own: outcomes(own_core, &bodies, answers(&bodies)),
            turns: outcomes(
                core,
                &said.iter().map(bytes).collect::<Vec<_>>(),
                told.into_iter(),
            ),
            expect: Expect {
                item,
                class: case.expect.class.clone(),
                cause: case.expect.cause.clone(),
                remedy: case.expect.remedy.clone(),
            },
            head,
        })
    }

    /// What is not as the case wants it.
    pub fn check(&self) -> Vec<String> {
        let mut found = Vec::new();
        let mut fail = |what: String| found.push(what);
        for (index, (own, turn)) in (1..).zip(self.own.iter().zip(&self.turns)) {
            let [own, got] = [own, turn].map(|turn| turn.received.split('@').next().unwrap_or_default());
            if own != got {
                fail(format!("r{index} {got} for {own}"));
            }
        }
        first_change(&self.expect, &self.turns, &mut fail);
        remedy(&self.expect.remedy, self.head, &self.turns, &mut fail);
        found
    }
}

fn answers(bodies: &[Bytes]) -> impl Iterator<Item = Answer> {
    (1..)
        .zip(bodies)
        .map(|(next, body)| answer(body, &bodies[next..]))
}

fn outcomes(mut core: Core, bodies: &[Bytes], answers: impl Iterator<Item = Answer>) -> Vec<Outcome> {
    let turns = bodies.iter().zip(answers);
    turns
        .map(|(body, answer)| outcome(core.exchange(body, Hints::default(), &answer), body))
        .collect()
}

fn outcome(turn: Turn, body: &Bytes) -> Outcome {
    let kept = |verdict: &Verdict| verdict.kept as f64 / (verdict.before.max(1) as f64);
    Outcome {
        lineage: turn
            .plan
            .parent
            .as_ref()
            .map_or(turn.seq, |parent| parent.lineage),
        continued: None,
        shared: turn.plan.shared as u64,
        received: turn.received.to_string(),
        sent: turn.sent.to_string(),
        node: turn.plan.outcome.as_str().to_owned(),
        nodes: turn.lowered.nodes.len() as u64,
        received_kept: kept(&turn.plan.received),
        sent_kept: kept(&turn.plan.sent),
        same: turn.out == body,
    }
}

/// A head of one text is the head's own member also in Responses.
fn say(chat: &Value, format: Format) -> Result<Value, &'static str> {
    let mut body = translate(chat, format)?;
    let first = &body["input"][0];
    if first.is_object() && is_operator(first) && first["content"].is_string() {
        let item = body["input"].as_array_mut().unwrap().remove(0);
        body["instructions"] = item["content"].clone();
    }
    Ok(body)
}

/// The first changed item of the case by its name in `format`, and whether it is of the head.
fn changed(case: &Case, chats: &[Value], format: Format) -> Result<(String, bool), &'static str> {
    let Some((request, _)) = case.expect.item.split_once(':') else {
        return Ok(("none".to_owned(), false));
    };
    let number: usize = request[1..].parse().unwrap();
    let before = &chats[number - 2];
    let place = place(before, &chats[number - 1]);
    let head = matches!(place, Place::HeadBlock(_));
    Ok((format!("{request}:{}", name(&place, before, format)?), head))
}

/// The first item of `before` that is not the same in `after`; of the head also where it has more.
fn place(before: &Value, after: &Value) -> Place {
    let [old, new] = [before, after].map(|chat| chat["tools"].as_array().cloned().unwrap_or_default());
    if let Some(tool) = (0..old.len()).find(|index| old.get(*index) != new.get(*index)) {
        return Place::Tool(tool);
    }
    let [old, new] = [before, after].map(|chat| chat["messages"].as_array().unwrap());
    let [old_head, new_head] = [old, new].map(|messages| {
        let head = messages.iter().take_while(|message| is_operator(message));
        head.flat_map(texts).collect::<Vec<_>>()
    });
    let longest = old_head.len().max(new_head.len());
    if let Some(block) = (0..longest).find(|index| old_head.get(*index) != new_head.get(*index)) {
        return Place::HeadBlock(block);
    }
    let message = (0..old.len()).find(|index| old.get(*index) != new.get(*index));
    Place::Message(message.expect("something changed"))
}

pub fn name(place: &Place, chat: &Value, format: Format) -> Result<String, &'static str> {
    let history = match format {
        Format::OpenaiResponses => "input",
        Format::Gemini => "contents",
        _ => "messages",
    };
    let at = match place {
        Place::Tool(index) => return Ok(format!("tools[{index}]")),
        Place::HeadBlock(block) => match format {
            Format::AnthropicMessages | Format::BedrockConverse => return Ok(format!("system[{block}]")),
            Format::Gemini => return Ok("systemInstruction".to_owned()),
            Format::OpenaiResponses if say(chat, format)?["instructions"].is_string() => {
                return Ok("instructions".to_owned());
            }
            Format::Ollama => *block,
            _ => 0,
        },
        Place::Message(index) => {
            let mut cut = chat.clone();
            let messages = cut["messages"].as_array_mut().unwrap();
            // What a message is cut into starts behind all in front; what several are put into ends with it.
            let one_to_many = format == Format::OpenaiResponses;
            messages.truncate(index + usize::from(!one_to_many));
            let items = say(&cut, format)?[history].as_array().unwrap().len();
            items - usize::from(!one_to_many)
        }
    };
    Ok(format!("{history}[{at}]"))
}

fn json(body: &Bytes) -> Value {
    serde_json::from_slice(body).unwrap()
}

fn bytes(value: &Value) -> Bytes {
    Bytes::from(value.to_string())
}
