//! The names under which a request's past could be known. Pure: the ledger does the looking up.

use super::digest::{Chain, Digest, Hasher};
use super::item::{AnswerMark, Hints, Mark, Request, Role};

/// All that the ledger is asked about one request, deepest first.
#[derive(Clone, Debug)]
pub struct Keys {
    /// The whole request, for retries.
    pub request: Digest,
    /// The response that the request goes on behind: what else is known of its past hangs on that alone.
    pub response: Option<Digest>,
    /// One key for each history item, tip first: the chain up to and including it.
    pub chains: Vec<Digest>,
    /// One key for each assistant item with its place among them, tip first.
    pub assistants: Vec<Digest>,
    /// One key for each answer that the history holds, tip first.
    pub answers: Vec<Digest>,
    /// The history, for ranking candidates by depth.
    pub items: Vec<super::digest::Canonical>,
    /// The head.
    pub head: Digest,
    /// Who the client says that it is.
    pub hints: Hints,
}

/// The upstream, wire format and tenant within which everything is looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Scope(pub Digest);

impl Scope {
    /// The scope of an upstream, a wire format and a tenant (none on one person's machine).
    pub fn new(upstream: &str, format: &str, tenant: Option<Digest>) -> Self {
        let mut hasher = Hasher::new("inkfast scope v1");
        hasher.part(upstream.as_bytes()).part(format.as_bytes());
        hasher.part(tenant.as_ref().map_or(&[][..], |digest| &digest.0));
        Self(hasher.finish())
    }

    /// What `digest` is known by in this scope: the sum of the two, so that the hundreds of keys of a request cost
    /// nothing. Digests of chains, items and answers are of domains of their own, and so stay apart.
    fn key(self, digest: Digest) -> Digest {
        Digest((u128::from_le_bytes(self.0.0) ^ u128::from_le_bytes(digest.0)).to_le_bytes())
    }
}

/// Names everything that could be known of `request`.
pub fn keys(request: &Request, scope: Scope) -> Keys {
    let marks = || request.history.iter().map(|item| &item.mark);
    let mut assistants: Vec<Digest> = assistant_keys(scope, marks()).map(|(_, key)| key).collect();
    assistants.reverse();
    Keys {
        request: request_key(scope, request),
        response: request.continues.map(|response| response_key(scope, response)),
        chains: request
            .chains
            .iter()
            .rev()
            .map(|chain| chain_key(scope, *chain))
            .collect(),
        assistants,
        answers: request
            .history
            .iter()
            .rev()
            .filter_map(|item| item.answer)
            .map(|answer| answer_key(scope, answer))
            .collect(),
        items: marks().map(|mark| mark.canonical).collect(),
        head: request.head.digest,
        hints: request.hints.clone(),
    }
}

/// The key of a whole request: head, tools and history in normal form, and the model.
pub fn request_key(scope: Scope, request: &Request) -> Digest {
    let mut hasher = Hasher::new("inkfast request v1");
    hasher.part(&scope.0.0).part(&request.head.digest.0);
    hasher.part(&request.chains.last().unwrap_or(&Chain::EMPTY).0.0);
    hasher.part(request.model.as_deref().unwrap_or("").as_bytes());
    for tool in &request.tools {
        hasher.part(&tool.mark.canonical.0.0);
    }
    if let Some(response) = request.continues {
        hasher.part(b"behind").part(&response.0);
    }
    // A request that is seen again goes out in the bytes of the one before: the head's roles are among them.
    for block in &request.head.blocks {
        hasher.part(block.frozen.role.as_bytes());
    }
    hasher.finish()
}

/// The digest of a response's id.
pub fn response_id(id: &str) -> Digest {
    Digest::of("inkfast response v1", id.as_bytes())
}

/// The key of a response, by the digest of its id.
pub fn response_key(scope: Scope, response: Digest) -> Digest {
    scope.key(response)
}

/// The key of a history up to one item.
pub fn chain_key(scope: Scope, chain: Chain) -> Digest {
    scope.key(chain.0)
}

/// The key of an answer.
pub fn answer_key(scope: Scope, answer: AnswerMark) -> Digest {
    scope.key(answer.digest)
}

/// The keys of the assistant items among `marks`, each with its index and its place among the assistant items.
pub fn assistant_keys<'a>(
    scope: Scope,
    marks: impl Iterator<Item = &'a Mark>,
) -> impl Iterator<Item = (usize, Digest)> {
    marks
        .enumerate()
        .filter(|(_, mark)| mark.role == Role::Assistant)
        .enumerate()
        .map(move |(ordinal, (index, mark))| {
            let place = u128::from_le_bytes(mark.canonical.0.0).wrapping_add(ordinal as u128);
            (index, scope.key(Digest(place.to_le_bytes())))
        })
}
