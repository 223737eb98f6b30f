//! One lane: its frames in order, each answered whole before the next one is looked at.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use serde_json::Value;
use tokio::sync::mpsc::{Receiver, Sender};

use super::connection::Order;
use super::{Opening, error_event, steer};
use crate::sim::answer::responses::id;
use crate::sim::delivery::Watch;
use crate::sim::exchange::{Incoming, Outgoing};
use crate::sim::record::Delivery;

/// A frame to answer.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) incoming: Incoming,
}

/// Works jobs off until the connection is gone.
pub(super) async fn work(
    mut jobs: Receiver<Job>,
    opening: Opening,
    orders: Sender<Order>,
    in_flight: Arc<AtomicUsize>,
) {
    while let Some(job) = jobs.recv().await {
        let mut next = Some(job.incoming);
        while let Some(incoming) = next {
            next = answer(incoming, &opening, &orders).await;
        }
        in_flight.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Answers one request; what was steered into it meanwhile is the next one.
async fn answer(incoming: Incoming, opening: &Opening, orders: &Sender<Order>) -> Option<Incoming> {
    let shared = &opening.shared;
    let (number, body) = (incoming.number, incoming.body.clone());
    let stream = incoming.lane.as_ref().and_then(|lane| lane.stream.clone());
    let outgoing = {
        let mut state = shared.state();
        if let Some(lane) = &incoming.lane {
            state.memory.begin(&id(number), lane.clone());
        }
        state.exchange(incoming, &shared.config)
    };
    let watch = Watch::new(shared.clone(), number);
    tokio::time::sleep(outgoing.manner.delay).await;
    shared.state().commit(&outgoing.lookup, &shared.config);
    let succeeded = outgoing.status < 400;
    deliver(outgoing, stream.as_deref(), watch, orders).await;
    let queued = shared.state().memory.finish(&id(number));
    if queued.is_empty() {
        return None;
    }
    let blocked = !succeeded || shared.state().memory.ends_in_call(&id(number), opening.number);
    if blocked {
        let event = steer::uncommitted(&id(number), &queued, stream.as_deref());
        let _ = orders.send(Order::Send(event.to_string())).await;
        return None;
    }
    Some(steer::successor(opening, &body, &id(number), queued, stream))
}

async fn deliver(outgoing: Outgoing, stream: Option<&str>, mut watch: Watch, orders: &Sender<Order>) {
    let manner = outgoing.manner;
    let mut left = manner.cut;
    for (i, piece) in outgoing.pieces.into_iter().enumerate() {
        if i > 0 && !manner.chunk_delay.is_zero() {
            tokio::time::sleep(manner.chunk_delay).await;
        }
        // A frame goes out whole or not at all.
        if left.is_some_and(|left| piece.len() > left) {
            watch.end(Delivery::Cut);
            let _ = orders.send(Order::Cut).await;
            return;
        }
        left = left.map(|left| left - piece.len());
        let text = frame(outgoing.status, &piece, stream);
        if orders.send(Order::Send(text)).await.is_err() {
            return;
        }
    }
    watch.end(Delivery::Sent);
}

/// A piece as text; an error gets the shape of an event.
fn frame(status: u16, piece: &Bytes, stream: Option<&str>) -> String {
    let error = || {
        serde_json::from_slice::<Value>(piece)
            .ok()
            .filter(Value::is_object)
    };
    match (status >= 400).then(error).flatten() {
        Some(body) => error_event(status, body, stream).to_string(),
        None => String::from_utf8_lossy(piece).into_owned(),
    }
}
