//! What must hold of each exchange, said of bodies, answers and log lines alone.

use bytes::Bytes;
use inkfast::sim::Recorded;
use inkfast::wire::format::Format;
use serde_json::Value;

use super::run::SECRETS;
use super::script::{Act, Reply, Step};
use super::{Carrier, InLoop, Row};
use crate::binary::Inkfast;
use crate::invariants::body::{Body, Item, Kind, unmarked};

/// One request and what became of it.
pub struct Exchange {
    pub step: Step,
    pub client: Bytes,
    /// As the client saw it.
    pub status: u16,
    /// What the provider got for it, refused bodies included.
    pub arrived: Vec<Recorded>,
    pub line: Value,
}

impl Exchange {
    fn left(&self) -> &Recorded {
        self.arrived.last().expect("something left")
    }

    fn node(&self) -> &str {
        self.line["node"].as_str().unwrap_or("none")
    }

    fn passed(&self) -> bool {
        self.left().body == self.client
    }
}

/// A body as it left, nodes told from the client's own.
struct Told {
    head: Vec<String>,
    /// All that stands behind the head, in order.
    elements: Vec<Element>,
}

#[derive(Clone, Debug, PartialEq)]
enum Element {
    /// The client's item, in normal form.
    Own(String),
    /// An update: what it says, and whether it is a message of this role.
    Node(Option<String>, String),
}

/// What is wrong with the last exchange.
pub fn check(row: Row, exchanges: &[Exchange]) -> Vec<String> {
    let (now, before) = exchanges.split_last().unwrap();
    let mut found = Vec::new();
    let mut must = |holds: bool, what: String| {
        if !holds {
            found.push(format!("{what} [{}]", now.line));
        }
    };
    let client = Body::parse(&now.client, row.format, false);
    let out = Body::parse(&now.left().body, row.format, false);
    let told = told(row, &out);
    let own = |elements: &[Element]| -> Vec<Element> {
        let own = elements.iter().filter(|one| matches!(one, Element::Own(_)));
        own.cloned().collect()
    };
    let nodes = told.elements.len() - own(&told.elements).len();

    let wanted = if now.step.answer == Reply::Overloaded {
        529
    } else {
        200
    };
    must(now.status == wanted, format!("7: status {}", now.status));
    must(
        now.arrived.len() == 1,
        format!("7: sent {} times", now.arrived.len()),
    );
    let untouched = nodes == 0 && raw_head(&out) == raw_head(&client);
    must(
        !untouched || now.passed(),
        "1: nothing to change, and other bytes".to_owned(),
    );
    must(
        own(&told.elements) == own(&self::told(row, &client).elements),
        "4: the client's items".to_owned(),
    );
    must(
        out.tools == client.tools && out.rest == client.rest && out.points == client.points,
        "4: tools, parameters or markers are not the client's".to_owned(),
    );
    pairs(row, &out, &mut must);
    usage(row, now, &mut must);
    if now.step.act == Act::Side {
        must(now.passed(), "11: the side request was changed".to_owned());
        return found;
    }
    let mode = last_mode(
        &now.left()
            .operator
            .as_ref()
            .map_or_else(String::new, |told| told.all()),
    );
    let deferred = row.in_loop == InLoop::Waits && now.step.act == Act::Results && now.node() == "deferred";
    must(
        mode == now.step.mode || deferred,
        format!("3: the model reads {mode:?}, the client says {:?}", now.step.mode),
    );
    strangers(row, &told, exchanges, &mut must);
    carried(row, &told, &mut must);
    let Some(continued) = continued(row, before, now) else {
        must(
            now.passed(),
            "2: nothing is continued, and the body was changed".to_owned(),
        );
        return found;
    };
    let last = self::told(row, &Body::parse(&continued.left().body, row.format, false));
    must(last.head == told.head, "2: the frozen head".to_owned());
    match now.step.act {
        Act::Retry => must(
            continued.left().body == now.left().body,
            "5: the same body went out otherwise".to_owned(),
        ),
        Act::Branch(..) | Act::Regenerate => {
            // What stands in both, nodes and all, stands in front.
            let same = told.elements.iter().zip(&last.elements);
            let same = same.take_while(|(now, last)| now == last).count();
            let first_new = told
                .elements
                .iter()
                .skip(same)
                .all(|one| !last.elements[same..].contains(one));
            must(first_new && same > 0, "2: the branch".to_owned());
        }
        _ => {
            must(
                told.elements.starts_with(&last.elements),
                format!("2: {:?} does not begin with {:?}", told.elements, last.elements),
            );
            must(
                now.line["sent"]
                    .as_str()
                    .is_some_and(|sent| sent.starts_with("extend/")),
                "2: the log does not say that it extends".to_owned(),
            );
        }
    }
    found
}

/// The exchange whose prefix this one must keep; none where it may start anew.
fn continued<'a>(row: Row, before: &'a [Exchange], now: &Exchange) -> Option<&'a Exchange> {
    let mut own = before.iter().rev().filter(|one| one.step.act != Act::Side);
    let last = own.next()?;
    match now.step.act {
        Act::Compact => return None,
        Act::Retry => return Some(last),
        _ => {}
    }
    // Where an edit passed through, its request is the first of a path.
    let passes =
        row.in_loop == InLoop::Passes && now.step.act == Act::Results && now.step.mode != last.step.mode;
    if passes {
        return None;
    }
    let answered = if last.step.answer == Reply::Overloaded {
        own.next()?
    } else {
        last
    };
    Some(answered)
}

/// 6: no node in a pair; nothing that the provider is known to refuse.
fn pairs(row: Row, out: &Body, must: &mut impl FnMut(bool, String)) {
    let mut open = 0_usize;
    for item in &out.items {
        match item.kind {
            Kind::Calls(calls) => open += calls,
            Kind::Result => open = open.saturating_sub(1),
            _ => must(
                open == 0 || item.role == "assistant",
                format!("6: in a pair: {}", item.raw),
            ),
        }
    }
    let roles: Vec<&String> = out.turns.iter().filter(|role| *role != "system").collect();
    must(
        roles.windows(2).all(|pair| pair[0] != pair[1]),
        format!("6: roles do not alternate: {roles:?}"),
    );
    if row.format == Format::Gemini {
        let beside = |item: &Item| {
            let mut same = out.items.iter().filter(|other| other.message == item.message);
            item.raw.contains("<system-") && same.any(|other| other.kind == Kind::Result)
        };
        must(
            !out.items.iter().any(beside),
            "6: text in a function-calling turn".to_owned(),
        );
    }
}

/// 9: what the provider counted is what is logged, and what it does not tell is missing.
fn usage(row: Row, now: &Exchange, must: &mut impl FnMut(bool, String)) {
    let Some(counted) = now.left().usage else { return };
    let logged = |name: &str| now.line[name].as_u64();
    must(
        logged("input_tokens").is_none_or(|total| total == counted.total as u64),
        format!("9: {counted:?}"),
    );
    let cached = match row.format {
        Format::Ollama => None,
        _ => Some(counted.cached as u64),
    };
    let told = logged("cached_tokens").or(logged("cache_read"));
    must(
        told == cached || told.is_none() && cached == Some(0),
        format!("9: cached {counted:?}"),
    );
}

/// 11: every head and update in the body was this conversation's.
fn strangers(row: Row, told: &Told, exchanges: &[Exchange], must: &mut impl FnMut(bool, String)) {
    let own = exchanges.iter().filter(|one| one.step.act != Act::Side);
    let modes: Vec<&str> = own.map(|one| one.step.mode).collect();
    let nodes = told.elements.iter().filter_map(|one| match one {
        Element::Node(_, said) => Some(said),
        Element::Own(_) => None,
    });
    for said in told.head.iter().chain(nodes) {
        must(
            modes.contains(&last_mode(said).as_str()),
            format!("11: {} tells {said:?}", row.name),
        );
    }
}

/// An update travels as its row says.
fn carried(row: Row, told: &Told, must: &mut impl FnMut(bool, String)) {
    for one in &told.elements {
        let Element::Node(role, said) = one else { continue };
        let holds = match row.carrier {
            Carrier::Message(wanted) => role.as_deref() == Some(wanted),
            Carrier::Reminder => role.is_none(),
        };
        must(holds, format!("the carrier of {said:?} is {role:?}"));
    }
}

fn raw_head(body: &Body) -> Vec<String> {
    body.head.iter().map(|block| block.raw.clone()).collect()
}

/// The client of this script says nothing in tags, and has no operator messages behind its head.
fn told(row: Row, body: &Body) -> Told {
    let mut elements = Vec::new();
    for item in &body.items {
        if item.role == "system" || item.role == "developer" {
            elements.push(Element::Node(Some(item.role.clone()), item.raw.clone()));
            continue;
        }
        let (rest, nodes) = without_reminders(&item.canonical);
        let leads = nodes.first().is_some_and(|(lead, _)| *lead);
        let nodes = nodes.into_iter().map(|(_, said)| Element::Node(None, said));
        let own = (!says_nothing(&rest, row)).then(|| Element::Own(normal(&rest)));
        if leads {
            elements.extend(nodes.chain(own));
        } else {
            elements.extend(own.into_iter().chain(nodes));
        }
    }
    let head = body.head.iter().map(|block| unmarked(&block.raw)).collect();
    Told { head, elements }
}

/// A block whose text was an update and nothing else.
fn says_nothing(canonical: &str, row: Row) -> bool {
    let blocks = !matches!(
        row.format,
        Format::OpenaiChat | Format::Ollama | Format::OpenaiResponses
    );
    blocks && canonical.contains("\"text\":\"\"")
}

/// A text whose own words are all that is left of its item, whether they stand alone or in the only block.
fn normal(canonical: &str) -> String {
    canonical.replace("{\"type\":\"text\",\"text\":\"\"}", "")
}

/// A normal form without the updates in it; those, and whether they stand in front of the text.
fn without_reminders(canonical: &str) -> (String, Vec<(bool, String)>) {
    let (mut rest, mut nodes) = (canonical.to_owned(), Vec::new());
    for tag in ["system-reminder", "system-update"] {
        let (open, close) = (format!("<{tag}>"), format!("</{tag}>"));
        while let (Some(start), Some(end)) = (rest.find(&open), rest.find(&close)) {
            let said = rest[start + open.len()..end].to_owned();
            let mut range = start..end + close.len();
            let lead = rest[range.end..].starts_with("\\n\\n");
            if lead {
                range.end += 4;
            } else if rest[..range.start].ends_with("\\n\\n") {
                range.start -= 4;
            }
            rest.replace_range(range, "");
            nodes.push((lead, said));
        }
    }
    (rest, nodes)
}

/// The last word on the mode in a text.
pub fn last_mode(text: &str) -> String {
    let rest = text.rsplit_once("Mode: ").map_or("", |(_, rest)| rest);
    rest.split('.').next().unwrap_or_default().to_owned()
}

/// 10: words of the client in what the service writes.
pub fn leaks(inkfast: &Inkfast) -> Vec<String> {
    let written = [("log", inkfast.log()), ("metrics", inkfast.metrics())];
    let mut found = Vec::new();
    for (place, text) in written {
        let leaked = SECRETS.iter().filter(|secret| text.contains(**secret));
        found.extend(leaked.map(|secret| format!("10: {secret:?} stands in the {place}")));
    }
    found
}
