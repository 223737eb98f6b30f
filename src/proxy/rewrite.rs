//! What a body asks for: decode, parse, look up. The result is a [`Prompt`], of which plans can be made.
//!
//! Whatever is in doubt here ends as a [`Passthrough`], and the client's own bytes leave.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use bytes::Bytes;
use hyper::HeaderMap;
use tokio::time::{error::Elapsed, timeout};

use crate::{
    bodies,
    config::Upstream,
    encoding::{self, DecodeError, Limits},
    identity,
    ledger::{Learned, LedgerError},
    prefix::{Keys, Past, Request, Scope, item::Hints, keys, policy::Mode, provider_held},
    proxy::{
        Proxy, now_ms,
        signing::Signing,
        target::{Format, Target},
    },
    route::{self, Destination, Route},
    wire::{Call, ask::Ask, body::Context, format, scan::Fault},
};

/// A prompt that was read and looked up.
pub struct Prompt {
    /// What reads and edits it.
    pub format: format::Format,
    /// What it says.
    pub request: Arc<Request>,
    /// The names under which its past was looked up.
    pub keys: Keys,
    /// Within what.
    pub scope: Scope,
    /// What is known of its past.
    pub past: Past,
    /// Why that is not from the ledger but what went out last: nothing is added to it, and nothing recorded.
    pub doubt: Option<Passthrough>,
    /// What the provider takes.
    pub route: Route,
    /// The route's name in the ledger.
    pub route_key: String,
    /// The body as it came, encoded or not.
    pub received: Bytes,
    /// It has no answer that a later request carries on (its tokens are counted, its history is summed up): no trace of
    /// it is kept.
    pub counts_only: bool,
    /// How the vendor is asked about the prefix, where the user wants that.
    pub asks: Option<Ask>,
    /// Why no byte of it may change, if that is so.
    pub pinned: Option<Passthrough>,
    /// When all this was found out.
    pub now_ms: u64,
}

/// Why a body leaves as it came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passthrough {
    /// It is over the limit.
    Oversize,
    /// The path carries no prompt, or one in a format that is not understood.
    NotAPrompt,
    /// It is encoded in a way that is not known.
    UnknownEncoding,
    /// It is not what its encoding says.
    BadEncoding,
    /// It grows too much when it is decoded.
    Bomb,
    /// It is not the JSON that the format wants.
    Fault(Fault),
    /// The provider holds a part of the prefix.
    ServerState,
    /// A digest or a signature covers its bytes.
    Signed,
    /// It was to be signed anew, and there are no credentials for that.
    NoCredentials,
    /// The ledger failed.
    StateError,
    /// The ledger took too long.
    StateSlow,
    /// The last check stopped every plan.
    Guard,
    /// A fault of Inkfast itself.
    Internal,
}

/// Bodies over this size are worked on off the I/O threads.
const LARGE: usize = 256 << 10;
/// Decoded bytes for each encoded one: text of many repeats reaches a few dozen, a bomb a thousand.
const MAX_RATIO: usize = 200;

/// Reads a body and looks its past up.
///
/// # Errors
/// It is no prompt that can be worked on; the client's own bytes must leave.
pub async fn read(
    proxy: &Arc<Proxy>,
    target: &Target<'_>,
    (headers, signing): (&HeaderMap, &Signing<'_>),
    received: Bytes,
) -> Result<Prompt, Passthrough> {
    let body = Encoded::of(proxy, target, headers, received.clone()).ok_or(Passthrough::NotAPrompt)?;
    let (format, scope, host) = (body.format, body.scope, target.upstream.acts_as());
    let (counts_only, shared) = (body.counts_only, Arc::clone(proxy));
    let parsed = off_thread(received.len(), move || body.parse(&shared)).await?;
    let (request, keys) = parsed?;
    if request.server_state {
        return Err(Passthrough::ServerState);
    }
    let model = request.model.as_deref().unwrap_or_default();
    let route_key = route::key(&target.upstream.name, format, model);
    let now_ms = now_ms();
    let behind = target.upstream.model_behind(model);
    let route = |incapable: &[String]| proxy.route(host, format, behind, incapable);
    let (mut past, mut route, doubt) = match look_up(proxy, scope, &keys, &route_key).await {
        Ok((past, learned)) => (past, route(&incapable(&learned, now_ms)), None),
        Err(reason) => {
            let (past, route) = without_ledger(proxy, &keys, route(&[])).ok_or(reason)?;
            (past, route, Some(reason))
        }
    };
    provider_held::unfold(&request, &mut past);
    let (request, keys) = match provider_held::behind(&request, &keys, scope, &past) {
        Some((whole, keys)) => (Arc::new(whole), keys),
        None => (request, keys),
    };
    let pinned = signing.pins(headers);
    if pinned.is_some() {
        route.policy.mode = Mode::Observe;
    }
    let asks = route
        .ask
        .filter(|_| target.upstream.ask_diagnostics && pinned.is_none() && !counts_only);
    Ok(Prompt {
        format,
        request,
        keys,
        scope,
        past,
        doubt,
        route,
        route_key,
        received,
        counts_only,
        asks,
        pinned,
        now_ms,
    })
}

/// A body and all that reading it depends on.
struct Encoded {
    format: format::Format,
    upstream: Upstream,
    /// As the path names it.
    model: Option<String>,
    scope: Scope,
    bytes: Bytes,
    encoding: String,
    hints: Hints,
    attribution: bool,
    counts_only: bool,
}

impl Encoded {
    /// A body on its way to `target`; none where that takes no prompt that can be read.
    fn of(proxy: &Proxy, target: &Target<'_>, headers: &HeaderMap, bytes: Bytes) -> Option<Self> {
        let Format::Wire(format) = target.format else {
            return None;
        };
        let tenant = proxy.tenants.of(headers, target.uri.query());
        let model = format.wire().model(target.uri.path());
        let named = model.as_deref().unwrap_or_default();
        let facts = proxy.route(target.upstream.acts_as(), format, named, &[]);
        (target.call != Call::Other).then(|| Self {
            format,
            upstream: target.upstream.clone(),
            scope: Scope::new(&target.upstream.name, format.as_str(), tenant),
            bytes,
            encoding: encoding::of_headers(headers),
            hints: identity::hints(headers),
            attribution: facts.attribution,
            counts_only: target.call != Call::Messages,
            model,
        })
    }

    /// Decode and parse.
    fn parse(self, proxy: &Proxy) -> Result<(Arc<Request>, Keys), Passthrough> {
        let limits = Limits {
            max_bytes: proxy.config.max_body,
            max_ratio: MAX_RATIO,
        };
        let body = encoding::decode(&self.bytes, &self.encoding, limits)?;
        let place = bodies::key(self.scope, &self.hints, &body);
        let known = proxy.bodies.last(&place);
        let (upstream, format) = (&self.upstream, self.format);
        let instructions_lead = |model: &str| {
            proxy.routes.instructions_lead(Destination {
                host: upstream.acts_as(),
                format,
                model: upstream.model_behind(model),
            })
        };
        let context = Context {
            attribution: self.attribution,
            model: self.model.as_deref(),
            instructions_lead: Some(&instructions_lead),
            hints: self.hints,
        };
        let request = self.format.wire().parse(&body, &context, known.as_deref())?;
        let (request, keys) = {
            let keys = keys(&request, self.scope);
            (Arc::new(request), keys)
        };
        if !self.counts_only {
            proxy.bodies.keep(place, keys.request, Arc::clone(&request));
        }
        Ok((request, keys))
    }
}

async fn look_up(
    proxy: &Proxy,
    scope: Scope,
    keys: &Keys,
    route_key: &str,
) -> Result<(Past, Vec<Learned>), Passthrough> {
    let both = async { tokio::try_join!(proxy.ledger.past(scope, keys), proxy.ledger.learned(route_key)) };
    Passthrough::of_state(timeout(proxy.config.state_timeout, both).await)
}

/// The rows that are still believed not to work.
fn incapable(learned: &[Learned], now_ms: u64) -> Vec<String> {
    let believed = learned.iter().filter(|note| note.is_believed(now_ms));
    believed.map(|note| note.row.clone()).collect()
}

/// What is known without the ledger: the past is what went out last, and no new node can travel. None where the
/// request may as well go unread.
fn without_ledger(proxy: &Proxy, keys: &Keys, mut route: Route) -> Option<(Past, Route)> {
    let paths: Vec<_> = proxy.recent.find(keys).into_iter().collect();
    // Thinking will be bound to the form in which this request goes out: it must be known then.
    let needed = !paths.is_empty() || route.policy.binds_thinking;
    route.policy.rows.clear();
    needed.then_some((Past { exact: None, paths }, route))
}

/// Runs the pure core, for a large body where it holds no other request up.
///
/// # Errors
/// It panicked, which is a bug; the request must not suffer from it.
pub async fn off_thread<T: Send + 'static>(
    bytes: usize,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Passthrough> {
    let done = if bytes > LARGE {
        tokio::task::spawn_blocking(work).await.ok()
    } else {
        // Nothing that the work could leave half done is seen by anybody after it.
        catch_unwind(AssertUnwindSafe(work)).ok()
    };
    done.ok_or(Passthrough::Internal)
}

impl Proxy {
    /// Whether what a target says about cached tokens tells nothing.
    pub fn ignores_cached(&self, target: &Target<'_>) -> bool {
        let Format::Wire(format) = target.format else {
            return false;
        };
        self.routes.ignores_cached(Destination {
            host: target.upstream.acts_as(),
            format,
            model: "",
        })
    }

    /// The facts about a destination, without the rows that do not work there.
    fn route(&self, host: &str, format: format::Format, model: &str, incapable: &[String]) -> Route {
        let to = Destination { host, format, model };
        let mut route = self.routes.route(to, self.choice(), incapable);
        route.policy.mutant = self.mutant;
        route
    }
}

impl Passthrough {
    /// The label in metrics and logs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Oversize => "oversize",
            Self::NotAPrompt => "not_a_prompt",
            Self::UnknownEncoding => "unknown_encoding",
            Self::BadEncoding => "bad_encoding",
            Self::Bomb => "bomb",
            Self::Fault(fault) => fault.as_str(),
            Self::ServerState => "server_state",
            Self::Signed => "signed",
            Self::NoCredentials => "no_credentials",
            Self::StateError => "state_error",
            Self::StateSlow => "state_slow",
            Self::Guard => "guard",
            Self::Internal => "internal",
        }
    }

    /// What the ledger answered in time; the reason why it did not else.
    pub fn of_state<T>(answered: Result<Result<T, LedgerError>, Elapsed>) -> Result<T, Self> {
        match answered {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) => {
                tracing::warn!(event = "state_error", error = error.label());
                Err(Self::StateError)
            }
            Err(_) => {
                tracing::warn!(event = "state_slow");
                Err(Self::StateSlow)
            }
        }
    }
}

impl From<Fault> for Passthrough {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl From<DecodeError> for Passthrough {
    fn from(error: DecodeError) -> Self {
        match error {
            DecodeError::Unknown => Self::UnknownEncoding,
            DecodeError::TooLarge | DecodeError::Ratio => Self::Bomb,
            DecodeError::Truncated | DecodeError::Corrupt => Self::BadEncoding,
        }
    }
}
