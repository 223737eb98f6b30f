//! Prompts on their way over one connection: each lane answers in the order in which it was asked.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, PoisonError},
    time::Instant,
};

use hyper::StatusCode;

use crate::{
    ledger::Outcome,
    proxy::{
        Proxy,
        attempt::{self, Attempt},
        exchange,
        line::RequestLine,
        recorder::{self, AnswerCopy, Record},
        refusal::{self, Trials},
        rewrite::Prompt,
    },
    wire::{Framing, answer::Reader, format::Format},
};

/// Prompts that wait for their answers, by lane.
#[derive(Default)]
pub struct Lanes(Mutex<HashMap<Option<String>, VecDeque<Flight>>>);

/// One prompt and what came of it so far.
pub struct Flight {
    /// What was read of it.
    pub prompt: Option<Arc<Prompt>>,
    /// What was sent.
    pub attempt: Attempt,
    /// What was sent for it before.
    pub trials: Trials,
    /// Some of its answer went to the client.
    pub answered: bool,
    line: RequestLine,
    /// It and its answer, where they are recorded.
    record: Option<(Record, AnswerCopy)>,
    reader: Reader,
    bytes: u64,
}

impl Lanes {
    /// A prompt leaves.
    pub fn push(&self, lane: Option<String>, flight: Flight) {
        self.with(|lanes| lanes.entry(lane).or_default().push_back(flight));
    }

    /// The prompt whose answer the next event of a lane belongs to.
    pub fn take(&self, lane: Option<&str>) -> Option<Flight> {
        self.with(|lanes| lanes.get_mut(&lane.map(str::to_owned))?.pop_front())
    }

    /// It was not the last event.
    pub fn put_back(&self, lane: Option<String>, flight: Flight) {
        self.with(|lanes| lanes.entry(lane).or_default().push_front(flight));
    }

    /// Nothing of this lane waits.
    pub fn is_idle(&self, lane: Option<&str>) -> bool {
        let lane = lane.map(str::to_owned);
        self.with(|lanes| lanes.get(&lane).is_none_or(VecDeque::is_empty))
    }

    /// All that are left, when nothing more can come.
    pub fn drain(&self) -> Vec<Flight> {
        self.with(|lanes| lanes.drain().flat_map(|(_, flights)| flights).collect())
    }

    /// Nothing waits for an answer.
    pub fn is_empty(&self) -> bool {
        self.with(|lanes| lanes.values().all(VecDeque::is_empty))
    }

    fn with<T>(&self, work: impl FnOnce(&mut HashMap<Option<String>, VecDeque<Flight>>) -> T) -> T {
        // Nothing panics while it is held; if something did, the map would still be whole.
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Flight {
    /// A prompt that is about to leave.
    pub fn new(
        format: Format,
        (prompt, record): (Option<Arc<Prompt>>, Option<Record>),
        attempt: Attempt,
        mut line: RequestLine,
    ) -> Self {
        line.sent_bytes = attempt.length;
        Self {
            prompt,
            attempt,
            trials: Trials::default(),
            answered: false,
            line,
            record: record.map(|record| (record, AnswerCopy::default())),
            reader: Reader::new(format, Framing::Events),
            bytes: 0,
        }
    }

    /// An event of its answer.
    pub fn event(&mut self, proxy: &Proxy, text: &str) {
        if !self.answered {
            self.answered = true;
            self.note_status(Some(StatusCode::OK));
            self.line.first_byte_after = Some(self.line.started.elapsed());
            self.line.head_after = self.line.first_byte_after;
            self.attempt.step.settle(proxy, Outcome::Committed);
        }
        self.note_event(text);
        self.bytes += text.len() as u64;
        self.reader.event(text.as_bytes());
    }

    /// No part of an answer came, but this error, which stands for this status if it names one, or nothing at all.
    pub fn failed(&mut self, proxy: &Proxy, status: Option<StatusCode>, error: Option<&str>) {
        if !self.answered {
            self.note_status(status);
        }
        match (error, &mut self.record) {
            (Some(error), _) => self.note_event(error),
            (None, Some((_, copy))) => copy.cut(),
            (None, None) => {}
        }
        let outcome = status.map_or(Outcome::Failed, refusal::outcome);
        self.attempt.step.settle(proxy, outcome);
    }

    /// Another body goes out in its place.
    pub fn resend(&mut self, attempt: Attempt) {
        self.line.sent_bytes = attempt.length;
        self.attempt = attempt;
    }

    /// Its end: what was said is put on record, counted and told.
    pub async fn end(mut self, proxy: &Proxy, outcome: &'static str) {
        let held = Instant::now();
        let reading = self.reader.finish();
        let prompt = self.prompt.as_deref();
        let read = (Some(&reading), self.answered);
        let seq = exchange::put_on_record(proxy, prompt, &mut self.attempt, read, held).await;
        let record = self.record.take().map(|(mut record, copy)| {
            record.left_as(&self.attempt);
            record.said(copy);
            record
        });
        recorder::end(proxy, record);
        self.line.answer_bytes = Some(self.bytes);
        attempt::explain(prompt, self.attempt.planned.clone()).await;
        let told = (prompt, &self.attempt, seq);
        exchange::tell(proxy, &mut self.line, self.answered, told, Some(&reading));
        self.line.close(outcome, &proxy.metrics, proxy.tap.as_ref());
    }

    fn note_status(&mut self, status: Option<StatusCode>) {
        if let Some((record, _)) = &mut self.record {
            record.answered(status, None);
        }
    }

    fn note_event(&mut self, event: &str) {
        if let Some((_, copy)) = &mut self.record {
            copy.push_event(event);
        }
    }
}
