//! One change of a conversation, and what it must be called.

use bytes::Bytes;
use inkfast::wire::format::Format;
use serde_json::{Value, json};

use super::bytes;
use super::talk::{CLOCK, Random, appended, talk};
use crate::cases::translated::other::{Place, name};
use crate::translate::{route_of, translate};

/// What is changed; the name of the cause, if it is not another's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    Nothing,
    Model,
    Parameter,
    RoutingKey,
    AddTool,
    RemoveTool,
    SwapTools,
    EditTool,
    SortSchema,
    EditHead,
    HeadClock,
    SwapHead,
    GrowHead,
    SpaceHead,
    Edit,
    DropOldest,
    DropMiddle,
    SwapMessages,
    Prune,
    DropReasoning,
    NewIds,
    DropReminder,
    TrimReminder,
    Tick,
    Refresh,
    Split,
    Insert,
    Space,
    Respeak,
    SortArguments,
    Pretty,
    Unimage,
}

pub const ACTS: [Act; 32] = [
    Act::Nothing,
    Act::Model,
    Act::Parameter,
    Act::RoutingKey,
    Act::AddTool,
    Act::RemoveTool,
    Act::SwapTools,
    Act::EditTool,
    Act::SortSchema,
    Act::EditHead,
    Act::HeadClock,
    Act::SwapHead,
    Act::GrowHead,
    Act::SpaceHead,
    Act::Edit,
    Act::DropOldest,
    Act::DropMiddle,
    Act::SwapMessages,
    Act::Prune,
    Act::DropReasoning,
    Act::NewIds,
    Act::DropReminder,
    Act::TrimReminder,
    Act::Tick,
    Act::Refresh,
    Act::Split,
    Act::Insert,
    Act::Space,
    Act::Respeak,
    Act::SortArguments,
    Act::Pretty,
    Act::Unimage,
];

/// Two bodies that differ by one act and an answer, with the verdict that is right.
pub struct Mutated {
    pub bodies: [Bytes; 2],
    pub models: [&'static str; 2],
    pub cause: &'static str,
    /// The classes that it may have, the first by rule.
    pub classes: &'static [&'static str],
    /// The item's name, or the name in front of a block; none where nothing changed.
    pub item: Option<String>,
}

const ANY_BREAK: &[&str] = &["rewrite", "insert", "reorder", "compaction"];

impl Act {
    /// Does it to a conversation at random, in `format`; `behind`: with a new message in front of what changes. None where
    /// the format cannot say it.
    pub fn done(self, format: Format, seed: u64, behind: bool) -> Option<Mutated> {
        let random = &mut Random::new(seed);
        let before = talk(random);
        let mut after = appended(&before, random);
        let (cause, place) = self.change(&before, &mut after, format, random)?;
        if behind {
            let Some(Place::Message(at)) = place else {
                return None;
            };
            if !self.keeps_places() {
                return None;
            }
            // Between a call and its result nothing may stand.
            let front = (1..=at)
                .rev()
                .find(|place| before["messages"][*place]["role"] != "tool")?;
            let new = json!({"role": "user", "content": "Something that was never sent."});
            after["messages"].as_array_mut()?.insert(front, new);
        }
        let mut chats = [before, after];
        let (_, models) = route_of(format, true);
        let models = if self == Act::Model {
            models
        } else {
            [models[0]; 2]
        };
        (0..2).for_each(|side| chats[side]["model"] = models[side].into());
        let said = [say(&chats[0], format)?, say(&chats[1], format)?];
        let item = match &place {
            Some(place) => Some(name(place, &chats[0], format).ok()?),
            None => self.param(format),
        };
        let message = match place {
            Some(Place::Message(at)) => chats[0]["messages"][at].clone(),
            _ => Value::Null,
        };
        let bodies = self.natively(said, &message, format)?;
        Some(Mutated {
            bodies,
            models,
            cause,
            classes: self.classes(),
            item,
        })
    }

    /// What stands in front of the change stays where it was.
    fn keeps_places(self) -> bool {
        !matches!(
            self,
            Act::DropOldest | Act::DropMiddle | Act::SwapMessages | Act::Insert | Act::Split | Act::Pretty
        )
    }

    fn classes(self) -> &'static [&'static str] {
        match self {
            Act::Nothing | Act::Model | Act::Parameter | Act::RoutingKey => &["extend"],
            Act::Insert => &["insert"],
            Act::DropOldest | Act::DropMiddle => &["compaction"],
            Act::Pretty => &["wire_only"],
            _ => ANY_BREAK,
        }
    }

    /// Changes `after`; gives the cause and the place.
    fn change(
        self,
        before: &Value,
        after: &mut Value,
        format: Format,
        random: &mut Random,
    ) -> Option<(&'static str, Option<Place>)> {
        let blocks = matches!(
            format,
            Format::AnthropicMessages | Format::BedrockConverse | Format::Ollama
        );
        let tools = after["tools"].as_array()?.len();
        let parts = after["messages"][0]["content"].as_array()?.len();
        let part = random.below(parts);
        let tool = random.below(tools);
        let head = |block: usize| Some(Place::HeadBlock(if blocks { block } else { 0 }));
        Some(match self {
            Act::Nothing => ("none", None),
            Act::Model => ("model_changed", None),
            Act::Parameter => ("parameters_changed", None),
            Act::RoutingKey => ("routing_key_changed", None),
            Act::AddTool => {
                let mut new = after["tools"][tool].clone();
                new["function"]["name"] = "tool_new".into();
                after["tools"].as_array_mut()?.insert(tool, new);
                ("tools_added", Some(Place::Tool(tool)))
            }
            Act::RemoveTool => {
                after["tools"].as_array_mut()?.remove(tool);
                ("tools_removed", Some(Place::Tool(tool)))
            }
            Act::SwapTools => {
                after["tools"].as_array_mut()?.reverse();
                ("tools_reordered", Some(Place::Tool(0)))
            }
            Act::EditTool => {
                after["tools"][tool]["function"]["description"] = "Does something else.".into();
                ("tool_changed", Some(Place::Tool(tool)))
            }
            Act::SortSchema => ("key_order", Some(Place::Tool(0))),
            Act::EditHead => {
                edit(&mut after["messages"][0]["content"][part]["text"], "Rule", "Wish")?;
                ("system_changed", head(part))
            }
            Act::HeadClock => {
                edit(
                    &mut after["messages"][0]["content"][part]["text"],
                    CLOCK,
                    "10:42:55",
                )?;
                ("system_volatile", head(part))
            }
            Act::SwapHead => {
                after["messages"][0]["content"].as_array_mut()?.reverse();
                (
                    if blocks {
                        "system_reordered"
                    } else {
                        "system_changed"
                    },
                    head(0),
                )
            }
            Act::GrowHead => {
                let new = json!({"type": "text", "text": "Budget: 800 tokens are left."});
                after["messages"][0]["content"].as_array_mut()?.push(new);
                ("system_hoisted", head(parts))
            }
            Act::SpaceHead => {
                edit(&mut after["messages"][0]["content"][part]["text"], ": ", ":  ")?;
                ("whitespace", head(part))
            }
            Act::Pretty => ("reserialised", Some(Place::Tool(0))),
            Act::SortArguments => {
                let at = find(before, random, |message| message["tool_calls"].is_array())?;
                ("key_order", Some(Place::Message(at)))
            }
            _ => return self.change_history(before, after, format, random),
        })
    }

    fn change_history(
        self,
        before: &Value,
        after: &mut Value,
        format: Format,
        random: &mut Random,
    ) -> Option<(&'static str, Option<Place>)> {
        let by = |role: &'static str| move |message: &Value| message["role"] == role;
        let asks = |message: &Value| {
            message["content"]
                .as_str()
                .is_some_and(|text| text.contains("Please look"))
        };
        let mut at = find(before, random, |message| match self {
            Act::Prune => message["role"] == "tool",
            Act::DropReasoning | Act::NewIds | Act::SortArguments => message["tool_calls"].is_array(),
            Act::Edit => {
                message["role"] != "system"
                    && message["content"].as_str().is_some_and(|text| text.contains('#'))
            }
            _ => asks(message),
        })?;
        let text = &mut after["messages"][at]["content"];
        let cause = match self {
            Act::Edit => edit(text, "#", "number ").map(|()| "history_edited")?,
            Act::Prune => {
                *text = "[old result cleared]".into();
                "tool_result_pruned"
            }
            Act::DropReminder => {
                let whole = text.as_str()?;
                *text = whole.split_once("</context>\n")?.1.into();
                "decoration_changed"
            }
            Act::TrimReminder => {
                edit(text, &format!("time: {CLOCK}\n"), "").map(|()| "decoration_changed")?
            }
            Act::Tick => edit(text, CLOCK, "10:42:55").map(|()| "message_volatile")?,
            Act::Refresh => {
                edit(text, "open files:", "open windows and all other files:").map(|()| "message_volatile")?
            }
            Act::Space => edit(text, "Please look", "Please  look").map(|()| "whitespace")?,
            Act::Split => {
                let (first, second) = text.as_str()?.split_once("</context>\n")?;
                let part = |text: String| json!({"type": "text", "text": text});
                *text = json!([part(format!("{first}</context>")), part(second.to_owned())]);
                "message_reshaped"
            }
            Act::Unimage => "image_removed",
            Act::Respeak => {
                let role = if format == Format::Gemini {
                    "assistant"
                } else {
                    "system"
                };
                after["messages"][at]["role"] = role.into();
                // The first message would be one of the head.
                return (at > 1).then_some(("role_changed", Some(Place::Message(at))));
            }
            Act::DropReasoning => {
                after["messages"][at]
                    .as_object_mut()?
                    .remove("reasoning_content")?;
                "reasoning_removed"
            }
            Act::NewIds => {
                let told_by_ids = !matches!(format, Format::Gemini | Format::Ollama);
                after["messages"][at]["tool_calls"][0]["id"] = "call_made_anew".into();
                after["messages"][at + 1]["tool_call_id"] = "call_made_anew".into();
                return told_by_ids.then_some(("ids_regenerated", Some(Place::Message(at))));
            }
            Act::Insert => {
                let new = json!({"role": "user", "content": "Something that was never sent."});
                after["messages"].as_array_mut()?.insert(at, new);
                "items_inserted"
            }
            Act::SwapMessages => {
                let later = find_last(before, by("assistant"))?;
                after["messages"].as_array_mut()?.swap(at, later);
                at = at.min(later);
                "items_reordered"
            }
            Act::DropOldest => {
                let messages = after["messages"].as_array_mut()?;
                let next = (2..messages.len()).find(|index| asks(&messages[*index]))?;
                messages.drain(1..next);
                at = 1;
                "history_truncated"
            }
            Act::DropMiddle => {
                at = find_last(before, asks)?;
                if at < 3 {
                    return None;
                }
                after["messages"].as_array_mut()?.drain(2..at);
                at = 2;
                "history_compacted"
            }
            _ => return None,
        };
        Some((cause, Some(Place::Message(at))))
    }

    /// The name of the changed parameter.
    fn param(self, format: Format) -> Option<String> {
        let name = match self {
            Act::Model => "model",
            Act::RoutingKey => "prompt_cache_key",
            Act::Parameter => parameter(format).2,
            _ => return None,
        };
        Some(format!("param:{name}"))
    }

    /// The bodies, with what no chat can say.
    fn natively(self, mut said: [Value; 2], message: &Value, format: Format) -> Option<[Bytes; 2]> {
        match self {
            Act::Parameter => {
                let (pointer, value, _) = parameter(format);
                let (parent, name) = pointer.rsplit_once('/')?;
                if !parent.is_empty() && said[1].pointer(parent).is_none() {
                    said[1][&parent[1..]] = json!({});
                }
                said[1].pointer_mut(parent)?[name] = value;
            }
            Act::RoutingKey => {
                if !matches!(format, Format::OpenaiChat | Format::OpenaiResponses) {
                    return None;
                }
                (0..2).for_each(|side| said[side]["prompt_cache_key"] = ["s-1", "s-2"][side].into());
            }
            Act::Unimage => with_image(&mut said[0], message["content"].as_str()?, format)?,
            _ => {}
        }
        let mut bodies = [bytes(&said[0]), bytes(&said[1])];
        match self {
            Act::Pretty => bodies[1] = Bytes::from(serde_json::to_string_pretty(&said[1]).unwrap()),
            Act::SortSchema => {
                let order = r#""deep":{"type":"boolean"},"path":{"type":"string"}"#;
                let other = r#""path":{"type":"string"},"deep":{"type":"boolean"}"#;
                bodies[1] = replaced(&bodies[1], order, other)?;
            }
            Act::SortArguments => {
                let order = message["tool_calls"][0]["function"]["arguments"].as_str()?;
                let path = order.split_once("\"path\":")?.1.strip_suffix('}')?;
                let other = format!("{{\"path\":{path},\"deep\":true}}");
                let as_string = matches!(format, Format::OpenaiChat | Format::OpenaiResponses);
                let written = |text: &str| {
                    if as_string {
                        Value::from(text).to_string()
                    } else {
                        text.to_owned()
                    }
                };
                bodies[1] = replaced(&bodies[1], &written(order), &written(&other))?;
            }
            _ => {}
        }
        Some(bodies)
    }
}

fn say(chat: &Value, format: Format) -> Option<Value> {
    let mut body = translate(chat, format).ok()?;
    if format == Format::OpenaiChat {
        body["model"] = chat["model"].clone();
    }
    Some(body)
}

/// A rendered parameter of a format: where, what, and its name in verdicts.
fn parameter(format: Format) -> (&'static str, Value, &'static str) {
    match format {
        Format::OpenaiChat => ("/reasoning_effort", json!("high"), "reasoning_effort"),
        Format::OpenaiResponses => ("/reasoning", json!({"effort": "high"}), "reasoning"),
        Format::AnthropicMessages => ("/tool_choice", json!({"type": "any"}), "tool_choice"),
        Format::Gemini => (
            "/generationConfig/thinkingConfig",
            json!({"thinkingBudget": 100}),
            "generationConfig.thinkingConfig",
        ),
        Format::BedrockConverse => (
            "/toolConfig/toolChoice",
            json!({"any": {}}),
            "toolConfig.toolChoice",
        ),
        Format::Ollama => ("/think", json!(true), "think"),
    }
}

/// Puts an image behind the text of the message that says `said`.
fn with_image(body: &mut Value, said: &str, format: Format) -> Option<()> {
    const DATA: &str = "iVBORw0KGgoAAAANSUhEUg";
    let history = ["messages", "input", "contents"]
        .into_iter()
        .find(|name| body[*name].is_array())?;
    let messages = body[history].as_array_mut()?.iter_mut();
    let quoted = Value::from(said).to_string();
    let message = messages
        .into_iter()
        .find(|message| message.to_string().contains(&quoted))?;
    let url = format!("data:image/png;base64,{DATA}");
    let image = match format {
        Format::OpenaiChat => json!({"type": "image_url", "image_url": {"url": url}}),
        Format::OpenaiResponses => json!({"type": "input_image", "image_url": url}),
        Format::AnthropicMessages => {
            json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": DATA}})
        }
        Format::Gemini => json!({"inlineData": {"mimeType": "image/png", "data": DATA}}),
        Format::BedrockConverse => json!({"image": {"format": "png", "source": {"bytes": DATA}}}),
        Format::Ollama => {
            message["images"] = json!([DATA]);
            return Some(());
        }
    };
    let kind = if format == Format::OpenaiResponses {
        "input_text"
    } else {
        "text"
    };
    match &mut message[if format == Format::Gemini {
        "parts"
    } else {
        "content"
    }] {
        Value::Array(parts) => parts.push(image),
        content => *content = json!([{"type": kind, "text": said}, image]),
    }
    Some(())
}

fn edit(text: &mut Value, from: &str, to: &str) -> Option<()> {
    let edited = text.as_str()?.replacen(from, to, 1);
    assert_ne!(text.as_str(), Some(edited.as_str()));
    *text = edited.into();
    Some(())
}

fn replaced(body: &Bytes, from: &str, to: &str) -> Option<Bytes> {
    let text = std::str::from_utf8(body).unwrap();
    // Of two that read the same it would not be known which one is meant.
    (text.matches(from).count() == 1 || from.contains("boolean"))
        .then(|| Bytes::from(text.replacen(from, to, 1)))
}

/// The place of a message at random among those that are it.
fn find(chat: &Value, random: &mut Random, is: impl Fn(&Value) -> bool) -> Option<usize> {
    let messages = chat["messages"].as_array()?;
    let places: Vec<usize> = (1..messages.len() - 1)
        .filter(|index| is(&messages[*index]))
        .collect();
    (!places.is_empty()).then(|| places[random.below(places.len())])
}

fn find_last(chat: &Value, is: impl Fn(&Value) -> bool) -> Option<usize> {
    let messages = chat["messages"].as_array()?;
    (1..messages.len() - 1).rev().find(|index| is(&messages[*index]))
}
