//! Upstreams whose templates do something else with a later operator message: each is found out, and the client's edit
//! takes effect.

use inkfast::sim::{Answer, Config, LaterSystem, Provider};

use super::run::{Agent, Desk};
use super::script::{Act, Reply, Step};
use super::{CHAT, CONVERSE, MESSAGES, RESPONSES, Row};

/// Each kind of route whose updates are messages of their own.
const ROWS: [Row; 4] = [CHAT, MESSAGES, RESPONSES, CONVERSE];

/// Words enough that a turn's length tells in tokens what it tells in bytes.
const SAID: &str = "Go on with the next part of the plan, and tell me what you find there before you change it. Mind \
    the tests, which are slow, and leave the generated files alone: they come from the schema and are written anew on \
    each build. Where two parts say the same, keep the older one and name the newer in your answer. I want short \
    commits that each say why, no moved code, and no new dependency without a word about its licence.";

/// The modes that the client's head goes through, one turn each.
const MODES: [&str; 7] = ["plan", "build", "review", "ship", "ship", "audit", "audit"];

/// How each format's providers refuse the role of an update, in the order of the rows.
const REFUSALS: [&str; 4] = [
    "System message must be at the beginning.",
    "messages.2: role 'system' is not supported on this model",
    "Unsupported role: developer",
    "Value at 'messages.2.member.role' failed to satisfy constraint: Member must satisfy enum value set: \
     [user, assistant]",
];

#[test]
fn a_strict_template_is_found_at_once() {
    for (row, refusal) in ROWS.into_iter().zip(REFUSALS) {
        let turns = conversation(row, LaterSystem::InPlace, Some(refusal));
        let attempts: Vec<usize> = turns.iter().map(|turn| turn.attempts).collect();
        assert_eq!(
            attempts,
            [1, 2, 1, 1, 1, 1, 1],
            "{}: one refusal teaches",
            row.name
        );
        for (turn, mode) in turns.iter().zip(MODES) {
            assert_eq!((turn.status, &*turn.mode), (200, mode), "{}: {turn:?}", row.name);
        }
        let reminded = turns[1..].iter().all(|turn| turn.reminds);
        assert!(reminded, "{}: the role is not tried again: {turns:?}", row.name);
    }
}

#[test]
fn a_template_that_moves_updates_to_the_front_is_found_by_the_counts() {
    for row in ROWS {
        let turns = conversation(row, LaterSystem::Hoist, None);
        // To the model the update is in force all along; what it costs is the cache.
        for (turn, mode) in turns.iter().zip(MODES) {
            assert_eq!((turn.status, &*turn.mode), (200, mode), "{}: {turn:?}", row.name);
        }
        let last = turns.last().unwrap();
        assert_eq!(last.heads, 1, "{}: nothing is moved any more: {last:?}", row.name);
        assert!(last.cached > 0.9, "{}: {last:?}", row.name);
    }
}

#[test]
fn a_template_that_leaves_updates_out_is_found_by_the_counts() {
    for row in ROWS {
        let turns = conversation(row, LaterSystem::Drop, None);
        assert!(turns[1].mode != MODES[1], "{}: it was left out", row.name);
        for (turn, mode) in turns.iter().zip(MODES).skip(4) {
            assert_eq!((turn.status, &*turn.mode), (200, mode), "{}: {turn:?}", row.name);
        }
    }
}

/// What became of one turn.
#[derive(Debug)]
struct Turn {
    status: u16,
    attempts: usize,
    /// The mode that the provider's model reads last.
    mode: String,
    /// The update travels as text of the user.
    reminds: bool,
    /// Operator texts in front of the history.
    heads: usize,
    /// Share of the prompt before that was read from the cache.
    cached: f64,
}

/// Plays the modes; `refusal` is the provider's first answer to an update.
fn conversation(row: Row, later_system: LaterSystem, refusal: Option<&str>) -> Vec<Turn> {
    let folder = tempfile::tempdir().unwrap();
    let provider = Provider::start(Config {
        later_system,
        ..Config::default()
    });
    let mut desk = Desk::open(row, provider.unwrap(), folder.path());
    let mut agent = Agent::new(row);
    let turns = MODES.iter().enumerate().map(|(number, mode)| {
        let act = Act::Say(if number == 0 { "Look at the project." } else { SAID });
        let step = Step {
            act,
            mode,
            answer: Reply::Text,
        };
        if let Some(refusal) = refusal.filter(|_| number == 1) {
            desk.provider.push(Answer::error(400, refusal));
        }
        let exchange = agent.take(number, step, &mut desk);
        let left = exchange.arrived.last().unwrap();
        let operator = left.operator.clone().unwrap_or_default();
        Turn {
            status: exchange.status,
            attempts: exchange.arrived.len(),
            mode: super::check::last_mode(&operator.all()),
            reminds: String::from_utf8_lossy(&left.body).contains("<system-reminder>"),
            heads: operator.head.len(),
            cached: left.cached_of_previous().unwrap_or_default(),
        }
    });
    turns.collect()
}
