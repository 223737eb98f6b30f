//! `--record`: exchanges on their way into a file. Prompts are written there, so only its owner may read it.
//!
//! One thread writes, behind a bounded queue. No request waits for it: a record that finds no room, or that the disk does not
//! take, is dropped and counted. What a line holds is said in `audit::recording`.

use std::{
    fs::{File, OpenOptions},
    io::{self, Read, Seek, SeekFrom, Write},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use hyper::{HeaderMap, Method, StatusCode, http::request};
use tokio::{
    sync::{mpsc, oneshot},
    time::timeout,
};

use crate::{
    audit::recording::Line,
    metrics::{DropReason, DroppedRecords},
    prefix::verdict::By,
    proxy::{
        Proxy,
        attempt::{Attempt, Planned},
        now_ms,
        rewrite::Prompt,
        target::Target,
    },
    wire::format::Format,
};

/// Records that may wait to be written.
const QUEUE: usize = 1024;
/// Bytes of bodies that may wait to be written. One record is taken whatever its size.
const QUEUE_BYTES: usize = 256 << 20;
/// Bytes of an answer that are recorded.
const MAX_ANSWER: usize = 8 << 20;
/// How long the last records may take to be written when all is over.
const LAST_RECORDS: Duration = Duration::from_secs(10);

/// The way into a recording.
pub struct Recorder {
    queue: mpsc::Sender<Job>,
    waiting: Arc<AtomicUsize>,
    dropped: DroppedRecords,
}

/// What is known of an exchange when its request leaves.
pub struct Record {
    at_ms: u64,
    upstream: String,
    host: String,
    model: Option<String>,
    format: Format,
    websocket: bool,
    method: Method,
    path: String,
    headers: HeaderMap,
    body: Bytes,
    sent: Option<Vec<Bytes>>,
    by_proxy: Option<&'static str>,
    status: Option<StatusCode>,
    answer_headers: HeaderMap,
    answer: AnswerCopy,
    ended_ms: u64,
}

/// What came of an answer, up to a bound.
#[derive(Default)]
pub struct AnswerCopy {
    bytes: Vec<u8>,
    /// There was more.
    cut: bool,
}

enum Job {
    Write(Box<Record>),
    /// All before it is written.
    Flush(oneshot::Sender<()>),
}

/// The record of a prompt that is about to leave, where exchanges are recorded.
pub fn begin(
    proxy: &Proxy,
    (target, head): (&Target<'_>, &request::Parts),
    (prompt, attempt): (Option<&Prompt>, &Attempt),
) -> Option<Record> {
    let prompt = prompt.filter(|_| proxy.recorder.is_some())?;
    let mut record = Record::new(target, head, prompt);
    record.left_as(attempt);
    Some(record)
}

/// The exchange ended.
pub fn end(proxy: &Proxy, record: Option<Record>) {
    if let Some((recorder, record)) = proxy.recorder.as_ref().zip(record) {
        recorder.keep(record);
    }
}

impl Recorder {
    /// Opens a file to add to, or makes one that only its owner may read.
    ///
    /// # Errors
    /// It cannot be opened.
    pub fn open(path: &Path) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.append(true).read(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        match options.open(path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                OpenOptions::new().append(true).read(true).open(path)
            }
            opened => opened,
        }
    }

    /// Starts the thread that writes to `file`.
    ///
    /// # Errors
    /// There is no thread to be had.
    pub fn start(file: File, dropped: DroppedRecords) -> io::Result<Self> {
        let (queue, jobs) = mpsc::channel(QUEUE);
        let waiting = Arc::new(AtomicUsize::new(0));
        let writer = Writer {
            torn: ends_torn(&file),
            file,
            failing: false,
            waiting: Arc::clone(&waiting),
            dropped: dropped.clone(),
        };
        std::thread::Builder::new()
            .name("recorder".into())
            .spawn(move || writer.run(jobs))?;
        Ok(Self {
            queue,
            waiting,
            dropped,
        })
    }

    /// Takes the record of an exchange that ended, or drops it where there is no room.
    fn keep(&self, mut record: Record) {
        record.ended_ms = now_ms();
        let size = record.size();
        let before = self.waiting.fetch_add(size, Ordering::Relaxed);
        let fits = before == 0 || before.saturating_add(size) <= QUEUE_BYTES;
        if !fits || self.queue.try_send(Job::Write(Box::new(record))).is_err() {
            self.waiting.fetch_sub(size, Ordering::Relaxed);
            self.dropped.record(DropReason::Queue);
        }
    }

    /// The count of what was dropped.
    pub fn dropped(&self) -> DroppedRecords {
        self.dropped.clone()
    }

    /// Waits until all that was taken is written, within a bound.
    pub async fn flush(&self) {
        let (written, done) = oneshot::channel();
        let flushed = async {
            if self.queue.send(Job::Flush(written)).await.is_ok() {
                let _ = done.await;
            }
        };
        if timeout(LAST_RECORDS, flushed).await.is_err() {
            tracing::warn!(event = "recording", "the last records were not written in time");
        }
    }
}

impl Record {
    fn new(target: &Target<'_>, head: &request::Parts, prompt: &Prompt) -> Self {
        let named = prompt.request.model.as_deref().unwrap_or_default();
        let behind = target.upstream.model_behind(named);
        let path = target.uri.path_and_query().map_or("/", |path| path.as_str());
        Self {
            at_ms: prompt.now_ms,
            upstream: target.upstream.name.clone(),
            host: target.upstream.acts_as().to_owned(),
            model: (behind != named).then(|| behind.to_owned()),
            format: prompt.format,
            websocket: false,
            method: head.method.clone(),
            path: path.to_owned(),
            headers: head.headers.clone(),
            body: prompt.received.clone(),
            sent: None,
            by_proxy: None,
            status: None,
            answer_headers: HeaderMap::new(),
            answer: AnswerCopy::default(),
            ended_ms: 0,
        }
    }

    /// The same for a frame of a WebSocket, whose answer is a stream of events.
    pub fn of_frame(mut self) -> Self {
        self.websocket = true;
        let events = hyper::header::HeaderValue::from_static("text/event-stream");
        self.answer_headers.insert(hyper::header::CONTENT_TYPE, events);
        self
    }

    /// What left for it.
    pub fn left_as(&mut self, attempt: &Attempt) {
        let planned = attempt.planned.as_deref();
        self.sent = planned.and_then(Planned::edited).map(<[Bytes]>::to_vec);
        self.by_proxy = planned.and_then(|planned| {
            let cause = planned.plan.sent.cause;
            (cause.by() == By::Proxy).then(|| cause.as_str())
        });
    }

    /// The head of its answer.
    pub fn answered(&mut self, status: Option<StatusCode>, headers: Option<&HeaderMap>) {
        self.status = status;
        if let Some(headers) = headers {
            self.answer_headers.clone_from(headers);
        }
    }

    /// The body of its answer.
    pub fn said(&mut self, answer: AnswerCopy) {
        self.answer = answer;
    }

    fn size(&self) -> usize {
        let sent = self.sent.iter().flatten().map(Bytes::len).sum::<usize>();
        1 + self.body.len() + sent + self.answer.bytes.len()
    }

    fn to_bytes(&self) -> io::Result<Vec<u8>> {
        let sent = self.sent.as_ref().map(|pieces| pieces.concat());
        let answered = self.status.is_some() || !self.answer.bytes.is_empty();
        let lost = self.answer.cut && self.answer.bytes.is_empty();
        let line = Line {
            at_ms: self.at_ms,
            upstream: &self.upstream,
            host: &self.host,
            model: self.model.as_deref(),
            format: self.format,
            websocket: self.websocket,
            method: self.method.as_str(),
            path: &self.path,
            headers: &self.headers,
            body: &self.body,
            sent: sent.as_deref().filter(|sent| *sent != self.body),
            by_proxy: self.by_proxy,
            status: self.status.map(|status| status.as_u16()),
            ended_ms: self.ended_ms,
            answer_headers: &self.answer_headers,
            answer: (answered && !lost).then_some(&self.answer.bytes),
            answer_truncated: answered && self.answer.cut,
        };
        Ok(line.to_bytes()?)
    }
}

impl AnswerCopy {
    /// The next bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.bytes.len() + bytes.len() > MAX_ANSWER {
            // A long beginning without the end, where the usage is, would only be a load.
            self.bytes = Vec::new();
            self.cut();
        } else if !self.cut {
            self.bytes.extend_from_slice(bytes);
        }
    }

    /// The next event of a stream without a frame of its own.
    pub fn push_event(&mut self, event: &str) {
        for part in ["data: ", event, "\n\n"] {
            self.push(part.as_bytes());
        }
    }

    /// Bytes are missing from here on: what is there is the beginning of an answer.
    pub fn cut(&mut self) {
        self.cut = true;
    }
}

/// The thread that writes.
struct Writer {
    file: File,
    /// The last line in the file has no end.
    torn: bool,
    /// The last write failed, which was said.
    failing: bool,
    waiting: Arc<AtomicUsize>,
    dropped: DroppedRecords,
}

impl Writer {
    fn run(mut self, mut jobs: mpsc::Receiver<Job>) {
        while let Some(job) = jobs.blocking_recv() {
            match job {
                Job::Write(record) => {
                    self.write(&record);
                    self.waiting.fetch_sub(record.size(), Ordering::Relaxed);
                }
                // Who waited for it may have gone.
                Job::Flush(written) => drop(written.send(())),
            }
        }
    }

    fn write(&mut self, record: &Record) {
        match record.to_bytes().and_then(|line| self.append(line)) {
            Ok(()) => self.failing = false,
            Err(error) => {
                self.dropped.record(DropReason::Disk);
                if !self.failing {
                    tracing::warn!(event = "recording", %error, "records are dropped");
                }
                self.failing = true;
            }
        }
    }

    /// One write a line, so that lines of two processes do not mix.
    fn append(&mut self, mut line: Vec<u8>) -> io::Result<()> {
        if self.torn {
            line.insert(0, b'\n');
        }
        let mut rest = line.as_slice();
        while !rest.is_empty() {
            match self.file.write(rest) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => {
                    rest = &rest[written..];
                    self.torn = !rest.is_empty();
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// Whether the file ends in the middle of a line, as a process leaves it that was killed.
fn ends_torn(mut file: &File) -> bool {
    let mut last = [b'\n'];
    let is_file = file.metadata().is_ok_and(|metadata| metadata.is_file());
    let read = is_file && file.seek(SeekFrom::End(-1)).is_ok() && file.read_exact(&mut last).is_ok();
    read && last != [b'\n']
}
