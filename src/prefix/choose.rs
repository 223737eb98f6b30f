//! Which path a request continues: evidence of a shared past first, depth second.
//!
//! Two requests with one opening text need not be one conversation. A path whose head differs, or of which no item
//! matches, is continued only where the model's own words show that it is the same one. Hints of the client narrow
//! and order; they never prove.

use std::sync::Arc;

use super::digest::Digest;
use super::item::{Item, Kind, Mark, Request, Role};
use super::past::{Past, Path, State};
use super::place;
use super::policy::{Mutant, Policy};
use crate::prompt;

/// The path that a request continues.
#[derive(Clone, Debug)]
pub struct Choice {
    /// The path itself: baseline and nodes are taken from it.
    pub path: Arc<Path>,
    /// What the verdicts compare with: the same, or the newest request on a branch of it.
    pub against: Arc<Path>,
    /// How many leading client items match.
    pub shared: usize,
    /// Where the answer to the path stands in the request, if it does.
    pub answer_at: Option<usize>,
}

/// A path that may be continued, with what the order of choice asks for.
struct Candidate {
    path: Arc<Path>,
    shared: usize,
    answer_at: Option<usize>,
    head_equal: bool,
    /// How far the path reaches into the request, rewritten items or not.
    depth: usize,
    answered_next: bool,
    /// What shows that it is this conversation.
    evidence: Evidence,
    /// The request stands beside it, with a prompt and tools of its own: it is not continued, and yet may be the
    /// conversation that the evidence of another one comes from.
    beside: bool,
}

/// Why a path counts as the same conversation.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Evidence {
    None,
    Weak,
    Strong,
}

/// Chooses the path that `request` continues, if there is one.
pub fn choose(request: &Request, key: Digest, past: &Past, policy: &Policy) -> Option<Choice> {
    let best = match request.continues {
        // The client names what it goes on behind, and the provider holds it.
        Some(_) => past
            .paths
            .first()
            .map(|path| Choice::of(path, path.items.len(), None)),
        None => by_content(request, past, policy),
    };
    // A twin that is still in flight is continued by nobody: what it continues, this request continues, too.
    let exact = past
        .exact
        .as_ref()
        .filter(|path| path.request == key && path.is_committed() && same_person(request, path));
    let Some(exact) = exact else { return best };
    let against = best
        .map(|best| best.path)
        .filter(|best| best.lineage == exact.lineage && best.is_committed());
    Some(Choice {
        against: against.unwrap_or_else(|| exact.clone()),
        ..Choice::of(exact, place::matching(request, exact), None)
    })
}

impl Choice {
    fn of(path: &Arc<Path>, shared: usize, answer_at: Option<usize>) -> Self {
        Self {
            path: path.clone(),
            against: path.clone(),
            shared,
            answer_at,
        }
    }
}

/// The path that the items of the request speak for.
fn by_content(request: &Request, past: &Past, policy: &Policy) -> Option<Choice> {
    let all = past
        .paths
        .iter()
        .filter_map(|path| candidate(request, path, past, policy));
    let (beside, mut candidates): (Vec<_>, Vec<_>) = all.partition(|candidate| candidate.beside);
    let carried: Vec<bool> = candidates
        .iter()
        .map(|twin| is_carried(twin, &candidates, request) || is_other(twin, past, request))
        .collect();
    let mut carried = carried.into_iter();
    candidates.retain(|_| carried.next() == Some(false));
    let best = best(&mut candidates, request)?;
    if beside.iter().any(|other| is_as_likely(request, best, other)) {
        return None;
    }
    Some(Choice::of(&best.path, best.shared, best.answer_at))
}

fn candidate(request: &Request, path: &Arc<Path>, past: &Past, policy: &Policy) -> Option<Candidate> {
    let shared = place::matching(request, path);
    if !is_predecessor(request, path, shared) {
        return None;
    }
    let answer_at = answer_at(request, path, shared);
    let nodes = place::on_path(request, path, shared, answer_at, past);
    let head_equal = place::effective_digest(path, &nodes) == request.head.prompt
        || path.head.digest == request.head.digest && shared == path.items.len();
    let evidence = evidence(request, path, shared, answer_at, policy);
    if excluded(request, path, evidence) {
        return None;
    }
    let alike = || alike(request, path);
    // A frozen head that is not the request's own must be this conversation's: equal prompts do not show that.
    let other_baseline = path.baseline.prompt != request.head.prompt || other_roles(request, path);
    let needs_evidence = !head_equal || shared == 0 || other_baseline;
    let bypass = policy.mutant == Some(Mutant::AskNoEvidence) && shared > 0;
    if needs_evidence && evidence == Evidence::None && !bypass {
        return None;
    }
    let prompt_under_test = shared == request.history.len();
    let other_tools = request.tools.is_empty() || !same_tools(request, path);
    let beside = !head_equal && (prompt_under_test || other_tools) && !alike();
    let depth = depth(request, path, place::standing(path, shared, answer_at));
    let answered_next = shared == path.items.len() && answer_at == Some(shared);
    let answer_at = answer_at.or_else(|| answered_in_place(request, path, shared));
    Some(Candidate {
        path: path.clone(),
        shared,
        answer_at,
        head_equal,
        depth,
        answered_next,
        evidence,
        beside,
    })
}

/// A message of the frozen head has another role than the request's: the same prompt, and yet other bytes.
fn other_roles(request: &Request, path: &Path) -> bool {
    let own = request.head.blocks.iter().map(|block| &block.frozen);
    let mut pairs = own.zip(&path.baseline.blocks);
    pairs.any(|(own, frozen)| own.is_message() && frozen.is_message() && own.role != frozen.role)
}

/// How many items stand, and those of which the model's words still stand at their place behind what was rewritten.
fn depth(request: &Request, path: &Path, standing: usize) -> usize {
    let mut places = request.history.iter().zip(path.items.iter());
    let is_said =
        |(item, mark): (&Item, &Mark)| mark.role == Role::Assistant && mark.canonical == item.mark.canonical;
    let said = places.rposition(is_said).map_or(0, |last| last + 1);
    standing.max(said)
}

/// Twins that were answered alike, or may have been, are one path: where a deeper one carries the answer on, none is
/// left at it.
fn is_carried(twin: &Candidate, all: &[Candidate], request: &Request) -> bool {
    let end = twin.path.items.len();
    let answered = request.history.get(end).is_some_and(|item| {
        item.mark.role == Role::Assistant && (twin.path.answer.is_none() || item.answer == twin.path.answer)
    });
    let nodes = |path: &Path| path.nodes.iter().map(|node| node.digest).collect::<Vec<_>>();
    let extends = |other: &Candidate| {
        other.path.lineage == twin.path.lineage
            && other.shared > end
            && other.path.baseline.digest == twin.path.baseline.digest
            && nodes(&other.path).starts_with(&nodes(&twin.path))
    };
    answered && twin.shared == end && all.iter().any(extends)
}

/// A path that was answered otherwise than the conversation went on is not what is continued, where another one is
/// known that was answered so or goes on behind it.
fn is_other(twin: &Candidate, past: &Past, request: &Request) -> bool {
    let end = twin.path.items.len();
    let next = request.history.get(end).and_then(|item| item.answer);
    let answered_so = |other: &Path| other.items.len() == end && other.answer == next;
    let goes_on = |other: &Path| twin.path.answer.is_some() && other.items.len() > end;
    // A twin of this request that is still in flight tells no more than this request does.
    let mut accepted = past.paths.iter().filter(|other| other.is_committed());
    twin.shared == end
        && next.is_some()
        && twin.path.answer != next
        && accepted.any(|other| {
            let wanted = if goes_on(other) { end + 1 } else { end };
            (answered_so(other) || goes_on(other)) && place::matching(request, other) >= wanted
        })
}

/// Only what an upstream accepted is continued. Where that is unknown (the process died), an answer behind the
/// request's last item shows it.
fn is_predecessor(request: &Request, path: &Path, shared: usize) -> bool {
    match path.state {
        State::Committed => true,
        State::Failed => false,
        State::Tentative => {
            shared == path.items.len()
                && request
                    .history
                    .get(shared)
                    .is_some_and(|item| item.mark.role == Role::Assistant)
        }
    }
}

fn answer_at(request: &Request, path: &Path, shared: usize) -> Option<usize> {
    let wanted = path.answer?;
    let last = path.items.last()?;
    // In what both have it is an item of the path's own.
    let places = request
        .history
        .iter()
        .enumerate()
        .skip(shared)
        .rev()
        .filter(|(_, item)| item.answer == Some(wanted));
    places.map(|(index, _)| index).find(|index| {
        let Some(answered) = index.checked_sub(1).map(|before| &request.history[before]) else {
            return false;
        };
        // A question like that one with a short answer like that one is chance where nothing else of the history stands.
        // Under the very head, or tidied under a head that is alike, it is not.
        let (words, before) = (answered.words.as_ref(), &path.last_words);
        let tidied = || words.is_some_and(|words| words.is_part(before)) && alike(request, path);
        let same_head = path.head.digest == request.head.digest;
        let in_place = || *index == path.items.len() && (same_head || tidied());
        let rewritten = || words.is_some_and(|words| words.alike(before)) && (shared > 0 || in_place());
        answered.mark.canonical == last.canonical || wanted.strong || rewritten()
    })
}

/// The answer stands where it belongs, behind a last item that the client has tidied since. Says that the
/// conversation went on; it is no evidence that it is the same one.
fn answered_in_place(request: &Request, path: &Path, shared: usize) -> Option<usize> {
    let end = path.items.len();
    let answer = request.history.get(end)?.answer;
    (shared + 1 == end && shared > 0 && answer.is_some() && answer == path.answer).then_some(end)
}

fn evidence(
    request: &Request,
    path: &Path,
    shared: usize,
    answer_at: Option<usize>,
    policy: &Policy,
) -> Evidence {
    match gained_assistant(request, path) {
        Some(mark) if is_strong(mark) => return Evidence::Strong,
        Some(_) if policy.loopback => return Evidence::Weak,
        _ => {}
    }
    if answer_at.is_some() {
        let strong = path.answer.is_some_and(|answer| answer.strong);
        return match (strong, policy.loopback) {
            (true, _) => Evidence::Strong,
            (false, true) => Evidence::Weak,
            (false, false) => Evidence::None,
        };
    }
    let unseen = path.answer.is_none()
        && shared == path.items.len()
        && request
            .history
            .get(shared)
            .is_some_and(|item| item.mark.role == Role::Assistant)
        && path.items[..shared].iter().any(|mark| mark.role == Role::User);
    let same_client =
        policy.loopback || request.hints.session.is_some() && request.hints.session == path.hints.session;
    if same_client && (unseen && alike(request, path) || summed_up(request, path, shared)) {
        Evidence::Weak
    } else {
        Evidence::None
    }
}

/// Items of the path are gone, and a summary that it does not have stands behind the first of them. Nothing of the path
/// goes out again then.
fn summed_up(request: &Request, path: &Path, shared: usize) -> bool {
    let (own, theirs) = (&request.history[shared..], &path.items[shared..]);
    let gone = |mark: &Mark| own.iter().all(|item| item.mark.canonical != mark.canonical);
    let is_new = |mark: &Mark| theirs.iter().all(|other| other.canonical != mark.canonical);
    let summaries = own
        .iter()
        .map(|item| &item.mark)
        .filter(|mark| mark.kind == Kind::Summary);
    shared > 0 && theirs.iter().any(gone) && summaries.into_iter().any(is_new)
}

/// An assistant item that the path gained after its first request and that stands at the same place among the
/// assistant items of the request, a short one behind the item that it stood behind. The strongest one there is.
fn gained_assistant<'p>(request: &Request, path: &'p Path) -> Option<&'p Mark> {
    let said = |mark: &Mark| mark.role == Role::Assistant;
    let history = &request.history;
    let theirs = (0..history.len()).filter(|index| said(&history[*index].mark));
    let ours = (0..path.items.len()).filter(|index| said(&path.items[*index]));
    let same = |at: usize, own: usize| path.items[at].canonical == history[own].mark.canonical;
    let behind_same = |at: usize, own: usize| at > 0 && own > 0 && same(at - 1, own - 1);
    ours.zip(theirs)
        .filter(|(at, own)| *at >= path.first_items as usize && same(*at, *own))
        .filter(|(at, own)| is_strong(&path.items[*at]) || behind_same(*at, *own))
        .map(|(at, _)| &path.items[at])
        .max_by_key(|mark| is_strong(mark))
}

fn is_strong(mark: &Mark) -> bool {
    mark.kind == Kind::ToolCall || mark.len >= super::item::AnswerMark::STRONG_TEXT as u32
}

fn excluded(request: &Request, path: &Path, evidence: Evidence) -> bool {
    let differ = |a: Option<Digest>, b: Option<Digest>| a.zip(b).is_some_and(|(a, b)| a != b);
    let (ours, theirs) = (&request.hints, &path.hints);
    differ(ours.user, theirs.user)
        || evidence != Evidence::Strong
            && (differ(ours.session, theirs.session) || differ(ours.agent, theirs.agent))
}

fn same_person(request: &Request, path: &Path) -> bool {
    !excluded(request, path, Evidence::None)
}

fn alike(request: &Request, path: &Path) -> bool {
    match (request.head.texts(), path.head.texts()) {
        (Some(ours), Some(theirs)) => prompt::alike(&prompt::joined(&ours), &prompt::joined(&theirs)),
        _ => false,
    }
}

fn same_tools(request: &Request, path: &Path) -> bool {
    let ours = request.tools.iter().map(|tool| tool.mark.canonical);
    ours.eq(path.tools.iter().map(|tool| tool.canonical))
}

/// The deepest, and those that end at most one assistant turn earlier; among these the head in force, the answer
/// that comes next, depth, and within one lineage the newest. Two lineages at the top: neither.
fn best<'c>(candidates: &'c mut [Candidate], request: &Request) -> Option<&'c Candidate> {
    let reach = |candidate: &Candidate| (candidate.shared, candidate.depth);
    let deepest = candidates.iter().map(reach).max()?;
    // Where the deepest one's own answer stands at its place, the conversation passed by those that end earlier.
    let passed = candidates.iter().any(|candidate| {
        reach(candidate) == deepest && candidate.answer_at == Some(candidate.path.items.len())
    });
    let one_turn = |candidate: &Candidate| {
        turns(request, candidate.shared, deepest.0) <= 1 && turns(request, candidate.depth, deepest.1) <= 1
    };
    let order = |candidate: &Candidate| {
        let end = candidate.path.items.len();
        let ends = candidate.shared == end || candidate.answer_at == Some(end);
        let one_turn = !passed && ends && candidate.head_equal && one_turn(candidate);
        let near = reach(candidate) == deepest || one_turn;
        // A path that goes on otherwise, without proof that it is this conversation: its head may be so by chance, and
        // says less than the answer that comes next.
        (
            near,
            candidate.head_equal && (ends || candidate.evidence != Evidence::None),
            candidate.answered_next,
            candidate.head_equal,
            candidate.shared,
        )
    };
    candidates.sort_by_key(|candidate| std::cmp::Reverse((order(candidate), candidate.path.seq)));
    let first = candidates.first()?;
    let rival = |other: &Candidate| {
        other.path.lineage != first.path.lineage && order(other) == order(first)
            || is_as_likely(request, first, other)
    };
    if candidates.iter().any(rival) {
        None
    } else {
        Some(first)
    }
}

/// Short answers are given to many: where they are all that speaks for a path under another head, one of another
/// conversation that reaches as far, or farther, is as likely.
fn is_as_likely(request: &Request, first: &Candidate, other: &Candidate) -> bool {
    let reach = |candidate: &Candidate| candidate.shared + usize::from(candidate.answered_next);
    !first.head_equal
        && first.path.lineage != other.path.lineage
        && first.evidence == Evidence::Weak
        && other.evidence != Evidence::None
        && turns(request, reach(other), reach(first)) == 0
}

/// Assistant turns that begin among `from..to` of the request's items.
fn turns(request: &Request, from: usize, to: usize) -> usize {
    let is_assistant = |index: usize| request.history[index].mark.role == Role::Assistant;
    (from..to)
        .filter(|index| is_assistant(*index) && (*index == 0 || !is_assistant(index - 1)))
        .count()
}
