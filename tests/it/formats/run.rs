//! Speaks the conversation in one row's format.

use std::path::Path;

use bytes::Bytes;
use inkfast::sim::{Answer, Config, Provider, Recorded};
use inkfast::wire::format::Format;
use serde_json::{Value, json};

use super::Row;
use super::check::{Exchange, check, leaks};
use super::script::{Act, Reply, STEPS, Step};
use crate::binary::{Inkfast, post};
use crate::conversations::body::{Draft, Message};
use crate::conversations::json::Style;

/// Words of the client that must stand in no log line and no metric.
pub const SECRETS: [&str; 4] = ["Amaryllis", "sk-marigold", "key-of-marigold", "careful agent"];

/// The whole conversation; what is wrong with it.
pub fn conversation(row: Row) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let provider = Provider::start(Config::default()).unwrap();
    let mut desk = Desk::open(row, provider, folder.path());
    let (mut agent, mut wrong) = (Agent::new(row), Vec::new());
    let mut exchanges: Vec<Exchange> = Vec::new();
    for (number, step) in STEPS.iter().enumerate() {
        if matches!(step.act, Act::Restart(_)) {
            wrong.extend(leaks(&desk.inkfast));
            desk = desk.restart(folder.path());
        }
        let exchange = agent.take(number, *step, &mut desk);
        exchanges.push(exchange);
        let found = check(row, &exchanges).into_iter();
        wrong.extend(found.map(|what| format!("step {number} {:?}: {what}", step.act)));
    }
    wrong.extend(leaks(&desk.inkfast));
    wrong
}

/// The service and the provider.
pub struct Desk {
    pub inkfast: Inkfast,
    pub provider: Provider,
    config: String,
    logged: usize,
}

impl Desk {
    pub fn open(row: Row, provider: Provider, folder: &Path) -> Self {
        let config = format!(
            "[upstreams.there]\nurl = \"{}\"\nacts_as = \"{}\"\n",
            provider.url(),
            row.host
        );
        Self {
            inkfast: Inkfast::serve(folder, &config),
            provider,
            config,
            logged: 0,
        }
    }

    /// Kills the service and starts another one over its files.
    fn restart(self, folder: &Path) -> Self {
        self.inkfast.kill();
        Self {
            inkfast: Inkfast::serve(folder, &self.config),
            logged: 0,
            ..self
        }
    }

    /// Sends a request: the status, what the provider got, and the log line.
    pub fn ask(&mut self, row: Row, draft: &Draft, body: &Bytes) -> (u16, Vec<Recorded>, Value) {
        let before = self.provider.recorded().len();
        let url = format!("{}/there{}", self.inkfast.proxy, path(row.format, &draft.model));
        let headers = [
            ("authorization", "Bearer sk-marigold"),
            ("x-api-key", "key-of-marigold"),
        ];
        let (status, _) = post(&url, &headers, body);
        self.logged += 1;
        let line = self.inkfast.wait_for_requests(self.logged).pop().unwrap();
        let arrived = self.provider.recorded().split_off(before);
        let fields = if line["fields"].is_object() {
            line["fields"].clone()
        } else {
            line
        };
        (status, arrived, fields)
    }
}

fn path(format: Format, model: &str) -> String {
    match format {
        Format::OpenaiChat => "/v1/chat/completions".to_owned(),
        Format::AnthropicMessages => "/v1/messages".to_owned(),
        Format::OpenaiResponses => "/v1/responses".to_owned(),
        Format::Gemini => format!("/v1beta/models/{model}:streamGenerateContent?alt=sse"),
        Format::BedrockConverse => format!("/model/{}/converse", model.replace(':', "%3A")),
        Format::Ollama => "/api/chat".to_owned(),
    }
}

/// The client.
pub struct Agent {
    row: Row,
    model: &'static str,
    history: Vec<Message>,
    last: Option<Draft>,
}

impl Agent {
    pub fn new(row: Row) -> Self {
        Self {
            row,
            model: row.models[0],
            history: Vec::new(),
            last: None,
        }
    }

    /// One request, and its answer into the history.
    pub fn take(&mut self, number: usize, step: Step, desk: &mut Desk) -> Exchange {
        let draft = match step.act {
            Act::Side => self.title(),
            act => {
                self.prepare(act);
                self.draft(step.mode)
            }
        };
        let body = whole(self.row.format, draft.write());
        let call = format!("call_{number}");
        desk.provider
            .push(answer(number, &call, step.answer, self.row.format));
        let (status, arrived, line) = desk.ask(self.row, &draft, &body);
        if step.act != Act::Side {
            self.hear(number, call, step.answer);
        }
        self.last = Some(draft);
        Exchange {
            step,
            client: body,
            status,
            arrived,
            line,
        }
    }

    fn prepare(&mut self, act: Act) {
        match act {
            // So much to keep that no fold of the updates pays.
            Act::Say(said) if self.history.is_empty() => {
                let files: String = (0..1600).map(|n| format!("\nsrc/part_{n}.rs")).collect();
                self.history.push(Message::User(format!("{said}{files}")));
            }
            Act::Say(said) | Act::Restart(said) => self.history.push(Message::User(said.to_owned())),
            Act::Results => {
                let Some(Message::Assistant { calls, .. }) = self.history.last() else {
                    panic!("no calls");
                };
                let results = calls.iter().map(|id| (id.clone(), format!("fn of_{id}() {{}}")));
                let results = results.collect();
                self.history.push(Message::Results(results, None));
            }
            Act::Retry | Act::Regenerate => {
                self.history
                    .pop_if(|last| matches!(last, Message::Assistant { .. }));
            }
            Act::Branch(at, said) => {
                let user = |message: &Message| matches!(message, Message::User(_));
                let mut questions = (0..self.history.len()).filter(|index| user(&self.history[*index]));
                let at = questions.nth(at).unwrap();
                self.history.truncate(at);
                self.history.push(Message::User(said.to_owned()));
            }
            Act::Compact => {
                self.history = vec![Message::User("Summary: the parser was mended. Go on.".to_owned())];
            }
            Act::Switch(said) => {
                let [one, other] = self.row.models;
                self.model = if self.model == one { other } else { one };
                self.history.push(Message::User(said.to_owned()));
            }
            Act::Side => {}
        }
    }

    fn hear(&mut self, number: usize, call: String, reply: Reply) {
        if reply == Reply::Overloaded {
            return;
        }
        let calls = reply == Reply::Call;
        self.history.push(Message::Assistant {
            text: text(number, reply),
            calls: calls.then_some(call).into_iter().collect(),
            thinking: calls && self.row.format != Format::OpenaiChat,
        });
    }

    fn draft(&self, mode: &str) -> Draft {
        let head = format!(
            "You are a careful agent for the project Amaryllis.\n\n# Rules\n- Read before you write, and ask when in \
             doubt.\n- Name the files that you touch.\n- Run the tests before you say that you are done.\n\n# State\n\
             Mode: {mode}.\n\n# Style\nShort answers, plain words, no praise."
        );
        Draft {
            format: self.row.format,
            model: self.model.to_owned(),
            head: vec![head],
            role: self.row.role,
            tools: vec!["read_file".to_owned()],
            history: self.history.clone(),
            attribution: None,
            style: style(self.row),
        }
    }

    /// What an agent's harness asks beside the conversation.
    fn title(&self) -> Draft {
        let question = Message::User("Write a title of five words for: Look at the project.".to_owned());
        Draft {
            head: vec!["You write titles. Five words, no quotes.".to_owned()],
            tools: Vec::new(),
            history: vec![question],
            ..self.draft("-")
        }
    }
}

/// As most clients write.
fn style(row: Row) -> Style {
    Style {
        space: 0,
        escapes: false,
        order: 0,
        blocks: false,
        head_blocks: !row.member && row.format == Format::OpenaiResponses,
        markers: matches!(row.format, Format::AnthropicMessages | Format::BedrockConverse),
        messages_first: false,
        snake: false,
        ids: false,
        bare: false,
        mixed: false,
    }
}

/// A stream of Chat Completions counts only where it is asked to, so an answer in one piece is asked for.
fn whole(format: Format, body: Bytes) -> Bytes {
    if format != Format::OpenaiChat {
        return body;
    }
    let text = String::from_utf8(body.to_vec()).unwrap();
    Bytes::from(text.replace("\"stream\":true", "\"stream\":false"))
}

fn text(number: usize, reply: Reply) -> String {
    match reply {
        Reply::Call => String::new(),
        _ => format!("Answer {number} is given."),
    }
}

fn answer(number: usize, call: &str, reply: Reply, format: Format) -> Answer {
    let arguments = json!({"path": format!("{call}.rs"), "deep": true});
    match reply {
        Reply::Text => Answer::text(text(number, reply)),
        Reply::Overloaded => Answer::error(529, "Overloaded"),
        Reply::Call if format == Format::OpenaiChat => Answer::call(call, "read_file", arguments),
        Reply::Call => Answer::call(call, "read_file", arguments).with_thinking("About "),
    }
}
