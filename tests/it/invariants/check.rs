//! The invariants of what leaves, one method each. Knows the client's bytes, what left, what it was told of the
//! plan (parent, nodes), and from the world which conversation it is; derives everything else itself.

use std::collections::HashMap;

use bytes::Bytes;
use inkfast::prefix::item::Hints;
use inkfast::prefix::past::{Node, Seq};
use inkfast::prefix::{Outcome, apply};
use inkfast::prompt;
use inkfast::wire::format::Format;

use super::body::{Body, Element, Item, unmarked};
use super::effective::{effective, normal};
use super::tree::Tree;
use crate::harness::{Core, Turn};

/// A broken invariant: its number in ARCHITECTURE.md, and how.
#[derive(Clone, Debug)]
pub struct Violation {
    pub invariant: u8,
    pub what: String,
}

/// What the world knows of a request.
pub struct Told {
    pub conversation: usize,
    /// The request whose own answer this one carries on, where that is beyond doubt.
    pub follows: Option<Seq>,
    pub hints: Hints,
    pub model: String,
    /// What would have left a moment later.
    pub again: Option<Bytes>,
}

impl Told {
    /// What is the same request: some formats name the model beside the body.
    fn key(&self, body: &Bytes) -> (Bytes, String, String) {
        (body.clone(), format!("{:?}", self.hints), self.model.clone())
    }
}

/// What was sent so far.
pub struct Checker {
    pub format: Format,
    strips: bool,
    loopback: bool,
    /// The one invariant to look at; all where it is none.
    only: Option<u8>,
    sent: HashMap<Seq, Sent>,
    heads: HashMap<usize, Vec<String>>,
    bodies: HashMap<(Bytes, String, String), Seq>,
    /// For each answer, the nodes in the bodies that got it; none where the core cannot know.
    pub answers: HashMap<String, Vec<Option<Vec<String>>>>,
}

struct Sent {
    conversation: usize,
    lineage: Seq,
    client: Body,
    out: Bytes,
    body: Body,
    elements: Vec<Element>,
    answer: Option<String>,
    status: Option<u16>,
    folded: bool,
}

/// One request under test.
pub struct Case<'a> {
    pub told: &'a Told,
    pub turn: &'a Turn,
    pub client: &'a Body,
    pub out: &'a Body,
    pub elements: &'a [Element],
    pub nodes: &'a [&'a Node],
}

pub type Check = Result<(), Violation>;

pub fn broken<T>(invariant: u8, what: impl Into<String>) -> Result<T, Violation> {
    Err(Violation {
        invariant,
        what: what.into(),
    })
}

impl Checker {
    pub fn new(format: Format, strips: bool, loopback: bool, only: Option<u8>) -> Self {
        Self {
            format,
            strips,
            loopback,
            only,
            sent: HashMap::new(),
            heads: HashMap::new(),
            bodies: HashMap::new(),
            answers: HashMap::new(),
        }
    }

    /// What would leave a moment later, from a copy of the ledger: for invariant 5.
    pub fn again(core: &mut Core, body: &Bytes, hints: &Hints) -> Bytes {
        let mut copy = core.copy();
        let core = copy.as_mut().unwrap_or(core);
        core.now_ms += 7;
        let (request, _, _, lowered) = core.plan(body, hints.clone()).unwrap();
        core.now_ms -= 7;
        apply(&request.body, &lowered.edits).concat()
    }

    /// All that can be checked of one request as it leaves.
    pub fn check(&mut self, told: &Told, body: &Bytes, turn: &Turn) -> Check {
        let client = Body::parse(body, self.format, self.strips);
        let heads = self.heads.entry(told.conversation).or_default();
        heads.push(prompt::joined(&normal(&client.head_texts())));
        let out = Body::parse(&turn.out, self.format, self.strips);
        let nodes: Vec<&Node> = turn.lowered.nodes.iter().map(|node| &**node).collect();
        let elements = match out.elements(&nodes) {
            Ok(elements) => elements,
            Err(what) => return self.wanted(broken(2, what)),
        };
        let case = Case {
            told,
            turn,
            client: &client,
            out: &out,
            elements: &elements,
            nodes: &nodes,
        };
        let guard = turn
            .guard
            .or_else(|violation| broken(2, format!("the guard: {violation:?}")));
        let again = match told.again.as_ref().is_none_or(|again| *again == turn.out) {
            true => Ok(()),
            false => broken(5, "a moment later, from a copy of the ledger, other bytes"),
        };
        let checks = [
            self.untouched(&case, body),
            self.append_only(&case),
            self.continues(&case),
            guard,
            effective(&case),
            lost(&case),
            again,
            self.seen_before(&case, body),
            self.pairs(&case),
            self.strangers(&case),
        ];
        checks.into_iter().try_for_each(|check| self.wanted(check))?;
        let merged = self.merged(&case).to_vec();
        self.bodies.insert(told.key(body), turn.seq);
        self.heads.entry(told.conversation).or_default().extend(merged);
        let folded = !turn.plan.keeps_prefix() && turn.plan.parent.is_some();
        let sent = Sent {
            conversation: told.conversation,
            lineage: turn
                .plan
                .parent
                .as_ref()
                .map_or(turn.seq, |parent| parent.lineage),
            client,
            out: turn.out.clone(),
            body: out,
            elements,
            answer: None,
            status: None,
            folded,
        };
        self.sent.insert(turn.seq, sent);
        Ok(())
    }

    /// The upstream answered; `seen` is false where the proxy missed what.
    pub fn answered(&mut self, seq: Seq, answer: &str, seen: bool) {
        let Some(sent) = self.sent.get_mut(&seq) else {
            return;
        };
        sent.answer = seen.then(|| answer.to_owned());
        sent.status = Some(200);
        let nodes = seen.then(|| node_names(&sent.elements));
        self.answers.entry(answer.to_owned()).or_default().push(nodes);
    }

    /// The proxy died over it.
    pub fn died(&mut self, seq: Seq) {
        if let Some(sent) = self.sent.get_mut(&seq) {
            sent.status = None;
        }
    }

    pub fn failed(&mut self, seq: Seq, status: u16) {
        if let Some(sent) = self.sent.get_mut(&seq) {
            sent.status = Some(status);
        }
    }

    fn parent(&self, case: &Case<'_>) -> Option<&Sent> {
        let parent = case.turn.plan.parent.as_ref()?;
        self.sent.get(&parent.seq)
    }

    /// 1: with nothing to change, the outgoing body is the very buffer that came in.
    fn untouched(&self, case: &Case<'_>, body: &Bytes) -> Check {
        let same_head = case.turn.lowered.head.blocks.len() == case.turn.request.head.blocks.len()
            && raw_head(case.client) == raw_head(case.out);
        let nothing = case.nodes.is_empty() && same_head && case.out.markers == case.client.markers;
        let root = case.turn.plan.parent.is_none();
        if (nothing || root) && (case.turn.out != body || case.turn.out.as_ptr() != body.as_ptr()) {
            return broken(1, "nothing to change, and another buffer");
        }
        Ok(())
    }

    /// 2: what was sent stands, up to where the client broke it.
    fn append_only(&self, case: &Case<'_>) -> Check {
        let plan = &case.turn.plan;
        if case.out.markers > case.client.markers {
            return broken(2, "more markers than the client sent");
        }
        if case.out.tools != case.client.tools || case.out.rest != case.client.rest {
            return broken(2, "tools or parameters are not the client's");
        }
        if case.out.points != case.client.points {
            return broken(2, "a marker stands behind another block than the client put it");
        }
        if case.out.attribution != case.client.attribution {
            return broken(2, "the attribution is not this request's");
        }
        let Some(parent) = self.parent(case) else {
            return Ok(());
        };
        if matches!(
            plan.outcome,
            Outcome::Rebaseline(_) | Outcome::Adopted | Outcome::PassedThrough
        ) {
            return self.may_fold(case, parent);
        }
        let (frozen, goes) = (&parent.body.head, &case.out.head);
        if frozen.len() != goes.len() || !frozen.iter().zip(goes).all(|(one, other)| one.is(other)) {
            return broken(
                2,
                format!(
                    "the frozen head changed: {:?} to {:?}",
                    raw_head(&parent.body),
                    raw_head(case.out)
                ),
            );
        }
        let shared = parent.client.items.iter().zip(&case.client.items);
        let shared = shared
            .take_while(|(old, new)| old.canonical == new.canonical)
            .count();
        let whole = shared == parent.client.items.len() && carries(parent, case, shared);
        let front = if whole {
            parent.elements.len()
        } else {
            front(&parent.elements, shared)
        };
        let same = |(old, new): &(&Element, &Element)| same_element(old, new, !plan.anew.is_empty());
        let kept = parent.elements[..front]
            .iter()
            .zip(case.elements)
            .take_while(same)
            .count();
        if kept < front {
            let (old, new) = (&parent.elements[kept], case.elements.get(kept));
            return broken(2, format!("element {kept} of {front} was {old:?}, is {new:?}"));
        }
        Ok(())
    }

    /// The head may be the client's own again only for a reason that can be seen.
    fn may_fold(&self, case: &Case<'_>, parent: &Sent) -> Check {
        let outcome = case.turn.plan.outcome;
        if !case.nodes.is_empty() || raw_head(case.client) != raw_head(case.out) {
            return broken(2, format!("{outcome:?}, and not the client's own head alone"));
        }
        let gone = parent
            .client
            .items
            .iter()
            .any(|old| case.client.items.iter().all(|new| new.canonical != old.canonical));
        let tools = |body: &Body| {
            body.tools
                .iter()
                .map(|tool| Tree::parse(&unmarked(tool)).envelope())
                .collect::<Vec<_>>()
        };
        let reason = match outcome {
            Outcome::Rebaseline(inkfast::prefix::plan::Reason::Tools) => {
                tools(&parent.client) != tools(case.client)
            }
            Outcome::Adopted => gone,
            _ => true,
        };
        if reason {
            Ok(())
        } else {
            broken(2, format!("{outcome:?} without its reason"))
        }
    }

    /// 2, seen from the conversation: a plain next request continues the one before it.
    fn continues(&self, case: &Case<'_>) -> Check {
        let Some(follows) = case.told.follows else {
            return Ok(());
        };
        let parent = case.turn.plan.parent.as_ref();
        // A conversation that was taken for two may go on with the one that holds this very head.
        let other = parent
            .and_then(|parent| self.sent.get(&parent.seq))
            .is_some_and(|sent| {
                sent.conversation == case.told.conversation
                    && (sent.lineage != self.sent[&follows].lineage || self.answered_alike(sent, case))
                    && sent.client.head_texts() == case.client.head_texts()
            });
        // Another agent with the very head (a sub-agent, both without a prompt) carried the answer on before: nobody could
        // tell the two apart.
        let before = &self.sent[&follows].client;
        let taken = self.sent.values().any(|sent| {
            let (theirs, end) = (&sent.client.items, before.items.len());
            sent.conversation != case.told.conversation
                && sent.client.head_texts() == before.head_texts()
                && theirs.len() > end
                && same_items(&theirs[..=end], &case.client.items)
        });
        let parent = parent.map(|parent| parent.seq);
        if parent == Some(follows) || other || taken {
            return Ok(());
        }
        broken(2, format!("continues {parent:?}, not {follows}"))
    }

    /// The path was answered with what stands behind it: a twin of the one that the conversation went on from.
    fn answered_alike(&self, sent: &Sent, case: &Case<'_>) -> bool {
        carries(sent, case, sent.client.items.len())
    }

    /// 5: a body that was seen goes out as it went out.
    fn seen_before(&self, case: &Case<'_>, body: &Bytes) -> Check {
        let Some(seq) = self.bodies.get(&case.told.key(body)) else {
            return Ok(());
        };
        let before = &self.sent[seq];
        let rebased =
            case.turn.plan.outcome != Outcome::Kept && !case.turn.plan.keeps_prefix() || before.folded;
        // What nobody knows the end of is decided anew: something else may be known by now. So is what failed and is no
        // predecessor, once the conversation went on without it.
        let went_on = |(later, sent): (&Seq, &Sent)| {
            later > seq && sent.conversation == case.told.conversation && sent.status == Some(200)
        };
        let anew = match before.status {
            None | Some(400..=428) => true,
            Some(200) => false,
            Some(_) => self.sent.iter().any(went_on),
        };
        let refused = anew && case.told.again.is_some();
        if before.out != case.turn.out && !refused && !rebased {
            return broken(
                5,
                format!("seen as {seq}, and went out otherwise ({:?})", before.status),
            );
        }
        Ok(())
    }

    /// 11: every head in force that the body tells was this conversation's own.
    fn strangers(&self, case: &Case<'_>) -> Check {
        let (own, merged) = (&self.heads[&case.told.conversation], self.merged(case));
        let mut effective = case.out.head_texts();
        for (index, node) in std::iter::once(None)
            .chain(case.nodes.iter().map(Some))
            .enumerate()
        {
            if let Some(node) = node {
                effective = prompt::derive(&effective, &node.entries);
            }
            let text = prompt::joined(&normal(&effective));
            if !own.contains(&text) && !merged.contains(&text) {
                let parent = case.turn.plan.parent.as_ref().map(|parent| parent.seq);
                return broken(
                    11,
                    format!("layer {index} is a stranger's: {text}\nparent {parent:?}"),
                );
            }
        }
        Ok(())
    }

    /// Where the answer was not seen, one person's own conversations under alike heads may be taken for one
    /// (the third kind of evidence, in `choose`): the heads of the other one.
    fn merged(&self, case: &Case<'_>) -> &[String] {
        let unseen = |parent: &&Sent| self.loopback && parent.answer.is_none();
        let merged = self.parent(case).filter(unseen).map(|parent| parent.conversation);
        merged.map_or(&[][..], |conversation| self.heads[&conversation].as_slice())
    }

    /// A test of one invariant looks at that one alone.
    fn wanted(&self, check: Check) -> Check {
        check.or_else(|violation| match self.only {
            Some(only) if only != violation.invariant => Ok(()),
            _ => Err(violation),
        })
    }
}

/// 4: every item of the client's, once, in order.
fn lost(case: &Case<'_>) -> Check {
    let items: Vec<&Item> = case
        .elements
        .iter()
        .filter_map(|element| match element {
            Element::Item(item) => Some(item),
            Element::Node(_) => None,
        })
        .collect();
    let own = &case.client.items;
    let first = items
        .iter()
        .zip(own)
        .position(|(out, own)| out.canonical != own.canonical);
    match first {
        None if items.len() == own.len() => Ok(()),
        first => broken(
            4,
            format!(
                "{} items for {}, the first other at {first:?}",
                items.len(),
                own.len()
            ),
        ),
    }
}

/// These items stand in front of `all`.
fn same_items(front: &[Item], all: &[Item]) -> bool {
    let same = |(one, other): (&Item, &Item)| one.canonical == other.canonical;
    front.len() <= all.len() && front.iter().zip(all).all(same)
}

fn raw_head(body: &Body) -> Vec<&str> {
    body.head.iter().map(|block| block.raw.as_str()).collect()
}

/// The next item of the client's is the answer that the parent got.
fn carries(parent: &Sent, case: &Case<'_>, shared: usize) -> bool {
    let next = case
        .client
        .items
        .get(shared)
        .filter(|item| item.role == "assistant");
    next.is_some_and(|item| parent.answer.as_deref() == Some(&*item.texts))
}

/// How many elements stand in front of what lies behind the first `shared` items.
fn front(elements: &[Element], shared: usize) -> usize {
    let mut items = 0;
    let mut front = 0;
    for (index, element) in elements.iter().enumerate() {
        if matches!(element, Element::Item(_)) {
            items += 1;
            if items <= shared {
                front = index + 1;
            }
        }
    }
    front
}

fn same_element(old: &Element, new: &Element, anew: bool) -> bool {
    match (old, new) {
        (Element::Item(old), Element::Item(new)) if old.holds && new.holds => {
            unmarked(&old.raw) == unmarked(&new.raw)
        }
        (Element::Item(old), Element::Item(new)) => old.canonical == new.canonical,
        (Element::Node(old), Element::Node(new)) if anew => old.meaning == new.meaning,
        (Element::Node(old), Element::Node(new)) => old.bytes == new.bytes && old.slot == new.slot,
        _ => false,
    }
}

fn node_names(elements: &[Element]) -> Vec<String> {
    elements
        .iter()
        .filter(|element| matches!(element, Element::Node(_)))
        .map(name)
        .collect()
}

pub fn name(element: &Element) -> String {
    match element {
        Element::Node(node) => format!("{}@{}", node.meaning, node.position),
        Element::Item(_) => String::new(),
    }
}
