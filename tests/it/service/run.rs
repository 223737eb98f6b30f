//! One conversation through one service.

use std::sync::mpsc::Receiver;
use std::time::Duration;

use inkfast::config::{Config, PartialUpstream};
use inkfast::ledger::{Fault, Ledger};
use inkfast::prefix::policy::Mutant;
use inkfast::proxy::line::Summary;
use inkfast::proxy::server::{Running, Server};
use inkfast::sim::{self, Answer, Provider};
use serde_json::Value;
use tempfile::TempDir;

use super::agent::{Agent, Dice, Kind};
use super::check::Exchange;
use super::upstream::{Front, Peek};
use crate::support::{body_of, partial_with, request, status_of};

/// Longer than a request waits for its state.
pub const STALL: Duration = Duration::from_millis(200);
const KEYS: &str = "state_timeout = \"100ms\"";

/// What is run.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    pub kind: Kind,
    pub seed: u64,
    /// The ledger is a file, and the service is started anew over it some requests after the fault.
    pub on_disk: bool,
    pub fault: Option<(u64, Fault)>,
    pub mutant: Option<Mutant>,
}

/// A service over a ledger with a fault.
struct Service {
    running: Running,
    tap: Receiver<Summary>,
    ledger: Ledger,
}

/// A place for a ledger.
struct Place {
    folder: TempDir,
    memory: Ledger,
    on_disk: bool,
}

impl Case {
    /// Runs it; the exchanges in order, and how often the ledger was written to.
    pub async fn run(self, reference: &Provider) -> (Vec<Exchange>, u64) {
        let place = Place::new(self.on_disk);
        let provider = Provider::start(sim::Config::default()).unwrap();
        let front = Front::start(provider.addr(), place.peek()).await;
        let faults: Vec<_> = self.fault.into_iter().collect();
        let mut service = Service::start(&front, place.ledger(&faults), self.mutant).await;
        let (mut agent, mut dice) = (Agent::new(self.kind, self.seed), Dice(!self.seed));
        let (mut exchanges, mut after_fault) = (Vec::new(), 1 + dice.below(2));
        for _ in 0..4 + dice.below(5) {
            let due = self.fault.is_some_and(|(at, _)| service.writes() >= at);
            let restarted = self.on_disk && due && after_fault == 0;
            if restarted {
                service.running.shutdown().await;
                service = Service::start(&front, place.ledger(&[]), self.mutant).await;
            }
            after_fault = after_fault.wrapping_sub(usize::from(due || restarted));
            let overloaded = dice.one_in(12);
            if overloaded {
                provider.push(Answer::error(529, "Overloaded"));
            }
            let mut exchange = service
                .exchange(&mut agent, &front, reference, &place.peek())
                .await;
            exchange.scripted = overloaded;
            exchange.restarted = restarted;
            if matches!(self.fault, Some((at, Fault::Stall(_))) if !due && service.writes() >= at) {
                // People are slower than a late record.
                tokio::time::sleep(STALL + STALL / 2).await;
            }
            exchanges.push(exchange);
        }
        let writes = service.writes();
        service.running.shutdown().await;
        (exchanges, writes)
    }
}

impl Place {
    fn new(on_disk: bool) -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            memory: Ledger::memory(),
            on_disk,
        }
    }

    fn ledger(&self, faults: &[(u64, Fault)]) -> Ledger {
        let inner = if self.on_disk {
            Ledger::open(&self.file()).unwrap()
        } else {
            self.memory.clone()
        };
        Ledger::faulty(inner, faults.iter().copied())
    }

    fn peek(&self) -> Peek {
        match &self.memory {
            Ledger::Memory(memory) if !self.on_disk => Peek::Memory(memory.clone()),
            _ => Peek::File(self.file()),
        }
    }

    fn file(&self) -> std::path::PathBuf {
        self.folder.path().join("ledger.sqlite")
    }
}

impl Service {
    async fn start(front: &Front, ledger: Ledger, mutant: Option<Mutant>) -> Self {
        let url = format!("http://{}", front.address);
        let mut partial = partial_with(&url, KEYS);
        for (name, acts_as) in [
            ("openai", Some("api.openai.com")),
            ("anthropic", Some("api.anthropic.com")),
            ("strict", None),
        ] {
            let acts_as = acts_as.map(Into::into);
            let given = PartialUpstream {
                url: url.clone(),
                acts_as,
                ..PartialUpstream::default()
            };
            partial.upstreams.insert(name.into(), given);
        }
        let (told, tap) = std::sync::mpsc::channel();
        let config = Config::new(partial).unwrap();
        let running = Server::start_with(config, ledger.clone(), Some(told), mutant)
            .await
            .unwrap();
        Self { running, tap, ledger }
    }

    fn writes(&self) -> u64 {
        match &self.ledger {
            Ledger::Faulty(faulty) => faulty.writes(),
            _ => 0,
        }
    }

    async fn exchange(
        &self,
        agent: &mut Agent,
        front: &Front,
        reference: &Provider,
        peek: &Peek,
    ) -> Exchange {
        let moved = agent.step();
        let own = agent.body().to_string();
        let (steps, first) = (peek.steps(), format!("POST {}", agent.kind.path()));
        let answer = request(self.running.proxy_addr, &first, &[], &own).await;
        let told = self.told().await;
        let arrival = front.arrivals().pop().unwrap();
        let path = if agent.kind.is_chat() {
            "/v1/chat/completions"
        } else {
            "/v1/messages"
        };
        let straight = request(reference.addr(), &format!("POST {path}"), &[], &own).await;
        let status = status_of(&answer);
        if status < 300 {
            agent.hear(&serde_json::from_str::<Value>(body_of(&answer)).unwrap());
        }
        Exchange {
            kind: agent.kind,
            moved,
            mode: agent.mode,
            note: agent.note,
            own: own.into_bytes(),
            out: arrival.body.to_vec(),
            stored: arrival.stored,
            status,
            upstream_status: arrival.status,
            own_status: status_of(&straight),
            scripted: false,
            deferred: told
                .prefix
                .as_ref()
                .is_some_and(|prefix| prefix.node == "deferred"),
            recorded: told.passthrough.is_none() && peek.steps() > steps,
            restarted: false,
        }
    }

    /// What the service says of the last request.
    async fn told(&self) -> Summary {
        for _ in 0..500 {
            if let Ok(told) = self.tap.try_recv() {
                return told;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        panic!("a request that never ended");
    }
}
