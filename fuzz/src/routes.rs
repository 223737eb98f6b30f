//! The routes that the bodies are for, from the built-in table.

use std::sync::LazyLock;

use inkfast::prefix::Request;
use inkfast::prefix::policy::{Mode, Row};
use inkfast::route::{Choice, Destination, Route, Table};
use inkfast::wire::body::Context;
use inkfast::wire::format::Format;

static TABLE: LazyLock<Table> = LazyLock::new(|| Table::built_in().expect("the table is sound"));

/// A destination and what the table says of it.
pub struct Place {
    pub to: Destination<'static>,
    pub route: Route,
}

/// One entry a format.
static PLACES: LazyLock<Vec<Vec<Place>>> = LazyLock::new(|| Format::ALL.into_iter().map(listed).collect());

/// Destinations that have all rows of the format between them.
pub fn places(format: Format) -> &'static [Place] {
    &PLACES[format as usize]
}

/// All rows of a format, each once.
pub fn rows(format: Format) -> Vec<Row> {
    let mut rows = Vec::new();
    for row in places(format).iter().flat_map(|place| &place.route.policy.rows) {
        if !rows.contains(row) {
            rows.push(*row);
        }
    }
    rows
}

fn listed(format: Format) -> Vec<Place> {
    let hosts: &[(&str, &str)] = match format {
        Format::OpenaiChat | Format::OpenaiResponses => {
            &[("api.openai.com", "gpt-5"), ("localhost", "qwen3")]
        }
        Format::AnthropicMessages => &[
            ("api.anthropic.com", "claude-opus-5"),
            ("api.anthropic.com", "claude-sonnet-4-5"),
            ("localhost", "qwen3"),
        ],
        Format::Gemini => &[("generativelanguage.googleapis.com", "gemini-3.5-flash")],
        Format::BedrockConverse => &[
            (
                "bedrock-runtime.us-east-1.amazonaws.com",
                "anthropic.claude-opus-5",
            ),
            ("bedrock-runtime.us-east-1.amazonaws.com", "amazon.nova-pro-v1:0"),
        ],
        Format::Ollama => &[("localhost", "qwen3")],
    };
    let choice = Choice {
        mode: Mode::InHistory,
        text: None,
        loopback: true,
    };
    let place = |&(host, model)| {
        let to = Destination { host, format, model };
        Place {
            to,
            route: TABLE.route(to, choice, &[]),
        }
    };
    hosts.iter().map(place).collect()
}

/// A body as the service reads it on the way to this destination, with what an earlier body tells; none where it passes
/// through.
pub fn read(place: &Place, body: &bytes::Bytes, known: Option<&Request>) -> Option<Request> {
    let to = place.to;
    let lead = |model: &str| TABLE.instructions_lead(Destination { model, ..to });
    // Where the path names the model, it may be of any vendor: a body says whose it is.
    let in_path = match to.format {
        Format::Gemini | Format::BedrockConverse => true,
        Format::AnthropicMessages => memchr::memmem::find(body, b"anthropic_version").is_some(),
        _ => false,
    };
    let context = Context {
        attribution: place.route.attribution,
        model: in_path.then_some(to.model),
        instructions_lead: Some(&lead),
        ..Context::default()
    };
    to.format.wire().parse(body, &context, known).ok()
}
