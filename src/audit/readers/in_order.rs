//! Exchanges in the order in which they were sent, where a recording has them in another: by the end of the answer, or the
//! newest first. A bounded stretch of them is held and sorted; what comes too late for it is skipped by name, because out of
//! its place it would look like a break.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::entry::reason;
use crate::audit::exchange::{Exchange, Skipped};

/// Bytes of bodies and answers that are held.
const MAX_HELD: usize = 64 << 20;
/// Exchanges that are held.
const MAX_COUNT: usize = 1 << 16;

/// Sorts what another iterator gives.
pub struct InOrder<I> {
    input: I,
    held: BinaryHeap<Reverse<Held>>,
    bytes: usize,
    /// When the exchange was sent that was given out last.
    given_ms: u64,
    /// Of the exchange that came last: one that says no time is taken to be sent just behind it.
    last_ms: u64,
    arrived: u64,
    max_bytes: usize,
}

impl<I> InOrder<I> {
    /// Sorts within the limits.
    pub fn new(input: I) -> Self {
        Self::within(MAX_HELD, input)
    }

    /// Sorts within this many bytes of bodies and answers.
    pub fn within(max_bytes: usize, input: I) -> Self {
        Self {
            input,
            held: BinaryHeap::new(),
            bytes: 0,
            given_ms: 0,
            last_ms: 0,
            arrived: 0,
            max_bytes,
        }
    }
}

impl<I: Iterator<Item = Result<Exchange, Skipped>>> InOrder<I> {
    /// Takes one in; gives it back as skipped where its place is gone.
    fn hold(&mut self, exchange: Exchange) -> Result<(), Skipped> {
        let at_ms = exchange.at_ms.unwrap_or(self.last_ms);
        if at_ms < self.given_ms {
            return Err(Skipped {
                source: exchange.source,
                reason: reason::OUT_OF_ORDER,
            });
        }
        self.last_ms = at_ms;
        self.arrived += 1;
        self.bytes += size(&exchange);
        self.held.push(Reverse(Held {
            at_ms,
            arrived: self.arrived,
            exchange,
        }));
        Ok(())
    }

    fn give(&mut self) -> Option<Exchange> {
        let Reverse(first) = self.held.pop()?;
        self.bytes -= size(&first.exchange);
        self.given_ms = first.at_ms;
        Some(first.exchange)
    }
}

impl<I: Iterator<Item = Result<Exchange, Skipped>>> Iterator for InOrder<I> {
    type Item = Result<Exchange, Skipped>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.bytes <= self.max_bytes && self.held.len() < MAX_COUNT {
            match self.input.next() {
                Some(Ok(exchange)) => {
                    if let Err(skipped) = self.hold(exchange) {
                        return Some(Err(skipped));
                    }
                }
                Some(Err(skipped)) => return Some(Err(skipped)),
                None => break,
            }
        }
        self.give().map(Ok)
    }
}

struct Held {
    at_ms: u64,
    arrived: u64,
    exchange: Exchange,
}

impl Held {
    fn place(&self) -> (u64, u64) {
        (self.at_ms, self.arrived)
    }
}

impl PartialEq for Held {
    fn eq(&self, other: &Self) -> bool {
        self.place() == other.place()
    }
}

impl Eq for Held {}

impl PartialOrd for Held {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Held {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.place().cmp(&other.place())
    }
}

fn size(exchange: &Exchange) -> usize {
    exchange.body.len() + exchange.answer.as_ref().map_or(0, |answer| answer.body.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::exchange::Source;
    use crate::audit::readers::entry;

    fn order(times: &[Option<u64>], max_bytes: usize) -> Vec<Result<u64, u64>> {
        let exchanges = times.iter().zip(1..).map(|(at_ms, number)| {
            let source = Source {
                file: "f".into(),
                number,
            };
            Ok(Exchange {
                at_ms: *at_ms,
                ..entry::exchange(&source, vec![0; 10].into())
            })
        });
        let sorted = InOrder {
            max_bytes,
            ..InOrder::new(exchanges)
        };
        sorted
            .map(|one| {
                one.map(|one| one.source.number)
                    .map_err(|skipped| skipped.source.number)
            })
            .collect()
    }

    #[test]
    fn sorted_by_time_and_arrival() {
        assert_eq!(
            order(&[Some(3), None, Some(1), Some(3)], 1000),
            [Ok(3), Ok(1), Ok(2), Ok(4)]
        );
        assert_eq!(order(&[None, None], 1000), [Ok(1), Ok(2)]);
    }

    #[test]
    fn too_late_is_skipped() {
        let newest_first: Vec<_> = (0..6).rev().map(|at| Some(at + 1)).collect();
        assert_eq!(
            order(&newest_first, 25),
            [Ok(3), Err(4), Err(5), Err(6), Ok(2), Ok(1)]
        );
    }
}
