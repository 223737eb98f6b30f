//! What is said and counted about a prompt that left and its answer.

use uuid::Uuid;

use crate::{
    metrics::{Break, InputTokens, Metrics, NodeAdded},
    prefix::{Cause, Outcome, Plan, Verdict, digest::item_id, item::Role, policy::Carrier},
    prompt::{GroupKind, Rendering, looks_like_sentinel},
    proxy::{
        attempt::Planned,
        line::{Prefix, RequestLine},
        rewrite::Prompt,
    },
    route::diagnosis,
    wire::{answer::Reading, usage::Usage},
};

/// The part of the log line that is about the prompt.
pub fn prefix(prompt: &Prompt, planned: &Planned, item_ids: &Uuid) -> Prefix {
    let plan = &planned.plan;
    let tip = prompt.request.history.last();
    let tally = Tally::of(prompt, planned);
    let (received, sent) = (planned.received(), planned.sent_verdict());
    Prefix {
        // A request that is not on record has no number.
        lineage: plan
            .parent
            .as_ref()
            .map(|parent| parent.lineage)
            .filter(|seq| *seq > 0),
        continued: plan
            .parent
            .as_ref()
            .map(|parent| parent.seq)
            .filter(|seq| *seq > 0),
        items: prompt.request.history.len(),
        shared: plan.shared,
        tip: tip.map(|item| item_id(item_ids, item.mark.kind_name(), item.mark.canonical).to_string()),
        whitespace: plan.whitespace,
        lookalikes: lookalikes(prompt, plan),
        received: received.to_string(),
        sent: sent.to_string(),
        received_kept: (received.kept, received.before),
        sent_kept: (sent.kept, sent.before),
        node: node(plan),
        nodes: planned.lowered.nodes.len(),
        stable_bytes: tally.stable.bytes,
        new_bytes: tally.new.bytes,
        broken_bytes: lost(sent),
    }
}

/// New user items that hold tags like those around our updates. What is ours is known from the ledger, never by its text.
fn lookalikes(prompt: &Prompt, plan: &Plan) -> usize {
    let request = &prompt.request;
    let new = request
        .history
        .iter()
        .skip(plan.shared)
        .filter(|item| item.mark.role == Role::User);
    let texts = new.filter_map(|item| std::str::from_utf8(&request.body[item.range.clone()]).ok());
    texts.filter(|text| looks_like_sentinel(text)).count()
}

/// Counts a prompt that an upstream took.
pub fn count(metrics: &Metrics, format: &'static str, prompt: &Prompt, planned: &Planned) {
    let plan = &planned.plan;
    let (received, sent) = (planned.received(), planned.sent_verdict());
    let tally = Tally::of(prompt, planned);
    for (result, count) in [
        ("stable", tally.stable),
        ("new", tally.new),
        ("broken", tally.broken),
        ("node", tally.node),
    ] {
        if count.items > 0 {
            metrics.record_prefix(format, result, count.items, count.bytes);
        }
    }
    if sent.is_break() {
        metrics.record_break(&Break {
            format,
            cause: sent.cause.as_str(),
            by: sent.cause.by().as_str(),
            bytes: lost(sent),
        });
    }
    if received.is_break() {
        let saved = lost(received).saturating_sub(lost(sent));
        metrics.record_client_break(format, received.cause.as_str(), saved);
    }
    match plan.outcome {
        Outcome::Deferred => metrics.record_deferred(),
        Outcome::Rebaseline(reason) => metrics.record_rebaseline(reason.as_str()),
        _ => {}
    }
    if let Some(node) = &planned.lowered.new_node {
        metrics.record_node(&NodeAdded {
            format,
            mode: if node.kind == GroupKind::Append {
                "append"
            } else {
                "replace"
            },
            text: if node.rendering == Rendering::Delta {
                "delta"
            } else {
                "full"
            },
            carrier: carrier(node.carrier),
            bytes: node.bytes.len() as u64,
        });
    }
}

/// Counts what a good answer says about itself, and notes what the vendor found.
pub fn count_answer(metrics: &Metrics, line: &mut RequestLine, sent: Option<&Verdict>, reading: &Reading) {
    let upstream = line.upstream.as_deref().unwrap_or("none");
    let model = line.model.as_deref().unwrap_or_default();
    match line.usage {
        Some(usage) => metrics.record_usage(upstream, model, &input_tokens(&usage)),
        None => metrics.record_usage_missing(upstream, line.format.as_str()),
    }
    for one in diagnosis::all(&reading.diagnostics, sent) {
        metrics.record_diagnosis(one.source, one.cause, one.agrees.as_str());
        let noted = format!("{}/{}/{}", one.source, one.cause, one.agrees.as_str());
        match &mut line.diagnosis {
            Some(all) => *all = format!("{all},{noted}"),
            none => *none = Some(noted),
        }
    }
}

/// Items and bytes by what became of them.
#[derive(Default)]
struct Tally {
    stable: Count,
    new: Count,
    broken: Count,
    node: Count,
}

#[derive(Clone, Copy, Default)]
struct Count {
    items: u64,
    bytes: u64,
}

impl Tally {
    fn of(prompt: &Prompt, planned: &Planned) -> Self {
        let verdict = &planned.plan.sent;
        let mut tally = Self::default();
        for bytes in lengths(prompt, planned) {
            let stands = tally.new.items == 0 && tally.stable.bytes + bytes <= verdict.kept;
            let count = if stands { &mut tally.stable } else { &mut tally.new };
            count.items += 1;
            count.bytes += bytes;
        }
        if let Some(node) = &planned.lowered.new_node {
            tally.node = Count {
                items: 1,
                bytes: node.bytes.len() as u64,
            };
        }
        if let Some(parent) = planned.plan.parent.as_ref().filter(|_| verdict.is_break()) {
            let before =
                parent.tools.len() + parent.baseline.blocks.len() + parent.items.len() + parent.nodes.len();
            tally.broken = Count {
                items: (before as u64).saturating_sub(tally.stable.items),
                bytes: lost(verdict),
            };
        }
        tally
    }
}

/// The lengths of the items that go out, in the provider's order, the new node left out.
fn lengths(prompt: &Prompt, planned: &Planned) -> impl Iterator<Item = u64> {
    let (request, lowered) = (&prompt.request, &planned.lowered);
    let tools = request.tools.iter().map(|tool| u64::from(tool.mark.len));
    let head = lowered.head.blocks.iter().map(|block| u64::from(block.len));
    let mut nodes = planned.plan.nodes.iter().peekable();
    let mut behind = Vec::with_capacity(request.history.len() + planned.plan.nodes.len());
    for (index, item) in request.history.iter().enumerate() {
        while let Some(node) = nodes.next_if(|node| node.position as usize <= index) {
            behind.push(node.bytes.len() as u64);
        }
        behind.push(u64::from(item.mark.len));
    }
    behind.extend(nodes.map(|node| node.bytes.len() as u64));
    tools.chain(head).chain(behind)
}

/// Bytes of the prefix that a break lost.
fn lost(verdict: &Verdict) -> u64 {
    if verdict.is_break() {
        verdict.before.saturating_sub(verdict.kept)
    } else {
        0
    }
}

fn node(plan: &Plan) -> String {
    match (&plan.new_node, plan.outcome, plan.sent.cause) {
        (Some(node), outcome, _) => format!("{}@{}", outcome.as_str(), node.spot.position),
        (None, Outcome::PassedThrough, cause @ (Cause::Refused | Cause::Guard)) => cause.as_str().to_owned(),
        (None, outcome, _) => outcome.as_str().to_owned(),
    }
}

fn carrier(carrier: Carrier) -> &'static str {
    match carrier {
        Carrier::System => "system",
        Carrier::Developer => "developer",
        Carrier::UserReminder => "user_reminder",
        Carrier::TextPart => "text_part",
    }
}

fn input_tokens(usage: &Usage) -> InputTokens {
    match usage.none() {
        Some(none) => InputTokens {
            read: usage.cache_read,
            write: usage.cache_write,
            none: Some(none),
            unknown: None,
        },
        None => InputTokens {
            unknown: usage.input_total,
            ..InputTokens::default()
        },
    }
}
