//! Request sequences of real agents, every word replaced, through the core.

use std::path::Path;

use bytes::Bytes;
use inkfast::prefix::digest::Digest;
use inkfast::prefix::item::Hints;
use inkfast::wire::format::Format;
use serde_json::Value;

use crate::fixtures::answer;
use crate::harness::Core;

fn replay(agent: &str, format: Format, host: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("fixtures/captures")
        .join(agent);
    let mut core = Core::new(format, host);
    let bodies: Vec<Bytes> = (1..)
        .map(|number| folder.join(format!("{number:03}.json")))
        .take_while(|file| file.exists())
        .map(|file| Bytes::from(std::fs::read(file).unwrap()))
        .collect();
    for (index, body) in bodies.iter().enumerate() {
        let headers = std::fs::read(folder.join(format!("{:03}.headers.json", index + 1))).unwrap();
        let headers: Value = serde_json::from_slice(&headers).unwrap();
        let session = headers["headers"].as_array().unwrap().iter().find(|header| {
            let name = header[0].as_str().unwrap().to_ascii_lowercase();
            name == "x-claude-code-session-id" || name == "x-session-id"
        });
        let session =
            session.map(|header| Digest::of("inkfast hint v1", header[1].as_str().unwrap().as_bytes()));
        let answer = answer(body, &bodies[index + 1..]);
        let turn = core.exchange(
            body,
            Hints {
                session,
                ..Hints::default()
            },
            &answer,
        );
        let share = |kept: u64, before: u64| {
            if before == 0 {
                1.0
            } else {
                kept as f64 / before as f64
            }
        };
        let (r, s) = (&turn.plan.received, &turn.plan.sent);
        println!(
            "{agent} {:>2} seq {} <- {:?}@{} recv={r} {:.2} sent={s} {:.2} node={} nodes={} same={} guard={:?}",
            index + 1,
            turn.seq,
            turn.plan.parent.as_ref().map(|p| p.seq),
            turn.plan.shared,
            share(r.kept, r.before),
            share(s.kept, s.before),
            turn.plan.outcome.as_str(),
            turn.lowered.nodes.len(),
            turn.out == *body,
            turn.guard
        );
    }
}

#[test]
fn table() {
    for agent in ["claude-code", "claude-code-latest"] {
        replay(agent, Format::AnthropicMessages, "api.anthropic.com");
    }
    for agent in ["qwen-code", "opencode", "cline", "aider", "copilot"] {
        replay(agent, Format::OpenaiChat, "api.openai.com");
    }
}
