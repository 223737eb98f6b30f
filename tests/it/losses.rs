//! What a break is said to have lost, against a simulated provider that reads a conversation with and without it.

use bytes::Bytes;
use inkfast::prefix::policy::Mode;
use inkfast::prefix::{Cause, Class, Request, Verdict};
use inkfast::route::attribution::{Attribution, Parent, Turn};
use inkfast::route::warmth::Miss;
use inkfast::route::{Choice, Destination, Route, Table};
use inkfast::sim::{Config, Provider, text_of_tokens};
use inkfast::wire::body::Context;
use inkfast::wire::format::Format;
use inkfast::wire::places::{Place, places};
use inkfast::wire::usage::Usage;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::harness::parse;
use crate::sim::{chat, messages};

/// A conversation of texts by their tokens: those of the head, then a user's and an assistant's in turn.
#[derive(Clone, Debug)]
struct Talk {
    model: &'static str,
    head: Vec<(usize, u64)>,
    turns: Vec<(usize, u64)>,
    /// On Anthropic: a marker on the last block of the head and on the last message.
    marked: [bool; 2],
}

impl Talk {
    fn is_claude(&self) -> bool {
        self.model.starts_with("claude")
    }

    fn body(&self) -> Value {
        let text = |(tokens, seed): (usize, u64)| text_of_tokens(tokens, seed);
        let role = |at: usize| if at.is_multiple_of(2) { "user" } else { "assistant" };
        let turns = self.turns.iter().enumerate();
        if !self.is_claude() {
            let turns = turns.map(|(at, turn)| json!({"role": role(at), "content": text(*turn)}));
            let head = self
                .head
                .iter()
                .map(|block| json!({"role": "system", "content": text(*block)}));
            let messages: Vec<Value> = head.chain(turns).collect();
            return json!({"model": self.model, "messages": messages});
        }
        let block = |one, marked: bool| match marked {
            true => json!({"type": "text", "text": text(one), "cache_control": {"type": "ephemeral"}}),
            false => json!({"type": "text", "text": text(one)}),
        };
        let (last_head, last_turn) = (self.head.len() - 1, self.turns.len() - 1);
        let head = self.head.iter().enumerate();
        let head: Vec<Value> = head
            .map(|(at, one)| block(*one, self.marked[0] && at == last_head))
            .collect();
        let turns = turns.map(|(at, turn)| {
            json!({"role": role(at), "content": [block(*turn, self.marked[1] && at == last_turn)]})
        });
        let turns: Vec<Value> = turns.collect();
        json!({"model": self.model, "max_tokens": 64, "system": head, "messages": turns})
    }

    fn request(&self) -> Request {
        let format = if self.is_claude() {
            Format::AnthropicMessages
        } else {
            Format::OpenaiChat
        };
        parse(
            format,
            &Bytes::from(self.body().to_string()),
            &Context::default(),
            None,
        )
        .unwrap()
    }

    /// The places of the prompt, whose bytes are the provider's tokens: what its docs say of a message and a text.
    fn places(&self) -> Vec<Place> {
        let head = self.head.iter().enumerate().map(|(at, block)| {
            let opens = !self.is_claude() || at == 0;
            block.0 + 1 + usize::from(opens)
        });
        let tokens = head.chain(self.turns.iter().map(|turn| turn.0 + 2));
        let all = places(&self.request()).into_iter().zip(tokens);
        all.map(|(place, tokens)| Place {
            bytes: tokens as u64,
            ..place
        })
        .collect()
    }

    fn route(&self) -> Route {
        let claude = self.is_claude();
        let (host, format) = match claude {
            true => ("api.anthropic.com", Format::AnthropicMessages),
            false => ("api.openai.com", Format::OpenaiChat),
        };
        let choice = Choice {
            mode: Mode::Observe,
            text: None,
            loopback: true,
        };
        let to = Destination {
            host,
            format,
            model: self.model,
        };
        Table::built_in().unwrap().route(to, choice, &[])
    }

    /// What the provider counts, as its answer tells it.
    fn ask(&self, provider: &Provider) -> Usage {
        let reply = match self.is_claude() {
            true => messages(provider, &self.body()),
            false => chat(provider, &self.body()),
        };
        assert_eq!(reply.status, 200, "{}", reply.text());
        let counted = provider.recorded().pop().unwrap().usage.unwrap();
        let written = (counted.written + counted.written_1h) as u64;
        Usage {
            input_total: Some(counted.total as u64),
            cache_read: Some(counted.cached as u64),
            cache_write: (self.model != "gpt-5.5").then_some(written),
            output: None,
        }
    }

    fn with(&self, more: &[(usize, u64)]) -> Self {
        let mut longer = self.clone();
        longer.turns.extend_from_slice(more);
        longer
    }
}

/// Walks requests through the attribution: each is compared with the one before.
struct Walk {
    memory: Attribution,
    route: Route,
    seq: u64,
    at_ms: u64,
}

impl Walk {
    fn new(talk: &Talk) -> Self {
        Self {
            memory: Attribution::default(),
            route: talk.route(),
            seq: 0,
            at_ms: 1_000_000,
        }
    }

    fn see(&mut self, talk: &Talk, sent: &Verdict, usage: Usage) -> inkfast::route::attribution::Seen {
        let (request, places) = (talk.request(), talk.places());
        let marker_ttl = request.marker_ttl;
        let parent = (self.seq > 0).then_some(Parent {
            seq: self.seq,
            at_ms: Some(self.at_ms),
            marker_ttl,
        });
        self.seq += 1;
        self.at_ms += 10_000;
        self.memory.see(&Turn {
            route: (&self.route, "route"),
            seq: Some(self.seq),
            parent,
            sent,
            request: &request,
            places: &places,
            front: places[..talk.head.len()].iter().map(|place| place.bytes).sum(),
            at_ms: Some(self.at_ms),
            begun_ms: Some(self.at_ms + 500),
            usage,
            server_edited: false,
            update: None,
        })
    }
}

fn extends() -> Verdict {
    Verdict {
        class: Class::Extend,
        ..Verdict::new_lineage()
    }
}

fn talk() -> impl Strategy<Value = Talk> {
    let model = prop_oneof![
        Just("claude-opus-4-8"),
        Just("claude-opus-5"),
        Just("gpt-5.5"),
        Just("gpt-6")
    ];
    let text = || (1usize..900, any::<u64>());
    let head = proptest::collection::vec(text(), 1..3);
    let turns = proptest::collection::vec(text(), 1..10);
    let parts = (model, head, turns, any::<[bool; 2]>());
    parts.prop_map(|(model, head, mut turns, marked)| {
        // The user speaks last.
        turns.truncate((turns.len() - 1) / 2 * 2 + 1);
        Talk {
            model,
            head,
            turns,
            marked,
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_loss_is_what_the_provider_reads_less(
        first in talk(),
        more in proptest::collection::vec((1usize..900, any::<u64>()), 4),
        at in any::<proptest::sample::Index>(),
    ) {
        let second = first.with(&more[..2]);
        let intact = second.with(&more[2..]);
        let mut edited = intact.clone();
        // Any text that was sent: of the head or of the history.
        let sent = second.head.len() + second.turns.len();
        let at = at.index(sent);
        let text = if at < edited.head.len() { &mut edited.head[at] } else { &mut edited.turns[at - second.head.len()] };
        text.1 = text.1.wrapping_add(1);

        let [with, without] = [Config::default(), Config::default()].map(|config| Provider::start(config).unwrap());
        let mut walk = Walk::new(&first);
        walk.see(&first, &Verdict::new_lineage(), first.ask(&with));
        walk.see(&second, &extends(), second.ask(&with));
        first.ask(&without);
        second.ask(&without);

        let before = second.places();
        let structure = if first.is_claude() { 0 } else { 2 };
        let sent = Verdict {
            class: Class::Rewrite,
            cause: if at < first.head.len() { Cause::SystemChanged } else { Cause::HistoryEdited },
            // The signs in front of a text are equal, too.
            kept: before[..at].iter().map(|place| place.bytes).sum::<u64>() + structure,
            before: before.iter().map(|place| place.bytes).sum(),
            ..Verdict::new_lineage()
        };
        let (read, whole) = (edited.ask(&with), intact.ask(&without));
        prop_assert_eq!(read.input_total, Some(edited.places().iter().map(|place| place.bytes).sum::<u64>()));
        let loss = walk.see(&edited, &sent, read).loss;
        let less = whole.cache_read.unwrap() - read.cache_read.unwrap();
        prop_assert_eq!(loss.bytes, less, "{:?} at {}", first, at);
        prop_assert_eq!(loss.tokens, Some(less));
        prop_assert_eq!(loss.cost, None, "no base price is known");
    }
}

#[test]
fn a_cold_cache_loses_nothing_to_a_break() {
    let talk = Talk {
        model: "claude-opus-5",
        head: vec![(900, 1)],
        turns: vec![(900, 2)],
        marked: [true, true],
    };
    let later = talk.with(&[(10, 3), (10, 4)]);
    let before: u64 = talk.places().iter().map(|place| place.bytes).sum();
    let sent = Verdict {
        class: Class::Rewrite,
        cause: Cause::SystemChanged,
        before,
        ..Verdict::new_lineage()
    };
    for (idle_ms, want) in [(10_000, before), (400_000, 0)] {
        let provider = &Provider::start(Config::default()).unwrap();
        let mut walk = Walk::new(&talk);
        walk.see(&talk, &Verdict::new_lineage(), talk.ask(provider));
        walk.at_ms += idle_ms;
        let mut edited = later.clone();
        edited.head[0].1 = 9;
        let usage = edited.ask(provider);
        assert_eq!(walk.see(&edited, &sent, usage).loss.bytes, want, "{idle_ms}");
    }
}

#[test]
fn a_prompt_that_was_sent_too_early_is_in_flight() {
    let talk = Talk {
        model: "gpt-5.5",
        head: vec![(900, 1)],
        turns: vec![(2_000, 2)],
        marked: [false, false],
    };
    // As a provider counts whose cache does not hold it yet: each request meets one of its own.
    let fresh = |talk: &Talk| talk.ask(&Provider::start(Config::default()).unwrap());
    let later = talk.with(&[(10, 3), (10, 4)]);
    for (early_ms, want) in [(9_900, Miss::InFlight), (0, Miss::RoutingOrEviction)] {
        let mut walk = Walk::new(&talk);
        walk.see(&talk, &Verdict::new_lineage(), fresh(&talk));
        walk.at_ms -= early_ms;
        let seen = walk.see(&later, &extends(), fresh(&later));
        assert_eq!(seen.found.miss, Some(want), "{early_ms}");
    }
}
